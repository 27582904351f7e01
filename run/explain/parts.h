/* The parts of `reach explain`. Private to run/explain. */
#ifndef REACH_RUN_EXPLAIN_PARTS_H
#define REACH_RUN_EXPLAIN_PARTS_H

#include "io/formats/json.h"
#include "kernels/ops.h"
#include "model/engine.h"
#include "run/explain/explain.h"
#include "run/text.h"

/* ---- what is opened once ---- */

/* A model, ready for any number of questions. */
struct explainer {
    const struct explain_options *options;
    const struct model_argument *argument;
    struct progress *progress; /* borrowed, here and above */
    struct decoder *decoder;
    struct model_text reading;
    struct kernels *kernels;
    struct engine *engine; /* NULL until the first question is answered */
    double noise; /* of --attribution smoothgrad */
    struct scorer *blank; /* of answers with and without a blank; NULL: not needed yet */
    size_t blanks_tried; /* lines of --prompts whose answer was tried with one */
    double cost, seen; /* of the batch in progress, in inputs; the part of it already reported */
};

/* Opens the model and what reads its texts; kernels come with the first answer. */
int explainer_open(struct explainer *x, const struct explain_run *r, struct error *e) MUST_USE;
void explainer_close(struct explainer *x);
/* Opens its kernels if they are not. */
int explainer_kernels(struct explainer *x, struct error *e) MUST_USE;
/* Makes its engine one for texts of this many inputs, the last of them followed by targets
 * (`outputs`), with a contrast or without, of which there are `segments`. */
int explainer_fit(struct explainer *x, size_t inputs, size_t outputs, int contrast, size_t segments,
                  struct error *e) MUST_USE;

/* ---- a question ---- */

/* A token that a user named. */
struct named_token {
    const char *option, *written; /* borrowed; written NULL: none was named */
    int id[TOKENIZER_READINGS], readings; /* what it may mean */
};

/* Finds its readings. `where` names the source in messages: the model's path, or a line. Digits
 * are an id, or with `digits` 0 a text like others. */
int named_find(struct named_token *n, struct explainer *x, const char *where, const char *option,
               const char *written, int digits, struct error *e) MUST_USE;
/* Of its readings the likeliest other than `taken` (-1: any); `taken` if it has no other. */
int32_t named_choose(const struct named_token *n, const double *logprob, int32_t taken);
/* Reports the chosen token, if it differs from the text, or is one of several. */
int named_tell(const struct named_token *n, const struct explanation *x, int32_t id,
               struct progress *p, struct error *e) MUST_USE;

/* A line of --prompts. */
struct prompt_line {
    size_t number; /* from 1 */
    char *where; /* "FILE: line 3", for messages */
    json_t *object;
    char *name, *target, *against, *answer; /* of its members; NULL: not there */
};

/* A text, and what about the place after it is explained. */
struct question {
    const struct prompt_line *from; /* borrowed; NULL: not of a file of prompts */
    int32_t *id; /* [count + 1] inputs, and the target if it is in the text */
    size_t count;
    size_t prompt; /* inputs before an answer; 0: there is none */
    int predicted; /* 1: the text ends before the target */
    struct named_token target, against;
    size_t targets; /* the likeliest, if none is named or in the text; else 1 */
    size_t answer; /* more than 1: the target is so many tokens, which follow in `id`, and what is
                    * explained is the sum of their log p */
};

/* The questions of a run, in the order of its results. */
struct questions {
    struct question *item;
    size_t count, room;
    struct prompt_line **line; /* [line_count] each allocated by itself */
    size_t line_count, line_room;
};

int questions_read(struct questions *q, struct explainer *x, struct error *e) MUST_USE;
/* Those of --prompts; tokens that a line does not name are those of `like`. */
int questions_of_prompts(struct questions *q, struct explainer *x, const struct question *like,
                         struct error *e) MUST_USE;
/* Fails unless the tokens are one text in the model's vocabulary. */
int question_check(const struct explainer *x, const struct tokens *t, const char *name,
                   struct error *e) MUST_USE;
/* The inputs and the target at a position (0: the last) of a text, which ends before the target if
 * it is a prompt. */
int question_take(struct question *q, const struct explainer *x, const struct tokens *t,
                  size_t position, int is_prompt, struct error *e) MUST_USE;
/* Adds the question of `like`, which owns no memory; NULL: out of memory. */
struct question *questions_add(struct questions *q, const struct question *like,
                               struct error *e) MUST_USE;
/* Adds those of an answer to a prompt: of the sum of log p of its tokens, and of each token. */
int questions_add_answer(struct questions *q, struct explainer *x, const struct question *like,
                         const char *where, const char *prompt, const char *answer,
                         struct error *e) MUST_USE;
/* A blank, or what ends lines, words and pages. */
int is_white(char c);

/* ---- an answer without a leading blank, which the text may need ---- */

/* 1 if neither the answer begins nor the prompt ends with white space, and there is a tokenizer. */
int explain_may_take_blank(const struct explainer *x, const char *prompt, const char *answer);
/* *taken: 1 if the tokens of an answer with a blank are likelier than those without after the same
 * `inputs`. Totals count both. */
int explain_choose_blank(int *taken, struct explainer *x, const int32_t *plain, size_t plain_total,
                         const int32_t *spaced, size_t spaced_total, size_t inputs,
                         struct error *e) MUST_USE;
/* Reports it; of a line of --prompts it is only counted. */
int explain_tell_blank(struct explainer *x, const char *answer, int taken,
                       struct error *e) MUST_USE;
void explain_close_blank(struct explainer *x);

/* Says so if the model's tokenizer has a chat template, and a prompt none of its special tokens. */
void explain_tell_chat(struct explainer *x, const struct questions *q);
/* Makes room for one more than `count` in an array of items of this size. */
int grow(void **array, size_t count, size_t *room, size_t size, struct error *e) MUST_USE;
void questions_free(struct questions *q);

/* ---- answers ---- */

/* Fills the explanations up to their norms and predictions, and the texts of all tokens. */
int explain_answer(struct explainer *x, const struct questions *q, struct explanations *out,
                   struct error *e) MUST_USE;

/* ---- without a part ---- */

/* log p of the ends of texts. What a text has in common with the beginning of the one before is not
 * computed again. */
struct scorer {
    const struct explainer *of;
    const char *purpose; /* in messages, borrowed */
    struct engine *engine;
    int retains; /* 0: the model computes each text as a whole */
    size_t most; /* inputs of the longest text */
    /* the text so far, [most] each: inputs, the target after each of them, and its log p; NaN: not
     * computed */
    int32_t *id, *target;
    double *logprob;
    size_t count;
};

int scorer_open(struct scorer *s, const struct explainer *of, size_t most, const char *purpose,
                struct error *e) MUST_USE;
void scorer_close(struct scorer *s);
/* *sum: the sum of log p of the last `outputs` of ids [inputs + 1]. */
int scorer_sum(struct scorer *s, double *sum, const int32_t *ids, size_t inputs, size_t outputs,
               struct error *e) MUST_USE;
/* The inputs that this would compute, and only that; scorer_forget comes before real work. */
size_t scorer_foresee(struct scorer *s, const int32_t *ids, size_t inputs, size_t outputs);
void scorer_forget(struct scorer *s);

/* The changes of r->joined: of each part, left out of its text. */
int explain_leave_out(struct explain_run *r, struct explainer *x, const struct questions *q,
                      struct error *e) MUST_USE;

#endif
