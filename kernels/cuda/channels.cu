/* Recurrences by channel of the cuda set, row after row. A block has WARP columns of the values of
 * one head of one segment; a thread has every WARPSth row of the state for its column, in
 * registers. With H the gradient of the state behind a row and P = e^l * S before its writing, e =
 * v
 * - P' k and F = step H' k of the delta rule, reverse is as kernels/reference/recurrence.c has it.
 *
 * Reverse takes a span between kept states at a time, the last first: states at every STRIDEth row
 * of it, then of each stride, from the last one on, the states before its rows, then its rows
 * backwards. Sums over columns are made for each block and added up at the end of a span.
 *
 * One query alone: the gradient of the state is p dO' at every row, with a vector p, and what
 * reverse needs is the state's product with dO, so there is no matrix (kernels/cpu/vector/
 * channels_last.c has the formulas). A block has a head, and a thread a channel and a column. */
#include "kernels/cuda/state.cuh"

enum {
    BLOCK = 256,
    WARPS = BLOCK / WARP,
    EACH = RECURRENCE_SIZE_MOST / WARPS, /* rows of the state that a thread has at most */
    STRIDE = 16,
    STRIDES = RECURRENCE_SPAN / STRIDE
};
static_assert((int)RECURRENCE_SIZE_MOST <= (int)BLOCK, "one query: a thread has a channel");

/* A recurrence as kernels get it. */
template <class T>
struct channels_task {
    const T *qkv, *d_out; /* d_out [segments*queries, heads, dv] */
    const float *gates, *skip; /* skip NULL: 0 */
    int heads, dk, dv, delta, queries, keys, width, gates_width;
    float scale;
};

/* Row t of one head. */
template <class T>
struct channels_row {
    const T *query, *key, *value;
    const float *log_decay;
    float step;
};

template <class T>
__device__ static struct channels_row<T> row_at(const struct channels_task<T> &a, size_t segment,
                                                int h, int t) {
    size_t row = segment * (size_t)a.keys + (size_t)t;
    const T *query = a.qkv + row * (size_t)a.width + h * a.dk;
    const float *gate = a.gates + row * (size_t)a.gates_width;
    return {query, query + a.heads *a.dk,
            a.qkv + row *(size_t)a.width + 2 * a.heads *a.dk + h *a.dv, gate + h *a.dk,
            gate[a.heads * a.dk + h]};
}

/* Of each column the sum over the block's warps of x; `space` is for that alone. */
__device__ static float
column_sum(float x, float space[WARPS][WARP])
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    float sum = 0;
    __syncthreads(); /* an earlier use of `space` is over */
    space[warp][lane] = x;
    __syncthreads();
    for (int i = 0; i < WARPS; i++)
        sum += space[i][lane];
    return sum;
}

/* S = P, then by what row t writes; returns u of the column. */
template <class T>
__device__ static float advance(float S[EACH], const struct channels_task<T> &a,
                                const struct channels_row<T> &row, float value,
                                float space[WARPS][WARP])
{
    int warp = (int)threadIdx.x / WARP;
    float along = 0;
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        if (i >= a.dk)
            break;
        S[n] = keep(row.log_decay[i], S[n]);
        along += to_float(row.key[i]) * S[n];
    }
    if (a.delta)
        value -= column_sum(along, space);
    value *= row.step;
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        if (i >= a.dk)
            break;
        S[n] += to_float(row.key[i]) * value;
    }
    return value;
}

/* A thread's part of a matrix [dk, dv] in memory, zeros if it is NULL. */
template <class T>
__device__ static void load(float S[EACH], const float *from, const struct channels_task<T> &a,
                            int column)
{
    int warp = (int)threadIdx.x / WARP;
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        S[n] = from && i < a.dk && column < a.dv ? from[i * a.dv + column] : 0;
    }
}

template <class T>
__device__ static void store(float *to, const float S[EACH], const struct channels_task<T> &a,
                             int column)
{
    int warp = (int)threadIdx.x / WARP;
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        if (i < a.dk && column < a.dv)
            to[i * a.dv + column] = S[n];
    }
}

