/* From products q.k to scores, and which tiles need not be computed: see attention.cuh. */
#ifndef REACH_KERNELS_CUDA_ATTENTION_SCORE_CUH
#define REACH_KERNELS_CUDA_ATTENTION_SCORE_CUH

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_tile.cuh"

#include <limits.h>

/* One head of one segment, and where its rows lie. */
template <typename T>
struct attention_task {
    int segment, head, kv_head;
    size_t q_row, q_stride; /* element where the head's row 0 of q and dq begins; from row to row */
    size_t o_row, o_stride; /* the same of o and do */
    size_t key_row, kv_stride; /* the same of keys in kv and dkv */
    size_t value_row;

    __device__ inline attention_task(const attention_arguments &a, int segment_, int head_,
                                     int kv_head_)
        : segment(segment_), head(head_), kv_head(kv_head_)
    {
        size_t size = (size_t)a.head_size, value_size = (size_t)a.value_size;
        q_stride = (size_t)a.heads * size;
        o_stride = (size_t)a.heads * value_size;
        kv_stride = (size_t)a.kv_heads * (size + value_size);
        q_row = (size_t)segment * (size_t)a.queries * q_stride + (size_t)head * size;
        o_row = (size_t)segment * (size_t)a.queries * o_stride + (size_t)head * value_size;
        key_row = (size_t)segment * (size_t)a.keys * kv_stride + (size_t)kv_head * size;
        value_row = (size_t)segment * (size_t)a.keys * kv_stride + (size_t)a.kv_heads * size +
                    (size_t)kv_head * value_size;
    }
    __device__ inline const T *at(const void *base, size_t first, size_t row, size_t stride) const
    {
        return (const T *)base + first + row * stride;
    }
};

__device__ inline int kv_head_of(const attention_arguments &a, int head)
{
    return (int)((long long)head * a.kv_heads / a.heads);
}

/* Keys that the query at a position of the segment sees, from its own on, by window or chunk; of a
 * call that has one of them. */
__device__ inline unsigned keys_seen(const attention_arguments &a, int position)
{
    return (unsigned)(a.chunk > 0 ? position % a.chunk + 1 : a.window);
}

/* The sink of a head in units of log 2; -inf: none. */
__device__ inline float sink_of(const attention_arguments &a, int head)
{
    return a.sinks ? 1.4426950408889634f * a.sinks[head] : -INFINITY;
}

/* lse of a row whose largest x is `largest` and whose sum of 2^(x - largest) is `sum`, and the
 * factor that its output lacks. */
__device__ inline float finish_lse(float *factor, float largest, float sum, float sink)
{
    float top = fmaxf(largest, sink), share = 1, all = sum;
    if (sink != -INFINITY) {
        share = exp2_fast(largest - top);
        all = fmaf(sum, share, exp2_fast(sink - top));
    }
    *factor = sum == 0 ? 0 : share / all;
    return all == 0 ? -INFINITY : 0.6931471805599453f * (top + log2f(all));
}

/* The rows of queries that a block of threads has: `first` .. + `rows` of one head; and its part of
 * the output's columns. The longest rows come first, so that the last blocks to run are short. */
template <class P>
struct query_block {
    static constexpr int PARTS = P::SIZE / P::OUT;
    int segment, head, first, rows, part;

    __device__ inline query_block(const attention_arguments &a, unsigned block)
    {
        unsigned tiles = (unsigned)(a.queries + P::ROWS - 1) / P::ROWS,
                 number = block / PARTS / tiles;
        part = (int)(block % PARTS);
        first = (int)(tiles - 1 - block / PARTS % tiles) * P::ROWS;
        rows = min(P::ROWS, a.queries - first);
        segment = (int)(number / (unsigned)a.heads);
        head = (int)(number % (unsigned)a.heads);
    }
    static unsigned count(const attention_arguments *a)
    {
        return (unsigned)(a->segments * a->heads) *
               ((unsigned)(a->queries + P::ROWS - 1) / P::ROWS) * PARTS;
    }
};

/* The slices of the tables that a tile of scores reads, in shared memory: distances from the tile's
 * smallest on, and biases of its KEYS keys. They are copied in chunks of 16 bytes from the chunk on
 * that holds the first entry. */
template <class P, int FEATURE, int KEYS>
struct score_slices {
    static constexpr int DISTANCES = P::ROWS + P::COLUMNS + 4;
    static constexpr int FLOATS = FEATURE == FEATURE_PLAIN  ? 0
                                  : FEATURE == FEATURE_BIAS ? DISTANCES
                                                            : 2 * DISTANCES + KEYS + 4;

