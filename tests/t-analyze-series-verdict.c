/* Verdicts: what must be decided, and what must not. */
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
#include <mpfr.h>

/* A series with the formula it stands on. */
struct opened {
    struct formula *f;
    struct series *s;
};

static struct opened open_series(const char *text, int head, int heads)
{
    struct formula_error e;
    struct opened o = {.f = formula_parse(text, &e)};
    if (!o.f)
        fail_msg("'%s' at %zu: %s", text, e.at, e.message);
    o.s = series_open(o.f, &(struct formula_point){0, head, heads, 64, 0}, &e);
    if (!o.s)
        fail_msg("'%s': %s", text, e.message);
    return o;
}

static void close_series(struct opened o)
{
    series_free(o.s);
    formula_free(o.f);
}

/* Opens it, checks the verdict, and that the proof begins with it; the proof is returned in a
 * static buffer. */
static const char *check(const char *text, int head, enum series_verdict expected)
{
    static char proof[4096];
    struct formula_error e;
    struct opened o = open_series(text, head, 8);
    struct series *s = o.s;
    snprintf(proof, sizeof proof, "%s", series_proof(s));
    if (series_verdict(s) != expected)
        fail_msg("'%s', head %d: %s (expected %s)\n%s", text, head,
                 series_verdict_name(series_verdict(s)), series_verdict_name(expected), proof);
    if (strncmp(proof, series_verdict_name(expected), strlen(series_verdict_name(expected))) != 0 ||
        proof[strlen(proof) - 1] == '\n')
        fail_msg("'%s': the proof is '%s'", text, proof);
    /* the sum and a finite TRF exist whatever the verdict */
    struct series_count c;
    double lo, hi;
    series_sum(s, &lo, &hi);
    if (!(lo <= hi) || (isinf(hi) != 0) != (expected != SERIES_CONVERGES || lo > 1e308) ||
        (isinf(lo) != 0) != (expected == SERIES_DIVERGES))
        fail_msg("'%s': the sum is [%g, %g]", text, lo, hi);
    if (series_trf_finite(s, "0.01", 40, &c, &lo, &hi, &e))
        fail_msg("'%s': %s", text, e.message);
    assert_true(c.log10_lo >= 0 && c.log10_hi <= log10(40) + 1e-12 && lo <= hi);
    series_count_free(&c);
    close_series(o);
    return proof;
}

static void check_refused(const char *text, const char *words)
{
    struct formula_error e;
    struct formula *f = formula_parse(text, &e);
    assert_non_null(f);
    struct series *s = series_open(f, &(struct formula_point){0, 1, 8, 64, 0}, &e);
    if (s || !strstr(e.message, words))
        fail_msg("%s: %s (expected: %s)", text, s ? "accepted" : e.message, words);
    formula_free(f);
}

/* tests/goldens/series/verdicts.tsv: what must be decided, what must not (never a guess), what is
 * refused. */
static void test_table(void **state)
{
    (void)state;
    char line[1024];
    int rows = 0;
    FILE *file = fopen("tests/goldens/series/verdicts.tsv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *rest = line, *verdict = strsep(&rest, "\t"), *text = strsep(&rest, "\t\n"),
             *words = strsep(&rest, "\n");
        if (*line == '#')
            continue;
        assert_non_null(words);
        if (*verdict == 'R')
            check_refused(text, words);
        else
            check(text, *verdict == 'D' ? 8 : 1,
                  *verdict == 'C'   ? SERIES_CONVERGES
                  : *verdict == 'D' ? SERIES_DIVERGES
                                    : SERIES_UNDECIDED);
        rows++;
    }
    fclose(file);
    assert_true(rows >= 175);
}

/* Whether a part is exactly 0 is beyond balls, and with it whether the bias is a number there. A
 * finite field is told only short of it. */
