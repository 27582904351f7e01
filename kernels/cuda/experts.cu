/* Experts in the cuda set: the choice and its derivative, and the rows that go to experts and come back. The choice is made as
 * kernels/reference/experts.c says, by walking an order. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* What the kernels read of a struct routing. */
struct router {
    int experts, chosen, sigmoid, sparsemixer, groups, chosen_groups, normalised;
    float factor, floor, tolerance;
    float largest, sum; /* of a row, where softmax is corrected: its largest logit, and the sum of exp(z - it) */
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

/* What the choice goes by; a NaN counts as -inf. */
__device__ static float score_of(const float *logits, const float *correction, const struct router &g, int e)
{
    float s = g.sigmoid ? sigmoid(logits[e]) : correction ? expf(logits[e] - g.largest) / g.sum : logits[e];
    if (correction)
        s += correction[e];
    return s == s ? s : -INFINITY;
}

/* A group's two largest scores together; a NaN counts as -inf. */
__device__ static float group_score(const float *logits, const float *correction, const struct router &g, int group)
{
    int size = g.experts / g.groups;
    float most = -INFINITY, second = -INFINITY;
    for (int e = group * size; e < (group + 1) * size; e++) {
        float s = score_of(logits, correction, g, e);
        second = s > most ? most : s > second ? s : second;
        most = s > most ? s : most;
    }
    float sum = most + second;
    return sum == sum ? sum : -INFINITY;
}

/* The place that follows `last` in the order; number -1 stands before the first. Experts of groups behind `group` have -inf. */
__device__ static struct place next_expert(const float *logits, const float *correction, const struct router &g,
                                           struct place last, struct place group)
{
    struct place best = {0, -1};
    int size = g.experts / g.groups, in = 1;
    for (int e = 0; e < g.experts; e++) {
        if (g.groups > 1 && e % size == 0) {
            struct place own = {group_score(logits, correction, g, e / size), e / size};
            in = is_before(own, group);
        }
        struct place p = {in ? score_of(logits, correction, g, e) : -INFINITY, e};
        if ((last.number < 0 || !is_before(p, last)) && (best.number < 0 || p.score > best.score))
            best = p;
    }
    return best;
}

/* The last of the chosen groups. */
__device__ static struct place last_group(const float *logits, const float *correction, const struct router &g)
{
    struct place last = {0, -1};
    for (int j = 0; j < g.chosen_groups; j++) {
        struct place best = {0, -1};
        for (int i = 0; i < g.groups; i++) {
            struct place p = {group_score(logits, correction, g, i), i};
            if ((last.number < 0 || !is_before(p, last)) && (best.number < 0 || p.score > best.score))
                best = p;
        }
        last = best;
    }
    return last;
}

__device__ static void choose(int32_t *choice, const float *logits, const float *correction, struct router g)
{
    struct place last = {0, -1}, group = {0, 0};
    int size = g.experts / g.groups, count = 0, in = 1;
    g.largest = -INFINITY, g.sum = 0;
    for (int e = 0; e < g.experts && correction && !g.sigmoid; e++)
        g.largest = fmaxf(g.largest, logits[e]);
    for (int e = 0; e < g.experts && correction && !g.sigmoid; e++)
        g.sum += expf(logits[e] - g.largest);
    if (g.groups > 1)
        group = last_group(logits, correction, g);
    for (int j = 0; j < g.chosen; j++)
        last = next_expert(logits, correction, g, last, group);
    for (int e = 0; e < g.experts; e++) {
        if (g.groups > 1 && e % size == 0) {
            struct place own = {group_score(logits, correction, g, e / size), e / size};
            in = is_before(own, group);
        }
        struct place p = {in ? score_of(logits, correction, g, e) : -INFINITY, e};
        if (is_before(p, last))
            choice[count++] = e;
    }
}

/* The largest logit of all experts, or of the chosen where the others cancel, and the sum that scores are divided by. */
__device__ static float score_sum(float *largest, const float *logits, const int32_t *choice, const struct router &g)
{
    float sum = g.sigmoid ? g.floor : 0;
    int count = g.normalised ? g.chosen : g.experts;
    *largest = -INFINITY;
    if (g.sigmoid && !g.normalised)
        return 1;
    for (int j = 0; j < count && !g.sigmoid; j++)
        *largest = fmaxf(*largest, logits[g.normalised ? choice[j] : j]);
    for (int j = 0; j < count; j++) {
        float z = logits[g.normalised ? choice[j] : j];
        sum += g.sigmoid ? sigmoid(z) : expf(z - *largest);
    }
    return sum;
}

/* Of SCORING_SPARSEMIXER: the score of expert e beside chosen j, and their sum, as in the reference. */
__device__ static float near_score(const float *logits, const int32_t *choice, const struct router &g, int j, int e)
{
    int first = logits[choice[1]] > logits[choice[0]];
    float chosen = logits[choice[j]], z = logits[e];
    if ((j != first && e == choice[first]) || (chosen - z) / fmaxf(fabsf(z), chosen) > g.tolerance)
        return 0;
    return expf(z - chosen);
}

__device__ static float near_sum(const float *logits, const int32_t *choice, const struct router &g, int j)
{
    float sum = 0;
    for (int e = 0; e < g.experts; e++)
        sum += near_score(logits, choice, g, j, e);
    return sum;
}

__device__ static void unweigh_sparsemixer(float *d_logits, const float *d_weights, const float *logits, const int32_t *choice,
                                           const struct router &g)
{
    float sum[2] = {near_sum(logits, choice, g, 0), near_sum(logits, choice, g, 1)};
    for (int e = 0; e < g.experts; e++) {
        float d = 0;
        for (int j = 0; j < 2; j++)
            d += g.factor * d_weights[j] / sum[j] *
                 ((e == choice[j] ? 1.0f : 0.0f) - near_score(logits, choice, g, j, e) / sum[j]);
        d_logits[e] = d;
    }
}

/* A thread a row. */
__global__ void __launch_bounds__(BLOCK)
    route_rows(int32_t *choice, float *weights, const float *logits, const float *correction, struct router g, size_t rows)
{
    const int32_t first = 0;
    size_t r = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (r >= rows)
        return;
    const float *z = logits + r * (size_t)g.experts;
    int32_t *chosen = choice ? choice + r * (size_t)g.chosen : (int32_t *)NULL;
    float largest, bad = 0;
    if (chosen)
        choose(chosen, z, correction, g);
    for (int e = 0; e < g.experts; e++)
        bad = z[e] == z[e] ? bad : NAN;
    if (g.sparsemixer) {
        for (int j = 0; j < 2; j++)
            weights[r * 2 + j] = g.factor / near_sum(z, chosen, g, j) + bad;
        return;
    }
    float sum = score_sum(&largest, z, chosen ? chosen : &first, g);
    for (int j = 0; j < g.chosen; j++) {
        float own = z[chosen ? chosen[j] : 0];
        weights[r * (size_t)g.chosen + j] = g.factor * (g.sigmoid ? sigmoid(own) : expf(own - largest)) / sum + bad;
    }
}

__global__ void __launch_bounds__(BLOCK) route_rows_reverse(float *d_logits, const float *d_weights, const float *logits,
                                                            const int32_t *choice, struct router g, size_t rows)
{
    const int32_t first = 0;
    size_t r = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (r >= rows)
        return;
    const float *z = logits + r * (size_t)g.experts, *dw = d_weights + r * (size_t)g.chosen;
    const int32_t *chosen = choice ? choice + r * (size_t)g.chosen : &first;
    float *dz = d_logits + r * (size_t)g.experts, largest, mean = 0;
    if (g.sparsemixer) {
        unweigh_sparsemixer(dz, dw, z, chosen, g);
        return;
    }
    float sum = score_sum(&largest, z, chosen, g);
    for (int j = 0; j < g.chosen && (!g.sigmoid || g.normalised); j++)
        mean += dw[j] * (g.sigmoid ? sigmoid(z[chosen[j]]) : expf(z[chosen[j]] - largest)) / sum;
    for (int e = 0; e < g.experts; e++)
        dz[e] = g.sigmoid || g.normalised ? 0.0f : -g.factor * mean * expf(z[e] - largest) / sum;
    for (int j = 0; j < g.chosen; j++) {
        float own = z[chosen[j]], u = g.factor * (dw[j] - mean) / sum;
        dz[chosen[j]] = u * (g.sigmoid ? sigmoid(own) * sigmoid(-own) : expf(own - largest));
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
            g->normalised,
            (float)g->factor,
            (float)g->floor,
            (float)g->tolerance,
            0,
            0};
}

static void route(struct kernels *k, struct buffer *choice, struct buffer *weights, const struct buffer *logits,
                  const struct weight *correction, const struct routing *routing, struct rows rows)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (total)
        LAUNCH(route_rows, dim3((unsigned)cuda_divide_up(total, BLOCK)), dim3(BLOCK), 0, cuda_state(k)->stream,
               choice ? (int32_t *)choice->data : (int32_t *)NULL, (float *)weights->data, (const float *)logits->data,
               (const float *)cuda_weight_data(k, correction), router_of(routing), total);
}

