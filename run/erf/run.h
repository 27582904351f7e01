/* A run of `reach erf`: from models and text to a result in a folder. */
#ifndef REACH_RUN_ERF_RUN_H
#define REACH_RUN_ERF_RUN_H

#include "analyze/curve.h"
#include "io/result.h"
#include "io/tokens.h"
#include "kernels/ops.h"
#include "model/decoder.h"
#include "run/erf/options.h"
#include "run/models.h"
#include "run/progress.h"
#include "run/settings.h"
#include "run/text.h"

struct journal;

/* What is measured at the embeddings, or at the input of a block. Arrays are owned, here and below. */
struct erf_field {
    int layer; /* 0: the embeddings */
    double *norm; /* [segments, length - 1] */
    uint8_t *status; /* [segments] 0: not measured, else enum segment_status; of layers above 0 only once they are reduced */
    struct erf_summary summary;
};

/* The segments cut to their first `length` tokens, the last of them the target. */
struct erf_target {
    size_t length;
    double *logprob; /* [segments] */
    struct completeness *completeness; /* [segments] with --attribution ig, else NULL */
    struct erf_field *fields; /* [field_count of the model], layer 0 first */
};

struct erf_attention {
    /* [layers, heads, positions] over segments the sum of the attention at each distance, in units of 2^-96, as two words: exact,
     * so that the order of segments and their division into shards change nothing */
    uint64_t *high, *low;
    double *mass; /* [layers, heads, positions] the mean */
    size_t measured, used; /* segments so far, and those of them whose mass is finite */
    struct attention_row *rows; /* [layers, heads, thresholds] */
    double correlation; /* rank correlation of erf and trf_length over all heads, at the main threshold; NaN: none */
};

/* One model of a run. */
struct erf_model {
    struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text; /* until the segments are cut */
    struct segments segments; /* that this run measures */
    size_t first, run_segments; /* the index of the first of them among all of the run without --shard */
    long cone;
    int bos, bos_id; /* 1: that token stands before each segment */
    char digest[33], tokens_digest[33];
    int train_length; /* 0: unknown */
    int field_count; /* layers that are measured at each target */
    struct erf_target *targets; /* [target_count of the run]: the whole segment first, then those asked for, ascending */
    struct erf_attention attention; /* with --attention */
    double noise; /* of smoothgrad: the standard deviation */
};

/* The field that every run has: the whole segment's, at the embeddings. */
static inline struct erf_field *erf_main(const struct erf_model *m)
{
    return &m->targets[0].fields[0];
}

/* What the caller fills in is borrowed. */
struct erf_run {
    const struct erf_options *options;
    const struct settings *settings; /* all options that can change a number */
    const char *command; /* as it is recorded */
    struct model_argument *arguments; /* [count] */
    size_t count;
    struct progress *progress;
    /* the run's own */
    struct erf_model *models;
    size_t positions; /* L-1 */
    size_t target_count;
    size_t record_values; /* of a segment's record in the journal */
    struct kernels *kernels;
    struct journal *journal;
    size_t main_row; /* index of the main threshold in a summary's rows */
};

/* Measures what the journal in the folder does not hold, reduces it and writes the files of a result; models stay
 * open. 0, or -1. *not_drawn tells why there are no pictures though gnuplot is there; else it is empty. */
int erf_run(struct erf_run *r, struct error *not_drawn, struct error *e) MUST_USE;
/* Also after a failure. */
void erf_run_free(struct erf_run *r);

#endif
