/* What is a function of one angle. */
#ifndef REACH_ANALYZE_SERIES_PROOF_TURNS_H
#define REACH_ANALYZE_SERIES_PROOF_TURNS_H

#include "analyze/series/proof/expression.h"

/* Bounds of node n at every real t, where t is in waves alone whose arguments turn by whole multiples of one rational number: 1,
 * or 0. Found once, and then remembered by the pool. */
int expression_turns(double *least, double *most, const struct expression_pool *p, int n);

#endif
