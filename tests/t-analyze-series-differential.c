/* Random formulas rich in infinities, exact cancellations, comparisons and jumps. Three evaluators
 * must agree at t = 0 .. DISTANCES-1: the one of this file, which bounds its errors and says where
 * it cannot tell; the double one; the exact one, built for all t at once and for t alone. The field
 * of a finite length must be that of the terms added one by one, and the verdict must fit the
 * series far out. DIFFERENTIAL=COUNT[,SEED] sets how many formulas are drawn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/formula_private.h"
#include "analyze/series/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTANCES = 24, FORMULAS = 800, TEXT = 4000 };

static const struct formula_point point = {0, 1, 2, 64, 100};

/* ---- random formulas ---- */

static unsigned seed;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}

static void put(char text[TEXT], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, TEXT, format, arguments);
    va_end(arguments);
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

static void random_formula(char *text, int depth)
{
    static const char leaves[] =
        "t t t t 1 2 3 0.5 0.1 7 0 pi inf -inf (t-5) (0-t) -t (5-t) ln(t) ln(t-3) "
        "sqrt(t-4) 1/t 1/(t-2) floor(t/3) sin(t) (1+t) ln(1+t) -2*ln(1+t) (t<6?0:-inf) "
        "(t==3?inf:1) sum(i,0,3,ln(t-i)) (sqrt(2)*sqrt(3)-sqrt(6)) (1+cos(pi)) "
        "(exp(ln(2))-2) sin(pi) (ln(8)-3*ln(2)) (0.1+0.2) (sin(pi*t/2)/cos(pi*t/2))^2 "
        "(cos(t)/sin(t))^2 (pi-3)";
    static const char unary[] =
        "ln(%s) exp(%s) sin(%s) cos(%s) abs(%s) floor(%s) sqrt(%s) -(%s) (%s)^2 "
        "(%s)^-1 (%s)^0.5 (%s)^0 0*(%s) 1/(%s) (%s)^-3 (-2*(%s))^-1 inf*(%s) "
        "sum(i,1,2,i*(%s)) (%s)-1 2^(%s) 1-cos(%s)";
    static const char binary[] =
        "(%s)+(%s) (%s)-(%s) (%s)*(%s) (%s)/(%s) min(%s,%s) max(%s,%s) (%s)<(%s) "
        "(%s)<=(%s) (%s)>(%s) (%s)==(%s) (%s)!=(%s) (%s)^(%s) t<7?(%s):(%s) "
        "t==4?(%s):(%s) 3*(%s)-0.25*(%s) t<20?(%s):(%s)";
    char a[TEXT], b[TEXT], c[TEXT];
    int kind = below(12);
    if (depth == 0 || kind == 0) {
        put(text, "%s", word(leaves, below(40)));
        return;
    }
    random_formula(a, depth - 1);
    if (kind < 4) {
        put(text, word(unary, below(21)), a);
        return;
    }
    random_formula(b, depth - 1);
    if (kind == 4) {
        random_formula(c, depth - 1);
        put(text, "(%s)%s(%s)?(%s):(%s)", a, below(2) ? ">" : "<=", below(2) ? "-inf" : b, c, b);
    } else if (kind == 5) { /* what cancels where it is a number */
        put(text, below(2) ? "2*(%s)-(%s)+(%s)" : "(%s)-(%s)+(%s)", a, a, b);
    } else {
        put(text, word(binary, below(16)), a, b);
    }
}

/* ---- the evaluator with bounds ---- */

enum value_class { NUMBER, PLUS, MINUS, NONE, UNSURE };

struct value {
    enum value_class class;
    double v, error; /* NUMBER: within this; 0: exact */
};

static struct value of_class(enum value_class class)
{
    return (struct value){.class = class};
}

static struct value number(double v, double error)
{
    if (!(fabs(v) < 1e150) || !(error < 1e140) || (v != 0 && fabs(v) < 1e-150))
        return of_class(UNSURE);
    return (struct value){NUMBER, v + 0.0, error};
}

static double rounding(double v)
{
    return fabs(v) * 1e-15 + 1e-300;
}

