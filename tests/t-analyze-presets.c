#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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

/* b(t), t < n, of one head. Caller frees. */
static double *table(const char *text, int head, int heads, size_t n)
{
    struct formula *f = parse(text);
    double *b = calloc(n, sizeof *b);
    assert_non_null(b);
    for (size_t t = 0; t < n; t++)
        b[t] = formula_evaluate(f, &(struct formula_point){(double)t, head, heads, 64, (double)n});
    formula_free(f);
    return b;
}

/* Every entry parses by its bare name, its parameters are the formula's, in the same order, and
 * those without a default are missing. */
static void test_list(void **state)
{
    (void)state;
    assert_true(formula_preset_count >= 14);
    for (int i = 0; i < formula_preset_count; i++) {
        const struct formula_preset *p = &formula_presets[i];
        assert_ptr_equal(formula_preset_find(p->name), p);
        assert_true(strlen(p->summary) > 0);
        struct formula *f = parse(p->name);
        char *copy = strdup(p->parameters), *rest = copy;
        int count = 0, required = 0;
        assert_non_null(copy);
        while (*rest) { /* name, or name=default; commas inside parentheses belong to the default */
            char *name = rest;
            size_t length = strcspn(name, "=,");
            int open = 0, has_default = name[length] == '=';
            for (rest += length; *rest && (open || *rest != ','); rest++)
                open += (*rest == '(') - (*rest == ')');
            rest += *rest == ',';
            name[length] = '\0';
            assert_true(count < f->parameter_count);
            assert_string_equal(f->parameters[count].name, name);
            if (!has_default && required++ == 0)
                assert_string_equal(formula_missing(f), name);
            count++;
        }
        assert_int_equal(count, f->parameter_count);
        if (required == 0)
            assert_null(formula_missing(f));
        free(copy);
        formula_free(f);
    }
    assert_null(formula_preset_find("alib"));
    assert_null(formula_preset_find("alibi2"));
    static const char *const named[] = {
        "alibi",       "alibi_equal",       "window",    "kerple_log", "kerple_power",
        "sandwich",    "smoothed_sandwich", "t5",        "type1",      "type2",
        "divergent_a", "divergent_b",       "retention", "lightning",  "none"};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        assert_non_null(formula_preset_find(named[i]));
}

/* The bucket of T5 in integers: 16 + the largest k with 16^16 8^k <= t^16. */
static int t5_bucket(unsigned t)
{
    if (t < 16)
        return (int)t;
    if (t >= 128)
        return 31;
    unsigned __int128 power = 1, border = (unsigned __int128)1 << 64;
    int k = 0;
    for (int i = 0; i < 16; i++)
        power *= t; /* below 2^112 */
    for (; border * 8 <= power; border *= 8)
        k++;
    return 16 + k;
}

static void test_t5_borders(void **state)
{
    (void)state;
    struct formula *f = parse("t5"), *rounded = parse("t<16?t:min(31,16+floor(16*ln(t/16)/ln(8)))");
    for (int i = 0; i < 32; i++) {
        char set[32];
        snprintf(set, sizeof set, "w%d=%d", i, i);
        assert_int_equal(formula_set_text(f, set, NULL), 0);
    }
    assert_null(formula_missing(f));
    for (unsigned t = 0; t <= 1000000; t += t < 2000 ? 1 : 499) {
        const struct formula_point at = {t, 1, 8, 64, 2048};
        double got = formula_evaluate(f, &at), printed = formula_evaluate(rounded, &at);
        if (!(got == t5_bucket(t) && printed == got))
            fail_msg("t = %u: bucket %g, by the printed formula %g, in integers %d", t, got,
                     printed, t5_bucket(t));
    }
    formula_free(f);
    formula_free(rounded);
}

/* Slopes of released code: for H = c a power of two 2^(-8h/c); otherwise those of the lower c, then
 * every second one of those of 2c. */
