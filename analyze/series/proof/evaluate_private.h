/* What evaluation in balls is made of. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EVALUATE_PRIVATE_H
#define REACH_ANALYZE_SERIES_PROOF_EVALUATE_PRIVATE_H

#include "analyze/series/proof/evaluate.h"

/* One node in the order of evaluation. */
struct step {
    enum expression_kind kind;
    int node, count, depends;
    int beside; /* needed although the waves are added up apart */
    int *child; /* [count] steps */
    arb_ptr weight; /* [count] X_LINEAR */
    arb_t q; /* X_LINEAR, X_NUMBER, X_INFINITY */
    arb_t real; /* value of the last evaluation; of a constant for good */
    acb_t complex; /* of the last complex evaluation */
    acb_poly_t series; /* around there */
};

/* exp(b) = exp(q + sum of weight * term) * product of base^power: logarithms with a constant weight
 * become powers, which is faster and analytic in a larger region when the power is whole. */
struct part {
    int step;
    arb_t weight;
    int whole; /* a base with a small whole power */
    slong power;
    int wave; /* index of the wave + 1; 0: not a wave */
};

/* weight * cos(shift + frequency t), or sin. */
struct wave {
    int is_sine;
    arb_t shift, frequency;
    double weight;
    double cosine[EVALUATE_BLOCK], sine[EVALUATE_BLOCK]; /* of frequency * i */
    int sharp; /* all of these are known to 2^-70 before rounding */
};

struct evaluator {
    const struct expression_pool *p;
    slong prec, more; /* of prec, beyond what was asked for */
    int steps, terms, bases, waves;
    struct step *step;
    struct part *term, *base;
    struct wave *wave;
    double wave_error; /* of the sum of the waves */
    double cost, beside_cost; /* of a point, counted as work is; of what is beside the waves */
    arb_t q;
};

/* ---- steps (step.c) ---- */

/* The value of a step from those before it. */
void step_real(struct step *s, const struct step *all, const arb_t t, slong prec);
void step_complex(struct step *s, const struct step *all, const acb_t z, slong prec);
/* The power series around the point (or the points) of the last complex evaluation. */
void step_series(struct step *s, const struct step *all, slong length, slong prec);
void series_addmul(acb_poly_t out, const acb_poly_t a, const arb_t weight, slong prec);
void step_clear(struct step *s);
void power_real(arb_t out, const arb_t a, const arb_t b, slong prec);
/* exp of the value of b; 0, or -1 where it is +inf or not known. */
int exp_of(arb_t out, const arb_t b, slong prec, struct budget *budget);
/* Steps for nodes in order, with all below them. 0 or -1. */
int evaluator_steps(struct evaluator *v, const struct expression_pool *p, const int *nodes,
                    int count);
/* The step of a node. */
int evaluator_place(const struct evaluator *v, int n);

/* ---- points (evaluate.c) ---- */

/* The steps at t; beside_waves: only those that are needed beside the waves. */
void evaluator_run(struct evaluator *v, const arb_t t, int beside_waves);
/* exp(sum) times the powers. 0 or -1. */
int evaluator_finish(arb_t out, struct evaluator *v, const arb_t sum);

#endif
