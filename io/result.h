/* Results of `reach erf` on disk: erf.h5 (format "reach-erf/1"), written whole and renamed into place, and read back. */
#ifndef REACH_IO_RESULT_H
#define REACH_IO_RESULT_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

enum segment_status { SEGMENT_DONE = 1, SEGMENT_EXCLUDED = 2 };

/* One text attribute of a model or of the file. */
struct result_attribute {
    const char *name;
    const char *value;
};

/* What is stored for one model, target and layer. Arrays are borrowed when writing and owned by the result when read. Those of
 * one model stand together, its main one (the whole segment, at the embeddings) first. */
struct result_model {
    char name[128];
    size_t target, layer; /* 0, 0: the main one, in /models/NAME; else in /models/NAME/target-P/layer-K */
    size_t segments, positions; /* S, L-1 */
    int wide; /* 1: norm is stored as float64, 0: float32 */
    double *norm; /* [segments, positions] raw ||g_m|| */
    double *logprob; /* [segments] natural log of the target's probability */
    uint8_t *status; /* [segments] enum segment_status */
    uint64_t *start; /* [segments] */
    double *s, *c, *c_lo, *c_hi; /* [positions] */
    /* each where it is not NULL */
    double *completeness; /* [segments, 2] of integrated gradients: the sum of the attributions, log p of the baseline */
    uint64_t *attention_high,
        *attention_low; /* [layers, heads, positions] of a shard: the sums over its segments in units of 2^-96, as two words */
    const double *attention; /* written only: [layers, heads, positions] mean attention by distance */
    size_t layers, heads; /* of attention */
    struct result_attribute
        *attributes; /* path, digest, family, layers, heads, hidden, position_encoding, dtype, device, target, train_length ... */
    size_t attribute_count;
};

struct result {
    char *version, *command; /* root attributes */
    struct result_model *models;
    size_t model_count; /* of all targets and layers */
    void *memory; /* of all arrays of a result that was read; NULL when writing */
    size_t memory_bytes;
};

/* Writes the file beside PATH, synced; atomic_place gives it its name, so nothing half-written stays. Datasets are chunked by
 * segment, shuffled and deflated. No times are stored: the same run gives the same bytes. */
struct atomic_file;
int result_stage(const char *path, const struct result *r, struct atomic_file *out, struct error *e) MUST_USE;
/* Reads PATH in processes of their own (io/confine.h); every size is checked. Caller frees with result_free. External links,
 * unknown formats and wrong shapes are refused. */
int result_read(const char *path, struct result *out, struct error *e) MUST_USE;
/* The same without the data: arrays stay NULL. */
int result_read_heads(const char *path, struct result *out, struct error *e) MUST_USE;
void result_free(struct result *r);
/* The attribute's value, or NULL. */
const char *result_attribute(const struct result_model *m, const char *name);

#endif