/* Sign of a value: -1, 0, 1; 2 where it is not sure (or there is none). */
static int sign_of(struct value x)
{
    switch (x.class) {
    case PLUS: return 1;
    case MINUS: return -1;
    case NUMBER: return x.v > x.error ? 1 : x.v < -x.error ? -1 : x.error == 0 ? 0 : 2;
    default: return 2;
    }
}

static struct value infinity(int sign)
{
    return of_class(sign > 0 ? PLUS : MINUS);
}

static struct value negative(struct value x)
{
    x.v = 0 - x.v;
    x.class = x.class == PLUS ? MINUS : x.class == MINUS ? PLUS : x.class;
    return x;
}

static struct value add(struct value a, struct value b)
{
    if (a.class == NUMBER && b.class == NUMBER) {
        double v = a.v + b.v, error = a.error + b.error;
        int exact = error == 0 && v - a.v == b.v && v - b.v == a.v;
        return number(v, exact ? 0 : error + rounding(fabs(a.v) + fabs(b.v)));
    }
    if (a.class == NUMBER || b.class == NUMBER)
        return a.class == NUMBER ? b : a;
    return a.class == b.class ? a : of_class(NONE);
}

static struct value multiply(struct value a, struct value b)
{
    if (a.class == NUMBER && b.class == NUMBER) {
        double v = a.v * b.v, error = fabs(a.v) * b.error + fabs(b.v) * a.error + a.error * b.error;
        if (sign_of(a) == 0 || sign_of(b) == 0)
            return number(0, 0);
        return number(v, a.error == 0 && b.error == 0 && fma(a.v, b.v, -v) == 0
                             ? 0
                             : error + rounding(v));
    }
    int sign = sign_of(a) == 2 || sign_of(b) == 2 ? 2 : sign_of(a) * sign_of(b);
    return sign == 2 ? of_class(UNSURE) : sign == 0 ? of_class(NONE) : infinity(sign);
}

static struct value divide(struct value a, struct value b)
{
    int sign = sign_of(b);
    if (b.class != NUMBER)
        return a.class == NUMBER ? number(0, 0) : of_class(NONE);
    if (sign == 2)
        return of_class(UNSURE);
    if (sign == 0)
        return sign_of(a) == 2   ? of_class(UNSURE)
               : sign_of(a) == 0 ? of_class(NONE)
                                 : infinity(sign_of(a));
    if (a.class != NUMBER)
        return infinity(sign_of(a) * sign);
    double v = a.v / b.v, smallest = fabs(b.v) - b.error;
    return number(v, a.error == 0 && b.error == 0 && fma(v, b.v, -a.v) == 0
                         ? 0
                         : (a.error + fabs(v) * b.error) / smallest + rounding(v));
}

static struct value power(struct value a, struct value b)
{
    int sign = sign_of(a), up = sign_of(b);
    int whole = b.class == NUMBER && b.error == 0 ? b.v == floor(b.v)
                : b.class == NUMBER && floor(b.v - b.error) == floor(b.v + b.error) ? 0
                : b.class != NUMBER                                                 ? 0
                                                                                    : 2;
    if (sign == 2)
        return b.class == NUMBER && up == 0 ? number(1, 0) : of_class(UNSURE);
    if (sign < 0 && whole != 1)
        return of_class(whole == 0 ? NONE : UNSURE);
    if (up == 2)
        return of_class(UNSURE);
    if (up == 0)
        return number(1, 0);
    if (a.class != NUMBER)
        return up < 0 ? number(0, 0) : infinity(sign < 0 && fmod(b.v, 2) != 0 ? -1 : 1);
    if (sign == 0)
        return up > 0 ? number(0, 0) : of_class(PLUS);
    if (b.class != NUMBER) {
        int above = a.error == 0        ? (a.v > 1) - (a.v < 1)
                    : a.v - a.error > 1 ? 1
                    : a.v + a.error < 1 ? -1
                                        : 2;
        return above == 2    ? of_class(UNSURE)
               : above == 0  ? number(1, 0)
               : above == up ? of_class(PLUS)
                             : number(0, 0);
    }
    double v = pow(a.v, b.v), relative = fabs(b.v) * a.error / (fabs(a.v) - a.error) +
                                         b.error * fabs(log(fabs(a.v))) + 1e-14 * (1 + fabs(b.v));
    /* 0 here is what double cannot hold */
    int exact = a.error == 0 && b.error == 0 && whole && a.v == floor(a.v) && b.v > 0 &&
                fabs(v) < 0x1p50;
    return relative < 0.1 && v != 0 ? number(v, exact ? 0 : 2 * relative * fabs(v))
                                    : of_class(UNSURE);
}