static void route_reverse(struct kernels *k, struct buffer *d_logits, const struct buffer *d_weights, const struct buffer *logits,
                          const struct buffer *choice, const struct routing *routing, struct rows rows)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (total)
        LAUNCH(route_rows_reverse, dim3((unsigned)cuda_divide_up(total, BLOCK)), dim3(BLOCK), 0, cuda_state(k)->stream,
               (float *)d_logits->data, (const float *)d_weights->data, (const float *)logits->data,
               choice ? (const int32_t *)choice->data : (const int32_t *)NULL, router_of(routing), total);
}

/* A block a row. */
template <class D, class S>
__global__ void __launch_bounds__(BLOCK) gather_rows(D *y, const S *x, const int32_t *index, int each, size_t width)
{
    D *to = y + (size_t)blockIdx.x * width;
    const S *from = x + (size_t)(index[blockIdx.x] / each) * width;
    for (size_t c = threadIdx.x; c < width; c += blockDim.x)
        to[c] = from_float<D>(to_float(from[c]));
}

static void gather(struct kernels *k, struct buffer *y, const struct buffer *x, const struct buffer *index, size_t count,
                   int each, int width)
{
    cudaStream_t stream = cuda_state(k)->stream;
    dim3 grid((unsigned)count), block(cuda_row_threads((size_t)width));
    const int32_t *from = (const int32_t *)index->data;
    if (!count)
        return;
    if (cuda_is_bf16(k, y) && cuda_is_bf16(k, x))
        LAUNCH((gather_rows<bf16, bf16>), grid, block, 0, stream, (bf16 *)y->data, (const bf16 *)x->data, from, each,
               (size_t)width);
    else if (cuda_is_bf16(k, y))
        LAUNCH((gather_rows<bf16, float>), grid, block, 0, stream, (bf16 *)y->data, (const float *)x->data, from, each,
               (size_t)width);
    else if (cuda_is_bf16(k, x))
        LAUNCH((gather_rows<float, bf16>), grid, block, 0, stream, (float *)y->data, (const bf16 *)x->data, from, each,
               (size_t)width);
    else
        LAUNCH((gather_rows<float, float>), grid, block, 0, stream, (float *)y->data, (const float *)x->data, from, each,
               (size_t)width);
}

