/* Operations of the cuda set that only move or add rows, or parts of them. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* dst rows of segments of `to` rows, of which this copies `count` from row dst_first on; src
 * likewise from src_first of segments of `from`. */
struct move {
    size_t to, dst_first, from, src_first, count, width;
};

/* A block a row. */
template <int N, int ADD, class D, class S>
__global__ void __launch_bounds__(BLOCK) move_rows(D *dst, const S *src, struct move m)
{
    size_t segment = blockIdx.x / m.count, r = blockIdx.x % m.count;
    D *to = dst + (segment * m.to + m.dst_first + r) * m.width;
    const S *from = src + (segment * m.from + m.src_first + r) * m.width;
    for (size_t c = threadIdx.x * N; c < m.width; c += blockDim.x * N) {
        float x[N], old[N] = {0};
        load_floats<N>(x, from + c);
        if (ADD) {
            load_floats<N>(old, to + c);
            for (int j = 0; j < N; j++)
                x[j] += old[j];
        }
        store_floats<N>(to + c, x);
    }
}

template <int ADD, class D, class S>
static void launch_move(struct kernels *k, struct buffer *dst, const struct buffer *src,
                        int segments, struct move m)
{
    cudaStream_t stream = cuda_state(k)->stream;
    dim3 grid((unsigned)((size_t)segments * m.count));
    if (m.width % 4 == 0)
        LAUNCH((move_rows<4, ADD, D, S>), grid, dim3(cuda_row_threads(m.width / 4)), 0, stream,
               (D *)dst->data, (const S *)src->data, m);
    else
        LAUNCH((move_rows<1, ADD, D, S>), grid, dim3(cuda_row_threads(m.width)), 0, stream,
               (D *)dst->data, (const S *)src->data, m);
}

template <int ADD>
static void move(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments,
                 struct move m)
{
    if (!segments || !m.count || !m.width)
        return;
    if (cuda_is_bf16(k, dst) && cuda_is_bf16(k, src))
        launch_move<ADD, bf16, bf16>(k, dst, src, segments, m);
    else if (cuda_is_bf16(k, dst))
        launch_move<ADD, bf16, float>(k, dst, src, segments, m);
    else if (cuda_is_bf16(k, src))
        launch_move<ADD, float, bf16>(k, dst, src, segments, m);
    else
        launch_move<ADD, float, float>(k, dst, src, segments, m);
}

/* All rows: one segment of `rows`. */
static struct move whole(struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    return {total, 0, total, 0, total, (size_t)width};
}

static void copy(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                 int width)
{
    struct cuda_range range("copy");
    move<0>(k, y, x, 1, whole(rows, width));
}

static void add(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                int width)
{
    struct cuda_range range("add");
    move<1>(k, y, x, 1, whole(rows, width));
}

static void tail(struct kernels *k, struct buffer *y, const struct buffer *x, int segments, int to,
                 int from, int width)
{
    struct cuda_range range("tail");
    struct move m = {(size_t)to, 0, (size_t)from, (size_t)(from - to), (size_t)to, (size_t)width};
    move<0>(k, y, x, segments, m);
}

static void tail_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                         int segments, int to, int from, int width)
{
    struct cuda_range range("tail_reverse");
    struct move m = {(size_t)from, (size_t)(from - to), (size_t)to, 0, (size_t)to, (size_t)width};
    move<1>(k, dx, dy, segments, m);
}

static void join(struct kernels *k, struct buffer *y, const struct buffer *x_before,
                 const struct buffer *x_behind, int segments, int before, int behind, int width)
{
    struct cuda_range range("join");
    size_t all = (size_t)before + (size_t)behind;
    struct move first = {all, 0, (size_t)before, 0, (size_t)before, (size_t)width};
    struct move second = {all, (size_t)before, (size_t)behind, 0, (size_t)behind, (size_t)width};
    move<0>(k, y, x_before, segments, first);
    move<0>(k, y, x_behind, segments, second);
}

/* Widths of a head's parts, and of rows. */
struct joined {
    unsigned heads, rest, shared, values; /* key: rest, then shared */
};

/* kv from own and shared, or the reverse of it except the sum over heads: a block a row, N
 * neighbouring columns of own a thread. */
