/* Ordinary least squares of a form. Columns are made by evaluating the form at unit coefficients; a
 * pivoted QR solves and detects linearly dependent columns. A coefficient inside (c of ln(1+c*t))
 * is searched for separately: for each of its values the others follow by linear least squares
 * (Golub and Pereyra 1973), so that the search has one dimension and needs no starting point. */
#include "analyze/fit.h"

#include "analyze/formula_private.h"
#include "analyze/qr.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- forms ---- */

enum dependence { CONSTANT, AFFINE, OTHER };

static enum dependence larger(enum dependence a, enum dependence b)
{
    return a > b ? a : b;
}

static int is_coefficient(const struct formula_node *node)
{
    return node->kind == NODE_PARAMETER && node->child[0] < 0;
}

/* How the value of the tree depends on all coefficients together; the parameter `inner` (-1: none)
 * counts as a constant. */
static enum dependence form_dependence(const struct formula *f, int inner)
{
    enum dependence of[FORMULA_NODES_MAX];

    for (int n = 0; n <= f->root; n++) {
        const struct formula_node *node = &f->nodes[n];
        enum dependence a = node->child[0] >= 0 ? of[node->child[0]] : CONSTANT,
                        b = node->child[1] >= 0 ? of[node->child[1]] : CONSTANT;
        enum dependence c = node->child[2] >= 0 ? of[node->child[2]] : CONSTANT;

        switch (node->kind) {
        case NODE_PARAMETER:
            of[n] = is_coefficient(node) && node->slot != inner ? AFFINE : CONSTANT;
            break;
        case NODE_NEGATE: of[n] = a; break;
        case NODE_ADD:
        case NODE_SUBTRACT: of[n] = larger(a, b); break;
        case NODE_MULTIPLY: of[n] = a == CONSTANT || b == CONSTANT ? larger(a, b) : OTHER; break;
        case NODE_DIVIDE: of[n] = b == CONSTANT ? a : OTHER; break;
        case NODE_CHOOSE: of[n] = a == CONSTANT ? larger(b, c) : OTHER; break;
        case NODE_SUM: of[n] = a == CONSTANT && b == CONSTANT ? c : OTHER; break;
        default: of[n] = a == CONSTANT && b == CONSTANT && c == CONSTANT ? CONSTANT : OTHER; break;
        }
    }
    return of[f->root];
}

/* The formula's parameter of each coefficient, in order of first appearance; returns their number
 * (those beyond the maximum are not listed). */
static int find_coefficients(int slot[FIT_COEFFICIENTS_MAX], const struct formula *f)
{
    int count = 0;

    for (int p = 0; p < f->parameter_count; p++) {
        int used = 0;

        for (int n = 0; n <= f->root; n++)
            used |= is_coefficient(&f->nodes[n]) && f->nodes[n].slot == p;
        if (used && count < FIT_COEFFICIENTS_MAX)
            slot[count] = p;
        count += used;
    }
    return count;
}

int fit_form_parse(struct fit_form *out, const char *text, struct formula_error *e)
{
    struct formula *f = formula_parse(text, e);
    int count, *slot = out->slot;
    double zero = 0;

    memset(out, 0, sizeof *out);
    if (!f)
        return -1;
    for (int n = 0; n <= f->root; n++)
        if (f->nodes[n].kind == NODE_VARIABLE && f->nodes[n].slot != VARIABLE_T) {
            formula_refuse(
                e, f->nodes[n].at,
                "a form depends only on the distance t (h, H, d and L have no value here)");
            goto failed;
        }
    count = find_coefficients(slot, f);
    if (count == 0 || count > FIT_COEFFICIENTS_MAX) {
        formula_refuse(
            e, 0,
            count
                ? "the form has %d coefficients (expected at most %d)"
                : "the form has %d coefficients (expected names, as in a + b*ln(1+t); at most %d)",
            count, FIT_COEFFICIENTS_MAX);
        goto failed;
    }
    out->nonlinear = -1;
    for (int i = -1; form_dependence(f, i < 0 ? -1 : slot[i]) == OTHER; out->nonlinear = ++i)
        if (i + 1 == count) {
            formula_refuse(e, 0,
                           "the form is not linear in its coefficients, nor with one of them held "
                           "fixed (as c of a + b*ln(1+c*t))");
            goto failed;
        }
    for (int i = 0; i < count; i++)
        if (formula_set_values(f, f->parameters[slot[i]].name, &zero, 1, e) != 0)
            goto failed;
    out->formula = f;
    out->count = count;
    return 0;
failed:
    formula_free(f);
    return -1;
}

