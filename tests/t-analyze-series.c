/* The TRF against mpmath (tests/goldens/series) and its properties that need no stored answer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct formula *formula_of(const char *text, const char *sets)
{
    struct formula_error e;
    struct formula *f = formula_parse(text, &e);
    if (!f)
        fail_msg("'%s' at %zu: %s", text, e.at, e.message);
    char *copy = strdup(sets), *rest = copy, *word;
    assert_non_null(copy);
    while (strcmp(sets, "-") != 0 && (word = strsep(&rest, " ")))
        if (*word && formula_set_text(f, word, &e))
            fail_msg("'%s', %s: %s", text, word, e.message);
    free(copy);
    return f;
}

/* A series with the formula it stands on. */
struct opened {
    struct formula *formula;
    struct series *series;
};

static struct opened open_series(const char *text, const char *sets, int head, int heads)
{
    struct formula_error e;
    struct opened o = {.formula = formula_of(text, sets)};
    o.series = series_open(o.formula, &(struct formula_point){0, head, heads, 64, 0}, &e);
    if (!o.series)
        fail_msg("'%s' %s, head %d of %d: %s", text, sets, head, heads, e.message);
    return o;
}

static void close_series(struct opened *o)
{
    series_free(o->series);
    formula_free(o->formula);
}

/* The TRF as text: "61", "4..5", "none"; length 0: the series. Ring of buffers. */
static const char *trf(const struct series *s, const char *epsilon, uint64_t length, int layers)
{
    static char ring[8][512];
    static int at;
    struct formula_error e;
    struct series_count c;
    char *text = ring[at++ % 8];
    int failed = layers > 1 ? series_trf_depth(s, epsilon, layers, length, &c, &e)
                 : length   ? series_trf_finite(s, epsilon, length, &c, NULL, NULL, &e)
                            : series_trf(s, epsilon, &c, &e);
    if (failed)
        snprintf(text, 512, "error: %s", e.message);
    else if (isnan(c.log10_lo))
        snprintf(text, 512, "none");
    else if (series_count_exact(&c))
        snprintf(text, 512, "%.400s", c.lo);
    else
        snprintf(text, 512, "%.200s..%.200s", c.lo ? c.lo : "", c.hi ? c.hi : "");
    if (!failed)
        series_count_free(&c);
    return text;
}

/* ---- goldens ---- */

/* sum is 30 digits; lo and hi are doubles on both sides of it. */
static void check_sum(const char *what, double lo, double hi, const char *sum)
{
    double nearest = strtod(sum, NULL), slack = 1e-15 * nearest;
    if (!(lo <= nearest + slack && hi >= nearest - slack && hi - lo <= 1e-9 * nearest))
        fail_msg("%s: the sum is in [%.17g, %.17g] (expected %s)", what, lo, hi, sum);
}

static void check_table(const char *path, int least)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, key[2048] = "";
    size_t capacity = 0;
    int rows = 0;
    struct opened o = {0};
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        char what[2048], *field[10], *rest = line;
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(what, sizeof what, "%s", line);
        for (int i = 0; i < 10; i++) {
            field[i] = strsep(&rest, "\t");
            assert_non_null(field[i]);
        }
        char this_key[2048];
        snprintf(this_key, sizeof this_key, "%s|%s|%s|%s", field[0], field[1], field[2], field[3]);
        if (strcmp(key, this_key) != 0) {
            if (o.series)
                close_series(&o);
            o = open_series(field[0], field[1], atoi(field[2]), atoi(field[3]));
            strcpy(key, this_key);
        }
        if (strcmp(field[7], "-") != 0 &&
            strcmp(series_verdict_name(series_verdict(o.series)), field[7]) != 0)
            fail_msg("%s: the verdict is %s (%s)", what,
                     series_verdict_name(series_verdict(o.series)), series_proof(o.series));
        uint64_t length = strcmp(field[4], "inf") == 0 ? 0 : strtoull(field[4], NULL, 10);
        const char *found = trf(o.series, field[6], length, atoi(field[5]));
        if (strcmp(found, field[8]) != 0)
            fail_msg("%s: the TRF is %s", what, found);
        if (strcmp(field[9], "-") != 0) {
            double lo, hi;
            struct series_count c;
            struct formula_error e;
            series_sum(o.series, &lo, &hi);
            if (length) {
                assert_int_equal(series_trf_finite(o.series, field[6], length, &c, &lo, &hi, &e),
                                 0);
                series_count_free(&c);
            }
            check_sum(what, lo, hi, field[9]);
        }
        rows++;
    }
    if (o.series)
        close_series(&o);
    free(line);
    fclose(file);
    assert_true(rows >= least);
}

