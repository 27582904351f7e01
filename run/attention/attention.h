/* How far each head attends, beside the theoretical field of its position bias: measuring, its records in the journal, and the
 * reduction. */
#ifndef REACH_RUN_ATTENTION_ATTENTION_H
#define REACH_RUN_ATTENTION_ATTENTION_H

#include "run/erf/run.h"

struct journal_attention;

/* measure.c: refuses what cannot fit; measures the segments that are not in the sums yet, for all models, and reduces them. */
int attention_estimate(const struct erf_run *r, const struct erf_model *m, struct error *e) MUST_USE;
int attention_measure(struct erf_run *r, struct error *e) MUST_USE;

/* sums.c. Layers times heads times distances. */
size_t attention_words(const struct erf_run *r, const struct erf_model *m);
/* Room for the sums of every model. */
int attention_room(struct erf_run *r, struct error *e) MUST_USE;
void attention_free(struct erf_attention *a);
/* Adds one segment's mass, shares between 0 and (but for rounding) 1, unless a number of it is not finite. */
void attention_add(struct erf_attention *a, const double *mass, size_t count);
/* The sums so far, as a journal had them. -1 if they are not of this model. */
int attention_resume(const struct erf_run *r, struct erf_model *m, const struct journal_attention *kept);
/* From the sums to means, attention ERFs and TRFs; the TRFs of the rows that `known` holds (see attention_theory_text), or (NULL)
 * computed. */
int attention_reduce(const struct erf_run *r, struct erf_model *m, const char *known, struct error *e) MUST_USE;

/* theory.c: the TRFs of all rows; by the biases of the model, or from the text that a shard has. */
int attention_theory(const struct erf_run *r, const struct erf_model *m, struct error *e) MUST_USE;
int attention_theory_read(const struct erf_run *r, struct erf_model *m, const char *text, struct error *e) MUST_USE;
/* All rows as text, for a shard's results: a line a layer and head, `trf trf_length verdict` of each threshold with `;` between;
 * `=` for a layer as the one before. Caller frees; NULL when memory runs out. */
char *attention_theory_text(const struct erf_run *r, const struct erf_model *m);
/* The rank correlation of the two. */
int attention_correlate(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;

/* eps = 1 - threshold as the decimal that it is: 0.01 for 0.99. */
void erf_epsilon_text(char out[32], double threshold);

/* The row of a head, all from 0. */
static inline struct attention_row *attention_row(const struct erf_run *r, const struct erf_model *m, int layer, int head,
                                                  size_t threshold)
{
    return &m->attention
                .rows[((size_t)layer * (size_t)m->decoder->heads + (size_t)head) * r->options->threshold_count + threshold];
}

#endif
