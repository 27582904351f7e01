/* One operation of a kernel set on inputs made from a seed: see kernel_run.h. Attention is in
 * kernel_attention.c. */
#include "tests/kernel_run.h"

#include "kernels/plugin.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    assert_non_null(p);
    return p;
}

void outputs_free(struct outputs *o)
{
    for (int i = 0; i < o->count; i++) {
        free(o->array[i].value);
        free(o->array[i].bound);
    }
    o->count = 0;
}

/* A 32-bit mixing of counter and seed. */
static uint32_t mix(uint32_t i, uint32_t seed)
{
    uint32_t h = (i + 1) * 2654435761u + seed * 2246822519u;
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return h ^ h >> 16;
}

static void random_into(double *out, size_t n, unsigned seed, double scale)
{
    for (size_t i = 0; i < n; i++)
        out[i] = scale * (((double)(mix((uint32_t)i, seed) >> 7) - 0x1p24) * 0x1p-23);
}

double *random_values(size_t n, unsigned seed, double scale)
{
    double *out = allocate(n * sizeof *out);
    random_into(out, n, seed, scale);
    return out;
}

double *random_segments(int segments, int first, size_t each, unsigned seed, double scale)
{
    double *out = allocate((size_t)segments * each * sizeof *out);
    for (int s = 0; s < segments; s++)
        random_into(out + (size_t)s * each, each, seed + 1000u * (unsigned)(first + s), scale);
    return out;
}

struct buffer *buffer_new(struct kernels *k, enum buffer_role role, size_t count)
{
    struct error e;
    struct buffer *b = k->create(k, role, count, &e);
    if (!b)
        fail_msg("%s: %s", k->name, e.text);
    return b;
}

struct buffer *buffer_of(struct kernels *k, enum buffer_role role, const double *values,
                         size_t count)
{
    struct buffer *b = buffer_new(k, role, count);
    k->write(k, b, 0, values, count);
    return b;
}

struct buffer *index_of(struct kernels *k, const int32_t *values, size_t count)
{
    struct buffer *b = buffer_new(k, ROLE_INDEX, count);
    k->write_index(k, b, 0, values, count);
    return b;
}

struct weight *weight_of(struct kernels *k, enum weight_use use, const double *values, size_t rows,
                         size_t columns)
{
    struct weight_part part = {values,  ELEMENT_F64, 1, rows, columns, rows * columns,
                               columns, 1,           0, 0,    NULL,    0};
    struct error e;
    struct weight *w = k->weight_load(k, use, &part, 1, &e);
    if (!w)
        fail_msg("%s: %s", k->name, e.text);
    return w;
}

struct output *kernel_collect(struct outputs *o, struct kernels *k, const char *name,
                              struct buffer *b, size_t each, int bounds)
{
    struct output *out = &o->array[o->count++];
    size_t count = (size_t)o->segments * each;
    struct error e;
    out->name = name;
    out->each = each;
    out->value = allocate(count * sizeof(double));
    out->bound = bounds ? allocate(count * sizeof(double)) : NULL;
    k->read(k, out->value, b, 0, count);
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    k->destroy(k, b);
    return out;
}

double kernel_largest(const double *x, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(x[i]));
    return m;
}

static void absolute(double *x, size_t n)
{
    for (size_t i = 0; x && i < n; i++)
        x[i] = fabs(x[i]);
}

int set_usable(const struct kernel_set_entry *set)
{
    struct error e = {""};
    if (set->usable())
        return 1;
    if (getenv("REACH_CUDA") && !strcmp(set->name, "cuda") && plugin_devices(&e) == 0)
        fail_msg("REACH_CUDA is set and the cuda set cannot run: %s", e.text);
    return 0;
}

void thread_order(const char *seed)
{
    static char before[32];
    const char *named = getenv("REACH_CUDA_HOST_SEED");
    if (!before[0])
        snprintf(before, sizeof before, "%s", named && *named ? named : "0");
    setenv("REACH_CUDA_HOST_SEED", seed ? seed : before, 1);
}

int rounds_attention(const struct kernels *k)
{
    return !strcmp(k->dtype, "bf16") &&
           (strstr(k->name, "(avx512_bf16, ") || strstr(k->name, "(amx, "));
}