void fit_form_free(struct fit_form *f)
{
    formula_free(f->formula);
    memset(f, 0, sizeof *f);
}

/* The form's value at t for these coefficients. Its formula holds the coefficients of the last
 * call. */
static double value_at(const struct fit_form *form, const double *coefficient, double t)
{
    struct formula_point at = {.t = t, .h = 1, .heads = 1, .head_size = 1, .length = 1};

    for (int i = 0; i < form->count; i++)
        form->formula->parameters[form->slot[i]].value[0] = coefficient[i];
    return formula_evaluate(form->formula, &at);
}

double fit_evaluate(const struct fit_form *form, const struct fit_result *r, double t)
{
    return value_at(form, r->value, t);
}

/* ---- linear least squares ---- */

/* The data of a fit. Matrices are stored by column. */
struct problem {
    const struct fit_form *form;
    const double *t, *y; /* [points] */
    size_t points;
    int columns; /* linear coefficients, and in the Jacobian one more */
    double *x; /* [columns, points] */
    double *offset; /* [points] the form with all coefficients 0 */
    double *factor; /* [columns, points] x scaled, then its QR factors */
    double *right; /* [points] */
    struct formula_error *e;
};

/* Minimises |right side - x b|^2, the right side given in p->right. Writes b, the diagonal of
 * (X'X)^-1 and the minimum itself; the residuals stay in p->right. Returns 0; 1 when columns are
 * linearly dependent to a relative `tolerance`; -1 with p->e. */
static int solve_linear(double *b, double *inverse, double *rss, struct problem *p,
                        double tolerance)
{
    int n = p->columns, pivot[FIT_COEFFICIENTS_MAX] = {0};
    size_t rows = p->points;
    double factors[FIT_COEFFICIENTS_MAX], scale[FIT_COEFFICIENTS_MAX], *target = p->right, sum = 0;

    for (int k = 0; k < n; k++) {
        const double *column = p->x + (size_t)k * rows;
        double most = 0, square = 0;

        for (size_t i = 0; i < rows; i++)
            most = fmax(most, fabs(column[i]));
        if (most == 0)
            return 1;
        for (size_t i = 0; i < rows; i++)
            square += (column[i] / most) * (column[i] / most);
        scale[k] = most * sqrt(square);
        for (size_t i = 0; i < rows; i++)
            p->factor[(size_t)k * rows + i] = column[i] / scale[k];
    }
    qr_factor(p->factor, rows, n, pivot, factors);
    if (!(fabs(p->factor[(size_t)(n - 1) * rows + (size_t)n - 1]) > tolerance * fabs(p->factor[0])))
        return 1;
    double *kept = malloc(rows * sizeof *kept);
    if (!kept)
        return formula_refuse(p->e, 0, "out of memory");
    memcpy(kept, target, rows * sizeof *kept);
    qr_apply(target, p->factor, rows, n, factors);
    qr_solve(target, p->factor, rows, n);
    memset(inverse, 0, (size_t)n * sizeof *inverse);
    for (int j = 0; j < n; j++) { /* column j of the inverse of R */
        double unit[FIT_COEFFICIENTS_MAX] = {0};

        unit[j] = 1;
        qr_solve(unit, p->factor, rows, n);
        for (int k = 0; k < n; k++)
            inverse[pivot[k]] += unit[k] * unit[k];
    }
    for (int k = 0; k < n; k++) {
        b[pivot[k]] = target[k] / scale[pivot[k]];
        inverse[k] = inverse[k] / scale[k] / scale[k];
    }
    for (size_t i = 0; i < rows; i++) {
        double residual = kept[i];

        for (int k = 0; k < n; k++)
            residual -= b[k] * p->x[(size_t)k * rows + i];
        target[i] = residual;
        sum += residual * residual;
    }
    free(kept);
    *rss = sum;
    return 0;
}

