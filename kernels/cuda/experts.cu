/* Experts in the cuda set: the choice and its derivative, and the rows that go to experts and come
 * back. The choice is made as kernels/reference/experts.c says, by walking an order. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256, ROUTERS = 4 /* rows, a warp each, of a block that routes */ };

/* What the kernels read of a struct routing. */
struct router {
    int experts, chosen, sigmoid, sparsemixer, groups, chosen_groups, group_largest, normalised;
    float factor, floor, tolerance;
};

/* An expert's or a group's place in the order. */
struct place {
    float score;
    int number;
};

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

__device__ static int is_before(struct place a, struct place b)
{
    return a.score > b.score || (a.score == b.score && a.number <= b.number);
}

/* A NaN counts as -inf. */
__device__ static float ordered(float score)
{
    return score == score ? score : -INFINITY;
}

/* The count-th place in the order of score[0 .. total); number -1 stands before the first. */
__device__ static struct place place_of(const float *score, int total, int count, int lane)
{
    struct place last = {0, -1};
    for (int i = 0; i < count; i++) {
        struct place best = {0, -1};
        for (int e = lane; e < total; e += WARP) {
            struct place p = {score[e], e};
            if ((last.number < 0 || !is_before(p, last)) &&
                (best.number < 0 || p.score > best.score))
                best = p;
        }
        for (int step = WARP / 2; step; step /= 2) {
            struct place p = {__shfl_xor_sync(FULL_WARP, best.score, step),
                              __shfl_xor_sync(FULL_WARP, best.number, step)};
            if (p.number >= 0 && (best.number < 0 || is_before(p, best)))
                best = p;
        }
        last = best;
    }
    return last;
}

/* A warp's own part of shared memory: numbers by expert, scores of groups, and the chosen, in
 * ascending order. Element i of each is lane i % WARP's where all lanes write at once. */
struct route_space {
    float *number, *group;
    int *chosen;
};

__device__ static struct route_space route_space_of(unsigned char *shared, int experts)
{
    float *from = (float *)shared + (size_t)(threadIdx.x / WARP) * 3 * (size_t)experts;
    return {from, from + experts, (int *)(from + 2 * experts)};
}

/* sum + number[0] + ... + number[count - 1] in that order, whatever the number of lanes. */
__device__ static float sum_in_order(float sum, const float *number, int count)
{
    __syncwarp(); /* all have written */
    for (int e = 0; e < count; e++)
        sum += number[e];
    __syncwarp(); /* all have read */
    return sum;
}

/* exp(logits - their largest), summed over all experts; the largest in *largest. */
__device__ static float exp_sum(float *largest, const float *logits,
                                const struct route_space &space, int experts, int lane)
{
    float most = -INFINITY;
    for (int e = lane; e < experts; e += WARP)
        most = fmaxf(most, logits[e]);
    *largest = most = warp_max(most);
    for (int e = lane; e < experts; e += WARP)
        space.number[e] = expf(logits[e] - most);
    return sum_in_order(0, space.number, experts);
}

/* Scores that the choice goes by into space.number; experts of groups that are not chosen have
 * -inf. */
__device__ static void score(const struct route_space &space, const float *logits,
                             const float *correction, const struct router &g, int lane)
{
    int size = g.experts / g.groups,
        softmax = !g.sigmoid && (correction || (g.groups > 1 && !g.group_largest));
    float largest = 0, sum = softmax ? exp_sum(&largest, logits, space, g.experts, lane) : 1;
    for (int e = lane; e < g.experts; e += WARP) {
        float s = g.sigmoid ? sigmoid(logits[e])
                  : softmax ? expf(logits[e] - largest) / sum
                            : logits[e];
        space.number[e] = ordered(correction ? s + correction[e] : s);
    }
    if (g.groups == 1)
        return;
    __syncwarp(); /* all have written */
    for (int i = lane; i < g.groups; i += WARP) { /* a group's two largest scores together */
        float most = -INFINITY, second = -INFINITY;
        for (int e = i * size; e < (i + 1) * size; e++) {
            float s = space.number[e];
            second = s > most ? most : s > second ? s : second;
            most = s > most ? s : most;
        }
        space.group[i] = ordered(g.group_largest ? most : most + second);
    }
    struct place last = place_of(space.group, g.groups, g.chosen_groups, lane);
    __syncwarp(); /* all have written groups, and read numbers */
    for (int e = lane; e < g.experts; e += WARP) {
        struct place own = {space.group[e / size], e / size};
        if (!is_before(own, last))
            space.number[e] = -INFINITY;
    }
}