/* Where element (row, column) of a matrix with blocks on the diagonals of both its halves is among
 * those of its blocks, stored [half, block, in, out] or, not turned, [half, block, out, in]; -1: it
 * is zero. */
static long place_in_blocks(const struct linear_case *c, size_t row, size_t column)
{
    size_t blocks = (size_t)c->blocks, rows = (size_t)c->out / 2 / blocks,
           columns = (size_t)c->in / blocks, half = row / rows / blocks,
           block = row / rows % blocks, first = (half * blocks + block) * rows * columns;
    if (column / columns != block)
        return -1;
    row %= rows, column %= columns;
    return (long)(first + (c->bias ? column * rows + row : row * columns + column));
}

/* The matrix, whose elements outside of blocks become 0; `stored` is its blocks. */
static struct weight *blocks_of(struct kernels *k, const struct linear_case *c, double *w,
                                float *stored)
{
    size_t in = (size_t)c->in, out = (size_t)c->out, blocks = (size_t)c->blocks,
           rows = out / 2 / blocks, columns = in / blocks;
    struct weight_part parts[2];
    struct error e;
    for (size_t i = 0; i < in * out; i++) {
        long at = place_in_blocks(c, i / in, i % in);
        w[i] = at < 0 ? 0 : (float)w[i];
        if (at >= 0)
            stored[at] = (float)w[i];
    }
    for (size_t i = 0; i < 2; i++)
        parts[i] = (struct weight_part){.data = stored + i * blocks * rows * columns,
                                        .type = ELEMENT_F32,
                                        .groups = blocks,
                                        .rows = rows,
                                        .columns = in,
                                        .group_stride = rows * columns,
                                        .row_stride = c->bias ? 1 : columns,
                                        .column_stride = c->bias ? rows : 1,
                                        .diagonal = 1};
    struct weight *weight = k->weight_load(k, WEIGHT_MATRIX, parts, 2, &e);
    if (!weight)
        fail_msg("%s", e.text);
    return weight;
}

struct outputs run_linear(struct kernels *k, const struct linear_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t in = (size_t)c->in, out = (size_t)c->out, x_each = (size_t)c->rows * in,
           y_each = (size_t)c->rows * out, S = (size_t)c->segments;
    struct rows rows = {c->segments, c->rows};
    double *x = random_segments(c->segments, c->first, x_each, 1, 1),
           *dy = random_segments(c->segments, c->first, y_each, 2, 1);
    double *y0 = random_segments(c->segments, c->first, y_each, 3, 1),
           *dx0 = random_segments(c->segments, c->first, x_each, 4, 1);
    double *w = random_values(in * out, 5, 0.25), *b = c->bias ? random_values(out, 6, 1) : NULL;
    float *stored = c->blocks ? allocate(in * out / (size_t)c->blocks * sizeof *stored) : NULL;
    for (int pass = 0; pass <= bounds;
         pass++) { /* the second on absolute values: the size of every sum */
        struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * x_each),
                      *by = buffer_of(k, ROLE_RESIDUAL, y0, S * y_each);
        struct buffer *bdy = buffer_of(k, ROLE_ACTIVATION, dy, S * y_each);
        struct buffer *bdx = buffer_of(k, c->rows % 2 ? ROLE_RESIDUAL : ROLE_ACTIVATION, dx0,
                                       S * x_each); /* either will do */
        struct weight *weight = c->blocks ? blocks_of(k, c, w, stored)
                                          : weight_of(k, WEIGHT_MATRIX, w, out, in),
                      *bias = b ? weight_of(k, WEIGHT_VECTOR, b, out, 1) : NULL;
        if (c->accumulate == 2) {
            struct buffer *onto = buffer_of(k, ROLE_RESIDUAL, y0, S * y_each);
            k->destroy(k, by);
            by = buffer_of(k, ROLE_RESIDUAL, dy, S * y_each); /* which is overwritten */
            k->linear_add(k, by, onto, bx, weight, bias, rows);
            k->destroy(k, onto);
        } else
            k->linear(k, by, bx, weight, bias, rows, c->accumulate);
        k->linear_reverse(k, bdx, bdy, weight, rows, c->accumulate);
        if (pass == 0) {
            kernel_collect(&o, k, "linear y", by, y_each, bounds);
            kernel_collect(&o, k, "linear dx", bdx, x_each, bounds);
        } else {
            /* n products and sums: the error grows as sqrt(n) for rounding errors of either sign,
             * and a few more for bias and accumulation */
            k->read(k, o.array[0].bound, by, 0, S * y_each);
            k->read(k, o.array[1].bound, bdx, 0, S * x_each);
            for (size_t i = 0; i < S * y_each; i++)
                o.array[0].bound[i] *= 4 + sqrt((double)in);
            for (size_t i = 0; i < S * x_each; i++)
                o.array[1].bound[i] *= 4 + sqrt((double)out);
            k->destroy(k, by);
            k->destroy(k, bdx);
        }
        k->destroy(k, bx);
        k->destroy(k, bdy);
        k->weight_free(k, weight);
        k->weight_free(k, bias);
        absolute(x, S * x_each), absolute(y0, S * y_each), absolute(dy, S * y_each),
            absolute(dx0, S * x_each), absolute(w, in * out), absolute(b, out);
    }
    free(x), free(dy), free(y0), free(dx0), free(w), free(b), free(stored);
    return o;
}

