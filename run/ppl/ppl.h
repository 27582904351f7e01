/* Perplexity by four protocols: the work of `reach ppl`. */
#ifndef REACH_RUN_PPL_PPL_H
#define REACH_RUN_PPL_PPL_H

#include "analyze/perplexity.h"
#include "io/tokens/tokens.h"
#include "kernels/ops.h"
#include "model/engine.h"
#include "run/models.h"
#include "run/ppl/options.h"
#include "run/progress.h"
#include "run/results.h"
#include "run/text.h"

#include <stddef.h>

/* One model at one context. */
struct ppl_result {
    size_t context, stride; /* inputs; stride 0: not given, or not of this protocol */
    struct perplexity perplexity;
    double seconds; /* of the forward passes */
    int paired; /* 1: `difference` to the first model is set */
    struct perplexity_difference difference;
    struct perplexity_difference gain,
        rest; /* of --gain: NLL at the next shorter context less that here (of the first: none),
               * and that here minus that at the longest */
    struct perplexity_difference change; /* for --gain: NLL minus that at the model's reference */
    double needed,
        enough; /* shares of targets: this is the shortest context that is enough; it is enough */
};

/* A sequence of scored tokens: no window extends beyond it. */
struct ppl_stream {
    const int32_t *ids; /* [length]; borrowed */
    size_t length; /* with the beginning-of-text token, if any */
    size_t target; /* place of its first target, ids[1], among all targets of the model */
    size_t row; /* of a table, from 1; 0: of a stream */
    size_t position; /* of ids[0] in the stream or row, from 1; after any beginning-of-text token */
};

/* The text of a model's targets, the same at every context. */
struct ppl_units {
    size_t bytes; /* 0: its ids have no texts */
    size_t characters; /* counted where they begin */
    size_t words; /* runs without white space (ASCII's), counted where they begin */
};

struct ppl_model {
    struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text;
    const struct tokens
        *tokens; /* a stream, or a table of streams; borrowed from the run or from `text` */
    struct ppl_stream *streams; /* [stream_count], for all protocols except last; owned */
    size_t stream_count;
    struct documents documents; /* for --boundary */
    int32_t *begun; /* the streams with their beginning-of-text tokens; NULL: without */
    char tokens_digest[33];
    struct token_texts pieces; /* the texts of its ids; empty: they have none */
    struct ppl_units units;
    struct segments segments; /* for last, at the longest context; owned */
    int train_length; /* 0: unknown */
    int window; /* keys that every layer attends to; 0: all of them, or layers differ */
    struct memory_plan plan; /* at the longest context */
    struct ppl_result *results; /* [result_count of the run]; owned */
    size_t reference; /* for --gain: the result at L_tr, else at the next shorter context, else the
                         shortest */
    double *nll; /* for --gain, while measuring: [result_count, targets]; owned */
};

struct ppl_run {
    const struct ppl_options *options;
    struct progress *progress;
    struct model_argument *arguments;
    struct ppl_model *models;
    size_t count;
    struct run_text text;
    size_t result_count; /* for each model: contexts, or 1 */
    const char *command; /* as recorded; borrowed */
    struct kernels *kernels;
    struct csv *per_token; /* while measuring; NULL: not requested */
};

/* The whole run: opens, measures, reduces and writes; the folder is checked before the work. The
 * caller sets options, progress, arguments, count and command, and frees the run, also on
 * failure. */
int ppl_run(struct ppl_run *r, struct error *e) MUST_USE;
void ppl_run_free(struct ppl_run *r);

/* The steps of ppl_run. Opens models and text; makes all checks possible before the work. */
int ppl_prepare(struct ppl_run *r, struct error *e) MUST_USE;
/* Scores all targets of all models and contexts, and reduces them. */
int ppl_measure(struct ppl_run *r, struct error *e) MUST_USE;

/* Makes the streams of a model from its tokens (of documents, those with `needed` tokens); the
 * number of their targets; the stream of a target. */
int ppl_streams(struct ppl_model *m, size_t needed, struct error *e) MUST_USE;
size_t ppl_stream_targets(const struct ppl_model *m);
const struct ppl_stream *ppl_stream_of(const struct ppl_model *m, size_t target);

/* A note on the segments for readers, as in struct results_file. */
char *ppl_note(const void *found);

/* A target by its place among all of the model. */
struct ppl_target {
    size_t row; /* of a table, from 1; 0: a stream */
    size_t position; /* in its stream or row, from 1 */
    const int32_t *id; /* id[-1] is the token before it */
};
struct ppl_target ppl_target(const struct ppl_run *r, const struct ppl_model *m, size_t i);

/* units.c: finds the texts of all ids of the models, and counts those of the targets. */
int ppl_count_units(struct ppl_run *r, struct error *e) MUST_USE;

/* The file of --per-token: opens it (an existing file is refused), adds the targets of a model at a
 * context, and closes it, kept or removed. Without the option they do nothing. */
int ppl_tokens_open(struct ppl_run *r, struct error *e) MUST_USE;
int ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                   const double *nll, struct error *e) MUST_USE;
int ppl_tokens_close(struct ppl_run *r, int keep, struct error *e) MUST_USE;

/* gain.c, for --gain. Reduces nll[contexts, targets] of a model whose results have contexts. */
void ppl_gain(struct ppl_model *m, const double *nll, size_t contexts, size_t targets,
              double within);
/* The result with the lowest NLL, if by the 95 % interval of the paired difference the longest
 * context is worse; else the one at the longest. */
const struct ppl_result *ppl_gain_best(const struct ppl_run *r, const struct ppl_model *m);
/* The smallest context that is enough for a share `p` of the targets; 0: unknown, as the loss at
 * the longest, which others are compared with, is not the model's best. */
size_t ppl_gain_quantile(const struct ppl_run *r, const struct ppl_model *m, double p);
/* The rows of gain.csv, and gain.gp with its pictures. */
int ppl_gain_rows(const void *found, struct csv *csv, struct error *e) MUST_USE;
struct figure_place;
int ppl_gain_draw(const struct ppl_run *r, const struct figure_place *to, struct error *e) MUST_USE;

/* Writes ppl.csv, ppl.gp and the pictures. 0; 1 when only the pictures are missing (message); -1.
 */
int ppl_write(const struct ppl_run *r, const char *folder, struct error *e) MUST_USE;
extern const struct results_file *const ppl_files[]; /* ended by NULL */
extern const struct results_layout ppl_layout;

#endif
