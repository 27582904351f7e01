/* The parts of `reach erf`: options, run, output. Private to commands/erf*.c. */
#ifndef REACH_COMMANDS_ERF_H
#define REACH_COMMANDS_ERF_H

#include "analyze/curve.h"
#include "run/text.h"
#include "run/models.h"
#include "commands/verb.h"
#include "run/progress.h"
#include "io/atomic.h"
#include "io/tokens.h"
#include "kernels/ops.h"
#include "model/attribution.h"
#include "model/decoder.h"
#include "run/erf/options.h"

#include <stddef.h>
#include <stdint.h>

/* options_parse, options_free and options_command of erf. */
int erf_options_parse(struct erf_options *o, int argc, char **argv, struct error *e) MUST_USE;
void erf_options_free(struct erf_options *o);
char *erf_options_command(const struct erf_options *o);

/* Runs the verb. */
int erf_call(struct call *c, struct error *e) MUST_USE;

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

/* The attention ERF of one head at one threshold, beside the TRF. */
struct attention_row {
    size_t erf; /* tokens; 0: no attention was measured */
    char trf[64]; /* of the series: digits, "10^40.1" where they are many, inf where it diverges; empty: none */
    size_t trf_length; /* of as many distances as a segment has; 0: none */
    const char *verdict;
};

struct erf_attention {
    unsigned __int128 *sum; /* [layers, heads, positions] over segments of the attention at each distance, in units of 2^-96:
                             * exact, so that the order of segments and their division into shards change nothing */
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

/* A whole run. */
struct erf_run {
    const struct erf_options *options;
    struct progress *progress;
    struct model_argument *arguments;
    struct erf_model *models;
    size_t count;
    size_t positions; /* L-1 */
    size_t target_count;
    size_t record_values; /* of a record of the journal */
    char *command;
    struct kernels *kernels;
    size_t main_row; /* index of the main threshold in a summary's rows */
};

/* The segments of shard I of N: [*first, *first + count) of `segments`; returns count, which may be 0. */
size_t erf_shard(size_t *first, size_t segments, long shard, long shards);
/* Targets, fields and room for what is measured, for models whose segments, and layers of the decoder, are known. */
int erf_lay_out(struct erf_run *r, struct error *e) MUST_USE;
/* Opens models and text and cuts the segments; everything that can be refused before the work is refused here. */
int erf_prepare(struct erf_run *r, struct error *e) MUST_USE;
/* Says what of a journal could not be taken over. */
struct journal_found;
void erf_tell_found(const struct erf_run *r, const char *path, const struct journal_found *found);
/* Measures all segments that `journal` (a path) does not hold, and reduces them. 0, or -1. */
int erf_measure(struct erf_run *r, const char *journal, struct error *e) MUST_USE;
/* Removes the sums of --attention that are kept beside the journal PATH; and the journal, last, so that it is never missing
 * beside them. */
void erf_sums_remove(const char *path);
void erf_journal_remove(const char *path);
/* An error that names a file of a model that was written to while the run read from it: what was computed last is of no one
 * model. */
int erf_unchanged(const struct erf_run *r, struct error *e) MUST_USE;
/* Summaries of all fields of target `target` from their norms. 0, -1, or ERF_UNUSABLE when every segment of one is excluded. */
enum { ERF_UNUSABLE = -2 };
int erf_reduce(struct erf_run *r, struct erf_model *m, size_t target, struct error *e) MUST_USE;
void erf_run_free(struct erf_run *r);
/* `key=value` lines: everything that results depend on. NULL when memory runs out; the caller frees. */
char *erf_settings(const struct erf_run *r);
/* How an engine is asked for to measure segments of this length; its decoder's model. */
struct engine_request erf_engine_options(const struct erf_run *r, const struct erf_model *m, size_t length);

/* --attention: what is kept of an earlier run in PATH is taken over; measures the rest (a message when interrupted) and reduces
 * it. 0 or -1. */
int erf_attention_resume(struct erf_run *r, const char *path, struct error *e) MUST_USE;
int erf_attention_measure(struct erf_run *r, const char *path, struct error *e) MUST_USE;
/* From the sums to means, attention ERFs and TRFs; the TRFs of the rows that `theory` holds (see erf_attention_theory), or (NULL)
 * computed. */
int erf_attention_reduce(const struct erf_run *r, struct erf_model *m, const char *theory, struct error *e) MUST_USE;
/* Room for the sums of every model. */
int erf_attention_room(struct erf_run *r, struct error *e) MUST_USE;
/* The TRFs of all rows as text, for a shard's results: a line a layer and head, `trf trf_length verdict` of each threshold with
 * `;` between; `=` for a layer as the one before. Caller frees; NULL when memory runs out. */
char *erf_attention_theory(const struct erf_run *r, const struct erf_model *m);
struct engine_request erf_attention_options(const struct erf_run *r, const struct erf_model *m);
int erf_attention_print(const struct erf_run *r, struct error *e) MUST_USE;
/* Writes attention.csv at PATH, but for the renaming, and attention.gp with its pictures, which returns as figure_draw does. */
int erf_attention_write(const struct erf_run *r, const char *path, struct atomic_file *out, struct error *e) MUST_USE;
int erf_attention_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
void erf_attention_free(struct erf_attention *a);
/* eps = 1 - threshold as the decimal that it is: 0.01 for 0.99. */
void erf_epsilon_text(char out[32], double threshold);

/* 1 and a message if FOLDER holds results. */
int erf_results_exist(const char *folder, struct error *e);
/* Writes erf.h5, curve.csv, summary.csv, erf.gp and the pictures. Returns as figure_draw does. */
int erf_write(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
/* The table, the paired differences and notes, to standard output. */
int erf_print(const struct erf_run *r, struct error *e) MUST_USE;
/* The figures of --layer and --target-position; return as figure_draw does. */
int erf_layers_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
int erf_targets_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
/* Reruns the first segments of each model in the float64 reference set and prints the largest deviations. */
int erf_check_precision(const struct erf_run *r, struct error *e) MUST_USE;

/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *erf_path(const char *folder, const char *name, struct error *e);

#endif
