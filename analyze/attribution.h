/* Reductions for attributions and attention: quadrature, noise, windows of mass. Pure functions. */
#ifndef REACH_ANALYZE_ATTRIBUTION_H
#define REACH_ANALYZE_ATTRIBUTION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes and weights of the n-point Gauss-Legendre rule on [0, 1], nodes ascending: exact for
 * polynomials of degree 2n - 1. The weights sum to 1. */
void gauss_legendre(double *node, double *weight, int n);

/* Standard normal deviate i (from 0) of stream `seed`, by Box and Muller's transform of two of its
 * random_at (analyze/curve.h).
 */
double random_normal(uint64_t seed, uint64_t i);

/* The attention ERF of [B] (the definition before eq. 22): the smallest j with mass[0] + ... +
 * mass[j - 1] > (1 - epsilon) sum of all, mass [n] >= 0 by distance. 0 without mass or if a number
 * is not finite. 0 < epsilon < 1. */
size_t attention_erf(const double *mass, size_t n, double epsilon);

/* Tokens over which a state with this mean log decay falls to the share epsilon: ln epsilon / log
 * decay; NaN without one, and inf if it does not decay. */
static inline double decay_tokens(double epsilon, double log_decay)
{
    return log_decay < 0 ? log(epsilon) / log_decay : log_decay == 0 ? INFINITY : NAN;
}

/* Spearman's rank correlation of x and y [n], ties at their mean rank; NaN for fewer than 3 or when
 * either is constant. Returns 0, or -1: out of memory. */
int rank_correlation(double *out, const double *x, const double *y, size_t n);

#endif
