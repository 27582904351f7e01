/* Operations of the cuda set on one row or element at a time: embedding, rotation, clipping, norms
 * of rows, conversions. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* A grid over `total` elements, a thread each, limited so that every thread has several if there
 * are very many. */
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

/* x[r, :] = scale table[token] + positions[first_position + r % count], a block a row; `vocabulary`
 * bounds the ids. */
template <int N, class T, class P>
__global__ void __launch_bounds__(BLOCK)
    embed_rows(float *x, const int32_t *tokens, const T *table, float scale, const P *positions,
               size_t first_position, size_t count, int vocabulary, size_t width,
               struct cuda_fault *fault)
{
    size_t r = blockIdx.x;
    int32_t token = tokens[r];
    int known = token >= 0 && token < vocabulary;
    if (!known && threadIdx.x == 0 &&
        atomicCAS(&fault->kind, FAULT_NONE, FAULT_TOKEN) == FAULT_NONE) {
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
static void launch_embed(struct kernels *k, struct buffer *x, const struct buffer *tokens,
                         const struct weight *table, const struct weight *position_table,
                         int position_count, double scale, struct rows rows, int width)
{
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count;
    const T *from = (const T *)cuda_weight_data(k, table);
    const P *positions = (const P *)cuda_weight_data(k, position_table);
    size_t first = (size_t)(position_count - rows.count), count = (size_t)rows.count;
    struct cuda_state *s = cuda_state(k);
    dim3 grid((unsigned)total);
    if (w % 4 == 0)
        LAUNCH((embed_rows<4, T, P>), grid, dim3(cuda_row_threads(w / 4)), 0, s->stream,
               (float *)x->data, (const int32_t *)tokens->data, from, (float)scale, positions,
               first, count, (int)table->rows, w, s->fault);
    else
        LAUNCH((embed_rows<1, T, P>), grid, dim3(cuda_row_threads(w)), 0, s->stream,
               (float *)x->data, (const int32_t *)tokens->data, from, (float)scale, positions,
               first, count, (int)table->rows, w, s->fault);
}

static int stored_as_bf16(const struct weight *w)
{
    return w && ((const struct cuda_weight *)w->fast)->type == ELEMENT_BF16;
}

static void embed(struct kernels *k, struct buffer *x, const struct buffer *tokens,
                  const struct weight *table, const struct weight *position_table,
                  int position_count, double scale, struct rows rows, int width)
{
    struct cuda_range range("embed");
    int positions_bf16 = stored_as_bf16(position_table);
    if (stored_as_bf16(table) && positions_bf16)
        launch_embed<bf16, bf16>(k, x, tokens, table, position_table, position_count, scale, rows,
                                 width);
    else if (stored_as_bf16(table))
        launch_embed<bf16, float>(k, x, tokens, table, position_table, position_count, scale, rows,
                                  width);
    else if (positions_bf16)
        launch_embed<float, bf16>(k, x, tokens, table, position_table, position_count, scale, rows,
                                  width);
    else
        launch_embed<float, float>(k, x, tokens, table, position_table, position_count, scale, rows,
                                   width);
}

/* Which elements of a row are turned: pair p of a head is (p * step, p * step + apart). */
struct rotation {
    size_t first_position, count, width;
    unsigned turned, pairs, head_size, first, step, apart; /* turned: pairs of all heads; first:
                                                              dimension of a head */
    float direction;
};

/* (u, v) -> (u cos f - v sin f, v cos f + u sin f); a block a row, N neighbouring pairs a thread:
 * in halves, vectors of N of each; interleaved, one of 2 N. */
template <int N, int HALVES, class T>
__global__ void __launch_bounds__(BLOCK)
    rotate_rows(T *x, const float *cosine, const float *sine, struct rotation o)
{
    size_t angles = (o.first_position + blockIdx.x % (unsigned)o.count) * o.pairs;
    T *row = x + blockIdx.x * o.width;
    cosine += angles, sine += angles;
    for (unsigned i = threadIdx.x * N; i < o.turned; i += blockDim.x * N) {
        unsigned pair = i % o.pairs, at = i / o.pairs * o.head_size + o.first + pair * o.step;
        float c[N], s[N], in[2 * N], out[2 * N];
        load_floats<N>(c, cosine + pair);
        load_floats<N>(s, sine + pair);
        if constexpr (HALVES) {
            load_floats<N>(in, row + at);
            load_floats<N>(in + N, row + at + o.apart);
        } else
            load_floats<2 * N>(in, row + at);
        for (int j = 0; j < N; j++) {
            int first = HALVES ? j : 2 * j, second = HALVES ? N + j : 2 * j + 1;
            float turn = o.direction * s[j];
            out[first] = in[first] * c[j] - in[second] * turn;
            out[second] = in[second] * c[j] + in[first] * turn;
        }
        if constexpr (HALVES) {
            store_floats<N>(row + at, out);
            store_floats<N>(row + at + o.apart, out + N);
        } else
            store_floats<2 * N>(row + at, out);
    }
}

template <class T>
static void launch_rotate(struct kernels *k, T *x, const struct cuda_attention *d,
                          const struct rotation *o, unsigned grid)
{
    cudaStream_t stream = cuda_state(k)->stream;
    unsigned each = o->apart > 1 ? 4 : 2; /* pairs whose elements are vectors of 4 */
    int vectors = o->pairs % each == 0 && o->head_size % 4 == 0 && o->first % 4 == 0 &&
                  o->width % 4 == 0;
#define ROTATE(n, halves) \
    LAUNCH((rotate_rows<n, halves, T>), dim3(grid), dim3(cuda_row_threads(o->turned / n)), 0, \
           stream, x, d->cosine, d->sine, *o)
    if (o->apart > 1 && vectors)
        ROTATE(4, 1);
    else if (vectors)
        ROTATE(2, 0);
    else
        ROTATE(1, 1); /* interleaved too: its vectors of 2 may not be aligned */
#undef ROTATE
}

static void rotate(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows,
                   int heads, int width, int direction)
{
    struct cuda_range range("rotate");
    const struct attention_shape *s = &a->shape;
    const struct cuda_attention *d = cuda_attention(a);
    unsigned pairs = (unsigned)s->rotary_size / 2, turned = (unsigned)heads * pairs,
             half = s->pairing == PAIRING_HALF;
    struct rotation o = {(size_t)(s->positions - rows.count),
                         (size_t)rows.count,
                         (size_t)width,
                         turned,
                         pairs,
                         (unsigned)s->head_size,
                         (unsigned)s->rotary_first,
                         half ? 1u : 2u,
                         half ? pairs : 1u,
                         (float)direction};
    unsigned grid = (unsigned)rows.segments * (unsigned)rows.count;
    if (!turned || !grid)
        return;
    if (cuda_is_bf16(k, x))
        launch_rotate(k, (bf16 *)x->data, d, &o, grid);
    else
        launch_rotate(k, (float *)x->data, d, &o, grid);
}

/* A block a row. */
template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    scale_rows(T *x, const float *factor, size_t count, size_t width)
{
    T *row = x + blockIdx.x * width;
    float f = factor[blockIdx.x % count];
    for (size_t c = threadIdx.x * N; c < width; c += blockDim.x * N) {
        float value[N];
        load_floats<N>(value, row + c);
        for (int j = 0; j < N; j++)
            value[j] = f * value[j];
        store_floats<N>(row + c, value);
    }
}

template <class T>
static void launch_scale(struct kernels *k, struct buffer *q, const float *factor, struct rows rows,
                         size_t width)
{
    dim3 grid((unsigned)rows.segments * (unsigned)rows.count);
#define SCALE(n) \
    LAUNCH((scale_rows<n, T>), grid, dim3(cuda_row_threads(width / n)), 0, cuda_state(k)->stream, \
           (T *)q->data, factor, (size_t)rows.count, width)
    if (!grid.x)
        return;
    if (width % 4 == 0)
        SCALE(4);
    else
        SCALE(1);
#undef SCALE
}

static void scale_queries(struct kernels *k, struct buffer *q, const struct attention *a,
                          struct rows rows, int width)
{
    struct cuda_range range("scale_queries");
    const float *factor = cuda_attention(a)->factor + (a->shape.positions - rows.count);
    if (cuda_is_bf16(k, q))
        launch_scale<bf16>(k, q, factor, rows, (size_t)width);
    else
        launch_scale<float>(k, q, factor, rows, (size_t)width);
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

__global__ void __launch_bounds__(BLOCK) scale_elements(float *x, float factor, size_t total)
{
    for (size_t i = first_element(); i < total; i += element_step())
        x[i] = factor == 0 ? 0 : factor * x[i];
}

/* `limit` is rounded as T holds it: clipped elements equal it exactly. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    clip_elements_reverse(T *dx, const T *x, float limit, size_t total)
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
    struct cuda_range range("clip");
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    if (cuda_is_bf16(k, x))
        LAUNCH(clip_elements<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream,
               (bf16 *)x->data, (float)limit, total);
    else
        LAUNCH(clip_elements<float>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream,
               (float *)x->data, (float)limit, total);
}

static void scale(struct kernels *k, struct buffer *x, double factor, struct rows rows, int width)
{
    struct cuda_range range("scale");
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    LAUNCH(scale_elements, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream,
           (float *)x->data, (float)factor, total);
}

static void clip_reverse(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit,
                         struct rows rows, int width)
{
    struct cuda_range range("clip_reverse");
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    if (cuda_is_bf16(k, x))
        LAUNCH(clip_elements_reverse<bf16>, grid_over(total), dim3(BLOCK), 0, cuda_state(k)->stream,
               (bf16 *)dx->data, (const bf16 *)x->data, (float)limit, total);
    else
        LAUNCH(clip_elements_reverse<float>, grid_over(total), dim3(BLOCK), 0,
               cuda_state(k)->stream, (float *)dx->data, (const float *)x->data, (float)limit,
               total);
}

/* A warp a row; sums in double. */
template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    norms_of_rows(float *norms, const T *x, double factor, size_t rows, size_t width)
{
    size_t row = (size_t)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP;
    double sum = 0;
    if (row >= rows)
        return;
    for (size_t c = threadIdx.x % WARP * N; c < width; c += WARP * N) {
        float value[N];
        load_floats<N>(value, x + row * width + c);
        for (int j = 0; j < N; j++)
            sum += (double)value[j] * value[j];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        norms[row] = (float)(factor * sqrt(sum));
}

template <class T>
static void launch_row_norms(struct kernels *k, struct buffer *norms, const struct buffer *x,
                             double factor, struct rows rows, size_t width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
#define NORMS(n) \
    LAUNCH((norms_of_rows<n, T>), dim3((unsigned)cuda_divide_up(total, BLOCK / WARP)), \
           dim3(BLOCK), 0, cuda_state(k)->stream, (float *)norms->data, (const T *)x->data, \
           factor, total, width)
    if (width % 4 == 0)
        NORMS(4);
    else
        NORMS(1);
#undef NORMS
}

static void row_norms(struct kernels *k, struct buffer *norms, const struct buffer *x,
                      double factor, struct rows rows, int width)
{
    struct cuda_range range("row_norms");
    if (cuda_is_bf16(k, x))
        launch_row_norms<bf16>(k, norms, x, factor, rows, (size_t)width);
    else
        launch_row_norms<float>(k, norms, x, factor, rows, (size_t)width);
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
        LAUNCH((convert_elements<bf16, float>), grid_over(cuda_divide_up(count, 4)), dim3(BLOCK), 0,
               stream, out, in, count);
}

void cuda_convert_float(cudaStream_t stream, float *out, const bf16 *in, size_t count)
{
    if (count)
        LAUNCH((convert_elements<float, bf16>), grid_over(cuda_divide_up(count, 4)), dim3(BLOCK), 0,
               stream, out, in, count);
}

/* `vectors`: both are aligned for them, which rows of a run need not be. */
__global__ void __launch_bounds__(BLOCK)
    round_elements(float *out, const float *in, size_t total, int vectors)
{
    size_t step = element_step() * 4;
    for (size_t i = first_element() * 4; i < total; i += step) {
        float v[4];
        if (vectors && i + 4 <= total) {
            load_floats<4>(v, in + i);
            for (int j = 0; j < 4; j++)
                v[j] = __uint_as_float(to_tf32(v[j]));
            store_floats<4>(out + i, v);
        } else
            for (size_t j = i; j < total && j < i + 4; j++)
                out[j] = __uint_as_float(to_tf32(in[j]));
    }
}

void cuda_round_tf32(cudaStream_t stream, float *out, const float *in, size_t count)
{
    if (count)
        LAUNCH(round_elements, grid_over(cuda_divide_up(count, 4)), dim3(BLOCK), 0, stream, out, in,
               count, ((uintptr_t)out | (uintptr_t)in) % 16 == 0);
}

void cuda_fill_rows(struct kernels *k)
{
    k->embed = embed;
    k->rotate = rotate;
    k->scale_queries = scale_queries;
    k->scale = scale;
    k->clip = clip;
    k->clip_reverse = clip_reverse;
    k->row_norms = row_norms;
}
