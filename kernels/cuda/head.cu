/* The head of the cuda set; formulas as in kernels/reference/head.c.
 *
 * One row a segment, with its gradient: GROUP rows at a time share each reading of the table.
 * Logits are sums of a warp; the gradient is summed over fixed chunks of the vocabulary, whose sums
 * are added in order. All in float from the table's own precision, softmax in double, so bf16
 * arithmetic loses nothing here.
 *
 * Many rows without gradient: products of blocks of rows with blocks of the vocabulary by cuBLASLt,
 * each folded into a running maximum and sum of its row. */
#include "kernels/cuda/state.cuh"

enum {
    BLOCK = 256,
    GROUP = 8, /* segments at once */
    AT_ONCE =
        WARP /
        GROUP, /* rows of the table that a warp reads at once: a logit for each of its lanes */
    PARTS_MOST = WARP,
    PART_LEAST = 256, /* blocks of a segment's softmax, columns of one */
    CHUNK_LEAST = 64 /* rows of the table of one sum of the gradient, at least */
};
static const size_t CHUNKS_MOST = 128;
/* head_rows: a block of the table in float, a block of logits, rows of a product at most */
static const size_t TABLE_BYTES = 16 << 20, LOGITS_BYTES = 32 << 20, ROWS_MOST = 1024;

static size_t chunk_of(size_t vocabulary)
{
    size_t chunk = cuda_divide_up(vocabulary, CHUNKS_MOST);
    return chunk < CHUNK_LEAST ? (size_t)CHUNK_LEAST : chunk;
}

/* value[0 .. STEP) = what they, or in the upper lanes the next STEP, are in both of two lanes
 * together; so on for half as many.
 */
template <int STEP>
__device__ static void fold_lanes(float *value, int lane)
{
#pragma unroll
    for (int i = 0; i < STEP; i++) {
        float low = value[i], high = value[i + STEP],
              other = __shfl_xor_sync(FULL_WARP, lane & STEP ? low : high, STEP);
        value[i] = (lane & STEP ? high : low) + other;
    }
    if constexpr (STEP > 1)
        fold_lanes<STEP / 2>(value, lane);
}

/* Value number `lane` of all lanes, summed as warp_sum does it; the others are overwritten. */
__device__ static float warp_sum_each(float value[WARP], int lane)
{
    fold_lanes<WARP / 2>(value, lane);
    return value[0];
}

/* z[some, vocabulary] = x[some, width] w^T + bias, capped; a warp for each AT_ONCE rows of w, which
 * share what is read of x; vectors of N. some <= GROUP. */
template <int N, class T, class W>
__global__ void __launch_bounds__(BLOCK)
    head_logits(float *z, const T *x, const W *w, const float *bias, float soft_cap, int some,
                size_t vocabulary, size_t width)
{
    size_t v = ((size_t)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP) * AT_ONCE;
    int lane = (int)threadIdx.x % WARP;
    float sum[AT_ONCE * GROUP] = {0};
    if (v >= vocabulary)
        return;
    const W *row[AT_ONCE]; /* behind the last: the last again, and not written */
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
        row[r] = w + (v + (size_t)r < vocabulary ? v + (size_t)r : vocabulary - 1) * width;
    for (size_t c = (size_t)lane * N; c < width; c += WARP * N) {
        float weight[AT_ONCE][N];
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++)
            load_floats<N>(weight[r], row[r] + c);
#pragma unroll
        for (int s = 0; s < GROUP; s++)
            if (s < some) {
                float value[N];
                load_floats<N>(value, x + (size_t)s * width + c);
#pragma unroll
                for (int r = 0; r < AT_ONCE; r++)
                    for (int j = 0; j < N; j++)
                        sum[r * GROUP + s] += weight[r][j] * value[j];
            }
    }
    float logit = warp_sum_each(sum, lane);
    int s = lane % GROUP;
    v += (size_t)(lane / GROUP);
    if (s >= some || v >= vocabulary)
        return;
    logit += bias ? bias[v] : 0.0f;
    z[(size_t)s * vocabulary + v] = soft_cap > 0 ? soft_cap * tanhf(logit / soft_cap) : logit;
}

/* The running softmax of a row: its largest logit so far, the sum of exp(logit - largest), and the
 * target's logit. */
struct running {
    float largest, at_target;
    double sum;
};

