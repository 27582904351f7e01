/* Blocks of attention of one head over one segment: QUERIES x KEYS scores that stay in the near
 * caches, the packed arrays they are made from, and which blocks are skipped.
 *
 * Skipping. v_exp_difference is exactly 0 below EXP_DIFFERENCE_ZERO_BELOW. By Cauchy and Schwarz
 * |scale q.k| <= max |scale q| max |k| over a block, so all its scores are below a bound. When the
 * bound is below the smallest running maximum (in reverse, the smallest lse) of the block's rows by
 * more than that, every P is 0 and the maxima do not change, so skipping the block changes no bit.
 * Near blocks come first, so the maxima are known early. */
#ifndef REACH_KERNELS_CPU_VECTOR_ATTENTION_BLOCK_H
#define REACH_KERNELS_CPU_VECTOR_ATTENTION_BLOCK_H

#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/product.h"

/* Block sizes are from measurements on AVX2; PAD keeps rows of a power of two bytes out of the same
 * cache sets. */
enum { QUERIES = 96, KEYS = 96, LD = KEYS + 16 };
_Static_assert(KEYS % PANEL == 0, "key blocks are whole panels");
_Static_assert(QUERIES % GROUP == 0 && KEYS % GROUP == 0, "blocks are whole groups");
_Static_assert((int)TABLE_PAD >= (int)PANEL, "tables are read up to a whole panel past their end");

/* The small fixed arrays of a task, at the front of its scratch. */
struct workspace {
    float score[QUERIES * LD] __attribute__((aligned(64)));
    float d_score[QUERIES * LD] __attribute__((aligned(64)));
    float slope[QUERIES * LD]
        __attribute__((aligned(64))); /* reverse: derivative of the soft-cap; then dS in groups */
    float sum[QUERIES * WIDTH] __attribute__((aligned(64)));
    float largest[QUERIES];
    float bias[KEYS]; /* bias of a row that no table has as it is */
};
_Static_assert(KEYS <= QUERIES, "a block of queries has room for one of keys");

/* Factors of products in groups (product.h). */
struct factors {
    const group *query, *d_o, *key,
        *value; /* [rows, ld] of groups along the rows, or [groups of rows, ld] along the columns */
    const group *key_t,
        *value_t; /* panels [keys / PANEL][groups of head_size or value_size][PANEL] */
};

/* The arrays of a head, packed into contiguous, padded blocks. */
struct packed {
    struct workspace *work;
    float *first; /* O of the query block, or dK of the key block */
    float *second; /* dV, or sums by distance */
    size_t ld, value_ld; /* of the row-major copies: whole panels, an odd number of cache lines */
    int width, value_width; /* head_size and value_size rounded up to whole vectors */
    float *key_t, *value_t; /* panels [keys / PANEL][head_size or value_size][PANEL] */
    float *query, *key; /* [rows, ld] */
    float *dq; /* [queries / QUERIES][dq_width / PANEL][QUERIES][PANEL]: the blocks come from far
                  for each block of keys, and the processor fetches ahead what is read in order */
    float *value, *d_o; /* [rows, value_ld] */
    float *query_room,
        *d_o_room; /* the same, of what is a left and a right factor where these differ */
    struct factors left, right; /* of those above, which do not exist if groups are not floats */
    float *lse, *dot; /* [queries] */
    float *query_size,
        *key_size; /* per block: the largest row length; NaN if anything is not finite */
};

INLINE size_t dq_width(int head_size)
{
    return round_up((size_t)head_size, PANEL);
}

