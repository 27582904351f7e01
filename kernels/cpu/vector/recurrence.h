/* A chunk of a recurrence: CHUNK rows of one head, as matrix products (Dao, Gu 2024; Yang, Kautz,
 * Hatamizadeh 2024). With b_i the sum of the chunk's log decays up to row i, and S the state before
 * it:
 *     G_ij = e^(b_i - b_j), j <= i          P = (Q K^T) * G          L = -(K K^T) * G, j < i
 *     additive: N = step * V      delta: E = V - e^b (K S) + L N,  N = step * E, row after row
 *     O = e^b (Q S) + P N         S' = e^(b_C) S + (e^(b_C - b) K)^T N
 * Chunks begin at row 0 of the segment, so what a row gives does not depend on what follows it.
 * Decays are summed in double. Exponentials are taken of their differences, which are never above
 * 0, and nothing is divided by any. Q, K, Q K^T and K K^T are the same for all heads of a key head,
 * and made once for them.
 *
 * G is kept times 2^60, for gradients of log decays: those of a strong decay are as small as it,
 * and parts of theirs that count are below the smallest float. */
#ifndef REACH_KERNELS_CPU_VECTOR_RECURRENCE_H
#define REACH_KERNELS_CPU_VECTOR_RECURRENCE_H

#define PRODUCT_FLOATS

#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/product.h"

enum { CHUNK = RECURRENCE_CHUNK, CHUNK_LD = CHUNK + 16, CHUNKS = RECURRENCE_SPAN / CHUNK };
_Static_assert(CHUNK % PANEL == 0, "chunks are whole panels");
_Static_assert((int)CHUNKS *(int)CHUNK == (int)RECURRENCE_SPAN, "spans are whole chunks");

/* The arrays of a chunk that both directions use; [CHUNK, CHUNK] with rows CHUNK_LD apart. */
struct chunk {
    const struct recurrence_task *task;
    size_t first; /* row of the segment */
    int rows;
    size_t ld, value_ld; /* of key_size and value_size columns */
    float *before, *after; /* [CHUNK]: e^b, e^(b_C - b) */
    float *far_before, *far_after; /* the same times 2^60 */
    float *decay; /* G times 2^60 */
    float *score; /* P: zeros above the diagonal, as of G */
    const float *query, *key; /* [CHUNK, ld] */
    const float *query_key, *key_key; /* Q K^T, if the chunk is read; K K^T, of the delta rule */
    float *faded; /* [CHUNK, value_ld]: rows of N scaled */
};

/* The next `count` floats after *at, a whole number of cache lines. base NULL: counts only. */
INLINE float *recurrence_take(float *base, size_t *at, size_t count)
{
    float *p = base ? base + *at : NULL;
    *at += round_up(count, 16);
    return p;
}

/* What the heads of a key head share. */
struct chunk_pairs {
    float *query, *key, *query_key, *key_key;
};

INLINE size_t pairs_layout(struct chunk_pairs *p, float *base, int key_size)
{
    size_t at = 0, rows = CHUNK * row_ld(key_size), square = (size_t)CHUNK * CHUNK_LD;
    p->query = recurrence_take(base, &at, rows);
    p->key = recurrence_take(base, &at, rows);
    p->query_key = recurrence_take(base, &at, square);
    p->key_key = recurrence_take(base, &at, square);
    return at;
}

/* Those of the chunk at row `first`. */
INLINE struct chunk_pairs pairs_at(const struct recurrence_task *t, size_t first)
{
    struct chunk_pairs p;
    size_t each = pairs_layout(&p, NULL, t->key_size);
    pairs_layout(&p, t->pairs + first % RECURRENCE_SPAN / CHUNK * each, t->key_size);
    return p;
}

INLINE size_t chunk_layout(struct chunk *c, float *base, int key_size, int value_size)
{
    size_t at = 0, square = (size_t)CHUNK * CHUNK_LD;
    *c = (struct chunk){.ld = row_ld(key_size), .value_ld = row_ld(value_size)};
    c->before = recurrence_take(base, &at, CHUNK);
    c->after = recurrence_take(base, &at, CHUNK);
    c->far_before = recurrence_take(base, &at, CHUNK);
    c->far_after = recurrence_take(base, &at, CHUNK);
    c->decay = recurrence_take(base, &at, square);
    c->score = recurrence_take(base, &at, square);
    c->faded = recurrence_take(base, &at, CHUNK * c->value_ld);
    return at;
}

