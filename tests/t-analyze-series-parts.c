/* The parts of the series: expressions, ranges, growths, Euler-Maclaurin against plain values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/series/proof/rounding.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct formula_point point = {0, 3, 8, 64, 100};

/* Of all pools. */
static struct budget budget;

/* One formula in a pool of its own. */
struct built {
    struct formula *f;
    struct expression_pool *pool;
    int root;
};

static struct built build(const char *text)
{
    struct formula_error e;
    struct built b = {.f = formula_parse(text, &e), .pool = expression_pool_new(&budget)};
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

enum { BALL = 1000 /* bits */ };

/* The value at a whole t as a ball; indeterminate if it is none. */
static void ball_at(arb_t out, const struct built *b, const fmpz_t t)
{
    struct expression_pool *own = expression_pool_new(&budget);
    int node = expression_substitute(own, b->pool, b->root, t);
    arb_indeterminate(out);
    if (own->node[node].kind != X_NAN && own->node[node].kind != X_INFINITY)
        evaluate_constant(out, own, node, BALL);
    else if (node == NODE_MINUS_INFINITY)
        arb_neg_inf(out);
    expression_pool_free(own);
}

/* Word n of a list. */
static const char *word(const char *list, int n)
{
    static char found[64];
    for (; n > 0; n--)
        list = strchr(list, ' ') + 1;
    snprintf(found, sizeof found, "%.*s", (int)strcspn(list, " "), list);
    return found;
}

/* A random formula, at most `depth` operators deep. */
static void random_formula(char *text, size_t size, int depth)
{
    static const char leaves[] =
        "t 1 2 0.5 3 (1+t) h ln(2+t) sqrt(t) pi (t-5) sqrt(ln(2+t)) ln(2+ln(2+t))";
    static const char unary[] =
        "ln(%s) exp(%s) sin(%s) cos(%s) abs(%s) floor(%s) sqrt(%s) -(%s) (%s)^2 "
        "(%s)^-1 (%s)^0.5 2^(%s) sqrt(3+1.5^(%s)) (%s)*ln(4)/ln(2)";
    static const char binary[] =
        "(%s)+(%s) (%s)-(%s) (%s)*(%s) (%s)/(%s) min(%s,%s) max(%s,%s) (%s)<(%s)?t:2 "
        "3*(%s)-0.25*(%s)";
    char a[600], b[600];
    int kind = rand() % 10;
    if (depth == 0 || kind < 2) {
        snprintf(text, size, "%s", word(leaves, rand() % 13));
        return;
    }
    random_formula(a, sizeof a, depth - 1);
    random_formula(b, sizeof b, depth - 1);
    /* the table's formats take one or two texts */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (kind < 5)
        snprintf(text, size, word(unary, rand() % 14), a);
    else
        snprintf(text, size, word(binary, rand() % 8), a, b);
#pragma GCC diagnostic pop
}

static int close_to(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

/* The expression, the expression with t put in, and the ball evaluator agree with the double
 * evaluator at every t. */
static void test_values(void **state)
{
    (void)state;
    srand(3);
    int compared = 0;
    for (int i = 0; i < 1500; i++) {
        char text[700];
        random_formula(text, sizeof text, 1 + rand() % 3);
        struct built b = build(text);
        struct evaluator *v = evaluator_new(b.pool, b.root, 128, NULL);
        LOCAL(arb, f, t);
        assert_non_null(v);
        for (int x = 0; x < 12; x++) {
            double expected = value_at(&b, x);
            LOCAL(fmpz, n);
            fmpz_set_si(n, x);
            struct expression_pool *own = expression_pool_new(&budget);
            int node = expression_substitute(own, b.pool, b.root, n);
            arb_set_si(t, x);
            double exact;
            if (own->node[node].kind == X_NAN || own->node[node].kind == X_INFINITY) {
                exact = own->node[node].kind == X_NAN ? NAN
                        : node == NODE_PLUS_INFINITY  ? INFINITY
                                                      : -INFINITY;
            } else {
                evaluate_constant(f, own, node, 128);
                exact = arf_get_d(arb_midref(f), ARF_RND_NEAR);
            }
            /* doubles know -0, and round what is 0 or an end of a branch exactly: there they may
             * differ */
            int delicate = !isfinite(expected) || !isfinite(exact) || fabs(expected) > 1e15 ||
                           strstr(text, "floor") || strstr(text, "?") || strstr(text, "sin") ||
                           strstr(text, "cos");
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
        }
        evaluator_free(v);
        demolish(&b);
    }
    assert_true(compared > 5000);
}

/* Values, rates and elasticities of random formulas lie in their ranges. Rates are central
 * differences, so kinks are left out where they show. */
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
        LOCAL(fmpz, lo, hi);
        fmpz_set_si(lo, low);
        fmpz_set_si(hi, low + width);
        struct ranges r;
        assert_int_equal(ranges_compute(&r, b.pool, b.root, lo, width < 0 ? NULL : hi, 80), 0);
        const struct range *x = &r.node[b.root];
        for (int k = 0; k < 60 && x->defined; k++) {
            double t = (double)low +
                       (width < 0 ? (k < 30 ? k : exp2(k - 26)) : (double)(width * k) / 60),
                   h = 1e-6 * (1 + t);
            int jumps = strstr(text, "floor") != NULL; /* written for whole t */
            t = jumps ? floor(t) : t;
            double u = value_at(&b, t), slack = 1e-9 * (1 + fabs(u));
            if (jumps && t < 1e15) { /* floor(exp(ln(5))) is 5, and 4 in double */
                LOCAL(fmpz, at);
                LOCAL(arb, exact);
                fmpz_set_d(at, t);
                ball_at(exact, &b, at);
                if (arb_is_finite(exact))
                    u = arf_get_d(arb_midref(exact), ARF_RND_NEAR);
            }
            if (u == -INFINITY && x->masked)
                continue;
            if (!(u >= mpfr_get_d(&x->value->left, MPFR_RNDD) - slack &&
                  u <= mpfr_get_d(&x->value->right, MPFR_RNDU) + slack) &&
                fabs(u) < 1e15)
                fail_msg("'%s' on [%ld, %ld]: %.17g at %g is not in [%g, %g]", text, low,
                         low + width, u, t, mpfr_get_d(&x->value->left, MPFR_RNDD),
                         mpfr_get_d(&x->value->right, MPFR_RNDU));
            if (x->positive && !(u > 0 || u > -1e-300))
                fail_msg("'%s' at %g: %g is called positive", text, t, u);
            defined++;
            if (jumps || !x->smooth || t < (double)low + 2 * h ||
                (width >= 0 && t > (double)(low + width) - 2 * h) || strstr(text, "floor") ||
                strstr(text, "min") || strstr(text, "max") || strstr(text, "abs") ||
                strstr(text, "?"))
                continue;
            double rate = t * (value_at(&b, t + h) - value_at(&b, t - h)) / (2 * h);
            double wide = 1e-3 * (1 + fabs(rate)) + 1e-6 * (1 + fabs(u)) * (1 + t);
            if (isfinite(rate) && fabs(u) < 1e6 && fabs(rate) < 1e6 && t < 1e4) {
                rates++;
                if (!(rate >= mpfr_get_d(&x->rate->left, MPFR_RNDD) - wide &&
                      rate <= mpfr_get_d(&x->rate->right, MPFR_RNDU) + wide))
                    fail_msg("'%s' on [%ld, %ld]: the rate %.9g at %g is not in [%g, %g]", text,
                             low, low + width, rate, t, mpfr_get_d(&x->rate->left, MPFR_RNDD),
                             mpfr_get_d(&x->rate->right, MPFR_RNDU));
            }
        }
        ranges_free(&r);
        demolish(&b);
    }
    assert_true(defined > 20000 && rates > 3000);
}