/* Grid: heads of all segments, columns. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    channels_forward(T *o, float *states, int slots, struct channels_task<T> a)
{
    __shared__ float space[WARPS][WARP], reading[WARPS][WARP];
    size_t head = blockIdx.x, segment = head / (size_t)a.heads, size = (size_t)a.dk * (size_t)a.dv;
    int h = (int)(head % (size_t)a.heads), warp = (int)threadIdx.x / WARP,
        column = (int)blockIdx.y * WARP + (int)threadIdx.x % WARP, first = a.keys - a.queries;
    float S[EACH], skip = a.skip ? a.skip[h] : 0;
    load(S, (const float *)NULL, a, column);
    for (int t = 0; t < a.keys; t++) {
        struct channels_row<T> row = row_at(a, segment, h, t);
        float value = column < a.dv ? to_float(row.value[column]) : 0;
        advance(S, a, row, value, space);
        if (t >= first) {
            float sum = 0;
#pragma unroll
            for (int n = 0; n < EACH; n++) {
                int i = warp + n * WARPS;
                if (i >= a.dk)
                    break;
                sum += to_float(row.query[i]) * S[n];
            }
            sum = column_sum(sum, reading);
            if (warp == 0 && column < a.dv)
                o[((segment * (size_t)a.queries + (size_t)(t - first)) * (size_t)a.heads +
                   (size_t)h) *
                      (size_t)a.dv +
                  (size_t)column] = from_float<T>(a.scale * sum + skip * value);
        }
        if ((t + 1) % RECURRENCE_SPAN == 0 || t + 1 == a.keys)
            store(states + (head * (size_t)slots + (size_t)(t / RECURRENCE_SPAN)) * size, S, a,
                  column);
    }
}

/* What reverse keeps of a span, by head: H [dk, dv]; states before each STRIDEth row [STRIDES, dk,
 * dv] and before the rows of one stride [STRIDE, dk, dv]; of each block of columns its part of the
 * gradients of a row's query, key, log decays and step [RECURRENCE_SPAN, 3 dk + 1]. */
struct channels_span {
    float *adjoint, *strides, *rows, *parts;
};

/* One row backwards. H is the gradient behind it, then before it; `before` is the state before. */
template <class T>
__device__ static void row_reverse(float H[EACH], float *part, T *d_value, const float *before,
                                   const struct channels_task<T> &a,
                                   const struct channels_row<T> &row, float d_o, float skip,
                                   int column, float space[WARPS][WARP], float other[WARPS][WARP])
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    float P[EACH], along = 0, back = 0, error = column < a.dv ? to_float(row.value[column]) : 0;
    load(P, before, a, column);
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        if (i >= a.dk)
            break;
        float key = to_float(row.key[i]);
        P[n] = keep(row.log_decay[i], P[n]);
        H[n] += a.scale * to_float(row.query[i]) * d_o;
        along += key * P[n];
        back += key * H[n];
    }
    if (a.delta)
        error -= column_sum(along, space);
    back = column_sum(back, other); /* g */
    float written = row.step * error, moved = row.step * back, d_step = warp_sum(back * error);
#pragma unroll
    for (int n = 0; n < EACH; n++) {
        int i = warp + n * WARPS;
        if (i >= a.dk)
            break;
        float key = to_float(row.key[i]), d_key = H[n] * written,
              d_query = (P[n] + key * written) * d_o;
        if (a.delta) {
            d_key -= P[n] * moved;
            H[n] -= key * moved;
        }
        d_query = warp_sum(d_query), d_key = warp_sum(d_key);
        float d_log_decay = warp_sum(H[n] * P[n]);
        if (lane == 0) {
            part[i] = a.scale * d_query;
            part[a.dk + i] = d_key;
            part[2 * a.dk + i] = d_log_decay;
        }
        H[n] = keep(row.log_decay[i], H[n]);
    }
    if (warp == 0 && column < a.dv)
        d_value[column] = from_float<T>(moved + skip * d_o);
    if (warp == 0 && lane == 0)
        part[3 * a.dk] = d_step;
}

