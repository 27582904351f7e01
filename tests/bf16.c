#include "tests/bf16.h"

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
#include <stdlib.h>
#include <string.h>

struct kernels *bf16_sets[BF16_SETS_MOST], *bf16_plain[BF16_SETS_MOST];
int bf16_set_count;
struct kernels *bf16_oracle;

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

int bf16_open(const char *dtype)
{
    static const char *const names[] = {"generic", "avx2", "avx512", "avx512_bf16", "amx"};
    omp_set_num_threads(2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("REACH_ISA", names[i], 1);
        bf16_sets[bf16_set_count] = open_set("cpu", dtype);
        if (i > 2)
            setenv("REACH_ISA", "avx512", 1); /* what it is in f32 */
        if (bf16_sets[bf16_set_count] && (bf16_plain[bf16_set_count] = open_set("cpu", "f32")))
            bf16_set_count++;
    }
    unsetenv("REACH_ISA");
    bf16_sets[bf16_set_count] = open_set("reference", dtype);
    bf16_plain[bf16_set_count] = open_set("reference", "f32");
    bf16_oracle = open_set("reference", "f64");
    return bf16_set_count && bf16_sets[bf16_set_count] && bf16_plain[bf16_set_count++] &&
                   bf16_oracle
               ? 0
               : -1;
}

void bf16_close(void)
{
    for (; bf16_set_count; bf16_set_count--) {
        bf16_sets[bf16_set_count - 1]->close(bf16_sets[bf16_set_count - 1]);
        bf16_plain[bf16_set_count - 1]->close(bf16_plain[bf16_set_count - 1]);
    }
    bf16_oracle->close(bf16_oracle);
}

