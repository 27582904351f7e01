/* The parts of the series: expressions keep values, ranges and growths hold at every sampled point, Euler-Maclaurin agrees with
 * plain sums. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/series/search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct formula_point point = {0, 3, 8, 64, 100};

/* One formula in a pool of its own. */
struct built {
    struct formula *f;
    struct expression_pool *pool;
    int root;
};

static struct built build(const char *text)
{
    struct formula_error e;
    struct built b = {.f = formula_parse(text, &e), .pool = expression_pool_new()};
    if (!b.f || !b.pool)
        fail_msg("'%s': %s", text, e.message);
    b.root = expression_build(b.pool, b.f, &point, NULL, &e);
    if (b.root < 0)
        fail_msg("'%s': %s", text, e.message);
    return b;
}

static void demolish(struct built *b)
{
    expression_pool_free(b->pool);
    formula_free(b->f);
}

static double value_at(const struct built *b, double t)
{
    struct formula_point at = point;
    at.t = t;
    return formula_evaluate(b->f, &at);
}

/* A random formula, at most `depth` operators deep. */
static void random_formula(char *text, size_t size, int depth)
{
    static const char *const leaves[] = {"t", "1", "2", "0.5", "3", "(1+t)", "h", "ln(2+t)", "sqrt(t)", "pi", "(t-5)"};
    static const char *const unary[] = {"ln(%s)",   "exp(%s)", "sin(%s)", "cos(%s)", "abs(%s)", "floor(%s)",
                                        "sqrt(%s)", "-(%s)",   "(%s)^2",  "(%s)^-1", "(%s)^0.5"};
    static const char *const binary[] = {"(%s)+(%s)",  "(%s)-(%s)",  "(%s)*(%s)",     "(%s)/(%s)",
                                         "min(%s,%s)", "max(%s,%s)", "(%s)<(%s)?t:2", "3*(%s)-0.25*(%s)"};
    char a[600], b[600];
    int kind = rand() % 10;
    if (depth == 0 || kind < 2) {
        snprintf(text, size, "%s", leaves[rand() % 11]);
        return;
    }
    random_formula(a, sizeof a, depth - 1);
    random_formula(b, sizeof b, depth - 1);
    /* the table's formats take one or two texts */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (kind < 5)
        snprintf(text, size, unary[rand() % 11], a);
    else
        snprintf(text, size, binary[rand() % 8], a, b);
#pragma GCC diagnostic pop
}