/* Columns of a block of head_part and head_softmax: they follow from the vocabulary alone. */
static size_t part_of(size_t vocabulary)
{
    size_t columns = cuda_divide_up(vocabulary, PARTS_MOST);
    return columns < PART_LEAST ? (size_t)PART_LEAST : columns;
}

/* part[segment, block] of z: the softmax of the block's columns, the target left out of the sum.
 * Grid: blocks, segments. */
__global__ void __launch_bounds__(BLOCK)
    head_part(struct running *part, const float *z, const int32_t *targets, size_t columns,
              size_t vocabulary)
{
    __shared__ double space[WARP];
    __shared__ float largest_space[WARP];
    const float *row = z + blockIdx.y * vocabulary;
    size_t first = blockIdx.x * columns,
           end = first + columns < vocabulary ? first + columns : vocabulary;
    int64_t target = targets[blockIdx.y];
    float largest = -INFINITY;
    double sum = 0;
    for (size_t v = first + threadIdx.x; v < end; v += BLOCK)
        largest = fmaxf(largest, row[v]); /* a NaN is left to the sum, and then all is NaN */
    largest = block_max(largest, largest_space);
    float from = largest == -INFINITY ? 0 : largest;
    for (size_t v = first + threadIdx.x; v < end; v += BLOCK)
        sum += (int64_t)v == target ? 0.0 : (double)expf(row[v] - from);
    sum = block_sum(sum, space);
    if (threadIdx.x == 0)
        part[blockIdx.y * gridDim.x + blockIdx.x] = {
            largest, target >= (int64_t)first && target < (int64_t)end ? row[target] : 0.0f, sum};
}

/* logprob, and in place of z[vocabulary] the gradient g[v] = seed d log p / d (x . w_v). Grid as
 * that of head_part. */
__global__ void __launch_bounds__(BLOCK)
    head_softmax(float *z, float *logprob, const struct running *part, const int32_t *targets,
                 float soft_cap, float seed, size_t columns, size_t vocabulary,
                 struct cuda_fault *fault)
{
    float *row = z + blockIdx.y * vocabulary;
    size_t first = blockIdx.x * columns,
           end = first + columns < vocabulary ? first + columns : vocabulary;
    int32_t target = targets[blockIdx.y];
    int lane = (int)threadIdx.x % WARP, writes = blockIdx.x == 0 && threadIdx.x == 0;
    if (target < 0 || (size_t)target >= vocabulary) { /* of the whole block */
        for (size_t v = first + threadIdx.x; v < end; v += BLOCK)
            row[v] = NAN;
        if (writes) {
            logprob[blockIdx.y] = NAN;
            if (atomicCAS(&fault->kind, FAULT_NONE, FAULT_TARGET) == FAULT_NONE) {
                fault->value = target;
                fault->limit = (int)vocabulary - 1;
            }
        }
        return;
    }
    struct running r = {-INFINITY, 0, 0}; /* a lane for each block's part; each warp folds them */
    if (lane < (int)gridDim.x)
        r = part[blockIdx.y * gridDim.x + (size_t)lane];
    float largest = warp_max(r.largest), at_target = warp_sum(r.at_target); /* all but one are 0 */
    double others = warp_sum(r.sum == 0 ? 0.0 : r.sum * exp((double)r.largest - largest)),
           sum = others + exp((double)at_target - largest);
    for (size_t v = first + threadIdx.x; v < end; v += BLOCK) {
        float tangent = soft_cap > 0 ? row[v] / soft_cap : 0.0f;
        /* 1 - p of the target is the sum of the others: nothing cancels where p is near 1 */
        double d = v == (size_t)target ? others / sum : -(double)expf(row[v] - largest) / sum;
        row[v] = (float)(seed * d) * (1 - tangent * tangent);
    }
    if (writes)
        logprob[blockIdx.y] = (float)((double)at_target - largest - log(sum));
}