static struct value compare(enum formula_node_kind kind, struct value a, struct value b)
{
    int sign;
    if (a.class != NUMBER || b.class != NUMBER) {
        int difference = (a.class == PLUS) - (a.class == MINUS) - (b.class == PLUS) +
                         (b.class == MINUS);
        sign = (difference > 0) - (difference < 0);
    } else {
        struct value difference = add(a, negative(b));
        sign = difference.class == NUMBER ? sign_of(difference) : 2;
    }
    if (sign == 2)
        return of_class(UNSURE);
    int is = kind == NODE_LESS            ? sign < 0
             : kind == NODE_LESS_EQUAL    ? sign <= 0
             : kind == NODE_GREATER       ? sign > 0
             : kind == NODE_GREATER_EQUAL ? sign >= 0
             : kind == NODE_EQUAL         ? sign == 0
                                          : sign != 0;
    return number(is, 0);
}

static double sum_index[FORMULA_SUMS_MAX];

static struct value evaluate(const struct formula *f, int n, double t);

static struct value of_one(enum formula_node_kind kind, struct value x)
{
    int sign = sign_of(x);
    double v = x.v;
    switch (kind) {
    case NODE_NEGATE: return negative(x);
    case NODE_ABS: return x.class == MINUS || (x.class == NUMBER && v < 0) ? negative(x) : x;
    case NODE_EXP:
        if (x.class != NUMBER)
            return x.class == PLUS ? x : number(0, 0);
        return x.error > 0.1 || exp(v) == 0
                   ? of_class(UNSURE)
                   : number(exp(v), x.error == 0 && v == 0 ? 0 : exp(v) * (2 * x.error + 1e-15));
    case NODE_LN:
    case NODE_SQRT:
        if (sign == 2)
            return of_class(UNSURE);
        if (sign < 0)
            return of_class(NONE);
        if (sign == 0)
            return kind == NODE_LN ? of_class(MINUS) : number(0, 0);
        if (x.class == PLUS)
            return x;
        if (kind == NODE_LN)
            return number(log(v), x.error == 0 && v == 1
                                      ? 0
                                      : x.error / (v - x.error) + 1e-15 * (1 + fabs(log(v))));
        return number(sqrt(v), x.error == 0 && fma(sqrt(v), sqrt(v), -v) == 0
                                   ? 0
                                   : x.error / sqrt(v - x.error) + rounding(sqrt(v)));
    case NODE_FLOOR:
        if (x.class != NUMBER)
            return x;
        return floor(v - x.error) == floor(v + x.error) ? number(floor(v), 0) : of_class(UNSURE);
    default: /* sine, cosine */
        if (x.class != NUMBER)
            return of_class(NONE);
        if (x.error == 0 && v == 0)
            return number(kind == NODE_COS, 0);
        return fabs(v) > 1e6 || x.error > 1
                   ? of_class(UNSURE)
                   : number(kind == NODE_COS ? cos(v) : sin(v), x.error + 1e-15);
    }
}

static struct value of_node(const struct formula *f, const struct formula_node *node, double t)
{
    struct value a, b;
    switch (node->kind) {
    case NODE_LITERAL:
        return number(node->value,
                      node->value * 1024 == floor(node->value * 1024) ? 0 : rounding(node->value));
    case NODE_INFINITY: return of_class(PLUS);
    case NODE_PI: return number(M_PI, 2e-16);
    case NODE_VARIABLE: return number(t, 0);
    case NODE_INDEX: return number(sum_index[node->slot], 0);
    default: break;
    }
    a = evaluate(f, node->child[0], t);
    if (a.class >= NONE)
        return a;
    if (node->kind == NODE_CHOOSE) {
        int sign = sign_of(a);
        return sign == 2 ? of_class(UNSURE) : evaluate(f, node->child[sign ? 1 : 2], t);
    }
    if (node->child[1] < 0)
        return of_one(node->kind, a);
    b = evaluate(f, node->child[1], t);
    if (b.class >= NONE)
        return b;
    switch (node->kind) {
    case NODE_SUM: {
        struct value sum = number(0, 0);
        for (double i = a.v; i <= b.v && sum.class < NONE; i++) { /* literals */
            sum_index[node->slot] = i;
            struct value term = evaluate(f, node->child[2], t);
            sum = term.class >= NONE ? term : add(sum, term);
        }
        return sum;
    }
    case NODE_ADD: return add(a, b);
    case NODE_SUBTRACT: return add(a, negative(b));
    case NODE_MULTIPLY: return multiply(a, b);
    case NODE_DIVIDE: return divide(a, b);
    case NODE_POWER: return power(a, b);
    case NODE_MIN:
    case NODE_MAX: {
        struct value less = compare(NODE_LESS, a, b);
        if (less.class != NUMBER)
            return number((a.v + b.v) / 2,
                          fabs(a.v - b.v) + a.error + b.error); /* the one or the other */
        return (less.v != 0) == (node->kind == NODE_MIN) ? a : b;
    }
    default: return compare(node->kind, a, b);
    }
}

