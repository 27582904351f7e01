/* Least squares of y on functions of the distance: the log-curve fit ([A] section 6, figure 9), any
 * form linear in its coefficients, or a + b ln(1 + c t) with c free. */
#ifndef REACH_ANALYZE_FIT_H
#define REACH_ANALYZE_FIT_H

#include "analyze/formula.h"

#include <stddef.h>

enum { FIT_COEFFICIENTS_MAX = 8 };

/* A form such as `a + b*ln(1+t)`: its parameters without defaults are the coefficients. */
struct fit_form {
    struct formula
        *formula; /* owned; its parameters hold the coefficients of the last evaluation */
    int count; /* coefficients, in the order of their first appearance */
    int slot[FIT_COEFFICIENTS_MAX]; /* for each, the formula's parameter */
    int nonlinear; /* index of the single nonlinear coefficient, -1: none */
};

struct fit_result {
    int count;
    char name[FIT_COEFFICIENTS_MAX][32];
    double value[FIT_COEFFICIENTS_MAX],
        error[FIT_COEFFICIENTS_MAX]; /* estimates and their standard errors */
    double r2; /* 1 - RSS / sum of (y - mean y)^2; NaN when all y are equal */
    double residual_deviation; /* sqrt(RSS / (points - count)); NaN, like errors, without surplus
                                  points */
    size_t points;
};

/* Parses a form of t alone; refuses one that is not linear in its coefficients, except for a single
 * inner one (like c in a + b*ln(1+c*t)). 0 or -1. */
int fit_form_parse(struct fit_form *out, const char *text, struct formula_error *e);
void fit_form_free(struct fit_form *f);

/* Ordinary least squares over the points (t[i], y[i]); a y that is not finite is an error that
 * names the first. Standard errors from (X'X)^-1 RSS/(n-p); for a free inner coefficient from the
 * Jacobian at the minimum, which is searched among both signs and sizes from 1e-9 to 1e9. Errors:
 * fewer points than coefficients, linearly dependent columns, and an inner coefficient that the
 * data do not determine. 0 or -1. */
int fit_solve(struct fit_result *out, const struct fit_form *form, const double *t, const double *y,
              size_t count, struct formula_error *e);
/* The fitted curve at t. */
double fit_evaluate(const struct fit_form *form, const struct fit_result *r, double t);

#endif
