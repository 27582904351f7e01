/* Operations on rows in kernel_run.h: embeddings, rotations, moves, norms of rows. */
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

struct outputs run_embed(struct kernels *k, const struct rows_case *c, int bounds)
{
    enum { VOCABULARY = 37 };
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->heads * (size_t)c->head_size, count = (size_t)c->rows,
           S = (size_t)c->segments;
    double *table = random_values(VOCABULARY * width, 1, 1),
           *positions = random_values(((size_t)c->positions + 2) * width, 2, 1);
    double *pick = random_segments(c->segments, c->first, count, 3, 1), scale = 3.1;
    int32_t *ids = allocate(S * count * sizeof *ids);
    for (size_t i = 0; i < S * count; i++)
        ids[i] = (int32_t)((pick[i] + 2) / 4 * VOCABULARY);
    struct buffer *tokens = index_of(k, ids, S * count),
                  *bx = buffer_new(k, ROLE_RESIDUAL, S * count * width);
    size_t shifts = (size_t)c->positions + 2;
    uint16_t *table_halves = c->tables_bf16 & 1 ? upper_halves(table, VOCABULARY * width) : NULL,
             *position_halves = c->tables_bf16 & 2 ? upper_halves(positions, shifts * width) : NULL;
    struct weight *w = kernel_table_of(k, table, table_halves, VOCABULARY, width),
                  *p = c->position_rows
                           ? kernel_table_of(k, positions, position_halves, shifts, width)
                           : NULL;
    k->embed(k, bx, tokens, w, p, c->positions, scale, (struct rows){c->segments, c->rows},
             (int)width);
    struct output *x = kernel_collect(&o, k, "embed x", bx, count * width, bounds);
    for (size_t i = 0; bounds && i < S * count * width; i++)
        x->bound[i] = 4 * (2 * scale + 2);
    k->destroy(k, tokens);
    k->weight_free(k, w);
    k->weight_free(k, p);
    free(table), free(positions), free(pick), free(ids), free(table_halves), free(position_halves);
    return o;
}

struct outputs run_rotate(struct kernels *k, const struct rows_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    /* more dimensions in a row than its heads have: they stay as they are. Rows of odd numbers of
     * heads are aligned for vectors
     */
    size_t width = (size_t)c->heads * (size_t)c->head_size + (c->heads % 2 ? 4 : 2),
           each = (size_t)c->rows * width, n = (size_t)c->segments * each;
    size_t pairs = (size_t)c->rotary_size / 2, angles = (size_t)c->positions * pairs;
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *cosine = allocate(angles * sizeof(double)), *sine = allocate(angles * sizeof(double));
    for (size_t i = 0; i < angles; i++) {
        double angle = (double)(i / pairs) *
                       pow(10000, -2.0 * (double)(i % pairs) / c->rotary_size);
        cosine[i] = cos(angle);
        sine[i] = sin(angle);
    }
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->heads,
                                    .head_size = c->head_size,
                                    .positions = c->positions,
                                    .scale = 1,
                                    .rotary_size = c->rotary_size,
                                    .rotary_first = c->rotary_first,
                                    .pairing = c->pairing,
                                    .cosine = cosine,
                                    .sine = sine};
    struct error e;
    struct attention *a = k->attention_create(k, &shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    struct buffer *turned = buffer_of(k, ROLE_ACTIVATION, x, n),
                  *back = buffer_new(k, ROLE_ACTIVATION, n);
    struct rows rows = {c->segments, c->rows};
    k->rotate(k, turned, a, rows, c->heads, (int)width, 1);
    k->copy(k, back, turned, rows, (int)width);
    k->rotate(k, back, a, rows, c->heads, (int)width, -1);
    struct output *t = kernel_collect(&o, k, "rotate turned", turned, each, bounds),
                  *b = kernel_collect(&o, k, "rotate back", back, each, bounds);
    for (size_t i = 0; bounds && i < n; i++)
        t->bound[i] = 4 * 4, b->bound[i] = 8 * 4;
    k->attention_free(k, a);
    free(x), free(cosine), free(sine);
    return o;
}

