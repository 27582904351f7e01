/* Which tokens predictions depended on: plain values, for the screen and the page. */
#ifndef REACH_PAGE_EXPLANATION_H
#define REACH_PAGE_EXPLANATION_H

#include "io/token_texts.h"

#include <stddef.h>
#include <stdint.h>

enum { ALTERNATIVES = 5 };

struct prediction {
    int32_t id;
    double logprob; /* NaN: unknown */
};

struct explanation {
    char *name; /* of a prompt in a file: its id or the number of its line; NULL: the text is the
                 * only one */
    int is_numbered; /* 1: the name is a number */
    char *model; /* its name */
    char *path, *position_encoding;
    const char *attribution; /* grad, ...: a constant */
    size_t segment; /* in a result, from 1; 0: the model was run */
    int predicted; /* 1: the target is the likeliest token after a prompt, 2: the next likely one,
                    * ...; 0: it is in the text, or named */
    size_t answer; /* more than 1: the target is so many tokens, with an id below 0, and the sum of
                    * their log p is explained */
    int contrast; /* 1: of log p(target) - log p(against) */
    int integrated; /* 1: of integrated gradients, which have the two after it */
    double attributed, baseline; /* sum of all attributions; what is explained of rows of zeros: the
                                  * former is what is explained less this, up to quadrature error */
    struct prediction target, against,
        alternative[ALTERNATIVES]; /* alternatives: likeliest others */
    size_t alternative_count;
    size_t count; /* of inputs */
    size_t prompt; /* inputs before those of an answer; 0: there is none */
    int32_t *id; /* [count + 1] the target last */
    const struct token_texts *pieces; /* borrowed */
    double *norm, *share, *cumulative; /* [count]; cumulative: of this and later positions */
    size_t *order, *rank; /* [count] indices by falling share; rank of each, from 0 */
    size_t *line; /* [count + 1] of the token's start, from 1 */
    const char
        *by; /* what stands in the place of an input: "word", ...: a constant; NULL: a token */
    const struct explanation *tokens; /* with `by`: of the tokens, borrowed */
    size_t *start; /* with `by`: [count + 1] the index of its first token; last, of the target */
    /* with parts left out, else NULL: [count] what is explained (log p) without the part, less that
     * of the whole text, NaN if the part cannot be left out; indices by falling size of it; rank of
     * each, from 0 */
    double *change;
    size_t *change_order, *change_rank;
    double whole; /* what is explained of the whole text */
    double correlation; /* Spearman's, of its size with the share; NaN: none */
    size_t half; /* the smallest number of last inputs with more than half of the gradient */
};

/* The shade of a token, 0 to SHADES - 1: by the root of its share relative to the largest. */
enum { SHADES = 12 };
int explanation_shade(const struct explanation *x, size_t input);
/* The share for a shade. */
double explanation_shade_share(const struct explanation *x, int shade);

/* log p(target), or log p(target) - log p(against). */
double explanation_explained(const struct explanation *x);
/* Tokens before the target. */
size_t explanation_inputs(const struct explanation *x);
/* What an input is called: "token", or as `by` says. */
const char *explanation_unit(const struct explanation *x);

/* The id of the target for files: -1 of an answer of several tokens. */
int32_t explanation_target_id(const struct explanation *x);
/* The bytes of an id. An id without a text is <id>, in `room`. */
const char *explanation_piece(const struct explanation *x, int32_t id, size_t *size, char room[16]);
/* The same, readable and quoted; caller frees. NULL: out of memory. */
char *explanation_quoted(const struct explanation *x, int32_t id);

/* Frees its members. */
void explanation_free(struct explanation *x);

/* What a run found, in the order in which it is shown. */
struct explanations {
    struct explanation *item; /* [count] */
    size_t count;
    struct token_texts pieces; /* of all of them */
};

/* Frees all. */
void explanations_free(struct explanations *all);

#endif
