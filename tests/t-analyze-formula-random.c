#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/curve.h"
#include "analyze/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct formula *parse(const char *text)
{
    struct formula_error e;
    struct formula *f = formula_parse(text, &e);
    if (!f)
        fail_msg("'%s' at %zu: %s", text, e.at, e.message);
    return f;
}

/* ---- random formulas ---- */

struct random {
    uint64_t seed, next;
};

static int below(struct random *r, int n)
{
    return (int)(random_at(r->seed, r->next++) % (uint64_t)n);
}

/* Any text is either a formula or refused at a place inside it; evaluation ends. */
static void test_token_soup(void **state)
{
    (void)state;
    static const char *const tokens[] = {"t",
                                         "h",
                                         "H",
                                         "d",
                                         "L",
                                         "pi",
                                         "inf",
                                         "p",
                                         "i",
                                         "j",
                                         "1",
                                         "2",
                                         ".5",
                                         "3e-2",
                                         "1e9",
                                         "7.", /* 16 values */
                                         "+",
                                         "-",
                                         "*",
                                         "/",
                                         "^", /* 5 operators */
                                         "(",
                                         ")",
                                         "(",
                                         ")",
                                         ",",
                                         ",",
                                         "?",
                                         ":",
                                         "<",
                                         "<=",
                                         ">",
                                         ">=",
                                         "==",
                                         "!=",
                                         "=",
                                         "ln(",
                                         "exp(",
                                         "sqrt(",
                                         "abs(",
                                         "min(",
                                         "max(",
                                         "floor(",
                                         "sin(",
                                         "cos(",
                                         "pow(",
                                         "sum(i,",
                                         "sum(j,1,3,",
                                         "alibi",
                                         "alibi(",
                                         "window(w=",
                                         "kerple_log(p=",
                                         "t5",
                                         "sandwich(",
                                         "type1(k=",
                                         "none",
                                         " ",
                                         "  ",
                                         "\n",
                                         "$",
                                         "\xc3\xa9",
                                         "e",
                                         ".",
                                         "!",
                                         "foo(",
                                         "delta"};
    enum { COUNT = sizeof tokens / sizeof tokens[0] };
    struct random r = {20230705, 0};
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        char text[400] = "";
        size_t length = 0;
        int wanted = 1 + below(&r, 14), values = 0;
        for (int i = 0; i < wanted; i++) {
            /* half of the texts alternate values and operators, so that many of them are formulas
             */
            const char *token = tokens[below(&r, COUNT)];
            if (round % 2)
                token = values++ % 2 == 0 ? tokens[below(&r, 16)] : tokens[16 + below(&r, 5)];
            if (round % 2 && below(&r, 12) == 0)
                token = tokens[below(&r, COUNT)];
            length = (size_t)(stpcpy(text + length, token) - text);
        }
        struct formula_error e = {.at = SIZE_MAX};
        struct formula *f = formula_parse(text, &e);
        if (!f) {
            if (e.at > length || !e.message[0])
                fail_msg("'%s': at %zu: '%s'", text, e.at, e.message);
            continue;
        }
        accepted++;
        for (const char *missing; (missing = formula_missing(f));)
            assert_int_equal(formula_set(f, missing, &(const char *){"1.5"}, 1, &e), 0);
        (void)formula_evaluate(f, &(struct formula_point){below(&r, 50), 1 + below(&r, 8), 8, 64,
                                                          512});
        formula_free(f);
    }
    assert_true(accepted > 2000);
}

/* Text under construction, and the point it is evaluated at. */
struct writer {
    struct random random;
    struct formula_point at;
    char *text;
    size_t length, size;
};

static void put(struct writer *w, const char *text)
{
    static const char *const spaces[] = {"", "", "", " ", "\t "};
    int n = snprintf(w->text + w->length, w->size - w->length, "%s%s", text,
                     spaces[below(&w->random, 5)]);
    assert_true(n >= 0 && (size_t)n < w->size - w->length);
    w->length += (size_t)n;
}

enum level { CHOICE, COMPARISON, SUM, PRODUCT, UNARY, POWER, VALUE };

/* Writes a random expression of at least that precedence and returns its value, computed here from
 * the meaning of each operation.
 */