/* out[rows, ld] = factor x, rows `stride` apart; zeros after the end of a row. */
INLINE void chunk_copy(float *out, size_t ld, const float *x, size_t stride, int rows, int columns,
                       float factor)
{
    for (int r = 0; r < rows; r++) {
        float *to = out + (size_t)r * ld;
        const float *from = x + (size_t)r * stride;
        for (int c = 0; c < columns; c++)
            to[c] = factor * from[c];
        memset(to + columns, 0, (ld - (size_t)columns) * sizeof(float));
    }
}

/* Asks for rows of a head that will be read soon, or written: they are so far apart that the
 * processor does not foresee them. */
INLINE void chunk_fetch(const float *x, size_t stride, size_t rows, int columns)
{
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < columns; c += 16)
            __builtin_prefetch(x + r * stride + c, 0, 2);
}

INLINE void chunk_fetch_to_write(const float *x, size_t stride, size_t rows, int columns)
{
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < columns; c += 16)
            __builtin_prefetch(x + r * stride + c, 1, 2);
}

/* Rows [first, end) of the head, at most those of a chunk. */
INLINE size_t chunk_rows(size_t first, size_t end)
{
    return first < end ? smaller(CHUNK, end - first) : 0;
}

/* out[columns, out_ld] = x[rows, ld]^T, its rows ended with zeros to whole vectors. */
INLINE void chunk_transpose(float *out, size_t out_ld, const float *x, size_t ld, int rows,
                            int columns)
{
    for (int r = 0; r < rows; r += WIDTH)
        for (int c = 0; c < columns; c += WIDTH) {
            v_float square[WIDTH];
#pragma GCC unroll 16
            for (int i = 0; i < WIDTH; i++)
                square[i] = r + i < rows ? v_load(x + (size_t)(r + i) * ld + c) : v_all(0);
            v_transpose(square);
#pragma GCC unroll 16
            for (int i = 0; i < WIDTH; i++)
                if (c + i < columns)
                    v_store(out + (size_t)(c + i) * out_ld + r, square[i]);
        }
}

/* x[rows, ld] *= factor[rows] */
INLINE void chunk_scale(float *x, size_t ld, const float *factor, int rows, int columns)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            x[(size_t)r * ld + (size_t)c] *= factor[r];
}

/* C (+)= A B and A^T B of floats; see product(). */
__attribute__((unused)) static void multiply(float *c, size_t ldc, const float *a, size_t lda,
                                             const float *b, size_t ldb, int m, int n, int depth,
                                             int accumulate, enum product_mask mask)
{
    product(c, PANEL, ldc, a, lda, b, PANEL, ldb, m, n, depth, accumulate, 0, mask, 0);
}

__attribute__((unused)) static void multiply_transposed(float *c, size_t ldc, const float *a,
                                                        size_t lda, const float *b, size_t ldb,
                                                        int m, int n, int depth, int accumulate,
                                                        enum product_mask mask)
{
    product(c, PANEL, ldc, a, lda, b, PANEL, ldb, m, n, depth, accumulate, 1, mask, 0);
}

static const float NEAR = 0x1p-60f;

/* 2^60 e^x to float's accuracy of numbers x <= 0 in double. */
INLINE v_float exp_far(v_double low, v_double high)
{
    const v_double shift = v_all_double(41.588830833596718565); /* 60 ln 2 */
    low += shift;
    high += shift;
    v_float x = v_narrow(low, high), rest = v_narrow(low - v_low(x), high - v_high(x)),
            e = v_exp(x);
    return v_fma(e, rest, e);
}

INLINE int chunk_is_zero(const float *x, size_t ld, int rows, int columns)
{
    v_int found = {0};
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < columns; j += WIDTH)
            found |= v_load(x + (size_t)r * ld + j) != 0.0f;
    for (int i = 0; i < WIDTH; i++)
        if (found[i])
            return 0;
    return 1;
}

/* Zeros above the diagonal; with `strict`, on it too. */
INLINE void chunk_clear(float *x, int rows, int strict)
{
    for (int r = 0; r < rows; r++)
        memset(x + r * CHUNK_LD + r + !strict, 0, (size_t)(CHUNK - r - !strict) * sizeof(float));
}

/* factor decay * x, zero where decay is. out may be x. */
INLINE void chunk_weigh(float *out, const float *x, const float *decay, float factor, int rows,
                        int strict)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c <= r; c += WIDTH) {
            int at = r * CHUNK_LD + c;
            v_store(out + at, v_load(x + at) * (factor * v_load(decay + at)));
        }
    chunk_clear(out, rows, strict);
}

