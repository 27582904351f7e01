/* Recurrences of the cuda set (recurrence_kernels.cuh has the formulas). Reverse takes a span
 * between kept states at a time, the last first: states and E of its chunks again, then F and H
 * backwards, then the gradients of queries, keys and gates for each head, then sums over the heads
 * of a key head.
 *
 * One query alone: its output is linear in the values, o = sum of w_t v_t with the w of a
 * recurrence whose values are single numbers; and what reverse needs is the gradient of that
 * recurrence with values v_t . dO. So neither direction has a matrix for its state. */
#include "kernels/cuda/recurrence_kernels.cuh"

/* Queries and keys of d_qkv, rows first .. first + count - 1: sums over the heads of a key head. A
 * thread each. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    sum_key_heads(T *d_qkv, const float *d_pairs, int heads, int key_heads, int dk, int keys,
                  int width, int first, int count, size_t total)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, both = 2 * (size_t)(key_heads * dk);
    if (e >= total)
        return;
    size_t row = e / both % (size_t)count, segment = e / both / (size_t)count;
    int column = (int)(e % both), part = column / (key_heads * dk), group = column / dk % key_heads,
        each = heads / key_heads;
    float sum = 0;
    for (int h = group * each; h < (group + 1) * each; h++)
        sum += d_pairs[((segment * (size_t)heads + (size_t)h) * RECURRENCE_SPAN + row) * 2 *
                           (size_t)dk +
                       (size_t)(part * dk + column % dk)];
    d_qkv[(segment * (size_t)keys + (size_t)first + row) * (size_t)width + (size_t)column] =
        from_float<T>(sum);
}

/* -- one query alone: a.value are the values, a.d_out the gradient of the output -- */

/* projected[segments*keys, heads] = v . dO. A warp each. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    project_values(float *projected, struct recurrence_task<T, T> a, size_t total)
{
    size_t e = (size_t)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP, heads = (size_t)a.heads,
           dv = (size_t)a.dv;
    if (e >= total)
        return;
    const T *value = a.value + e / heads * (size_t)a.value_width + e % heads * dv,
            *d_out = a.d_out + (e / heads / (size_t)a.keys * heads + e % heads) * dv;
    float sum = 0;
    for (int c = (int)threadIdx.x % WARP; c < a.dv; c += WARP)
        sum += to_float(value[c]) * to_float(d_out[c]);
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        projected[e] = sum;
}

/* Values of d_qkv from d_projected. A thread each. */
template <class T>
__global__ void __launch_bounds__(BLOCK) spread_values(T *d_value, const float *d_projected,
                                                       struct recurrence_task<T, T> a, size_t total)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, across = (size_t)a.heads * (size_t)a.dv;
    if (e >= total)
        return;
    size_t row = e / across, column = e % across, h = column / (size_t)a.dv;
    float d_o = to_float(a.d_out[row / (size_t)a.keys * across + column]),
          skip = a.skip && row % (size_t)a.keys + 1 == (size_t)a.keys ? a.skip[h] : 0;
    d_value[row * (size_t)a.value_width + column] = from_float<T>(
        (d_projected[row * (size_t)a.heads + h] + skip) * d_o);
}

/* o[segments, heads dv] = the sum of w_t v_t, w [segments*keys, heads]. A block has WARP columns,
 * and each of its warps every eighth row. Grid: columns, segments. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    weigh_values(T *o, const float *w, struct recurrence_task<T, T> a)
{
    __shared__ float part[BLOCK / WARP][WARP];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP,
        column = (int)blockIdx.x * WARP + lane, across = a.heads * a.dv;
    size_t segment = blockIdx.y, h = (size_t)(column / a.dv), row_0 = segment * (size_t)a.keys;
    float sum = 0;
    for (int t = warp; column < across && t < a.keys; t += BLOCK / WARP)
        sum += w[(row_0 + (size_t)t) * (size_t)a.heads + h] *
               to_float(a.value[(row_0 + (size_t)t) * (size_t)a.value_width + (size_t)column]);
    part[warp][lane] = sum;
    __syncthreads();
    if (warp || column >= across)
        return;
    sum = a.skip
              ? a.skip[h] * to_float(a.value[(row_0 + (size_t)a.keys - 1) * (size_t)a.value_width +
                                             (size_t)column])
              : 0;
    for (int i = 0; i < BLOCK / WARP; i++)
        sum += part[i][lane];
    o[segment * (size_t)across + (size_t)column] = from_float<T>(sum);
}

/* -- on the host -- */