/* Rows first .. end - 1 of a span; begin + head * begin_step is the state before it, NULL: zeros.
 * `last`: nothing is behind it. d_value: of head 0, row 0. Grid: heads of all segments, columns. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    channels_reverse(T *d_value, struct channels_span s, const float *begin, size_t begin_step,
                     struct channels_task<T> a, int first, int end, int last)
{
    __shared__ float space[WARPS][WARP], other[WARPS][WARP];
    size_t head = blockIdx.x, segment = head / (size_t)a.heads, size = (size_t)a.dk * (size_t)a.dv,
           each = 3 * (size_t)a.dk + 1;
    int h = (int)(head % (size_t)a.heads), unread = a.keys - a.queries,
        column = (int)blockIdx.y * WARP + (int)threadIdx.x % WARP;
    float S[EACH], skip = a.skip ? a.skip[h] : 0, *adjoint = s.adjoint + head * size,
                   *strides = s.strides + head * STRIDES * size,
                   *rows = s.rows + head * STRIDE * size,
                   *parts = s.parts + (head * gridDim.y + blockIdx.y) * RECURRENCE_SPAN * each;
    load(S, begin ? begin + head * begin_step : begin, a, column);
    for (int t = first; t < end; t++) {
        struct channels_row<T> row = row_at(a, segment, h, t);
        if ((t - first) % STRIDE == 0)
            store(strides + (size_t)((t - first) / STRIDE) * size, S, a, column);
        advance(S, a, row, column < a.dv ? to_float(row.value[column]) : 0, space);
    }
    float H[EACH];
    load(H, last ? (const float *)NULL : adjoint, a, column);
    for (int n = (end - first - 1) / STRIDE; n >= 0; n--) {
        int from = first + n * STRIDE, to = from + STRIDE < end ? from + STRIDE : end;
        load(S, strides + (size_t)n * size, a, column);
        for (int t = from; t < to; t++) {
            struct channels_row<T> row = row_at(a, segment, h, t);
            store(rows + (size_t)(t - from) * size, S, a, column);
            advance(S, a, row, column < a.dv ? to_float(row.value[column]) : 0, space);
        }
        for (int t = to - 1; t >= from; t--) {
            size_t out = (segment * (size_t)a.queries + (size_t)(t - unread)) * (size_t)a.heads +
                         (size_t)h; /* if it is read */
            float d_o = t >= unread && column < a.dv
                            ? to_float(a.d_out[out * (size_t)a.dv + (size_t)column])
                            : 0;
            row_reverse(H, parts + (size_t)(t - first) * each,
                        d_value + (segment * (size_t)a.keys + (size_t)t) * (size_t)a.width +
                            h * a.dv,
                        rows + (size_t)(t - from) * size, a, row_at(a, segment, h, t), d_o, skip,
                        column, space, other);
        }
    }
    store(adjoint, H, a, column);
}

/* The gradients of `count` rows from `first` on, from the parts of their blocks. A thread each. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    sum_parts(T *d_qkv, float *d_gates, const float *parts, int blocks, struct channels_task<T> a,
              int first, int count, size_t total)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, each = 3 * (size_t)a.dk + 1;
    if (e >= total)
        return;
    int i = (int)(e % each), t = (int)(e / each % (size_t)count), dk = a.dk;
    size_t head = e / each / (size_t)count, segment = head / (size_t)a.heads,
           row = segment * (size_t)a.keys + (size_t)(first + t);
    int h = (int)(head % (size_t)a.heads);
    float sum = 0, *d_gate = d_gates + row * (size_t)a.gates_width;
    T *d_row = d_qkv + row * (size_t)a.width + h * dk;
    for (int b = 0; b < blocks; b++)
        sum += parts[((head * (size_t)blocks + (size_t)b) * RECURRENCE_SPAN + (size_t)t) * each +
                     (size_t)i];
    if (i < dk)
        d_row[i] = from_float<T>(sum);
    else if (i < 2 * dk)
        d_row[a.heads * dk + i - dk] = from_float<T>(sum);
    else if (i < 3 * dk)
        d_gate[h * dk + i - 2 * dk] = sum;
    else
        d_gate[a.heads * dk + h] = sum;
}

/* -- one query alone -- */

/* p . k of row t, after which p is that of the row before. `p` is of the thread's channel. */
template <class T>
__device__ static float step_down(float *p, const struct channels_task<T> &a,
                                  const struct channels_row<T> &row, float *space)
{
    int i = (int)threadIdx.x;
    float key = i < a.dk ? to_float(row.key[i]) : 0, along = block_sum(*p * key, space);
    if (a.delta)
        *p -= row.step * along * key;
    if (i < a.dk)
        *p = keep(row.log_decay[i], *p);
    return along;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) channels_last(T *o, struct channels_task<T> a)
{
    __shared__ float space[WARP];
    size_t head = blockIdx.x, segment = head / (size_t)a.heads;
    int h = (int)(head % (size_t)a.heads), i = (int)threadIdx.x;
    float p = i < a.dk ? a.scale * to_float(row_at(a, segment, h, a.keys - 1).query[i]) : 0,
          sum = 0;
    for (int t = a.keys - 1; t >= 0; t--) {
        struct channels_row<T> row = row_at(a, segment, h, t);
        float value = i < a.dv ? to_float(row.value[i]) : 0;
        if (t + 1 == a.keys && a.skip)
            sum = a.skip[h] * value;
        sum += row.step * step_down(&p, a, row, space) * value;
    }
    if (i < a.dv)
        o[head * (size_t)a.dv + (size_t)i] = from_float<T>(sum);
}