/* Bounds for `count` norms of `width` numbers each, one behind the other: u = (x - mean) f is wrong
 * by a few roundings of x f; everything else follows from u and the size of g. With NORM_LENGTH
 * |sum g u| may be sqrt(width) times the size of g, with the others |mean g u| at most that size.
 */
static void bound_norms(struct output *y, struct output *st, struct output *dx, const double *x,
                        const double *dy, const double *dx0, const double *scale,
                        const double *shift, enum norm_kind kind, size_t count, size_t width,
                        size_t own)
{
    const double *all_scales = scale, *all_shifts = shift;
    for (size_t r = 0; r < count; r++) {
        scale = all_scales + r % own * width, shift = all_shifts + r % own * width;
        double factor = st->value[2 * r + 1], size = kernel_largest(x + r * width, width),
               u = 1 + size * factor, g = 0;
        for (size_t i = 0; i < width; i++)
            g = fmax(g, fabs(dy[r * width + i] * scale[i]));
        if (kind == NORM_LENGTH)
            g *= sqrt((double)width);
        st->bound[2 * r] = 8 * size;
        st->bound[2 * r + 1] = 16 * factor * u * u;
        for (size_t i = r * width; i < (r + 1) * width; i++) {
            y->bound[i] = 16 * u * (fabs(scale[i - r * width]) + fabs(y->value[i])) +
                          16 * fabs(shift[i - r * width]);
            dx->bound[i] = 16 * factor * g * u * u + (dx0 ? 2 * fabs(dx0[i]) : 0);
        }
    }
}