template <class T>
static struct recurrence_task<T, T> task_of(struct kernels *k, const struct buffer *qkv,
                                            const struct buffer *gates, const struct buffer *d_o,
                                            const struct recurrence *r, int queries, int keys) {
    struct recurrence_task<T, T> a = {
    };
    a.qkv = (const T *)qkv->data;
    a.value = a.qkv + 2 * r->key_heads * r->key_size;
    a.d_out = d_o ? (const T *)d_o->data : NULL;
    a.gates = (const float *)gates->data;
    a.skip = (const float *)cuda_weight_data(k, r->skip);
    a.heads = r->heads, a.key_heads = r->key_heads;
    a.dk = r->key_size, a.dv = r->value_size, a.delta = r->delta;
    a.queries = queries, a.keys = keys;
    a.width = a.value_width = recurrence_width(r);
    a.scale = (float)r->scale;
    return a;
}

/* The recurrence with values of one number, [segments*keys, heads], whose output's gradient is 1.
 */
template <class T>
static struct recurrence_task<T, float> narrow_task(const struct recurrence_task<T, T> &a,
                                                    const float *projected) {
    struct recurrence_task<T, float> b = {
        a.qkv, projected, NULL, a.gates, NULL, a.heads, a.key_heads, a.dk, 1, a.delta, a.queries,
            a.keys, a.width, a.heads, a.scale
    };
    return b;
}

/* What reverse keeps of one span, in floats for one head. */
struct span_sizes {
    size_t kept, adjoints, rows, pairs;
};

static struct span_sizes span_sizes(size_t dk, size_t dv)
{
    return {(SPAN_CHUNKS - 1) * dk * dv, (SPAN_CHUNKS + 1) * dk * dv, RECURRENCE_SPAN * dv,
            RECURRENCE_SPAN * 2 * dk};
}

static size_t span_floats(size_t dk, size_t dv)
{
    struct span_sizes z = span_sizes(dk, dv);
    return z.kept + z.adjoints + 2 * z.rows + z.pairs;
}

template <class T, class V>
static dim3 grid_of(const struct recurrence_task<T, V> &a, size_t heads)
{
    return dim3((unsigned)heads, (unsigned)cuda_divide_up((size_t)a.dv, CHUNK));
}

static int chunks_of(int keys)
{
    return (int)cuda_divide_up((size_t)keys, CHUNK);
}

/* Zeros [dk, dv] in scratch, the state before row 0 of each head. */
static int clear(struct kernels *k, float *zeros, size_t size)
{
    return cuda_check(k, cudaMemsetAsync(zeros, 0, size * sizeof *zeros, cuda_state(k)->stream),
                      "first states");
}

/* All chunks forward; o may be NULL. heads: of all segments. */
template <class T, class V>
static void run_forward(struct kernels *k, V *o, float *states, const float *zeros,
                        const struct recurrence_task<T, V> &a, size_t heads)
{
    size_t slots = recurrence_states(a.keys);
    LAUNCH((recur_chunks<T, V>), grid_of(a, heads), dim3(BLOCK), 0, cuda_state(k)->stream, o,
           (float *)NULL, states, (int)slots, (int)SPAN_CHUNKS, zeros, (size_t)0, a, 0,
           chunks_of(a.keys));
}

/* All spans backwards, with span_floats for each head in `space`. */
template <class T, class V>
static void run_reverse(struct kernels *k, T *d_qkv, V *d_value, float *d_gates,
                        const float *states, const float *zeros,
                        const struct recurrence_task<T, V> &a, size_t heads, float *space)
{
    cudaStream_t stream = cuda_state(k)->stream;
    size_t dk = (size_t)a.dk, dv = (size_t)a.dv, slots = recurrence_states(a.keys),
           segments = heads / (size_t)a.heads;
    struct span_sizes z = span_sizes(dk, dv);
    float *kept = space, *adjoints = kept + heads * z.kept,
          *corrections = adjoints + heads * z.adjoints, *weights = corrections + heads * z.rows,
          *d_pairs = weights + heads * z.rows;
    int all = chunks_of(a.keys);
    for (int from = (all - 1) / SPAN_CHUNKS * SPAN_CHUNKS; from >= 0; from -= SPAN_CHUNKS) {
        int to = from + SPAN_CHUNKS < all ? from + SPAN_CHUNKS : all, first = from * CHUNK,
            count = (to == all ? a.keys : to * CHUNK) - first;
        size_t total = segments * (size_t)count * 2 * (size_t)a.key_heads * dk;
        struct span_parts p = {from ? states + (size_t)(from / SPAN_CHUNKS - 1) * dk * dv : zeros,
                               from ? slots * dk * dv : 0,
                               kept,
                               adjoints,
                               corrections,
                               weights};
        LAUNCH((recur_chunks<T, V>), grid_of(a, heads), dim3(BLOCK), 0, stream, (V *)NULL,
               corrections, kept, (int)SPAN_CHUNKS - 1, 1, p.begin, p.begin_step, a, from, to);
        LAUNCH((recur_adjoints<T, V>), grid_of(a, heads), dim3(BLOCK), 0, stream, d_value, weights,
               adjoints, a, from, to, to == all);
        LAUNCH((recur_gradients<T, V>), dim3((unsigned)heads, (unsigned)(to - from)), dim3(BLOCK),
               0, stream, d_pairs, d_gates, p, a, from);
        LAUNCH(sum_key_heads<T>, dim3((unsigned)cuda_divide_up(total, BLOCK)), dim3(BLOCK), 0,
               stream, d_qkv, (const float *)d_pairs, a.heads, a.key_heads, a.dk, a.keys, a.width,
               first, count, total);
    }
}