/* Into space.chosen, for after a barrier, and `choice`. */
__device__ static void choose(int32_t *choice, const struct route_space &space, const float *logits,
                              const float *correction, const struct router &g, int lane)
{
    int count = 0;
    score(space, logits, correction, g, lane);
    struct place last = place_of(space.number, g.experts, g.chosen, lane);
    for (int first = 0; first < g.experts; first += WARP) {
        int e = first + lane;
        struct place p = {e < g.experts ? space.number[e] : -INFINITY, e};
        unsigned taken = __ballot_sync(FULL_WARP, e < g.experts && is_before(p, last));
        if (taken >> lane & 1) {
            int at = count + __popc(taken & ((1u << lane) - 1));
            choice[at] = space.chosen[at] = e;
        }
        count += __popc(taken);
    }
}

/* The largest logit of all experts, or of the chosen where the others cancel, and the sum that
 * scores are divided by. */
__device__ static float score_sum(float *largest, const float *logits,
                                  const struct route_space &space, const struct router &g, int lane)
{
    float sum = g.sigmoid ? g.floor : 0;
    *largest = -INFINITY;
    if (g.sigmoid && !g.normalised)
        return 1;
    if (!g.normalised)
        return exp_sum(largest, logits, space, g.experts, lane);
    for (int j = 0; j < g.chosen && !g.sigmoid; j++)
        *largest = fmaxf(*largest, logits[space.chosen[j]]);
    for (int j = lane; j < g.chosen; j += WARP) {
        float z = logits[space.chosen[j]];
        space.number[j] = g.sigmoid ? sigmoid(z) : expf(z - *largest);
    }
    return sum_in_order(sum, space.number, g.chosen);
}

/* Of SCORING_SPARSEMIXER: the score of expert e beside chosen j, and their sum, as in the
 * reference. */
__device__ static float near_score(const float *logits, const int *choice, const struct router &g,
                                   int j, int e)
{
    int first = logits[choice[1]] > logits[choice[0]];
    float chosen = logits[choice[j]], z = logits[e];
    if ((j != first && e == choice[first]) || (chosen - z) / fmaxf(fabsf(z), chosen) > g.tolerance)
        return 0;
    return expf(z - chosen);
}

__device__ static float near_sum(const float *logits, const struct route_space &space,
                                 const struct router &g, int j, int lane)
{
    for (int e = lane; e < g.experts; e += WARP)
        space.number[e] = near_score(logits, space.chosen, g, j, e);
    return sum_in_order(0, space.number, g.experts);
}

__device__ static void unweigh_sparsemixer(float *d_logits, const float *d_weights,
                                           const float *logits, const struct route_space &space,
                                           const struct router &g, int lane)
{
    float sum[2] = {near_sum(logits, space, g, 0, lane), near_sum(logits, space, g, 1, lane)};
    for (int e = lane; e < g.experts; e += WARP) {
        float d = 0;
        for (int j = 0; j < 2; j++)
            d += g.factor * d_weights[j] / sum[j] *
                 ((e == space.chosen[j] ? 1.0f : 0.0f) -
                  near_score(logits, space.chosen, g, j, e) / sum[j]);
        d_logits[e] = d;
    }
}

/* A warp a row. What is summed is summed in the order of the experts, or of the chosen:
 * exponentials are made by all lanes at once, and then added one after the other. */