    template <int COUNT>
    static __device__ inline void copy(float *to, const float *row, int first)
    {
        static_assert(COUNT % 4 == 0 && COUNT / 4 <= P::THREADS, "at most a chunk for each thread");
        if (threadIdx.x < COUNT / 4)
            cp_async_16(to + 4 * threadIdx.x, row + (first & ~3) + 4 * threadIdx.x, 1);
    }
    /* first_distance may be negative; first_key counts within the task. */
    static __device__ inline void load(float *to, const attention_arguments &a, int head,
                                       int first_distance, int first_key)
    {
        if constexpr (FEATURE != FEATURE_PLAIN)
            copy<DISTANCES>(to, a.bias + (size_t)head * a.bias_stride, TABLE_PAD + first_distance);
        if constexpr (FEATURE == FEATURE_GENERAL) {
            if (a.multiplier)
                copy<DISTANCES>(to + DISTANCES, a.multiplier + (size_t)head * a.stride,
                                TABLE_PAD + first_distance);
            if (a.key_bias)
                copy<KEYS + 4>(to + 2 * DISTANCES, a.key_bias + (size_t)head * a.stride,
                               TABLE_PAD + a.positions - a.keys + first_key);
        }
    }
};

__device__ inline float tanh_of(float x, bool precise)
{
    return precise ? tanhf(x) : 1 - __fdividef(2.0f, 1 + exp2_fast(2.885390081777927f * x));
}

/* The scores of a tile, of which a thread has R x C. Rows are queries and columns keys, or the
 * other way round (KEY_ROWS). */
template <class P, int FEATURE, bool KEY_ROWS>
struct tile_scores {
    static constexpr int KEYS = KEY_ROWS ? P::ROWS : P::COLUMNS, SIGN = KEY_ROWS ? -1 : 1;
    typedef score_slices<P, FEATURE, KEYS> slices;

    const float *bias, *multiplier, *key_bias; /* of the thread's first row and column */
    float scale2, soft_cap2, cap_scale;
    unsigned limit; /* distances from here on are masked, and as unsigned the negative ones; not
                       with chunks */
    int chunk, place; /* 0: none; position of the thread's first row */
    int distance; /* of the thread's first row and column */
    int kept; /* keys from the thread's first one on that are seen whatever the window */
    bool masked; /* some entry of the tile is */
    bool open; /* the tables hold no window */

    __device__ inline explicit tile_scores(const attention_arguments &a)
        : bias(nullptr), multiplier(nullptr), key_bias(nullptr), scale2(a.scale2),
          soft_cap2(a.soft_cap2), cap_scale(a.cap_scale),
          limit(a.window > 0 ? (unsigned)a.window : (unsigned)INT_MAX), chunk(a.chunk), place(0),
          distance(0), kept(0), masked(false), open(a.open)
    {
    }
    /* The smallest distance of the tile that begins with `query` (as a key's row) and `key`;
     * queries are QUERIES. */
    static __device__ inline int least_distance(int query, int key)
    {
        return query - key - (KEYS - 1);
    }
    /* Turns to that tile. */
    __device__ inline void begin(const attention_arguments &a, const float *slice, int query,
                                 int key)
    {
        constexpr int QUERIES = KEY_ROWS ? P::COLUMNS : P::ROWS;
        int least = least_distance(query, key), inside = SIGN * (P::row() - P::column());
        distance = query - key + inside;
        masked = least < 0 || query + QUERIES - 1 - key >= (int)limit;
        kept = a.kept - key - (KEY_ROWS ? P::row() : P::column());
        if constexpr (FEATURE == FEATURE_GENERAL)
            if (chunk > 0) {
                int before = a.positions - a.keys, last = query + QUERIES - 1;
                masked |= last - key > (before + last) % chunk;
                place = before + (KEY_ROWS ? key : query) + P::row();
            }
        if constexpr (FEATURE != FEATURE_PLAIN) {
            bias = slice + ((TABLE_PAD + least) & 3) + distance - least;
            if constexpr (FEATURE == FEATURE_GENERAL) {
                multiplier = a.multiplier ? bias + slices::DISTANCES : nullptr;
                key_bias = a.key_bias ? slice + 2 * slices::DISTANCES +
                                            ((TABLE_PAD + a.positions - a.keys + key) & 3) +
                                            (KEY_ROWS ? P::row() : P::column())
                                      : nullptr;
            }
        }
    }
    /* Without tables: masked products become -inf. Otherwise the tables do that. */
    __device__ inline void mask(float (&s)[P::R][P::C]) const
    {
        if constexpr (FEATURE == FEATURE_PLAIN) {
            if (!masked)
                return;
#pragma unroll
            for (int i = 0; i < P::R; i++)
#pragma unroll
                for (int j = 0; j < P::C; j++)
                    if ((unsigned)(distance + SIGN * (P::row_offset(i) - P::column_offset(j))) >=
                        limit)
                        s[i][j] = -INFINITY;
        }
    }
    /* The distance from which on row i's entries are masked. */
    __device__ inline unsigned limit_of(int i) const
    {
        if (chunk == 0)
            return limit;
        unsigned inside = (unsigned)(place + P::row_offset(i)) % (unsigned)chunk;
        return KEY_ROWS ? (unsigned)chunk - inside : inside + 1;
    }
    /* x = factor() * get(); get's slope is dz / d(scale q.k). */
    __device__ inline float factor() const
    {
        return FEATURE == FEATURE_PLAIN ? scale2 : 1.0f;
    }
    __device__ inline float get(float *slope, float s, int i, int j) const
    {
        int at = SIGN * (P::row_offset(i) - P::column_offset(j));
        *slope = 1;
        if constexpr (FEATURE == FEATURE_PLAIN)
            return s;
        if constexpr (FEATURE == FEATURE_BIAS)
            return fmaf(s, scale2, bias[at]);
        float x = s * scale2;
        if (soft_cap2 > 0) {
            float tangent = tanh_of(s * cap_scale, !P::type::MATRIX);
            x = soft_cap2 * tangent;
            *slope = 1 - tangent * tangent;
        }
        if (multiplier) {
            x *= multiplier[at];
            *slope *= multiplier[at];
        }
        x += bias[at];
        int key = KEY_ROWS ? P::row_offset(i) : P::column_offset(j);
        if (open && masked && (unsigned)(distance + at) >= limit_of(i) && key >= kept)
            return -INFINITY;
        return key_bias ? x + key_bias[key] : x;
    }
};