static void test_goldens(void **state)
{
    (void)state;
    check_table("tests/goldens/series/cases.tsv", 600);
    check_table("tests/goldens/series/known.tsv", 48);
}

/* ---- far beyond machine words ---- */

static void test_huge(void **state)
{
    (void)state;
    struct series_count c;
    struct formula_error e;
    /* p in --set is the decimal: the nearest double has another integer */
    struct opened decimal = open_series("kerple_log", "p=1.05 a=1", 1, 8),
                  binary = open_series("kerple_log", "a=1 p=2", 1, 8);
    assert_int_equal(formula_set_values(binary.formula, "p", (double[]){1.05}, 1, &e), 0);
    series_free(binary.series);
    binary.series = series_open(binary.formula, &(struct formula_point){0, 1, 8, 64, 0}, &e);
    assert_non_null(binary.series);
    const char *a = trf(decimal.series, "0.01", 0, 1), *b = trf(binary.series, "0.01", 0, 1);
    assert_true(strlen(a) == 40 && strlen(b) == 40);
    assert_string_not_equal(a, b);
    assert_memory_equal(a, b, 12);
    close_series(&decimal);
    close_series(&binary);
    static const struct {
        const char *formula, *sets;
        double least, most; /* of the logarithm to the base 10 */
        double within; /* what is between its bounds, 0: anything */
        int digits; /* of the integer; 0: it is too long, and the logarithms hold */
    } far[] = {
        /* TRF(eps) of (1+t)^-p is near eps^(-1/(p-1)), here 100^500 times a factor near 1 */
        {"kerple_log", "p=1.002 a=1", 999.7484, 999.7504, 0, 1000},
        /* B = 1 / (p - 1) + 0.5772..., so log10 TRF = 2e6 - log10(1 + 0.5772e-6) 1e6 */
        {"kerple_log", "p=1.000001 a=1", 1999999.749318, 1999999.749319, 0, 0},
        /* 1 / (t ln t (ln ln t)^2): log10 itself is beyond 10^46 */
        {"-ln(20+t)-ln(ln(20+t))-2*ln(ln(ln(20+t)))", "-", 8.3e46, 8.4e46, 0, 0},
        /* exp(-2 t^p): eps = Q(1/p, 2 t^p), the 0.99 quantile of a gamma distribution of shape
           10^5, which is 100737.1 */
        {"kerple_power", "p=0.00001 a=2", 470215.9, 470216.0, 0, 0},
        /* log10 TRF = 2 / (p - 1), but for some 10^-30 of it */
        {"kerple_log", "p=1.000000000000000000000000000001 a=1", 1.999999e30, 2.000001e30, 2e30, 0},
    };
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        struct opened o = open_series(far[i].formula, far[i].sets, 1, 8);
        assert_int_equal(series_trf(o.series, "0.01", &c, &e), 0);
        if (!(c.log10_lo >= far[i].least && c.log10_lo <= c.log10_hi &&
              c.log10_hi <= far[i].most) ||
            (far[i].within &&
             !(c.log10_lo <= far[i].within && c.log10_hi >= far[i].within * (1 - 1e-16))) ||
            (far[i].digits ? !series_count_exact(&c) || (int)strlen(c.lo) != far[i].digits
                           : c.lo || c.hi))
            fail_msg("%s %s: 10^%.17g to 10^%.17g", far[i].formula, far[i].sets, c.log10_lo,
                     c.log10_hi);
        series_count_free(&c);
        close_series(&o);
    }
}

/* ---- properties ---- */

static const char *const varied[] = {
    "alibi",
    "alibi_press",
    "type1",
    "type2",
    "kerple_log(1.5,0.3)",
    "kerple_power(0.7,0.2)",
    "window(100)",
    "smoothed_sandwich",
    "-t^0.3",
    "-1.2*ln(1+t)-0.01*t",
    "t<30?-0.1*t:-2*ln(1+t)",
    "-2*ln(1+t)+sin(t)",
    "-floor(t/7)",
    "max(-t,-3*ln(1+t))",
    "-ln(2+t)-2*ln(ln(2+t))",
    "sandwich",
    "none",
    "t5(1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0)",
    "divergent_a",
    "0.01*t",
    "-ln(1+t)*(1+0.2*sin(t))",
    "(t-20)*(t-20)/-50",
    "t<10?-inf:-0.3*t",
    "-abs(t-33)/3",
    "-sqrt(t)*(1.5+cos(t))",
};

