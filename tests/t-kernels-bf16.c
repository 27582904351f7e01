/* The processor's bf16: a layer's products round both operands to the nearest number of bf16 and
 * nothing else; every other operation gives the bytes of f32, but for attention where it is made by
 * instructions for bf16. That they are right at awkward sizes, and do not change with threads and
 * neighbours, is shown by t-kernels-sets.c. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kernels *sets[5], *plain[5]; /* in bf16: the processor's, one for each instruction
                                              set, then the reference; in f32 */
static int set_count;
static struct kernels *oracle; /* f64 */

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    setenv("REACH_KERNELS", name, 1);
    struct kernels *k = kernels_open(dtype, &e);
    unsetenv("REACH_KERNELS");
    if (!k)
        print_message("%s\n", e.text);
    return k;
}

static int setup(void **unused)
{
    static const char *const names[] = {"generic", "avx2", "avx512", "avx512_bf16"};
    (void)unused;
    omp_set_num_threads(2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("REACH_ISA", names[i], 1);
        sets[set_count] = open_set("cpu", "bf16");
        if (!strcmp(names[i], "avx512_bf16"))
            setenv("REACH_ISA", "avx512", 1); /* what it is in f32 */
        if (sets[set_count] && (plain[set_count] = open_set("cpu", "f32")))
            set_count++;
    }
    unsetenv("REACH_ISA");
    sets[set_count] = open_set("reference", "bf16");
    plain[set_count] = open_set("reference", "f32");
    oracle = open_set("reference", "f64");
    return set_count && sets[set_count] && plain[set_count++] && oracle ? 0 : -1;
}

static int teardown(void **unused)
{
    (void)unused;
    for (; set_count; set_count--) {
        sets[set_count - 1]->close(sets[set_count - 1]);
        plain[set_count - 1]->close(plain[set_count - 1]);
    }
    oracle->close(oracle);
    return 0;
}

/* What `reach` opens where there is no GPU, and how it is called. */
static void test_choice(void **unused)
{
    struct error e, note;
    (void)unused;
    assert_int_equal(kernels_available("cpu", "bf16", &e), 0);
    struct kernels *k = kernels_open_on("cpu", "bf16", &note, &e);
    assert_non_null(k);
    assert_string_equal(k->dtype, "bf16");
    assert_int_equal(strncmp(k->name, "cpu (", 5), 0);
    assert_int_equal(kernels_check(k, &e), 0);
    k->close(k);
}

/* Every instruction set rounds as element_round does: all signs, exponents and upper halves, at,
 * below and above a tie. */
static void test_rounding(void **unused)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWER = sizeof lower / sizeof *lower, COUNT = 65536 * LOWER };
    float *x = allocate(COUNT * sizeof *x), *y = allocate(COUNT * sizeof *y);
    (void)unused;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i / LOWER << 16 | lower[i % LOWER];
        memcpy(&x[i], &bits, sizeof bits);
    }
    for (int s = 0; s < set_count - 1; s++) {
        cpu_state(sets[s])->vector->round_bf16(y, x, COUNT);
        for (int i = 0; i < COUNT; i++) {
            float want = (float)element_round((double)x[i], ELEMENT_BF16);
            if (isnan(x[i]) ? !isnan(y[i]) : memcmp(&want, &y[i], sizeof want) != 0)
                fail_msg("%s: %a becomes %a (expected %a)", sets[s]->name, (double)x[i],
                         (double)y[i], (double)want);
        }
    }
    free(x);
    free(y);
}