static void test_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *formula;
        int at; /* the distance that the proof names */
    } table[] = {
        {"t<40?0:ln(sqrt(2)*sqrt(3)-sqrt(6))", 40},
        {"t<40?0:2*ln(1+cos(pi+sqrt(2)*sqrt(3)-sqrt(6)))", 40},
        {"t<40?0:-1/sin(pi+sqrt(2)*sqrt(3)-sqrt(6))^2", 40},
        {"t<40?0:sqrt(1+cos(pi+sqrt(2)*sqrt(3)-sqrt(6)))", 40},
        {"t<40?0:-(1+cos(pi+sqrt(2)*sqrt(3)-sqrt(6)))^pi", 40},
        {"t<40?0:-inf*sin(pi+sqrt(2)*sqrt(3)-sqrt(6))", 40},
        {"t==7?1/sin(pi+sqrt(2)*sqrt(3)-sqrt(6)):-t", 7},
        {"t==7?(inf*sin(pi+sqrt(2)*sqrt(3)-sqrt(6))>0):-t", 7},
        {"t==7?sin(inf*sin(pi+sqrt(2)*sqrt(3)-sqrt(6))):-t", 7},
        {"t==7?0*ln(sin(pi+sqrt(2)*sqrt(3)-sqrt(6))):-t", 7},
        {"t==7?(-2)^(sqrt(2)*sqrt(3)-sqrt(6)):-t", 7},
        {"t<40?-t:(sin(pi+sqrt(2)*sqrt(3)-sqrt(6))==0?0:-inf)", 40},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct formula_error e;
        struct series_count c;
        char words[64];
        double lo, hi;
        struct opened o = open_series(table[i].formula, 1, 1);
        struct series *s = o.s;
        snprintf(words, sizeof words, "t = %d is a number, an infinity or none", table[i].at);
        if (series_verdict(s) != SERIES_UNDECIDED || !strstr(series_proof(s), words))
            fail_msg("'%s': %s", table[i].formula, series_proof(s));
        series_sum(s, &lo, &hi);
        assert_true(lo == 0 && hi == INFINITY);
        for (int length = table[i].at - 1; length <= table[i].at + 2; length++) {
            if (series_trf_finite(s, "0.01", (uint64_t)length, &c, &lo, &hi, &e))
                fail_msg("'%s': %s", table[i].formula, e.message);
            if ((length > table[i].at) != (isnan(c.log10_lo) != 0) ||
                (length > table[i].at) != (isinf(hi) != 0))
                fail_msg("'%s': the first %d distances have the sum %g..%g", table[i].formula,
                         length, lo, hi);
            series_count_free(&c);
        }
        assert_int_equal(series_trf_depth(s, "0.01", 3, 100, &c, &e), 0);
        assert_true(isnan(c.log10_lo));
        close_series(o);
    }
}

/* A tail that only looks convergent: it turns at 10^6, 10^12, 10^100, 10^300. */
static void test_late_turn(void **state)
{
    (void)state;
    static const char *const breaks[] = {"10^6", "10^12", "10^100", "10^300"};
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "t<%s?-2*ln(1+t):-ln(1+t)", breaks[i]);
        check(text, 1, SERIES_DIVERGES);
        snprintf(text, sizeof text, "t<%s?-ln(1+t):-2*ln(1+t)", breaks[i]);
        check(text, 1, SERIES_CONVERGES);
        snprintf(text, sizeof text, "max(-2*ln(1+t),-ln(1+t)-ln(%s))", breaks[i]);
        check(text, 1, SERIES_DIVERGES);
        snprintf(text, sizeof text, "min(-ln(1+t),-2*ln(1+t)+ln(%s))", breaks[i]);
        check(text, 1, SERIES_CONVERGES);
        snprintf(text, sizeof text, "-2*ln(1+t)+ln(1+t/%s)", breaks[i]);
        check(text, 1, SERIES_DIVERGES);
        snprintf(text, sizeof text, "-ln(1+t)-ln(1+t/%s)", breaks[i]);
        check(text, 1, SERIES_CONVERGES);
    }
}

/* -p ln(c + a t) - q ln ln(...) + bounded parts in random dress: converges exactly if p > 1, or p =
 * 1 and q > 1. */
