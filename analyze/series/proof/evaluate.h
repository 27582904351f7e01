/* Values of an expression: balls at a whole t, complex balls, power series. All are enclosures;
 * what cannot be told is an indeterminate ball. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EVALUATE_H
#define REACH_ANALYZE_SERIES_PROOF_EVALUATE_H

#include "analyze/series/proof/expression.h"

/* q and what else of a linear node has no t, with more bits where most of it cancels. */
void evaluate_fixed_part(arb_t out, const struct expression_pool *p, const struct expression *x,
                         slong prec);

/* 1 if the node is shift + slope * u, u another node (for evaluate_affine t), with constants. */
int evaluate_line_in(arb_t shift, arb_t slope, const struct expression_pool *p, int n, int u,
                     slong prec);
int evaluate_affine(arb_t shift, arb_t slope, const struct expression_pool *p, int n, slong prec);

/* One expression made ready for many points, its constants computed once: f(t) = exp(node). */
struct evaluator;
/* With more bits where a large constant, or t near to a long number (NULL: none), is to cancel.
 * NULL when memory runs out. The pool must outlive it and may grow. */
struct evaluator *evaluator_new(const struct expression_pool *p, int root, slong prec,
                                const fmpz *near);
void evaluator_free(struct evaluator *v);
slong evaluator_more(const struct evaluator *v);

/* exp(b(t)) for a whole t. Returns 0, or -1 where the value is ambiguous at this precision (a kink,
 * or not a number there): ask expression_substitute then. */
int evaluator_point(arb_t out, struct evaluator *v, const arb_t t);
/* The work of that, or of a term of evaluator_block. */
double evaluator_cost(const struct evaluator *v, int block);
/* exp(b(z)); b must have no kinks. Indeterminate where b is not proved to be analytic. */
void evaluator_complex(acb_t out, struct evaluator *v, const acb_t z);
/* Taylor coefficients of exp(b(t + x)), `length` of them; no kinks. */
void evaluator_taylor(arb_poly_t out, struct evaluator *v, const arb_t t, slong length);
/* exp of a node without t, 0 or indeterminate for infinities; with more bits where most cancels. */
void evaluate_exp_constant(arb_t out, const struct expression_pool *p, int n, slong prec);

/* Cosine and sine of an angle, and of frequency * i for i < count, as the nearest doubles. 1, or 0
 * where one is not known to 2^-70 before that. */
int wave_at(double *cosine, double *sine, const arb_t angle);
int wave_table(double *cosine, double *sine, int count, const arb_t frequency);

/* f(first), f(first + 1), ... of a long run, where b is a combination of many sines and cosines of
 * t: these are added up in double, with a bound of the error, everything else in balls of 64 bits.
 * 0 if the expression has no such part (or memory is short). */
int evaluator_has_waves(const struct evaluator *v);
/* Enclosures of f(first + i), i < count <= EVALUATE_BLOCK; -1: one is ambiguous. first < 2^52. */
enum { EVALUATE_BLOCK = 256 };
int evaluator_block(arb_ptr out, struct evaluator *v, ulong first, int count);

#endif
