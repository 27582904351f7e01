/* A chunk of a recurrence whose log decays are by channel of the key, as recurrence.h has one of a
 * decay by head; names as there. With b_i [key_size] the sums of the chunk's log decays up to row
 * i, G_ij = e^(b_i - b_j) by channel and S the state before it:
 *     P_ij = sum of Q_i K_j G_ij, j <= i          L_ij = - sum of K_i K_j G_ij, j < i
 *     additive: N = step * V      delta: E = V - (e^b * K) S + L N,  N = step * E, row after row
 *     O = (e^b * Q) S + P N       S' = e^(b_C) * S + (e^(b_C - b) * K)^T N
 * Rows are in blocks of CHUNK_BLOCK. Between a row and an earlier block G is a product of decays
 * none of which is above 1: from the key's row to the end of its block, over the blocks between,
 * and from the beginning of the row's own block, so that pairs of blocks are matrix products. In a
 * block it is the running product of e^l. Nothing is divided by a decay, and sums of log decays are
 * in double. */
#ifndef REACH_KERNELS_CPU_VECTOR_CHANNELS_H
#define REACH_KERNELS_CPU_VECTOR_CHANNELS_H

#include "kernels/cpu/vector/recurrence.h"

enum { CHUNK_BLOCKS = CHUNK / CHUNK_BLOCK };

/* [CHUNK, ld] unless said; columns after key_size are zeros, or factors that meet zeros. */
struct channels {
    const struct recurrence_task *task;
    size_t first; /* row of the segment */
    int rows, blocks; /* blocks: those that have rows */
    size_t ld, value_ld; /* of key_size and value_size columns */
    float *query, *key;
    float *kept; /* e^l */
    float *within,
        *beyond; /* from the beginning of the row's block to it, and from it to the end */
    float *start, *total; /* [CHUNK_BLOCKS, ld]: from the beginning of the chunk to a block's; over
                             the block */
    float *end; /* [ld]: over the chunk */
    float *query_near, *key_near; /* within * Q and K */
    float *query_before, *key_before; /* e^b * Q and K */
    float *fade, *past; /* from the row to where a later block begins, and that times K */
    float *past_t; /* [key_size, CHUNK_LD], its transpose */
    float *score; /* P [CHUNK, CHUNK_LD], zeros above the diagonal */
};

INLINE size_t channels_layout(struct channels *c, float *base, int key_size, int value_size)
{
    size_t at = 0, ld = row_ld(key_size), rows = CHUNK * ld;
    *c = (struct channels){.ld = ld, .value_ld = row_ld(value_size)};
    float **const whole[] = {&c->query,  &c->key,          &c->kept,       &c->within,
                             &c->beyond, &c->fade,         &c->query_near, &c->key_near,
                             &c->past,   &c->query_before, &c->key_before};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        *whole[i] = recurrence_take(base, &at, rows);
    c->start = recurrence_take(base, &at, CHUNK_BLOCKS * ld);
    c->total = recurrence_take(base, &at, CHUNK_BLOCKS * ld);
    c->end = recurrence_take(base, &at, ld);
    c->past_t = recurrence_take(base, &at, (size_t)key_size * CHUNK_LD);
    c->score = recurrence_take(base, &at, (size_t)CHUNK * CHUNK_LD);
    return at;
}

/* e^(a - b) of doubles, [columns, a whole number of vectors]. */
INLINE void channels_exp(float *out, const double *a, const double *b, size_t columns)
{
    for (size_t i = 0; i < columns; i += WIDTH)
        v_store(out + i, NEAR * exp_far(v_load_double(a + i) - v_load_double(b + i),
                                        v_load_double(a + i + WIDTH / 2) -
                                            v_load_double(b + i + WIDTH / 2)));
}

/* out = x * y */
INLINE void channels_multiply(float *out, const float *x, const float *y, size_t columns)
{
    for (size_t i = 0; i < columns; i += WIDTH)
        v_store(out + i, v_load(x + i) * v_load(y + i));
}