struct outputs run_scale_queries(struct kernels *k, const struct rows_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->heads * (size_t)c->head_size, each = (size_t)c->rows * width,
           n = (size_t)c->segments * each;
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *factor = allocate((size_t)c->positions * sizeof(double));
    for (int i = 0; i < c->positions; i++)
        factor[i] = 1 + log(1 + i);
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->heads,
                                    .head_size = c->head_size,
                                    .positions = c->positions,
                                    .scale = 1,
                                    .query_factor = factor};
    struct error e;
    struct attention *a = k->attention_create(k, &shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    struct buffer *scaled = buffer_of(k, ROLE_ACTIVATION, x, n);
    k->scale_queries(k, scaled, a, (struct rows){c->segments, c->rows}, (int)width);
    struct output *out = kernel_collect(&o, k, "scaled queries", scaled, each, bounds);
    for (size_t i = 0; bounds && i < n; i++)
        out->bound[i] = 4 * fabs(out->value[i]);
    k->attention_free(k, a);
    free(x), free(factor);
    return o;
}

struct outputs run_moves(struct kernels *k, const struct rows_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->heads * (size_t)c->head_size, count = (size_t)c->rows,
           each = count * width, S = (size_t)c->segments, to = (count + 1) / 2;
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *y = random_segments(c->segments, c->first, each, 2, 1);
    struct buffer *bx = buffer_of(k, ROLE_RESIDUAL, x, S * each);
    enum { BEHIND = 8 }; /* so many rows a block of the CUDA set does at once */
    double behind[BEHIND], *zeros = allocate((S * count + BEHIND) * sizeof *zeros);
    struct error e;
    struct buffer *norms = buffer_of(k, ROLE_STATISTIC, zeros, S * count + BEHIND),
                  *short_x = buffer_new(k, ROLE_RESIDUAL, S * to * width);
    struct buffer *back = buffer_of(k, ROLE_RESIDUAL, y, S * each);
    k->row_norms(k, norms, bx, 1.7, (struct rows){c->segments, c->rows}, (int)width);
    k->read(k, behind, norms, S * count, BEHIND);
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    if (memcmp(behind, zeros, sizeof behind) != 0)
        fail_msg("%s: row_norms writes past the last row", k->name);
    k->tail(k, short_x, bx, c->segments, (int)to, c->rows, (int)width);
    k->tail_reverse(k, back, short_x, c->segments, (int)to, c->rows, (int)width);
    struct output *n = kernel_collect(&o, k, "row_norms", norms, count, bounds);
    kernel_collect(&o, k, "tail", short_x, to * width, bounds); /* bound 0: copied */
    struct output *b = kernel_collect(&o, k, "tail_reverse", back, each, bounds);
    for (size_t i = 0; bounds && i < S * count; i++)
        n->bound[i] = 4 * n->value[i]; /* summed in double */
    for (size_t i = 0; bounds && i < S * each; i++) {
        b->bound[i] = i % each >= (count - to) * width ? fabs(b->value[i]) : 0;
    }
    k->destroy(k, bx);
    free(x), free(y), free(zeros);
    return o;
}

struct outputs run_row_norms(struct kernels *k, const struct rows_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->heads * (size_t)c->head_size, count = (size_t)c->rows,
           each = count * width, S = (size_t)c->segments;
    double *x = random_segments(c->segments, c->first, each, 1, 1);
    for (size_t i = 0; i < S * each; i++)
        x[i] = (double)(int)(128 * x[i]) / 128; /* in bf16 too */
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * each),
                  *norms = buffer_new(k, ROLE_STATISTIC, S * count);
    k->row_norms(k, norms, bx, 1.7, (struct rows){c->segments, c->rows}, (int)width);
    struct output *n = kernel_collect(&o, k, "row_norms of activations", norms, count, bounds);
    for (size_t i = 0; bounds && i < S * count; i++)
        n->bound[i] = 4 * n->value[i]; /* summed in double */
    k->destroy(k, bx);
    free(x);
    return o;
}

