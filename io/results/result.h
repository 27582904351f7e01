/* A result of `reach erf` as plain values and arrays, filled by a run, by a merge or by the reader;
 * and erf.h5 (format "reach-erf/1"), which is written whole and renamed into place. */
#ifndef REACH_IO_RESULTS_RESULT_H
#define REACH_IO_RESULTS_RESULT_H

#include "analyze/curve.h"
#include "io/error.h"
#include "io/token_texts.h"
#include "io/tokens/documents.h"

#include <stddef.h>
#include <stdint.h>

enum segment_status { SEGMENT_DONE = 1, SEGMENT_EXCLUDED = 2 };
enum { RESULT_THRESHOLDS_MAX = 64 };

/* One attribute of a group of the file. */
struct result_attribute {
    const char *name;
    const char *value;
};

/* Measurements at one layer, of segments cut to one length. */
struct result_field {
    size_t target; /* tokens of a cut segment, the last of them the target */
    size_t layer; /* 0: at the embeddings; else at the input of this block */
    size_t positions; /* target - 1 */
    double *norm; /* [segments, positions] raw ||g_m|| */
    double *logprob; /* [segments] natural log of the target's probability */
    uint8_t *status; /* [segments] 0: not measured yet, else enum segment_status */
    double *completeness; /* [segments, 2] for ig: sum of attributions, log p of the baseline; NULL:
                             none */
    size_t
        near_ties; /* with experts: choices, by token and layer, within rounding error of a tie */
    struct erf_summary
        summary; /* of a result that was read: only s, c, c_lo, c_hi, segments, excluded */
    char *quantity; /* the number for a position, and the target: the attribute `target` */
    struct result_attribute *attributes; /* as in the file; owned */
    size_t attribute_count;
};

/* The attention ERF of one head at one threshold, beside the TRF. */
struct attention_row {
    size_t erf; /* tokens */
    char trf[64]; /* of the series: digits, "10^40.1" if many, inf if it diverges; empty: none */
    size_t trf_length; /* of as many distances as a segment has; 0: none */
    const char *verdict; /* a constant */
};

struct validation; /* run/validate/validate.h */

/* How far the mixers of all layers reach back: the attention of those that attend, and how fast the
 * states of recurrences decay. */
struct result_attention {
    size_t layers, heads, positions; /* 0: not measured */
    size_t recurrence_heads; /* of each recurrence; 0: there is none */
    char *mixers; /* what the layers are, with commas (run/attention/attention.h, struct mixers) */
    /* [layers, heads, positions] the sum of the attention at each distance over the segments, in
     * units of 2^-96, as two words: exact, so that the order of segments and their division into
     * shards change nothing. Only in the file of a shard. */
    uint64_t *high, *low;
    double *mass; /* [layers, heads, positions] the mean; written, not read back */
    /* [layers, recurrence_heads] the same for minus the log decays, in units of 2^-80; unless they
     * were read from a file, behind those of the attention */
    uint64_t *decay_high, *decay_low;
    double *log_decay; /* [layers, recurrence_heads] the mean, in nats per token; NaN in layers that
                          are no recurrence */
    size_t measured,
        used; /* segments in the sums so far, and those of them whose numbers are finite */
    struct attention_row *rows; /* [layers, heads, thresholds] */
    double correlation; /* rank correlation of erf and trf_length over all heads, at the main
                           threshold; NaN: none */
    char *theory; /* all TRFs and verdicts as text (run/attention/theory.c); only in a shard */
};

struct result_model {
    char name[128];
    char *path, *digest, *family, *position_encoding, *tokens_digest;
    char *adapter; /* the folder of the adapter merged onto the weights; NULL: none */
    char *not_understood; /* keys of the configuration; NULL: none */
    char *assumed; /* what the checkpoint does not say and was assumed; NULL: nothing */
    size_t layers, heads, kv_heads, head_size, hidden, vocabulary;
    size_t cone, train_length; /* train_length 0: unknown */
    size_t stride, overlapping; /* of its segments; overlapping 0 or 1 */
    struct segment_bounds bounds;
    struct documents documents; /* of the run; count 0: segments were not kept within documents */
    double noise; /* for smoothgrad: the standard deviation */
    size_t first,
        run_segments; /* of a shard: index of its first segment in the run; segments of the run */
    size_t segments;
    int wide; /* 1: norms are stored as float64, 0: float32 */
    uint64_t *start; /* [segments] */
    int32_t *tokens; /* [segments, length of the whole ones] their ids; NULL: not kept */
    struct token_texts pieces; /* of the ids that occur, if the model has a tokenizer */
    struct result_field *
        fields; /* [field_count]: whole segment at the embeddings first, then by target and layer */
    size_t field_count;
    struct result_attention attention;
    struct validation *validation; /* the run's; not in the file; NULL: none */
};

