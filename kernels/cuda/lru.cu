/* Gates of linear recurrent units of the cuda set, computed in double as kernels/reference/lru.c
 * does: a thread for each channel of each row. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

struct lru_arguments {
    const float *raw, *rate;
    size_t width, count, total; /* rows of a segment; numbers in all */
    int begins; /* 1: the first of the rows are those of segments */
};

__device__ static double opening(double x)
{
    return 1 / (1 + exp(-x));
}

/* m of a row, and its derivative by dt; 0 where m is, for which it has none. */
__device__ static double measure(double *slope, double rate, double dt, bool first)
{
    double m = first ? 1 : sqrt(-expm1(-2 * rate * dt));
    *slope = first || m == 0 ? 0 : rate * exp(-2 * rate * dt) / m;
    return m;
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    lru_rows(float *steps, T *y, const T *x, struct lru_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, w = v.width;
    if (e >= v.total)
        return;
    size_t row = e / w, c = e % w;
    double slope, dt = 8 * opening(v.raw[row * 2 * w + c]),
                  m = measure(&slope, v.rate[c], dt, v.begins && row % v.count == 0);
    steps[e] = (float)dt;
    y[e] = from_float<T>((float)(m * opening(v.raw[row * 2 * w + w + c]) * to_float(x[e])));
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    lru_rows_reverse(T *d_x, float *d_raw, const T *d_y, const float *d_steps, const T *x,
                     struct lru_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, w = v.width;
    if (e >= v.total)
        return;
    size_t row = e / w, c = e % w, at = row * 2 * w + c;
    double slope, r = v.raw[at], i = v.raw[at + w], open = opening(i),
                  m = measure(&slope, v.rate[c], 8 * opening(r), v.begins && row % v.count == 0),
                  g = to_float(d_y[e]), of = to_float(x[e]);
    d_x[e] = from_float<T>((float)(m * open * g));
    d_raw[at] = (float)((d_steps[e] + slope * open * of * g) * 8 * opening(r) * opening(-r));
    d_raw[at + w] = (float)(m * of * g * open * opening(-i));
}

static struct lru_arguments arguments_of(struct kernels *k, const struct buffer *raw,
                                         const struct weight *rate, struct rows rows, int width,
                                         int before)
{
    return {(const float *)raw->data,
            (const float *)cuda_weight_data(k, rate),
            (size_t)width,
            (size_t)rows.count,
            (size_t)rows.segments * (size_t)rows.count * (size_t)width,
            !before};
}

static dim3 grid_of(const struct lru_arguments &a)
{
    return dim3((unsigned)cuda_divide_up(a.total, BLOCK));
}

static void lru(struct kernels *k, struct buffer *steps, struct buffer *y, const struct buffer *x,
                const struct buffer *raw, const struct weight *rate, struct rows rows, int width,
                int before)
{
    struct cuda_range range("lru");
    struct lru_arguments a = arguments_of(k, raw, rate, rows, width, before);
    cudaStream_t stream = cuda_state(k)->stream;
    if (cuda_is_bf16(k, x))
        LAUNCH(lru_rows<bf16>, grid_of(a), dim3(BLOCK), 0, stream, (float *)steps->data,
               (bf16 *)y->data, (const bf16 *)x->data, a);
    else
        LAUNCH(lru_rows<float>, grid_of(a), dim3(BLOCK), 0, stream, (float *)steps->data,
               (float *)y->data, (const float *)x->data, a);
}

static void lru_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_raw,
                        const struct buffer *d_y, const struct buffer *d_steps,
                        const struct buffer *x, const struct buffer *raw, const struct weight *rate,
                        struct rows rows, int width, int before)
{
    struct cuda_range range("lru_reverse");
    struct lru_arguments a = arguments_of(k, raw, rate, rows, width, before);
    cudaStream_t stream = cuda_state(k)->stream;
    const float *steps = (const float *)d_steps->data;
    float *d = (float *)d_raw->data;
    if (cuda_is_bf16(k, x))
        LAUNCH(lru_rows_reverse<bf16>, grid_of(a), dim3(BLOCK), 0, stream, (bf16 *)d_x->data, d,
               (const bf16 *)d_y->data, steps, (const bf16 *)x->data, a);
    else
        LAUNCH(lru_rows_reverse<float>, grid_of(a), dim3(BLOCK), 0, stream, (float *)d_x->data, d,
               (const float *)d_y->data, steps, (const float *)x->data, a);
}

void cuda_fill_lru(struct kernels *k)
{
    k->lru = lru;
    k->lru_reverse = lru_reverse;
}
