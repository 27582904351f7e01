/* Loading of parameters by every kernel set: element types, strides, groups, offsets, stacked
 * parts, unaligned files; through the operations that use them. */
#include "io/scaled.h"
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
enum { FILE_ELEMENTS = 4096 };

/* One stored tensor of each type: small whole numbers and halves that every type holds exactly,
 * different at every place within 97. */
static void *stored[4];

/* The same with scales: every code is 1, and every element a block. */
static unsigned char ones[FILE_ELEMENTS];
static struct scaled described = {.codes = ones,
                                  .columns = FILE_ELEMENTS,
                                  .block_rows = 1,
                                  .block_columns = 1,
                                  .blocks_across = FILE_ELEMENTS};

/* Powers of two, so that products are exact. */
static double row_factor[70];

static double stored_value(size_t i)
{
    return ((double)(i * 29 % 97) - 48) / 2;
}

/* sign, exponent and fraction of a small value in a 16-bit format with `fraction` bits of fraction
 * and exponent bias `bias`. */
static uint16_t narrow(double value, int fraction, int bias)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (value == 0)
        return 0;
    return (uint16_t)((bits >> 31) << 15 | ((bits >> 23 & 255) - 127 + (uint32_t)bias) << fraction |
                      (bits & 0x7fffff) >> (23 - fraction));
}

static int make_stored(void **state)
{
    (void)state;
    memset(ones, 0x38, sizeof ones);
    for (int i = 0; i < LENGTH(row_factor); i++)
        row_factor[i] = ldexp(1, i % 3 - 1);
    for (int type = ELEMENT_F64; type <= ELEMENT_BF16; type++) {
        char *bytes = stored[type] = malloc(FILE_ELEMENTS * 8 + 64);
        if (!bytes)
            return -1;
        for (size_t i = 0; i < FILE_ELEMENTS; i++) {
            double value = stored_value(i);
            float single = (float)value;
            uint16_t half = type == ELEMENT_F16 ? narrow(value, 10, 15) : narrow(value, 7, 127);
            const void *from = type == ELEMENT_F64   ? (const void *)&value
                               : type == ELEMENT_F32 ? (const void *)&single
                                                     : (const void *)&half;
            memcpy(bytes + i * element_size((enum element)type), from,
                   element_size((enum element)type));
        }
    }
    return 0;
}

static int free_stored(void **state)
{
    (void)state;
    for (int type = ELEMENT_F64; type <= ELEMENT_BF16; type++)
        free(stored[type]);
    return 0;
}

/* A view by element numbers; `from` is its first element. */
struct view_case {
    const char *name;
    int part_count;
    struct {
        size_t from, groups, rows, columns, group_stride, row_stride, column_stride;
        double offset;
    } part[3];
};

static const struct view_case views[] = {
    {"dense", 1, {{0, 1, 5, 7, 0, 7, 1, 0}}},
    {"one element", 1, {{3, 1, 1, 1, 0, 0, 0, 0}}},
    {"dense, later in the file", 1, {{129, 1, 33, 65, 0, 65, 1, 0}}},
    {"rows apart", 1, {{2, 1, 5, 7, 0, 11, 1, 0}}},
    {"transposed", 1, {{1, 1, 6, 9, 0, 1, 6, 0}}},
    {"transposed, many", 1, {{0, 1, 70, 40, 0, 1, 70, 0}}},
    {"every third column", 1, {{0, 1, 4, 5, 0, 40, 3, 0}}},
    {"groups: query rows of a head-major stack", 1, {{0, 4, 3, 10, 90, 10, 1, 0}}},
    {"groups without gaps", 1, {{0, 4, 3, 10, 30, 10, 1, 0}}},
    {"offset", 1, {{5, 1, 5, 7, 0, 7, 1, 1}}},
    {"offset and strides", 1, {{5, 2, 3, 7, 50, 1, 3, -0.5}}},
    {"stacked",
     3,
     {{0, 1, 2, 9, 0, 9, 1, 0}, {100, 1, 3, 9, 0, 9, 1, 0}, {200, 2, 2, 9, 40, 1, 3, 2}}},
    {"stacked, wide", 2, {{0, 1, 16, 65, 0, 65, 1, 0}, {1500, 1, 17, 65, 0, 65, 1, 0}}},
};

