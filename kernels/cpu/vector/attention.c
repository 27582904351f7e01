/* Attention of one head over one segment, forward and reverse, in blocks of QUERIES x KEYS scores that stay in the near caches.
 *
 * Forward (online softmax): for a block of queries, key blocks from the diagonal to the farthest; a running maximum m and sum l a
 * row; the output so far is scaled by e^(m_old - m_new) when the maximum grows. lse = m + ln l. Reverse: P = e^(z - lse) is
 * computed again; D = sum(do o); dV += P^T dO,  dZ = P (dO V^T - D),  dS = dZ times the derivatives of multiplier and soft-cap,
 * dK += dS^T (scale Q),  dQ += scale dS K.
 *
 * Skipping. v_exp is exactly 0 below EXP_ZERO_BELOW. By Cauchy and Schwarz |scale q.k| <= max |scale q| max |k| over a block, so
 * all its scores lie below a bound; when the bound is below the smallest running maximum (in reverse, the smallest lse) of the
 * block's rows by more than that, every P is 0, the maxima stay, and leaving the block out changes no bit. Near blocks come
 * first, so the maxima are known early. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/product.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Block sizes by measurement on AVX2; PAD keeps rows of a power of two bytes from falling into the same cache sets. */
enum { QUERIES = 96, KEYS = 96, LD = KEYS + 16, HEAD_MOST = 256 + PANEL };
_Static_assert(KEYS % PANEL == 0, "key blocks are whole panels");
_Static_assert((int)TABLE_PAD >= (int)PANEL, "tables are read up to a whole panel behind their end");

/* The small fixed arrays of a task, at the front of its scratch. */
struct workspace {
    float score[QUERIES * LD] __attribute__((aligned(64)));
    float d_score[QUERIES * LD] __attribute__((aligned(64)));
    float slope[QUERIES * LD] __attribute__((aligned(64))); /* reverse: derivative of the soft-cap */
    float first[QUERIES * (HEAD_MOST + 16)] __attribute__((aligned(64))); /* O of the query block, or dK of the key block */
    float second[QUERIES * (HEAD_MOST + 16)] __attribute__((aligned(64))); /* dV */
    float sum[QUERIES * WIDTH] __attribute__((aligned(64)));
    float largest[QUERIES];
};
_Static_assert(KEYS <= QUERIES, "first and second hold a block of either");

/* The arrays of a head, packed so that blocks are contiguous and padded. */
struct packed {
    struct workspace *work;
    size_t ld; /* of the row-major copies: whole panels, an odd number of cache lines */
    int width; /* head_size rounded up to whole vectors */
    float *key_t, *value_t; /* panels [keys / PANEL][head_size][PANEL] */
    float *query, *key, *value, *d_o, *dq; /* [rows, ld] */
    float *lse, *dot; /* [queries] */
    float *query_size, *key_size; /* per block: the largest row length; NaN where something is not finite */
};

