/* Operations of the cuda set on rows and elements: embedding, moves of rows, clipping, conversions, norms of rows. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* A grid over `total` elements, a thread each, at most so many that every thread has a few when there are very many. */
static dim3 grid_over(size_t total)
{
    size_t blocks = cuda_divide_up(total, BLOCK);
    return dim3((unsigned)(blocks < 65536 ? blocks : 65536));
}

/* The elements of a thread: first, first + step, ... */
__device__ static size_t first_element(void)
{
    return (size_t)blockIdx.x * BLOCK + threadIdx.x;
}

__device__ static size_t element_step(void)
{
    return (size_t)gridDim.x * BLOCK;
}

/* Threads of a block that has a row of so many vectors: no more warps than have work. */
static unsigned threads_for(size_t vectors)
{
    size_t threads = cuda_divide_up(vectors, WARP) * WARP;
    return (unsigned)(threads < (size_t)BLOCK ? threads : (size_t)BLOCK);
}

/* x[r, :] = scale table[token] + positions[first_position + r % count], a block a row; `vocabulary` bounds the ids. */
template <int N, class T, class P>
__global__ void __launch_bounds__(BLOCK)
    embed_rows(float *x, const int32_t *tokens, const T *table, float scale, const P *positions, size_t first_position,
               size_t count, int vocabulary, size_t width, struct cuda_fault *fault)
{
    size_t r = blockIdx.x;
    int32_t token = tokens[r];
    int known = token >= 0 && token < vocabulary;
    if (!known && threadIdx.x == 0 && atomicCAS(&fault->kind, FAULT_NONE, FAULT_TOKEN) == FAULT_NONE) {
        fault->value = token;
        fault->limit = vocabulary - 1;
    }
    for (size_t c = threadIdx.x * N; c < width; c += blockDim.x * N) {
        float value[N] = {0}, shift[N] = {0};
        if (known)
            load_floats<N>(value, table + (size_t)token * width + c);
        if (known && positions)
            load_floats<N>(shift, positions + (first_position + r % count) * width + c);
        for (int j = 0; j < N; j++)
            value[j] = scale * value[j] + shift[j];
        store_floats<N>(x + r * width + c, value);
    }
}

template <class T, class P>
static void launch_embed(struct kernels *k, struct buffer *x, const struct buffer *tokens, const struct weight *table,
                         double scale, const struct weight *position_rows, int position_count, struct rows rows, int width)
{
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count;
    const T *from = (const T *)cuda_weight_data(k, table);
    const P *positions = (const P *)cuda_weight_data(k, position_rows);
    size_t first = (size_t)(position_count - rows.count), count = (size_t)rows.count;
    struct cuda_state *s = cuda_state(k);
    dim3 grid((unsigned)total);
    if (w % 4 == 0)
        LAUNCH((embed_rows<4, T, P>), grid, dim3(threads_for(w / 4)), 0, s->stream, (float *)x->data,
               (const int32_t *)tokens->data, from, (float)scale, positions, first, count, (int)table->rows, w, s->fault);
    else
        LAUNCH((embed_rows<1, T, P>), grid, dim3(threads_for(w)), 0, s->stream, (float *)x->data, (const int32_t *)tokens->data,
               from, (float)scale, positions, first, count, (int)table->rows, w, s->fault);
}

static int stored_as_bf16(const struct weight *w)
{
    return w && ((const struct cuda_weight *)w->fast)->type == ELEMENT_BF16;
}

static void embed(struct kernels *k, struct buffer *x, const struct buffer *tokens, const struct weight *table, double scale,
                  const struct weight *position_rows, int position_count, struct rows rows, int width)
{
    int positions_bf16 = stored_as_bf16(position_rows);
    if (stored_as_bf16(table) && positions_bf16)
        launch_embed<bf16, bf16>(k, x, tokens, table, scale, position_rows, position_count, rows, width);
    else if (stored_as_bf16(table))
        launch_embed<bf16, float>(k, x, tokens, table, scale, position_rows, position_count, rows, width);
    else if (positions_bf16)
        launch_embed<float, bf16>(k, x, tokens, table, scale, position_rows, position_count, rows, width);
    else
        launch_embed<float, float>(k, x, tokens, table, scale, position_rows, position_count, rows, width);
}

template <class T>
__global__ void __launch_bounds__(BLOCK) clip_elements(T *x, float limit, size_t total)
{
    for (size_t i = first_element(); i < total; i += element_step()) {
        float v = to_float(x[i]);
        if (v > limit || v < -limit) /* a NaN stays one */
            x[i] = from_float<T>(v > limit ? limit : -limit);
    }
}

/* `limit` is rounded as T holds it: clipped elements stand exactly there. */
template <class T>
__global__ void __launch_bounds__(BLOCK) clip_elements_reverse(T *dx, const T *x, float limit, size_t total)
{
    float stands = to_float(from_float<T>(limit));
    for (size_t i = first_element(); i < total; i += element_step()) {
        float v = to_float(x[i]);
        if (v == stands || v == -stands)
            dx[i] = from_float<T>(0.0f);
    }
}