static void test_random(void **state)
{
    (void)state;
    static const char *const powers[] = {"0.5", "0.999", "1", "1.001", "1.5", "3"};
    static const double power[] = {0.5, 0.999, 1, 1.001, 1.5, 3};
    static const char *const extras[] = {
        "",         "+sin(3*t)", "-1/(1+t)", "+cos(t)*0.5", "-abs(sin(t))", "+floor(t/7)-t/7",
        "+exp(-t)", "-t/(5+t)"};
    srand(7);
    for (int i = 0; i < 60; i++) {
        char text[512];
        int p = rand() % 6, q = rand() % 6, a = 1 + rand() % 9, c = 3 + rand() % 5,
            log = rand() % 2;
        snprintf(text, sizeof text, "-%s*ln(%d+0.%d*t)%s%s%s%s%s", powers[p], c, a, log ? "-" : "",
                 log ? powers[q] : "", log ? "*ln(ln(3+t))" : "", extras[rand() % 8],
                 extras[rand() % 8]);
        int converges = power[p] > 1 || (power[p] == 1 && log && power[q] > 1);
        check(text, 1, converges ? SERIES_CONVERGES : SERIES_DIVERGES);
    }
}

static void test_proofs(void **state)
{
    (void)state;
    static const struct {
        const char *formula, *words[3];
        enum series_verdict verdict;
    } proofs[] = {
        {"alibi", {"geometric", "ratio exp(-0.5)", "t >= 0"}, SERIES_CONVERGES},
        {"window(40)", {"f(t) = 0", "t >= 40", ""}, SERIES_CONVERGES},
        {"kerple_log(1.5,1)", {"t b'(t) <= -1.", "(t/X)^-1.", "t >= 4"}, SERIES_CONVERGES},
        {"t<1?0:-123.456789*ln(t)",
         {"t b'(t) <= -123.45678 < -1", "(t/X)^-123.45678 ", "t >= 1"},
         SERIES_CONVERGES}, /* 123.45679 is not proved */
        {"t<3?0:-ln(t)-123.456789*ln(ln(t))",
         {"between 1 and 1 times", "Bertrand", ""},
         SERIES_CONVERGES},
        {"cos(t)>0?-ln(1+t)-2*ln(ln(3+t)):-inf",
         {"at most", "t^-1 (ln t)^-2", ""},
         SERIES_CONVERGES},
        {"cos(t)>0?-ln(1+t)-sqrt(ln(1+t)):-inf",
         {"at most", "exp(-1 (ln t)^(1/2))", ""},
         SERIES_CONVERGES},
        {"divergent_a", {"t b'(t) >= -1", "harmonic", ""}, SERIES_DIVERGES},
        {"-ln(2+t)-2*ln(ln(2+t))", {"t^-1 (ln t)^-2", "Bertrand", "t >= 4"}, SERIES_CONVERGES},
        {"divergent_b", {"t^-1 (ln t)^-1", "diverges", ""}, SERIES_DIVERGES},
        {"none", {"constant", "t >= 0", ""}, SERIES_DIVERGES},
        {"sandwich",
         {"b(t) >= -128 for all t >= 1", "worst value", "oscillates"},
         SERIES_DIVERGES}, /* -dbar/h' */
        {"t>12345678901234567890?-t:-2*ln(1+t)",
         {"t >= 10^19.10:", "", ""},
         SERIES_CONVERGES}, /* not yet from 10^19.09 on */
    };
    for (size_t i = 0; i < sizeof proofs / sizeof proofs[0]; i++) {
        const char *proof = check(proofs[i].formula, 1, proofs[i].verdict);
        for (int k = 0; k < 3; k++)
            if (!strstr(proof, proofs[i].words[k]))
                fail_msg("%s: '%s' is not in: %s", proofs[i].formula, proofs[i].words[k], proof);
    }
}

/* What proofs of biases with waves say of f holds for f itself, whose own rate is anything: at
 * every distance up to 20,000. */