static struct value evaluate(const struct formula *f, int n, double t)
{
    return of_node(f, &f->nodes[n], t);
}

/* ---- comparing ---- */

static const char *text; /* the formula in hand */

static const char *const class_names[] = {"a number", "+inf", "-inf", "not a number", "not sure"};

static enum value_class class_of(const struct expression_pool *p, int n)
{
    if (!expression_is_known(p, n))
        return UNSURE;
    return p->node[n].kind == X_NAN   ? NONE
           : n == NODE_PLUS_INFINITY  ? PLUS
           : n == NODE_MINUS_INFINITY ? MINUS
                                      : NUMBER;
}

/* Of the exact evaluator. */
struct exact {
    enum value_class class[DISTANCES];
    arb_struct b[DISTANCES];
};

static void check_class(int t, const char *what, enum value_class found, enum value_class expected)
{
    if (found != expected && found != UNSURE && expected != UNSURE)
        fail_msg("%s at t = %d: %s, expected %s", text, t, what, class_names[expected]);
}

/* Fills x and compares it with the other evaluators. */
static void check_points(struct exact *x, const struct formula *f, const struct series *s)
{
    for (int t = 0; t < DISTANCES; t++) {
        struct expression_pool *p = expression_pool_new(&(struct budget){0});
        struct formula_error e;
        struct formula_point at = point;
        LOCAL(fmpz, whole);
        LOCAL(arb, ball, bounds);
        fmpz_set_si(whole, t);
        at.t = t;
        int n = expression_build(p, f, &at, whole, &e);
        x->class[t] = n < 0 ? UNSURE : class_of(p, n);
        arb_indeterminate(&x->b[t]);
        if (x->class[t] == NUMBER)
            evaluate_constant(&x->b[t], p, n, 300);
        /* this file's, where it is sure */
        struct value v = evaluate(f, f->root, t);
        double d = formula_evaluate(f, &at);
        enum value_class of_double = isnan(d) ? NONE : d == INFINITY ? PLUS : NUMBER;
        of_double = d == -INFINITY ? MINUS : of_double;
        check_class(t, "exact value", x->class[t], v.class);
        check_class(t, "double", of_double, v.class);
        if (v.class == NUMBER) {
            if (!(fabs(d - v.v) <= 2 * v.error + rounding(v.v)))
                fail_msg("%s at t = %d: double is %.17g, expected %.17g within %.3g", text, t, d,
                         v.v, v.error);
            arb_set_d(bounds, v.error + rounding(v.v));
            arb_set_d(ball, v.v);
            arb_add_error(ball, bounds);
            if (x->class[t] == NUMBER && !arb_overlaps(&x->b[t], ball))
                fail_msg("%s at t = %d: the exact value is %.17g, expected %.17g within %.3g", text,
                         t, arf_get_d(arb_midref(&x->b[t]), ARF_RND_NEAR), v.v, v.error);
        }
        /* the expression of the piece that t lies in */
        for (int i = 0; s && i < s->summand[0]->proof.pieces; i++) {
            const struct summand *h = s->summand[0];
            const struct piece *piece = &h->proof.piece[i];
            if (fmpz_cmp(piece->first, whole) > 0 ||
                (!piece->unbounded && fmpz_cmp(piece->end, whole) <= 0))
                continue;
            int m = problem_value(p, &h->problem, piece->root, whole);
            check_class(t, "value of its piece", class_of(p, m), x->class[t]);
            if (piece->kind == PIECE_ZERO && x->class[t] != UNSURE && x->class[t] != MINUS)
                fail_msg("%s at t = %d: masked, expected %s", text, t, class_names[x->class[t]]);
            if (class_of(p, m) == NUMBER && x->class[t] == NUMBER) {
                evaluate_constant(ball, p, m, 300);
                arb_add_fmpz(ball, ball, h->problem.shift, 300);
                if (!arb_overlaps(ball, &x->b[t]))
                    fail_msg("%s at t = %d: the piece has %.17g, expected %.17g", text, t,
                             arf_get_d(arb_midref(ball), ARF_RND_NEAR),
                             arf_get_d(arb_midref(&x->b[t]), ARF_RND_NEAR));
            }
            struct evaluator *w = evaluator_new(h->problem.pool, piece->root, 200, NULL);
            arb_set_si(bounds, t);
            if (w && evaluator_point(ball, w, bounds) == 0) { /* exp(b - shift) */
                arb_sub_fmpz(bounds, &x->b[t], h->problem.shift, 300);
                arb_exp(bounds, bounds, 300);
                if (x->class[t] == MINUS)
                    arb_zero(bounds);
                if (x->class[t] == NONE || x->class[t] == PLUS ||
                    (arb_is_finite(bounds) && !arb_overlaps(ball, bounds)))
                    fail_msg("%s at t = %d: the evaluator has exp(b) = %.17g, expected %s, %.17g",
                             text, t, arf_get_d(arb_midref(ball), ARF_RND_NEAR),
                             class_names[x->class[t]], arf_get_d(arb_midref(bounds), ARF_RND_NEAR));
            }
            evaluator_free(w);
        }
        expression_pool_free(p);
    }
}