struct outputs run_norm(struct kernels *k, const struct norm_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->width, count = (size_t)c->rows, each = count * width,
           S = (size_t)c->segments, given = c->vectors == VECTORS_FULL ? width : 1;
    struct rows rows = {c->segments, c->rows};
    double *x = random_segments(c->segments, c->first, each, 1, 0.5),
           *dy = random_segments(c->segments, c->first, each, 2, 1);
    double *dx0 = random_segments(c->segments, c->first, each, 3, 1),
           *scale = random_values(width, 4, 1), *shift = random_values(width, 5, 1);
    for (size_t i = 0; i < S * each; i++)
        x[i] = (double)(float)(x[i] + c->mean);
    for (size_t i = 0; i < width && c->vectors != VECTORS_FULL; i++) {
        scale[i] = c->vectors == VECTORS_ONE ? scale[0] : 1;
        shift[i] = shift[0];
    }
    struct buffer *bx = buffer_of(k, ROLE_RESIDUAL, x, S * each),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, dy, S * each);
    struct buffer *bdx = buffer_of(k, ROLE_RESIDUAL, dx0, S * each),
                  *by = buffer_new(k, ROLE_ACTIVATION, S * each);
    struct buffer *statistics = buffer_new(k, ROLE_STATISTIC, S * count * 2);
    struct weight *w = c->vectors == VECTORS_NONE ? NULL
                                                  : weight_of(k, WEIGHT_VECTOR, scale, given, 1);
    struct weight *b = c->shift ? weight_of(k, WEIGHT_VECTOR, shift, given, 1) : NULL;
    struct norm norm = {c->kind, c->epsilon > 0 ? c->epsilon : 1e-5, w, b};
    k->norm(k, by, statistics, bx, &norm, rows, c->width);
    struct buffer *rounded = buffer_new(k, ROLE_ACTIVATION, S * each),
                  *again = buffer_new(k, ROLE_ACTIVATION, S * each);
    k->norm_reverse(k, bdx, rounded, bdy, bx, statistics, &norm, rows, c->width, c->accumulate);
    k->copy(k, again, bdx, rows, c->width);
    double *taken[] = {allocate(S * each * sizeof(double)), allocate(S * each * sizeof(double))};
    k->read(k, taken[0], rounded, 0, S * each);
    k->read(k, taken[1], again, 0, S * each);
    assert_memory_equal(taken[0], taken[1], S * each * sizeof(double));
    k->destroy(k, rounded);
    k->destroy(k, again);
    free(taken[0]), free(taken[1]);
    struct output *y = kernel_collect(&o, k, "norm y", by, each, bounds),
                  *st = kernel_collect(&o, k, "norm statistics", statistics, 2 * count, bounds);
    struct output *dx = kernel_collect(&o, k, "norm dx", bdx, each, bounds);
    if (bounds)
        bound_norms(y, st, dx, x, dy, dx0, scale, shift, c->kind, S * count, width, 1);
    k->destroy(k, bx);
    k->destroy(k, bdy);
    k->weight_free(k, w);
    k->weight_free(k, b);
    free(x), free(dy), free(dx0), free(scale), free(shift);
    return o;
}

/* The heads of rows[R, width] among zeros elsewhere, one behind the other: [R, heads, size]. */
static double *heads_of(const double *rows, size_t count, size_t heads, size_t size, size_t width)
{
    double *out = allocate(count * heads * size * sizeof *out);
    for (size_t r = 0; r < count; r++)
        memcpy(out + r * heads * size, rows + r * width, heads * size * sizeof *out);
    return out;
}

struct outputs run_norm_heads(struct kernels *k, const struct heads_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->width, heads = (size_t)c->heads, size = (size_t)c->head_size,
           count = (size_t)c->rows, each = count * width;
    size_t S = (size_t)c->segments, n = S * each;
    struct rows rows = {c->segments, c->rows};
    size_t given = c->each ? heads * size : size;
    double *x = random_segments(c->segments, c->first, each, 1, 0.5),
           *dy = random_segments(c->segments, c->first, each, 2, 1);
    double *y0 = random_segments(c->segments, c->first, each, 3, 1),
           *scale = random_values(given, 4, 1), *shift = random_values(given, 5, 1);
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, n),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, dy, n),
                  *by = buffer_of(k, ROLE_ACTIVATION, y0, n);
    struct buffer *bdx = c->alias ? bdy : buffer_of(k, ROLE_ACTIVATION, dy, n),
                  *statistics = buffer_new(k, ROLE_STATISTIC, S * count * heads * 2);
    struct weight *w = weight_of(k, WEIGHT_VECTOR, scale, given, 1),
                  *b = c->shift ? weight_of(k, WEIGHT_VECTOR, shift, given, 1) : NULL;
    struct norm norm = {c->kind, 1e-5, w, b};
    k->norm_heads(k, by, statistics, bx, &norm, rows, c->heads, c->head_size, c->width);
    k->norm_heads_reverse(k, bdx, bdy, bx, statistics, &norm, rows, c->heads, c->head_size,
                          c->width);
    struct output *y = kernel_collect(&o, k, "norm_heads y", by, each, bounds),
                  *st = kernel_collect(&o, k, "norm_heads statistics", statistics,
                                       2 * count * heads, bounds);
    struct output *dx = kernel_collect(&o, k, "norm_heads dx", bdx, each, bounds);
    if (bounds) {
        /* of the heads one behind the other, then put back; what lies behind a row's heads is as it
         * was: bound 0 */
        struct output part_y = {.value = heads_of(y->value, S * count, heads, size, width)},
                      part_dx = {0};
        double *part_x = heads_of(x, S * count, heads, size, width),
               *part_dy = heads_of(dy, S * count, heads, size, width);
        part_y.bound = allocate(S * count * heads * size * sizeof(double));
        part_dx.bound = allocate(S * count * heads * size * sizeof(double));
        bound_norms(&part_y, st, &part_dx, part_x, part_dy, NULL, scale, shift, c->kind,
                    S * count * heads, size, c->each ? heads : 1);
        for (size_t r = 0; r < S * count; r++) {
            memcpy(y->bound + r * width, part_y.bound + r * heads * size,
                   heads * size * sizeof(double));
            memcpy(dx->bound + r * width, part_dx.bound + r * heads * size,
                   heads * size * sizeof(double));
        }
        free(part_y.value), free(part_y.bound), free(part_dx.bound), free(part_x), free(part_dy);
    }
    k->destroy(k, bx);
    if (!c->alias)
        k->destroy(k, bdy);
    k->weight_free(k, w);
    k->weight_free(k, b);
    free(x), free(dy), free(y0), free(scale), free(shift);
    return o;
}

