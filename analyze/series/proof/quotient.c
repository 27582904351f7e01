/* Quotients of polynomials: [6.2] and [1.4] sum them. */
#include "analyze/series/proof/quotient.h"

#include <flint/fmpq_mat.h>
#include <stdlib.h>

static inline void fmpq_mat_leave(fmpq_mat_t *x)
{
    fmpq_mat_clear(*x);
}

static int is_small(const fmpz_poly_q_t x)
{
    return fmpz_poly_length(fmpz_poly_q_numref(x)) <= QUOTIENT_DEGREE &&
           fmpz_poly_length(fmpz_poly_q_denref(x)) <= QUOTIENT_DEGREE;
}

void quotient_set_rational(fmpz_poly_q_t out, const fmpq *q)
{
    fmpz_poly_set_fmpz(fmpz_poly_q_numref(out), fmpq_numref(q));
    fmpz_poly_set_fmpz(fmpz_poly_q_denref(out), fmpq_denref(q));
}

int quotient_multiply_power(fmpz_poly_q_t out, const fmpz_poly_q_t x, const fmpq *power)
{
    LOCAL(fmpz_poly_q, y);
    if (!fmpz_is_one(fmpq_denref(power)) || fmpz_cmpabs(fmpq_numref(power), (const fmpz[]){QUOTIENT_DEGREE}) > 0 ||
        fmpz_poly_q_is_zero(x))
        return 0;
    slong n = fmpz_get_si(fmpq_numref(power)),
          length = fmpz_poly_length(fmpz_poly_q_numref(x)) + fmpz_poly_length(fmpz_poly_q_denref(x));
    if (labs(n) * length > 2 * QUOTIENT_DEGREE)
        return 0;
    fmpz_poly_q_pow(y, x, (ulong)labs(n));
    if (n < 0)
        fmpz_poly_q_inv(y, y);
    fmpz_poly_q_mul(out, out, y);
    return is_small(out);
}

/* Its coefficients around there have one sign. */
int polynomial_stays_apart(const fmpz_poly_t x, const fmpz_t first)
{
    int sign = 0, apart = 1;
    LOCAL(fmpz_poly, around);
    fmpz_poly_taylor_shift(around, x, first);
    for (slong i = 0; i < fmpz_poly_length(around) && apart; i++) {
        int s = fmpz_sgn(fmpz_poly_get_coeff_ptr(around, i));
        apart = i ? s == 0 || s == sign : s != 0;
        sign = i ? sign : s;
    }
    return apart;
}

int quotient_of(fmpz_poly_q_t out, const struct expression_pool *p, int n, const fmpz_t first)
{
    const struct expression *x = &p->node[n];
    LOCAL(fmpz_poly_q, y, w);
    int known = 1;
    if (x->kind == X_NUMBER) {
        quotient_set_rational(out, x->q);
    } else if (x->kind == X_T) {
        fmpz_poly_set_coeff_ui(fmpz_poly_q_numref(y), 1, 1);
        fmpz_poly_q_set(out, y);
    } else if (x->kind == X_LINEAR) {
        quotient_set_rational(out, x->q);
        for (int i = 0; i < x->count && known; i++) {
            known = quotient_of(y, p, x->child[i], first);
            quotient_set_rational(w, &x->weight[i]);
            fmpz_poly_q_mul(y, y, w);
            fmpz_poly_q_add(out, out, y);
        }
    } else if (x->kind == X_MULTIPLY) {
        known = quotient_of(out, p, x->child[0], first) && quotient_of(y, p, x->child[1], first);
        fmpz_poly_q_mul(out, out, y);
    } else if (x->kind == X_POWER && p->node[x->child[1]].kind == X_NUMBER) {
        fmpz_poly_q_one(out);
        known = quotient_of(y, p, x->child[0], first) && quotient_multiply_power(out, y, p->node[x->child[1]].q) &&
                (fmpq_sgn(p->node[x->child[1]].q) > 0 || polynomial_stays_apart(fmpz_poly_q_numref(y), first));
    } else {
        known = 0;
    }
    return known && is_small(out);
}