static void test_waves_are_as_told(void **state)
{
    static const struct {
        const char *formula;
        int head;
        enum series_verdict verdict;
    } table[] = {{"sandwich", 1, SERIES_DIVERGES},
                 {"sandwich", 8, SERIES_DIVERGES},
                 {"sandwich(first=1)", 5, SERIES_DIVERGES},
                 {"ln(1+t)+cos(t)", 1, SERIES_DIVERGES},
                 {"cos(t)-0.5*ln(1+t)", 1, SERIES_DIVERGES},
                 {"-0.9*ln(1+t)-cos(t)/3", 1, SERIES_DIVERGES},
                 {"-1.5*ln(1+t)-abs(sin(t))", 1, SERIES_CONVERGES},
                 {"0.3*cos(t*t)-1.2*ln(1+t)", 1, SERIES_CONVERGES}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *proof = check(table[i].formula, table[i].head, table[i].verdict);
        double bound, power = 0, from, sign = table[i].verdict == SERIES_DIVERGES ? 1 : -1;
        struct formula_error e;
        struct formula *f = formula_parse(table[i].formula, &e);

        if (sscanf(proof, "diverges: b(t) >= %lf for all t >= %lf", &bound, &from) != 2) {
            if (sscanf(proof, "converges: f(t) <= %lf (t/X)^-%lf for all t >= X = %lf", &bound,
                       &power, &from) != 3) {
                power = 1;
                if (sscanf(proof, "diverges: f(t) >= %lf X/t for all t >= X = %lf", &bound,
                           &from) != 2)
                    fail_msg("%s: %s", table[i].formula, proof);
            }
            bound = log(bound);
        }
        assert_non_null(f);
        for (double t = from; t <= 20000; t++) {
            double b = formula_evaluate(f, &(struct formula_point){t, table[i].head, 8, 64, 0});
            if (!(sign * (b - (bound - power * log(t / from))) >= -1e-10))
                fail_msg("%s, head %d, t = %g: b(t) = %.12g, and the proof is: %s",
                         table[i].formula, table[i].head, t, b, proof);
        }
        formula_free(f);
    }
}

/* The multiples of a power that a proof says f to be between are those of f itself, from the
 * distance that it names on. */
static void test_multiples(void **state)
{
    (void)state;
    static const struct {
        const char *formula;
        double power;
        enum series_verdict verdict;
    } table[] = {
        {"2*ln(exp(1/(1+t))-1)", -2, SERIES_CONVERGES},
        {"-1.5*ln(2+t)-exp(-sqrt(t))", -1.5, SERIES_CONVERGES},
        {"(1+t)*ln((1+t)/(2+t))-1.5*ln(1+t)", -1.5, SERIES_CONVERGES},
        {"40-1.5*ln(2+t)-exp(-sqrt(t))", -1.5, SERIES_CONVERGES},
        {"t*ln(t+1)-(t+1)*ln(t+3)", -1, SERIES_DIVERGES},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct formula_error e;
        const char *proof = check(table[i].formula, 1, table[i].verdict),
                   *between = strstr(proof, "between ");
        double least, greatest, from = 0, at;
        struct formula *f = formula_parse(table[i].formula, &e);
        if (!between || sscanf(between, "between %lf and %lf times", &least, &greatest) != 2 ||
            sscanf(strstr(between, "t >= "), "t >= %lf", &from) != 1)
            fail_msg("%s: %s", table[i].formula, proof);
        for (at = from; at < 1e12; at *= 3) {
            double t = round(at),
                   multiple = exp(formula_evaluate(f, &(struct formula_point){t, 1, 8, 64, 0})) /
                              pow(t, table[i].power);
            if (!(least <= multiple * (1 + 1e-4) && multiple * (1 - 1e-4) <= greatest &&
                  greatest < 200 * least))
                fail_msg("%s: f is %.9g times the power at %.0f\n%s", table[i].formula, multiple, t,
                         proof);
        }
        formula_free(f);
    }
}

/* What is printed of a bound is one: its decimals, read exactly, lie on the right side, and read
 * back as the same double where no number of digits is given. */