__global__ void __launch_bounds__(ROUTERS *WARP)
    route_rows(int32_t *choice, float *weights, const float *logits, const float *correction,
               struct router g, size_t rows)
{
    SHARED_MEMORY(shared);
    size_t r = (size_t)blockIdx.x * ROUTERS + threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP, is_bad = 0;
    if (r >= rows)
        return;
    struct route_space space = route_space_of(shared, g.experts);
    const float *z = logits + r * (size_t)g.experts;
    float largest, *out = weights + r * (size_t)g.chosen;
    for (int e = lane; e < g.experts; e += WARP)
        is_bad |= z[e] != z[e];
    float bad = __any_sync(FULL_WARP, is_bad) ? NAN : 0;
    if (choice)
        choose(choice + r * (size_t)g.chosen, space, z, correction, g, lane);
    else if (lane == 0)
        space.chosen[0] = 0;
    __syncwarp(); /* all have written the chosen */
    if (g.sparsemixer) {
        for (int j = 0; j < 2; j++) {
            float sum = near_sum(z, space, g, j, lane);
            if (lane == 0)
                out[j] = g.factor / sum + bad;
        }
        return;
    }
    float sum = score_sum(&largest, z, space, g, lane);
    for (int j = lane; j < g.chosen; j += WARP) {
        float own = z[space.chosen[j]];
        out[j] = g.factor * (g.sigmoid ? sigmoid(own) : expf(own - largest)) / sum + bad;
    }
}

__global__ void __launch_bounds__(ROUTERS *WARP)
    route_rows_reverse(float *d_logits, const float *d_weights, const float *logits,
                       const int32_t *choice, struct router g, size_t rows)
{
    SHARED_MEMORY(shared);
    size_t r = (size_t)blockIdx.x * ROUTERS + threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP;
    if (r >= rows)
        return;
    struct route_space space = route_space_of(shared, g.experts);
    const float *z = logits + r * (size_t)g.experts, *dw = d_weights + r * (size_t)g.chosen;
    float *dz = d_logits + r * (size_t)g.experts, largest, mean = 0;
    for (int j = lane; j < g.chosen; j += WARP)
        space.chosen[j] = choice ? choice[r * (size_t)g.chosen + (size_t)j] : 0;
    __syncwarp();
    if (g.sparsemixer) {
        unweigh_sparsemixer(dz, dw, z, space, g, lane);
        return;
    }
    float sum = score_sum(&largest, z, space, g, lane);
    if (!g.sigmoid || g.normalised) {
        for (int j = lane; j < g.chosen; j += WARP)
            space.number[j] = dw[j] *
                              (g.sigmoid ? sigmoid(z[space.chosen[j]])
                                         : expf(z[space.chosen[j]] - largest)) /
                              sum;
        mean = sum_in_order(0, space.number, g.chosen);
    }
    for (int e = lane; e < g.experts; e += WARP)
        dz[e] = g.sigmoid || g.normalised ? 0.0f : -g.factor * mean * expf(z[e] - largest) / sum;
    __syncwarp();
    for (int j = lane; j < g.chosen; j += WARP) {
        float own = z[space.chosen[j]], u = g.factor * (dw[j] - mean) / sum;
        dz[space.chosen[j]] = u * (g.sigmoid ? sigmoid(own) * sigmoid(-own) : expf(own - largest));
    }
}

static struct router router_of(const struct routing *g)
{
    return {g->experts,
            g->chosen,
            g->scoring == SCORING_SIGMOID,
            g->scoring == SCORING_SPARSEMIXER,
            g->groups,
            g->chosen_groups,
            g->group_largest,
            g->normalised,
            (float)g->factor,
            (float)g->floor,
            (float)g->tolerance};
}

static dim3 route_grid(size_t rows)
{
    return dim3((unsigned)cuda_divide_up(rows, ROUTERS));
}

/* Shared memory of a block: what each warp has of it; at most 48 KiB, which need no request.
 */
static size_t route_bytes(const struct routing *g)
{
    static_assert((size_t)ROUTERS * 3 * EXPERTS_MOST * sizeof(float) <= 48 << 10,
                  "a block has 48 KiB");
    return (size_t)ROUTERS * 3 * (size_t)g->experts * sizeof(float);
}

static void route(struct kernels *k, struct buffer *choice, struct buffer *weights,
                  const struct buffer *logits, const struct weight *correction,
                  const struct routing *routing, struct rows rows)
{
    struct cuda_range range("route");
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (total)
        LAUNCH(route_rows, route_grid(total), dim3(ROUTERS * WARP), route_bytes(routing),
               cuda_state(k)->stream, choice ? (int32_t *)choice->data : (int32_t *)NULL,
               (float *)weights->data, (const float *)logits->data,
               (const float *)cuda_weight_data(k, correction), router_of(routing), total);
}

