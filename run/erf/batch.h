/* A batch of segments: an engine's input and results, and their storage. Private to run/erf. */
#ifndef REACH_RUN_ERF_BATCH_H
#define REACH_RUN_ERF_BATCH_H

#include "model/engine.h"
#include "run/erf/parts.h"

/* Memory for a batch. */
struct batch {
    size_t length; /* of a segment, its target included */
    size_t layers; /* of norms of each segment */
    int32_t *ids; /* [most, length] */
    double *norm; /* [most, layers, length - 1] */
    double *logprob; /* [most] */
    struct completeness *completeness; /* [most] */
    size_t *near_ties; /* [most] */
    double *record; /* [sizes.values of the journal] */
    double *scratch; /* [length] */
};

int batch_open(struct batch *b, const struct erf_run *r, const struct erf_model *m, size_t length,
               size_t most, struct error *e) MUST_USE;
void batch_close(struct batch *b);

/* Gathers the ids of `count` segments from `first` on. */
void batch_cut(struct batch *b, const struct erf_run *r, const struct erf_model *m, size_t first,
               int count);
/* Measures them at once: for attributions other than the gradient, or without overlap. */
int batch_measure(struct batch *b, const struct erf_run *r, const struct erf_model *m,
                  struct engine *g, size_t first, int count, struct error *e) MUST_USE;
/* Stores their measurements in the result and in the journal. */
int batch_keep(struct erf_run *r, size_t index, size_t target, struct batch *b, size_t first,
               int count, struct error *e) MUST_USE;

/* The next segments not done, at most `most` consecutive ones: *first and the count; 0: end. */
int batch_next(const struct erf_model *m, const struct result_field *f, size_t *first, int most);

#endif