/* The field of the first DISTANCES: terms added one by one. */
static void check_finite(const struct exact *x, const struct series *s)
{
    struct series_count c;
    struct formula_error e;
    double lo, hi;
    int unsure = 0, broken = 0, mass = 0;
    for (int t = 0; t < DISTANCES; t++) {
        unsure |= x->class[t] == UNSURE;
        broken |= x->class[t] == NONE || x->class[t] == PLUS;
        mass |= x->class[t] == NUMBER;
    }
    int failed = series_trf_finite(s, "0.1", DISTANCES, &c, &lo, &hi, &e);
    if (!unsure && (failed != 0) != (broken || !mass))
        fail_msg("%s: the finite field is %s", text, failed ? e.message : "not refused");
    if (failed)
        return;
    if (broken &&
        (c.lo || c.hi)) /* no field where another value may be none too, else it was refused */
        fail_msg("%s: a finite field although a value may be none", text);
    if (!unsure && (!c.lo || !c.hi))
        fail_msg("%s: no finite field", text);
    if (!unsure) {
        LOCAL(arb, sum, term, target);
        for (int pass = 0; pass < 2; pass++) {
            arb_zero(sum);
            int least = 0, most = DISTANCES;
            for (int t = 0; t < DISTANCES; t++) {
                arb_sub_fmpz(term, &x->b[t], s->summand[0]->problem.shift, 300);
                arb_exp(term, term, 300);
                if (x->class[t] == NUMBER)
                    arb_add(sum, sum, term, 300);
                if (pass && arb_le(sum, target))
                    least = t + 1;
                if (pass && arb_gt(sum, target) && t + 1 < most)
                    most = t + 1;
            }
            if (pass && (strtol(c.hi, NULL, 10) <= least || strtol(c.lo, NULL, 10) > most))
                fail_msg("%s: the finite field is %s..%s, expected %d..%d", text, c.lo, c.hi,
                         least + 1, most);
            arb_mul_ui(target, sum, 9, 300);
            arb_div_ui(target, target, 10, 300);
        }
    }
    series_count_free(&c);
}