/* Floats that forward and reverse of one query take for so many heads. */
static size_t last_floats(size_t heads, size_t keys, size_t dk)
{
    return heads * (keys + span_sizes(dk, 1).adjoints);
}

static size_t last_reverse_floats(size_t heads, size_t keys, size_t dk)
{
    return heads * (2 * keys + recurrence_states((int)keys) * dk + span_floats(dk, 1)) + dk;
}

/* w of each row and head, and from it o. */
template <class T>
static void run_last(struct kernels *k, T *o, const struct recurrence_task<T, T> &a,
                     size_t segments)
{
    cudaStream_t stream = cuda_state(k)->stream;
    size_t heads = segments * (size_t)a.heads, rows = heads * (size_t)a.keys;
    float *w = (float *)cuda_scratch(k,
                                     last_floats(heads, (size_t)a.keys, (size_t)a.dk) * sizeof *w,
                                     "a recurrence's last row"),
          *adjoints = w + rows;
    struct recurrence_task<T, float> b = narrow_task(a, (const float *)NULL);
    int all = chunks_of(a.keys);
    if (!w)
        return;
    for (int from = (all - 1) / SPAN_CHUNKS * SPAN_CHUNKS; from >= 0; from -= SPAN_CHUNKS) {
        int to = from + SPAN_CHUNKS < all ? from + SPAN_CHUNKS : all;
        LAUNCH((recur_adjoints<T, float>), grid_of(b, heads), dim3(BLOCK), 0, stream, w,
               (float *)NULL, adjoints, b, from, to, to == all);
    }
    LAUNCH(weigh_values<T>,
           dim3((unsigned)cuda_divide_up((size_t)(a.heads * a.dv), WARP), (unsigned)segments),
           dim3(BLOCK), 0, stream, o, (const float *)w, a);
}

template <class T>
static void run_last_reverse(struct kernels *k, T *d_qkv, float *d_gates,
                             const struct recurrence_task<T, T> &a, size_t segments)
{
    cudaStream_t stream = cuda_state(k)->stream;
    size_t heads = segments * (size_t)a.heads, rows = heads * (size_t)a.keys,
           states = heads * recurrence_states(a.keys) * (size_t)a.dk,
           values = segments * (size_t)a.keys * (size_t)(a.heads * a.dv);
    float *projected = (float *)cuda_scratch(
              k, last_reverse_floats(heads, (size_t)a.keys, (size_t)a.dk) * sizeof *projected,
              "the gradient of a recurrence's last row"),
          *d_projected = projected + rows, *kept = d_projected + rows, *space = kept + states,
          *zeros = space + heads * span_floats((size_t)a.dk, 1);
    struct recurrence_task<T, float> b = narrow_task(a, projected);
    if (!projected || clear(k, zeros, (size_t)a.dk))
        return;
    LAUNCH(project_values<T>, dim3((unsigned)cuda_divide_up(rows, BLOCK / WARP)), dim3(BLOCK), 0,
           stream, projected, a, rows);
    run_forward(k, (float *)NULL, kept, zeros, b, heads);
    run_reverse(k, d_qkv, d_projected, d_gates, kept, zeros, b, heads, space);
    LAUNCH(spread_values<T>, dim3((unsigned)cuda_divide_up(values, BLOCK)), dim3(BLOCK), 0, stream,
           d_qkv + 2 * a.key_heads * a.dk, (const float *)d_projected, a, values);
}