/* The first j in double, or 0 where double cannot tell. */
static uint64_t brute_force(const struct formula *f, int head, uint64_t length, double epsilon)
{
    struct formula_point at = {0, head, 8, 64, 0};
    long double sum = 0, total = 0, largest = -INFINITY;
    for (uint64_t t = 0; t < length; t++) {
        at.t = (double)t;
        largest = fmaxl(largest, formula_evaluate(f, &at));
    }
    for (uint64_t t = 0; t < length; t++) {
        at.t = (double)t;
        total += expl((long double)formula_evaluate(f, &at) - largest);
    }
    for (uint64_t j = 1; j <= length; j++) {
        at.t = (double)(j - 1);
        sum += expl((long double)formula_evaluate(f, &at) - largest);
        long double difference = sum / total - (1 - (long double)epsilon);
        if (fabsl(difference) < 1e-10L)
            return 0;
        if (difference > 0)
            return j;
    }
    return 0;
}

static void test_brute_force(void **state)
{
    (void)state;
    int compared = 0;
    for (size_t i = 0; i < sizeof varied / sizeof varied[0]; i++)
        for (int head = 1; head <= 8; head += 7) {
            struct opened o = open_series(varied[i], "-", head, 8);
            static const uint64_t lengths[] = {1, 2, 7, 100, 777};
            static const char *const epsilons[] = {"0.5", "0.03", "0.001"};
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                for (size_t k = 0; k < sizeof epsilons / sizeof epsilons[0]; k++) {
                    uint64_t expected = brute_force(o.formula, head, lengths[l], atof(epsilons[k]));
                    char text[32];
                    snprintf(text, sizeof text, "%llu", (unsigned long long)expected);
                    const char *found = expected ? trf(o.series, epsilons[k], lengths[l], 1) : text;
                    if (strcmp(found, text) != 0)
                        fail_msg("%s head %d length %llu eps %s: %s (double says %s)", varied[i],
                                 head, (unsigned long long)lengths[l], epsilons[k], found, text);
                    compared += expected != 0;
                }
            close_series(&o);
        }
    assert_true(compared > 500);
}

/* What is kept from one question to the next changes no answer: it is that of a fresh series. */
static void test_kept(void **state)
{
    (void)state;
    static const struct {
        const char *epsilon;
        uint64_t length;
        int layers;
    } asked[] = {{"0.3", 0, 1},   {"1e-30", 0, 1},  {"0.01", 0, 3},  {"0.3", 300, 1},
                 {"0.05", 77, 2}, {"1e-12", 77, 1}, {"0.5", 77, 1},  {"0.2", 0, 3},
                 {"0.011", 0, 3}, {"0.9", 0, 3},    {"0.01", 0, 2},  {"0.01", 0, 3},
                 {"0.01", 77, 2}, {"0.9", 77, 2},   {"0.05", 300, 2}};
    for (size_t i = 0; i < sizeof varied / sizeof varied[0]; i++) {
        struct opened o = open_series(varied[i], "-", 3, 8);
        for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) {
            struct opened fresh = open_series(varied[i], "-", 3, 8);
            const char *a = trf(o.series, asked[k].epsilon, asked[k].length, asked[k].layers);
            const char *b = trf(fresh.series, asked[k].epsilon, asked[k].length, asked[k].layers);
            if (strcmp(a, b) != 0 && !strstr(b, "..")) /* what is kept may have been known better */
                fail_msg("%s eps %s length %d, %d layers: %s, and %s if it is asked first",
                         varied[i], asked[k].epsilon, (int)asked[k].length, asked[k].layers, a, b);
            close_series(&fresh);
        }
        close_series(&o);
    }
}

/* TRF grows as epsilon falls and as the length grows, never beyond the length; a constant on the
 * bias changes nothing. */