static size_t round_up(size_t x, size_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

static size_t row_ld(int head_size)
{
    size_t lines = round_up(round_up((size_t)head_size, PANEL), 16) / 16;
    return (lines | 1) * 16;
}

/* Lays the arrays out behind `base` (NULL: counts only) and returns the floats they take. */
static size_t pack_layout(struct packed *p, float *base, int head_size, int queries, int keys, int reverse)
{
    size_t ld = row_ld(head_size), at = round_up(sizeof(struct workspace) / sizeof(float), 16);
    size_t q = round_up((size_t)queries, 16), k = round_up((size_t)keys, KEYS), d = (size_t)head_size;
    *p = (struct packed){.work = (struct workspace *)base, .ld = ld, .width = (int)round_up(d, WIDTH)};
#define TAKE(pointer, count) (p->pointer = base ? base + at : NULL, at += round_up(count, 16))
    TAKE(key_t, k * d);
    TAKE(query, q * ld);
    TAKE(query_size, (q + QUERIES - 1) / QUERIES);
    TAKE(key_size, k / KEYS);
    if (!reverse) {
        TAKE(value, k * ld);
    } else {
        TAKE(value_t, k * d);
        TAKE(key, k * ld);
        TAKE(d_o, q * ld);
        TAKE(dq, q * ld);
        TAKE(lse, q);
        TAKE(dot, q);
    }
#undef TAKE
    return at;
}

size_t attention_scratch_floats(int head_size, int queries, int keys, int reverse)
{
    struct packed p;
    return pack_layout(&p, NULL, head_size, queries, keys, reverse);
}

/* Rows of one head lie far apart in q, kv and their gradients, where no hardware prefetch follows them. */
static inline void prefetch_ahead(const float *x, size_t stride, int row, int rows, int columns)
{
    enum { AHEAD = 12 };
    if (row + AHEAD < rows)
        for (int c = 0; c < columns; c += 16)
            __builtin_prefetch(x + (size_t)(row + AHEAD) * stride + c);
}

/* Squares of row lengths gathered a block: the largest; NaN once a row that counts, or is only guarded, is not finite. */
struct sizes {
    float *square; /* [blocks]; NULL: not gathered */
    int block;
    int guard; /* 1: rows do not count, but must be finite */
};

static inline void sizes_add(struct sizes s, int row, const float *x, int columns)
{
    if (!s.square)
        return;
    float square = dot_span(x, x, (size_t)columns), *largest = &s.square[row / s.block];
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

/* out[rows, ld] = factor * x, zeros behind the row's end and in the rows up to `padded`. */
static void pack_rows(float *out, size_t ld, const float *x, size_t stride, int rows, int padded, int columns, float factor,
                      struct sizes sizes)
{
    for (int r = 0; r < rows; r++) {
        float *to = out + (size_t)r * ld;
        const float *from = x + (size_t)r * stride;
        prefetch_ahead(x, stride, r, rows, columns);
        for (int c = 0; c < columns; c++)
            to[c] = factor * from[c];
        memset(to + columns, 0, (ld - (size_t)columns) * sizeof(float));
        sizes_add(sizes, r, to, columns);
    }
    memset(out + (size_t)rows * ld, 0, (size_t)(padded - rows) * ld * sizeof(float));
}

/* out[rows / PANEL][columns][PANEL] = x^T, zeros for the rows up to `padded`. */
static void pack_transposed(float *out, const float *x, size_t stride, int rows, int padded, int columns, struct sizes sizes)
{
    for (int panel = 0; panel < padded; panel += PANEL, out += (size_t)columns * PANEL) {
        if (panel + PANEL > rows)
            memset(out, 0, (size_t)columns * PANEL * sizeof(float));
        for (int r = 0; r < PANEL && panel + r < rows; r++) {
            const float *from = x + (size_t)(panel + r) * stride;
            prefetch_ahead(x, stride, panel + r, rows, columns);
            for (int c = 0; c < columns; c++)
                out[c * PANEL + r] = from[c];
            sizes_add(sizes, panel + r, from, columns);
        }
    }
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
    int causal; /* some entry is masked by causality; the padding behind the last key counts as such */
    int masked; /* some entry is masked by causality or window */
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
    return b;
}

/* 1 if every probability of the block is exactly 0, given the smallest maximum (or lse) of its rows. NaN anywhere gives 0. */
static int block_is_zero(const struct attention_task *t, const struct packed *p, const struct block *b, float smallest)
{
    int nearest = b->diagonal - (b->keys - 1) > 0 ? b->diagonal - (b->keys - 1) : 0, farthest = b->diagonal + b->queries - 1;
    float bias = extreme_over(t->bias.extreme, nearest, farthest);
    double bound = (double)p->query_size[b->i / QUERIES] * p->key_size[b->j / KEYS];
    double rounding = 1e-4; /* of bound: more than head_size roundings of a float sum */
    if (t->soft_cap > 0 && bound > t->soft_cap)
        bound = t->soft_cap;
    if (t->multiplier.at)
        bound *= extreme_over(t->multiplier.extreme, nearest, farthest);
    double key_bias = t->key_bias ? extreme_over(t->key_bias_extreme, b->first_key, b->first_key + b->keys - 1) : 0;
    if (bias == -INFINITY && bound < INFINITY)
        return 1;
    double top = bound * (1 + rounding) + bias + key_bias;
    double slack = 1e-3 + 1e-6 * (bound + fabs((double)bias) + fabs(key_bias) + fabs((double)smallest));
    return t->skip && top + slack < (double)smallest + (double)EXP_ZERO_BELOW;
}

/* Columns of row r that are computed: those that causality leaves, in whole vectors. */
static inline int row_columns(const struct block *b, int r)
{
    int columns = r + b->diagonal + 1;
    if (columns > b->keys)
        columns = b->keys;
    return columns < 0 ? 0 : (columns + WIDTH - 1) / WIDTH * WIDTH;
}

/* Finishes one row of scores in place, but for the bias by distance: soft-cap (its derivative into slope unless NULL),
 * multiplier, key bias. */
INLINE void finish_row(float *z, float *slope, const struct attention_task *t, const struct block *b, int r, int columns)
{
    const float *multiplier = t->multiplier.at ? t->multiplier.at + (b->first_key - (b->first_query + r)) : NULL;
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

/* What is still to be added to row r of the scores: bias and mask; NULL: nothing. */
static inline const float *row_bias(const struct attention_task *t, const struct block *b, int r)
{
    return t->biased || b->masked ? t->bias.at + (b->first_key - (b->first_query + r)) : NULL;
}

/* Probabilities of one row in place of its scores; its maximum and sum; `o` scaled when the maximum grew. */
INLINE void softmax_row(float *z, const float *bias, float *o, float *sum, float *largest, int columns, int width)
{
    v_float top = v_all(*largest);
    if (bias)
        for (int c = 0; c < columns; c += WIDTH) {
            v_float score = v_load(z + c) + v_load(bias + c);
            v_store(z + c, score);
            top = v_max(score, top);
        }
    else
        for (int c = 0; c < columns; c += WIDTH)
            top = v_max(v_load(z + c), top);
    float grown = v_largest(top);
    if (grown != *largest) {
        float factor[WIDTH];
        v_store(factor, *largest == -INFINITY ? v_all(0) : v_exp(v_all(*largest - grown)));
        v_float f = v_all(factor[0]);
        v_store(sum, v_load(sum) * f);
        for (int c = 0; c < width; c += WIDTH)
            v_store(o + c, v_load(o + c) * f);
        *largest = grown;
    }
    v_float origin = v_all(grown == -INFINITY ? 0 : grown), total = v_load(sum); /* all masked so far: e^(-inf - 0) = 0 */
    for (int c = 0; c < columns; c += WIDTH) {
        v_float e = v_exp(v_load(z + c) - origin);
        v_store(z + c, e);
        total += e;
    }
    v_store(sum, total);
}

/* Sets flush-to-zero and returns the mode to go back to: products of probabilities near 0 would be denormal, and slow. */
static unsigned denormals_off(void)
{
#if defined(__SSE__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);
    return mode;
#else
    return 0;
#endif
}

static void denormals_restore(unsigned mode)
{
#if defined(__SSE__)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

static void forward_block(const struct attention_task *t, const struct packed *p, const struct block *b)
{
    struct workspace *w = p->work;
    int causal = b->causal, d = t->head_size;
    product(w->score, LD, p->query + (size_t)b->i * p->ld, p->ld, p->key_t + (size_t)b->j * (size_t)d, (size_t)d * PANEL, PANEL,
            b->queries, (int)round_up((size_t)b->keys, WIDTH), d, 0, 0, causal ? MASK_RESULT : MASK_NONE, b->diagonal);
    for (int r = 0; r < b->queries; r++) {
        float *z = w->score + r * LD;
        int columns = row_columns(b, r);
        finish_row(z, NULL, t, b, r, columns);
        softmax_row(z, row_bias(t, b, r), w->first + (size_t)r * p->ld, w->sum + r * WIDTH, &w->largest[r], columns, p->width);
        if (causal)
            memset(z + columns, 0, (size_t)(LD - columns) * sizeof(float));
    }
    product(w->first, p->ld, w->score, LD, p->value + (size_t)b->j * p->ld, PANEL, p->ld, b->queries, p->width, b->keys, 1, 0,
            causal ? MASK_LEFT : MASK_NONE, b->diagonal);
}

void attention_forward(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, padded = (int)round_up((size_t)t->keys, KEYS);
    pack_layout(&p, t->scratch, d, t->queries, t->keys, 0);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale, (struct sizes){p.query_size, QUERIES, 0});
    pack_rows(p.value, p.ld, t->value, t->kv_stride, t->keys, padded, d, 1, (struct sizes){p.key_size, KEYS, 1});
    pack_transposed(p.key_t, t->key, t->kv_stride, t->keys, padded, d, (struct sizes){p.key_size, KEYS, 0});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    struct workspace *w = p.work;
    for (int i = 0; i < t->queries; i += QUERIES) {
        struct block b = block_at(t, i, 0);
        int last = b.first_query + b.queries - 1 - (t->positions - t->keys); /* the farthest key that any of them sees */
        memset(w->first, 0, (size_t)b.queries * p.ld * sizeof(float));
        memset(w->sum, 0, sizeof w->sum);
        for (int r = 0; r < b.queries; r++)
            w->largest[r] = -INFINITY;
        for (int j = last / KEYS * KEYS; j >= 0; j -= KEYS) {
            float smallest = INFINITY;
            for (int r = 0; r < b.queries; r++)
                smallest = w->largest[r] < smallest ? w->largest[r] : smallest;
            b = block_at(t, i, j);
            if (!block_is_zero(t, &p, &b, smallest))
                forward_block(t, &p, &b);
        }
        for (int r = 0; r < b.queries; r++) {
            float total = v_sum(v_load(w->sum + r * WIDTH)), factor = total == 0 ? 0 : 1 / total;
            float *out = t->o + (size_t)(i + r) * t->q_stride;
            for (int c = 0; c < d; c++)
                out[c] = w->first[(size_t)r * p.ld + (size_t)c] * factor;
            t->lse[i + r] = total == 0 ? -INFINITY : (float)((double)w->largest[r] + log((double)total));
        }
    }
    denormals_restore(mode);
}

/* dS of one row in place of dP, P in place of z. */
INLINE void reverse_row(float *z, const float *bias, float *ds, const float *slope, const float *multiplier, float lse, float dot,
                        int columns)
{
    v_float origin = v_all(lse), center = v_all(dot);
    for (int c = 0; c < columns; c += WIDTH) {
        v_float score = v_load(z + c);
        if (bias)
            score += v_load(bias + c);
        v_float probability = v_exp(score - origin), g = probability * (v_load(ds + c) - center);
        if (multiplier)
            g *= v_load(multiplier + c);
        if (slope)
            g *= v_load(slope + c);
        v_store(z + c, probability);
        v_store(ds + c, g);
    }
}

static void reverse_block(const struct attention_task *t, const struct packed *p, const struct block *b)
{
    struct workspace *w = p->work;
    int causal = b->causal, d = t->head_size;
    size_t i = (size_t)b->i * p->ld, j = (size_t)b->j * (size_t)d;
    enum product_mask result = causal ? MASK_RESULT : MASK_NONE, left = causal ? MASK_LEFT : MASK_NONE,
                      left_t = causal ? MASK_LEFT_T : MASK_NONE;
    int columns_all = (int)round_up((size_t)b->keys, WIDTH);
    product(w->score, LD, p->query + i, p->ld, p->key_t + j, (size_t)d * PANEL, PANEL, b->queries, columns_all, d, 0, 0, result,
            b->diagonal);
    product(w->d_score, LD, p->d_o + i, p->ld, p->value_t + j, (size_t)d * PANEL, PANEL, b->queries, columns_all, d, 0, 0, result,
            b->diagonal);
    for (int r = 0; r < b->queries; r++) {
        float *z = w->score + r * LD, *ds = w->d_score + r * LD, *slope = t->soft_cap > 0 ? w->slope + r * LD : NULL;
        int columns = row_columns(b, r);
        const float *multiplier = t->multiplier.at ? t->multiplier.at + (b->first_key - (b->first_query + r)) : NULL,
                    *bias = row_bias(t, b, r);
        float lse = p->lse[b->i + r], dot = p->dot[b->i + r];
        finish_row(z, slope, t, b, r, columns);
        if (slope || multiplier)
            reverse_row(z, bias, ds, slope, multiplier, lse, dot, columns);
        else if (bias)
            reverse_row(z, bias, ds, NULL, NULL, lse, dot, columns);
        else
            reverse_row(z, NULL, ds, NULL, NULL, lse, dot, columns);
        if (causal) {
            memset(z + columns, 0, (size_t)(LD - columns) * sizeof(float));
            memset(ds + columns, 0, (size_t)(LD - columns) * sizeof(float));
        }
    }
    product(w->second, p->ld, w->score, LD, p->d_o + i, PANEL, p->ld, b->keys, p->width, b->queries, 1, 1, left_t, b->diagonal);
    product(w->first, p->ld, w->d_score, LD, p->query + i, PANEL, p->ld, b->keys, p->width, b->queries, 1, 1, left_t,
            b->diagonal);
    product(p->dq + i, p->ld, w->d_score, LD, p->key + (size_t)b->j * p->ld, PANEL, p->ld, b->queries, p->width, b->keys, 1, 0,
            left, b->diagonal);
}

void attention_reverse_head(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, padded = (int)round_up((size_t)t->keys, KEYS), offset = t->keys - t->queries;
    pack_layout(&p, t->scratch, d, t->queries, t->keys, 1);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale, (struct sizes){p.query_size, QUERIES, 0});
    pack_rows(p.d_o, p.ld, t->d_o, t->q_stride, t->queries, t->queries, d, 1, (struct sizes){p.query_size, QUERIES, 1});
    pack_rows(p.key, p.ld, t->key, t->kv_stride, t->keys, padded, d, 1, (struct sizes){p.key_size, KEYS, 0});
    pack_transposed(p.key_t, p.key, p.ld, t->keys, padded, d, (struct sizes){0});
    pack_transposed(p.value_t, t->value, t->kv_stride, t->keys, padded, d, (struct sizes){p.key_size, KEYS, 1});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    memset(p.dq, 0, (size_t)t->queries * p.ld * sizeof(float));
    for (int i = 0; i < t->queries; i++) {
        prefetch_ahead(t->o, t->q_stride, i, t->queries, d);
        p.dot[i] = (float)dot_span_double(p.d_o + (size_t)i * p.ld, t->o + (size_t)i * t->q_stride, (size_t)d);
        p.lse[i] = t->lse[i] == -INFINITY ? 0 : t->lse[i]; /* a row with nothing to see: every z is -inf, every P is 0 */
    }
    struct workspace *w = p.work;
    for (int j = 0; j < t->keys; j += KEYS) {
        struct block b = block_at(t, 0, j);
        memset(w->first, 0, (size_t)b.keys * p.ld * sizeof(float));
        memset(w->second, 0, (size_t)b.keys * p.ld * sizeof(float));
        int first = j - offset > 0 ? (j - offset) / QUERIES * QUERIES
                                   : 0; /* the first block of queries that sees any of these keys */
        for (int i = first; i < t->queries; i += QUERIES) {
            float smallest = INFINITY;
            b = block_at(t, i, j);
            for (int r = 0; r < b.queries; r++)
                smallest = p.lse[i + r] < smallest ? p.lse[i + r] : smallest;
            if (!block_is_zero(t, &p, &b, smallest))
                reverse_block(t, &p, &b);
        }
        for (int c = 0; c < b.keys; c++) {
            memcpy(t->d_key + (size_t)(j + c) * t->d_kv_stride, w->first + (size_t)c * p.ld, (size_t)d * sizeof(float));
            memcpy(t->d_value + (size_t)(j + c) * t->d_kv_stride, w->second + (size_t)c * p.ld, (size_t)d * sizeof(float));
        }
    }
    for (int i = 0; i < t->queries; i++) {
        float *out = t->dq + (size_t)i * t->q_stride;
        for (int c = 0; c < d; c++)
            out[c] = t->scale * p.dq[(size_t)i * p.ld + (size_t)c];
    }
    denormals_restore(mode);
}

/* Adds a block's probabilities, summed along its diagonals, to mass[keys] by distance. `lse` [queries] of its rows. */
static void mass_block(double *mass, const struct attention_task *t, const struct packed *p, const struct block *b,
                       const float *lse)
{
    struct workspace *w = p->work;
    float *diagonal = w->second; /* [QUERIES + LD]: entry (r, c) belongs to QUERIES - 1 - r + c */
    int d = t->head_size;
    product(w->score, LD, p->query + (size_t)b->i * p->ld, p->ld, p->key_t + (size_t)b->j * (size_t)d, (size_t)d * PANEL, PANEL,
            b->queries, (int)round_up((size_t)b->keys, WIDTH), d, 0, 0, b->causal ? MASK_RESULT : MASK_NONE, b->diagonal);
    memset(diagonal, 0, (QUERIES + LD) * sizeof(float));
    for (int r = 0; r < b->queries; r++) {
        float *z = w->score + r * LD, *to = diagonal + QUERIES - 1 - r;
        const float *bias = row_bias(t, b, r);
        int columns = row_columns(b, r);
        v_float origin = v_all(lse[r] == -INFINITY ? 0 : lse[r]); /* a row with nothing to see: every z is -inf */
        finish_row(z, NULL, t, b, r, columns);
        for (int c = 0; c < columns; c += WIDTH) {
            v_float score = v_load(z + c);
            if (bias)
                score += v_load(bias + c);
            v_store(to + c, v_load(to + c) + v_exp(score - origin));
        }
    }
    for (int at = 0; at < QUERIES - 1 + b->keys; at++) {
        int distance = b->diagonal + QUERIES - 1 - at;
        if (distance >= 0 && distance < t->keys)
            mass[distance] += diagonal[at];
    }
}

void attention_mass_head(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, padded = (int)round_up((size_t)t->keys, KEYS);
    pack_layout(&p, t->scratch, d, t->queries, t->keys, 0);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale, (struct sizes){p.query_size, QUERIES, 0});
    pack_transposed(p.key_t, t->key, t->kv_stride, t->keys, padded, d, (struct sizes){p.key_size, KEYS, 0});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    memset(t->mass, 0, (size_t)t->keys * sizeof *t->mass);
    for (int i = 0; i < t->queries; i += QUERIES) {
        struct block b = block_at(t, i, 0);
        int last = b.first_query + b.queries - 1 - (t->positions - t->keys); /* the farthest key that any of them sees */
        float smallest = INFINITY;
        for (int r = 0; r < b.queries; r++)
            smallest = t->lse[i + r] < smallest ? t->lse[i + r] : smallest;
        for (int j = last / KEYS * KEYS; j >= 0; j -= KEYS) {
            b = block_at(t, i, j);
            if (!block_is_zero(t, &p, &b, smallest))
                mass_block(t->mass, t, &p, &b, t->lse + i);
        }
    }
    denormals_restore(mode);
}