/* Loads the decays of the chunk at row `first`. */
INLINE void chunk_begin(struct chunk *c, const struct recurrence_task *t, size_t first)
{
    double sum[CHUNK], total = 0;
    size_t left = (size_t)t->keys - first;
    struct chunk_pairs pairs = pairs_at(t, first);
    c->query = pairs.query, c->key = pairs.key;
    c->query_key = pairs.query_key, c->key_key = pairs.key_key;
    c->task = t;
    c->first = first;
    c->rows = left < CHUNK ? (int)left : CHUNK;
    for (int i = 0; i < CHUNK; i++) {
        double l = i < c->rows ? t->log_decay[(first + (size_t)i) * t->gate_stride] : 0;
        total += l < -1e6 ? -1e6 : l; /* either is 0 in the end, and sums remain finite */
        sum[i] = total;
    }
    v_double end = v_all_double(total);
    for (int i = 0; i < CHUNK; i += WIDTH) {
        v_double low = v_load_double(sum + i), high = v_load_double(sum + i + WIDTH / 2);
        v_float before = exp_far(low, high), after = exp_far(end - low, end - high);
        v_store(c->far_before + i, before);
        v_store(c->far_after + i, after);
        v_store(c->before + i, NEAR * before);
        v_store(c->after + i, NEAR * after);
    }
    for (int r = 0; r < c->rows; r++) {
        v_double own = v_all_double(sum[r]);
        for (int i = 0; i <= r; i += WIDTH)
            v_store(c->decay + r * CHUNK_LD + i, exp_far(own - v_load_double(sum + i),
                                                         own - v_load_double(sum + i + WIDTH / 2)));
    }
    chunk_clear(c->decay, c->rows, 0);
}

INLINE const float *chunk_value(const struct chunk *c, int row)
{
    return c->task->value + (c->first + (size_t)row) * c->task->stride;
}

INLINE float chunk_step(const struct chunk *c, int row)
{
    return c->task->step[(c->first + (size_t)row) * c->task->gate_stride];
}

enum { CHUNK_BLOCK = 16 };

/* E += L N with N = step * E, row after row: of `n` rows from `first` on, [n, ld] both. */
INLINE void chunk_solve(const struct recurrence_task *t, size_t first, int n, size_t ld,
                        const float *erase, float *error, float *written)
{
    int dv = t->value_size;
    for (int r0 = 0; r0 < n; r0 += CHUNK_BLOCK) {
        int end = r0 + CHUNK_BLOCK < n ? r0 + CHUNK_BLOCK : n;
        if (r0)
            multiply(error + (size_t)r0 * ld, ld, erase + r0 * CHUNK_LD, CHUNK_LD, written, ld,
                     end - r0, dv, r0, 1, MASK_NONE);
        for (int r = r0; r < end; r++) {
            float *to = written + (size_t)r * ld,
                  step = t->step[(first + (size_t)r) * t->gate_stride];
            for (int j = 0; j < dv; j += WIDTH)
                v_store(to + j, step * v_load(error + (size_t)r * ld + j));
            for (int i = r + 1; i < end; i++) {
                float *left = error + (size_t)i * ld;
                v_float factor = v_all(erase[i * CHUNK_LD + r]);
                for (int j = 0; j < dv; j += WIDTH)
                    v_store(left + j, v_fma(factor, v_load(to + j), v_load(left + j)));
            }
        }
    }
}

/* Its reverse: d, dN at first and then dE, += L^T scaled with scaled = step * dE, from the last row
 * on. */
INLINE void chunk_solve_reverse(const struct recurrence_task *t, size_t first, int n, size_t ld,
                                const float *erase, float *d, float *scaled)
{
    int dv = t->value_size;
    for (int r0 = (n - 1) / CHUNK_BLOCK * CHUNK_BLOCK; r0 >= 0; r0 -= CHUNK_BLOCK) {
        int end = r0 + CHUNK_BLOCK < n ? r0 + CHUNK_BLOCK : n;
        if (end < n)
            multiply_transposed(d + (size_t)r0 * ld, ld, erase + end * CHUNK_LD + r0, CHUNK_LD,
                                scaled + (size_t)end * ld, ld, end - r0, dv, n - end, 1, MASK_NONE);
        for (int r = end; r-- > r0;) {
            float *from = scaled + (size_t)r * ld,
                  step = t->step[(first + (size_t)r) * t->gate_stride];
            for (int j = 0; j < dv; j += WIDTH)
                v_store(from + j, step * v_load(d + (size_t)r * ld + j));
            for (int i = r0; i < r; i++) {
                float *to = d + (size_t)i * ld;
                v_float factor = v_all(erase[r * CHUNK_LD + i]);
                for (int j = 0; j < dv; j += WIDTH)
                    v_store(to + j, v_fma(factor, v_load(from + j), v_load(to + j)));
            }
        }
    }
}