/* Quantised elements lie side by side along rows or along columns. */
static int has_sides(const struct view_case *v)
{
    for (int p = 0; p < v->part_count; p++)
        if (v->part[p].column_stride > 1 && v->part[p].row_stride != 1)
            return 0;
    return 1;
}

/* Parts of `v` in the file of `type`, `shift` bytes off its place, their rows multiplied or not;
 * and the matrix that they mean.
 */
static void make_parts(struct weight_part parts[3], double **matrix, size_t *rows, size_t *columns,
                       const struct view_case *v, enum element type, char **copy, size_t shift,
                       int multiplied)
{
    size_t r = 0;
    *rows = 0;
    *columns = v->part[0].columns;
    *copy = allocate(FILE_ELEMENTS * 8 + 64);
    int scaled = element_is_scaled(type);
    memcpy(*copy + shift, stored[scaled ? ELEMENT_F32 : type],
           FILE_ELEMENTS * element_size(scaled ? ELEMENT_F32 : type));
    described.scales = (const unsigned char *)*copy + shift;
    for (int p = 0; p < v->part_count; p++)
        *rows += v->part[p].groups * v->part[p].rows;
    *matrix = allocate(*rows * *columns * sizeof(double));
    for (int p = 0; p < v->part_count; p++) {
        parts[p] = (struct weight_part){scaled
                                            ? (const void *)&described
                                            : *copy + shift + v->part[p].from * element_size(type),
                                        type,
                                        v->part[p].groups,
                                        v->part[p].rows,
                                        v->part[p].columns,
                                        v->part[p].group_stride,
                                        v->part[p].row_stride,
                                        v->part[p].column_stride,
                                        v->part[p].offset,
                                        scaled ? v->part[p].from : 0,
                                        multiplied ? row_factor : NULL,
                                        0};
        for (size_t i = 0; i < v->part[p].groups * v->part[p].rows; i++, r++)
            for (size_t c = 0; c < *columns; c++)
                (*matrix)[r * *columns + c] =
                    stored_value(v->part[p].from + i / v->part[p].rows * v->part[p].group_stride +
                                 i % v->part[p].rows * v->part[p].row_stride +
                                 c * v->part[p].column_stride) *
                        (multiplied ? row_factor[i] : 1) +
                    v->part[p].offset;
    }
}

static struct weight *load(struct kernels *k, enum weight_use use, const struct weight_part *parts,
                           int part_count)
{
    struct error e;
    struct weight *w = k->weight_load(k, use, parts, part_count, &e);
    if (!w)
        fail_msg("%s %s: %s", k->name, k->dtype, e.text);
    return w;
}

/* What linear gives for the unit vectors is w transposed, and linear_reverse gives w. */
static int check_matrix(struct kernels *k, const struct weight *w, const double *matrix,
                        size_t rows, size_t columns)
{
    double *unit_in = allocate(columns * columns * sizeof(double)),
           *unit_out = allocate(rows * rows * sizeof(double));
    double *got = allocate(rows * columns * sizeof(double)),
           *turned = allocate(rows * columns * sizeof(double));
    for (size_t i = 0; i < columns; i++)
        unit_in[i * columns + i] = 1;
    for (size_t i = 0; i < rows; i++)
        unit_out[i * rows + i] = 1;
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, unit_in, columns * columns),
                  *y = buffer_new(k, ROLE_ACTIVATION, columns * rows);
    struct buffer *dy = buffer_of(k, ROLE_ACTIVATION, unit_out, rows * rows),
                  *dx = buffer_new(k, ROLE_ACTIVATION, rows * columns);
    k->linear(k, y, x, w, NULL, (struct rows){1, (int)columns}, 0);
    k->linear_reverse(k, dx, dy, w, (struct rows){1, (int)rows}, 0);
    k->read(k, got, y, 0, rows * columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            turned[r * columns + c] = got[c * rows + r];
    k->read(k, got, dx, 0, rows * columns);
    int wrong = compare_values("linear on unit vectors", turned, matrix, rows * columns, 0, 0) ||
                compare_values("linear_reverse on unit vectors", got, matrix, rows * columns, 0, 0);
    k->destroy(k, x);
    k->destroy(k, y);
    k->destroy(k, dy);
    k->destroy(k, dx);
    free(unit_in), free(unit_out), free(got), free(turned);
    return wrong;
}

/* What embed gathers from it as a table of tokens, and as one of positions (which stand for the
 * last rows). */