/* kept [heads, keys, dk + 1]: p of each row, and p . k. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    channels_last_reverse(T *d_qkv, float *d_gates, float *kept, struct channels_task<T> a)
{
    __shared__ float space[WARP];
    size_t head = blockIdx.x, segment = head / (size_t)a.heads, each = (size_t)a.dk + 1;
    int h = (int)(head % (size_t)a.heads), i = (int)threadIdx.x;
    float p = i < a.dk ? a.scale * to_float(row_at(a, segment, h, a.keys - 1).query[i]) : 0, r = 0,
          d_o = i < a.dv ? to_float(a.d_out[head * (size_t)a.dv + (size_t)i]) : 0,
          *own = kept + head * (size_t)a.keys * each;
    for (int t = a.keys - 1; t >= 0; t--) {
        if (i < a.dk)
            own[(size_t)t * each + (size_t)i] = p;
        float along = step_down(&p, a, row_at(a, segment, h, t), space);
        if (i == 0)
            own[(size_t)t * each + (size_t)a.dk] = along;
    }
    __syncthreads();
    for (int t = 0; t < a.keys; t++) {
        struct channels_row<T> row = row_at(a, segment, h, t);
        size_t at = segment * (size_t)a.keys + (size_t)t;
        T *d_row = d_qkv + at * (size_t)a.width;
        float *d_gate = d_gates + at * (size_t)a.gates_width;
        bool last = t + 1 == a.keys;
        float key = i < a.dk ? to_float(row.key[i]) : 0,
              value = i < a.dv ? to_float(row.value[i]) : 0,
              along = own[(size_t)t * each + (size_t)a.dk], erased = a.delta ? row.step * along : 0;
        r = i < a.dk ? keep(row.log_decay[i], r) : 0;
        float error = block_sum(d_o * value - (a.delta ? r * key : 0), space);
        if (i < a.dv)
            d_row[2 * a.heads * a.dk + h * a.dv + i] = from_float<T>(
                (row.step * along + (last && a.skip ? a.skip[h] : 0)) * d_o);
        if (i == 0)
            d_gate[a.heads * a.dk + h] = along * error;
        if (i < a.dk) {
            p = own[(size_t)t * each + (size_t)i];
            d_row[(a.heads + h) * a.dk + i] = from_float<T>(row.step * error * p - erased * r);
            d_gate[h * a.dk + i] = (p - erased * key) * r;
            r += row.step * error * key;
            d_row[h * a.dk + i] = from_float<T>(last ? a.scale * r : 0);
        }
    }
}

/* -- on the host -- */

template <class T>
static struct channels_task<T> task_of(struct kernels *k, const struct buffer *qkv,
                                       const struct buffer *gates, const struct buffer *d_o,
                                       const struct recurrence *r, int queries, int keys) {
    return {(const T *)qkv->data,
            d_o ? (const T *)d_o->data : NULL,
            (const float *)gates->data,
            (const float *)cuda_weight_data(k, r->skip),
            r->heads,
            r->key_size,
            r->value_size,
            r->delta,
            queries,
            keys,
            recurrence_width(r),
            recurrence_gates_width(r),
            (float)r->scale};
}

static size_t
blocks_of(size_t dv)
{
    return cuda_divide_up(dv, WARP);
}

/* Floats of reverse for one head. */
static size_t reverse_floats(size_t dk, size_t dv, size_t keys, int stateless)
{
    return stateless
               ? keys * (dk + 1)
               : (1 + STRIDES + STRIDE) * dk * dv + blocks_of(dv) * RECURRENCE_SPAN * (3 * dk + 1);
}

template <class T>
static void forward_as(struct kernels *k, struct buffer *o, struct buffer *states,
                       const struct channels_task<T> &a, size_t segments)
{
    unsigned heads = (unsigned)(segments * (size_t)a.heads);
    if (states)
        LAUNCH(channels_forward<T>, dim3(heads, (unsigned)blocks_of((size_t)a.dv)), dim3(BLOCK), 0,
               cuda_state(k)->stream, (T *)o->data, (float *)states->data,
               (int)recurrence_states(a.keys), a);
    else
        LAUNCH(channels_last<T>, dim3(heads), dim3(BLOCK), 0, cuda_state(k)->stream, (T *)o->data,
               a);
}

