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

static double value_at(const char *text, double t)
{
    struct formula *f = parse(text);
    double v = formula_evaluate(f, &(struct formula_point){t, 1, 8, 64, 2048});
    formula_free(f);
    return v;
}

/* ---- against tests/goldens/formula/values.csv ---- */

static void test_values(void **state)
{
    (void)state;
    FILE *file = fopen("tests/goldens/formula/values.csv", "r");
    assert_non_null(file);
    char line[4096];
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        char *rest = line, *column[9];
        for (int i = 0; i < 9; i++) {
            column[i] = strsep(&rest, ";\n");
            assert_non_null(column[i]);
        }
        struct formula *f = parse(column[0]);
        struct formula_error e;
        for (char *set; (set = strsep(&column[1], "&"));)
            if (*set && formula_set_text(f, set, &e))
                fail_msg("%s, %s: %s", column[0], set, e.message);
        assert_null(formula_missing(f));
        struct formula_point at = {atof(column[6]), atoi(column[2]), atoi(column[3]),
                                   atoi(column[4]), atof(column[5])};
        double got = formula_evaluate(f, &at), expected = atof(column[7]),
               tolerance = atof(column[8]);
        if (!(got == expected || fabs(got - expected) <= tolerance))
            fail_msg("%s, head %d of %d, t = %g: %.17g, expected %.17g +- %g", column[0], at.h,
                     at.heads, at.t, got, expected, tolerance);
        formula_free(f);
        rows++;
    }
    fclose(file);
    assert_true(rows > 200);
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *says;
    } table[] = {
        {"", 0, "empty"},
        {"  \t", 3, "empty"},
        {"1+", 2, "expected a value after '+', found the end"},
        {"1+*2", 2, "expected a value after '+', found '*'"},
        {"t**2", 2, "a power is written a^b"},
        {"$", 0, "expected a value, found '$'"},
        {"\xe2\x88\x92t", 0, "did you mean \"-\"?"},
        {"-t\xe2\x80\x93"
         "1",
         2, "did you mean \"-\"?"},
        {"\xe2\x88\x91t", 0, "byte 0xe2"},
        {"2t", 1, "found 't' (a product is written a*b)"},
        {"t(2)", 1, "a product is written a*b"},
        {"(1)(2)", 3, "a product is written a*b"},
        {"t 2", 2, "a product is written a*b"},
        {"1 = 2", 2, "equality is written a == b"},
        {"1 ! 2", 2, "found '!'"},
        {"(1", 2, "expected ')' for the '(' at character 1"},
        {"1)", 1, "')' without a '('"},
        {"1,2", 1, "',' outside the arguments"},
        {"1 < 2 < 3", 6, "chained"},
        {"t<1?2", 5, "expected ':' for the '?' at character 4"},
        {"(t<1?2)", 6, "expected ':' for the '?' at character 5"},
        {"t<1?2,3", 5, "an operator or ':'"},
        {"t:3", 1, "':' without a '?'"},
        {"2e+", 2, "digits in the exponent"},
        {"2E", 2, "digits in the exponent"},
        {"1.2.3", 3, "second point"},
        {"1e400", 0, "out of range"},
        {"1e-400", 0, "out of range"},
        {".", 0, "expected a value, found '.'"},
        {"foo(3)", 0, "unknown function 'foo'; known are: ln log"},
        {"1+flor(t)", 2, "unknown function 'flor'; did you mean: log floor"},
        {"2-tanh(t)", 2, "unknown function 'tanh'; tanh(x) is written 1 - 2/(1 + exp(2*x))"},
        {"t%8", 1, "found '%' (a remainder is written x - n*floor(x/n))"},
        {"sandwhich(2)", 0, "did you mean: sandwich"},
        {"ln t", 3, "expected '(' after the function 'ln'"},
        {"ln(", 3, "expected a value after '(', found the end"},
        {"ln()", 3, "expected a value after '(', found ')'"},
        {"ln(1,2)", 4, "ln takes 1 argument"},
        {"min(1)", 5, "min takes at least 2 arguments"},
        {"pow(1)", 5, "pow takes 2 arguments"},
        {"pow(1,2,3)", 7, "pow takes 2 arguments"},
        {"min(1 2)", 6, "a product"},
        {"sum(1,2,3,4)", 4, "the name that sum counts with"},
        {"sum(t,1,2,3)", 4, "reserved name 't'"},
        {"sum(ln,1,2,3)", 4, "reserved name 'ln'"},
        {"sum(i,1,2)", 9, "sum takes 4 arguments"},
        {"sum(i,1,2,3,4)", 11, "sum takes 4 arguments"},
        {"sum(i 1,2,3)", 6, "expected ','"},
        {"alibi(3,4)", 8, "too many arguments (alibi takes: delta=0)"},
        {"alibi(x=3)", 6, "alibi has no parameter 'x' (it takes: delta=0)"},
        {"kerple_log(p=1, 2)", 16, "without a name follows"},
        {"kerple_log(1, p=2)", 14, "given twice"},
        {"alibi(delta=)", 12, "expected a value after '=', found ')'"},
        {"none(1)", 5, "too many arguments (none takes: nothing)"},
        {"window(3", 8, "expected ')' for the '(' at character 7"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "longer than 31"},
        {"1 + a2345678901234567890123456789012", 4, "longer than 31"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct formula_error e = {0};
        struct formula *f = formula_parse(table[i].text, &e);
        if (f || e.at != table[i].at || !strstr(e.message, table[i].says))
            fail_msg("'%s': %s at %zu: %s; expected at %zu: %s", table[i].text,
                     f ? "accepted" : "refused", e.at, e.message, table[i].at, table[i].says);
    }
    assert_null(formula_parse("1+", NULL));
}