/* Lays the arrays out from `base` (NULL: counts only) and returns the floats they take. */
static size_t pack_layout(struct packed *p, float *base, int head_size, int value_size, int queries,
                          int keys, int reverse)
{
    size_t ld = row_ld(head_size), value_ld = row_ld(value_size),
           at = round_up(sizeof(struct workspace) / sizeof(float), 16);
    size_t q = round_up((size_t)queries, 16), k = round_up((size_t)keys, KEYS),
           d = (size_t)head_size, v = (size_t)value_size;
    *p = (struct packed){.work = (struct workspace *)base,
                         .ld = ld,
                         .value_ld = value_ld,
                         .width = (int)round_up(d, WIDTH),
                         .value_width = (int)round_up(v, WIDTH)};
#define TAKE(pointer, count) (p->pointer = base ? base + at : NULL, at += round_up(count, 16))
    const size_t widest = ld > value_ld ? ld : value_ld, usual = 256 + PANEL + 16;
    TAKE(first, QUERIES * (widest > usual ? widest : usual));
    TAKE(second, QUERIES * (widest > usual ? widest : usual));
    TAKE(key_t, k * d);
    TAKE(query, q * ld);
    TAKE(query_size, (q + QUERIES - 1) / QUERIES);
    TAKE(key_size, k / KEYS);
    if (!reverse) {
        TAKE(value, k * value_ld);
    } else {
        TAKE(value_t, k * v);
        TAKE(key, k * ld);
        TAKE(d_o, q * value_ld);
        TAKE(dq, round_up(q, QUERIES) * dq_width(head_size));
        TAKE(lse, q);
        TAKE(dot, q);
        TAKE(query_room, GROUP > 1 ? q * ld : 0);
        TAKE(d_o_room, GROUP > 1 ? q * value_ld : 0);
    }
#undef TAKE
    return at;
}

/* Rows of one head are far apart in q, kv and their gradients: no hardware prefetch helps. */
static inline void prefetch_ahead(const float *x, size_t stride, int row, int rows, int columns)
{
    enum { AHEAD = 12 };
    if (row + AHEAD < rows)
        for (int c = 0; c < columns; c += 16)
            __builtin_prefetch(x + (size_t)(row + AHEAD) * stride + c);
}

/* Squares of row lengths by block: the largest; NaN once any row is not finite. */
struct sizes {
    float *square; /* [blocks]; NULL: not gathered */
    int block;
    int guard; /* 1: rows do not count, but must be finite */
};

static inline void sizes_keep(struct sizes s, int row, float square)
{
    float *largest = &s.square[row / s.block];
    square = s.guard ? 0 * square : square + 0 * square;
    if (!(square <= *largest) && *largest == *largest)
        *largest = square;
}

/* Upper bounds of lengths from the squares. */
static void sizes_finish(float *square, int blocks)
{
    for (int b = 0; b < blocks; b++)
        square[b] = sqrtf(square[b]) * (1 + 1e-5f);
}

/* out[rows, ld] = factor * x, zeros after the row's end and in the rows up to `padded`. */
static void pack_rows(float *out, size_t ld, const float *x, size_t stride, int rows, int padded,
                      int columns, float factor, struct sizes sizes)
{
    for (int r = 0; r < rows; r++) {
        float *to = out + (size_t)r * ld;
        const float *from = x + (size_t)r * stride;
        prefetch_ahead(x, stride, r, rows, columns);
        for (int c = 0; c < columns; c++)
            to[c] = factor * from[c];
        memset(to + columns, 0, (ld - (size_t)columns) * sizeof(float));
        if (sizes.square) {
            v_float square = v_all(0);
            for (int c = 0; c < columns; c += WIDTH) /* and the zeros after them */
                square = v_fma(v_load(to + c), v_load(to + c), square);
            sizes_keep(sizes, r, v_sum(square));
        }
    }
    memset(out + (size_t)rows * ld, 0, (size_t)(padded - rows) * ld * sizeof(float));
}