struct outputs run_clip(struct kernels *k, const struct clip_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t each = (size_t)c->rows * (size_t)c->width, n = (size_t)c->segments * each;
    struct rows rows = {c->segments, c->rows};
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *dy = random_segments(c->segments, c->first, each, 2, 1);
    for (size_t i = 0; i < n; i++)
        x[i] = rint(x[i] * 64) /
               64; /* as bf16 has it too: some stand at the limit before it is put upon them */
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, n),
                  *bdx = buffer_of(k, ROLE_ACTIVATION, dy, n);
    k->clip(k, bx, c->limit, rows, c->width);
    k->clip_reverse(k, bdx, bx, c->limit, rows, c->width);
    kernel_collect(&o, k, "clip dx", bdx, each, bounds); /* bound 0: chosen, not computed */
    struct output *y = kernel_collect(&o, k, "clip x", bx, each, bounds);
    for (size_t i = 0; bounds && i < n; i++)
        y->bound[i] = c->limit; /* the limit is rounded */
    struct buffer *scaled = buffer_of(k, ROLE_RESIDUAL, x, n);
    k->scale(k, scaled, c->limit, rows, c->width);
    y = kernel_collect(&o, k, "scaled", scaled, each, bounds);
    for (size_t i = 0; bounds && i < n; i++)
        y->bound[i] = 2 * fabs(c->limit * x[i]); /* the factor is rounded, and the product */
    struct buffer *zeros = buffer_of(k, ROLE_RESIDUAL, dy, n);
    k->scale(k, zeros, 0, rows, c->width);
    kernel_collect(&o, k, "zeros", zeros, each, bounds); /* bound 0 */
    free(x), free(dy);
    return o;
}

/* The derivative jumps at the limit: values stay further from it than a short type rounds. */
static void leave_limit(double *values, size_t count, double limit)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(fabs(values[i]) - limit) < limit / 128)
            values[i] = copysign(limit * (1 + 1.0 / 32), values[i]);
}