struct outputs run_copy(struct kernels *k, const struct copy_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->width, each = (size_t)c->rows * width, n = (size_t)c->segments * each;
    struct rows rows = {c->segments, c->rows};
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *y = random_segments(c->segments, c->first, each, 2, 1);
    for (size_t i = 0; i < n; i++)
        x[i] = rint(x[i] * 32),
        y[i] = rint(y[i] *
                    32); /* whole numbers whose sums bf16 holds: every set and role is exact */
    struct buffer *bx = buffer_of(k, c->x, x, n), *copied = buffer_of(k, c->y, y, n),
                  *sum = buffer_of(k, c->y, y, n);
    k->copy(k, copied, bx, rows, c->width);
    k->add(k, sum, bx, rows, c->width);
    struct output *out[2] = {kernel_collect(&o, k, "copy", copied, each, bounds),
                             kernel_collect(&o, k, "add", sum, each, bounds)};
    for (size_t i = 0; i < n; i++)
        if (out[0]->value[i] != x[i] || out[1]->value[i] != x[i] + y[i])
            fail_msg("%s %s, element %zu: copy of %g is %g, %g + %g is %g", k->name, k->dtype, i,
                     x[i], out[0]->value[i], y[i], x[i], out[1]->value[i]);
    k->destroy(k, bx);
    free(x), free(y);
    return o;
}

struct outputs run_join(struct kernels *k, const struct join_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, width = (size_t)c->width, before = (size_t)c->before * width,
           behind = (size_t)c->behind * width;
    double *a = random_segments(c->segments, c->first, before, 1, 1),
           *b = random_segments(c->segments, c->first, behind, 2, 1);
    struct buffer *ba = buffer_of(k, ROLE_ACTIVATION, a, S * before),
                  *bb = buffer_of(k, ROLE_ACTIVATION, b, S * behind);
    struct buffer *joined = buffer_new(k, ROLE_ACTIVATION, S * (before + behind));
    k->join(k, joined, ba, bb, c->segments, c->before, c->behind, c->width);
    kernel_collect(&o, k, "join", joined, before + behind, bounds); /* bound 0: copied */
    k->destroy(k, ba);
    k->destroy(k, bb);
    free(a), free(b);
    return o;
}

struct outputs run_join_keys(struct kernels *k, const struct join_keys_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, rows = (size_t)c->rows, heads = (size_t)c->heads,
           own = rows * heads * (size_t)(c->head_size - c->shared + c->value_size),
           shared = rows * (size_t)c->shared,
           kv = rows * heads * (size_t)(c->head_size + c->value_size);
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->heads,
                                    .head_size = c->head_size,
                                    .value_size = c->value_size,
                                    .positions = c->rows,
                                    .scale = 1};
    struct error e;
    struct attention *a = k->attention_create(k, &shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    double *x = random_segments(c->segments, c->first, own, 1, 1),
           *y = random_segments(c->segments, c->first, shared, 2, 1),
           *g = random_segments(c->segments, c->first, kv, 3, 1);
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * own),
                  *by = buffer_of(k, ROLE_ACTIVATION, y, S * shared),
                  *bg = buffer_of(k, ROLE_ACTIVATION, g, S * kv),
                  *bkv = buffer_new(k, ROLE_ACTIVATION, S * kv),
                  *bdx = buffer_new(k, ROLE_ACTIVATION, S * own),
                  *bdy = buffer_new(k, ROLE_ACTIVATION, S * shared);
    struct rows r = {c->segments, c->rows};
    k->join_keys(k, bkv, bx, by, a, r, c->shared);
    k->join_keys_reverse(k, bdx, bdy, bg, a, r, c->shared);
    kernel_collect(&o, k, "join_keys", bkv, kv, bounds); /* bound 0: copied */
    kernel_collect(&o, k, "join_keys d_own", bdx, own, bounds);
    struct output *d = kernel_collect(&o, k, "join_keys d_shared", bdy, shared, bounds);
    for (size_t i = 0; bounds && i < S * shared; i++)
        d->bound[i] = 2.0 * (double)(heads * heads + 1); /* a sum of numbers below 2 */
    k->attention_free(k, a);
    k->destroy(k, bx), k->destroy(k, by), k->destroy(k, bg);
    free(x), free(y), free(g);
    return o;
}
