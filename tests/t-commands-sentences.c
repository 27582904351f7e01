/* commands/erf_sentences.c and the sentence of page/show.c: every form that they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/erf.h"
#include "page/show.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_result(void **state)
{
    static const struct {
        const char *attribution;
        double main;
        size_t inputs, half, lead, train, sink; /* half 0: was not measured */
        double sink_share;
        const char *said;
    } cases[] = {
        {"grad", 0.99, 63, 8, 62, 0, 4, 0.02,
         "m: half of the summed gradient norm comes from the last 8 of 63 tokens. ERF(0.99) is "
         "62."},
        {"grad", 0.99, 63, 1, 1, 64, 4, 0,
         "m: half of the summed gradient norm comes from the last of 63 tokens. ERF(0.99) is 1, "
         "within the training length of 64. ERF(0.5) is 0.0156 times the training length, measured "
         "at 63 inputs."},
        {"grad", 0.99, 63, 8, 17, 16, 4, 0,
         "m: half of the summed gradient norm comes from the last 8 of 63 tokens. ERF(0.99) is 17, "
         "beyond the training length of 16. ERF(0.5) is 0.5 times the training length, measured at "
         "63 inputs."},
        {"grad", 0.99, 63, 8, 63, 16, 4, 0,
         "m: half of the summed gradient norm comes from the last 8 of 63 tokens. ERF(0.99) needs "
         "all 63 inputs, beyond the training length of 16; the field may be longer. ERF(0.5) is "
         "0.5 times the training length, measured at 63 inputs."},
        {"grad", 0.99, 63, 8, 63, 64, 4, 0,
         "m: half of the summed gradient norm comes from the last 8 of 63 tokens. ERF(0.99) needs "
         "all 63 inputs; the field may be longer. ERF(0.5) is 0.125 times the training length, "
         "measured at 63 inputs."},
        {"grad", 0.99, 63, 63, 63, 0, 4, 0,
         "m: ERF(0.99) needs all 63 inputs; the field may be longer."},
        {"grad", 0.3, 63, 63, 9, 0, 4, 0, "m: ERF(0.3) is 9."},
        {"grad", 0.5, 63, 0, 9, 16, 4, 0,
         "m: ERF(0.5) is 9, within the training length of 16. It is 0.562 times the training "
         "length, measured at 63 inputs."},
        {"grad", 0.5, 2000, 0, 1600, 1, 4, 0,
         "m: ERF(0.5) is 1600, beyond the training length of 1. It is 1600 times the training "
         "length, measured at 2000 inputs."},
        {"grad", 0.5, 63, 0, 63, 0, 4, 0,
         "m: ERF(0.5) needs all 63 inputs; the field may be longer."},
        {"grad", 0.99, 1, 1, 1, 16, 0, 0,
         "m: ERF(0.99) needs the only input; the field may be longer."},
        {"grad", 0.9, 100, 0, 50, 0, 4, 0.0799, "m: ERF(0.9) is 50."},
        {"grad", 0.9, 100, 0, 50, 0, 4, 0.0801,
         "m: ERF(0.9) is 50. The first 4 tokens have 8.01\u00a0% of the gradient."},
        {"ig", 0.9, 100, 20, 50, 0, 1, 0.25,
         "m: half of the summed attribution norm comes from the last 20 of 100 tokens. ERF(0.9) is "
         "50. The first token has "
         "25\u00a0% of the "
         "attribution."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = cases[i].inputs;
        struct erf_row rows[2] = {
            {.threshold = 0.5, .erf = cases[i].half, .saturated = cases[i].half == n},
            {.threshold = cases[i].main, .erf = cases[i].lead, .saturated = cases[i].lead == n}};
        int first = cases[i].half == 0;
        struct result_field field = {.summary = {.rows = rows + first,
                                                 .threshold_count = 2 - (size_t)first,
                                                 .segments = 1,
                                                 .sink_share = cases[i].sink_share}};
        struct result_model m = {.name = "m",
                                 .train_length = cases[i].train,
                                 .fields = &field,
                                 .field_count = 1};
        struct result r = {.attribution = (char *)cases[i].attribution,
                           .length = n + 1,
                           .sink = cases[i].sink,
                           .main_threshold = cases[i].main,
                           .main_row = first ? 0 : 1};
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        assert_int_equal(erf_tell(f, &r, &m), 0);
        assert_int_equal(fclose(f), 0);
        assert_string_equal(text, cases[i].said);
        free(text);
    }
}

/* Fields of 25, 50 and 100 tokens, and what is said of their growth; 0: two replicates of other
 * fields stand behind them. */