/* The decays of one block: `sum` [CHUNK_BLOCK + 1, ld] is a temporary. */
INLINE void channels_block(struct channels *c, int block, double *sum)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->ld, dk = (size_t)t->key_size;
    for (size_t i = 0; i < ld; i++)
        sum[i] = 0;
    for (int r = 0; r < CHUNK_BLOCK; r++) {
        int row = block * CHUNK_BLOCK + r;
        size_t there = row < c->rows ? dk : 0;
        float *kept = c->kept + (size_t)row * ld;
        const double *before = sum + (size_t)r * ld;
        double *after = sum + (size_t)(r + 1) * ld;
        memset(kept, 0, ld * sizeof *kept);
        if (there)
            memcpy(kept, t->log_decay + (c->first + (size_t)row) * t->gate_stride,
                   there * sizeof *kept);
        for (size_t i = 0; i < ld; i++) {
            /* either is 0 in the end, and sums remain finite */
            kept[i] = kept[i] < -1e6f ? -1e6f : kept[i];
            after[i] = before[i] + kept[i];
        }
        for (size_t i = 0; i < ld; i += WIDTH)
            v_store(kept + i, v_exp(v_load(kept + i)));
    }
    const double *all = sum + CHUNK_BLOCK * ld;
    for (int r = 0; r < CHUNK_BLOCK; r++) {
        size_t at = (size_t)(block * CHUNK_BLOCK + r) * ld;
        const double *own = sum + (size_t)(r + 1) * ld;
        channels_exp(c->within + at, own, sum, ld);
        channels_exp(c->beyond + at, all, own, ld);
    }
    channels_exp(c->total + (size_t)block * ld, all, sum, ld);
}

/* Loads queries, keys and decays of the chunk at row `first`. */
INLINE void channels_begin(struct channels *c, const struct recurrence_task *t, size_t first)
{
    double sum[(CHUNK_BLOCK + 1) * (RECURRENCE_SIZE_MOST + 2 * PANEL)];
    size_t left = (size_t)t->keys - first, ld = c->ld;
    c->task = t, c->first = first;
    c->rows = left < CHUNK ? (int)left : CHUNK;
    c->blocks = (c->rows + CHUNK_BLOCK - 1) / CHUNK_BLOCK;
    chunk_copy(c->query, ld, t->query + first * t->stride, t->stride, c->rows, t->key_size, 1);
    chunk_copy(c->key, ld, t->key + first * t->stride, t->stride, c->rows, t->key_size, 1);
    for (size_t i = 0; i < ld; i++)
        c->end[i] = 1;
    for (int block = 0; block < c->blocks; block++) {
        float *start = c->start + (size_t)block * ld;
        channels_block(c, block, sum);
        memcpy(start, c->end, ld * sizeof *start);
        channels_multiply(c->end, start, c->total + (size_t)block * ld, ld);
        for (int r = block * CHUNK_BLOCK; r < (block + 1) * CHUNK_BLOCK && r < c->rows; r++) {
            size_t at = (size_t)r * ld;
            channels_multiply(c->query_near + at, c->query + at, c->within + at, ld);
            channels_multiply(c->key_near + at, c->key + at, c->within + at, ld);
            channels_multiply(c->query_before + at, c->query_near + at, start, ld);
            channels_multiply(c->key_before + at, c->key_near + at, start, ld);
        }
    }
}

/* The rows before block `next`, or all with next = c->blocks: their `fade` and `past` to where it
 * begins, or where the chunk ends. For 1, 2, .. in order. */
INLINE void channels_fade(const struct channels *c, int next)
{
    size_t ld = c->ld;
    const float *total = c->total + (size_t)(next - 1) * ld;
    for (int r = 0; r < next * CHUNK_BLOCK && r < c->rows; r++) {
        size_t at = (size_t)r * ld;
        if (r < (next - 1) * CHUNK_BLOCK)
            channels_multiply(c->fade + at, c->fade + at, total, ld);
        else
            memcpy(c->fade + at, c->beyond + at, ld * sizeof *total);
        channels_multiply(c->past + at, c->key + at, c->fade + at, ld);
    }
}