/* The denominator of G: poles of R lie between those of G and the same shifted by 1. bottom = cofactor times R's. */
static int find_bottom(fmpz_poly_t bottom, fmpz_poly_t cofactor, const fmpz_poly_t poles)
{
    slong last = 0;
    LOCAL(fmpz_poly, shifted, common);
    LOCAL(fmpz, h);
    fmpz_poly_set(bottom, poles);
    fmpz_poly_one(cofactor);
    for (slong i = 1; i <= QUOTIENT_SHIFT && fmpz_poly_degree(poles) > 0; i++) {
        fmpz_set_si(h, i);
        fmpz_poly_taylor_shift(shifted, poles, h);
        fmpz_poly_gcd(common, poles, shifted);
        if (fmpz_poly_degree(common) > 0)
            last = i;
    }
    if (fmpz_poly_degree(poles) > 0 && last == 0)
        return 0;
    for (slong i = 1; i < last && fmpz_poly_length(bottom) <= QUOTIENT_DEGREE; i++) {
        fmpz_set_si(h, i);
        fmpz_poly_taylor_shift(shifted, poles, h);
        fmpz_poly_gcd(common, bottom, shifted);
        fmpz_poly_div(shifted, shifted, common);
        fmpz_poly_mul(bottom, bottom, shifted);
        fmpz_poly_mul(cofactor, cofactor, shifted);
    }
    return fmpz_poly_length(bottom) <= QUOTIENT_DEGREE;
}

/* Solves top(t) bottom(t+1) - rho top(t+1) bottom(t) = R's numerator, times the cofactor and bottom(t+1). */
static int find_top(fmpq_poly_t top, const fmpz_poly_t bottom, const fmpz_poly_t cofactor, const fmpz_poly_t numerator,
                    const fmpq *rho)
{
    LOCAL(fmpz, one);
    LOCAL(fmpz_poly, next, right, left, along, x);
    LOCAL(fmpq, value);
    int constant = fmpq_is_one(rho);
    fmpz_one(one);
    fmpz_poly_taylor_shift(next, bottom, one);
    fmpz_poly_mul(right, numerator, cofactor);
    fmpz_poly_mul(right, right, next);
    fmpz_poly_scalar_mul_fmpz(right, right, fmpq_denref(rho));
    slong poles = fmpz_poly_degree(bottom), degree = fmpz_poly_degree(right) - poles + constant;
    if (constant && degree < poles)
        degree = poles;
    if (degree < 0)
        return 0;
    slong rows = degree + poles + 1 > fmpz_poly_length(right) ? degree + poles + 1 : fmpz_poly_length(right);
    fmpq_mat_t m __attribute__((cleanup(fmpq_mat_leave)));
    fmpq_mat_init(m, rows, degree + 2);
    fmpz_poly_one(along); /* (t + 1)^i */
    fmpz_poly_set_coeff_ui(x, 1, 1);
    fmpz_poly_set_coeff_ui(x, 0, 1);
    for (slong i = 0; i <= degree; i++) {
        fmpz_poly_mul(left, along, bottom);
        fmpz_poly_scalar_mul_fmpz(left, left, fmpq_numref(rho));
        for (slong row = 0; row < fmpz_poly_length(left); row++)
            fmpz_neg(fmpq_numref(fmpq_mat_entry(m, row, i)), fmpz_poly_get_coeff_ptr(left, row));
        for (slong row = 0; row < fmpz_poly_length(next); row++)
            fmpz_addmul(fmpq_numref(fmpq_mat_entry(m, row + i, i)), fmpz_poly_get_coeff_ptr(next, row), fmpq_denref(rho));
        for (slong row = 0; row < rows && constant && i == poles; row++) /* a constant in G is for nothing: without t^poles */
            fmpz_zero(fmpq_numref(fmpq_mat_entry(m, row, i)));
        fmpz_poly_mul(along, along, x);
    }
    for (slong row = 0; row < fmpz_poly_length(right); row++)
        fmpz_set(fmpq_numref(fmpq_mat_entry(m, row, degree + 1)), fmpz_poly_get_coeff_ptr(right, row));
    slong rank = fmpq_mat_rref(m, m), column = 0;
    for (slong row = 0; row < rank; row++, column++) {
        while (column <= degree && fmpq_is_zero(fmpq_mat_entry(m, row, column)))
            column++;
        if (column > degree) /* 0 = 1 */
            return 0;
        fmpq_set(value, fmpq_mat_entry(m, row, degree + 1));
        fmpq_poly_set_coeff_fmpq(top, column, value);
    }
    return 1;
}

int quotient_difference(fmpq_poly_t top, fmpz_poly_t bottom, const fmpz_poly_q_t R, const fmpq *rho)
{
    LOCAL(fmpz_poly, cofactor);
    return find_bottom(bottom, cofactor, fmpz_poly_q_denref(R)) && find_top(top, bottom, cofactor, fmpz_poly_q_numref(R), rho);
}