static void test_growth(void **state)
{
    static const struct {
        size_t erf[3], other[3];
        const char *said;
    } cases[] = {
        {{6, 12, 24}, {0}, "m: ERF(0.9) is 24. From 25 to 100 tokens it grows like L^0.98."},
        {{6, 12, 24},
         {6, 6, 12},
         "m: ERF(0.9) is 24. From 25 to 100 tokens it grows like L^0.98, with the exponent between "
         "0.49 and 0.98."},
        {{6, 6, 6},
         {7, 7, 6},
         "m: ERF(0.9) is 6. From 25 to 100 tokens it shows no growth with the length L: L^0.00, "
         "with the exponent between -0.11 "
         "and 0.00."},
        {{12, 8, 6}, {0}, "m: ERF(0.9) is 6. From 25 to 100 tokens it shrinks like L^-0.49."},
        {{24, 30, 40},
         {0},
         "m: ERF(0.9) is 40. From 25 to 100 tokens it grows like L^0.36, at most: the shorter "
         "lengths need all inputs."},
        {{6, 12, 99},
         {0},
         "m: ERF(0.9) needs all 99 inputs; the field may be longer. From 25 to 100 tokens it grows "
         "like L^1.98, at least: the "
         "longest length needs all inputs."},
        {{24, 49, 99},
         {0},
         "m: ERF(0.9) needs all 99 inputs; the field may be longer. It needs all inputs at lengths "
         "of 25, 50 and 100 tokens: "
         "over these lengths it grows with the length."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const size_t order[3] = {2, 0, 1}; /* the whole segment first */
        struct result_field fields[3];
        struct erf_row rows[3];
        size_t draws[3][2];
        struct result_model m = {.name = "m", .fields = fields, .field_count = 3};
        struct result r = {.attribution = (char *)"grad", .length = 100, .main_threshold = 0.9};
        char *text;

        for (size_t k = 0; k < 3; k++) {
            size_t at = order[k], target = (size_t)25 << at, erf = cases[i].erf[at];

            draws[k][0] = erf;
            draws[k][1] = cases[i].other[at];
            rows[k] =
                (struct erf_row){.threshold = 0.9, .erf = erf, .saturated = erf == target - 1};
            fields[k] =
                (struct result_field){.target = target,
                                      .summary = {.rows = &rows[k],
                                                  .threshold_count = 1,
                                                  .segments = 2,
                                                  .positions = target - 1,
                                                  .replicates = draws[k],
                                                  .replicate_count = cases[i].other[0] ? 2 : 0}};
        }
        text = erf_sentence(&r, &m);
        assert_string_equal(text, cases[i].said);
        free(text);
    }
}

/* Inputs of one byte each with these shares. */
static void test_explanation(void **state)
{
    static const struct {
        size_t count;
        double share[4];
        const char *attribution, *said;
    } cases[] = {
        {1, {1}, "grad", "All of the gradient norm comes from the only input, \"a\"."},
        {2,
         {0.25, 0.75},
         "ig",
         "Half of the summed attribution norm comes from the last of 2 tokens, nine tenths from "
         "the last 2; the largest share, "
         "75.0\u00a0%, "
         "is "
         "that of \"b\" at position 2."},
        {4,
         {0, 0, 0, 1},
         "grad",
         "Half of the summed gradient norm comes from the last of 4 tokens, and so do nine tenths; "
         "the largest share, "
         "100.0\u00a0%, is that of "
         "\"d\" at position 4."},
        {4,
         {0.5, 0.25, 0.125, 0.125},
         "grad",
         "Half of the summed gradient norm comes from the last 4 of 4 tokens, and so do nine "
         "tenths; the largest share, "
         "50.0\u00a0%, is "
         "that "
         "of \"a\" at position 1."},
        {4,
         {0.25, 0, 0.375, 0.375},
         "grad",
         "Half of the summed gradient norm comes from the last 2 of 4 tokens, nine tenths from the "
         "last 4; the largest share, "
         "37.5\u00a0%, is that of \"c\" at position 3."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = cases[i].count, order[4] = {0};
        double share[4], cumulative[4];
        int32_t id[] = {'a', 'b', 'c', 'd'};
        struct token_texts pieces;
        struct explanation x = {.attribution = cases[i].attribution,
                                .pieces = &pieces,
                                .count = n,
                                .id = id,
                                .share = share,
                                .cumulative = cumulative,
                                .order = order};
        struct error e = {""};
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        memcpy(share, cases[i].share, sizeof share);
        curve_cumulative(cumulative, share, n);
        x.half = curve_erf(cumulative, n, 0.5);
        for (size_t k = 0; k < n; k++)
            order[0] = share[k] > share[order[0]] ? k : order[0];
        assert_int_equal(texts_of_bytes(&pieces, &e), 0);
        assert_non_null(f);
        assert_int_equal(show_sentence(f, &x), 0);
        assert_int_equal(fclose(f), 0);
        assert_string_equal(text, cases[i].said);
        texts_free(&pieces);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_result), cmocka_unit_test(test_growth),
                                       cmocka_unit_test(test_explanation)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
