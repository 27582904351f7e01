/* `reach trf` as a user meets it: $REACH is spawned, and what it prints, writes and returns is
 * checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/trf.h"
#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"
#include "tests/trf_inputs.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- usage ---- */

static void errors_are_one_line(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said;
    } cases[] = {
        {"trf", 2, "no FORMULA"},
        {"trf kerple_log", 2, "parameter 'p' has no value"},
        {"trf kerple_log --set p=2", 2, "parameter 'a' has no value"},
        {"trf -ln(1+t", 2, "at character"},
        {"trf 2+", 2, "at character"},
        {"trf alibi --set nosuch=1", 2, "not a parameter"},
        {"trf alibi --set delta=x", 2, "not a decimal"},
        {"trf alibi --set delta=1,2", 2, "8 heads"},
        {"trf alibi --epsilon 0", 2, "--epsilon"},
        {"trf alibi --epsilon 1", 2, "--epsilon"},
        {"trf alibi --epsilon 0.01x", 2, "--epsilon"},
        {"trf alibi --epsilon 0.1:0.5", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.1:0.5:0.1:1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.1:0.5:0", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.0:0.5:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.5:0.4:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.1:1.5:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.1:1:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 1e-3:0.5:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.1:0.5:0.0000000000000001", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon -0.1:0.5:0.1", 2, "expected LOW:HIGH:STEP"},
        {"trf alibi --epsilon 0.0001:0.5:0.0001", 2, "too many"},
        {"trf alibi --epsilon 0.1,,0.2", 2, "--epsilon: \"\" is not valid"},
        {"trf alibi --epsilon 0.1,2", 2, "--epsilon: \"2\" is not valid"},
        {"trf alibi --epsilon 0.1,0.01234567890123456", 2, "too long for a list (expected at most"},
        {"trf alibi --length 0", 2, "--length"},
        {"trf alibi --length 100,", 2, "--length: \"\" is not valid"},
        {"trf alibi --layers 0", 2, "--layers"},
        {"trf alibi --slopes other", 2, "paper or press"},
        {"trf alibi --heads 0", 2, "--heads"},
        {"trf alibi --format gif", 2, "png"},
        {"trf -t/L", 2, "expected --length"},
        {"trf ./alibi", 1, "alibi"},
        {"trf rope:", 2, "expected rope:SIZE"},
        {"trf rope:127", 2, "expected rope:SIZE"},
        {"trf rope:128/64", 2, "expected rope:SIZE"},
        {"trf rope:64;base=2", 2, "expected rope:SIZE"},
        {"trf rope:64,cubic", 2, "\"cubic\" is not valid"},
        {"trf rope:64,longrope", 2, "from a checkpoint"},
        {"trf rope:64,yarn:factor=4", 2, "original=NUMBER"},
        {"trf rope:64,dynamic:factor=4", 2, "needs factor"},
        {"trf rope:64 --set base=2", 2, "not a parameter"},
        {"trf runs/none", 1, "no such file"},
        {"trf @", 2, "@: no file is named"},
        {"trf folder", 1, "folder"},
        {"trf trained --heads 4", 2, "--heads 4: is for formulas and presets"},
        {"trf trained --slopes press", 2, "no formula given has slopes of ALiBi"},
        {"trf type1(k=2) --slopes press", 2, "no formula given has slopes of ALiBi"},
        {"trf alibi --format svg", 2, "--format is given without -o"},
        {"trf alibi --certificate -", 2, "--certificate: \"-\" is not valid"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].line, cases[i].status, cases[i].said);
}

/* ---- reach trf ---- */