static double write_expression(struct writer *w, enum level least, int budget)
{
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const literals[] = {"0", "1", "2", ".5", "3.25", "1e-1", "0.7e1", "12."};
    enum level level = budget <= 0 ? VALUE : (enum level)below(&w->random, VALUE + 1);
    int wrap = level < least, which;
    double a, b, c, result = NAN;
    if (wrap)
        put(w, "(");
    switch (level) {
    case CHOICE:
        a = write_expression(w, COMPARISON, budget - 1);
        put(w, "?");
        b = write_expression(w, CHOICE, budget - 1);
        put(w, ":");
        c = write_expression(w, CHOICE, budget - 1);
        result = isnan(a) ? NAN : a != 0 ? b : c;
        break;
    case COMPARISON:
        a = write_expression(w, SUM, budget - 1);
        put(w, comparisons[which = below(&w->random, 6)]);
        b = write_expression(w, SUM, budget - 1);
        result = which == 0   ? a < b
                 : which == 1 ? a <= b
                 : which == 2 ? a > b
                 : which == 3 ? a >= b
                 : which == 4 ? a == b
                              : a != b;
        if (isnan(a) || isnan(b))
            result = NAN;
        break;
    case SUM:
        a = write_expression(w, SUM, budget - 1);
        put(w, (which = below(&w->random, 2)) ? "+" : "-");
        b = write_expression(w, PRODUCT, budget - 1);
        result = which ? a + b : a - b;
        break;
    case PRODUCT:
        a = write_expression(w, PRODUCT, budget - 1);
        put(w, (which = below(&w->random, 2)) ? "*" : "/");
        b = write_expression(w, UNARY, budget - 1);
        result = which ? a * b : a / (b == 0 ? 0.0 : b); /* zero has no sign */
        break;
    case UNARY:
        put(w, "-");
        result = -write_expression(w, UNARY, budget - 1);
        break;
    case POWER:
        a = write_expression(w, VALUE, budget - 1);
        put(w, "^");
        b = write_expression(w, UNARY, budget - 1);
        result = isnan(a) || isnan(b) || (a < 0 && (isinf(b) || b != floor(b)))
                     ? NAN
                     : pow(a == 0 ? 0.0 : a, b);
        break;
    case VALUE:
        which = below(&w->random, budget > 0 ? 6 : 4);
        if (which == 0) {
            put(w, "t");
            result = w->at.t;
        } else if (which == 1) {
            put(w, "h");
            result = w->at.h;
        } else if (which <= 3) {
            const char *literal = literals[below(&w->random, 8)];
            put(w, literal);
            put(w, " "); /* "2 e..." cannot arise, "2" before "." can */
            result = atof(literal);
        } else {
            put(w, which == 4 ? "min(" : "max(");
            a = write_expression(w, CHOICE, budget - 1);
            put(w, ",");
            b = write_expression(w, CHOICE, budget - 1);
            put(w, ")");
            result = isnan(a) || isnan(b) ? NAN : which == 4 ? (a < b ? a : b) : (a > b ? a : b);
        }
    }
    if (wrap)
        put(w, ")");
    return result;
}

static void test_random_expressions(void **state)
{
    (void)state;
    enum { SIZE = 60000 };
    struct writer w = {{7, 0}, {0, 1, 8, 64, 2048}, malloc(SIZE), 0, SIZE};
    int numbers = 0;
    assert_non_null(w.text);
    for (int round = 0; round < 5000; round++) {
        w.length = 0;
        w.at.t = below(&w.random, 20);
        w.at.h = 1 + below(&w.random, 8);
        double expected = write_expression(&w, CHOICE, 1 + round % 6);
        struct formula *f = parse(w.text);
        double got = formula_evaluate(f, &w.at);
        if (!(got == expected || (isnan(got) && isnan(expected))))
            fail_msg("%s at t = %g, h = %d: %.17g, expected %.17g", w.text, w.at.t, w.at.h, got,
                     expected);
        numbers += !isnan(got);
        formula_free(f);
    }
    assert_true(numbers > 2500);
    free(w.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_soup),
        cmocka_unit_test(test_random_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