/* A block a row: no two write to one element. */
template <class D, class S>
__global__ void __launch_bounds__(BLOCK)
    combine_rows(D *y, const S *x, const int32_t *index, const float *weights, int each, size_t width, int accumulate)
{
    size_t begin = (size_t)blockIdx.x * (size_t)each;
    D *to = y + (size_t)blockIdx.x * width;
    for (size_t c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = accumulate ? to_float(to[c]) : 0.0f;
        for (size_t i = begin; i < begin + (size_t)each; i++)
            sum += (weights ? weights[i] : 1.0f) * to_float(x[(index ? (size_t)index[i] : i) * width + c]);
        to[c] = from_float<D>(sum);
    }
}

template <class D, class S>
static void launch_combine(struct kernels *k, struct buffer *y, const struct buffer *x, const struct buffer *index,
                           const struct buffer *weights, size_t rows, int each, int width, int accumulate)
{
    LAUNCH((combine_rows<D, S>), dim3((unsigned)rows), dim3(cuda_row_threads((size_t)width)), 0, cuda_state(k)->stream,
           (D *)y->data, (const S *)x->data, index ? (const int32_t *)index->data : (const int32_t *)NULL,
           weights ? (const float *)weights->data : (const float *)NULL, each, (size_t)width, accumulate);
}

static void combine(struct kernels *k, struct buffer *y, const struct buffer *x, const struct buffer *index,
                    const struct buffer *weights, struct rows rows, int each, int width, int accumulate)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    if (!total)
        return;
    if (cuda_is_bf16(k, y))
        launch_combine<bf16, bf16>(k, y, x, index, weights, total, each, width, accumulate);
    else if (cuda_is_bf16(k, x))
        launch_combine<float, bf16>(k, y, x, index, weights, total, each, width, accumulate);
    else
        launch_combine<float, float>(k, y, x, index, weights, total, each, width, accumulate);
}

/* A block a row. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    weigh_rows_reverse(float *d_weights, T *dx, const T *x, const int32_t *index, const float *weights, size_t width)
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

static void weigh_reverse(struct kernels *k, struct buffer *d_weights, struct buffer *dx, const struct buffer *x,
                          const struct buffer *index, const struct buffer *weights, size_t count, int width)
{
    dim3 grid((unsigned)count), block(cuda_row_threads((size_t)width));
    const int32_t *to = index ? (const int32_t *)index->data : (const int32_t *)NULL;
    if (!count)
        return;
    if (cuda_is_bf16(k, x))
        LAUNCH(weigh_rows_reverse<bf16>, grid, block, 0, cuda_state(k)->stream, (float *)d_weights->data, (bf16 *)dx->data,
               (const bf16 *)x->data, to, (const float *)weights->data, (size_t)width);
    else
        LAUNCH(weigh_rows_reverse<float>, grid, block, 0, cuda_state(k)->stream, (float *)d_weights->data, (float *)dx->data,
               (const float *)x->data, to, (const float *)weights->data, (size_t)width);
}

void cuda_fill_experts(struct kernels *k)
{
    k->route = route;
    k->route_reverse = route_reverse;
    k->gather = gather;
    k->combine = combine;
    k->weigh_reverse = weigh_reverse;
}