/* A list is what the option given several times is. */
static void lists_have_commas(void **state)
{
    struct outcome list = reach("trf alibi --json --epsilon 0.1,0.01,0.2:0.4:0.1,1e-3 "
                                "--epsilon 0.5 --length 100,200"),
                   repeated = reach("trf alibi --json --epsilon 0.1 --epsilon 0.01 --epsilon "
                                    "0.2:0.4:0.1 --epsilon 1e-3 --epsilon 0.5 --length 100 "
                                    "--length 200");

    (void)state;
    assert_int_equal(list.status, 0);
    assert_string_equal(list.out, repeated.out); /* with the command, so with every value */
    assert_non_null(strstr(list.out, "--epsilon 0.4 --epsilon 1e-3 --epsilon 0.5 --length 100 "
                                     "--length 200"));
    outcome_free(&list);
    outcome_free(&repeated);
}

static void known_fields(void **state)
{
    static const struct {
        const char *formula, *head, *length, *epsilon, *verdict, *trf;
    } cases[] = {
        {"alibi", "1", "inf", "0.01", "converges", "10"},
        {"alibi", "8", "inf", "0.01", "converges", "1179"},
        /* the least j with (sum of 1 - exp(-m j) over the slopes m) / 8 above 0.99 */
        {"alibi", "all", "inf", "0.01", "converges", "666"},
        {"-2*ln(1+t)", "all", "inf", "0.01", "converges", "61"},
        {"-ln(1+t^2)", "all", "inf", "0.01", "converges", "49"},
        {"type2(1)", "all", "inf", "0.01", "converges", "10"},
        {"window(40)", "all", "inf", "0.1", "converges",
         "37"}, /* a tie, which the strict > decides */
        {"none", "all", "inf", "0.01", "diverges", ""},
        {"none", "all", "512", "0.1", "diverges", "461"},
        {"sandwich", "8", "512", "0.01", "diverges", "492"},
        {"sandwich", "8", "2048", "0.01", "diverges", "1923"},
        {"sandwich", "8", "8192", "0.01", "diverges", "7760"},
    };
    struct csv_table t;

    (void)state;
    expect("trf alibi -2*ln(1+t) -ln(1+t^2) type2(1) window(40) none sandwich --epsilon 0.01 "
           "--epsilon 0.1 --length 512 --length "
           "2048 --length 8192 -o fields",
           0, "converges");
    t = read_table(at("fields/trf.csv"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t row = trf_row(&t, cases[i].formula, cases[i].head, cases[i].length, "1",
                             cases[i].epsilon, "");
        const char *lo = cell(&t, row, "trf_lo"), *hi = cell(&t, row, "trf_hi"),
                   *logarithm = cell(&t, row, "log10_trf_lo");

        if (strcmp(cell(&t, row, "verdict"), cases[i].verdict) != 0 ||
            strcmp(lo, cases[i].trf) != 0 || strcmp(hi, cases[i].trf) != 0)
            fail_msg("%s, head %s, length %s, eps %s: %s, [%s, %s] (expected %s, %s)",
                     cases[i].formula, cases[i].head, cases[i].length, cases[i].epsilon,
                     cell(&t, row, "verdict"), lo, hi, cases[i].verdict, cases[i].trf);
        if (*cases[i].trf
                ? !(fabs(strtod(logarithm, NULL) - log10(strtod(cases[i].trf, NULL))) <= 1e-12)
                : *logarithm != 0)
            fail_msg("%s: log10 \"%s\" of %s", cases[i].formula, logarithm, cases[i].trf);
    }
    /* the bounds of B hold 1/(1 - e^-1/2) */
    {
        size_t row = trf_row(&t, "alibi", "1", "inf", "1", "0.01", "");
        double lo = strtod(cell(&t, row, "sum_lo"), NULL),
               hi = strtod(cell(&t, row, "sum_hi"), NULL), sum = 1 / (1 - exp(-0.5));

        if (!(lo <= sum * (1 + 1e-15) && sum * (1 - 1e-15) <= hi && hi - lo <= 1e-9))
            fail_msg("B of alibi, head 1: [%.17g, %.17g] (expected %.17g)", lo, hi, sum);
    }
    /* a row a head, length and epsilon: 2 formulas of 8 heads and their mean, 5 without h */
    assert_int_equal(t.rows, (2 * 9 + 5) * 4 * 2);
    csv_table_free(&t);
    expect("trf alibi --length 512 -o fields", 1, "--force");
    expect("trf alibi --heads 2 -o fields --force", 0, "alibi, 2 heads");
}

/* What `bias` refuses `trf` refuses, in the same words. */
static void refused_alike(void **state)
{
    static const struct {
        const char *formula, *said;
    } table[] = {
        {"t<40?sqrt(1-pi):-inf", "distance 0 is not a number"},
        {"(-pi)^0.5", "distance 0 is not a number"},
        {"t<5?sqrt(0.5+sin(t)):-2*ln(t)", "distance 4 is not a number"},
        {"1/(0-t)-2*ln(1+t)", "distance 0 is +inf"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 0; k < 2; k++) {
            char line[128];

            snprintf(line, sizeof line, "%s %s --length 40", k ? "trf" : "bias", table[i].formula);
            expect(line, 1, table[i].said);
        }
    expect("trf 1/(0-t)-2*ln(1+t)", 1, "distance 0 is +inf");
    expect("bias ln(t)>-inf?-2*ln(t):0 --length 40", 0, "");
    struct outcome o = reach("trf ln(t)>-inf?-2*ln(t):0 --length 40 --explain");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "converges  2.644934067"));
    outcome_free(&o);
    o = reach(
        "trf t<40?0:ln(sqrt(2)*sqrt(3)-sqrt(6)) --length 40 --length 50 --layers 2 --explain");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "undecided"));
    assert_non_null(strstr(o.out, "at t = 40 is a number, an infinity or none cannot be told"));
    outcome_free(&o);
}