template <class T>
static void recur_as(struct kernels *k, struct buffer *o, struct buffer *states,
                     const struct recurrence_task<T, T> &a, size_t segments)
{
    size_t size = (size_t)a.dk * (size_t)a.dv;
    float *zeros;
    if (!states) {
        run_last(k, (T *)o->data, a, segments);
        return;
    }
    zeros = (float *)cuda_scratch(k, size * sizeof *zeros, "a recurrence");
    if (zeros && !clear(k, zeros, size))
        run_forward(k, (T *)o->data, (float *)states->data, zeros, a, segments * (size_t)a.heads);
}

static void recur(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                  int segments, int queries, int keys)
{
    struct cuda_range range("recur");
    if (r->by_channel)
        cuda_channels(k, o, states, qkv, gates, r, segments, queries, keys);
    else if (cuda_is_bf16(k, qkv))
        recur_as(k, o, states, task_of<bf16>(k, qkv, gates, NULL, r, queries, keys),
                 (size_t)segments);
    else
        recur_as(k, o, states, task_of<float>(k, qkv, gates, NULL, r, queries, keys),
                 (size_t)segments);
}

/* Segments that reverse takes at a time, as many as give each multiprocessor four blocks: the work
 * space does not grow with the batch from there on. */
static size_t segments_at_once(struct kernels *k, size_t heads, size_t dv)
{
    return cuda_divide_up(4 * (size_t)cuda_state(k)->processors, heads * cuda_divide_up(dv, CHUNK));
}

template <class T>
static void recur_reverse_as(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                             const struct buffer *states, struct recurrence_task<T, T> a,
                             size_t segments)
{
    size_t heads = (size_t)a.heads, dk = (size_t)a.dk, dv = (size_t)a.dv, keys = (size_t)a.keys,
           most = segments_at_once(k, heads, states ? dv : 1);
    T *d = (T *)d_qkv->data;
    float *d_gate = (float *)d_gates->data, *kept = states ? (float *)states->data : NULL;
    for (size_t done = 0, some; done < segments; done += some) {
        some = segments - done < most ? segments - done : most;
        if (kept) {
            float *zeros = (float *)cuda_scratch(k,
                                                 (some * heads * span_floats(dk, dv) + dk * dv) *
                                                     sizeof *zeros,
                                                 "a recurrence's gradient");
            if (!zeros || clear(k, zeros, dk * dv))
                return;
            run_reverse(k, d, d + 2 * a.key_heads * a.dk, d_gate, kept, zeros, a, some * heads,
                        zeros + dk * dv);
        } else {
            run_last_reverse(k, d, d_gate, a, some);
        }
        a.qkv += some * keys * (size_t)a.width, a.value += some * keys * (size_t)a.width;
        a.d_out += some * (size_t)a.queries * heads * dv;
        a.gates += some * keys * 2 * heads, d_gate += some * keys * 2 * heads;
        d += some * keys * (size_t)a.width;
        kept = kept ? kept + some * heads * recurrence_states(a.keys) * dk * dv : NULL;
    }
}

static void recur_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *r, int segments, int queries, int keys)
{
    struct cuda_range range("recur_reverse");
    if (r->by_channel)
        cuda_channels_reverse(k, d_qkv, d_gates, d_o, states, qkv, gates, r, segments, queries,
                              keys);
    else if (cuda_is_bf16(k, qkv))
        recur_reverse_as(k, d_qkv, d_gates, states,
                         task_of<bf16>(k, qkv, gates, d_o, r, queries, keys), (size_t)segments);
    else
        recur_reverse_as(k, d_qkv, d_gates, states,
                         task_of<float>(k, qkv, gates, d_o, r, queries, keys), (size_t)segments);
}

static size_t recurrence_bytes(struct kernels *k, const struct recurrence *r, int segments,
                               int keys, int stateless)
{
    size_t heads = (size_t)r->heads, dk = (size_t)r->key_size, dv = (size_t)r->value_size,
           n = (size_t)keys, all = (size_t)segments,
           some = segments_at_once(k, heads, stateless ? 1 : dv), forward, reverse;
    if (r->by_channel)
        return cuda_channels_bytes(k, r, segments, keys, stateless);
    some = (some < all ? some : all) * heads;
    if (!stateless)
        return (some * span_floats(dk, dv) + dk * dv) * sizeof(float);
    forward = last_floats(all * heads, n, dk), reverse = last_reverse_floats(some, n, dk);
    return (forward > reverse ? forward : reverse) * sizeof(float);
}

void cuda_fill_recurrence(struct kernels *k)
{
    k->recurrence_bytes = recurrence_bytes;
    k->recur = recur;
    k->recur_reverse = recur_reverse;
}