/* x of query and key (rows of the task) from their product; *slope = dz / d(scale q.k). */
__device__ inline float score_of(float *slope, const attention_arguments &a, int head, int query,
                                 int key, float product)
{
    int distance = TABLE_PAD + query + a.keys - a.queries - key;
    float x = product * a.scale2;
    *slope = 1;
    if (a.open && key >= a.kept &&
        distance - TABLE_PAD >= (int)keys_seen(a, query + a.positions - a.queries))
        return -INFINITY;
    if (a.soft_cap2 > 0) {
        float tangent = tanhf(product * a.cap_scale);
        x = a.soft_cap2 * tangent;
        *slope = 1 - tangent * tangent;
    }
    if (a.multiplier) {
        float multiplier = a.multiplier[(size_t)head * a.stride + (size_t)distance];
        x *= multiplier;
        *slope *= multiplier;
    }
    x += a.bias[(size_t)head * a.bias_stride + (size_t)distance];
    return a.key_bias ? x + a.key_bias[(size_t)head * a.stride +
                                       (size_t)(TABLE_PAD + a.positions - a.keys + key)]
                      : x;
}

/* -- tiles that are proved to be zero --
 *
 * exp2_fast is 0 below EXP2_ZERO. By Cauchy and Schwarz |q.k| <= |q| |k|, so all scores of a tile
 * lie below a bound. `least` knows a number that the largest score of every row reaches: in forward
 * the score of the query's own key (which lies in a nearer tile, and that tile's bound is no
 * smaller, so it has been visited), in reverse lse2. When the bound is below it by more than that,
 * every p of the tile is 0, no maximum moves, and leaving the tile out changes no bit. Norms and
 * `least` are NaN where an input is not finite, and then nothing is left out. */
#define EXP2_ZERO (-151.0f)

/* The larger; NaN if either is. */
__device__ inline float larger(float a, float b)
{
    return a >= b ? a : b > a ? b : NAN;
}

/* The smaller; NaN if either is. */
__device__ inline float smaller(float a, float b)
{
    return a <= b ? a : b < a ? b : NAN;
}

/* The largest of entries first .. last (both included, within 0 .. count - 1) of a table, of which
 * `most` has the largest of every NORM_ROWS. */
__device__ inline float most_over(const float *most, int first, int last)
{
    float largest = -INFINITY;
    for (int i = first / NORM_ROWS; i <= last / NORM_ROWS; i++)
        largest = larger(largest, most[i]);
    return largest;
}

/* The smallest of entries first .. last of rows of which `least` has the smallest of every
 * NORM_ROWS. */