static void depth_cone_and_ranking(void **state)
{
    struct outcome o = reach("trf window(8) short=-t -2*ln(1+t) none --layers 4 --explain -o deep");
    struct csv_table t;

    (void)state;
    if (o.status != 0 || !strstr(o.out, "w R") || !strstr(o.out, "  32    29") ||
        !strstr(o.out, "ranking") || !strstr(o.out, "proved") ||
        !strstr(o.out, "none: - (diverges)") || *o.err)
        fail_msg("exit %d\n%s%s", o.status, o.out, o.err);
    outcome_free(&o);
    t = read_table(at("deep/trf.csv"));
    /* exp(-t) is geometric: four of them make a negative binomial, whose 0.99 quantile is 5: 6
     * tokens */
    assert_string_equal(cell(&t, trf_row(&t, "short", "all", "inf", "1", "0.01", ""), "trf_lo"),
                        "5");
    {
        double p = 1 - exp(-1), mass = p * p * p * p, sum = 0;
        long j = 0;
        char expected[32];

        while (!(sum > 0.99)) {
            sum += mass;
            mass *= exp(-1) * (double)(j + 4) / (double)(j + 1);
            j++;
        }
        snprintf(expected, sizeof expected, "%ld", j);
        assert_string_equal(cell(&t, trf_row(&t, "short", "all", "inf", "4", "0.01", ""), "trf_lo"),
                            expected);
    }
    csv_table_free(&t);
}

/* A sweep is the decimals between its ends, each once and exact, beside those given singly, and
 * draws itself. */