static void clip(struct kernels *k, struct buffer *x, double limit, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    if (cuda_is_bf16(k, x))
        LAUNCH(clip_elements<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (bf16 *)x->data, (float)limit,
               total);
    else
        LAUNCH(clip_elements<float>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)x->data, (float)limit,
               total);
}

static void clip_reverse(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    if (cuda_is_bf16(k, x))
        LAUNCH(clip_elements_reverse<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (bf16 *)dx->data,
               (const bf16 *)x->data, (float)limit, total);
    else
        LAUNCH(clip_elements_reverse<float>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)dx->data,
               (const float *)x->data, (float)limit, total);
}

/* dst rows of segments of `to` rows, of which this copies `count` from row dst_first on; src likewise from src_first of segments
 * of `from`. */
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
static void launch_move(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, struct move m)
{
    cudaStream_t stream = cuda_state(k)->stream;
    dim3 grid((unsigned)((size_t)segments * m.count));
    if (m.width % 4 == 0)
        LAUNCH((move_rows<4, ADD, D, S>), grid, dim3(threads_for(m.width / 4)), 0, stream, (D *)dst->data, (const S *)src->data,
               m);
    else
        LAUNCH((move_rows<1, ADD, D, S>), grid, dim3(threads_for(m.width)), 0, stream, (D *)dst->data, (const S *)src->data, m);
}

template <int ADD>
static void move(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, struct move m)
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

static void copy(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width)
{
    move<0>(k, y, x, 1, whole(rows, width));
}

static void add(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width)
{
    move<1>(k, y, x, 1, whole(rows, width));
}

static void tail(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from, int width)
{
    struct move m = {(size_t)to, 0, (size_t)from, (size_t)(from - to), (size_t)to, (size_t)width};
    move<0>(k, dst, src, segments, m);
}

static void tail_reverse(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from,
                         int width)
{
    struct move m = {(size_t)from, (size_t)(from - to), (size_t)to, 0, (size_t)to, (size_t)width};
    move<1>(k, dst, src, segments, m);
}

static void join(struct kernels *k, struct buffer *dst, const struct buffer *a, const struct buffer *b, int segments, int first,
                 int second, int width)
{
    struct move begin = {(size_t)(first + second), 0, (size_t)first, 0, (size_t)first, (size_t)width};
    struct move end = {(size_t)(first + second), (size_t)first, (size_t)second, 0, (size_t)second, (size_t)width};
    move<0>(k, dst, a, segments, begin);
    move<0>(k, dst, b, segments, end);
}

/* A warp a row; sums in double. */
template <class T>
__global__ void __launch_bounds__(BLOCK) norms_of_rows(float *norms, const T *dx, double factor, size_t rows, size_t width)
{
    size_t row = (size_t)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP;
    double sum = 0;
    if (row >= rows)
        return;
    for (size_t c = threadIdx.x % WARP; c < width; c += WARP) {
        double x = to_float(dx[row * width + c]);
        sum += x * x;
    }
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        norms[row] = (float)(factor * sqrt(sum));
}

static void row_norms(struct kernels *k, struct buffer *norms, const struct buffer *dx, double factor, struct rows rows,
                      int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    dim3 grid((unsigned)cuda_divide_up(total, BLOCK / WARP));
    if (cuda_is_bf16(k, dx))
        LAUNCH(norms_of_rows<bf16>, grid, dim3(BLOCK), 0, cuda_state(k)->stream, (float *)norms->data, (const bf16 *)dx->data,
               factor, total, (size_t)width);
    else
        LAUNCH(norms_of_rows<float>, grid, dim3(BLOCK), 0, cuda_state(k)->stream, (float *)norms->data, (const float *)dx->data,
               factor, total, (size_t)width);
}

template <class D, class S>
__global__ void __launch_bounds__(BLOCK) convert_elements(D *out, const S *in, size_t total)
{
    size_t step = element_step() * 4;
    for (size_t i = first_element() * 4; i < total; i += step) {
        float v[4];
        if (i + 4 <= total) {
            load_floats<4>(v, in + i);
            store_floats<4>(out + i, v);
        } else
            for (size_t j = i; j < total; j++)
                out[j] = from_float<D>(to_float(in[j]));
    }
}

void cuda_convert_bf16(cudaStream_t stream, bf16 *out, const float *in, size_t count)
{
    if (count)
        LAUNCH((convert_elements<bf16, float>), grid_over(cuda_divide_up(count, 4)), dim3(BLOCK), 0, stream, out, in, count);
}

void cuda_convert_float(cudaStream_t stream, float *out, const bf16 *in, size_t count)
{
    if (count)
        LAUNCH((convert_elements<float, bf16>), grid_over(cuda_divide_up(count, 4)), dim3(BLOCK), 0, stream, out, in, count);
}

void cuda_fill_rows(struct kernels *k)
{
    k->embed = embed;
    k->clip = clip;
    k->clip_reverse = clip_reverse;
    k->copy = copy;
    k->add = add;
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
    k->row_norms = row_norms;
}