/* Fills x and offset for a value of the inner coefficient (unused without one). 0, or -1 if the
 * form has no finite value at a point, which is reported if `tell`. */
static int make_columns(struct problem *p, double inner, int tell)
{
    const struct fit_form *form = p->form;

    for (size_t i = 0; i < p->points; i++) {
        double coefficient[FIT_COEFFICIENTS_MAX] = {0};
        int k = 0;

        if (form->nonlinear >= 0)
            coefficient[form->nonlinear] = inner;
        p->offset[i] = value_at(form, coefficient, p->t[i]);
        for (int c = 0; c < form->count; c++) {
            if (c == form->nonlinear)
                continue;
            coefficient[c] = 1;
            p->x[(size_t)k * p->points + i] = value_at(form, coefficient, p->t[i]) - p->offset[i];
            coefficient[c] = 0;
            if (!isfinite(p->x[(size_t)k++ * p->points + i]))
                return tell ? formula_refuse(p->e, 0,
                                             "the form has no finite value at t = %.10g (expected "
                                             "a range without it)",
                                             p->t[i])
                            : -1;
        }
        if (!isfinite(p->offset[i]))
            return tell ? formula_refuse(p->e, 0,
                                         "the form has no finite value at t = %.10g (expected a "
                                         "range without it)",
                                         p->t[i])
                        : -1;
    }
    p->columns = form->nonlinear >= 0 ? form->count - 1 : form->count;
    return 0;
}

/* The best fit with the inner coefficient fixed at `inner`: all coefficients to value[count],
 * inverse as in solve_linear. Returns the same as that, and 1 also if the form has no value; *rss
 * is +inf then. */
static int solve_at(double value[FIT_COEFFICIENTS_MAX], double inverse[FIT_COEFFICIENTS_MAX],
                    double *rss, struct problem *p, double inner, int tell)
{
    double b[FIT_COEFFICIENTS_MAX];
    int rc, k = 0;

    *rss = INFINITY;
    if (make_columns(p, inner, tell) != 0)
        return tell ? -1 : 1;
    for (size_t i = 0; i < p->points; i++)
        p->right[i] = p->y[i] - p->offset[i];
    if (p->columns == 0) { /* the inner coefficient is the only one */
        *rss = 0;
        for (size_t i = 0; i < p->points; i++)
            *rss += p->right[i] * p->right[i];
        value[0] = inner;
        return 0;
    }
    rc = solve_linear(b, inverse, rss, p, (double)p->points * DBL_EPSILON);
    for (int c = 0; c < p->form->count && rc == 0; c++)
        value[c] = c == p->form->nonlinear ? inner : b[k++];
    return rc;
}

/* ---- a coefficient inside ---- */

enum { DECADES = 9, PER_DECADE = 6, GRID = 2 * DECADES * PER_DECADE + 1, STARTS = 3 };

/* RSS as a function of ln |c| on one sign of c, minimised on [low, high] by the golden section.
 * *failed is set when a solve fails. */
static double refine(struct problem *p, double sign, double low, double high, int *failed)
{
    const double golden = 0.6180339887498949;
    double value[FIT_COEFFICIENTS_MAX], inverse[FIT_COEFFICIENTS_MAX],
        a = high - golden * (high - low), b = low + golden * (high - low), at_a, at_b;

    *failed |= solve_at(value, inverse, &at_a, p, sign * exp(a), 0) < 0;
    *failed |= solve_at(value, inverse, &at_b, p, sign * exp(b), 0) < 0;
    while (high - low > 1e-5 && !*failed) {
        if (at_a < at_b) {
            high = b, b = a, at_b = at_a;
            a = high - golden * (high - low);
            *failed |= solve_at(value, inverse, &at_a, p, sign * exp(a), 0) < 0;
        } else {
            low = a, a = b, at_a = at_b;
            b = low + golden * (high - low);
            *failed |= solve_at(value, inverse, &at_b, p, sign * exp(b), 0) < 0;
        }
    }
    return sign * exp(0.5 * (low + high));
}

