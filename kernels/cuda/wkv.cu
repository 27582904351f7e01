/* Means by channel of the cuda set (ops.h has the formulas): a thread has a channel of a segment,
 * row after row, and loads several rows at a time, so that it waits once for all of them.
 *
 * Sums over other rows are kept as multiples of e^p, p = base - count rate: base is the largest
 * exponent so far, and has been there for `count` rows. Exponents are used as differences alone. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 64, AHEAD = 8 };
/* Below any exponent: of sums over no rows. */
#define NONE (-1e30f)

/* As kernels get it: of the first segment; the others follow. */
template <class T>
struct wkv_arguments {
    const float *k, *rate, *first;
    const T *v;
    int channels, queries, rows;
};

/* A thread's channel, its parameters, and where its rows and queries begin. */
struct place {
    int channel;
    float rate, first;
    size_t row, query;
};

template <class T>
__device__ static struct place place_of(const struct wkv_arguments<T> &a)
{
    struct place p;
    size_t segment = blockIdx.y, channels = (size_t)a.channels;
    p.channel = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (p.channel >= a.channels)
        return p;
    p.rate = a.rate[p.channel], p.first = a.first[p.channel];
    p.row = segment * (size_t)a.rows * channels + (size_t)p.channel;
    p.query = segment * (size_t)a.queries * channels + (size_t)p.channel;
    return p;
}

struct sums {
    float a, b, base, count;
};

/* Adds e^exponent (a, b). */
__device__ static void add(struct sums *s, float exponent, float rate, float a, float b)
{
    float count = s->count + 1.0f, ahead = fmaf(-count, rate, s->base - exponent),
          e = expf(-fabsf(ahead));
    int larger = ahead < 0.0f;
    float kept = larger ? e : 1.0f, added = larger ? 1.0f : e;
    s->a = fmaf(added, a, kept * s->a), s->b = fmaf(added, b, kept * s->b);
    s->base = larger ? exponent : s->base, s->count = larger ? 0.0f : count;
}

/* Grid: blocks of channels, segments. */
template <class T>
__global__ void __launch_bounds__(BLOCK) wkv_rows(T *o, float *log_sum, struct wkv_arguments<T> a)
{
    struct place p = place_of(a);
    struct sums s = {0, 0, NONE, 0};
    size_t channels = (size_t)a.channels;
    if (p.channel >= a.channels)
        return;
    for (int t = 0; t < a.rows; t += AHEAD) {
        float k[AHEAD], v[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            size_t at = p.row + (size_t)(t + i < a.rows ? t + i : t) * channels;
            k[i] = a.k[at], v[i] = to_float(a.v[at]);
        }
        for (int i = 0; i < AHEAD && t + i < a.rows; i++) {
            int query = t + i + a.queries - a.rows;
            if (query >= 0) {
                float own = p.first + k[i], ahead = fmaf(-s.count, p.rate, s.base - own),
                      e = expf(-fabsf(ahead)), before = ahead < 0.0f ? e : 1.0f,
                      here = ahead < 0.0f ? 1.0f : e, sum = fmaf(before, s.b, here);
                size_t at = p.query + (size_t)query * channels;
                o[at] = from_float<T>(fmaf(here, v[i], before * s.a) / sum);
                if (log_sum)
                    log_sum[at] = own + fmaxf(ahead, 0.0f) + logf(sum);
            }
            add(&s, k[i], p.rate, v[i], 1.0f);
        }
    }
}

