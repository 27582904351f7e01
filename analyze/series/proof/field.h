/* The field: the least j whose share of the mass is above 1 - epsilon. Certain answers of
 * comparisons, at whatever distances these were asked for, give an interval that contains it. */
#ifndef REACH_ANALYZE_SERIES_PROOF_FIELD_H
#define REACH_ANALYZE_SERIES_PROOF_FIELD_H

#include "analyze/series/proof/sum.h"

/* ---- shares (share.c) ---- */

/* The kernel of one bias, or the mean of several, normalised: shares of its mass. */
struct shares;
/* Room for `count` sums, all of one limit or none, which then belong to the shares. NULL: memory.
 */
struct shares *shares_new(int count, slong prec);
void shares_put(struct shares *m, int i, struct sums *s);
void shares_free(struct shares *m);

/* Share of the mass at distances < j. */
void shares_below(arb_t out, struct shares *m, const fmpz_t j);
/* Share at distances >= j, j a whole number that may be far beyond machine words (no limit). */
void shares_above(arb_t out, const struct shares *m, const arb_t j);
/* Share of the one distance j. */
void shares_term(arb_t out, struct shares *m, const fmpz_t j);
/* Sign of *value, (share below j) - (1 - epsilon): 1, 0 or -1 when certain, 2 when not. */
int shares_compare(arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon);
/* share[k], k < count, is the share below first + k, as a rational number. 1, or 0: not known. */
int shares_exact(fmpq *share, const struct shares *m, const fmpz_t first, int count);
/* The sum of f itself, of the first. */
void shares_total(arb_t out, const struct shares *m);
/* 1 if some values are not all known to be numbers or -inf: there may be no mass to share. */
int shares_unknown(const struct shares *m);
/* NULL: of all distances. */
const fmpz *shares_limit(const struct shares *m);

/* ---- fields (field.c) ---- */

struct field {
    fmpz_t no, yes; /* the field is > no and <= yes */
    int bounded; /* there is a yes */
    arb_t far_no, far_yes; /* the same, far beyond machine words; 0: none */
};

/* Of the first `limit` distances, or of all (NULL). */
void field_init(struct field *f, const fmpz *limit);
void field_clear(struct field *f);
/* A decimal text in (0, 1), exactly. 0, or -1 with *e. */
int field_epsilon(fmpq_t out, const char *text, struct formula_error *e);
/* 1: the field is <= j, -1: > j, 0: not known. *value is the share below j less 1 - epsilon. */
int field_test(struct field *f, arb_t value, struct shares *m, const fmpz_t j,
               const fmpq_t epsilon);
/* The same, j an exact whole number far beyond machine words. */
int field_test_far(struct field *f, const struct shares *m, const arb_t j, const fmpq_t epsilon);
/* 0 or -1 with *e: memory. */
int field_report(struct series_count *out, const struct field *f, struct formula_error *e);

/* ---- across depth (depth.c) ---- */

/* The epsilons whose one-layer fields bound that of `layers` layers, and the bounds. */
void depth_epsilons(fmpq_t least, fmpq_t greatest, const fmpq_t epsilon, int layers);
void depth_by_one_layer(struct field *out, const struct field *least, const struct field *greatest,
                        int layers);
/* The logarithms of these bounds where they are too long to be written. */
void depth_report_far(struct series_count *out, const struct series_count *least,
                      const struct series_count *greatest, int layers);
/* The sum of `layers` distances with the shares m, by cells of `width` distances from 0 on. */
struct depth {
    fmpz_t width;
    int layers, cells;
    arb_ptr cumulative; /* [cells + 1] P(the sum of the cells' numbers < k) */
};
/* About the work of a product of two kernels of `cells` cells. */
double depth_work(int cells, slong bits);
/* NULL: memory. */
struct depth *depth_new(struct shares *m, int layers, const fmpz_t width, int cells, slong prec,
                        struct budget *budget);
void depth_free(struct depth *d);
/* Narrows the field of that many layers. */
void depth_narrow(struct field *out, const struct depth *d, const fmpq_t epsilon);
/* The same if only a few distances are left and all shares are rational and short enough. */
void depth_exactly(struct field *out, const struct shares *m, const fmpq_t epsilon, int layers,
                   struct budget *budget, double most_work);

#endif