/* `unit` repeated `count` times between `before` and `after`. Caller frees. */
static char *repeated(const char *before, const char *unit, int count, const char *after)
{
    char *text = calloc(1, strlen(before) + strlen(unit) * (size_t)count + strlen(after) + 1),
         *end = text;
    assert_non_null(text);
    end = stpcpy(end, before);
    for (int i = 0; i < count; i++)
        end = stpcpy(end, unit);
    stpcpy(end, after);
    return text;
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit, *after;
        int fits, too_many;
        const char *says;
    } table[] = {
        {"", "-", "t", FORMULA_NESTING_MAX - 1, 100000 / 2, "nested too deeply"},
        {"", "(", "t", -1, FORMULA_NESTING_MAX + 1, "nested too deeply"},
        {"", "1^", "t", FORMULA_NESTING_MAX - 1, FORMULA_NESTING_MAX, "nested too deeply"},
        {"", "t<1?2:", "3", FORMULA_NESTING_MAX - 1, FORMULA_NESTING_MAX, "nested too deeply"},
        {"", "alibi(", "3", -1, FORMULA_NESTING_MAX + 1, "nested too deeply"},
        {"t", "+t", "", FORMULA_DEPTH_MAX - 1, FORMULA_DEPTH_MAX, "too deep"},
        {"t", "+sum(i,1,2,i)", "", FORMULA_SUMS_MAX, FORMULA_SUMS_MAX + 1, "more than 64 sums"},
        {"t+(t", "*t*t*t*t*t*t*t*t*t*t)+(t", ")", 80, 700, "too"},
        {"t", " ", "", FORMULA_TEXT_MAX - 1, FORMULA_TEXT_MAX, "too long"},
        {"min(0", ",t", ")", FORMULA_DEPTH_MAX - 1, FORMULA_DEPTH_MAX, "too deep"},
        {"0", "+t5+t5+t5+t5+t5+t5+t5+t5+t5+t5", "", 6, 7, "too large"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct formula_error e = {0};
        if (table[i].fits >= 0) {
            char *text = repeated(table[i].before, table[i].unit, table[i].fits, table[i].after);
            struct formula *f = parse(text);
            for (int p = 0; p < f->parameter_count; p++)
                assert_int_equal(formula_set(f, f->parameters[p].name, &(const char *){"1"}, 1,
                                             NULL),
                                 0);
            assert_true(isfinite(formula_evaluate(f, &(struct formula_point){1, 1, 8, 64, 2048})));
            formula_free(f);
            free(text);
        }
        char *text = repeated(table[i].before, table[i].unit, table[i].too_many, table[i].after);
        struct formula *f = formula_parse(text, &e);
        if (f || !strstr(e.message, table[i].says) || e.at > strlen(text))
            fail_msg("%d times '%s': at %zu: %s (expected: %s)", table[i].too_many, table[i].unit,
                     e.at, e.message, table[i].says);
        free(text);
    }
}