/* Adds the derivative of the form by its inner coefficient to x as one more column, by central
 * differences (relative error about 1e-10). */
static int add_derivative(struct problem *p, const double value[FIT_COEFFICIENTS_MAX])
{
    double moved[FIT_COEFFICIENTS_MAX], step = 6e-6 * fabs(value[p->form->nonlinear]),
                                        *column = p->x + (size_t)p->columns * p->points;

    memcpy(moved, value, sizeof moved);
    for (size_t i = 0; i < p->points; i++) {
        double above, below;

        moved[p->form->nonlinear] = value[p->form->nonlinear] + step;
        above = value_at(p->form, moved, p->t[i]);
        moved[p->form->nonlinear] = value[p->form->nonlinear] - step;
        below = value_at(p->form, moved, p->t[i]);
        column[i] = (above - below) / (2 * step);
        if (!isfinite(column[i]))
            return formula_refuse(
                p->e, 0,
                "the form has no finite derivative at t = %.10g (expected a range without it)",
                p->t[i]);
    }
    p->columns++;
    return 0;
}

#define JACOBIAN_TOLERANCE 1e-8 /* above the error of its last column */
enum { ROUNDS_MAX = 50 };

/* Gauss-Newton steps for all coefficients, from the golden section's result to the last digits, for
 * which the squares are too flat there. Then inverse is that of the Jacobian, the inner
 * coefficient's entry last. */
static int polish(double value[FIT_COEFFICIENTS_MAX], double inverse[FIT_COEFFICIENTS_MAX],
                  double *rss, struct problem *p, double inner)
{
    double ignored[FIT_COEFFICIENTS_MAX], step[FIT_COEFFICIENTS_MAX], unused, next;
    int rc = solve_at(value, ignored, rss, p, inner, 1);

    for (int round = 0; rc == 0; round++) {
        double trial[FIT_COEFFICIENTS_MAX];

        /* p->right holds the residuals of `value` */
        if (add_derivative(p, value) != 0)
            return -1;
        rc = solve_linear(step, inverse, &unused, p, JACOBIAN_TOLERANCE);
        if (rc != 0 || round == ROUNDS_MAX ||
            !(fabs(step[p->form->count - 1]) > 1e-13 * fabs(inner)))
            return rc;
        if (solve_at(trial, ignored, &next, p, inner + step[p->form->count - 1], 0) != 0 ||
            !(next <= *rss * (1 + 1e-10))) {
            /* no descent beyond rounding: `value` is the minimum; remakes its columns for errors */
            rc = solve_at(value, ignored, rss, p, inner, 1);
            if (rc == 0 && add_derivative(p, value) == 0)
                rc = solve_linear(step, inverse, &unused, p, JACOBIAN_TOLERANCE);
            return rc;
        }
        inner += step[p->form->count - 1];
        *rss = next;
        memcpy(value, trial, sizeof trial);
    }
    return rc;
}

/* Tries both signs of the inner coefficient on a grid of 18 decades; searches the lowest
 * valleys. */