static void epsilons_by_a_sweep(void **state)
{
    static const char *const expected[] = {"0.05", "0.055", "0.06", "0.065",
                                           "0.07", "1e-3",  "0.5",  "0.9"};
    struct csv_table t, singly;

    (void)state;
    expect("trf alibi -2*ln(1+t) --heads 2 --epsilon 0.05:.073:0.005 --epsilon 1e-3 --epsilon "
           "0.5:0.99999:0.4 -o sweep",
           0, "TRF(0.055)");
    t = read_table(at("sweep/trf.csv"));
    assert_int_equal(t.rows, 4 * 8);
    for (size_t i = 0; i < t.rows; i++)
        assert_string_equal(cell(&t, i, "epsilon"), expected[i % 8]);
    expect("trf alibi -2*ln(1+t) --heads 2 --epsilon 0.05 --epsilon 0.055 --epsilon 0.06 --epsilon "
           "0.065 --epsilon 0.07 "
           "--epsilon 1e-3 "
           "--epsilon 0.5 --epsilon 0.9 -o singly",
           0, "TRF(0.055)");
    singly = read_table(at("singly/trf.csv"));
    for (size_t i = 0; i < t.rows * t.columns; i++)
        assert_string_equal(t.cell[i], singly.cell[i]);
    csv_table_free(&singly);
    csv_table_free(&t);
    assert_same_file(at("sweep/trf.csv"),
                     at("singly/trf.csv")); /* the command is recorded by its values */
    expect("plot sweep/trf.csv -o swept", 0, "");
    assert_true(exists(at("swept/epsilon.gp")));
    expect("trf alibi --heads 1 --epsilon 0.001:0.999:0.001", 0, "TRF(0.999)");
}

/* ---- inputs ---- */

/* ---- bounds ---- */

/* Ends of an interval are rounded away from what is between them; one number is the nearest. */
static void printed_counts_hold_the_count(void **state)
{
    static const struct {
        const char *lo, *hi;
        double log10_lo, log10_hi;
        const char *text;
    } cases[] = {
        {"12", "58", 1, 2, "[12, 58]"},
        {"12399999999999999999", "12400000000000000000", 19, 20, "[1.23e19, 1.24e19]"},
        {"12300000000000000000", "12300000000000000001", 19, 20,
         "[1.23000000000e19, 1.23000000001e19]"},
        {"12345678912345678912", "12345699912345678912", 19, 20, "[1.234567e19, 1.234570e19]"},
        {"12345699812345678912", "12345699912345678912", 19, 20, "[1.23456998e19, 1.23457000e19]"},
        {"99999999999999999999", "99999999999999999999", 19, 20, "1.00e20 (20 digits)"},
        {"98000000000000000000", "99900000000000000001", 19, 20, "[9.80e19, 1.00e20]"},
        {"12349999999999999999", "12349999999999999999", 19, 20, "1.23e19 (20 digits)"},
        {"12370000000000000000", NULL, 19, INFINITY, ">= 1.23e19"},
        {NULL, NULL, 59999.74931999999, 59999.74932111111, "[10^59999.74931, 10^59999.74933]"},
        {NULL, NULL, 1.23456789019e+20, INFINITY, ">= 10^1.23456789e+20"},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct series_count c = {(char *)cases[i].lo, (char *)cases[i].hi, cases[i].log10_lo,
                                 cases[i].log10_hi};

        trf_count_text(text, &c);
        if (strcmp(text, cases[i].text) != 0)
            fail_msg("[%s, %s] is printed as %s (expected %s)", cases[i].lo ? cases[i].lo : "-",
                     cases[i].hi ? cases[i].hi : "-", text, cases[i].text);
    }
}

/* What lies within the training length: of a formula by --layers and --train-length, of a
 * checkpoint by its own. */