/* out[rows / PANEL][columns][PANEL] = x^T, zeros for the rows up to `padded`. */
static void pack_transposed(float *out, const float *x, size_t stride, int rows, int padded,
                            int columns, struct sizes sizes)
{
    for (int panel = 0; panel < padded; panel += PANEL, out += (size_t)columns * PANEL) {
        if (panel + PANEL > rows)
            memset(out, 0, (size_t)columns * PANEL * sizeof(float));
        for (int r = 0; r < PANEL && panel + r < rows; r++) {
            const float *from = x + (size_t)(panel + r) * stride;
            prefetch_ahead(x, stride, panel + r, rows, columns);
            for (int c = 0; c < columns; c++)
                out[c * PANEL + r] = from[c];
        }
        if (!sizes.square)
            continue;
        float square[PANEL];
        for (int r = 0; r < PANEL; r += WIDTH) { /* of WIDTH rows at once */
            v_float sum = v_all(0);
            for (int c = 0; c < columns; c++)
                sum = v_fma(v_load(out + c * PANEL + r), v_load(out + c * PANEL + r), sum);
            v_store(square + r, sum);
        }
        for (int r = 0; r < PANEL; r++)
            sizes_keep(sizes, panel + r, square[r]);
    }
}

/* Converts panels made by pack_transposed to groups, in place. */
static const group *group_panels(float *x, int padded, int columns)
{
    for (int panel = 0; panel < padded / PANEL; panel++)
        group_along_columns(x + (size_t)panel * (size_t)groups(columns) * PANEL,
                            x + (size_t)panel * (size_t)columns * PANEL, PANEL, columns, PANEL);
    return (const group *)x;
}

/* Returns the number of query blocks. */
static int clear_sizes(const struct packed *p, const struct attention_task *t)
{
    int query_blocks = (t->queries + QUERIES - 1) / QUERIES;
    memset(p->query_size, 0, (size_t)query_blocks * sizeof(float));
    memset(p->key_size, 0, round_up((size_t)t->keys, KEYS) / KEYS * sizeof(float));
    return query_blocks;
}

/* The largest entry of extremes over distances (or positions) first..last, both included. */
static float extreme_over(const float *extreme, int first, int last)
{
    float largest = -INFINITY;
    for (int block = first / TABLE_BLOCK; block <= last / TABLE_BLOCK; block++)
        if (extreme[block] > largest)
            largest = extreme[block];
    return largest;
}

/* Position of a block: `queries` and `keys` of them; absolute positions of the first ones. */
struct block {
    int i, j, queries, keys; /* within the task */
    int first_query, first_key; /* from the start of the segment */
    int diagonal; /* first_query - first_key: entry (r, c) is causal where c <= r + diagonal */
    int causal; /* some entry is masked by causality, as is padding after the last key */
    int masked; /* some entry is masked by causality or window */
    int kept; /* leading keys that are always seen, if the window masks some entry */
    int cut; /* some entry, or all of them, are in a chunk before the query's */
    int outside; /* all are */
};

static struct block block_at(const struct attention_task *t, int i, int j)
{
    struct block b = {.i = i, .j = j};
    b.queries = t->queries - i < QUERIES ? t->queries - i : QUERIES;
    b.keys = t->keys - j < KEYS ? t->keys - j : KEYS;
    b.first_query = t->positions - t->queries + i;
    b.first_key = t->positions - t->keys + j;
    b.diagonal = b.first_query - b.first_key;
    b.causal = b.diagonal < (int)round_up((size_t)b.keys, WIDTH) - 1;
    b.masked = b.causal || (t->window > 0 && b.diagonal + b.queries - 1 >= t->window);
    b.cut = attention_chunk_begin(b.first_query + b.queries - 1, t->chunk) > b.first_key;
    b.outside = attention_chunk_begin(b.first_query, t->chunk) >= b.first_key + b.keys;
    if (b.masked && t->keep > b.first_key)
        b.kept = t->keep - b.first_key < b.keys ? t->keep - b.first_key : b.keys;
    return b;
}

/* 1 if every probability of the block is exactly 0, given the smallest maximum (or lse) of its
 * rows. Any NaN gives 0. */