/* A verdict is suspicious if the bias is far on the other side of -ln t at all of these. */
static void check_verdict(const struct formula *f, const struct series *s)
{
    int above = 1, under = 1, values = 0;
    double first = NAN, log_first = 0;
    for (int k = 12; k < 50; k++)
        for (int j = 0; j < 3; j++) {
            struct formula_point at = point;
            at.t = j == 0 ? ldexp(1, k) : j == 1 ? ldexp(1, k) + 1 : 3 * ldexp(1, k - 1) + 7;
            struct value v = evaluate(f, f->root, at.t);
            if (v.class >= NONE || (v.class == NUMBER && v.error > 0.1))
                continue;
            if (isnan(first) && v.class == NUMBER) {
                first = v.v;
                log_first = log(at.t);
            }
            values++;
            above &= v.class == PLUS ||
                     (v.class == NUMBER && v.v - first > -0.9 * (log(at.t) - log_first) - 1);
            under &= v.class == MINUS ||
                     (v.class == NUMBER && v.v - first < -1.1 * (log(at.t) - log_first) + 1);
        }
    if (values < 60)
        return;
    if ((series_verdict(s) == SERIES_CONVERGES && above) ||
        (series_verdict(s) == SERIES_DIVERGES && under))
        fail_msg("%s: %s, which does not look so\n%s", text, series_verdict_name(series_verdict(s)),
                 series_proof(s));
}

static int decided, refused, undecided;

static void check(const char *formula)
{
    struct formula_error e;
    struct formula *f = formula_parse(formula, &e);
    struct exact x;
    text = formula;
    if (!f)
        fail_msg("'%s': %s", formula, e.message);
    struct series *s = series_open(f, &point, &e);
    for (int t = 0; t < DISTANCES; t++)
        arb_init(&x.b[t]);
    check_points(&x, f, s);
    if (!s) {
        const char *at = strstr(e.message, "no mass") ? NULL : strstr(e.message, "distance ");
        long t = at ? strtol(at + 9, NULL, 10) : 0;
        enum value_class expected = strstr(e.message, "+inf (") ? PLUS : NONE;
        refused++;
        /* bounds on an interval may know what the values alone do not: (0 <= sin(pi)) > 1 is 0
         * whatever sin(pi) is */
        if (at && t < DISTANCES && x.class[t] != expected && x.class[t] != UNSURE)
            fail_msg("%s: %s (expected %s)", formula, e.message, class_names[x.class[t]]);
        for (int k = 0; !at && k < DISTANCES; k++)
            if (strstr(e.message, "no mass") && x.class[k] != MINUS)
                fail_msg("%s: %s (expected %s at t = %d)", formula, e.message,
                         class_names[x.class[k]], k);
    } else {
        int known = series_verdict(s) != SERIES_UNDECIDED;
        decided += known;
        undecided += !known;
        for (int t = 0; t < DISTANCES; t++)
            if (known && (x.class[t] == NONE || x.class[t] == PLUS))
                fail_msg("%s: %s although the bias at t = %d is %s", formula,
                         series_verdict_name(series_verdict(s)), t, class_names[x.class[t]]);
        check_finite(&x, s);
        check_verdict(f, s);
    }
    for (int t = 0; t < DISTANCES; t++)
        arb_clear(&x.b[t]);
    series_free(s);
    formula_free(f);
}

static void test_random(void **state)
{
    (void)state;
    const char *asked = getenv("DIFFERENTIAL"), *comma = asked ? strchr(asked, ',') : NULL;
    int count = asked ? atoi(asked) : FORMULAS;
    seed = comma ? (unsigned)strtoul(comma + 1, NULL, 10) : 1;
    for (int i = 0; i < count; i++) {
        char formula[TEXT], tail[TEXT];
        do
            random_formula(formula, 1 + below(4));
        while (strlen(formula) > 200);
        if (i % 3) { /* a tail that lets it converge */
            static const char *const tails[] = {"-2*ln(1+t)",  "-t",         "-inf",
                                                "-3*ln(t)",    "-2*ln(t-1)", "-t^0.5",
                                                "-floor(t/5)", "0",          "-ln(1+t)"};
            put(tail, i % 3 == 1 ? "t<15?(%.200s):%s" : "(%.200s)+%s", formula,
                tails[below(sizeof tails / sizeof tails[0])]);
            strcpy(formula, tail);
        }
        check(formula);
    }
    print_message("%d decided, %d undecided, %d refused\n", decided, undecided, refused);
    assert_true(decided > count / 10 && refused > count / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
