/* Quotients of polynomials in t, with whole coefficients: reading them from nodes, and differences that they are. */
#ifndef REACH_ANALYZE_SERIES_PROOF_QUOTIENT_H
#define REACH_ANALYZE_SERIES_PROOF_QUOTIENT_H

#include "analyze/series/proof/expression.h"

#include <flint/fmpz_poly_q.h>

enum {
    QUOTIENT_DEGREE = 64, /* at most, above and below */
    QUOTIENT_SHIFT = 64 /* between two factors that are whole numbers apart */
};

static inline void fmpz_poly_q_leave(fmpz_poly_q_t *x)
{
    fmpz_poly_q_clear(*x);
}

void quotient_set_rational(fmpz_poly_q_t out, const fmpq *q);
/* out *= x^power: 1, or 0 where that is no small quotient. */
int quotient_multiply_power(fmpz_poly_q_t out, const fmpz_poly_q_t x, const fmpq *power);
/* A node as a quotient that has no pole at t >= first, nor has a part of it, for 1/0 has no sign: 1, or 0 where it is none. */
int quotient_of(fmpz_poly_q_t out, const struct expression_pool *p, int n, const fmpz_t first);
/* G = top / bottom with R(t) = G(t) - rho G(t + 1): 1, or 0 where there is none. */
int quotient_difference(fmpq_poly_t top, fmpz_poly_t bottom, const fmpz_poly_q_t R, const fmpq *rho);
/* 1 if a polynomial is not 0 at any real t >= first, 0 if that is not seen. */
int polynomial_stays_apart(const fmpz_poly_t x, const fmpz_t first);

#endif