static void shares(void **state)
{
    struct outcome o = reach("trf window(96) narrow --layers 4");

    (void)state;
    if (o.status != 0 || strstr(o.out, "of the weight that"))
        fail_msg("exit %d\n%s", o.status, o.out);
    outcome_free(&o);
    expect("trf window(40) --layers 4 --train-length 128", 0,
           "98.5 % of the weight that 4 layers give to 1024 distances is within the training "
           "length of 128\n");
    expect("trf window(96) --layers 4 --train-length 128", 0,
           "13.5 % of the weight that 4 layers give to 1024 distances is within the training "
           "length of 128\n");
    expect("trf window(96) --train-length 24", 0,
           "25.0 % of the weight that 1 layer gives to 192 distances");
    expect("trf window(1000) --train-length 300", 0,
           "30.0 % of the weight that 1 layer gives to 2400 distances is within the training "
           "length of 300\n");
    expect("trf alibi --heads 2 --layers 2 --train-length 2", 0,
           "% of the weight that 2 layers give to 16 distances");
    expect("trf windows --train-length 10 --layers 7", 0,
           "80.0 % of the weight that 2 layers give to 80 distances"); /* 40 of 5 x 10 pairs */
    expect("trf trained --train-length 8", 0,
           "100.0 % of the weight that 2 layers give to 64 distances is within the training length "
           "of 8");
    expect("trf trained window(4) --layers 2 --train-length 3", 0,
           "is within the training length of 8");
    expect("trf trained --train-length 3", 1,
           "--train-length: the checkpoints state other training lengths themselves");
    expect("trf alibi --train-length 131073", 2, "--train-length");
}

/* With a millionth of a second nothing is tried; what is told is true all the same. */
static void effort_ends(void **state)
{
    (void)state;
    expect(
        "trf -ln(1+t)*(1.5+0.2*abs(sin(t))) --effort 0.000001", 0,
        "the search ended while rules 4.4 and 4.5 were tried: an effort of 1e-06 s is not enough");
    expect("trf -ln(1+t)*(1.5+0.2*abs(sin(t))) --effort 0.000001 --explain", 0,
           "undecided: the search ended while rules 4.4 and 4.5 were tried");
    expect("trf -ln(1+t)*(1.5+0.2*abs(sin(t))) --effort 1000", 0, "[1036, 1921]");
    expect("trf alibi --effort 0", 2, "--effort");
    expect("trf -(1+t)^0.2*(1.01+sin(t))", 0,
           "[784.879, "); /* of all terms nothing is known: the first 4096, as numpy adds them */
    expect("trf -sum(i,1,30000,1/(t+i))-ln(1+t)*1.3", 0,
           "the search ended while rules 4.4 and 4.5 were tried; --effort S gives it S seconds");
}

/* Terms that take more the farther out they are: few are added, and a short length is exact all the
 * same. */
static void dear_terms(void **state)
{
    (void)state;
    expect("trf -sum(i,1,t,0.1/sqrt(i))+min(sin(pi*t),cos(pi*(t+1)/4)) --epsilon 0.05 --length 3 "
           "--layers 4",
           0, "  3                 6");
    expect("trf -0.5*sqrt(t)-sum(i,1,t,t*0.001/i)*2 --length 60", 0, "               55");
    /* not taken apart at each of its 9,000 kinks, which took minutes */
    expect("trf -sum(i,1,9000,abs(t-7*i))/9000000", 0, "[19907, 63340]");
    expect("trf -sum(i,1,300,floor(t/i))/300-1.5*ln(1+t)", 0, " 63");
    /* whole parts of numbers of thousands of digits: minutes, were all terms added that cheap ones
     * would be */
    expect("trf -2*ln(1+t)+sum(i,1,50,floor(exp(i*t/50))-2*floor(exp(i*t/50)/2))/50 --length 50", 0,
           " 23");
    expect("trf -sum(i,1,30000,floor(ln(1+t)*i))/30000-t/50", 0, "  1          1");
    /* a sum whose denominator has hundreds of thousands of digits: it took 26 s to add up */
    expect("trf -t*sum(i,1,30000,1/(i^20+1))", 1, "is too large to analyse");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(lists_have_commas),
        cmocka_unit_test(known_fields),
        cmocka_unit_test(refused_alike),
        cmocka_unit_test(depth_cone_and_ranking),
        cmocka_unit_test(epsilons_by_a_sweep),
        cmocka_unit_test(printed_counts_hold_the_count),
        cmocka_unit_test(effort_ends),
        cmocka_unit_test(dear_terms),
        cmocka_unit_test(shares),
    };

    return cmocka_run_group_tests(tests, trf_inputs, program_close);
}
