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

/* Opens it, checks the verdict, and that the proof begins with it; the proof is returned in a
 * static buffer. */
static const char *check(const char *text, int head, enum series_verdict expected)
{
    static char proof[4096];
    struct formula_error e;
    struct formula *f = formula_parse(text, &e);
    if (!f)
        fail_msg("'%s' at %zu: %s", text, e.at, e.message);
    struct series *s = series_open(f, &(struct formula_point){0, head, 8, 64, 0}, &e);
    if (!s)
        fail_msg("'%s': %s", text, e.message);
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
    series_free(s);
    formula_free(f);
    return proof;
}

static void test_converges(void **state)
{
    (void)state;
    static const char *const formulas[] = {
        "-1.0001*ln(1+t)",
        "-1.0000000000000000001*ln(1+t)",
        "-ln(2+t)-2*ln(ln(2+t))",
        "-ln(2+t)-1.01*ln(ln(5+3*t))",
        "-ln(20+t)-ln(ln(20+t))-1.1*ln(ln(ln(20+t)))",
        "-ln(1+t)-2*ln(ln(3+t))+sin(t)",
        "-t/32+min(0,ln(abs(sin(t/9))))",
        "-ln(3+t)-0.001*t^0.5+ln(sin(t)^2)",
        "-2*ln(1+t)+max(-5,ln(abs(sin(t/9))))",
        "(-1)^floor(sqrt(t))*ln(1+t)*0.2-1.3*ln(1+t)",
        "-2*ln(1+t)+exp(-(t-1000)^2)*sin(t)",
        "t<40?0:ln(exp(ln(2))-2)", /* -inf from 40 on */
        "-2*ln(1+floor(exp(ln(t))))",
        "-t^0.1",
        "-t^0.001",
        "-0.001*t^0.3+5*ln(1+t)",
        "-t^2",
        "-exp(t)",
        "-t^t",
        "-ln(3+t)^1.5",
        "-ln(3+t)*ln(ln(3+t))",
        "-2*ln(1+t)+3*sin(t^2)",
        "-ln(1+t)*(1.5+0.2*sin(t))",
        "-2*ln(1+floor(t/10))",
        "-0.05*floor(t/2)^0.3-ln((3+0.1*floor(t/2))^0.5)", /* no derivative at 0, and far to the
                                                              first X */
        "-0.3*floor(t/5)^0.3-1.5*ln(3+floor(t/5))-2*ln(ln(3+floor(t/5)))",
        "-floor(t/1000)/1000",
        "sin(t)>0?-2*ln(1+t):-inf",
        "sin(t)>0?-2*ln(1+t):-t",
        "-abs(t-10^9)/10^6",
        "min(0,10-t)",
        "max(-t,-2*ln(1+t))",
        "min(-t,sin(t))",
        "t<10^30?0:-2*ln(1+t)",
        "t<10^30?0:-inf",
        "t<10^9?t:-t",
        "t<100?ln(100-t):-inf",
        "t==0?0:-2*ln(t)",
        "-1/t-2*ln(1+t)",
        "ln(t)-t",
        "ln(exp(-t)+exp(-2*t))",
        "ln(exp(-t)+1/(1+t)^2)",
        "ln(1/(1+t)^2+1/(1+t)^3)",
        "-ln(1+t+t^2)",
        "-2*ln(1+t-sqrt(t))",
        "-ln(1+t^2)+cos(1/(1+t))",
        "sqrt(t)-t",
        "-(t-10^6)^2/10^8",
        "-t*(1+sin(t)/2)",
        "-t-t*sin(t)/2",
        "window(5)+sandwich",
        "-pi*ln(1+t)",
        "-sqrt(2)*ln(1+t)",
        "0*t-ln(4+t)*2",
        "-(1+0.001)*ln(1+t)",
        "t<5?-inf:-t",
        "-min(t,t+1)",
        /* however near the border, however slow, whatever fades */
        "-(1+10^-30)*ln(1+t)",
        "-(1+10^-200)*ln(1+t)",
        "-ln(3+t)-(1+10^-50)*ln(ln(3+t))",
        "-2*t^0.00001",
        "-10^-7*ln(3+t)^2",
        "-(1+1/ln(ln(30+t)))*ln(1+t)",
        "-2*ln(1+t)-t*exp(-t)",
        "-2*ln(1+t)-t^2*exp(-t/1000)",
        "t<3?-t:-inf*t",
        "t<3?-t:-inf/(1+t)",
        /* values that no memory holds */
        "ln(t)>-inf?-2*ln(t):0",
        "t<4?0:-3*ln(t)+1/(inf-t)",
        "t<9?(ln(t)<=ln(t))*3-ln(t)^0:-t",
        "max(-2*ln(1+t),-inf)",
        "t<2?0:min(-2*ln(t),inf)",
        "-floor(exp(10^6*t))",
        "-floor(10^(300*t))",
        "sin(exp(10^6*t))-t",
        "-t^(2^(2^40))",
        "-2^(2^40)*ln(1+t)",
        "-exp(-2^(2^40))-t",
    };
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        check(formulas[i], 1, SERIES_CONVERGES);
}