/* part[chunk, some, width] = sum over the chunk's v of g[s, v] w[v, :]; a thread N columns. */
template <int N, class W>
__global__ void __launch_bounds__(BLOCK)
    head_gradient(float *part, const float *g, const W *w, int some, size_t vocabulary,
                  size_t width, size_t chunk)
{
    __align__(16) __shared__ float factor[CHUNK_LEAST][GROUP];
    size_t c = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * N, first = blockIdx.y * chunk,
           end = first + chunk < vocabulary ? first + chunk : vocabulary;
    float sum[GROUP][N];
#pragma unroll
    for (int s = 0; s < GROUP; s++)
        for (int j = 0; j < N; j++)
            sum[s][j] = 0;
    for (size_t v0 = first; v0 < end; v0 += CHUNK_LEAST) {
        int count = (int)(end - v0 < CHUNK_LEAST ? end - v0 : (size_t)CHUNK_LEAST);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < GROUP * CHUNK_LEAST; i += (int)blockDim.x) {
            int s = i / CHUNK_LEAST, v = i % CHUNK_LEAST;
            factor[v][s] = s < some && v < count ? g[(size_t)s * vocabulary + v0 + (size_t)v]
                                                 : 0.0f;
        }
        __syncthreads();
        for (int v = 0; c < width && v < count; v++) {
            float weight[N], f[GROUP];
            load_floats<N>(weight, w + (v0 + (size_t)v) * width + c);
#pragma unroll
            for (int s = 0; s < GROUP; s += 4)
                load_floats<4>(f + s, &factor[v][s]);
#pragma unroll
            for (int s = 0; s < GROUP; s++)
                for (int j = 0; j < N; j++)
                    sum[s][j] += f[s] * weight[j];
        }
    }
#pragma unroll
    for (int s = 0; s < GROUP; s++)
        if (s < some && c < width)
            store_floats<N>(part + (blockIdx.y * (size_t)some + (size_t)s) * width + c, sum[s]);
}

/* dx[some, width] = the sum of part over the chunks, in order. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    head_combine(T *dx, const float *part, size_t chunks, size_t total)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    double sum = 0;
    if (i >= total)
        return;
    for (size_t chunk = 0; chunk < chunks; chunk++)
        sum += part[chunk * total + i];
    dx[i] = from_float<T>((float)sum);
}

size_t cuda_head_scratch(int segments, size_t vocabulary, size_t width)
{
    size_t some = (size_t)(segments < GROUP ? segments : GROUP),
           parts = cuda_divide_up(vocabulary, part_of(vocabulary));
    return some * parts * sizeof(struct running) +
           some * sizeof(float) *
               (vocabulary + cuda_divide_up(vocabulary, chunk_of(vocabulary)) * width) +
           256;
}

/* What a head takes beside buffers. */
struct head_call {
    const void *table;
    const float *bias;
    const int32_t *targets;
    float soft_cap, seed;
    size_t vocabulary, width;
};

template <class T, class W>
static void head_group(struct kernels *k, T *dx, float *logprob, const T *x,
                       const struct head_call *h, int first, int some)
{
    struct cuda_state *state = cuda_state(k);
    size_t chunk = chunk_of(h->vocabulary), chunks = cuda_divide_up(h->vocabulary, chunk),
           columns = part_of(h->vocabulary), parts = cuda_divide_up(h->vocabulary, columns),
           at = (size_t)first * h->width, total = (size_t)some * h->width;
    struct running *softmax = (struct running *)
        cuda_scratch(k, cuda_head_scratch(some, h->vocabulary, h->width), "the head");
    if (!softmax)
        return;
    float *z = (float *)(softmax + (size_t)some * parts),
          *part = z + cuda_divide_up((size_t)some * h->vocabulary, 64) * 64;
    const W *table = (const W *)h->table;
    dim3 rows((unsigned)cuda_divide_up(h->vocabulary, BLOCK / WARP * AT_ONCE)),
        softmaxes((unsigned)parts, (unsigned)some);
    if (h->width % 4 == 0)
        LAUNCH((head_logits<4, T, W>), rows, dim3(BLOCK), 0, state->stream, z, x + at, table,
               h->bias, h->soft_cap, some, h->vocabulary, h->width);
    else
        LAUNCH((head_logits<1, T, W>), rows, dim3(BLOCK), 0, state->stream, z, x + at, table,
               h->bias, h->soft_cap, some, h->vocabulary, h->width);
    LAUNCH(head_part, softmaxes, dim3(BLOCK), 0, state->stream, softmax, z, h->targets + first,
           columns, h->vocabulary);
    LAUNCH(head_softmax, softmaxes, dim3(BLOCK), 0, state->stream, z, logprob + first, softmax,
           h->targets + first, h->soft_cap, h->seed, columns, h->vocabulary, state->fault);
#define GRADIENT(n) \
    LAUNCH((head_gradient<n, W>), \
           dim3((unsigned)cuda_divide_up(h->width / n, cuda_row_threads(h->width / n)), \
                (unsigned)chunks), \
           dim3(cuda_row_threads(h->width / n)), 0, state->stream, part, z, table, some, \
           h->vocabulary, h->width, chunk)
    if (h->width % 2 == 0)
        GRADIENT(2);
    else
        GRADIENT(1);
#undef GRADIENT
    LAUNCH(head_combine<T>, dim3((unsigned)cuda_divide_up(total, BLOCK)), dim3(BLOCK), 0,
           state->stream, dx + at, part, chunks, total);
}