static void test_press_slopes(void **state)
{
    (void)state;
    for (int heads = 1; heads <= 130; heads++) {
        int c = 1;
        while (2 * c <= heads)
            c *= 2;
        for (int h = 1; h <= heads; h++) {
            double *b = table("alibi_press", h, heads, 2),
                   expected = h <= c ? exp2(-8.0 * h / c)
                                     : exp2(-8.0 * (2 * (h - c) - 1) / (2 * c));
            if (!(fabs(b[1] + expected) <= 1e-15 * expected))
                fail_msg("head %d of %d: slope %.17g, expected %.17g", h, heads, -b[1], expected);
            free(b);
            if (c == heads) {
                double *paper = table("alibi", h, heads, 2);
                assert_true(paper[1] == -expected);
                free(paper);
            }
        }
    }
}

/* min{ j : sum_{t<j} exp(b) > (1 - epsilon) B }; B = 0: the sum over the table. */
static size_t receptive_field(const char *text, int head, int heads, size_t n, double whole,
                              double epsilon)
{
    double *b = table(text, head, heads, n), part = 0;
    size_t j = 0;
    if (whole == 0)
        for (size_t t = n; t-- > 0;)
            whole += exp(b[t]);
    while (j < n && !(part > (1 - epsilon) * whole))
        part += exp(b[j++]);
    free(b);
    return j;
}

/* Theoretical receptive fields known from elsewhere: closed forms and [A]'s code. Sums in double
 * suffice for these. */
static void test_known_fields(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846;
    static const char *const sandwich = "sandwich";
    const struct {
        const char *text;
        int head, heads;
        size_t n;
        double whole;
        size_t field;
    } known[] = {
        {"-0.5*t", 1, 1, 2000, 0, 10},
        {"alibi_equal(1)", 1, 1, 2000, 0, 10},
        {"alibi", 8, 8, 20000, 0, 1179},
        {"alibi_equal(8)", 1, 1, 20000, 0, 1179},
        {"kerple_log(2,1)", 1, 1, 2000, pi * pi / 6, 61},
        {"type1(k=1)", 1, 1, 2000, (1 + pi / tanh(pi)) / 2, 49},
        {"type2(k=1)", 1, 1, 100000, 0, 10},
        {"window(40)", 1, 1, 100, 0, 40},
        {sandwich, 8, 8, 512, 0, 492},
        {sandwich, 8, 8, 2048, 0, 1923},
        {sandwich, 8, 8, 8192, 0, 7760},
        {"none", 1, 1, 1000, 0, 991},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t field = receptive_field(known[i].text, known[i].head, known[i].heads, known[i].n,
                                       known[i].whole, 0.01);
        if (field != known[i].field)
            fail_msg("%s, %zu keys: %zu, expected %zu", known[i].text, known[i].n, field,
                     known[i].field);
    }
}

/* Least squares of Sandwich's last row on ln(1 + t): 8192 tokens, h' = 8, dbar = 128 gives -0.832,
 * -0.794 ([A] figure 9 prints -0.825, -0.8). */
static void test_sandwich_log_curve(void **state)
{
    (void)state;
    enum { N = 8192 };
    double *b = table("sandwich", 8, 8, N), *smooth = table("smoothed_sandwich", 8, 8, N), sx = 0,
           sy = 0, sxx = 0, sxy = 0;
    for (int t = 0; t < N; t++) {
        double x = log1p(t);
        sx += x, sy += b[t], sxx += x * x, sxy += x * b[t];
    }
    double slope = (N * sxy - sx * sy) / (N * sxx - sx * sx), intercept = (sy - slope * sx) / N;
    if (!(fabs(slope + 0.832) <= 5e-4 && fabs(intercept + 0.794) <= 5e-4))
        fail_msg("slope %.5f, intercept %.5f", slope, intercept);
    assert_true(fabs(smooth[100] - (-0.825 * log(101) - 0.8)) <= 1e-14);
    free(b);
    free(smooth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_t5_borders),
        cmocka_unit_test(test_press_slopes),
        cmocka_unit_test(test_known_fields),
        cmocka_unit_test(test_sandwich_log_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