static int close_to(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

/* The expression, the expression with t put in, and the ball evaluator agree with the double evaluator at every t. */
static void test_values(void **state)
{
    (void)state;
    srand(3);
    int compared = 0;
    for (int i = 0; i < 1500; i++) {
        char text[700];
        random_formula(text, sizeof text, 1 + rand() % 3);
        struct built b = build(text);
        struct evaluator *v = evaluator_new(b.pool, b.root, 128);
        arb_t f, t;
        arb_init(f);
        arb_init(t);
        assert_non_null(v);
        for (int x = 0; x < 12; x++) {
            double expected = value_at(&b, x);
            fmpz_t n;
            fmpz_init_set_si(n, x);
            struct expression_pool *own = expression_pool_new();
            int node = expression_substitute(own, b.pool, b.root, n);
            arb_set_si(t, x);
            double exact;
            if (own->node[node].kind == X_NAN || own->node[node].kind == X_INFINITY) {
                exact = own->node[node].kind == X_NAN ? NAN : node == NODE_PLUS_INFINITY ? INFINITY : -INFINITY;
            } else {
                evaluate_constant(f, own, node, 128);
                exact = arf_get_d(arb_midref(f), ARF_RND_NEAR);
            }
            /* doubles know -0, and round what is 0 or an end of a branch exactly: there they may differ */
            int delicate = !isfinite(expected) || !isfinite(exact) || fabs(expected) > 1e15 || strstr(text, "floor") ||
                           strstr(text, "?") || strstr(text, "sin") || strstr(text, "cos");
            if (!close_to(exact, expected) && !delicate)
                fail_msg("'%s' at t = %d: %.17g (double: %.17g)", text, x, exact, expected);
            compared += !delicate;
            int known = evaluator_point(f, v, t) == 0;
            if (known && isfinite(exact) && exact < 600) {
                double g = arf_get_d(arb_midref(f), ARF_RND_NEAR);
                if (!close_to(g, exp(exact)) && !(fabs(exact) > 1e5))
                    fail_msg("'%s' at t = %d: f = %.17g, exp b = %.17g", text, x, g, exp(exact));
            }
            if (known && (isnan(exact) || exact == INFINITY))
                fail_msg("'%s' at t = %d: f is given, but b is %g", text, x, exact);
            expression_pool_free(own);
            fmpz_clear(n);
        }
        evaluator_free(v);
        arb_clear(f);
        arb_clear(t);
        demolish(&b);
    }
    assert_true(compared > 5000);
}

/* Values, rates and elasticities of random formulas lie in their ranges. Rates are central differences, so kinks are left out
 * where they show. */
static void test_ranges(void **state)
{
    (void)state;
    srand(5);
    int defined = 0, rates = 0;
    for (int i = 0; i < 1500; i++) {
        char text[700];
        random_formula(text, sizeof text, 1 + rand() % 3);
        struct built b = build(text);
        long low = rand() % 20, width = rand() % 3 ? rand() % 40 : -1;
        fmpz_t lo, hi;
        fmpz_init_set_si(lo, low);
        fmpz_init_set_si(hi, low + width);
        struct ranges r;
        assert_int_equal(ranges_compute(&r, b.pool, b.root, lo, width < 0 ? NULL : hi, 80), 0);
        const struct range *x = &r.node[b.root];
        for (int k = 0; k < 60 && x->defined; k++) {
            double t = (double)low + (width < 0 ? (k < 30 ? k : exp2(k - 26)) : (double)(width * k) / 60), h = 1e-6 * (1 + t);
            double u = value_at(&b, t), slack = 1e-9 * (1 + fabs(u));
            if (u == -INFINITY && x->masked)
                continue;
            if (!(u >= mpfr_get_d(&x->value->left, MPFR_RNDD) - slack && u <= mpfr_get_d(&x->value->right, MPFR_RNDU) + slack) &&
                fabs(u) < 1e15)
                fail_msg("'%s' on [%ld, %ld]: %.17g at %g is not in [%g, %g]", text, low, low + width, u, t,
                         mpfr_get_d(&x->value->left, MPFR_RNDD), mpfr_get_d(&x->value->right, MPFR_RNDU));
            if (x->positive && !(u > 0 || u > -1e-300))
                fail_msg("'%s' at %g: %g is called positive", text, t, u);
            defined++;
            if (!x->smooth || t < (double)low + 2 * h || (width >= 0 && t > (double)(low + width) - 2 * h) ||
                strstr(text, "floor") || strstr(text, "min") || strstr(text, "max") || strstr(text, "abs") || strstr(text, "?"))
                continue;
            double rate = t * (value_at(&b, t + h) - value_at(&b, t - h)) / (2 * h);
            double wide = 1e-3 * (1 + fabs(rate)) + 1e-6 * (1 + fabs(u)) * (1 + t);
            if (isfinite(rate) && fabs(u) < 1e6 && fabs(rate) < 1e6 && t < 1e4) {
                rates++;
                if (!(rate >= mpfr_get_d(&x->rate->left, MPFR_RNDD) - wide &&
                      rate <= mpfr_get_d(&x->rate->right, MPFR_RNDU) + wide))
                    fail_msg("'%s' on [%ld, %ld]: the rate %.9g at %g is not in [%g, %g]", text, low, low + width, rate, t,
                             mpfr_get_d(&x->rate->left, MPFR_RNDD), mpfr_get_d(&x->rate->right, MPFR_RNDU));
            }
        }
        ranges_free(&r);
        fmpz_clear(lo);
        fmpz_clear(hi);
        demolish(&b);
    }
    assert_true(defined > 20000 && rates > 3000);
}

/* exp(b) lies between the bounds of its growth, from X on. */
static void test_growth(void **state)
{
    (void)state;
    static const struct {
        const char *formula, *growth; /* NULL: it has none */
    } cases[] = {
        {"-ln(1+t)", "t^-1"},
        {"-1.5*ln(3+2*t)", "t^(-3/2)"},
        {"-ln(2+t)-2*ln(ln(7+3*t))", "t^-1 (ln t)^-2"},
        {"-ln(20+t)-ln(ln(20+t))-3*ln(ln(ln(20+t)))", "t^-1 (ln t)^-1 (ln ln t)^-3"},
        {"-ln(1+t+sqrt(t)-ln(1+t))+sin(t)", "t^-1"},
        {"-ln(1+(2*t)^2)", "t^-2"},
        {"-ln(t*ln(3+t)+t^0.5)", "t^-1 (ln t)^-1"},
        {"-ln(ln(3+t)^2+5)", "(ln t)^-2"},
        {"3+cos(t)", "1"},
        {"-ln(exp(-t)+1/(1+t))", "t^1"},
        {"-ln(1+floor(t/3))", "t^-1"},
        {"-t", NULL},
        {"-ln(3+t)^2", NULL},
        {"-ln(1+t)*(1+0.2*sin(t))", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct built b = build(cases[i].formula);
        fmpz_t X;
        fmpz_init(X);
        int found = 0;
        for (int bits = 4; bits <= 64; bits += 12) {
            fmpz_one_2exp(X, (ulong)bits);
            struct growth *g = growth_new(b.pool, b.root, X);
            if (!g)
                continue;
            char text[256];
            found = 1;
            growth_text(text, sizeof text, g);
            if (!cases[i].growth || strcmp(text, cases[i].growth) != 0)
                fail_msg("%s grows as %s (expected %s)", cases[i].formula, text, cases[i].growth ? cases[i].growth : "nothing");
            for (int k = 0; k < 50; k++) {
                double t = floor(exp2(bits) * exp2(k / 3.0)), expected = 0, level = t, rest;
                for (int n = 0; n < GROWTH_LEVELS && level > 1; n++) {
                    expected += fmpq_get_d(g->exponent[n]) * log(level);
                    level = log(level);
                }
                rest = value_at(&b, t) - expected;
                if (!(rest >= mpfr_get_d(&g->rest->left, MPFR_RNDD) - 1e-9 &&
                      rest <= mpfr_get_d(&g->rest->right, MPFR_RNDU) + 1e-9))
                    fail_msg("%s at %g: the rest %.12g is not in [%.12g, %.12g]", cases[i].formula, t, rest,
                             mpfr_get_d(&g->rest->left, MPFR_RNDD), mpfr_get_d(&g->rest->right, MPFR_RNDU));
            }
            growth_free(g);
        }
        if (found != (cases[i].growth != NULL))
            fail_msg("%s has%s growth", cases[i].formula, found ? " a" : " no");
        fmpz_clear(X);
        demolish(&b);
    }
}

/* Euler-Maclaurin against the plain sum, in balls: they must overlap and be narrow. */
static void test_euler(void **state)
{
    (void)state;
    static const char *const formulas[] = {"-2*ln(1+t)",      "-0.3*t^0.5", "-ln(3+0.2*t)^2",         "-ln(1+(0.25*t)^2)",
                                           "-0.01*t",         "0.002*t",    "-1.5*ln(1+t+sqrt(t))",   "-ln(2+t)-2*ln(ln(2+t))",
                                           "-(t-300)^2/5000", "sin(t/50)",  "-0.1*t^0.5-0.5*ln(1+t)", "-0.5*ln(1+t)"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        for (slong prec = 64; prec <= 320; prec *= 5) {
            struct built b = build(formulas[i]);
            struct evaluator *v = evaluator_new(b.pool, b.root, prec + 64);
            fmpz_t N, end, j;
            arb_t sum, term, t;
            fmpz_init_set_si(N, prec < 100 ? 100 : 200);
            fmpz_init_set_si(end, 3000);
            fmpz_init(j);
            arb_init(sum);
            arb_init(term);
            arb_init(t);
            struct euler *e = search_euler(b.pool, b.root, N, end, prec, prec);
            if (!e)
                fail_msg("%s, %ld bits: no bound of the remainder", formulas[i], (long)prec);
            for (slong x = fmpz_get_si(N); x <= 3000; x++) {
                if (x % 700 == 0 || x < 205 || x == 3000) {
                    fmpz_set_si(j, x);
                    euler_sum(term, e, j);
                    if (!arb_overlaps(term, sum) || mag_cmp_2exp_si(arb_radref(term), 12 - prec) > 0)
                        fail_msg("%s, %ld bits, up to %ld: %s, plain sum %s", formulas[i], (long)prec, (long)x,
                                 arb_get_str(term, 30, 0), arb_get_str(sum, 30, 0));
                }
                arb_set_si(t, x);
                assert_int_equal(evaluator_point(term, v, t), 0);
                arb_add(sum, sum, term, prec + 64);
            }
            euler_free(e);
            evaluator_free(v);
            fmpz_clear(N);
            fmpz_clear(end);
            fmpz_clear(j);
            arb_clear(sum);
            arb_clear(term);
            arb_clear(t);
            demolish(&b);
        }
}

/* Antiderivatives: their difference quotient is -f. */
static void test_primitive(void **state)
{
    (void)state;
    static const struct {
        const char *formula;
        int known, vanishes;
    } cases[] = {
        {"-2*ln(1+t)", 1, 1},
        {"-0.5*ln(1+3*t)", 1, 0},
        {"-ln(1+t)", 1, 0},
        {"-ln(3+t)-2*ln(ln(3+t))", 1, 1},
        {"-ln(3+t)-ln(ln(3+t))", 1, 0},
        {"-ln(20+t)-ln(ln(20+t))-1.5*ln(ln(ln(20+t)))", 1, 1},
        {"-1.5*ln(3+t)-0.7*ln(ln(3+t))", 1, 1},
        {"-0.3*t^0.5", 1, 1},
        {"-0.3*(2+t)^1.5", 1, 1},
        {"-0.1*t-1.5*ln(1+t)", 1, 1},
        {"-ln(3+0.5*t)^2", 1, 1},
        {"-0.7*ln(3+t)^2+ln(3+t)+1", 1, 1},
        {"-ln(1+(0.5*t)^2)", 1, 1},
        {"1-ln(3+2*(1+t)^2)", 1, 1},
        {"-ln(1+2^(-2/3)*t)*1.5", 1, 1},
        {"-ln(1+t)-ln(2+t)", 0, 0},
        {"-ln(1+t+sqrt(t))", 0, 0},
        {"-t^0.5-t^0.25", 0, 0},
        {"-2*ln(1+t)+sin(t)", 0, 0},
        {"-ln(2+t)-2*ln(ln(3+t))", 0, 0},
        {"-ln(1+t^4)", 0, 0},
        {"-2*ln(1+(2*t)^2)", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct built b = build(cases[i].formula);
        arb_t t, low, high;
        arb_init(t);
        arb_init(low);
        arb_init(high);
        for (int k = 0; k < 4; k++) {
            double x = 5 + 37.5 * k, step = 1e-12;
            int vanishes;
            arb_set_d(t, x - step);
            int known = antiderivative(low, &vanishes, b.pool, b.root, t, 256);
            if (known != cases[i].known || (known && vanishes != cases[i].vanishes))
                fail_msg("%s: known %d, vanishes %d", cases[i].formula, known, vanishes);
            if (!known)
                continue;
            arb_set_d(t, x + step);
            assert_int_equal(antiderivative(high, &vanishes, b.pool, b.root, t, 256), 1);
            arb_sub(low, low, high, 256);
            arb_set_d(t, x + step);
            arf_t width;
            arf_init(width);
            arf_set_d(width, x + step);
            double exact_width = (x + step) - (x - step), slope = arf_get_d(arb_midref(low), ARF_RND_NEAR) / exact_width;
            arf_clear(width);
            if (!(fabs(slope / exp(value_at(&b, x)) - 1) < 1e-6))
                fail_msg("%s at %g: slope %.12g, f %.12g", cases[i].formula, x, slope, exp(value_at(&b, x)));
        }
        arb_clear(t);
        arb_clear(low);
        arb_clear(high);
        demolish(&b);
    }
}

/* Waves added in double lie in the balls of the plain evaluation, and the blocks are narrow. */
static void test_waves(void **state)
{
    (void)state;
    static const char *const formulas[] = {"sandwich", "sandwich(64,1)", "sum(i,1,20,sin(i*t/7+i)*0.3)-ln(1+t)",
                                           "sum(i,1,9,cos(t/i)*(-1)^i)+3*sin(0.001*t)*t^0.1"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        struct built b = build(formulas[i]);
        struct evaluator *quick = evaluator_new(b.pool, b.root, 64), *plain = evaluator_new(b.pool, b.root, 128);
        arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
        arb_t t, f;
        arb_init(t);
        arb_init(f);
        assert_true(evaluator_has_waves(quick));
        static const ulong starts[] = {0, 256, 1000003, 123456789012};
        for (int k = 0; k < 4; k++) {
            int count = k == 1 ? 100 : EVALUATE_BLOCK;
            assert_int_equal(evaluator_block(block, quick, starts[k], count), 0);
            for (int n = 0; n < count; n += 3) {
                arb_set_ui(t, starts[k] + (ulong)n);
                assert_int_equal(evaluator_point(f, plain, t), 0);
                if (!arb_contains(block + n, f) && !arb_overlaps(block + n, f))
                    fail_msg("%s at %lu + %d: %s, plain %s", formulas[i], starts[k], n, arb_get_str(block + n, 25, 0),
                             arb_get_str(f, 25, 0));
                if (arb_rel_accuracy_bits(block + n) < 30)
                    fail_msg("%s at %lu + %d: %s is wide", formulas[i], starts[k], n, arb_get_str(block + n, 25, 0));
            }
        }
        arb_clear(t);
        arb_clear(f);
        _arb_vec_clear(block, EVALUATE_BLOCK);
        evaluator_free(quick);
        evaluator_free(plain);
        demolish(&b);
    }
}

/* Frequencies so large that 160 bits do not tell where in its period a wave is after a few steps: no block may claim to know, not
 * even the first. */
static void test_waves_unknown(void **state)
{
    (void)state;
    struct built b = build("sum(i,1,10,cos(sqrt(2)*1e45*t*i))/2");
    struct evaluator *quick = evaluator_new(b.pool, b.root, 64);
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    assert_true(evaluator_has_waves(quick));
    assert_int_equal(evaluator_block(block, quick, 0, EVALUATE_BLOCK), -1);
    assert_int_equal(evaluator_block(block, quick, 256, EVALUATE_BLOCK), -1);
    _arb_vec_clear(block, EVALUATE_BLOCK);
    evaluator_free(quick);
    demolish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_ranges),    cmocka_unit_test(test_growth),
        cmocka_unit_test(test_euler),         cmocka_unit_test(test_primitive), cmocka_unit_test(test_waves),
        cmocka_unit_test(test_waves_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