struct outputs run_activation(struct kernels *k, const struct activation_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t each = (size_t)c->rows * (size_t)c->width, n = (size_t)c->segments * each;
    struct rows rows = {c->segments, c->rows};
    double *up = random_segments(c->segments, c->first, each, 1, c->size),
           *gate = random_segments(c->segments, c->first, each, 2, c->size);
    double *da = random_segments(c->segments, c->first, each, 3, 1);
    if (c->kind == ACTIVATION_CLAMPED)
        leave_limit(up, n, ACTIVATION_LIMIT), leave_limit(gate, n, ACTIVATION_LIMIT);
    struct buffer *bu = buffer_of(k, ROLE_ACTIVATION, up, n),
                  *bg = c->gated ? buffer_of(k, ROLE_ACTIVATION, gate, n) : NULL;
    struct buffer *bda = buffer_of(k, ROLE_ACTIVATION, da, n),
                  *bdg = c->gated ? buffer_new(k, ROLE_ACTIVATION, n) : NULL;
    struct buffer *bdu = c->alias ? bda : buffer_new(k, ROLE_ACTIVATION, n),
                  *ba = c->alias ? bu : buffer_new(k, ROLE_ACTIVATION, n);
    k->activate_reverse(k, bdu, bdg, bda, bu, bg, c->kind, rows, c->width);
    k->activate(k, ba, bu, bg, c->kind, rows, c->width);
    if (!c->alias) {
        k->destroy(k, bu);
        k->destroy(k, bda);
    }
    struct output *a = kernel_collect(&o, k, "activate a", ba, each, bounds),
                  *du = kernel_collect(&o, k, "activate d_up", bdu, each, bounds);
    struct output *dg = c->gated ? kernel_collect(&o, k, "activate d_gate", bdg, each, bounds)
                                 : NULL;
    for (size_t i = 0; bounds && i < n; i++) {
        /* act(z) and act'(z) come from factors of size |z| and 1 + |z| times a sigmoid, tanh or erf
         * that is good to a few roundings */
        double z = fabs(c->gated ? gate[i] : up[i]),
               other = !c->gated                       ? 1
                       : c->kind == ACTIVATION_CLAMPED ? 1 + fmin(fabs(up[i]), ACTIVATION_LIMIT)
                                                       : fabs(up[i]);
        double most = c->kind == ACTIVATION_RELU_SQUARED ? z : 1; /* of the factor on z */
        double value = c->kind == ACTIVATION_SIGMOID ? 1 + z : z * most;
        double slope = 1 + z;
        if (c->kind == ACTIVATION_TANH) /* to its own size, down to the least float */
            slope = (1 + z) / (cosh(z) * cosh(z)) + 0x1p-99;
        a->bound[i] = 8 * value * other;
        du->bound[i] = 8 * fabs(da[i]) * (c->gated ? value : slope);
        if (dg)
            dg->bound[i] = 8 * fabs(da[i]) * other * slope;
    }
    k->destroy(k, bg);
    free(up), free(gate), free(da);
    return o;
}

struct outputs run_xielu(struct kernels *k, const struct xielu_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t each = (size_t)c->rows * (size_t)c->width, n = (size_t)c->segments * each;
    struct rows rows = {c->segments, c->rows};
    const struct xielu *numbers = &c->numbers;
    double *x = random_segments(c->segments, c->first, each, 1, c->size),
           *dy = random_segments(c->segments, c->first, each, 2, 1);
    leave_limit(x, n, fabs(numbers->limit));
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, n),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, dy, n),
                  *by = c->alias ? bx : buffer_new(k, ROLE_ACTIVATION, n),
                  *bdx = c->alias ? bdy : buffer_new(k, ROLE_ACTIVATION, n);
    k->xielu_reverse(k, bdx, bdy, bx, numbers, rows, c->width);
    k->xielu(k, by, bx, numbers, rows, c->width);
    if (!c->alias) {
        k->destroy(k, bx);
        k->destroy(k, bdy);
    }
    struct output *y = kernel_collect(&o, k, "xielu y", by, each, bounds),
                  *dx = kernel_collect(&o, k, "xielu dx", bdx, each, bounds);
    for (size_t i = 0; bounds && i < n; i++) {
        double z = fabs(x[i]), slope = 2 * numbers->positive * (x[i] > 0 ? z : 0) +
                                       numbers->negative + fabs(numbers->linear);
        y->bound[i] = 8 * (z * slope + numbers->negative * fabs(numbers->limit));
        dx->bound[i] = 8 * fabs(dy[i]) * slope;
    }
    free(x), free(dy);
    return o;
}

uint16_t *upper_halves(const double *values, size_t n)
{
    uint16_t *out = allocate(n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        out[i] = (uint16_t)(bits >> 16);
    }
    return out;
}

struct weight *kernel_table_of(struct kernels *k, const double *values, const uint16_t *halves,
                               size_t rows, size_t columns)
{
    struct weight_part part = {
        halves, ELEMENT_BF16, 1, rows, columns, rows * columns, columns, 1, 0, 0, NULL, 0};
    struct error e;
    if (!halves)
        return weight_of(k, WEIGHT_TABLE, values, rows, columns);
    struct weight *w = k->weight_load(k, WEIGHT_TABLE, &part, 1, &e);
    if (!w)
        fail_msg("%s: %s", k->name, e.text);
    return w;
}