/* exp(b) lies between the bounds of its growth, from X on. */
static void test_growth(void **state)
{
    (void)state;
    static const struct {
        const char *formula, *growth; /* NULL: none; "by X": it depends on X */
    } cases[] = {
        {"-ln(1+t)", "t^-1"},
        {"-1.5*ln(3+2*t)", "t^(-3/2)"},
        {"-ln(2+t)-2*ln(ln(7+3*t))", "t^-1 (ln t)^-2"},
        {"-ln(20+t)-ln(ln(20+t))-3*ln(ln(ln(20+t)))", "t^-1 (ln t)^-1 (ln ln t)^-3"},
        {"-ln(1+t+sqrt(t)-ln(1+t))+sin(t)", "t^-1"},
        {"-ln(1+(2*t)^2)", "t^-2"},
        {"-(1+1/ln(2+t))*ln(1+t)", "t^-1"},
        {"3*ln(sqrt(t+1)-sqrt(t))", "t^(-3/2)"},
        {"ln(1-cos(1/(1+t)))", "t^-2"},
        {"2*ln(ln(1+1/(1+t)))", "t^-2"},
        {"ln(sin(1/(1+t)))-ln(1+t)", "t^-2"},
        {"-t*ln(1+2/(1+t))-3*ln(t)", "t^-3"},
        {"-(2+exp(-t))*ln(1+t)", "t^-2"},
        {"-ln(t*ln(3+t)+t^0.5)", "t^-1 (ln t)^-1"},
        /* what decides is a bound from one side */
        {"-ln(ln(3+t)^2+5)", "t^-1"},
        {"3+cos(t)", "t^-1"},
        {"-ln(exp(-t)+1/(1+t))", "t^-1"},
        {"-ln(1+floor(t/3))", "t^-1"},
        {"-t", "by X"},
        {"-ln(3+t)^2", "by X"},
        {"-t/10-5*exp(-t/20)", "by X"},
        {"2*t-t*ln(1+t)", "by X"},
        {"ln(abs(sin(t)))-2*ln(1+t)", "t^-2"},
        {"-ln(1+t)-3*sqrt(ln(1+t))", "t^-1 exp(-3 (ln t)^(1/2))"},
        {"-ln(2+t)-ln(1+t)^0.1+2*ln(ln(3+t))+cos(t)", "t^-1 (ln t)^2 exp(-1 (ln t)^(1/10))"},
        {"-ln(3+t)-ln(ln(3+t))-ln(ln(3+t))^0.5/2", "t^-1 (ln t)^-1 exp(-0.5 (ln ln t)^(1/2))"},
        {"-ln(1+t)+exp(-sqrt(ln(3+t)))", "t^-1"},
        {"-ln(t+3)-sqrt(ln(ln(t+3)))", "t^-1 (ln t)^-1"},
        {"sin(t)>0?-2*ln(1+t):-3*ln(2+t)", "by X"},
        {"sin(t)>0?-2*ln(1+t):-t", "t^-2"},
        {"sin(t)>0?-sqrt(t):-t/20", "by X"},
        {"-ln(1+t)*(2.5+sin(t))", "by X"},
        {"-sqrt(2)*ln(1+t)", "t^-1.41421356237"},
        {"-1.5*ln(1+t)+max(sin(t),cos(2*t))", "t^(-3/2)"},
        {"-2*ln(1+t)-sin(t)*ln(ln(30+t))", "by X"},
        {"-2^(2^12)*ln(1+t)", "by X"},
        {"-t^(10^50)", "by X"},
        {"-ln(1+t)*(1+0.2*sin(t))", NULL},
        {"cos(t)>0?-ln(1+t)-2*ln(ln(3+t)):-inf", "t^-1 (ln t)^-2"},
        {"cos(t)>0?-ln(1+t)-ln(1+t)^0.1:-inf", "t^-1 exp(-1 (ln t)^(1/10))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct built b = build(cases[i].formula);
        LOCAL(fmpz, X);
        int found = 0;
        for (int bits = 4; bits <= 64; bits += 12) {
            fmpz_one_2exp(X, (ulong)bits);
            struct growth *g = growth_new(b.pool, b.root, X);
            if (!g)
                continue;
            char text[256];
            found = 1;
            growth_text(text, sizeof text, g);
            if (!cases[i].growth ||
                (strcmp(cases[i].growth, "by X") != 0 && strcmp(text, cases[i].growth) != 0))
                fail_msg("%s grows as %s (expected %s)", cases[i].formula, text,
                         cases[i].growth ? cases[i].growth : "nothing");
            for (int k = 0; k < 100; k++) {
                int side = k % 2;
                LOCAL(arb, rest, level, x);
                LOCAL(fmpz, n);
                fmpz_set_d(n, floor(exp2(bits) * exp2(k / 2 / 3.0)));
                arb_set_fmpz(level, n);
                ball_at(rest, &b, n);
                for (int level_at = 0; level_at < GROWTH_LEVELS; level_at++) {
                    arb_log(level, level, BALL);
                    arb_set_fmpq(x, &g->exponent[side][level_at], BALL);
                    if (!arb_is_zero(x))
                        arb_submul(rest, x, level, BALL);
                    if (g->stretched == level_at + 1) { /* exp(weight y^power), y = level */
                        arb_set_fmpq(x, g->power, BALL);
                        arb_pow(x, level, x, BALL);
                        arb_submul(rest, x, g->weight, BALL);
                    }
                }
                mpfr_srcptr end = side == BELOW ? &g->remainder->left : &g->remainder->right;
                arb_set_interval_mpfr(x, end, end, BALL);
                int masked = arf_is_neg_inf(arb_midref(rest)) &&
                             mpfr_inf_p(&g->remainder->left); /* f is 0, and may be */
                if (!masked &&
                    (!arb_is_finite(rest) || (side == BELOW ? arb_lt(rest, x) : arb_gt(rest, x))))
                    fail_msg("%s at %s: the rest %s is %s %.12g", cases[i].formula,
                             fmpz_get_str(NULL, 10, n), arb_get_str(rest, 20, 0),
                             side == BELOW ? "below" : "above", mpfr_get_d(end, MPFR_RNDN));
            }
            growth_free(g);
        }
        if (found != (cases[i].growth != NULL))
            fail_msg("%s has%s growth", cases[i].formula, found ? " a" : " no");
        demolish(&b);
    }
}

/* 1 if u is what the sum on the scale says at t; *width: how well that is known. */
static int scale_holds(const struct scaled *s, const struct expression_pool *p, const arb_t u,
                       const fmpz_t t)
{
    LOCAL(arb, sum, term, x);
    arb_ptr level = _arb_vec_init(SCALE_LEVELS + 1);
    arb_set_fmpz(level + 1, t); /* ln of level 0 */
    for (int k = 2; k <= SCALE_LEVELS; k++)
        arb_log(level + k, level + k - 1, BALL);
    int holds = 1;
    for (int i = 0; i <= s->count && holds; i++) {
        const struct monomial *m = i < s->count ? &s->of[i] : &s->at;
        arb_zero(term);
        for (int k = 0; k < SCALE_LEVELS; k++) {
            arb_set_fmpq(x, &m->a[k], BALL);
            if (!arb_is_zero(x))
                arb_addmul(term, x, level + k + 1, BALL);
        }
        arb_exp(term, term, BALL);
        if (i < s->count) {
            evaluate_constant(x, p, s->coefficient[i], BALL);
            arb_addmul(sum, x, term, BALL);
        } else if (s->rough) { /* u - sum is within rest * monomial */
            arb_sub(sum, u, sum, BALL);
            arb_div(sum, sum, term, BALL);
            arb_set_interval_mpfr(x, &s->remainder->left, &s->remainder->left, BALL);
            holds = !arb_lt(sum, x);
            arb_set_interval_mpfr(x, &s->remainder->right, &s->remainder->right, BALL);
            holds &= !arb_gt(sum, x);
        } else {
            holds = arb_overlaps(sum, u);
        }
    }
    _arb_vec_clear(level, SCALE_LEVELS + 1);
    return holds;
}

/* Random formulas on the scale, against their values at distances from X on. REACH_RANDOM: so many
 * of them. */
static void test_scale(void **state)
{
    (void)state;
    const char *many = getenv("REACH_RANDOM");
    int found = 0, exact = 0, points = 0, formulas = many ? atoi(many) : 3000;
    srand(7);
    for (int i = 0; i < formulas; i++) {
        char text[600];
        random_formula(text, sizeof text, 4);
        struct built b = build(text);
        LOCAL(fmpz, X, t);
        LOCAL(arb, u);
        for (int bits = 0; bits <= 60 && b.pool->node[b.root].depends; bits = bits ? 3 * bits : 4) {
            struct scale g;
            struct scaled s;
            fmpz_one_2exp(X, (ulong)bits);
            assert_int_equal(scale_init(&g, b.pool, b.root, X), 0);
            scaled_init(&s, g.prec);
            int known = scaled_of(&s, &g, b.root);
            scale_clear(&g);
            found += known;
            exact += known && s.count;
            for (int k = 0; k < 12 && known; k++) {
                fmpz_mul_ui(t, X, k < 4 ? 1 : 1 + (ulong)rand() % (k < 8 ? 10 : 100000));
                fmpz_add_ui(t, t, k < 4 ? (ulong)k : 0);
                ball_at(u, &b, t);
                if (!arb_is_finite(u) && s.masked && arb_is_negative(u))
                    continue;
                points += arb_is_finite(u);
                if (!scale_holds(&s, b.pool, u, t))
                    fail_msg("%s at %s is not what the scale says from %s on", text,
                             fmpz_get_str(NULL, 10, t), fmpz_get_str(NULL, 10, X));
            }
            scaled_leave(&s);
        }
        demolish(&b);
    }
    print_message("%d sums on the scale, %d with a leading term, %d values\n", found, exact,
                  points);
    assert_true(found > formulas && exact > formulas / 2);
}

/* Euler-Maclaurin against the plain sum from N on, in balls: they must overlap and be narrow. */
static void check_euler(const char *formula, slong N, slong prec)
{
    struct built b = build(formula);
    struct evaluator *v = evaluator_new(b.pool, b.root, prec + 64, NULL);
    LOCAL(fmpz, first, end, j);
    LOCAL(arb, sum, term, t);
    fmpz_set_si(first, N);
    fmpz_set_si(end, N + 2800);
    struct euler *e = search_euler(b.pool, b.root, first, end, prec, prec, INFINITY);
    if (!e)
        fail_msg("%s, %ld bits: no bound of the remainder", formula, (long)prec);
    for (slong x = N; x <= N + 2800; x++) {
        if ((x - N) % 700 == 0 || x < N + 5) {
            fmpz_set_si(j, x);
            euler_sum(term, e, j);
            if (!arb_overlaps(term, sum) || mag_cmp_2exp_si(arb_radref(term), 12 - prec) > 0)
                fail_msg("%s, %ld bits, up to %ld: %s, plain sum %s", formula, (long)prec, (long)x,
                         arb_get_str(term, 30, 0), arb_get_str(sum, 30, 0));
        }
        arb_set_si(t, x);
        assert_int_equal(evaluator_point(term, v, t), 0);
        arb_add(sum, sum, term, prec + 64);
    }
    euler_free(e);
    evaluator_free(v);
    demolish(&b);
}

static void test_euler(void **state)
{
    (void)state;
    static const char *const formulas[] = {
        "-2*ln(1+t)",      "-0.3*t^0.5", "-ln(3+0.2*t)^2",         "-ln(1+(0.25*t)^2)",
        "-0.01*t",         "0.002*t",    "-1.5*ln(1+t+sqrt(t))",   "-ln(2+t)-2*ln(ln(2+t))",
        "-(t-300)^2/5000", "sin(t/50)",  "-0.1*t^0.5-0.5*ln(1+t)", "-0.5*ln(1+t)"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        check_euler(formulas[i], 100, 64);
        check_euler(formulas[i], 200, 320);
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
        {"-1.5*ln(3+t)+sin(1)*ln(3+t)-sqrt(2)*ln(3+t)", 1, 1},
        {"-ln(1+t)-2*ln(1+ln(1+t))", 1, 1},
        {"-ln(1+t)-ln(2+3*ln(1+t))", 1, 0},
        {"-1.2*ln(3+2*t)+2*ln(0.5+0.3*ln(3+2*t))", 1, 1},
        {"-ln(1+t)-1.5*ln(sqrt(2)+sqrt(3)*ln(1+t))", 1, 1},
        {"-ln(3+2*t)-ln(1+2*ln(3+2*t))-3*ln(2+ln(1+2*ln(3+2*t)))", 1, 1},
        {"-ln(3+2*t)-1.5*ln(1+2*ln(3+2*t))-ln(2+ln(1+2*ln(3+2*t)))", 1, 1},
        {"-ln(1+t)-3*sqrt(1+2*ln(1+t))-ln(1+2*ln(1+t))", 1, 1},
        {"-ln(1+t)-(1+ln(1+t)/2)^2", 1, 1},
        {"-ln(1+t)-2*ln(3-ln(1+t)/9)", 0, 0},
        {"-ln(1+t)-2*ln(1+ln(2+t))", 0, 0},
        {"-ln(1+t)-2*ln(1+ln(1+t))-ln(2+ln(1+t))", 0, 0},
        {"-ln(1+t)-2*ln(1+sqrt(1+t))", 0, 0},
        {"-0.3*t^0.5", 1, 1},
        {"-0.3*(2+t)^1.5", 1, 1},
        {"-0.1*t-1.5*ln(1+t)", 1, 1},
        {"-ln(3+0.5*t)^2", 1, 1},
        {"-0.7*ln(3+t)^2+ln(3+t)+1", 1, 1},
        {"-ln(1+(0.5*t)^2)", 0, 0},
        {"1-ln(3+2*(1+t)^2)", 0, 0},
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
        LOCAL(arb, t, low, high);
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
            double slope = arf_get_d(arb_midref(low), ARF_RND_NEAR) / ((x + step) - (x - step));
            if (!(fabs(slope / exp(value_at(&b, x)) - 1) < 1e-6))
                fail_msg("%s at %g: slope %.12g, f %.12g", cases[i].formula, x, slope,
                         exp(value_at(&b, x)));
        }
        demolish(&b);
    }
}