static void test_diverges(void **state)
{
    (void)state;
    static const char *const formulas[] = {
        "0",
        "5",
        "-1000000",
        "t",
        "0.001*t",
        "ln(1+t)",
        "-ln(1+t)+max(-5,ln(abs(sin(t/9))))",
        "-ln(1+t)",
        "-0.9999*ln(1+t)",
        "-ln(2+t)-ln(ln(2+t))",
        "-ln(2+t)-0.99*ln(ln(7+2*t))",
        "-ln(20+t)-ln(ln(20+t))-ln(ln(ln(20+t)))",
        "-ln(3+t)-ln(ln(3+t))+sin(t)",
        "sin(t)",
        "-abs(sin(t))",
        "sandwich",
        "t<10^30?-t:0",
        "t<10^30?-t:-ln(1+t)",
        "t<10^6?-2*ln(1+t):-ln(t)",
        "-100*ln(ln(3+t))",
        "-sqrt(ln(3+t))",
        "-ln(1+t)+sqrt(ln(3+t))",
        "max(-t,-ln(1+t))",
        "max(-t,sin(t))",
        "-ln(1+floor(t/10))",
        "0.01*sqrt(floor(t/3))-ln(3+floor(t/3))-0.5*ln(ln(3+floor(t/3)))",
        "t-5*floor(t/5)==0?-2*ln(ln(3+t))-0.9*ln(3+t):-inf", /* from 10^40 on */
        "-t/(1+t)",
        "-t*exp(-t)",
        "-ln(1+t+sqrt(t))",
        "-t*(t<50)",
        "divergent_a",
        "divergent_b",
        "none",
        "kerple_log(1,2)",
        "-sqrt(2)*sqrt(2)*ln(1+t)/2",
        "exp(-t)",
        "-1/(1+t)",
        "t^t",
        "-ln(1+t)-10*cos(t)-1/(1+t)",
        "ln(exp(-t)+1/(1+t))",
        "smoothed_sandwich",
        "t5(1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,-1000)",
    };
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        check(formulas[i], 8, SERIES_DIVERGES);
}