static int check_table(struct kernels *k, const struct weight *w, const double *matrix, size_t rows,
                       size_t columns)
{
    int32_t *ids = allocate(rows * sizeof *ids);
    double *got = allocate(rows * columns * sizeof(double)),
           *twice = allocate(rows * columns * sizeof(double));
    for (size_t r = 0; r < rows; r++)
        ids[r] = (int32_t)r;
    struct buffer *tokens = index_of(k, ids, rows),
                  *x = buffer_new(k, ROLE_RESIDUAL, rows * columns);
    k->embed(k, x, tokens, w, NULL, 0, 1, (struct rows){1, (int)rows}, (int)columns);
    k->read(k, got, x, 0, rows * columns);
    int wrong = compare_values("embed", got, matrix, rows * columns, 0, 0);
    k->embed(k, x, tokens, w, w, (int)rows, 1, (struct rows){1, (int)rows}, (int)columns);
    k->read(k, got, x, 0, rows * columns);
    for (size_t i = 0; i < rows * columns; i++)
        twice[i] = 2 * matrix[i];
    wrong = wrong || compare_values("embed with positions", got, twice, rows * columns, 0, 0);
    k->destroy(k, tokens);
    k->destroy(k, x);
    free(ids), free(got), free(twice);
    return wrong;
}

/* As a head: with x = 0 log p = -ln V and dx = w[target] - mean of w. */
static int check_head(struct kernels *k, const struct weight *w, const double *matrix, size_t rows,
                      size_t columns)
{
    double *zero = allocate(columns * sizeof(double)), *got = allocate(columns * sizeof(double)),
           *want = allocate(columns * sizeof(double));
    for (size_t c = 0; c < columns; c++) {
        for (size_t r = 0; r < rows; r++)
            want[c] -= matrix[r * columns + c] / (double)rows;
        want[c] += matrix[(rows - 1) * columns + c];
    }
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, zero, columns),
                  *dx = buffer_new(k, ROLE_ACTIVATION, columns),
                  *p = buffer_new(k, ROLE_STATISTIC, 1);
    struct buffer *target = index_of(k, (const int32_t[]){(int32_t)rows - 1}, 1);
    k->head(k, dx, p, x, target, w, NULL, 0, 1, 1, (int)columns);
    k->read(k, got, dx, 0, columns);
    /* entries up to 24, sums of up to 70: float sums are good to 1e-5; dx may be bf16 */
    int wrong = compare_values("head", got, want, columns, 1e-4,
                               strcmp(k->dtype, "bf16") ? 0 : ldexp(1, -8));
    k->destroy(k, x);
    k->destroy(k, dx);
    k->destroy(k, p);
    k->destroy(k, target);
    free(zero), free(got), free(want);
    return wrong;
}

static void check_view(struct kernels *k, const struct view_case *v, enum element type,
                       size_t shift, int multiplied)
{
    struct weight_part parts[3];
    double *matrix;
    char *copy;
    size_t rows, columns;
    make_parts(parts, &matrix, &rows, &columns, v, type, &copy, shift, multiplied);
    struct weight *w = load(k, WEIGHT_MATRIX, parts, v->part_count),
                  *table = load(k, WEIGHT_TABLE, parts, v->part_count);
    if (check_matrix(k, w, matrix, rows, columns) || check_table(k, table, matrix, rows, columns) ||
        check_head(k, table, matrix, rows, columns))
        fail_msg("%s %s: view '%s' of %s, %zu bytes off%s", k->name, k->dtype, v->name,
                 element_name(type), shift, multiplied ? ", multiplied" : "");
    k->weight_free(k, w);
    k->weight_free(k, table);
    free(matrix), free(copy);
}

/* As a bias: what linear adds to 0. */
static void check_vector(struct kernels *k, enum element type)
{
    enum { N = 67 };
    const struct view_case v = {"vector",
                                2,
                                {{1, 1, 40, 1, 0, 1, 0, 0}, {500, 3, 9, 1, 20, 2, 1, 1}}};
    struct weight_part parts[3];
    double *matrix, *zero = random_values(N, 1, 0), got[N];
    char *copy;
    size_t rows, columns;
    make_parts(parts, &matrix, &rows, &columns, &v, type, &copy, 1, 1);
    assert_int_equal(rows, N);
    struct weight *w = weight_of(k, WEIGHT_MATRIX, zero, N, 1),
                  *bias = load(k, WEIGHT_VECTOR, parts, v.part_count);
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, zero, 1),
                  *y = buffer_new(k, ROLE_ACTIVATION, N);
    k->linear(k, y, x, w, bias, (struct rows){1, 1}, 0);
    k->read(k, got, y, 0, N);
    if (compare_values("bias", got, matrix, N, 0, 0))
        fail_msg("%s %s: vector of %s", k->name, k->dtype, element_name(type));
    k->destroy(k, x);
    k->destroy(k, y);
    k->weight_free(k, w);
    k->weight_free(k, bias);
    free(matrix), free(zero), free(copy);
}