template <int N, int REVERSE, class T>
__global__ void __launch_bounds__(BLOCK)
    split_heads(T *kv, T *own, const T *shared, struct joined o)
{
    unsigned size = o.rest + o.shared, each = o.rest + o.values;
    T *key = kv + (size_t)blockIdx.x * o.heads * (size + o.values), *value = key + o.heads * size;
    own += (size_t)blockIdx.x * o.heads * each;
    for (unsigned i = threadIdx.x * N; i < o.heads * each; i += blockDim.x * N) {
        unsigned h = i / each, c = i % each;
        T *there = c < o.rest ? key + h * size + c : value + h * o.values + (c - o.rest);
        float x[N];
        load_floats<N>(x, REVERSE ? there : own + i);
        store_floats<N>(REVERSE ? own + i : there, x);
    }
    for (unsigned i = threadIdx.x; !REVERSE && i < o.heads * o.shared; i += blockDim.x)
        key[i / o.shared * size + o.rest + i % o.shared] =
            shared[(size_t)blockIdx.x * o.shared + i % o.shared];
}

/* d_shared: a block a row, a column a thread. */
template <class T>
__global__ void __launch_bounds__(BLOCK) sum_shared(T *d_shared, const T *dkv, struct joined o)
{
    unsigned size = o.rest + o.shared;
    const T *key = dkv + (size_t)blockIdx.x * o.heads * (size + o.values) + o.rest;
    for (unsigned c = threadIdx.x; c < o.shared; c += blockDim.x) {
        float sum = 0;
        for (unsigned h = 0; h < o.heads; h++)
            sum += to_float(key[h * size + c]);
        d_shared[(size_t)blockIdx.x * o.shared + c] = from_float<T>(sum);
    }
}

template <int REVERSE, class T>
static void launch_join(struct kernels *k, T *kv, T *own, T *shared, const struct attention *a,
                        struct rows rows, int shared_size)
{
    const struct attention_shape *s = &a->shape;
    const struct joined o = {(unsigned)s->kv_heads, (unsigned)(s->head_size - shared_size),
                             (unsigned)shared_size, (unsigned)s->value_size};
    unsigned columns = o.heads * (o.rest + o.values);
    dim3 grid((unsigned)rows.segments * (unsigned)rows.count);
    cudaStream_t stream = cuda_state(k)->stream;
    if (!grid.x)
        return;
    if ((o.rest | o.shared | o.values) % 4 == 0)
        LAUNCH((split_heads<4, REVERSE, T>), grid, dim3(cuda_row_threads(columns / 4)), 0, stream,
               kv, own, shared, o);
    else
        LAUNCH((split_heads<1, REVERSE, T>), grid, dim3(cuda_row_threads(columns)), 0, stream, kv,
               own, shared, o);
    if (REVERSE && shared_size)
        LAUNCH(sum_shared<T>, grid, dim3(cuda_row_threads(o.shared)), 0, stream, shared, kv, o);
}

static void join_keys(struct kernels *k, struct buffer *kv, const struct buffer *own,
                      const struct buffer *shared, const struct attention *a, struct rows rows,
                      int shared_size)
{
    struct cuda_range range("join_keys");
    if (cuda_is_bf16(k, kv))
        launch_join<0, bf16>(k, (bf16 *)kv->data, (bf16 *)own->data, (bf16 *)shared->data, a, rows,
                             shared_size);
    else
        launch_join<0, float>(k, (float *)kv->data, (float *)own->data, (float *)shared->data, a,
                              rows, shared_size);
}

static void join_keys_reverse(struct kernels *k, struct buffer *d_own, struct buffer *d_shared,
                              const struct buffer *dkv, const struct attention *a, struct rows rows,
                              int shared_size)
{
    struct cuda_range range("join_keys_reverse");
    if (cuda_is_bf16(k, dkv))
        launch_join<1, bf16>(k, (bf16 *)dkv->data, (bf16 *)d_own->data, (bf16 *)d_shared->data, a,
                             rows, shared_size);
    else
        launch_join<1, float>(k, (float *)dkv->data, (float *)d_own->data, (float *)d_shared->data,
                              a, rows, shared_size);
}

void cuda_fill_move(struct kernels *k)
{
    k->copy = copy;
    k->add = add;
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
    k->join_keys = join_keys;
    k->join_keys_reverse = join_keys_reverse;
}