/* Grid: blocks of channels, segments. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    wkv_rows_reverse(float *d_k, T *d_v, const T *d_o, const T *o, const float *log_sum,
                     struct wkv_arguments<T> a)
{
    struct place p = place_of(a);
    struct sums s = {0, 0, NONE, 0};
    size_t channels = (size_t)a.channels;
    if (p.channel >= a.channels)
        return;
    for (int t = a.rows - 1; t >= 0; t -= AHEAD) {
        float k[AHEAD], v[AHEAD], d[AHEAD], out[AHEAD], z[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            int row = t - i > 0 ? t - i : 0, query = row + a.queries - a.rows;
            size_t at = p.row + (size_t)row * channels,
                   from = p.query + (size_t)(query > 0 ? query : 0) * channels;
            k[i] = a.k[at], v[i] = to_float(a.v[at]);
            d[i] = to_float(d_o[from]), out[i] = to_float(o[from]), z[i] = log_sum[from];
        }
        for (int i = 0; i < AHEAD && t - i >= 0; i++) {
            size_t at = p.row + (size_t)(t - i) * channels;
            float later = expf(fmaf(-s.count, p.rate, s.base + k[i])), of_v = later * s.a,
                  of_k = later * fmaf(v[i], s.a, -s.b);
            if (t - i + a.queries >= a.rows) {
                float own = expf(p.first + (k[i] - z[i])) * d[i];
                of_v += own, of_k = fmaf(own, v[i] - out[i], of_k);
                add(&s, -z[i], p.rate, d[i], d[i] * out[i]);
            } else {
                s.count += 1.0f;
            }
            d_k[at] = of_k, d_v[at] = from_float<T>(of_v);
        }
    }
}

/* -- on the host -- */

template <class T>
static struct wkv_arguments<T> arguments_of(struct kernels *set, const struct buffer *k,
                                            const struct buffer *v, const struct wkv *w,
                                            int queries, int rows) {
    struct wkv_arguments<T> a = {
    };
    a.k = (const float *)k->data, a.v = (const T *)v->data;
    a.rate = (const float *)cuda_weight_data(set, w->rate);
    a.first = (const float *)cuda_weight_data(set, w->first);
    a.channels = w->channels, a.queries = queries, a.rows = rows;
    return a;
}

static dim3
grid_of(const struct wkv *w, int segments)
{
    return dim3((unsigned)cuda_divide_up((size_t)w->channels, BLOCK), (unsigned)segments);
}

static void wkv(struct kernels *set, struct buffer *o, struct buffer *log_sum,
                const struct buffer *k, const struct buffer *v, const struct wkv *w, int segments,
                int queries, int rows)
{
    struct cuda_range range("wkv");
    float *z = log_sum ? (float *)log_sum->data : NULL;
    if (cuda_is_bf16(set, v))
        LAUNCH(wkv_rows<bf16>, grid_of(w, segments), dim3(BLOCK), 0, cuda_state(set)->stream,
               (bf16 *)o->data, z, arguments_of<bf16>(set, k, v, w, queries, rows));
    else
        LAUNCH(wkv_rows<float>, grid_of(w, segments), dim3(BLOCK), 0, cuda_state(set)->stream,
               (float *)o->data, z, arguments_of<float>(set, k, v, w, queries, rows));
}

template <class T>
static void reverse_as(struct kernels *set, struct buffer *d_k, struct buffer *d_v,
                       const struct buffer *d_o, const struct buffer *o,
                       const struct buffer *log_sum, const struct wkv *w,
                       const struct wkv_arguments<T> &a, int segments)
{
    LAUNCH(wkv_rows_reverse<T>, grid_of(w, segments), dim3(BLOCK), 0, cuda_state(set)->stream,
           (float *)d_k->data, (T *)d_v->data, (const T *)d_o->data, (const T *)o->data,
           (const float *)log_sum->data, a);
}

static void wkv_reverse(struct kernels *set, struct buffer *d_k, struct buffer *d_v,
                        const struct buffer *d_o, const struct buffer *o,
                        const struct buffer *log_sum, const struct buffer *k,
                        const struct buffer *v, const struct wkv *w, int segments, int queries,
                        int rows)
{
    struct cuda_range range("wkv_reverse");
    if (cuda_is_bf16(set, v))
        reverse_as(set, d_k, d_v, d_o, o, log_sum, w,
                   arguments_of<bf16>(set, k, v, w, queries, rows), segments);
    else
        reverse_as(set, d_k, d_v, d_o, o, log_sum, w,
                   arguments_of<float>(set, k, v, w, queries, rows), segments);
}

void cuda_fill_wkv(struct kernels *set)
{
    set->wkv = wkv;
    set->wkv_reverse = wkv_reverse;
}