static void test_monotone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof varied / sizeof varied[0]; i++) {
        char shifted[256];
        snprintf(shifted, sizeof shifted, "3.7+(%s)", varied[i]);
        struct opened o = open_series(varied[i], "-", 3, 8), p = open_series(shifted, "-", 3, 8);
        static const char *const epsilons[] = {"0.9", "0.3", "0.1", "0.01", "0.001"};
        double before = 0;
        assert_int_equal(series_verdict(o.series), series_verdict(p.series));
        for (size_t k = 0; k < sizeof epsilons / sizeof epsilons[0]; k++) {
            struct series_count c;
            struct formula_error e;
            assert_int_equal(series_trf_finite(o.series, epsilons[k], 500, &c, NULL, NULL, &e), 0);
            if (!(c.log10_hi >= before) || !(strtod(c.hi, NULL) <= 500))
                fail_msg("%s eps %s: %s..%s after 10^%g", varied[i], epsilons[k], c.lo, c.hi,
                         before);
            before = c.log10_lo;
            series_count_free(&c);
            const char *a = trf(o.series, epsilons[k], 500, 1),
                       *b = trf(p.series, epsilons[k], 500, 1);
            if (strcmp(a, b) != 0)
                fail_msg("%s eps %s length 500: %s, and %s with a constant added", varied[i],
                         epsilons[k], a, b);
            a = trf(o.series, epsilons[k], 0, 1);
            b = trf(p.series, epsilons[k], 0, 1);
            if (strcmp(a, b) != 0 && !strstr(a, "..")) /* the ends of a bracket may differ */
                fail_msg("%s eps %s: %s, and %s with a constant added", varied[i], epsilons[k], a,
                         b);
        }
        close_series(&o);
        close_series(&p);
    }
}

/* B between sums of f rounded down, and rounded up with a bound of the rest: (1+t)^-p beyond N is
 * below N^(1-p) / (p-1). */
static void test_sums(void **state)
{
    (void)state;
    static const struct {
        const char *sets;
        double p;
    } cases[] = {{"p=1.5 a=1", 1.5}, {"p=2 a=1", 2}, {"p=3.25 a=1", 3.25}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct opened o = open_series("kerple_log", cases[i].sets, 1, 8);
        enum { N = 2000 };
        double down = 0, up = 0, lo, hi;
        for (int t = N - 1; t >= 0; t--) {
            double f = pow(1.0 + t, -cases[i].p);
            down = nextafter(down + f * (1 - 1e-14), 0);
            up = nextafter(up + f * (1 + 1e-14), INFINITY);
        }
        up += pow(N, 1 - cases[i].p) / (cases[i].p - 1) * (1 + 1e-12);
        series_sum(o.series, &lo, &hi);
        if (!(lo <= hi && down <= hi && lo <= up && (hi - lo) <= 1e-14 * hi))
            fail_msg("%s: [%.17g, %.17g], sums [%.17g, %.17g]", cases[i].sets, lo, hi, down, up);
        close_series(&o);
    }
    struct opened o = open_series("none", "-", 1, 8),
                  p = open_series("-ln(1+t)*(2+cos(t))-ln(ln(3+t))", "-", 1, 8);
    double lo, hi;
    series_sum(o.series, &lo, &hi);
    assert_true(isinf(lo) && isinf(hi));
    series_sum(p.series, &lo, &hi);
    assert_true(lo > 1 && isfinite(lo) && isinf(hi));
    close_series(&o);
    close_series(&p);
    /* 10^5 terms in long double */
    o = open_series("-(1+cos(t)*cos(2*t))*ln(1+t)", "-", 1, 8);
    struct series_count c;
    struct formula_error e;
    assert_int_equal(series_trf_finite(o.series, "0.01", 100000, &c, &lo, &hi, &e), 0);
    assert_true(lo <= 5661.5147161103850237 && hi >= 5661.5147161103850237 && hi - lo < 1e-9);
    series_count_free(&c);
    close_series(&o);
}

/* ---- the mean of heads ---- */