/* Neither can be proved by these means; some converge and some do not. Never a guess. */
static void test_undecided(void **state)
{
    (void)state;
    static const char *const formulas[] = {
        "-t^3*(1+sin(t))", "-t-1/abs(cos(t)-cos(5))", "-2*sum(i,1,t,1/i)", "-sum(i,1,t,1/i)",
        "-t*(1+sin(t))-ln(1+t)", "-ln(1+t)-(1+sin(ln(1+t)))*ln(1+t)^3",
        "-ln(1+t)*(1.5+0.5*sin(ln(1+t)))-0.51*ln(ln(3+t))", /* they converge */
        "-(3+sin(t)+cos(2^0.5*t))*ln(1+t)-ln(ln(3+t))", /* two angles, which are nowhere at their
                                                           worst together */
        "-ln(1+t)*(2+sin(t))-0.51*ln(ln(3+t))", /* it converges: how often waves are near is bounded
                                                   from below only */
        "-(1+abs(sin(exp(1)*t)))*ln(1+t)", /* how near multiples of pi / e come to whole numbers is
                                              not known */
        "-ln(1+t)-t*abs(sin(t))", /* a sum that converges, but not by what is left of it */
        "-2*ln(1+t)-t*abs(sin(t))", /* what is taken off, whatever it is, is not left out */
        "-1/abs(sin(t))-2*ln(1+t)", /* is the sine 0 at some t > 0? */
        "-(sin(t)^2+cos(t)^2)*ln(1+t)", /* products of waves are not written out, */
        "-t*(1.5+cos(t)+cos(2*t))",
        "-2*ln(1+t)*floor(2+sin(t))", /* nor are two waves looked at together, or a wave's floor */
        "-t*(1-cos(exp(1)*t))", /* is e / pi irrational? */
        /* not a number at 10^6 */
        ("-2*ln(1+t)-0.001*abs(sin(t))+(ln(abs(cos(pi*t/2000000)))+inf>=0?ln(abs(cos(pi*t/"
         "2000000))):-inf)"),
        "t<10^10000000?-t:0", "(1+1/(1+t))^(2^(2^40))-t",
        "-(2^0.5*3^0.5-6^0.5+1)*ln(1+t)", /* a coefficient of exactly -1 that no finite precision
                                             tells from its neighbours */
    };
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        check(formulas[i], 1, SERIES_UNDECIDED);
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
        struct formula *f = formula_parse(table[i].formula, &e);
        struct series *s = f ? series_open(f, &(struct formula_point){0, 1, 1, 64, 0}, &e) : NULL;
        if (!s)
            fail_msg("'%s': %s", table[i].formula, e.message);
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
        series_free(s);
        formula_free(f);
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

/* A certificate says of each residue how f falls there, of those with one expression too. */
static void test_residues(void **state)
{
    (void)state;
    struct formula_error e;
    struct formula *f = formula_parse("t-12*floor(t/12)<6?-floor(t/4)/5:-inf", &e);
    assert_non_null(f);
    struct series *s = series_open(f, &(struct formula_point){0, 0, 8, 64, 0}, &e);
    assert_non_null(s);
    char *certificate = series_certificate(s);
    assert_non_null(certificate);
    for (int r = 0; r < 12; r++) {
        char line[64];
        snprintf(line, sizeof line, "residue %d %s", r, r < 6 ? "growth" : "zero");
        if (!strstr(certificate, line))
            fail_msg("no '%s' in\n%s", line, certificate);
    }
    free(certificate);
    series_free(s);
    formula_free(f);
}

/* Where the sum diverges, each value is a number or -inf, though floor(t/3) could be -1 by its
 * range: a length has its field (the count is that of numpy's sums). */
static void test_blocks_within(void **state)
{
    (void)state;
    struct formula_error e;
    struct series_count c;
    struct formula *f = formula_parse("-0.7*ln(1+floor(t/3))", &e);
    assert_non_null(f);
    struct series *s = series_open(f, &(struct formula_point){0, 0, 8, 64, 0}, &e);
    assert_non_null(s);
    assert_int_equal(series_verdict(s), SERIES_DIVERGES);
    assert_int_equal(series_trf_finite(s, "0.01", 6815, &c, NULL, NULL, &e), 0);
    assert_true(series_count_exact(&c));
    assert_string_equal(c.lo, "6609");
    series_count_free(&c);
    series_free(s);
    formula_free(f);
}

/* ln ln ln ln t is below 0 until 3814279: no sign is to be read off it before. The sum is that of
 * numpy's terms, and of its integral from 2^22 on. */
static void test_late_logarithm(void **state)
{
    (void)state;
    struct formula_error e;
    double lo, hi;
    struct formula *f =
        formula_parse("t<16?0:(ln(ln(ln(ln(t))))+(t+1)^2-t^2-2*t-1>=0?-2*ln(t):-1.01*ln(t))", &e);
    assert_non_null(f);
    struct series *s = series_open(f, &(struct formula_point){0, 0, 8, 64, 0}, &e);
    assert_non_null(s);
    series_sum(s, &lo, &hi);
    if (!(lo <= 27.3580849 && hi >= 27.3580850))
        fail_msg("%.17g to %.17g", lo, hi);
    series_free(s);
    formula_free(f);
    f = formula_parse(
        "t<50000?0:-0.5*ln(t)+0*(ln(ln(ln(ln(t))))+max(0,65535.5-t)+(t+1)^2-t^2-2*t-1)^0.5", &e);
    assert_non_null(f);
    s = series_open(f, &(struct formula_point){0, 0, 8, 64, 0}, &e);
    assert_non_null(s);
    assert_int_equal(series_verdict(s), SERIES_UNDECIDED); /* at 65536 it is not a number */
    series_free(s);
    formula_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_converges),     cmocka_unit_test(test_diverges),
        cmocka_unit_test(test_undecided),     cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_late_turn),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_proofs),        cmocka_unit_test(test_bound_text),
        cmocka_unit_test(test_residues),      cmocka_unit_test(test_waves_are_as_told),
        cmocka_unit_test(test_multiples),     cmocka_unit_test(test_late_logarithm),
        cmocka_unit_test(test_blocks_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