/* values[count], each rounded; caller frees. */
static double *rounded(const double *values, size_t count)
{
    double *out = allocate(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = element_round(values[i], ELEMENT_BF16);
    return out;
}

/* Sizes of a product, and how its matrix [out, in] lies: in rows, or in columns as GPT-2's Conv1D
 * has it. */
struct size {
    int rows, in, out, transposed, accumulate, runs;
};

/* y[rows, out] = x w^T, then dx[rows, in] = y0 w, by the set on matrices of floats that lie in
 * memory; got [rows, out + in]. */
static void multiply(double *got, struct kernels *k, const struct size *z, const double *x,
                     const double *y, const double *w)
{
    size_t rows = (size_t)z->rows, in = (size_t)z->in, out = (size_t)z->out;
    float *stored = allocate(in * out * sizeof *stored);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            stored[z->transposed ? i * out + o : o * in + i] = (float)w[o * in + i];
    struct weight_part part = {
        .data = stored, .type = ELEMENT_F32, .groups = 1, .rows = out, .columns = in};
    part.row_stride = z->transposed ? 1 : in;
    part.column_stride = z->transposed ? out : 1;
    struct error e;
    struct weight *matrix = k->weight_load(k, WEIGHT_MATRIX, &part, 1, &e);
    assert_non_null(matrix);
    struct buffer *from = buffer_of(k, ROLE_ACTIVATION, x, rows * in),
                  *to = buffer_of(k, ROLE_ACTIVATION, y, rows * out),
                  *d_from = buffer_of(k, ROLE_ACTIVATION, x, rows * in),
                  *d_to = buffer_of(k, ROLE_ACTIVATION, y, rows * out);
    struct run run = {0, z->rows, matrix, NULL};
    if (z->runs) {
        k->linear_runs(k, to, from, &run, 1, z->rows, z->accumulate);
        k->linear_runs_reverse(k, d_from, d_to, &run, 1, z->rows, z->accumulate);
    } else {
        k->linear(k, to, from, matrix, NULL, (struct rows){1, z->rows}, z->accumulate);
        k->linear_reverse(k, d_from, d_to, matrix, (struct rows){1, z->rows}, z->accumulate);
    }
    k->read(k, got, to, 0, rows * out);
    k->read(k, got + rows * out, d_from, 0, rows * in);
    assert_int_equal(k->synchronize(k, &e), 0);
    struct buffer *all[] = {from, to, d_from, d_to};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->weight_free(k, matrix);
    free(stored);
}

/* Against float64 on operands that were rounded beforehand: 1e-5, where cut operands would be 3e-3
 * off, and such as were not rounded 1e-3. What is added to, and its bytes, are not rounded. */
static void test_operands(void **unused)
{
    static const struct size sizes[] = {
        /* few rows, and more than one piece of the depth */
        {1, 5000, 33, 0, 0, 0},
        {3, 77, 200, 0, 1, 0},
        {3, 77, 200, 1, 0, 0},
        {8, 129, 150, 1, 1, 1},
        {2, 300, 10, 0, 0, 1},
        /* one piece and several, of every side */
        {40, 64, 65, 0, 0, 0},
        {40, 1100, 30, 0, 1, 0},
        {33, 30, 1100, 1, 0, 0},
        {9, 520, 800, 1, 1, 0},
        {1030, 40, 50, 0, 0, 0},
        {50, 600, 390, 0, 1, 1},
        {1050, 780, 420, 0, 0, 0},
    };
    (void)unused;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const struct size *z = &sizes[n];
        size_t rows = (size_t)z->rows, in = (size_t)z->in, out = (size_t)z->out,
               count = rows * (in + out);
        double *x = random_values(rows * in, 1, 0.5), *y = random_values(rows * out, 2, 0.5),
               *w = random_values(out * in, 3, 0.05);
        double *short_x = rounded(x, rows * in), *short_y = rounded(y, rows * out),
               *short_w = rounded(w, out * in);
        double *want = allocate(count * sizeof *want), *got = allocate(count * sizeof *got);
        multiply(want, oracle, z, short_x, short_y, short_w);
        for (size_t i = 0; z->accumulate && i < count;
             i++) /* the oracle was given what is added to as rounded, too */
            want[i] += i < rows * out ? y[i] - short_y[i]
                                      : x[i - rows * out] - short_x[i - rows * out];
        for (int s = 0; s < set_count; s++) {
            multiply(got, sets[s], z, x, y, w);
            if (compare_values(sets[s]->name, got, want, count, 1e-5, 0))
                fail_msg("size %zu: %d x %d x %d", n, z->rows, z->in, z->out);
        }
        double *all[] = {x, y, w, short_x, short_y, short_w, want, got};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

/* More rows, columns and depth than are packed at a time, and as many threads as leave tiles of
 * other widths: the same bytes. */
static void test_tiles(void **unused)
{
    static const struct size sizes[] = {{1050, 40, 1200, 0, 0, 0},
                                        {1050, 40, 1200, 1, 1, 0},
                                        {1050, 800, 20, 0, 0, 0}};
    (void)unused;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const struct size *z = &sizes[n];
        size_t rows = (size_t)z->rows, in = (size_t)z->in, out = (size_t)z->out,
               count = rows * (in + out);
        double *x = random_values(rows * in, 1, 0.5), *y = random_values(rows * out, 2, 0.5),
               *w = random_values(out * in, 3, 0.05), *want = allocate(count * sizeof *want),
               *got = allocate(count * sizeof *got);
        for (int s = 0; s < set_count - 1; s++) {
            multiply(want, sets[s], z, x, y, w);
            for (int threads = 1; threads <= 5; threads++) {
                omp_set_num_threads(threads);
                multiply(got, sets[s], z, x, y, w);
                if (memcmp(got, want, count * sizeof *got) != 0)
                    fail_msg("%s, %d threads: %d x %d x %d", sets[s]->name, threads, z->rows, z->in,
                             z->out);
            }
            omp_set_num_threads(2);
        }
        double *all[] = {x, y, w, want, got};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

/* The set that multiplies by instructions for bf16; NULL where the machine has none. */
static struct kernels *instructions(void)
{
    for (int s = 0; s < set_count - 1; s++)
        if (cpu_state(sets[s])->vector->multiply_bf16)
            return sets[s];
    print_message("no instructions for bf16 here\n");
    return NULL;
}

/* A product by instructions, its rows `spare` floats further apart than they are wide. */
struct product {
    size_t m, n, depth, spare;
    int transposed, accumulate;
    float *a, *b, *c, *room;
    size_t lda, ldb, ldc, a_count, b_count, c_count;
};

static struct product product_of(size_t m, size_t n, size_t depth, size_t spare, int transposed,
                                 int accumulate)
{
    struct product p = {.m = m,
                        .n = n,
                        .depth = depth,
                        .spare = spare,
                        .transposed = transposed,
                        .accumulate = accumulate};
    p.lda = depth + spare;
    p.ldb = (transposed ? depth : n) + spare;
    p.ldc = n + spare;
    p.a_count = m * p.lda;
    p.b_count = (transposed ? n : depth) * p.ldb;
    p.c_count = m * p.ldc;
    float **arrays[] = {&p.a, &p.b, &p.c};
    size_t counts[] = {p.a_count, p.b_count, p.c_count};
    for (size_t i = 0; i < 3; i++) {
        double *values = random_values(counts[i], (uint64_t)i + 1, 1);
        *arrays[i] = allocate(counts[i] * sizeof(float));
        for (size_t j = 0; j < counts[i]; j++)
            (*arrays[i])[j] = (float)values[j];
        free(values);
    }
    p.room = NULL;
    assert_int_equal(posix_memalign((void **)&p.room, 64, MULTIPLY_BF16_ROOM * sizeof(float)), 0);
    return p;
}

static void product_free(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->room);
}

static float *left(const struct product *p, size_t r, size_t k)
{
    return p->a + r * p->lda + k;
}

static float *right(const struct product *p, size_t k, size_t c)
{
    return p->b + (p->transposed ? c * p->ldb + k : k * p->ldb + c);
}

/* The product; caller frees: all of c, what lies between its rows too. */
static float *product_run(struct kernels *k, const struct product *p)
{
    float *c = allocate(p->c_count * sizeof *c);
    memcpy(c, p->c, p->c_count * sizeof *c);
    cpu_state(k)->vector->multiply_bf16(c, p->ldc, p->a, p->lda, p->b, p->ldb, p->transposed, p->m,
                                        p->n, p->depth, p->accumulate, p->room);
    return c;
}

/* Against float64 on rounded operands, at every size that ends a tile, a panel or a piece early.
 * Each of the depth's products is added once and each piece once, so that no result is off by more
 * than (depth + pieces) 2^-24 of the sum of sizes, and a hundredth for products of such roundings.
 * What lies between the rows of c stays. */
static void test_instructions(void **unused)
{
    static const size_t sizes[][4] = {/* m, n, depth, spare */
                                      {1, 1, 1, 0},      {14, 32, 2, 0},    {13, 31, 3, 1},
                                      {15, 33, 31, 5},   {28, 17, 33, 2},   {40, 16, 767, 3},
                                      {29, 65, 768, 0},  {3, 48, 769, 7},   {225, 40, 64, 1},
                                      {1037, 34, 10, 3}, {9, 385, 1537, 0}, {16, 100, 100, 4}};
    struct kernels *k = instructions();
    (void)unused;
    for (size_t i = 0; k && i < 4 * sizeof sizes / sizeof *sizes; i++) {
        const size_t *z = sizes[i / 4];
        struct product p = product_of(z[0], z[1], z[2], z[3], i & 1, i >> 1 & 1);
        float *c = product_run(k, &p);
        for (size_t r = 0; r < p.m; r++)
            for (size_t j = 0; j < p.ldc; j++) {
                double before = p.c[r * p.ldc + j], got = c[r * p.ldc + j],
                       sum = j < p.n && !p.accumulate ? 0 : before, size = j < p.n ? fabs(sum) : 0;
                for (size_t at = 0; j < p.n && at < p.depth; at++) {
                    double one = element_round(*left(&p, r, at), ELEMENT_BF16) *
                                 element_round(*right(&p, at, j), ELEMENT_BF16);
                    sum += one;
                    size += fabs(one);
                }
                if (!(fabs(got - sum) <=
                      1.01 * ((double)p.depth + ceil((double)p.depth / 768)) * 0x1p-24 * size))
                    fail_msg("%zu x %zu x %zu, transposed %d, accumulate %d: [%zu, %zu] is %.9g "
                             "(expected %.9g)",
                             p.m, p.n, p.depth, p.transposed, p.accumulate, r, j, got, sum);
            }
        free(c);
        product_free(&p);
    }
}

/* A NaN or an infinity reaches the results that it is a factor of, a number above the largest of
 * bf16 as an infinity, and no other result: these keep their bytes. */
static void test_not_finite(void **unused)
{
    struct kernels *k = instructions();
    const float bad[] = {NAN, INFINITY, -INFINITY, 0x1.ffp127f};
    (void)unused;
    for (size_t i = 0; k && i < 4 * sizeof bad / sizeof *bad; i++) {
        struct product p = product_of(31, 45, 35, 0, i & 1, 0);
        int in_left = i >> 1 & 1;
        float *want = product_run(k, &p);
        *(in_left ? left(&p, 17, 34) : right(&p, 34, 40)) = bad[i / 4];
        float *got = product_run(k, &p);
        for (size_t r = 0; r < p.m; r++)
            for (size_t c = 0; c < p.n; c++) {
                size_t at = r * p.ldc + c;
                float other = in_left ? *right(&p, 34, c) : *left(&p, r, 34);
                int reached = in_left ? r == 17 : c == 40;
                if (reached ? isnan(bad[i / 4])
                                  ? !isnan(got[at])
                                  : got[at] != (float)copysign(INFINITY, bad[i / 4] * other)
                            : memcmp(&got[at], &want[at], sizeof *got) != 0)
                    fail_msg("%a in the %s, transposed %d: [%zu, %zu] is %a", (double)bad[i / 4],
                             in_left ? "left" : "right", p.transposed, r, c, (double)got[at]);
            }
        free(want);
        free(got);
        product_free(&p);
    }
}

/* VDPBF16PS takes denormal factors, and results of its additions, for 0, whatever the mode of the
 * processor. */
static void test_denormals(void **unused)
{
    static const float rows[][3] = {/* left, right, result */
                                    {0x1p-127f, 0x1p100f, 0},
                                    {0x1p100f, -0x1p-130f, 0},
                                    {0x1p-100f, 0x1p-27f, 0},
                                    {0x1p-100f, 0x1p-26f, 0x1p-126f}};
    struct kernels *k = instructions();
    (void)unused;
    for (size_t i = 0; k && i < sizeof rows / sizeof *rows; i++) {
        struct product p = product_of(1, 1, 1, 0, 0, 0);
        *p.a = rows[i][0];
        *p.b = rows[i][1];
        float *c = product_run(k, &p);
        if (*c != rows[i][2])
            fail_msg("%a times %a is %a (expected %a)", (double)*p.a, (double)*p.b, (double)*c,
                     (double)rows[i][2]);
        free(c);
        product_free(&p);
    }
}

/* Instructions for bf16 are for bf16: in f32 they are refused by name, and never chosen unasked. */
static void test_instructions_in_f32(void **unused)
{
    struct error e;
    (void)unused;
    setenv("REACH_ISA", "avx512_bf16", 1);
    struct kernels *k = cpu_open(&e);
    unsetenv("REACH_ISA");
    assert_null(k);
    assert_non_null(strstr(e.text, "REACH_ISA=avx512_bf16"));
    k = cpu_open(&e);
    assert_non_null(k);
    assert_null(cpu_state(k)->vector->multiply_bf16);
    k->close(k);
    k = instructions();
    if (k)
        assert_non_null(strstr(k->name, "avx512_bf16"));
}

static void require_same(const char *what, const struct kernels *k, struct outputs got,
                         struct outputs want)
{
    for (int a = 0; a < want.count; a++)
        if (compare_exact(want.array[a].name, got.array[a].value, want.array[a].value,
                          (size_t)want.segments * want.array[a].each))
            fail_msg("%s: other bytes than in f32: %s", what, k->name);
    outputs_free(&got);
    outputs_free(&want);
}

/* Operations without a layer's matrix: the bytes of f32. */
static void test_rest(void **unused)
{
    static const struct attention_case attention = {.segments = 2,
                                                    .heads = 2,
                                                    .kv_heads = 1,
                                                    .head_size = 12,
                                                    .positions = 130,
                                                    .keys = 130,
                                                    .queries = 130,
                                                    .size = 1,
                                                    .bias = BIAS_GENTLE};
    static const struct head_case head = {
        .segments = 2, .width = 33, .vocabulary = 300, .bias = 1, .seed = 1, .size = 1};
    static const struct head_rows_case head_rows = {
        .segments = 2, .rows = 40, .width = 33, .vocabulary = 300, .size = 1};
    static const struct norm_case norm = {
        .segments = 2, .rows = 9, .width = 77, .kind = NORM_LAYER, .shift = 1};
    static const struct activation_case activation = {
        .segments = 1, .rows = 9, .width = 77, .gated = 1, .size = 1};
    (void)unused;
    for (int s = 0; s < set_count; s++) {
        if (!rounds_attention(sets[s]))
            require_same("attention", sets[s], run_attention(sets[s], &attention, 0),
                         run_attention(plain[s], &attention, 0));
        require_same("head", sets[s], run_head(sets[s], &head, 0), run_head(plain[s], &head, 0));
        require_same("head of rows", sets[s], run_head_rows(sets[s], &head_rows, 0),
                     run_head_rows(plain[s], &head_rows, 0));
        require_same("norm", sets[s], run_norm(sets[s], &norm, 0), run_norm(plain[s], &norm, 0));
        require_same("activation", sets[s], run_activation(sets[s], &activation, 0),
                     run_activation(plain[s], &activation, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),       cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_operands),     cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_denormals),    cmocka_unit_test(test_instructions_in_f32),
        cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
