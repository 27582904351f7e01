/* How far each head attends, beside the theoretical field of its position bias: measuring, its records in the journal, and the
 * reduction. */
#ifndef REACH_RUN_ATTENTION_ATTENTION_H
#define REACH_RUN_ATTENTION_ATTENTION_H

#include "io/results/result.h"
#include "model/decoder.h"
#include "run/measurement.h"

/* measure.c: `reach erf --attention`. */
extern const struct measurement attention_measurement;

/* sums.c. Layers times heads times distances. */
size_t attention_words(const struct result_attention *a);
/* Adds one segment's mass, shares between 0 and (but for rounding) 1, unless a number of it is not finite. */
void attention_add(struct result_attention *a, const double *mass);
/* Adds the sums of another part of the same run. */
void attention_join(struct result_attention *a, const struct result_attention *part);
/* The sums so far, as a journal had them. -1 if they are not of this model. */
int attention_resume(struct result_model *m, const struct journal_attention *kept);
/* From the sums to means and attention ERFs; the rest of the rows is empty. */
int attention_reduce(const struct result *r, struct result_model *m, struct error *e) MUST_USE;

/* theory.c: the TRFs of all rows; by the biases of the model, or from the text that a shard has. */
int attention_theory(const struct result *r, struct result_model *m, const struct decoder *d, struct error *e) MUST_USE;
int attention_theory_read(const struct result *r, struct result_model *m, const char *text, struct error *e) MUST_USE;
/* The rank correlation of the two. */
int attention_correlate(const struct result *r, struct result_model *m, struct error *e) MUST_USE;

/* The row of a head, all from 0. */
static inline struct attention_row *attention_row(const struct result *r, const struct result_model *m, size_t layer, size_t head,
                                                  size_t threshold)
{
    return &m->attention.rows[(layer * m->attention.heads + head) * r->threshold_count + threshold];
}

#endif