/* N[CHUNK, value_ld] = step * V */
INLINE void chunk_write(const struct chunk *c, float *written)
{
    for (int r = 0; r < c->rows; r++)
        chunk_copy(written + (size_t)r * c->value_ld, c->value_ld, chunk_value(c, r), 0, 1,
                   c->task->value_size, chunk_step(c, r));
}

/* The delta rule: L in erase[CHUNK, CHUNK_LD], E and N [CHUNK, value_ld], from the state. */
INLINE void chunk_correct(const struct chunk *c, const float *state, float *erase, float *error,
                          float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld;
    int n = c->rows, dv = t->value_size;
    chunk_weigh(erase, c->key_key, c->decay, -NEAR, n, 1);
    multiply(error, ld, c->key, c->ld, state, ld, n, dv, t->key_size, 0, MASK_NONE);
    for (int r = 0; r < n; r++) {
        const float *value = chunk_value(c, r);
        float *to = error + (size_t)r * ld;
        for (int j = 0; j < dv; j++)
            to[j] = value[j] - c->before[r] * to[j];
    }
    chunk_solve(t, c->first, n, ld, erase, error, written);
}

/* The state [key_size, value_ld] after the chunk. */
INLINE void chunk_advance(const struct chunk *c, float *state, const float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld;
    float end = c->before[c->rows - 1];
    for (int r = 0; r < c->rows; r++)
        for (int j = 0; j < t->value_size; j += WIDTH)
            v_store(c->faded + (size_t)r * ld + j,
                    c->after[r] * v_load(written + (size_t)r * ld + j));
    for (int r = 0; r < t->key_size; r++)
        for (int j = 0; j < t->value_size; j += WIDTH)
            v_store(state + (size_t)r * ld + j, end * v_load(state + (size_t)r * ld + j));
    multiply_transposed(state, ld, c->key, c->ld, c->faded, ld, t->key_size, t->value_size, c->rows,
                        1, MASK_NONE);
}

/* Sums of x y. */
__attribute__((unused)) static double dot_mixed(const double *x, const float *y, size_t count)
{
    v_double low = {0}, high = {0};
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        v_float some = v_load(y + i);
        low = v_fma_double(v_load_double(x + i), v_low(some), low);
        high = v_fma_double(v_load_double(x + i + WIDTH / 2), v_high(some), high);
    }
    double sum = v_sum_double(low + high);
    for (; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

__attribute__((unused)) static double dot_doubles(const double *x, const double *y, size_t count)
{
    v_double low = {0};
    size_t i = 0;
    for (; i + WIDTH / 2 <= count; i += WIDTH / 2)
        low = v_fma_double(v_load_double(x + i), v_load_double(y + i), low);
    double sum = v_sum_double(low);
    for (; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* The kept state after row `row`, the last of its span. */
INLINE float *recurrence_state(const struct recurrence_task *t, size_t row)
{
    return t->states + row / RECURRENCE_SPAN * (size_t)t->key_size * (size_t)t->value_size;
}

/* The state [key_size, ld] before the span: zeros before the first. */
INLINE void recurrence_load(float *state, const struct recurrence_task *t, size_t span, size_t ld)
{
    if (span)
        chunk_copy(state, ld, recurrence_state(t, span - 1), (size_t)t->value_size, t->key_size,
                   t->value_size, 1);
    else
        memset(state, 0, (size_t)t->key_size * ld * sizeof(float));
}

/* Reverse: what is kept of each chunk of the span. */
struct piece {
    float *state; /* [key_size, value_ld], before it */
    float *erase, *error; /* delta: L, E */
    float *written; /* N */
};

INLINE void pieces_layout(struct piece piece[CHUNKS], float *base, size_t *at, int key_size,
                          size_t value_ld)
{
    for (int i = 0; i < CHUNKS; i++) {
        piece[i].state = recurrence_take(base, at, (size_t)key_size * value_ld);
        piece[i].erase = recurrence_take(base, at, (size_t)CHUNK * CHUNK_LD);
        piece[i].error = recurrence_take(base, at, CHUNK * value_ld);
        piece[i].written = recurrence_take(base, at, CHUNK * value_ld);
    }
}

#endif