static int solve_inner(double value[FIT_COEFFICIENTS_MAX], double inverse[FIT_COEFFICIENTS_MAX],
                       double *rss, struct problem *p)
{
    const char *name = p->form->formula->parameters[p->form->slot[p->form->nonlinear]].name;
    const double first = -DECADES * M_LN10, step = M_LN10 / PER_DECADE;
    double best[FIT_COEFFICIENTS_MAX], errors[FIT_COEFFICIENTS_MAX], grid[GRID];
    double edge_rss = INFINITY; /* at the ends of the grid: a minimum must be lower */
    int found = 0, failed = 0;

    *rss = INFINITY;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < GRID && !failed; i++)
            failed |= solve_at(best, errors, &grid[i], p, sign * exp(first + i * step), 0) < 0;
        if (failed)
            return -1;
        edge_rss = fmin(edge_rss, fmin(grid[0], grid[GRID - 1]));
        for (int start = 0; start < STARTS; start++) {
            int lowest = -1;
            double here;

            for (int i = 1; i + 1 < GRID; i++)
                if (isfinite(grid[i]) && grid[i] <= grid[i - 1] && grid[i] <= grid[i + 1] &&
                    (grid[i] < grid[i - 1] || grid[i] < grid[i + 1]) &&
                    (lowest < 0 || grid[i] < grid[lowest]))
                    lowest = i;
            if (lowest < 0)
                break;
            double c = refine(p, sign, first + (lowest - 1) * step, first + (lowest + 1) * step,
                              &failed);
            grid[lowest] = INFINITY;
            if (failed)
                return -1;
            int rc = polish(best, errors, &here, p, c);
            if (rc < 0)
                return -1;
            if (rc == 0 && here < *rss) {
                *rss = here;
                memcpy(value, best, sizeof best);
                memcpy(inverse, errors, sizeof errors);
                found = 1;
            }
        }
    }
    if (!found || !(*rss <= edge_rss))
        return formula_refuse(p->e, 0,
                              "the least squares have no minimum with |%s| between 1e-%d and 1e%d "
                              "(the data do not determine it)",
                              name, DECADES, DECADES);
    /* errors are ordered with the inner coefficient last */
    double last = inverse[p->form->count - 1];
    for (int c = p->form->count - 1; c > p->form->nonlinear; c--)
        inverse[c] = inverse[c - 1];
    inverse[p->form->nonlinear] = last;
    return 0;
}

/* ---- the whole fit ---- */

int fit_solve(struct fit_result *out, const struct fit_form *form, const double *t, const double *y,
              size_t count, struct formula_error *e)
{
    struct problem p = {.form = form, .t = t, .y = y, .points = count, .e = e};
    double inverse[FIT_COEFFICIENTS_MAX] = {0}, rss = 0, mean = 0, total = 0;
    int rc = -1;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(t[i]) || !isfinite(y[i]))
            return formula_refuse(
                e, 0,
                "the value at t = %.10g is %g (expected finite values, or a range without it)",
                t[i], y[i]);
    if (count < (size_t)form->count)
        return formula_refuse(e, 0, "%zu points do not determine %d coefficients", count,
                              form->count);
    if (count > INT32_MAX / 2)
        return formula_refuse(e, 0, "%zu points are too many", count);
    size_t bytes = count * sizeof *p.x; /* no overflow: count fits 31 bits, and columns are few */
    p.x = malloc(bytes * FIT_COEFFICIENTS_MAX);
    p.factor = malloc(bytes * FIT_COEFFICIENTS_MAX);
    p.offset = malloc(bytes);
    p.right = malloc(bytes);
    if (!p.x || !p.factor || !p.offset || !p.right) {
        formula_refuse(e, 0, "out of memory");
        goto end;
    }
    rc = form->nonlinear < 0 ? solve_at(out->value, inverse, &rss, &p, 0, 1)
                             : solve_inner(out->value, inverse, &rss, &p);
    if (rc > 0)
        formula_refuse(e, 0,
                       "the terms of the form depend on each other over these points (expected "
                       "terms that differ)");
    if (rc != 0) {
        rc = -1;
        goto end;
    }
    for (size_t i = 0; i < count; i++)
        mean += y[i];
    mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        total += (y[i] - mean) * (y[i] - mean);
    out->count = form->count;
    out->points = count;
    out->r2 = total > 0 ? 1 - rss / total : NAN;
    out->residual_deviation = count > (size_t)form->count
                                  ? sqrt(rss / (double)(count - (size_t)form->count))
                                  : NAN;
    for (int c = 0; c < form->count; c++) {
        memcpy(out->name[c], form->formula->parameters[form->slot[c]].name, sizeof out->name[c]);
        out->error[c] = out->residual_deviation * sqrt(inverse[c]);
    }
end:
    free(p.x);
    free(p.factor);
    free(p.offset);
    free(p.right);
    return rc;
}