static int block_is_zero(const struct attention_task *t, const struct packed *p,
                         const struct block *b, float smallest)
{
    int nearest = b->diagonal - (b->keys - 1) > 0 ? b->diagonal - (b->keys - 1) : 0,
        farthest = b->diagonal + b->queries - 1;
    float bias = extreme_over((b->kept ? &t->open : &t->bias)->extreme, nearest,
                              farthest); /* open's are not smaller */
    double bound = (double)p->query_size[b->i / QUERIES] * p->key_size[b->j / KEYS];
    double rounding =
        GROUP > 1
            ? 5e-3
            : 1e-4; /* of bound: more than head_size roundings of a float sum, and two to bf16 */
    if (t->soft_cap > 0 && bound > t->soft_cap)
        bound = t->soft_cap;
    if (t->multiplier.at)
        bound *= extreme_over(t->multiplier.extreme, nearest, farthest);
    double key_bias = t->key_bias ? extreme_over(t->key_bias_extreme, b->first_key,
                                                 b->first_key + b->keys - 1)
                                  : 0;
    if ((bias == -INFINITY || b->outside) && bound < INFINITY)
        return 1;
    double top = bound * (1 + rounding) + bias + key_bias;
    double slack = 1e-3 +
                   1e-6 * (bound + fabs((double)bias) + fabs(key_bias) + fabs((double)smallest));
    return t->skip && top + slack < (double)smallest + (double)EXP_DIFFERENCE_ZERO_BELOW;
}

/* Columns of row r to compute: those allowed by causality, in whole vectors. */
static inline int row_columns(const struct block *b, int r)
{
    int columns = r + b->diagonal + 1;
    if (columns > b->keys)
        columns = b->keys;
    return columns < 0 ? 0 : (columns + WIDTH - 1) / WIDTH * WIDTH;
}

/* Finishes one row of scores in place, except for the bias by distance: soft-cap (its derivative
 * into slope unless NULL), multiplier, key bias. */
INLINE void finish_row(float *z, float *slope, const struct attention_task *t,
                       const struct block *b, int r, int columns)
{
    const float *multiplier = t->multiplier.at
                                  ? t->multiplier.at + (b->first_key - (b->first_query + r))
                                  : NULL;
    const float *key_bias = t->key_bias ? t->key_bias + b->first_key : NULL;
    if (t->soft_cap > 0) {
        v_float cap = v_all(t->soft_cap), inverse = v_all(1 / t->soft_cap);
        for (int c = 0; c < columns; c += WIDTH) {
            v_float tangent = v_tanh(v_load(z + c) * inverse);
            v_store(z + c, cap * tangent);
            if (slope)
                v_store(slope + c, 1.0f - tangent * tangent);
        }
    }
    if (multiplier)
        for (int c = 0; c < columns; c += WIDTH)
            v_store(z + c, v_load(z + c) * v_load(multiplier + c));
    if (key_bias)
        for (int c = 0; c < columns; c += WIDTH)
            v_store(z + c, v_load(z + c) + v_load(key_bias + c));
}

/* What must still be added to the computed columns of row r of the scores: bias and mask; NULL:
 * nothing. Valid until the next row's. */
static inline const float *row_bias(struct workspace *w, const struct attention_task *t,
                                    const struct block *b, int r, int columns)
{
    int first = b->first_key - (b->first_query + r); /* minus the block's first key's distance */
    int others = b->kept; /* leading keys that are kept, or in another chunk */
    if (b->cut)
        others = attention_chunk_begin(b->first_query + r, t->chunk) - b->first_key;
    if (others <= 0)
        return t->biased || b->masked ? t->bias.at + first : NULL;
    others = others < columns ? others : columns;
    if (b->cut)
        for (int c = 0; c < others; c++)
            w->bias[c] = -INFINITY;
    else
        memcpy(w->bias, t->open.at + first, (size_t)others * sizeof(float));
    memcpy(w->bias + others, t->bias.at + first + others,
           (size_t)(columns - others) * sizeof(float));
    return w->bias;
}

#endif