static void test_steps_are_bounded(void **state)
{
    (void)state;
    assert_true(isnan(value_at("sum(i,1,1e18,0)", 0)));
    assert_true(isnan(value_at("sum(i,1e300,1e300,i)", 0)));
    assert_true(isnan(value_at("1^sum(i,1,1e18,0)", 0))); /* 1^NaN = 1 hides nothing */
    assert_true(isnan(value_at("sum(i,-inf,1,0)", 0)));
    assert_true(isnan(value_at("sum(i,1,inf,0)", 0)));
    assert_true(isnan(value_at("sum(i,1,1000,sum(j,1,1000,sum(k,1,1000,i)))", 0)));
    assert_true(value_at("sum(i,1,300000,i)", 0) == 300000.0 * 300001 / 2);
    /* an argument used twice, inside an argument used twice, ...: a small tree, an endless walk */
    char *text = repeated("", "divergent_b(", 60, "1");
    char *closed = repeated(text, ")", 60, "");
    struct formula *f = parse(closed);
    assert_true(isnan(formula_evaluate(f, &(struct formula_point){1, 1, 8, 64, 2048})));
    formula_free(f);
    free(text);
    free(closed);
}

/* Each node once, the body of a sum as often as it is added. */
static void test_steps_are_counted(void **state)
{
    (void)state;
    const struct {
        const char *text;
        long steps;
    } formulas[] = {{"t", 1},
                    {"-t/7", 4},
                    {"sum(i,1,t,i)", 1 + 2 + 10},
                    {"sum(i,1,t,sum(j,1,i,j))", 1 + 2 + 10 * 3 + 55}};
    for (size_t k = 0; k < sizeof formulas / sizeof *formulas; k++) {
        struct formula *f = parse(formulas[k].text);
        assert_int_equal(formula_steps(f, &(struct formula_point){10, 1, 8, 64, 2048}),
                         formulas[k].steps);
        formula_free(f);
    }
}

/* ---- parameters ---- */

/* A walk has the bits of single values, on its way and back, whether its sums can go on or not, and
 * takes few steps if so. */
