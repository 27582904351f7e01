/* How far each head attends, compared with the theoretical field of its position bias: measuring,
 * its records in the journal, and the reduction. */
#ifndef REACH_RUN_ATTENTION_ATTENTION_H
#define REACH_RUN_ATTENTION_ATTENTION_H

#include "analyze/attribution.h"
#include "io/results/result.h"
#include "model/decoder.h"
#include "run/measurement.h"

/* measure.c: `reach erf --attention`. */
extern const struct measurement attention_measurement;

/* mixers.c. What mixes the rows of a layer: attention, with its name in attention.csv (NULL: none;
 * empty: in a result of before they were named), and others. */
struct mixers {
    const char *attention;
    int convolves, recurs;
};
/* All layers' as text, names with commas, of several in a layer with +. Caller frees; NULL when
 * memory runs out. */
char *mixers_text(const struct decoder *d);
/* Those of a layer, from 0, by a->mixers; -1 if that is not such a text of its layers. */
int mixers_of(struct mixers *out, const struct result_attention *a, size_t layer) MUST_USE;

/* sums.c. Layers times heads times distances, and layers times heads of recurrences. */
size_t attention_words(const struct result_attention *a);
/* Adds one segment's mass, shares from 0 to 1 (up to rounding), and minus log decays, from 0 to
 * 2^16, if all its numbers are finite. */
void attention_add(struct result_attention *a, const double *mass, const double *decay);
/* Adds the sums of another part of the same run. */
void attention_join(struct result_attention *a, const struct result_attention *part);
/* Restores the sums from a journal. -1 if they are not of this model. */
int attention_resume(struct result_model *m, const struct journal_attention *kept);
/* Computes means, attention ERFs and log decays from the sums; the other members of the rows stay
 * empty. */
int attention_reduce(const struct result *r, struct result_model *m, struct error *e) MUST_USE;

/* theory.c: the TRFs of all rows, from the biases of the model, or from the text in a shard. */
int attention_theory(const struct result *r, struct result_model *m, const struct decoder *d,
                     struct error *e) MUST_USE;
int attention_theory_read(const struct result *r, struct result_model *m, const char *text,
                          struct error *e) MUST_USE;
/* The rank correlation of attention ERF and TRF. */
int attention_correlate(const struct result *r, struct result_model *m, struct error *e) MUST_USE;

/* The row of a head; indices from 0. */
static inline struct attention_row *attention_row(const struct result *r,
                                                  const struct result_model *m, size_t layer,
                                                  size_t head, size_t threshold)
{
    return &m->attention.rows[(layer * m->attention.heads + head) * r->threshold_count + threshold];
}

#endif