static void test_views(void **state)
{
    (void)state;
    for (int s = 0; s < kernel_set_count; s++) {
        struct error e;
        struct kernels *k = set_usable(&kernel_sets[s]) ? kernel_sets[s].open(&e) : NULL;
        for (int v = 0; k && v < LENGTH(views); v++)
            for (int type = ELEMENT_F64; type <= ELEMENT_BF16; type++)
                for (int way = 0; way < 4; way++)
                    check_view(k, &views[v], (enum element)type, (size_t)way % 2, way / 2);
        for (int v = 0; k && v < LENGTH(views); v++)
            for (int way = 0; way < 4 && has_sides(&views[v]); way++)
                check_view(k, &views[v], ELEMENT_FP8, (size_t)way % 2, way / 2);
        for (int type = ELEMENT_F64; k && type <= ELEMENT_BF16; type++)
            check_vector(k, (enum element)type);
        if (k)
            check_vector(k, ELEMENT_FP8);
        if (k && k->synchronize(k, &e))
            fail_msg("%s: %s", k->name, e.text);
        if (k)
            k->close(k);
    }
}

/* Views that cannot be: refused with a message, in every set. */
static void test_refused(void **state)
{
    const struct {
        const char *name;
        struct weight_part part[2];
        int part_count;
    } cases[] = {
        {"no parts", {{NULL, ELEMENT_F32, 1, 1, 1, 0, 0, 0, 0, 0, NULL, 0}}, 0},
        {"no data", {{NULL, ELEMENT_F32, 1, 1, 1, 0, 0, 0, 0, 0, NULL, 0}}, 1},
        {"no rows", {{stored[1], ELEMENT_F32, 1, 0, 4, 0, 4, 1, 0, 0, NULL, 0}}, 1},
        {"columns differ",
         {{stored[1], ELEMENT_F32, 1, 2, 4, 0, 4, 1, 0, 0, NULL, 0},
          {stored[1], ELEMENT_F32, 1, 2, 5, 0, 5, 1, 0, 0, NULL, 0}},
         2},
        {"blocks", {{stored[1], ELEMENT_F32, 3, 1, 4, 4, 4, 1, 0, 0, NULL, 1}}, 1},
        {"other blocks",
         {{stored[1], ELEMENT_F32, 2, 1, 4, 4, 4, 1, 0, 0, NULL, 1},
          {stored[1], ELEMENT_F32, 1, 2, 4, 0, 4, 1, 0, 0, NULL, 0}},
         2},
        {"rows overflow",
         {{stored[1], ELEMENT_F32, SIZE_MAX / 2, 3, 1, 0, 0, 0, 0, 0, NULL, 0}},
         1},
        {"elements overflow",
         {{stored[1], ELEMENT_F32, 1, SIZE_MAX / 16, 1 << 20, 0, 0, 0, 0, 0, NULL, 0}},
         1},
        {"bytes overflow",
         {{stored[1], ELEMENT_F32, 1, SIZE_MAX / 32, 8, 0, 0, 0, 0, 0, NULL, 0}},
         1},
    };
    (void)state;
    for (int s = 0; s < kernel_set_count; s++) {
        struct error e;
        struct kernels *k = set_usable(&kernel_sets[s]) ? kernel_sets[s].open(&e) : NULL;
        for (int i = 0; k && i < LENGTH(cases); i++)
            for (int use = WEIGHT_MATRIX; use <= WEIGHT_TABLE; use++) {
                e.text[0] = 0;
                if (k->weight_load(k, (enum weight_use)use, cases[i].part, cases[i].part_count,
                                   &e) ||
                    !e.text[0])
                    fail_msg("%s %s: '%s' is not refused with a message", k->name, k->dtype,
                             cases[i].name);
            }
        if (k)
            k->close(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests_name("weights", tests, make_stored, free_stored);
}
