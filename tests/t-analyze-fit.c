/* Least squares against mpmath at 40 digits (tests/goldens/fit), and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/fit.h"
#include "io/formats/csv.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 8192 };

static struct csv_table data, expected;

static int read_goldens(void **state)
{
    struct error e;

    (void)state;
    if (csv_read("tests/goldens/fit/data.csv", &data, &e) != 0 ||
        csv_read("tests/goldens/fit/expected.csv", &expected, &e) != 0) {
        print_error("%s\n", e.text);
        return -1;
    }
    return 0;
}

static int free_goldens(void **state)
{
    (void)state;
    csv_table_free(&data);
    csv_table_free(&expected);
    return 0;
}

static const char *at(const struct csv_table *t, size_t row, const char *column)
{
    int i = csv_column(t, column);

    assert_true(i >= 0);
    return t->cell[row * t->columns + (size_t)i];
}

/* The points of a case: rows of data.csv, or a formula's values over a range. */
static size_t load(double *t, double *y, size_t row)
{
    const char *name = at(&expected, row, "case"), *text = at(&expected, row, "formula");
    size_t count = 0, first = strtoul(at(&expected, row, "first"), NULL, 10),
           last = strtoul(at(&expected, row, "last"), NULL, 10);
    struct formula_error problem;
    struct formula *f;

    if (!*text) {
        for (size_t i = 0; i < data.rows; i++)
            if (strcmp(at(&data, i, "case"), name) == 0) {
                t[count] = strtod(at(&data, i, "t"), NULL);
                y[count++] = strtod(at(&data, i, "y"), NULL);
            }
        return count;
    }
    f = formula_parse(text, &problem);
    assert_non_null(f);
    for (size_t i = first; i <= last; i++) {
        struct formula_point p = {.t = (double)i, .h = 1, .heads = 1, .head_size = 64, .length = 1};

        t[count] = (double)i;
        y[count++] = formula_evaluate(f, &p);
    }
    formula_free(f);
    return count;
}

static void agrees_with_mpmath(void **state)
{
    double *t = malloc(POINTS_MAX * sizeof *t), *y = malloc(POINTS_MAX * sizeof *y);

    (void)state;
    assert_non_null(t);
    assert_non_null(y);
    for (size_t row = 0, next; row < expected.rows; row = next) {
        const char *name = at(&expected, row, "case"), *form_text = at(&expected, row, "form");
        size_t count = load(t, y, row);
        struct formula_error problem = {0, ""};
        struct fit_form form;
        struct fit_result r;

        if (fit_form_parse(&form, form_text, &problem) != 0 ||
            fit_solve(&r, &form, t, y, count, &problem) != 0)
            fail_msg("%s: %s: %s", name, form_text, problem.message);
        for (next = row; next < expected.rows && strcmp(at(&expected, next, "case"), name) == 0;
             next++) {
            int c = (int)(next - row);
            /* a coefficient is known to a small part of its standard error; an inner one comes from
             * a derivative by differences
             */
            double value = strtod(at(&expected, next, "value"), NULL),
                   error = strtod(at(&expected, next, "error"), NULL),
                   r2 = strtod(at(&expected, next, "r2"), NULL);
            double close = form.nonlinear < 0 ? 1e-9 : 1e-6;

            assert_true(c < r.count);
            if (strcmp(r.name[c], at(&expected, next, "coefficient")) != 0 ||
                !(fabs(r.value[c] - value) <= close * error) ||
                !(fabs(r.error[c] - error) <= close * error) || !(fabs(r.r2 - r2) <= 1e-9))
                fail_msg("%s, %s: %s = %.17g +- %.17g, R^2 %.17g (expected %.17g +- %.17g, %.17g)",
                         name, form_text, r.name[c], r.value[c], r.error[c], r.r2, value, error,
                         r2);
        }
        assert_int_equal(r.count, next - row);
        assert_int_equal(r.points, count);
        fit_form_free(&form);
    }
    free(t);
    free(y);
}

/* What [A] prints and what it comes from: science of the log-curve, to the digits known. */
static void sandwich_is_reproduced(void **state)
{
    static const struct {
        size_t points;
        double slope, intercept, r2;
    } cases[] = {{8192, -0.832, -0.794, 0.72}, {50, -1.02, -0.015, 0.98}};
    double *t = malloc(POINTS_MAX * sizeof *t), *y = malloc(POINTS_MAX * sizeof *y);
    struct formula_error problem;
    struct formula *f = formula_parse("sandwich", &problem);
    struct fit_form form;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fit_form_parse(&form, "a + b*ln(1+t)", &problem), 0);
    assert_int_equal(formula_table(y, f, 1, 64, POINTS_MAX, POINTS_MAX, &problem), 0);
    for (size_t i = 0; i < POINTS_MAX; i++)
        t[i] = (double)i;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fit_result r;

        assert_int_equal(fit_solve(&r, &form, t, y, cases[i].points, &problem), 0);
        if (!(fabs(r.value[1] - cases[i].slope) <= 0.005) ||
            !(fabs(r.value[0] - cases[i].intercept) <= 0.0005) ||
            !(fabs(r.r2 - cases[i].r2) <= 0.005))
            fail_msg("%zu points: %g ln(1+t) + %g, R^2 %g", cases[i].points, r.value[1], r.value[0],
                     r.r2);
    }
    fit_form_free(&form);
    formula_free(f);
    free(t);
    free(y);
}

