/* The rule that cuts tokens into segments: lengths, offsets, documents, and what is refused. */
#include "io/tokens/tokens.h"
#include "io/system/input.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* -- segments -- */

/* Ids of a stream or table are 3 times their index, so that every copy can be told. */
static struct tokens make_tokens(size_t total, size_t columns)
{
    struct tokens t = {.ids = malloc(total * sizeof(int32_t)),
                       .total = total,
                       .columns = columns,
                       .rows = columns ? total / columns : 0};
    for (size_t i = 0; i < total; i++)
        t.ids[i] = (int32_t)(3 * i);
    return t;
}

static const struct segment_bounds none = {0, -1, -1}, begun = {1, 7, -1}, divided = {0, -1, 0};

static void test_cutting(void **state)
{
    (void)state;
    const struct {
        size_t total, columns; /* columns 0: a stream */
        struct segments_request request;
        size_t count, length, stride, last_start;
        int overlapping;
        const struct segment_bounds *bounds; /* NULL: none */
    } cases[] = {
        /* S = min(asked, floor(T/L)); stride = floor((T-L)/(S-1)) */
        {100, 0, {.length = 10, .segments = 1000}, 10, 10, 10, 90, 0, NULL},
        {109, 0, {.length = 10, .segments = 1000}, 10, 10, 11, 99, 0, NULL},
        {100, 0, {.length = 10, .segments = 4}, 4, 10, 30, 90, 0, NULL},
        {101, 0, {.length = 10, .segments = 4}, 4, 10, 30, 90, 0, NULL},
        {100, 0, {.length = 10, .segments = 1}, 1, 10, 0, 0, 0, NULL},
        {10, 0, {.length = 10, .segments = 5}, 1, 10, 0, 0, 0, NULL},
        {19, 0, {.length = 10, .segments = 5}, 1, 10, 0, 0, 0, NULL},
        {20, 0, {.length = 10, .segments = 5}, 2, 10, 10, 10, 0, NULL},
        {2048 * 3, 0, {.segments = 2}, 2, 2048, 4096, 4096, 0, NULL},
        {2, 0, {.length = 2, .segments = 1}, 1, 2, 0, 0, 0, NULL},
        /* T counts behind the offset; starts count from the stream's begin */
        {100, 0, {.length = 10, .segments = 1000, .offset = 5}, 9, 10, 10, 85, 0, NULL},
        {100, 0, {.length = 10, .segments = 1000, .offset = 90}, 1, 10, 0, 90, 0, NULL},
        /* a given stride: as many as fit */
        {100, 0, {.length = 10, .segments = 1000, .stride = 1}, 91, 10, 1, 90, 1, NULL},
        {100, 0, {.length = 10, .segments = 7, .stride = 1}, 7, 10, 1, 6, 1, NULL},
        {100, 0, {.length = 10, .segments = 1000, .stride = 10}, 10, 10, 10, 90, 0, NULL},
        {100, 0, {.length = 10, .segments = 1000, .stride = 9}, 11, 10, 9, 90, 1, NULL},
        {100, 0, {.length = 10, .segments = 1000, .stride = 40}, 3, 10, 40, 80, 0, NULL},
        {100, 0, {.length = 10, .segments = 1000, .stride = 91}, 1, 10, 91, 0, 0, NULL},
        {10,
         0,
         {.length = 10, .segments = 9, .stride = 3},
         1,
         10,
         3,
         0,
         0,
         NULL}, /* one segment overlaps nothing */
        {100, 0, {.length = 10, .segments = 1000, .stride = SIZE_MAX}, 1, 10, SIZE_MAX, 0, 0, NULL},
        /* a beginning-of-text token is position 1 of L */
        {100, 0, {.length = 10, .segments = 1000}, 10, 10, 10, 90, 0, &begun},
        /* tables: a row each, the last tokens of it */
        {60, 6, {.segments = 1000}, 10, 6, 1, 9, 0, NULL},
        {60, 6, {.segments = 3}, 3, 6, 4, 8, 0, NULL},
        {60, 6, {.segments = 1000, .length = 4}, 10, 4, 1, 9, 0, NULL},
        {60, 6, {.segments = 1000, .length = 6, .offset = 9}, 1, 6, 0, 9, 0, NULL},
        {60, 6, {.segments = 1000, .stride = 4, .offset = 1}, 3, 6, 4, 9, 0, NULL},
        {60, 6, {.segments = 2, .stride = 4}, 2, 6, 4, 4, 0, NULL},
        {60, 6, {.segments = 1000}, 10, 6, 1, 9, 0, &begun},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct segment_bounds *bounds = cases[i].bounds ? cases[i].bounds : &none;
        struct error e = {""};
        struct segments s;
        struct tokens t = make_tokens(cases[i].total, cases[i].columns);
        if (segments_cut(&s, &t, &cases[i].request, bounds, 3 * cases[i].total, &e)) {
            print_error("case %zu: %s\n", i, e.text);
            fail();
        }
        if (s.count != cases[i].count || s.length != cases[i].length ||
            s.stride != cases[i].stride || s.overlapping != cases[i].overlapping ||
            s.start[s.count - 1] != cases[i].last_start || s.start[0] != cases[i].request.offset) {
            print_error(
                "case %zu: count %zu, length %zu, stride %zu, overlapping %d, last start %zu\n", i,
                s.count, s.length, s.stride, s.overlapping, (size_t)s.start[s.count - 1]);
            fail();
        }
        size_t bos = (size_t)bounds->begins, taken = s.length - bos;
        for (size_t k = 0; k < s.count; k++) {
            size_t from = t.columns ? (s.start[k] + 1) * t.columns - taken : s.start[k];
            assert_int_equal(s.start[k], cases[i].request.offset + (k ? k * s.stride : 0));
            if (bos)
                assert_int_equal(s.ids[k * s.length], 7);
            for (size_t p = 0; p < taken; p++)
                assert_int_equal(s.ids[k * s.length + bos + p], 3 * (from + p));
        }
        segments_free(&s);
        segments_free(&s);
        tokens_free(&t);
    }
}