const struct product_size product_sizes[] = {
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
const int product_size_count = sizeof product_sizes / sizeof *product_sizes;

void product_both(double *got, struct kernels *k, const struct product_size *z, const double *x,
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

struct kernels *bf16_instructions(int n)
{
    for (int s = 0; s < bf16_set_count - 1; s++)
        if (cpu_state(bf16_sets[s])->products->multiply_bf16 && n-- == 0)
            return bf16_sets[s];
    return NULL;
}

struct tile_product tile_product_of(size_t m, size_t n, size_t depth, size_t spare, int transposed,
                                    int accumulate, int terms)
{
    struct tile_product p = {.m = m,
                             .n = n,
                             .depth = depth,
                             .spare = spare,
                             .transposed = transposed,
                             .accumulate = accumulate,
                             .terms = terms};
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

void tile_product_free(struct tile_product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->room);
}

float *tile_left(const struct tile_product *p, size_t r, size_t k)
{
    return p->a + r * p->lda + k;
}

float *tile_right(const struct tile_product *p, size_t k, size_t c)
{
    return p->b + (p->transposed ? c * p->ldb + k : k * p->ldb + c);
}

float *tile_product_run(struct kernels *k, const struct tile_product *p)
{
    float *c = allocate(p->c_count * sizeof *c);
    memcpy(c, p->c, p->c_count * sizeof *c);
    cpu_state(k)->products->multiply_bf16(c, p->ldc, p->a, p->lda, p->b, p->ldb, p->transposed,
                                          p->m, p->n, p->depth, p->accumulate, p->terms, p->room);
    return c;
}

/* What products of the terms of x and y add up. */
static double product_of_terms(double x, double y, int terms)
{
    double high_x = element_round(x, ELEMENT_BF16), high_y = element_round(y, ELEMENT_BF16);
    if (terms == 1)
        return high_x * high_y;
    return high_x * high_y + high_x * element_round(y - high_y, ELEMENT_BF16) +
           element_round(x - high_x, ELEMENT_BF16) * high_y;
}

/* Each of the depth's products is added once and each piece once, so that no result is off by more
 * than (depth + pieces) 2^-24 of the sum of sizes, and a hundredth for products of such roundings.
 * What lies between the rows of c stays. */
static void check_instructions(struct kernels *k, int terms)
{
    static const size_t sizes[][4] = {/* m, n, depth, spare */
                                      {1, 1, 1, 0},      {14, 32, 2, 0},    {13, 31, 3, 1},
                                      {15, 33, 31, 5},   {28, 17, 33, 2},   {40, 16, 767, 3},
                                      {29, 65, 768, 0},  {3, 48, 769, 7},   {225, 40, 64, 1},
                                      {1037, 34, 10, 3}, {9, 385, 1537, 0}, {16, 100, 100, 4},
                                      {21, 35, 257, 2}};
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        const size_t *z = sizes[i / 4];
        struct tile_product p = tile_product_of(z[0], z[1], z[2], z[3], i & 1, i >> 1 & 1, terms);
        double depth = (double)(p.depth * (size_t)terms), most = 1.01 * (depth + ceil(depth / 768));
        float *c = tile_product_run(k, &p);
        for (size_t r = 0; r < p.m; r++)
            for (size_t j = 0; j < p.ldc; j++) {
                double before = p.c[r * p.ldc + j], got = c[r * p.ldc + j],
                       sum = j < p.n && !p.accumulate ? 0 : before, size = j < p.n ? fabs(sum) : 0;
                for (size_t at = 0; j < p.n && at < p.depth; at++) {
                    double one = product_of_terms(*tile_left(&p, r, at), *tile_right(&p, at, j),
                                                  terms);
                    sum += one;
                    size += fabs(one);
                }
                if (!(fabs(got - sum) <= most * 0x1p-24 * size))
                    fail_msg("%s: %zu x %zu x %zu, transposed %d, accumulate %d: [%zu, %zu] is "
                             "%.9g (expected %.9g)",
                             k->name, p.m, p.n, p.depth, p.transposed, p.accumulate, r, j, got,
                             sum);
            }
        free(c);
        tile_product_free(&p);
    }
}

void bf16_check_instructions(int terms)
{
    struct kernels *k;
    for (int n = 0; (k = bf16_instructions(n)); n++)
        check_instructions(k, terms);
}

static void check_not_finite(struct kernels *k, const float *bad, int count, int terms)
{
    for (int i = 0; i < 4 * count; i++) {
        struct tile_product p = tile_product_of(31, 45, 35, 0, i & 1, 0, terms);
        int in_left = i >> 1 & 1;
        float *want = tile_product_run(k, &p);
        *(in_left ? tile_left(&p, 17, 34) : tile_right(&p, 34, 40)) = bad[i / 4];
        float *got = tile_product_run(k, &p);
        for (size_t r = 0; r < p.m; r++)
            for (size_t c = 0; c < p.n; c++) {
                size_t at = r * p.ldc + c;
                float other = in_left ? *tile_right(&p, 34, c) : *tile_left(&p, r, 34);
                int reached = in_left ? r == 17 : c == 40;
                if (reached ? isnan(bad[i / 4])
                                  ? !isnan(got[at])
                                  : got[at] != (float)copysign(INFINITY, bad[i / 4] * other)
                            : memcmp(&got[at], &want[at], sizeof *got) != 0)
                    fail_msg("%s: %a in the %s, transposed %d: [%zu, %zu] is %a", k->name,
                             (double)bad[i / 4], in_left ? "left" : "right", p.transposed, r, c,
                             (double)got[at]);
            }
        free(want);
        free(got);
        tile_product_free(&p);
    }
}

void bf16_check_not_finite(const float *bad, int count, int terms)
{
    struct kernels *k;
    for (int n = 0; (k = bf16_instructions(n)); n++)
        check_not_finite(k, bad, count, terms);
}

void bf16_check_tiles(void)
{
    static const struct product_size sizes[] = {{1050, 40, 1200, 0, 0, 0},
                                                {1050, 40, 1200, 1, 1, 0},
                                                {1050, 800, 20, 0, 0, 0}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const struct product_size *z = &sizes[n];
        size_t rows = (size_t)z->rows, in = (size_t)z->in, out = (size_t)z->out,
               count = rows * (in + out);
        double *x = random_values(rows * in, 1, 0.5), *y = random_values(rows * out, 2, 0.5),
               *w = random_values(out * in, 3, 0.05), *want = allocate(count * sizeof *want),
               *got = allocate(count * sizeof *got);
        for (int s = 0; s < bf16_set_count - 1; s++) {
            product_both(want, bf16_sets[s], z, x, y, w);
            for (int threads = 1; threads <= 5; threads++) {
                omp_set_num_threads(threads);
                product_both(got, bf16_sets[s], z, x, y, w);
                if (memcmp(got, want, count * sizeof *got) != 0)
                    fail_msg("%s, %d threads: %d x %d x %d", bf16_sets[s]->name, threads, z->rows,
                             z->in, z->out);
            }
            omp_set_num_threads(2);
        }
        double *all[] = {x, y, w, want, got};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
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

void bf16_check_rest(void)
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
    for (int s = 0; s < bf16_set_count; s++) {
        if (!rounds_attention(bf16_sets[s]))
            require_same("attention", bf16_sets[s], run_attention(bf16_sets[s], &attention, 0),
                         run_attention(bf16_plain[s], &attention, 0));
        require_same("head", bf16_sets[s], run_head(bf16_sets[s], &head, 0),
                     run_head(bf16_plain[s], &head, 0));
        require_same("head of rows", bf16_sets[s], run_head_rows(bf16_sets[s], &head_rows, 0),
                     run_head_rows(bf16_plain[s], &head_rows, 0));
        require_same("norm", bf16_sets[s], run_norm(bf16_sets[s], &norm, 0),
                     run_norm(bf16_plain[s], &norm, 0));
        require_same("activation", bf16_sets[s], run_activation(bf16_sets[s], &activation, 0),
                     run_activation(bf16_plain[s], &activation, 0));
    }
}