template <class T, class W>
static void head_all(struct kernels *k, struct buffer *dx, struct buffer *logprob,
                     const struct buffer *x, const struct head_call *h, int segments)
{
    for (int first = 0; first < segments; first += GROUP)
        head_group<T, W>(k, (T *)dx->data, (float *)logprob->data, (const T *)x->data, h, first,
                         segments - first < GROUP ? segments - first : GROUP);
}

static struct head_call call_of(struct kernels *k, const struct weight *w,
                                const struct weight *bias, const struct buffer *targets,
                                double soft_cap, double seed, int width)
{
    struct head_call h = {cuda_weight_data(k, w),
                          (const float *)cuda_weight_data(k, bias),
                          (const int32_t *)targets->data,
                          (float)soft_cap,
                          (float)seed,
                          w->rows,
                          (size_t)width};
    return h;
}

static void head(struct kernels *k, struct buffer *dx, struct buffer *logprob,
                 const struct buffer *x, const struct buffer *targets, const struct weight *w,
                 const struct weight *bias, double soft_cap, double seed, int segments, int width)
{
    struct cuda_range range("head");
    struct head_call h = call_of(k, w, bias, targets, soft_cap, seed, width);
    int table_bf16 = ((const struct cuda_weight *)w->fast)->type == ELEMENT_BF16;
    if (cuda_is_bf16(k, x) && table_bf16)
        head_all<bf16, bf16>(k, dx, logprob, x, &h, segments);
    else if (cuda_is_bf16(k, x))
        head_all<bf16, float>(k, dx, logprob, x, &h, segments);
    else if (table_bf16)
        head_all<float, bf16>(k, dx, logprob, x, &h, segments);
    else
        head_all<float, float>(k, dx, logprob, x, &h, segments);
}

/* head_rows: rows of the table that go into one product; they do not depend on the batch. */
static size_t columns_at_once(size_t vocabulary, size_t width)
{
    size_t by_table = cuda_divide_up(TABLE_BYTES / (width * sizeof(float)) + 1, 64) * 64,
           by_logits = LOGITS_BYTES / (ROWS_MOST * sizeof(float));
    size_t columns = by_table < by_logits ? by_table : by_logits;
    return columns < vocabulary ? columns : vocabulary;
}

/* Folds logits z[rows, columns] of vocabulary first .. first + columns - 1 into running[rows]; a
 * warp a row. At the end (columns after the last of the vocabulary) it writes logprob. */
__global__ void __launch_bounds__(BLOCK)
    head_fold(struct running *running, float *logprob, const float *z, const float *bias,
              const int32_t *targets, float soft_cap, size_t rows, size_t first, size_t columns,
              size_t vocabulary, struct cuda_fault *fault)
{
    size_t row = (size_t)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP,
           lane = threadIdx.x % WARP;
    if (row >= rows)
        return;
    struct running r = {-INFINITY, 0, 0};
    int32_t target = targets[row];
    float largest, at_target = 0;
    double sum = 0;
    if (first > 0)
        r = running[row];
    largest = r.largest;
    for (int pass = 0; pass < 2; pass++) { /* the largest, then the sum */
        for (size_t v = lane; v < columns; v += WARP) {
            float logit = z[row * columns + v] + (bias ? bias[first + v] : 0.0f);
            if (soft_cap > 0)
                logit = soft_cap * tanhf(logit / soft_cap);
            if (pass == 0) {
                largest = fmaxf(largest, logit);
                if ((int64_t)(first + v) == target)
                    at_target = logit;
            } else
                sum += (double)expf(logit - largest);
        }
        if (pass == 0)
            largest = warp_max(largest);
    }
    r.sum = (r.largest == -INFINITY ? 0 : r.sum * exp((double)r.largest - largest)) + warp_sum(sum);
    r.largest = largest;
    r.at_target += warp_sum(at_target); /* of one lane of one block of columns, 0 in the others */
    __syncwarp(); /* all lanes have read running[row] */
    if (lane)
        return;
    running[row] = r;
    if (first + columns < vocabulary)
        return;
    logprob[row] = (float)(r.at_target - (double)r.largest - log(r.sum));
    if (target < 0 || (size_t)target >= vocabulary) {
        logprob[row] = NAN;
        if (atomicCAS(&fault->kind, FAULT_NONE, FAULT_TARGET) == FAULT_NONE) {
            fault->value = target;
            fault->limit = (int)vocabulary - 1;
        }
    }
}