/* Ids are their index, but for token 1000 at the places of `boundary`. */
static void test_documents(void **state)
{
    enum { TOTAL = 100, BOUNDARY = 1000 };
    static const struct {
        size_t boundary[8]; /* ended by TOTAL */
        struct segments_request request;
        size_t start[16]; /* ended by TOTAL */
        struct documents documents;
        int overlapping, begins;
    } cases[] = {
        /* none of the token: one document */
        {{TOTAL}, {.length = 40, .segments = 9}, {0, 40, TOTAL}, {1, 1, 0, 0, 100}, 0, 0},
        /* one after the other from each document's start, the rest of it passed over; an empty
           document counts for nothing */
        {{9, 40, 41, TOTAL},
         {.length = 10, .segments = 99},
         {10, 20, 30, 42, 52, 62, 72, 82, TOTAL},
         {3, 2, 1, 9, 58},
         0,
         0},
        {{9, 40, 99, TOTAL},
         {.length = 9, .segments = 99, .offset = 1},
         {10, 19, 28, 41, 50, 59, 68, 77, 86, TOTAL},
         {3, 2, 1, 8, 58},
         0,
         0},
        /* fewer than there are places: spread evenly over them */
        {{9, 40, 41, TOTAL},
         {.length = 10, .segments = 4},
         {10, 30, 52, 72, TOTAL},
         {3, 2, 1, 9, 58},
         0,
         0},
        {{9, 40, 41, TOTAL}, {.length = 10, .segments = 1}, {10, TOTAL}, {3, 1, 1, 9, 58}, 0, 0},
        /* a stride: within each document, the first ones */
        {{20, TOTAL},
         {.length = 15, .segments = 5, .stride = 3},
         {0, 3, 21, 24, 27, TOTAL},
         {2, 2, 0, 0, 79},
         1,
         0},
        {{20, TOTAL},
         {.length = 15, .segments = 99, .stride = 50},
         {0, 21, 71, TOTAL},
         {2, 2, 0, 0, 79},
         0,
         0},
        {{20, TOTAL},
         {.length = 15, .segments = 99, .stride = SIZE_MAX},
         {0, 21, TOTAL},
         {2, 2, 0, 0, 79},
         0,
         0},
        /* a beginning-of-text token is one of the length: a document of L-1 tokens is long enough
         */
        {{0, 20, TOTAL}, {.length = 80, .segments = 9}, {21, TOTAL}, {2, 1, 1, 19, 79}, 0, 1},
        {{20, 61, 99, TOTAL},
         {.length = 21, .segments = 9},
         {0, 21, 41, 62, TOTAL},
         {3, 3, 0, 0, 40},
         0,
         1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct segments s;
        struct tokens t = {.ids = malloc(TOTAL * sizeof(int32_t)), .total = TOTAL};
        const struct segment_bounds bounds = {cases[i].begins, 7, BOUNDARY};
        size_t count = 0, bos = (size_t)bounds.begins;
        for (int32_t k = 0; k < TOTAL; k++)
            t.ids[k] = k;
        for (const size_t *b = cases[i].boundary; *b < TOTAL; b++)
            t.ids[*b] = BOUNDARY;
        if (segments_cut(&s, &t, &cases[i].request, &bounds, TOTAL,
                         &e)) /* the boundary is not an id of the model, and need not be */
            fail_msg("case %zu: %s", i, e.text);
        while (cases[i].start[count] < TOTAL)
            count++;
        assert_int_equal(s.count, count);
        for (size_t k = 0; k < count; k++) {
            if (s.start[k] != cases[i].start[k])
                fail_msg("case %zu: segment %zu starts at %zu (expected %zu)", i, k,
                         (size_t)s.start[k], cases[i].start[k]);
            if (bos)
                assert_int_equal(s.ids[k * s.length], 7);
            for (size_t p = bos; p < s.length; p++)
                assert_int_equal(s.ids[k * s.length + p], s.start[k] + p - bos);
        }
        assert_memory_equal(&s.documents, &cases[i].documents, sizeof s.documents);
        assert_int_equal(s.overlapping, cases[i].overlapping);
        segments_free(&s);
        tokens_free(&t);
    }
}

static void test_refused_cuts(void **state)
{
    (void)state;
    const struct {
        size_t total, columns;
        struct segments_request request;
        size_t vocabulary;
        const char *words;
        const struct segment_bounds *bounds; /* NULL: none */
    } cases[] = {
        {9,
         0,
         {.length = 10, .segments = 1},
         1000,
         "tokens: there are 9 tokens after offset 0|at least 10",
         NULL},
        {100, 0, {.segments = 1}, 1000, "there are 100 tokens|at least 2048", NULL},
        {100,
         0,
         {.length = 10, .segments = 1, .offset = 91},
         1000,
         "there are 9 tokens after offset 91|at least 10",
         NULL},
        {100,
         0,
         {.length = 10, .segments = 1, .offset = 100},
         1000,
         "nothing is left after offset 100 (there are 100 tokens)",
         NULL},
        {100,
         0,
         {.length = 10, .segments = 1, .offset = SIZE_MAX},
         1000,
         "nothing is left after offset",
         NULL},
        {100, 0, {.length = 10, .segments = 0}, 1000, "segments: 0 are requested", NULL},
        {100,
         0,
         {.length = 1, .segments = 1},
         1000,
         "segments of 1 tokens (expected at least 2",
         NULL},
        {100, 0, {.length = SIZE_MAX, .segments = 1}, 1000, "at least 18446744073709551615", NULL},
        {100,
         0,
         {.length = 10, .segments = 10},
         297,
         "id 297 at index 99 is not in the vocabulary (expected 0 to 296)",
         NULL},
        {100,
         0,
         {.length = 10, .segments = 10},
         298,
         "beginning-of-text id 298 is not in the vocabulary",
         &(struct segment_bounds){1, 298, -1}},
        {100,
         0,
         {.length = 10, .segments = 10},
         298,
         "beginning-of-text id -1 is not in the vocabulary",
         &(struct segment_bounds){1, -1, -1}},
        {60, 6, {.length = 7, .segments = 1}, 1000, "--length 7 is above its 6 columns", NULL},
        {60,
         6,
         {.segments = 1, .offset = 10},
         1000,
         "nothing is left after offset 10 (there are 10 rows)",
         NULL},
        {60,
         6,
         {.segments = 10},
         177,
         "id 177 in row 9, column 5 is not in the vocabulary (expected 0 to 176)",
         NULL},
        {10, 1, {.segments = 10}, 1000, "segments of 1 tokens (expected at least 2", NULL},
        {100,
         0,
         {.length = 51, .segments = 10},
         300,
         "no document is long enough: the longest of 2 has 50 tokens (expected at least 51 for one "
         "segment)",
         &(struct segment_bounds){0, -1, 150}},
        {100,
         0,
         {.length = 9, .segments = 1, .offset = 100},
         300,
         "nothing is left after offset 100",
         &divided},
        {3,
         0,
         {.length = 3, .segments = 1, .offset = 2},
         300,
         "the longest of 0 has 0 tokens",
         &(struct segment_bounds){0, -1, 6}},
        {60, 6, {.segments = 1}, 1000, "is 2-D, with one document per row", &divided},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct segments s;
        struct tokens t = make_tokens(cases[i].total, cases[i].columns);
        int result = segments_cut(&s, &t, &cases[i].request,
                                  cases[i].bounds ? cases[i].bounds : &none, cases[i].vocabulary,
                                  &e);
        if (result == 0)
            print_error("case %zu (%s) was accepted\n", i, cases[i].words);
        assert_int_equal(result, -1);
        assert_null(s.ids);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
        tokens_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cutting),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_refused_cuts),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