__device__ inline float least_over(const float *least, int first, int last)
{
    float smallest = INFINITY;
    for (int i = first / NORM_ROWS; i <= last / NORM_ROWS; i++)
        smallest = smaller(smallest, least[i]);
    return smallest;
}

/* All scores x of queries first_query .. last_query with keys first_key .. last_key of the task lie
 * below this; -inf when all are masked, NaN when nothing is known. */
__device__ inline float scores_below(const attention_arguments &a, int segment, int head,
                                     int kv_head, int first_query, int last_query, int first_key,
                                     int last_key)
{
    int offset = a.keys - a.queries, nearest = max(first_query + offset - last_key, 0),
        farthest = last_query + offset - first_key;
    const float *query_norm = a.query_norm + ((size_t)segment * (size_t)a.heads + (size_t)head) *
                                                 (size_t)a.query_norms;
    const float *key_norm = a.key_norm + ((size_t)segment * (size_t)a.kv_heads + (size_t)kv_head) *
                                             (size_t)a.key_norms;
    float bound = most_over(query_norm, first_query, last_query) *
                  most_over(key_norm, first_key, last_key) * fabsf(a.scale2) *
                  1.002f; /* tf32's rounding */
    float bias = most_over(a.bias_most + (size_t)head * (size_t)a.bias_most_stride, nearest,
                           farthest),
          key_bias = 0;
    size_t most_row = (size_t)head * (size_t)a.most_stride;
    if (a.soft_cap2 > 0 && bound > a.soft_cap2)
        bound = a.soft_cap2;
    if (a.multiplier)
        bound *= most_over(a.multiplier_most + most_row, nearest, farthest);
    if (a.key_bias)
        key_bias = most_over(a.key_bias_most + most_row, a.positions - a.keys + first_key,
                             a.positions - a.keys + last_key);
    if ((bias == -INFINITY || key_bias == -INFINITY) && bound < INFINITY)
        return -INFINITY;
    return bound + bias + key_bias + 0.01f + 4e-6f * (bound + fabsf(bias) + fabsf(key_bias));
}

/* 1 when scores below `top` have p = 0 in rows whose largest score (or lse2) is at least
 * `smallest`. */
__device__ inline bool all_zero(float top, float smallest)
{
    return top == -INFINITY || top < smallest + EXP2_ZERO - 1e-5f * fabsf(smallest);
}

/* Tiles of COLUMNS keys that a block of queries visits, from the nearest to the farthest: those of
 * the window or chunk, then those that hold kept keys. */
template <class P>
struct key_tiles {
    int begin, end, window, kept; /* of all: the first, and the one after the last; of the window:
                                     the first; with kept keys: their number */

    __device__ inline key_tiles(const attention_arguments &a, int first, int rows)
    {
        int own = first + a.keys - a.queries; /* the first query's own key */
        end = (own + rows + P::COLUMNS - 1) / P::COLUMNS;
        window = 0;
        if (a.window > 0 || a.chunk > 0)
            window = max(own + 1 - (int)keys_seen(a, first + a.positions - a.queries), 0) /
                     P::COLUMNS;
        kept = min((a.kept + P::COLUMNS - 1) / P::COLUMNS, window);
        begin = kept > 0 ? 0 : window;
    }
    /* The tile behind `tile`; below `begin` when there is none. */
    __device__ inline int next(int tile) const { return tile == window ? kept - 1 : tile - 1; }
};

/* Bytes of shared memory for the list of `tiles` tiles after the `used` others. A task with too
 * many tiles for the list or for the device skips none, which changes no bit. */
inline int list_bytes(attention_arguments *a, int used, long long tiles)
{
    a->skip = a->skip && tiles <= LIST_MOST && used + tiles <= a->shared_most;
    return a->skip ? (int)tiles : 0;
}

/* For a block of queries: list[tile - begin] = 0 where its scores with a tile of COLUMNS keys are
 * all zero, else 1. */
template <class P>
__device__ inline void list_tiles(unsigned char *list, const attention_arguments &a,
                                  const query_block<P> &block, int kv_head, int begin, int end)
{
    int last = block.first + block.rows - 1;
    float least = least_over(a.least +
                                 ((size_t)block.segment * (size_t)a.heads + (size_t)block.head) *
                                     (size_t)a.query_norms,
                             block.first, last);
    for (int tile = begin + (int)threadIdx.x; tile < end; tile += P::THREADS)
        list[tile - begin] = !all_zero(scores_below(a, block.segment, block.head, kv_head,
                                                    block.first, last, tile * P::COLUMNS,
                                                    min((tile + 1) * P::COLUMNS, a.keys) - 1),
                                       least);
}

#endif