static void route_reverse(struct kernels *k, struct buffer *d_logits,
                          const struct buffer *d_weights, const struct buffer *logits,
                          const struct buffer *choice, const struct routing *routing,
                          struct rows rows)
{
    struct cuda_range range("route_reverse");
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (total)
        LAUNCH(route_rows_reverse, route_grid(total), dim3(ROUTERS * WARP), route_bytes(routing),
               cuda_state(k)->stream, (float *)d_logits->data, (const float *)d_weights->data,
               (const float *)logits->data,
               choice ? (const int32_t *)choice->data : (const int32_t *)NULL, router_of(routing),
               total);
}

/* A block a row. */
template <int N, class D, class S>
__global__ void __launch_bounds__(BLOCK)
    gather_rows(D *y, const S *x, const int32_t *index, int each, size_t width)
{
    D *to = y + (size_t)blockIdx.x * width;
    const S *from = x + (size_t)(index[blockIdx.x] / each) * width;
    for (size_t c = threadIdx.x * N; c < width; c += blockDim.x * N) {
        float value[N];
        load_floats<N>(value, from + c);
        store_floats<N>(to + c, value);
    }
}

template <class D, class S>
static void launch_gather(struct kernels *k, struct buffer *y, const struct buffer *x,
                          const struct buffer *index, size_t count, int each, size_t width)
{
    cudaStream_t stream = cuda_state(k)->stream;
#define GATHER(n) \
    LAUNCH((gather_rows<n, D, S>), dim3((unsigned)count), dim3(cuda_row_threads(width / n)), 0, \
           stream, (D *)y->data, (const S *)x->data, (const int32_t *)index->data, each, width)
    if (width % 4 == 0)
        GATHER(4);
    else
        GATHER(1);
#undef GATHER
}

static void gather(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct buffer *index, size_t count, int each, int width)
{
    struct cuda_range range("gather");
    if (!count)
        return;
    if (cuda_is_bf16(k, y) && cuda_is_bf16(k, x))
        launch_gather<bf16, bf16>(k, y, x, index, count, each, (size_t)width);
    else if (cuda_is_bf16(k, y))
        launch_gather<bf16, float>(k, y, x, index, count, each, (size_t)width);
    else if (cuda_is_bf16(k, x))
        launch_gather<float, bf16>(k, y, x, index, count, each, (size_t)width);
    else
        launch_gather<float, float>(k, y, x, index, count, each, (size_t)width);
}

/* A block a row: no two write to one element. */
template <int N, class D, class S>
__global__ void __launch_bounds__(BLOCK)
    combine_rows(D *y, const S *x, const int32_t *index, const float *weights, int each,
                 size_t width, int accumulate)
{
    size_t begin = (size_t)blockIdx.x * (size_t)each;
    D *to = y + (size_t)blockIdx.x * width;
    for (size_t c = threadIdx.x * N; c < width; c += blockDim.x * N) {
        float sum[N] = {0};
        if (accumulate)
            load_floats<N>(sum, to + c);
        for (size_t i = begin; i < begin + (size_t)each; i++) {
            float value[N], weight = weights ? weights[i] : 1.0f;
            load_floats<N>(value, x + (index ? (size_t)index[i] : i) * width + c);
            for (int j = 0; j < N; j++)
                sum[j] += weight * value[j];
        }
        store_floats<N>(to + c, sum);
    }
}

template <class D, class S>
static void launch_combine(struct kernels *k, struct buffer *y, const struct buffer *x,
                           const struct buffer *index, const struct buffer *weights, size_t rows,
                           int each, int width, int accumulate)
{
    size_t w = (size_t)width;
#define COMBINE(n) \
    LAUNCH((combine_rows<n, D, S>), dim3((unsigned)rows), dim3(cuda_row_threads(w / n)), 0, \
           cuda_state(k)->stream, (D *)y->data, (const S *)x->data, \
           index ? (const int32_t *)index->data : (const int32_t *)NULL, \
           weights ? (const float *)weights->data : (const float *)NULL, each, w, accumulate)
    if (w % 4 == 0)
        COMBINE(4);
    else
        COMBINE(1);
#undef COMBINE
}

