/* plots/ticks.c: labels keep clear of each other, and there are enough of them; plots/script.c:
 * colours can be seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/layout.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TICKS_MAX = 128 };

struct found {
    char label[TICKS_MAX][32];
    double at[TICKS_MAX];
    int count, powers, plain; /* labelled; of these as powers; without a label */
};

/* The labelled ticks of an axis, read back from the script: "2", negative("2") or power(3); those
 * without a label are counted. */
static struct found ticks_of(const struct axis *a, double last)
{
    struct found f = {.count = 0};
    struct script s = {.width = WIDTH};
    char *text = NULL, *p;
    size_t size;

    s.plot = open_memstream(&text, &size);
    assert_non_null(s.plot);
    ticks_round(&s, a, last);
    fclose(s.plot);
    for (p = strchr(text, '(') + 1; *p != ')' && f.count < TICKS_MAX; p += strspn(p, ", ")) {
        char *label = f.label[f.count];
        int power, length;

        if (strncmp(p, "\"\" ", 3) == 0) {
            f.plain++;
            p = strchr(p + 3, ' ') + 2; /* the tick's level, 1 */
            continue;
        }
        if (sscanf(p, "power(%d)%n", &power, &length) == 1) {
            snprintf(label, sizeof f.label[0], "10^%d", power);
            f.powers++;
        } else if (sscanf(p, "negative(\"%20[^\"]\")%n", label + 1, &length) == 1) {
            label[0] = '-';
        } else if (sscanf(p, "\"%20[^\"]\"%n", label, &length) != 1) {
            fail_msg("%s", text);
        }
        p += length;
        f.at[f.count++] = strtod(p, &p);
    }
    free(text);
    return f;
}

/* Units from the axis's low end. */
static double place(const struct axis *a, double value)
{
    return a->size * (a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                                     : (value - a->low) / (a->high - a->low));
}

/* Powers are smaller. */
static double seen_width(const char *label)
{
    return strchr(label, '^')
               ? text_width("10") + 0.7 * text_width("0") * (double)(strlen(label) - 3)
               : text_width(label);
}

/* Ends that no run has, but a table may: without numbers between them there are no ticks, and no
 * search for ever. */
static void odd_axes_have_no_ticks(void **state)
{
    static const double ends[][2] = {{1, INFINITY},
                                     {-INFINITY, INFINITY},
                                     {1, NAN},
                                     {NAN, 1},
                                     {2, 2},
                                     {0, 0},
                                     {0, 5e-324},
                                     {1e17, 1e17 + 32},
                                     {1e-320, 1},
                                     {0, INFINITY},
                                     {3, 2},
                                     {-1e308, 1e308},
                                     {1e-310, 1.00001e-310}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int k = 0; k < 4; k++) {
            struct axis a = axis_linear(k & 1 ? 'x' : 'y', ends[i][0], ends[i][1], 500);
            struct found f;

            a.logarithmic = k >> 1;
            f = ticks_of(&a, 0);

            if (f.count && !(i == 8 && k < 2)) /* from next to 0 to 1, evenly, there are some */
                fail_msg("%g to %g: %d ticks", a.low, a.high, f.count);
        }
}

/* Powers above each other keep clear of the next one's exponent. */
static void exponents_keep_clear(void **state)
{
    (void)state;
    for (int size = 100; size < 1000; size += size / 8) {
        struct axis a = axis_logarithmic('y', 50, 1e20, size);
        struct found f = ticks_of(&a, 0);

        assert_true(f.count > 1 && f.count <= 12 && f.powers == f.count);
        for (int i = 1; i < f.count; i++)
            if (place(&a, f.at[i]) - place(&a, f.at[i - 1]) < 29.9)
                fail_msg("%d units: %s and %s overlap", size, f.label[i - 1], f.label[i]);
    }
}

/* Four heads or layers are all named where four digits have room. */
static void few_counts_are_all_named(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct axis a = axis_linear(k ? 'x' : 'y', 0.5, 4.5, 130);

        a.whole = 1;
        assert_int_equal(ticks_of(&a, 0).count, 4);
    }
}

static void labels_keep_clear(void **state)
{
    (void)state;
    srand(11);
    for (int i = 0; i < 4000; i++) {
        double low = i % 3 ? 1 : exp(rand() % 1000 / 100.0 - 3),
               high = low * (1.05 + exp(rand() % 1700 / 100.0 - 2));
        struct axis a = axis_linear(i % 2 ? 'x' : 'y', low, high, 70 + rand() % 900);
        double last = rand() % 2 ? floor(high) : 0;
        int has_last = last < low;
        struct found f;

        a.logarithmic = rand() % 2;
        f = ticks_of(&a, last);

        if (f.count < 2 && a.size > 250)
            fail_msg("%g to %g in %g units has %d ticks", low, high, a.size, f.count);
        for (int k = 0; k < f.count; k++) {
            double apart = k ? place(&a, f.at[k]) - place(&a, f.at[k - 1]) : 0;
            double needed = !k ? 0
                            : a.name == 'y'
                                ? 20
                                : (seen_width(f.label[k]) + seen_width(f.label[k - 1])) / 2;

            has_last |= fabs(f.at[k] - last) <= 1e-6 * last;
            if (f.at[k] < low * (1 - 1e-6) || f.at[k] > high * (1 + 1e-6) || apart < needed ||
                strcmp(f.label[k], "-0") == 0)
                fail_msg("%g to %g in %g units: tick \"%s\" at %g", low, high, a.size, f.label[k],
                         f.at[k]);
        }
        if (!has_last)
            fail_msg("%g to %g in %g units: no tick at %g", low, high, a.size, last);
    }
}