static void test_walk(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int goes_on;
    } walks[] = {{"-sum(i,1,t,1/i)*1.5", 1},
                 {"-sum(i,0,2*t,sqrt(i)+p)", 1},
                 {"sum(i,1,t,ln(i))-t*sum(i,3,floor(t/5),sin(i*h))", 1},
                 {"-sum(i,1,t,sum(j,1,i,1/(i*j)))", 1},
                 {"-sum(i,1,t,sum(j,1,5,1/(i*j)))", 1},
                 {"-sum(i,1,t,1/(i+t))", 0},
                 {"-sum(i,floor(t/9),t,i)", 0},
                 {"-sum(i,1,7-t,i)", 1},
                 {"t>50?-sum(i,1,t,1/i):-sum(i,1,50,i)", 1},
                 {"-sum(i,-3,t,ln(i))", 1}};
    for (size_t k = 0; k < sizeof walks / sizeof walks[0]; k++) {
        struct formula *f = parse(walks[k].text);
        struct formula_error e;
        assert_int_equal(formula_set_text(f, "p=0.1", &e), strchr(walks[k].text, 'p') ? 0 : -1);
        struct formula_walk *w = formula_walk_new(f);
        assert_non_null(w);
        static const int jumps[] = {5, 0, 130, 99, 100, 101, 7, 7, 300};
        for (int n = 0; n < 400 + (int)(sizeof jumps / sizeof jumps[0]); n++) {
            struct formula_point at = {n < 400 ? n : jumps[n - 400], 3, 8, 64, 2048};
            long left = 1000000, most = formula_steps(f, &at);
            double value = formula_walk_to(w, &at, &left), single = formula_evaluate(f, &at);
            if (memcmp(&value, &single, sizeof value) != 0 && !(isnan(value) && isnan(single)))
                fail_msg("%s at %g: %.17g, single %.17g", walks[k].text, at.t, value, single);
            if (n == 399 && (1000000 - left < most / 10) != walks[k].goes_on && most > 500)
                fail_msg("%s: %ld steps of %ld", walks[k].text, 1000000 - left, most);
        }
        long few = 3; /* what is cut short is not kept */
        struct formula_point far = {5000, 3, 8, 64, 2048}, near = {20, 3, 8, 64, 2048};
        assert_true(isnan(formula_walk_to(w, &far, &few)) && few < 0);
        few = 100000;
        double value = formula_walk_to(w, &near, &few), single = formula_evaluate(f, &near);
        assert_true(value == single || isnan(single));
        formula_walk_free(w);
        formula_free(f);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    struct formula_error e;
    struct formula *f = parse("-p*ln(1+a*t)+p");
    assert_int_equal(f->parameter_count, 2);
    assert_string_equal(f->parameters[0].name, "p");
    assert_string_equal(f->parameters[1].name, "a");
    assert_int_equal(f->uses_head, 0);
    assert_string_equal(formula_missing(f), "p");
    assert_true(isnan(formula_evaluate(f, &(struct formula_point){1, 1, 8, 64, 2048})));
    assert_int_equal(formula_set_text(f, "p=1.05", &e), 0);
    assert_string_equal(formula_missing(f), "a");
    assert_int_equal(formula_set_text(f, " a = 0.1, -2e-1 ,+.3 ", &e), 0);
    assert_null(formula_missing(f));
    assert_int_equal(f->uses_head, 1);
    assert_string_equal(f->parameters[0].decimal[0], "1.05");
    assert_string_equal(f->parameters[1].decimal[1], "-2e-1");
    assert_int_equal(f->parameters[1].count, 3);
    assert_true(f->parameters[1].value[2] == 0.3);
    assert_true(isnan(formula_evaluate(f, &(struct formula_point){1, 4, 8, 64, 2048})));

    static const struct {
        const char *text;
        size_t at;
        const char *says;
    } table[] = {
        {"q=1", 0, "no parameter 'q' (it has p, a)"},
        {"t=1", 0, "no parameter 't'"},
        {"p", 0, "not NAME=VALUE"},
        {"=1", 0, "not NAME=VALUE"},
        {"p=", 2, "is not a decimal"},
        {"p=1,", 4, "is not a decimal"},
        {"p=1,2x", 5, "'2x' is not a decimal"},
        {"p= inf", 3, "'inf' is not a decimal"},
        {"p=nan", 2, "is not a decimal"},
        {"p=0x10", 3, "is not a decimal"},
        {"p=--1", 2, "is not a decimal"},
        {"p=1e", 3, "is not a decimal"},
        {"p=1,1e999", 4, "out of range"},
        {"p=-1e-999", 2, "out of range"},
        {"p=1 2", 3, "is not a decimal"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (formula_set_text(f, table[i].text, &e) != -1 || e.at != table[i].at ||
            !strstr(e.message, table[i].says))
            fail_msg("%s: at %zu: %s; expected at %zu: %s", table[i].text, e.at, e.message,
                     table[i].at, table[i].says);
    assert_string_equal(f->parameters[0].decimal[0], "1.05"); /* unchanged by failures */

    assert_int_equal(formula_set_text(f, "p=0e-999", &e), 0); /* zero is zero */
    const double exact[2] = {0.1, -3};
    assert_int_equal(formula_set_values(f, "a", exact, 2, &e), 0);
    assert_null(f->parameters[1].decimal);
    assert_memory_equal(f->parameters[1].value, exact, sizeof exact);
    assert_int_equal(formula_set_values(f, "a", exact, 1, &e), 0);
    assert_int_equal(f->uses_head, 0);
    assert_int_equal(formula_set_values(f, "a", (const double[]){1, NAN}, 2, &e), -1);
    assert_non_null(strstr(e.message, "value 2 of 2 is not finite"));
    assert_int_equal(formula_set_values(f, "b", exact, 2, &e), -1);
    assert_int_equal(formula_set_values(f, "a", exact, 0, &e), -1);
    assert_int_equal(formula_set(f, "a", NULL, 0, &e), -1);
    formula_free(f);

    f = parse("1+t");
    assert_int_equal(formula_set_text(f, "p=1", &e), -1);
    assert_non_null(strstr(e.message, "(it has none)"));
    formula_free(f);
}

static void test_preset_parameters(void **state)
{
    (void)state;
    struct formula_error e;
    struct formula_point at = {4, 2, 8, 64, 2048};

    struct formula *f = parse("alibi"); /* a default may be set, and holds until then */
    assert_null(formula_missing(f));
    assert_true(formula_evaluate(f, &at) == -1.0);
    assert_int_equal(formula_set_text(f, "delta=-1", &e), 0);
    assert_true(formula_evaluate(f, &at) == -2.0);
    formula_free(f);

    f = parse("alibi(delta=1)"); /* bound: no parameter is left */
    assert_int_equal(f->parameter_count, 0);
    assert_int_equal(formula_set_text(f, "delta=-1", &e), -1);
    formula_free(f);

    f = parse("kerple_log(a=2)");
    assert_string_equal(formula_missing(f), "p");
    assert_int_equal(f->parameter_count, 1);
    formula_free(f);

    f = parse("type1"); /* the default expression depends on the head, a value does not */
    assert_int_equal(f->uses_head, 1);
    assert_int_equal(formula_set_text(f, "k=1", &e), 0);
    assert_int_equal(f->uses_head, 0);
    assert_int_equal(formula_set_text(f, "k=1,2", &e), 0);
    assert_int_equal(f->uses_head, 1);
    formula_free(f);

    f = parse("alibi + delta"); /* one name, one parameter; here one use of it has no default */
    assert_int_equal(f->parameter_count, 1);
    assert_string_equal(formula_missing(f), "delta");
    formula_free(f);

    f = parse("1 + kerple_log(3, t/0)"); /* positions inside a preset are those of its name or of
                                            the argument */
    for (int i = 0; i < f->node_count; i++)
        assert_true(f->nodes[i].at == (i == 0                 ? 0
                                       : i == f->root         ? 2
                                       : f->nodes[i].at >= 15 ? f->nodes[i].at
                                                              : 4));
    formula_free(f);

    /* the body of a preset does not see the user's sum index, and its own does not leak into
     * arguments */
    assert_true(fabs(value_at("sum(first,1,1,sandwich(dbar=4))", 3) -
                     value_at("sandwich(dbar=4,first=0)", 3)) == 0);
    f = parse("sandwich(dbar=4,first=i)");
    assert_string_equal(formula_missing(f), "i");
    formula_free(f);
}

static void test_tree(void **state)
{
    (void)state;
    struct formula *f = parse("0.1000 + sum(i, 1, 3, min(i, 2, t)) + sandwich(dbar=0.1e1)");
    assert_string_equal(f->source, "0.1000 + sum(i, 1, 3, min(i, 2, t)) + sandwich(dbar=0.1e1)");
    int written = 0;
    for (int n = 0; n < f->node_count; n++) {
        for (int i = 0; i < 3; i++)
            assert_true(f->nodes[n].child[i] < n);
        if (f->nodes[n].kind == NODE_LITERAL) {
            assert_true(atof(f->nodes[n].decimal) == f->nodes[n].value);
            written += strcmp(f->nodes[n].decimal, "0.1000") == 0 ||
                       strcmp(f->nodes[n].decimal, "0.1e1") == 0;
        }
    }
    assert_int_equal(written, 2);
    assert_int_equal(f->nodes[f->root].kind, NODE_ADD);
    formula_free(f);
    formula_free(NULL);
}

static void test_special_values(void **state)
{
    (void)state;
    assert_true(value_at("1/0", 0) == INFINITY);
    assert_true(value_at("-inf", 0) == -INFINITY);
    assert_true(value_at("ln(0)", 0) == -INFINITY);
    assert_true(value_at("0 ? ln(-1) : 3", 0) == 3); /* the other branch is not evaluated */
    assert_true(value_at("1 ? 3 : sum(i,1,1e9,i)", 0) == 3);
    assert_false(signbit(value_at("-t", 0)));
    /* zero has no sign */
    assert_true(value_at("1/(-t)", 0) == INFINITY);
    assert_true(value_at("1/(0*-1)", 0) == INFINITY);
    assert_true(value_at("-1/t", 0) == -INFINITY);
    assert_true(value_at("(-t)^-1", 0) == INFINITY);
    assert_true(value_at("(-inf)^-1+1/(1/-inf)", 0) == INFINITY);
    /* infinities compare as IEEE has it */
    assert_true(value_at("ln(0)>-inf", 0) == 0);
    assert_true(value_at("ln(0)<=-inf", 0) == 1);
    assert_true(value_at("(inf==inf)+(inf!=inf)+(inf>-inf)", 0) == 2);
    assert_true(value_at("inf^0+(-inf)^2+0^0", 0) == INFINITY);
    static const char *const not_numbers[] = {"ln(-1)",        "inf-inf",           "0*inf",
                                              "sqrt(-1)",      "ln(-1)<0",          "0==ln(-1)",
                                              "ln(-1)!=0",     "ln(-1)?1:2",        "min(1,ln(-1))",
                                              "max(ln(-1),1)", "sum(i,ln(-1),2,1)", "(-1)^0.5",
                                              "0/0",           "inf/inf",           "(0/0)^0",
                                              "1^(0/0)",       "(-inf)^0.5",        "(-1)^inf",
                                              "(-2)^-inf",     "sqrt(-inf)",        "sin(inf)"};
    for (size_t i = 0; i < sizeof not_numbers / sizeof not_numbers[0]; i++)
        if (!isnan(value_at(not_numbers[i], 0)))
            fail_msg("%s is a number", not_numbers[i]);
}

/* ---- tables ---- */

static void test_table_equals_evaluate(void **state)
{
    (void)state;
    static const char *const texts[] = {"sandwich",
                                        "-h*sqrt(t)-t",
                                        "sum(i,1,h,sqrt(t)*i)+sum(i,1,3,cos(i*t))",
                                        "type2",
                                        "alibi_press+window(w=7)",
                                        "p*t^2",
                                        "none",
                                        "sum(i,1,3,sum(j,1,i,j*t))/h",
                                        "t<5?-h*t:-inf",
                                        "smoothed_sandwich",
                                        "L/(1+t)+d*H"};
    enum { HEADS = 6, N = 40 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct formula *f = parse(texts[i]);
        struct formula_error e;
        double table[HEADS * N];
        if (f->parameter_count && strcmp(f->parameters[0].name, "p") == 0)
            assert_int_equal(formula_set_text(f, "p=1,2,3,4,5,6", &e), 0);
        if (formula_table(table, f, HEADS, 64, N, 100, &e))
            fail_msg("%s: %s", texts[i], e.message);
        for (int h = 1; h <= HEADS; h++)
            for (int t = 0; t < N; t++) {
                double one = formula_evaluate(f, &(struct formula_point){t, h, HEADS, 64, 100});
                if (memcmp(&one, &table[(h - 1) * N + t], sizeof one))
                    fail_msg("%s, head %d, t = %d: %.17g in the table, %.17g alone", texts[i], h, t,
                             table[(h - 1) * N + t], one);
            }
        formula_free(f);
    }
}

static void test_table_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set, *says;
    } table[] = {
        {"ln(3-t)+h", "", "head 1, distance 4 is not a number"},
        {"h==2?1/t:0", "", "head 2, distance 0 is +inf"},
        {"p*t", "", "parameter 'p' has no value"},
        {"p*t", "p=1,2", "'p' has 2 values, but there are 3 heads"},
        {"alibi", "delta=1,2,3,4", "'delta' has 4 values, but there are 3 heads"},
        {"t<2?0:sum(i,1,1e7,i)", "", "too many steps at head 1, distance 2"},
        {"h<3?0:sum(i,1,1e7,i)", "", "too many steps at head 3, distance 0"},
        {"sum(i,1,200000,t)*h", "", ""},
        {"sum(i,1,200000,t)+sum(i,1,200000,t+0)+sum(i,1,h,sum(j,1,110000,1))", "",
         "too many steps at head 2, distance 0"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct formula *f = parse(table[i].text);
        struct formula_error e = {0};
        double b[3 * 5];
        if (table[i].set[0])
            assert_int_equal(formula_set_text(f, table[i].set, &e), 0);
        int failed = formula_table(b, f, 3, 64, table[i].says[0] ? 5 : 1, 5, &e);
        if (failed != (table[i].says[0] ? -1 : 0) || !strstr(e.message, table[i].says))
            fail_msg("%s: %d, %s; expected: %s", table[i].text, failed, e.message, table[i].says);
        formula_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_steps_are_bounded),
        cmocka_unit_test(test_steps_are_counted),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_preset_parameters),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_table_equals_evaluate),
        cmocka_unit_test(test_table_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