static void forms_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        int count, nonlinear; /* count 0: refused */
        const char *said;
    } cases[] = {
        {"a + b*ln(1+t)", 2, -1, NULL},
        {"(a*t - b)/3", 2, -1, NULL},
        {"t < 5 ? a : b*t", 2, -1, NULL},
        {"a + sum(i, 1, 3, b*t^i)", 2, -1, NULL},
        {"-p*ln(1+a*t)", 2, 1, NULL},
        {"a + b*exp(-c*t)", 3, 2, NULL},
        {"a*t^k", 2, 1, NULL},
        {"w", 1, -1, NULL},
        {"exp(-c*t)", 1, 0, NULL},
        {"a + b*alibi_equal(1)", 2, -1, NULL},
        {"ln(1+t)", 0, 0, "coefficients"},
        {"a*exp(-b*t)*c^t", 0, 0, "not linear"},
        {"abs(a) + abs(b)", 0, 0, "not linear"},
        {"a < b ? 1 : 2", 0, 0, "not linear"},
        {"a + b*h", 0, 0, "only on the distance t"},
        {"a + b*L", 0, 0, "only on the distance t"},
        {"a + b*(ln(1+t)", 0, 0, NULL},
        {"a+b+c+e+f+g+k+l+m", 0, 0, "9 coefficients"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct formula_error problem = {0, ""};
        struct fit_form form;
        int rc = fit_form_parse(&form, cases[i].text, &problem);

        if ((rc == 0) != (cases[i].count > 0) ||
            (rc == 0 && (form.count != cases[i].count || form.nonlinear != cases[i].nonlinear)) ||
            (cases[i].said && !strstr(problem.message, cases[i].said)))
            fail_msg("%s: %d, %d coefficients, inner %d: %s", cases[i].text, rc,
                     rc ? 0 : form.count, rc ? 0 : form.nonlinear, problem.message);
        if (rc == 0)
            fit_form_free(&form);
    }
}

static void bad_data_are_refused(void **state)
{
    static const struct {
        const char *form, *formula;
        size_t count;
        const char *said;
    } cases[] = {
        {"a + b*ln(1+t)", "t", 1, "1 points do not determine 2 coefficients"},
        {"a + b*ln(1+t)", "t == 7 ? -inf : 0", 20, "t = 7"},
        {"a + b*ln(t)", "t", 20, "t = 0"},
        {"a + b*t + c*(t+2)", "t", 20, "depend on each other"},
        {"a + 0*b", "t", 20, "depend on each other"},
        {"a*b*t", "t", 20, "do not determine"},
        {"a + b*ln(1+c*t)", "2*t", 50, "no minimum with |c|"},
        {"a + b*ln(1+c*t)", "3", 50, "no minimum with |c|"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct formula_error problem = {0, ""};
        struct formula *f = formula_parse(cases[i].formula, &problem);
        struct fit_form form;
        struct fit_result r;
        double t[50], y[50];

        assert_non_null(f);
        assert_int_equal(fit_form_parse(&form, cases[i].form, &problem), 0);
        for (size_t k = 0; k < cases[i].count; k++) {
            struct formula_point p = {
                .t = (double)k, .h = 1, .heads = 1, .head_size = 1, .length = 1};

            t[k] = (double)k;
            y[k] = formula_evaluate(f, &p);
        }
        if (fit_solve(&r, &form, t, y, cases[i].count, &problem) != -1 ||
            !strstr(problem.message, cases[i].said))
            fail_msg("%s of %s: \"%s\" (expected \"%s\")", cases[i].form, cases[i].formula,
                     problem.message, cases[i].said);
        fit_form_free(&form);
        formula_free(f);
    }
}

/* As many points as coefficients: the curve goes through them, and there are no errors. Equal y: no
 * R^2. */
static void edges(void **state)
{
    static const double t[] = {0, 3, 8}, y[] = {1, -2, 5}, flat[] = {2, 2, 2};
    struct formula_error problem;
    struct fit_form form;
    struct fit_result r;

    (void)state;
    assert_int_equal(fit_form_parse(&form, "a + b*t + c*t^2", &problem), 0);
    assert_int_equal(fit_solve(&r, &form, t, y, 3, &problem), 0);
    for (int i = 0; i < 3; i++)
        if (!(fabs(fit_evaluate(&form, &r, t[i]) - y[i]) <= 1e-12))
            fail_msg("at %g: %g (expected %g)", t[i], fit_evaluate(&form, &r, t[i]), y[i]);
    assert_true(isnan(r.error[0]) && isnan(r.residual_deviation));
    assert_true(fabs(r.r2 - 1) <= 1e-12);
    fit_form_free(&form);
    assert_int_equal(fit_form_parse(&form, "a", &problem), 0);
    assert_int_equal(fit_solve(&r, &form, t, flat, 3, &problem), 0);
    assert_true(isnan(r.r2));
    assert_true(r.error[0] <= 1e-15);
    fit_form_free(&form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_mpmath),
        cmocka_unit_test(sandwich_is_reproduced),
        cmocka_unit_test(forms_are_told_apart),
        cmocka_unit_test(bad_data_are_refused),
        cmocka_unit_test(edges),
    };

    return cmocka_run_group_tests(tests, read_goldens, free_goldens);
}