static void test_bound_text(void **state)
{
    (void)state;
    srand(11);
    mpfr_t exact, printed;
    mpfr_init2(exact, 53);
    mpfr_init2(printed, 400);
    for (int i = 0; i < 20000; i++) {
        static const double special[] = {0,         1,         0.1,    0.3,
                                         2.5,       1e15,      1e-300, 9.999999999999999,
                                         123456789, 0x1p-1020, 1.7e308};
        double x = i < 11 ? special[i]
                          : ldexp((double)rand() * 4294967296.0 + rand(), rand() % 200 - 150) /
                                (1 + rand() % 1000);
        for (int k = 0; k < 4; k++) {
            int up = k % 2, digits = k < 2 ? 0 : 1 + rand() % 16;
            char text[64];
            series_bound_text(text, x, up, digits);
            mpfr_set_d(exact, x, MPFR_RNDN);
            mpfr_set_str(printed, text, 10, up ? MPFR_RNDD : MPFR_RNDU);
            if (up ? mpfr_cmp(printed, exact) < 0 : mpfr_cmp(printed, exact) > 0)
                fail_msg("%a is printed as %s, %s bound", x, text, up ? "an upper" : "a lower");
            if (digits == 0 && strtod(text, NULL) != x)
                fail_msg("%a is printed as %s, another double", x, text);
        }
    }
    mpfr_clear(exact);
    mpfr_clear(printed);
}

/* A certificate says of each residue how f falls there, of those with one expression too, and how
 * it grows however long the exponents are. */
static void test_certificates(void **state)
{
    (void)state;
    static const char *const formulas[] = {"t-12*floor(t/12)<6?-floor(t/4)/5:-inf",
                                           "-ln(3+t)-(1+10^-900)*ln(ln(3+t))"};
    for (int i = 0; i < 2; i++) {
        struct opened o = open_series(formulas[i], 0, 8);
        char *certificate = series_certificate(o.s), line[64];
        assert_non_null(certificate);
        for (int r = 0; r < 12; r++) {
            snprintf(line, sizeof line, "residue %d %s", r, r < 6 ? "growth" : "zero");
            if (i)
                snprintf(line, sizeof line, "growth -1 -1%020d", 0);
            if (!strstr(certificate, line))
                fail_msg("no '%s' in\n%s", line, certificate);
        }
        free(certificate);
        close_series(o);
    }
}

/* Where the sum diverges, each value is a number or -inf, though floor(t/3) could be -1 by its
 * range: a length has its field (the count is that of numpy's sums). */
static void test_blocks_within(void **state)
{
    (void)state;
    struct formula_error e;
    struct series_count c;
    struct opened o = open_series("-0.7*ln(1+floor(t/3))", 0, 8);
    assert_int_equal(series_verdict(o.s), SERIES_DIVERGES);
    assert_int_equal(series_trf_finite(o.s, "0.01", 6815, &c, NULL, NULL, &e), 0);
    assert_true(series_count_exact(&c));
    assert_string_equal(c.lo, "6609");
    series_count_free(&c);
    close_series(o);
}

/* ln ln ln ln t is below 0 until 3814279: no sign is to be read off it before. The sum is that of
 * numpy's terms, and of its integral from 2^22 on. */
static void test_late_logarithm(void **state)
{
    (void)state;
    double lo, hi;
    struct opened o =
        open_series("t<16?0:(ln(ln(ln(ln(t))))+(t+1)^2-t^2-2*t-1>=0?-2*ln(t):-1.01*ln(t))", 0, 8);
    series_sum(o.s, &lo, &hi);
    if (!(lo <= 27.3580849 && hi >= 27.3580850))
        fail_msg("%.17g to %.17g", lo, hi);
    close_series(o);
    o = open_series(
        "t<50000?0:-0.5*ln(t)+0*(ln(ln(ln(ln(t))))+max(0,65535.5-t)+(t+1)^2-t^2-2*t-1)^0.5", 0, 8);
    assert_int_equal(series_verdict(o.s), SERIES_UNDECIDED); /* at 65536 it is not a number */
    close_series(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_late_turn),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_proofs),        cmocka_unit_test(test_bound_text),
        cmocka_unit_test(test_certificates),  cmocka_unit_test(test_waves_are_as_told),
        cmocka_unit_test(test_multiples),     cmocka_unit_test(test_late_logarithm),
        cmocka_unit_test(test_blocks_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