static void combine(struct kernels *k, struct buffer *y, const struct buffer *x,
                    const struct buffer *index, const struct buffer *weights, struct rows rows,
                    int each, int width, int accumulate)
{
    struct cuda_range range("combine");
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (!total)
        return;
    if (cuda_is_bf16(k, y) && cuda_is_bf16(k, x))
        launch_combine<bf16, bf16>(k, y, x, index, weights, total, each, width, accumulate);
    else if (cuda_is_bf16(k, y))
        launch_combine<bf16, float>(k, y, x, index, weights, total, each, width, accumulate);
    else if (cuda_is_bf16(k, x))
        launch_combine<float, bf16>(k, y, x, index, weights, total, each, width, accumulate);
    else
        launch_combine<float, float>(k, y, x, index, weights, total, each, width, accumulate);
}

/* A block a weight. */
template <class D, class S>
__global__ void __launch_bounds__(BLOCK)
    combine_rows_reverse(float *d_weights, const D *dy, const S *x, const int32_t *index, int each,
                         size_t width)
{
    __shared__ float space[WARP];
    size_t i = blockIdx.x;
    const D *gradient = dy + i / (size_t)each * width;
    const S *in = x + (index ? (size_t)index[i] : i) * width;
    float sum = 0;
    for (size_t c = threadIdx.x; c < width; c += blockDim.x)
        sum += to_float(gradient[c]) * to_float(in[c]);
    sum = block_sum(sum, space);
    if (threadIdx.x == 0)
        d_weights[i] = sum;
}

static void combine_reverse(struct kernels *k, struct buffer *d_weights, const struct buffer *dy,
                            const struct buffer *x, const struct buffer *index, struct rows rows,
                            int each, int width)
{
    struct cuda_range range("combine_reverse");
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)each;
    if (!total)
        return;
#define DOTS(D, S) \
    LAUNCH((combine_rows_reverse<D, S>), dim3((unsigned)total), \
           dim3(cuda_row_threads((size_t)width)), 0, cuda_state(k)->stream, \
           (float *)d_weights->data, (const D *)dy->data, (const S *)x->data, \
           index ? (const int32_t *)index->data : (const int32_t *)NULL, each, (size_t)width)
    if (cuda_is_bf16(k, dy) && cuda_is_bf16(k, x))
        DOTS(bf16, bf16);
    else if (cuda_is_bf16(k, dy))
        DOTS(bf16, float);
    else if (cuda_is_bf16(k, x))
        DOTS(float, bf16);
    else
        DOTS(float, float);
#undef DOTS
}

/* A block a row. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    weigh_rows_reverse(float *d_weights, T *dx, const T *x, const int32_t *index,
                       const float *weights, size_t width)
{
    __shared__ float space[WARP];
    size_t i = index ? (size_t)index[blockIdx.x] : blockIdx.x;
    const T *in = x + (size_t)blockIdx.x * width;
    T *gradient = dx + (size_t)blockIdx.x * width;
    float sum = 0, weight = weights[i];
    for (size_t c = threadIdx.x; c < width; c += blockDim.x) {
        float d = to_float(gradient[c]);
        sum += to_float(in[c]) * d;
        gradient[c] = from_float<T>(weight * d);
    }
    sum = block_sum(sum, space);
    if (threadIdx.x == 0)
        d_weights[i] = sum;
}

static void weigh_reverse(struct kernels *k, struct buffer *d_weights, struct buffer *dx,
                          const struct buffer *x, const struct buffer *index,
                          const struct buffer *weights, size_t count, int width)
{
    struct cuda_range range("weigh_reverse");
    dim3 grid((unsigned)count), block(cuda_row_threads((size_t)width));
    const int32_t *to = index ? (const int32_t *)index->data : (const int32_t *)NULL;
    if (!count)
        return;
    if (cuda_is_bf16(k, x))
        LAUNCH(weigh_rows_reverse<bf16>, grid, block, 0, cuda_state(k)->stream,
               (float *)d_weights->data, (bf16 *)dx->data, (const bf16 *)x->data, to,
               (const float *)weights->data, (size_t)width);
    else
        LAUNCH(weigh_rows_reverse<float>, grid, block, 0, cuda_state(k)->stream,
               (float *)d_weights->data, (float *)dx->data, (const float *)x->data, to,
               (const float *)weights->data, (size_t)width);
}

void cuda_fill_experts(struct kernels *k)
{
    k->route = route;
    k->route_reverse = route_reverse;
    k->gather = gather;
    k->combine = combine;
    k->combine_reverse = combine_reverse;
    k->weigh_reverse = weigh_reverse;
}