/* Labels of an axis are of one kind, as long numbers need powers of ten or not; those of an even
 * axis have the same decimals, and minus signs. */
static void labels_are_of_one_kind(void **state)
{
    static const struct {
        double low, high, size;
        int logarithmic, whole;
        const char *labels;
    } cases[] = {
        {1e-4, 1, 600, 1, 0, "0.0001 0.001 0.01 0.1 1"},
        {1e-8, 1.3, 600, 1, 0, "10^-8 10^-7 10^-6 10^-5 10^-4 10^-3 10^-2 10^-1 10^0"},
        {3, 4e6, 300, 1, 0, "10^1 10^2 10^3 10^4 10^5 10^6"},
        {1, 2000, 300, 1, 0, "1 3 10 30 100 300 1000"},
        {1, 2000, 170, 1, 0, "1 10 100 1000"},
        {20, 3000, 364, 1, 0, "30 100 300 1000 3000"},
        {40, 900, 400, 1, 0, "50 100 200 500"},
        {0, 1.02, 300, 0, 0, "0.0 0.2 0.4 0.6 0.8 1.0"},
        {-1.3, 2, 300, 0, 0, "-1 0 1 2"},
        {-0.6, 0.8, 300, 0, 0, "-0.5 0.0 0.5"},
        {-42, 1, 300, 0, 0, "-40 -30 -20 -10 0"},
        {0.5, 4.5, 900, 0, 1, "1 2 3 4"},
        {0.5, 64.5, 200, 0, 1, "20 40 60"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct axis a = axis_linear('x', cases[i].low, cases[i].high, cases[i].size);
        char labels[256] = "";
        struct found f;

        a.logarithmic = cases[i].logarithmic, a.whole = cases[i].whole;
        f = ticks_of(&a, 0);
        for (int k = 0; k < f.count; k++)
            snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%s%s", k ? " " : "",
                     f.label[k]);
        if (strcmp(labels, cases[i].labels) != 0)
            fail_msg("%g to %g: \"%s\" (expected \"%s\")", a.low, a.high, labels, cases[i].labels);
        if (f.powers && f.powers != f.count)
            fail_msg("%g to %g: %d of %d labels are powers", a.low, a.high, f.powers, f.count);
        if (i < 3 && f.plain < 8 * (f.count - 1))
            fail_msg("%g to %g: %d ticks between powers", a.low, a.high, f.plain);
    }
}

/* The relative luminance of WCAG 2.1. */
static double luminance(const char *colour)
{
    long rgb = strtol(colour + 1, NULL, 16);
    double sum = 0;
    static const double weights[] = {0.0722, 0.7152, 0.2126};

    for (int i = 0; i < 3; i++, rgb >>= 8) {
        double v = (double)(rgb & 255) / 255;

        sum += weights[i] * (v <= 0.03928 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* Each line has a contrast of 3:1 on white, and the first 24 differ in colour and dash, the first
 * eight in dash alone and in marks. */
static void lines_can_be_told_apart(void **state)
{
    char *seen[24] = {NULL};

    (void)state;
    for (int sequential = 0; sequential < 2; sequential++) {
        struct figure_style style = {.sequential = sequential};
        struct script s = {.style = &style};
        char *text = NULL, *p;
        size_t size;
        int count = 0, marks[8];

        s.settings = open_memstream(&text, &size);
        assert_non_null(s.settings);
        script_lines(&s, 24);
        fclose(s.settings);
        for (p = text; (p = strstr(p, " dt ")); count++) {
            size_t length = strcspn(p, "\n");
            char *colour = strchr(p, '#');

            assert_true(colour && colour < p + length);
            if (1.05 / (luminance((char[]){'#', colour[1], colour[2], colour[3], colour[4],
                                           colour[5], colour[6], 0}) +
                        0.05) <
                3)
                fail_msg("%.7s is too light", colour);
            if (count < 8) {
                marks[count] = atoi(strstr(p - 30, " pt ") + 4);
                for (int i = 0; i < count; i++)
                    if (marks[i] == marks[count] ||
                        strncmp(seen[i], p, strcspn(p + 4, " ") + 5) == 0)
                        fail_msg("lines %d and %d are alike in grey", i, count);
            }
            seen[count] = strndup(p, length);
            for (int i = 0; i < count; i++)
                assert_string_not_equal(seen[i], seen[count]);
            p += length;
        }
        assert_int_equal(count, 24);
        for (int i = 0; i < 24; i++)
            free(seen[i]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_axes_have_no_ticks),   cmocka_unit_test(exponents_keep_clear),
        cmocka_unit_test(few_counts_are_all_named), cmocka_unit_test(labels_keep_clear),
        cmocka_unit_test(labels_are_of_one_kind),   cmocka_unit_test(lines_can_be_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