static void test_mean(void **state)
{
    (void)state;
    struct formula_error e;
    struct opened o[8];
    struct series *heads[8];
    for (int h = 0; h < 8; h++) {
        o[h] = open_series("alibi", "-", h + 1, 8);
        heads[h] = o[h].series;
    }
    struct series *mean = series_open_mean(heads, 8, &e);
    assert_non_null(mean);
    assert_int_equal(series_verdict(mean), SERIES_CONVERGES);
    /* (1/8) sum of 1 - exp(-m j) > 0.99, in double */
    int j = 0;
    double share;
    do {
        share = 0;
        j++;
        for (int h = 1; h <= 8; h++)
            share -= expm1(-j * exp2(-h)) / 8;
    } while (!(share > 0.99));
    char text[32];
    snprintf(text, sizeof text, "%d", j);
    assert_string_equal(trf(mean, "0.01", 0, 1), text);
    /* the heads live on in the mean */
    for (int h = 0; h < 8; h++)
        series_free(o[h].series);
    assert_string_equal(trf(mean, "0.01", 0, 1), text);
    assert_string_equal(trf(mean, "0.01", 1, 1), "1");
    series_free(mean);
    for (int h = 0; h < 8; h++)
        formula_free(o[h].formula);
    /* one head: the head itself; windows: exact ties; a head that diverges decides */
    struct opened window = open_series("window(40)", "-", 1, 8),
                  wide = open_series("window(80)", "-", 1, 8),
                  none = open_series("none", "-", 2, 8);
    mean = series_open_mean((struct series *[]){window.series}, 1, &e);
    assert_string_equal(trf(mean, "0.1", 0, 1), "37");
    series_free(mean);
    mean = series_open_mean((struct series *[]){window.series, wide.series}, 2, &e);
    assert_string_equal(trf(mean, "0.125", 0, 1), "61"); /* 1/2 + 1/2 * 60/80 = 0.875 */
    series_free(mean);
    mean = series_open_mean((struct series *[]){window.series, none.series}, 2, &e);
    assert_int_equal(series_verdict(mean), SERIES_DIVERGES);
    assert_non_null(strstr(series_proof(mean), "head 2"));
    assert_string_equal(trf(mean, "0.1", 0, 1), "none");
    assert_string_equal(trf(mean, "0.125", 80, 1), "61"); /* each head normalised over the 80 */
    series_free(mean);
    close_series(&window);
    close_series(&wide);
    close_series(&none);
}

/* ---- depth ---- */

static void test_depth(void **state)
{
    (void)state;
    static const char *const formulas[] = {"-0.5*t",
                                           "type1(0.25)",
                                           "window(10)",
                                           "kerple_log(1.5,1)",
                                           "kerple_log(1.05,1)",
                                           "-ln(2+t)-2*ln(ln(2+t))"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        struct opened o = open_series(formulas[i], "-", 1, 8);
        struct formula_error e;
        struct series_count one, c, more;
        assert_int_equal(series_trf(o.series, "0.02", &one, &e), 0);
        assert_int_equal(series_trf_depth(o.series, "0.02", 1, 0, &c, &e), 0);
        assert_true(c.log10_lo == one.log10_lo && c.log10_hi == one.log10_hi);
        series_count_free(&c);
        double before = one.log10_hi;
        for (int layers = 2; layers <= 32;
             layers *=
             4) { /* grows with the layers, certain: lo <= hi, and no tie with the layer before */
            assert_int_equal(series_trf_depth(o.series, "0.02", layers, 0, &more, &e), 0);
            if (!(more.log10_lo <= more.log10_hi && more.log10_hi >= before &&
                  isfinite(more.log10_hi)))
                fail_msg("%s, %d layers: 10^[%g, %g] after 10^%g", formulas[i], layers,
                         more.log10_lo, more.log10_hi, before);
            if (i < 5 &&
                !(more.log10_hi - more.log10_lo <=
                  1)) /* a certain bracket, and a useful one (not where ln TRF is near 1/eps) */
                fail_msg("%s, %d layers: 10^[%g, %g]", formulas[i], layers, more.log10_lo,
                         more.log10_hi);
            before = more.log10_lo;
            series_count_free(&more);
        }
        series_count_free(&one);
        close_series(&o);
    }
    struct opened o = open_series("window(40)", "-", 1, 8);
    struct series_count c;
    struct formula_error e;
    assert_int_equal(series_trf_depth(o.series, "0.01", 0, 0, &c, &e), -1);
    assert_string_equal(trf(o.series, "1e-30", 0, 12),
                        "469"); /* the exact cone is 12 * 39 + 1, eps below the last share 40^-12 */
    close_series(&o);
    o = open_series("none", "-", 1, 8);
    assert_string_equal(trf(o.series, "0.01", 0, 12), "none");
    close_series(&o);
}

/* ---- forms of [B], comparisons ---- */