/* The pairs of one block: P, if it is read, and L, of the delta rule. */
INLINE void channels_near(const struct channels *c, int block, float *score, float *erase)
{
    size_t ld = c->ld;
    int end = (block + 1) * CHUNK_BLOCK < c->rows ? (block + 1) * CHUNK_BLOCK : c->rows;
    float faded[RECURRENCE_SIZE_MOST + 2 * PANEL];
    for (int j = block * CHUNK_BLOCK; j < end; j++) {
        memcpy(faded, c->key + (size_t)j * ld, ld * sizeof *faded);
        for (int i = j; i < end; i++) {
            const float *kept = c->kept + (size_t)i * ld, *query = c->query + (size_t)i * ld,
                        *key = c->key + (size_t)i * ld;
            v_float read = {0}, erased = {0};
            for (size_t d = 0; d < (size_t)c->task->key_size; d += WIDTH) {
                v_float x = v_load(faded + d);
                if (i > j)
                    v_store(faded + d, x *= v_load(kept + d));
                read = v_fma(x, v_load(query + d), read);
                erased = v_fma(x, v_load(key + d), erased);
            }
            if (score)
                score[i * CHUNK_LD + j] = v_sum(read);
            if (erase && i > j)
                erase[i * CHUNK_LD + j] = -v_sum(erased);
        }
    }
}

/* P in c->score if it is read, L in `erase` or NULL; c->past is that of the chunk's end then. */
INLINE void channels_pairs(const struct channels *c, int read, float *erase)
{
    size_t ld = c->ld;
    int dk = c->task->key_size;
    for (int block = 0; block < c->blocks; block++) {
        int first = block * CHUNK_BLOCK,
            n = c->rows - first < CHUNK_BLOCK ? c->rows - first : CHUNK_BLOCK;
        if (block) {
            channels_fade(c, block);
            chunk_transpose(c->past_t, CHUNK_LD, c->past, ld, first, dk);
            if (read)
                multiply(c->score + first * CHUNK_LD, CHUNK_LD, c->query_near + (size_t)first * ld,
                         ld, c->past_t, CHUNK_LD, n, first, dk, 0, MASK_NONE);
            if (erase)
                multiply(erase + first * CHUNK_LD, CHUNK_LD, c->key_near + (size_t)first * ld, ld,
                         c->past_t, CHUNK_LD, n, first, dk, 0, MASK_NONE);
            for (int r = first; erase && r < first + n; r++)
                for (int j = 0; j < first; j += WIDTH)
                    v_store(erase + r * CHUNK_LD + j, -v_load(erase + r * CHUNK_LD + j));
        }
        channels_near(c, block, read ? c->score : NULL, erase);
    }
    channels_fade(c, c->blocks);
    if (read)
        chunk_clear(c->score, c->rows, 0);
    if (erase)
        chunk_clear(erase, c->rows, 1);
}

/* N, and with the delta rule E, [CHUNK, value_ld] both, from the state and L. */
INLINE void channels_write(const struct channels *c, const float *state, const float *erase,
                           float *error, float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld;
    int dv = t->value_size;
    if (t->delta)
        multiply(error, ld, c->key_before, c->ld, state, ld, c->rows, dv, t->key_size, 0,
                 MASK_NONE);
    for (int r = 0; r < c->rows; r++) {
        size_t row = c->first + (size_t)r;
        const float *value = t->value + row * t->stride;
        float *to = error + (size_t)r * ld;
        if (!t->delta)
            chunk_copy(written + (size_t)r * ld, ld, value, 0, 1, dv,
                       t->step[row * t->gate_stride]);
        for (int j = 0; t->delta && j < dv; j++)
            to[j] = value[j] - to[j];
    }
    if (t->delta)
        chunk_solve(t, c->first, c->rows, ld, erase, error, written);
}

/* x[key_size, value_ld] *= e^(b_C) */
INLINE void channels_decay(const struct channels *c, float *x)
{
    for (int r = 0; r < c->task->key_size; r++)
        for (int j = 0; j < c->task->value_size; j += WIDTH) {
            size_t at = (size_t)r * c->value_ld + (size_t)j;
            v_store(x + at, c->end[r] * v_load(x + at));
        }
}

/* The state after the chunk, of whose end c->past is. */
INLINE void channels_advance(const struct channels *c, float *state, const float *written)
{
    channels_decay(c, state);
    multiply_transposed(state, c->value_ld, c->past, c->ld, written, c->value_ld, c->task->key_size,
                        c->task->value_size, c->rows, 1, MASK_NONE);
}

#endif