/* All spans of `segments` segments backwards. */
template <class T>
static void reverse_spans(struct kernels *k, T *d_qkv, float *d_gates, const float *states,
                          const struct channels_task<T> &a, size_t segments, float *space)
{
    cudaStream_t stream = cuda_state(k)->stream;
    size_t heads = segments * (size_t)a.heads, size = (size_t)a.dk * (size_t)a.dv,
           slots = recurrence_states(a.keys), blocks = blocks_of((size_t)a.dv);
    float *strides = space + heads * size, *rows = strides + heads * STRIDES * size,
          *parts = rows + heads * STRIDE * size;
    struct channels_span s = {space, strides, rows, parts};
    for (size_t n = slots; n-- > 0;) {
        int first = (int)n * RECURRENCE_SPAN,
            end = first + RECURRENCE_SPAN < a.keys ? first + RECURRENCE_SPAN : a.keys;
        size_t total = heads * (size_t)(end - first) * (3 * (size_t)a.dk + 1);
        LAUNCH(channels_reverse<T>, dim3((unsigned)heads, (unsigned)blocks), dim3(BLOCK), 0, stream,
               d_qkv + 2 * a.heads * a.dk, s, n ? states + (n - 1) * size : (const float *)NULL,
               slots * size, a, first, end, end == a.keys);
        LAUNCH(sum_parts<T>, dim3((unsigned)cuda_divide_up(total, BLOCK)), dim3(BLOCK), 0, stream,
               d_qkv, d_gates, (const float *)parts, (int)blocks, a, first, end - first, total);
    }
}

/* Segments that reverse takes at a time, as many as give each multiprocessor two blocks: the work
 * space does not grow with the batch from there on. */
static size_t segments_at_once(struct kernels *k, size_t heads, size_t dv, int stateless)
{
    return cuda_divide_up(2 * (size_t)cuda_state(k)->processors,
                          heads * (stateless ? 1 : blocks_of(dv)));
}

template <class T>
static void reverse_as(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                       const struct buffer *states, struct channels_task<T> a, size_t segments)
{
    size_t heads = (size_t)a.heads, dk = (size_t)a.dk, dv = (size_t)a.dv, keys = (size_t)a.keys,
           most = segments_at_once(k, heads, dv, !states);
    T *d = (T *)d_qkv->data;
    float *d_gate = (float *)d_gates->data, *kept = states ? (float *)states->data : NULL;
    for (size_t done = 0, some; done < segments; done += some) {
        some = segments - done < most ? segments - done : most;
        float *space = (float *)cuda_scratch(k,
                                             some * heads * reverse_floats(dk, dv, keys, !states) *
                                                 sizeof *space,
                                             "a recurrence's gradient");
        if (!space)
            return;
        if (kept)
            reverse_spans(k, d, d_gate, kept, a, some, space);
        else
            LAUNCH(channels_last_reverse<T>, dim3((unsigned)(some * heads)), dim3(BLOCK), 0,
                   cuda_state(k)->stream, d, d_gate, space, a);
        a.qkv += some * keys * (size_t)a.width, d += some * keys * (size_t)a.width;
        a.gates += some * keys * (size_t)a.gates_width;
        d_gate += some * keys * (size_t)a.gates_width;
        a.d_out += some * (size_t)a.queries * heads * dv;
        kept = kept ? kept + some * heads * recurrence_states(a.keys) * dk * dv : NULL;
    }
}

void cuda_channels(struct kernels *k, struct buffer *o, struct buffer *states,
                   const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                   int segments, int queries, int keys)
{
    if (cuda_is_bf16(k, qkv))
        forward_as(k, o, states, task_of<bf16>(k, qkv, gates, NULL, r, queries, keys),
                   (size_t)segments);
    else
        forward_as(k, o, states, task_of<float>(k, qkv, gates, NULL, r, queries, keys),
                   (size_t)segments);
}

void cuda_channels_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                           const struct buffer *d_o, const struct buffer *states,
                           const struct buffer *qkv, const struct buffer *gates,
                           const struct recurrence *r, int segments, int queries, int keys)
{
    if (cuda_is_bf16(k, qkv))
        reverse_as(k, d_qkv, d_gates, states, task_of<bf16>(k, qkv, gates, d_o, r, queries, keys),
                   (size_t)segments);
    else
        reverse_as(k, d_qkv, d_gates, states, task_of<float>(k, qkv, gates, d_o, r, queries, keys),
                   (size_t)segments);
}

size_t cuda_channels_bytes(struct kernels *k, const struct recurrence *r, int segments, int keys,
                           int stateless)
{
    size_t heads = (size_t)r->heads, dv = (size_t)r->value_size, all = (size_t)segments,
           most = segments_at_once(k, heads, dv, stateless);
    return (most < all ? most : all) * heads *
           reverse_floats((size_t)r->key_size, dv, (size_t)keys, stateless) * sizeof(float);
}
