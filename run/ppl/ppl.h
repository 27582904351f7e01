/* Perplexity by four protocols: what `reach ppl` measures and writes. */
#ifndef REACH_RUN_PPL_PPL_H
#define REACH_RUN_PPL_PPL_H

#include "analyze/perplexity.h"
#include "io/system/atomic.h"
#include "io/tokens/tokens.h"
#include "kernels/ops.h"
#include "model/engine.h"
#include "run/models.h"
#include "run/ppl/options.h"
#include "run/progress.h"
#include "run/text.h"

#include <stddef.h>

/* One model at one context. */
struct ppl_result {
    size_t context, stride; /* inputs; stride 0: none was given, or not of this protocol */
    struct perplexity perplexity;
    double seconds; /* of the forward passes */
    int paired; /* 1: `difference` to the first model is there */
    struct perplexity_difference difference;
    struct perplexity_difference gain, rest; /* of --gain: NLL at the next shorter context less that here (of the first: none),
                                              * and that here minus that at the longest */
    struct perplexity_difference change; /* of --gain: NLL here minus that at the model's reference */
    double needed, enough; /* shares of the targets: this is the shortest context that is enough; it is enough */
};

/* Tokens that are scored one after the other: no window reaches beyond them. */
struct ppl_stream {
    const int32_t *ids; /* [length]; borrowed */
    size_t length; /* with the beginning-of-text token, where there is one */
    size_t target; /* place of its first target, ids[1], among all targets of the model */
    size_t row; /* of a table, from 1; 0: of a stream */
    size_t position; /* of ids[0] in the stream or row, from 1; the beginning-of-text token stands before the first */
};

struct ppl_model {
    struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text;
    const struct tokens *tokens; /* a stream, or a table of streams; borrowed from the run or from `text` */
    struct ppl_stream *streams; /* [stream_count], of all protocols but last; owned */
    size_t stream_count;
    struct documents documents; /* of --boundary */
    int32_t *begun; /* the streams with their beginning-of-text tokens; NULL: they have none */
    char tokens_digest[33];
    struct token_texts pieces; /* of --per-token: the texts of its ids */
    struct segments segments; /* of last, for the longest context; owned */
    int train_length; /* 0: unknown */
    int window; /* keys that every layer attends to; 0: all of them, or layers differ */
    struct memory_plan plan; /* at the longest context */
    struct ppl_result *results; /* [result_count of the run]; owned */
    size_t reference; /* of --gain: the result at L_tr, else at the longest context below it, else at the shortest */
    double *nll; /* of --gain, while measuring: [result_count, targets]; owned */
};

struct ppl_run {
    const struct ppl_options *options;
    struct progress *progress;
    struct model_argument *arguments;
    struct ppl_model *models;
    size_t count;
    struct run_text text;
    size_t result_count; /* of each model: contexts, or 1 */
    const char *command; /* as it is recorded; borrowed */
    struct kernels *kernels;
    struct csv *per_token; /* while measuring; NULL: not wanted */
};

/* All of it: opens, measures, reduces and writes; the folder is checked before the work. The run has its options, progress,
 * arguments with their count, and command; the caller frees it, also when it fails. */
int ppl_run(struct ppl_run *r, struct error *e) MUST_USE;
void ppl_run_free(struct ppl_run *r);

/* The steps of ppl_run. Opens models and text; everything that can be refused before the work is refused here. */
int ppl_prepare(struct ppl_run *r, struct error *e) MUST_USE;
/* Scores all targets of all models and contexts, and reduces them. */
int ppl_measure(struct ppl_run *r, struct error *e) MUST_USE;

/* The streams of a model whose tokens are taken, of documents those of `needed` tokens; their targets in all; the one that holds
 * a target. */
int ppl_streams(struct ppl_model *m, size_t needed, struct error *e) MUST_USE;
size_t ppl_stream_targets(const struct ppl_model *m);
const struct ppl_stream *ppl_stream_of(const struct ppl_model *m, size_t target);

/* What readers must know of the segments, as one line; empty: nothing. The caller frees; NULL when memory runs out. */
char *ppl_note(const struct ppl_run *r);

/* The file of --per-token: begins it (what is there already is refused), adds the targets of a model at a context, and ends it:
 * kept or not. Without the option nothing is done. */
int ppl_tokens_open(struct ppl_run *r, struct error *e) MUST_USE;
int ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at, const double *nll,
                   struct error *e) MUST_USE;
int ppl_tokens_close(struct ppl_run *r, int keep, struct error *e) MUST_USE;

/* gain.c, of --gain. Reduces nll[contexts, targets] of a model, whose results have their contexts. */
void ppl_gain(struct ppl_model *m, const double *nll, size_t contexts, size_t targets, double within);
/* The least context that is enough for a share `p` of the targets. */
size_t ppl_gain_quantile(const struct ppl_run *r, const struct ppl_model *m, double p);
/* gain.csv, and gain.gp with its pictures. */
int ppl_gain_write(const void *found, const char *path, struct atomic_file *out, struct error *e) MUST_USE;
int ppl_gain_draw(const struct ppl_run *r, const char *folder, const char *command, struct error *e) MUST_USE;

/* Writes ppl.csv, ppl.gp and the pictures. 0; 1 when only the pictures are missing (message); -1. */
int ppl_write(const struct ppl_run *r, const char *folder, struct error *e) MUST_USE;
extern const struct results_layout ppl_layout;

#endif
