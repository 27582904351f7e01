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

/* x[R, width] = scale table[token] + positions[first_position + r % count]; `vocabulary` bounds the ids. */
template <class T, class P>
__global__ void __launch_bounds__(BLOCK) embed_rows(float *x, const int32_t *tokens, const T *table, float scale, const P *positions, size_t first_position,
                                                    size_t count, int vocabulary, size_t total, size_t width, struct cuda_fault *fault)
{
    for (size_t i = first_element(); i < total; i += element_step()) {
        size_t r = i / width, c = i % width;
        int32_t token = tokens[r];
        float value = 0;
        if (token < 0 || token >= vocabulary) {
            if (c == 0 && atomicCAS(&fault->kind, FAULT_NONE, FAULT_TOKEN) == FAULT_NONE) {
                fault->value = token;
                fault->limit = vocabulary - 1;
            }
        } else {
            value = scale * to_float(table[(size_t)token * width + c]);
            if (positions)
                value += to_float(positions[(first_position + r % count) * width + c]);
        }
        x[i] = value;
    }
}

template <class T, class P>
static void launch_embed(struct kernels *k, struct buffer *x, const struct buffer *tokens, const struct weight *table, double scale, const struct weight *position_rows,
                         int position_count, struct rows rows, int width)
{
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count * w;
    LAUNCH((embed_rows<T, P>), grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)x->data, (const int32_t *)tokens->data,
           (const T *)cuda_weight_data(k, table), (float)scale, (const P *)cuda_weight_data(k, position_rows), (size_t)(position_count - rows.count),
           (size_t)rows.count, (int)table->rows, total, w, cuda_state(k)->fault);
}

static int stored_as_bf16(const struct weight *w)
{
    return w && ((const struct cuda_weight *)w->fast)->type == ELEMENT_BF16;
}

static void embed(struct kernels *k, struct buffer *x, const struct buffer *tokens, const struct weight *table, double scale, const struct weight *position_rows,
                  int position_count, struct rows rows, int width)
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

template <class T> __global__ void __launch_bounds__(BLOCK) clip_elements(T *x, float limit, size_t total)
{
    for (size_t i = first_element(); i < total; i += element_step()) {
        float v = to_float(x[i]);
        if (v > limit || v < -limit) /* a NaN stays one */
            x[i] = from_float<T>(v > limit ? limit : -limit);
    }
}

/* `limit` is rounded as T holds it: clipped elements stand exactly there. */
template <class T> __global__ void __launch_bounds__(BLOCK) clip_elements_reverse(T *dx, const T *x, float limit, size_t total)
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
        LAUNCH(clip_elements<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (bf16 *)x->data, (float)limit, total);
    else
        LAUNCH(clip_elements<float>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)x->data, (float)limit, total);
}

static void clip_reverse(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    if (cuda_is_bf16(k, x))
        LAUNCH(clip_elements_reverse<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (bf16 *)dx->data, (const bf16 *)x->data, (float)limit, total);
    else
        LAUNCH(clip_elements_reverse<float>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)dx->data, (const float *)x->data, (float)limit, total);
}

/* dst rows of segments of `to` rows, of which this copies `count` from row dst_first on; src likewise from src_first of segments of `from`. */
struct move {
    size_t to, dst_first, from, src_first, count, width;
};

template <int ADD, class D, class S> __global__ void __launch_bounds__(BLOCK) move_rows(D *dst, const S *src, struct move m, size_t total)
{
    for (size_t i = first_element(); i < total; i += element_step()) {
        size_t row = i / m.width, c = i % m.width, segment = row / m.count, r = row % m.count;
        size_t at = (segment * m.to + m.dst_first + r) * m.width + c;
        float x = to_float(src[(segment * m.from + m.src_first + r) * m.width + c]);
        dst[at] = from_float<D>(ADD ? to_float(dst[at]) + x : x);
    }
}

template <int ADD> static void move(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, struct move m)
{
    size_t total = (size_t)segments * m.count * m.width;
    cudaStream_t stream = cuda_state(k)->stream;
    if (!total)
        return;
    if (cuda_is_bf16(k, dst) && cuda_is_bf16(k, src))
        LAUNCH((move_rows<ADD, bf16, bf16>), grid_over(total), dim3(BLOCK), 0, stream, (bf16 *)dst->data, (const bf16 *)src->data, m, total);
    else if (cuda_is_bf16(k, dst))
        LAUNCH((move_rows<ADD, bf16, float>), grid_over(total), dim3(BLOCK), 0, stream, (bf16 *)dst->data, (const float *)src->data, m, total);
    else if (cuda_is_bf16(k, src))
        LAUNCH((move_rows<ADD, float, bf16>), grid_over(total), dim3(BLOCK), 0, stream, (float *)dst->data, (const bf16 *)src->data, m, total);
    else
        LAUNCH((move_rows<ADD, float, float>), grid_over(total), dim3(BLOCK), 0, stream, (float *)dst->data, (const float *)src->data, m, total);
}

static void tail(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from, int width)
{
    struct move m = {(size_t)to, 0, (size_t)from, (size_t)(from - to), (size_t)to, (size_t)width};
    move<0>(k, dst, src, segments, m);
}

static void tail_reverse(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from, int width)
{
    struct move m = {(size_t)from, (size_t)(from - to), (size_t)to, 0, (size_t)to, (size_t)width};
    move<1>(k, dst, src, segments, m);
}

static void join(struct kernels *k, struct buffer *dst, const struct buffer *a, const struct buffer *b, int segments, int first, int second, int width)
{
    struct move begin = {(size_t)(first + second), 0, (size_t)first, 0, (size_t)first, (size_t)width};
    struct move end = {(size_t)(first + second), (size_t)first, (size_t)second, 0, (size_t)second, (size_t)width};
    move<0>(k, dst, a, segments, begin);
    move<0>(k, dst, b, segments, end);
}

/* A warp a row; sums in double. */
template <class T> __global__ void __launch_bounds__(BLOCK) norms_of_rows(float *norms, const T *dx, double factor, size_t rows, size_t width)
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

static void row_norms(struct kernels *k, struct buffer *norms, const struct buffer *dx, double factor, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    dim3 grid((unsigned)cuda_divide_up(total, BLOCK / WARP));
    if (cuda_is_bf16(k, dx))
        LAUNCH(norms_of_rows<bf16>, grid, dim3(BLOCK), 0, cuda_state(k)->stream, (float *)norms->data, (const bf16 *)dx->data, factor, total, (size_t)width);
    else
        LAUNCH(norms_of_rows<float>, grid, dim3(BLOCK), 0, cuda_state(k)->stream, (float *)norms->data, (const float *)dx->data, factor, total, (size_t)width);
}

template <class D, class S> __global__ void __launch_bounds__(BLOCK) convert_elements(D *out, const S *in, size_t total)
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
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
    k->row_norms = row_norms;
}