/* exp of a number with many digits before the point counts as what it takes: 3,322 bits of 10^1000
 * beside the 4,096 that tell it. */
static void test_work_of_exp(void **state)
{
    (void)state;
    struct built b = build("-10^1000-1/3");
    LOCAL(arb, out);
    double before = budget.done;
    evaluate_exp_constant(out, b.pool, b.root, 1024);
    assert_true(budget.done - before > work_elementary(4096 + 3322));
    assert_true(arb_rel_accuracy_bits(out) > 500);
    demolish(&b);
}

/* Waves added in double lie in the balls of the plain evaluation, and the blocks are narrow. */
static void test_waves(void **state)
{
    (void)state;
    static const char *const formulas[] = {"sandwich", "sandwich(64,1)",
                                           "sum(i,1,20,sin(i*t/7+i)*0.3)-ln(1+t)",
                                           "sum(i,1,9,cos(t/i)*(-1)^i)+3*sin(0.001*t)*t^0.1"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        struct built b = build(formulas[i]);
        struct evaluator *quick = evaluator_new(b.pool, b.root, 64, NULL),
                         *plain = evaluator_new(b.pool, b.root, 128, NULL);
        arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
        LOCAL(arb, t, f);
        assert_true(evaluator_has_waves(quick));
        static const ulong starts[] = {0, 256, 1000003, 123456789012};
        for (int k = 0; k < 4; k++) {
            int count = k == 1 ? 100 : EVALUATE_BLOCK;
            assert_int_equal(evaluator_block(block, quick, starts[k], count), 0);
            for (int n = 0; n < count; n += 3) {
                arb_set_ui(t, starts[k] + (ulong)n);
                assert_int_equal(evaluator_point(f, plain, t), 0);
                if (!arb_contains(block + n, f) && !arb_overlaps(block + n, f))
                    fail_msg("%s at %lu + %d: %s, plain %s", formulas[i], starts[k], n,
                             arb_get_str(block + n, 25, 0), arb_get_str(f, 25, 0));
                if (arb_rel_accuracy_bits(block + n) < 30)
                    fail_msg("%s at %lu + %d: %s is wide", formulas[i], starts[k], n,
                             arb_get_str(block + n, 25, 0));
            }
        }
        _arb_vec_clear(block, EVALUATE_BLOCK);
        evaluator_free(quick);
        evaluator_free(plain);
        demolish(&b);
    }
}

/* Frequencies so large that 160 bits do not tell where in its period a wave is after a few steps:
 * no block may claim to know, not even the first. */
static void test_waves_unknown(void **state)
{
    (void)state;
    struct built b = build("sum(i,1,10,cos(sqrt(2)*1e45*t*i))/2");
    struct evaluator *quick = evaluator_new(b.pool, b.root, 64, NULL);
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    assert_true(evaluator_has_waves(quick));
    for (ulong first = 0; first <= 256; first += 256)
        assert_int_equal(evaluator_block(block, quick, first, EVALUATE_BLOCK), -1);
    _arb_vec_clear(block, EVALUATE_BLOCK);
    evaluator_free(quick);
    demolish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_growth),      cmocka_unit_test(test_scale),
        cmocka_unit_test(test_euler),       cmocka_unit_test(test_primitive),
        cmocka_unit_test(test_waves),       cmocka_unit_test(test_waves_unknown),
        cmocka_unit_test(test_work_of_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