struct result {
    char *version, *command; /* root attributes */
    char *dtype, *device, *kernels;
    char *attribution, *attribution_baseline; /* baseline: for integrated gradients, else NULL */
    char *bias_dtype, *keep; /* NULL: none; NULL: kept for reverse as computed */
    size_t attribution_steps, attribution_samples; /* 0: for another attribution */
    size_t length, offset, sink, bootstrap;
    uint64_t seed;
    double thresholds[RESULT_THRESHOLDS_MAX]; /* ascending */
    size_t threshold_count;
    double main_threshold;
    size_t main_row; /* the index of the main threshold */
    size_t shard, shards; /* 0: a whole run */
    int by_layer; /* 1: layers were asked for, even if only the embeddings; not in the file */
    struct result_model *models;
    size_t model_count;
    void *memory; /* holds all arrays of a result that was read; NULL: each is owned separately */
    size_t memory_bytes;
};

/* 1 - threshold as an exact decimal: 0.01 for 0.99. Returns `out`. */
char *result_epsilon(char out[32], double threshold);

static inline struct result_field *result_main(const struct result_model *m)
{
    return &m->fields[0];
}

/* Fields of each target; targets. */
size_t result_layers(const struct result_model *m);
size_t result_targets(const struct result_model *m);
/* The field at the embeddings of target i, shortest first: the whole segment, first in the list, is
 * the last here. */
const struct result_field *result_target(const struct result_model *m, size_t i);

/* 1 if the field has an interval over segments; a file may hold one of too few segments, by an
 * earlier version, which does not count. */
int result_has_interval(const struct result *r, const struct result_field *f);

/* The summaries at the embeddings of segments cut to a quarter and a half of their tokens, and of
 * whole ones. 1, or 0 if one of them was not measured. */
enum { GROWTH_LENGTHS = 3 };
int result_growth(const struct erf_summary *out[GROWTH_LENGTHS], const struct result_model *m);

/* Allocates the measurements of a field whose target is set, with status zeroed; and the sums of
 * attention, whose sizes are set. */
int result_field_room(struct result_field *f, size_t segments, int completeness,
                      struct error *e) MUST_USE;
int result_attention_room(struct result_attention *a, struct error *e) MUST_USE;
void result_free(struct result *r);

/* Makes the attributes of all groups from the values above, in the order of the file. */
int result_describe(struct result *r, struct error *e) MUST_USE;
/* The reverse: sets values from the attributes present. `path` is for messages, here and below. */
int result_understand(struct result *r, const char *path, struct error *e) MUST_USE;
/* Fails, naming the first attribute that every run writes and this result lacks. */
int result_check_attributes(const struct result *r, const char *path, struct error *e) MUST_USE;
void result_attributes_free(struct result_field *f);
/* The attribute's value, or NULL. */
const char *result_attribute(const struct result_field *f, const char *name);

/* Writes a temporary file beside PATH, synced; atomic_place renames it, so no partial file stays.
 * Datasets are chunked by segment, shuffled and deflated, each chunk with a checksum that HDF5
 * compares. No times are stored: the same run gives the same bytes. */
struct atomic_file;
int result_stage(const char *path, const struct result *r, struct atomic_file *out,
                 struct error *e) MUST_USE;

/* Reads PATH in separate processes (io/system/confine.h) and checks every size. Caller frees with
 * result_free. External links, unknown formats and wrong shapes are refused. */
int result_read(const char *path, struct result *out, struct error *e) MUST_USE;
/* The same without the data: arrays stay NULL. */
int result_read_heads(const char *path, struct result *out, struct error *e) MUST_USE;

#endif
