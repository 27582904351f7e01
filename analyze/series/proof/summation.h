/* Sums to t in closed form. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUMMATION_H
#define REACH_ANALYZE_SERIES_PROOF_SUMMATION_H

#include "analyze/series/proof/expression.h"

/* The sum over i = first, ..., last of the node `body`, in which the leaf X_OPAQUE stands for i: a node without it, right where
 * last is a whole number and at least first - 1. -1: there is none of the forms that are known. */
int expression_sum(struct expression_pool *p, int body, const fmpz_t first, int last);

#endif