static void test_closed_form(void **state)
{
    (void)state;
    char text[128];
    double value;
    struct opened o = open_series("alibi", "-", 8, 8);
    assert_int_equal(series_closed_form(o.series, 0.01, &value, text), 1);
    assert_true(fabs(value - 256 * log(100)) < 1e-9);
    close_series(&o);
    o = open_series("type1", "-", 8, 12);
    assert_int_equal(series_closed_form(o.series, 0.01, &value, text), 1);
    assert_true(fabs(value * exp2(-64.0 / 12) / tan(0.99 * M_PI / 2) - 1) < 1e-9);
    close_series(&o);
    static const char *const none[] = {"type2",      "kerple_log(2,1)", "window(40)", "none",
                                       "-ln(2+t^2)", "-2*ln(1+t^2)",    "-ln(1+t^4)"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        o = open_series(none[i], "-", 1, 8);
        if (series_closed_form(o.series, 0.01, &value, text))
            fail_msg("%s has the form %s", none[i], text);
        close_series(&o);
    }
}

static void test_compare(void **state)
{
    (void)state;
    static const struct {
        const char *f, *g;
        int head_f, head_g, order;
    } cases[] = {
        {"alibi", "alibi", 1, 8, -1},
        {"alibi", "alibi", 8, 1, 1},
        {"alibi", "alibi", 5, 5, -1},
        {"alibi", "alibi+3", 5, 5, -1},
        {"type1", "type1", 2, 6, 0}, /* one shape at two scales */
        {"kerple_log(2,1)", "kerple_log(1.5,1)", 1, 1, -1},
        {"kerple_power(0.5,1)", "kerple_power(0.5,2)", 1, 1, 1},
        {"window(40)", "window(50)", 1, 1, -1},
        {"window(50)", "window(40)", 1, 1, 1},
        {"alibi+window(40)", "alibi", 3, 3, -1},
        {"none", "alibi", 1, 1, 1},
        {"kerple_log(2,1)", "none", 1, 1, -1},
        /* f <= g at every t, and yet no order: (1, .5, .5, .5) against (100, .5, .5, .5) */
        {"t<1?0:t<4?ln(0.5):-inf", "t<1?ln(100):t<4?ln(0.5):-inf", 1, 1, 1},
        {"kerple_log(1.5,1)", "kerple_log(2,0.5)", 1, 1, 0},
        {"type2", "type1", 8, 8, 0},
        {"-t+sin(t)", "-t", 1, 1, 0},
        {"t<10?0:t<20?-inf:0", "t<10?0:0", 1, 1, 0},
        {"t<10?-inf:-t", "-t", 1, 1, 1},
        {"t<5?0:t<9?-1:0", "none", 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct opened f = open_series(cases[i].f, "-", cases[i].head_f, 8),
                      g = open_series(cases[i].g, "-", cases[i].head_g, 8);
        struct formula_error e;
        char why[256];
        int order;
        assert_int_equal(series_compare(f.series, g.series, &order, why, &e), 0);
        if (order != cases[i].order)
            fail_msg("%s head %d, %s head %d: %d (expected %d): %s", cases[i].f, cases[i].head_f,
                     cases[i].g, cases[i].head_g, order, cases[i].order, why);
        static const char *const epsilons[] = {"0.3", "0.01"};
        for (int k = 0; k < 2 && order; k++) { /* what it promises, at a finite length */
            long a = atol(trf(f.series, epsilons[k], 300, 1)),
                 b = atol(trf(g.series, epsilons[k], 300, 1));
            if (order < 0 ? a > b : b > a)
                fail_msg("%s, %s: order %d but TRF %ld and %ld", cases[i].f, cases[i].g, order, a,
                         b);
        }
        close_series(&f);
        close_series(&g);
    }
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    static const char *const epsilons[] = {"0",  "1",   "-0.1",   "1.5",     "",     "x",  "0.1x",
                                           "1e", "nan", "0x1p-3", "1e-1001", " 0.1", "0.0"};
    struct opened o = open_series("alibi", "-", 1, 8);
    struct series_count c;
    struct formula_error e;
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0]; i++)
        if (series_trf(o.series, epsilons[i], &c, &e) != -1 || !strstr(e.message, "epsilon"))
            fail_msg("epsilon '%s' is accepted", epsilons[i]);
    assert_int_equal(series_trf_finite(o.series, "0.1", 0, &c, NULL, NULL, &e), -1);
    close_series(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),     cmocka_unit_test(test_huge),
        cmocka_unit_test(test_brute_force), cmocka_unit_test(test_kept),
        cmocka_unit_test(test_monotone),    cmocka_unit_test(test_sums),
        cmocka_unit_test(test_mean),        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_closed_form), cmocka_unit_test(test_compare),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