/* Where head_rows has its parts in scratch. */
struct rows_scratch {
    size_t logits, table, bytes; /* the running softmaxes come first */
};

static struct rows_scratch rows_scratch_of(size_t rows, size_t columns, size_t width)
{
    size_t at_once = rows < ROWS_MOST ? rows : ROWS_MOST,
           running = cuda_divide_up(rows * sizeof(struct running), 256) * 256;
    size_t logits = cuda_divide_up(at_once * columns * sizeof(float), 256) * 256;
    struct rows_scratch s = {running, running + logits,
                             running + logits + columns * width * sizeof(float)};
    return s;
}

size_t cuda_head_rows_scratch(struct rows rows, size_t vocabulary, size_t width)
{
    return rows_scratch_of((size_t)rows.segments * (size_t)rows.count,
                           columns_at_once(vocabulary, width), width)
        .bytes;
}

static void head_rows(struct kernels *k, struct buffer *logprob, const struct buffer *x,
                      const struct buffer *targets, const struct weight *w,
                      const struct weight *bias, double soft_cap, struct rows rows, int width)
{
    struct cuda_range range("head_rows");
    struct cuda_state *s = cuda_state(k);
    struct head_call h = call_of(k, w, bias, targets, soft_cap, 1, width);
    int is_bf16 = cuda_is_bf16(k, x),
        table_bf16 = ((const struct cuda_weight *)w->fast)->type == ELEMENT_BF16;
    size_t total = (size_t)rows.segments * (size_t)rows.count,
           size = is_bf16 ? sizeof(bf16) : sizeof(float),
           table_size = table_bf16 ? sizeof(bf16) : sizeof(float);
    int rounds = s->arithmetic == ARITHMETIC_TF32 && !table_bf16; /* bf16 is exact in tf32 */
    size_t columns = columns_at_once(h.vocabulary, h.width),
           at_once = total < ROWS_MOST ? total : ROWS_MOST;
    struct rows_scratch places = rows_scratch_of(total, columns, h.width);
    char *scratch = (char *)cuda_scratch(k, places.bytes, "the head");
    if (!scratch)
        return;
    struct running *running = (struct running *)scratch;
    float *z = (float *)(scratch + places.logits);
    void *converted = scratch + places.table;
    for (size_t first = 0; first < h.vocabulary; first += columns) {
        size_t some = h.vocabulary - first < columns ? h.vocabulary - first : columns;
        const void *table = (const char *)h.table + first * h.width * table_size;
        if (is_bf16 && !table_bf16)
            cuda_convert_bf16(s->stream, (bf16 *)converted, (const float *)table, some * h.width);
        if (!is_bf16 && table_bf16)
            cuda_convert_float(s->stream, (float *)converted, (const bf16 *)table, some * h.width);
        if (rounds)
            cuda_round_tf32(s->stream, (float *)converted, (const float *)table, some * h.width);
        struct product p = {z,
                            NULL,
                            is_bf16 == table_bf16 && !rounds ? table : converted,
                            NULL,
                            some,
                            h.width,
                            (size_t)rows.count,
                            1,
                            is_bf16,
                            0,
                            0,
                            NULL};
        for (size_t row = 0; row < total; row += at_once) {
            size_t count = total - row < at_once ? total - row : at_once;
            p.x = (const char *)x->data + row * h.width * size;
            cuda_multiply(k, &p, count);
            LAUNCH(head_fold, dim3((unsigned)cuda_divide_up(count, BLOCK / WARP)), dim3(BLOCK), 0,
                   s->stream, running + row, (float *)logprob->data + row, z, h.bias,
                   h.targets + row, h.soft_cap, count, first, some, h.vocabulary, s->fault);
        }
    }
}

void cuda_fill_head(struct kernels *k)
{
    k->head = head;
    k->head_rows = head_rows;
}
