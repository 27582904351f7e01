/* The field: the least j whose share of the mass is above 1 - epsilon. Certain answers of
 * comparisons, at whatever distances these were asked for, give an interval that contains it. */
#ifndef REACH_ANALYZE_SERIES_PROOF_FIELD_H
#define REACH_ANALYZE_SERIES_PROOF_FIELD_H

#include "analyze/series/proof/share.h"

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
/* 1: the field is <= j, -1: it is > j, 0: not known. *value is the share below j less 1 - epsilon.
 */
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
/* The sum of `layers` distances with the shares m of a kernel, by cells of so many distances each,
 * from 0 on. */
struct depth {
    fmpz_t width;
    int layers, cells;
    arb_ptr cumulative; /* [cells + 1] P(the sum of the cells' numbers < k) */
};
/* About the work of a product of two kernels of so many cells. */
double depth_work(int cells, slong bits);
/* NULL: memory. */
struct depth *depth_new(struct shares *m, int layers, const fmpz_t width, int cells, slong prec,
                        struct budget *budget);
void depth_free(struct depth *d);
/* Narrows the field of that many layers. */
void depth_narrow(struct field *out, const struct depth *d, const fmpq_t epsilon);
/* The same where all is known but a few distances, and all shares are rational numbers that are not
 * too long for the work. */
void depth_exactly(struct field *out, const struct shares *m, const fmpq_t epsilon, int layers,
                   struct budget *budget, double most_work);

#endif
