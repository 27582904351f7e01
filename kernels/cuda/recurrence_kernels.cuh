/* The kernels of recurrences, in chunks of 64 rows (Dao, Gu 2024; Yang, Kautz, Hatamizadeh 2024).
 * With S the state before a chunk, H the gradient of the one behind it, rows e_i = e^b_i and f_i =
 * e^(b - b_i) as factors (recurrence_chunk.cuh), G_ij = e^(b_i - b_j) for j <= i, and strictly
 * below the diagonal L = (K K') * G of the delta rule (0 without it):
 *
 *     forward: (I + L step) E = V - (K * e) S (without the delta rule E = V), N = step E;
 *              O = scale ((Q * e) S + ((Q K') * G) N) + skip V; behind it e^b S + (K * f)' N
 *     reverse: (I + step L)' F = (K * f) H + scale ((Q K') * G)' dO; D = step F;
 *              dV = D + skip dO; dstep = F . E; before it e^b H + scale (Q * e)' dO - (K * e)' D
 *              with A1 = scale (dO N') * G, A2 = (D N') * G below the diagonal:
 *              dQ = scale (dO S') * e + A1 K;
 *              dK = (N H') * f + A1' Q - (D S') * e - (A2 + A2') K  (without the delta rule the
 *              first two)
 *              dl_t = sum_{j < t <= i} ((Q K')_ij A1_ij - (K K')_ij A2_ij)
 *                     + sum_{j < t} k_j . the first term of dK_j
 *                     + sum_{i >= t} (q_i . the first of dQ_i - k_i . the third of dK_i)
 *                     + e^b H . S
 *
 * dl is a sum of products: the shorter identity by q . dq - k . dk leaves the rounding of large
 * terms where the true value is small.
 *
 * A block has one head of one segment and CHUNK columns of its values, and goes through the chunks
 * in order; recur_gradients, whose sums go over the columns, a chunk of a head. */
#ifndef REACH_KERNELS_CUDA_RECURRENCE_KERNELS_CUH
#define REACH_KERNELS_CUDA_RECURRENCE_KERNELS_CUH

#include "kernels/cuda/recurrence_chunk.cuh"

/* Chunks from .. to - 1 of each head. o, or NULL. corrections: E [.., RECURRENCE_SPAN, dv] from
 * chunk `from` on, or NULL. kept [.., slots, dk, dv]: slot i / per holds the state behind the ith
 * of these chunks, if there is such a slot; begin + head * begin_step is the state before `from`.
 * Grid: heads of all segments, columns. */
template <class T, class V>
__global__ void __launch_bounds__(BLOCK)
    recur_chunks(V *o, float *corrections, float *kept, int slots, int per, const float *begin,
                 size_t begin_step, struct recurrence_task<T, V> a, int from, int to)
{
    __shared__ struct chunk_space space;
    struct chunk_space *s = &space;
    size_t head = blockIdx.x, size = (size_t)a.dk * (size_t)a.dv;
    int first_column = (int)blockIdx.y * CHUNK;
    for (int n = 0; n < to - from; n++) {
        struct chunk<T, V> c = chunk_at(a, head, (from + n) * CHUNK);
        const float *S = n ? kept + (head * (size_t)slots + (size_t)((n - 1) / per)) * size
                           : begin + head * begin_step;
        float x[EACH][EACH] = {};
        begin_chunk(s, c);
        if (a.delta) {
            weigh_pairs<true>(s->first, s, c, [&](int i, int l) { return c.key(i, l); });
            multiply<true, false>(
                x, s, a.dk, [&](int i, int l) { return c.key(i, l); },
                [&](int l, int j) { return c.state(S, l, first_column + j); });
        }
        for_tile([&](int i, int j, int row, int column) {
            s->second[row][column] = c.value(row, first_column + column) - s->before[row] * x[i][j];
        });
        if (a.delta)
            solve_down(s, c.count);
        if (corrections)
            for_tile([&](int, int, int row, int column) {
                if (row < c.count && first_column + column < a.dv)
                    corrections[(head * RECURRENCE_SPAN + (size_t)(n * CHUNK + row)) *
                                    (size_t)a.dv +
                                (size_t)(first_column + column)] = s->second[row][column];
            });
        if (o && c.read < c.count) {
            float y[EACH][EACH] = {};
            weigh_pairs<false>(s->first, s, c, [&](int i, int l) { return c.query(i, l); });
            for_tile([&](int i, int j, int, int) { x[i][j] = 0; });
            multiply<true, false>(
                x, s, a.dk, [&](int i, int l) { return c.query(i, l); },
                [&](int l, int j) { return c.state(S, l, first_column + j); });
            multiply<true, false>(
                y, s, CHUNK, [&](int i, int l) { return s->first[i][l]; },
                [&](int l, int j) { return s->step[l] * s->second[l][j]; });
            for_tile([&](int i, int j, int row, int column) {
                int at = first_column + column;
                if (row >= c.read && row < c.count && at < a.dv)
                    o[(head % (size_t)a.heads) * (size_t)a.dv + c.out_at(row, at)] = from_float<V>(
                        a.scale * (s->before[row] * x[i][j] + y[i][j]) + c.skip * c.value(row, at));
            });
        }
        for (int d = 0; n / per < slots && d < a.dk; d += CHUNK) {
            float *next = kept + (head * (size_t)slots + (size_t)(n / per)) * size;
            for_tile([&](int i, int j, int, int) { x[i][j] = 0; });
            multiply<false, false>(
                x, s, CHUNK, [&](int i, int l) { return s->behind[l] * c.key(l, d + i); },
                [&](int l, int j) { return s->step[l] * s->second[l][j]; });
            for_tile([&](int i, int j, int row, int column) {
                int at = (d + row) * a.dv + first_column + column;
                if (d + row < a.dk && first_column + column < a.dv)
                    next[at] = decay_of_all(s) * S[at] + x[i][j];
            });
        }
    }
}

/* The same chunks backwards. weights: F as corrections above, or NULL. d_value: as a.value.
 * adjoints [.., SPAN_CHUNKS + 1, dk, dv]: the gradient of the state behind chunk from + n is in
 * slot n + 1, and that of the state before `from` in slot 0, where this finds that of the span
 * behind, unless `last`. */
template <class T, class V>
__global__ void __launch_bounds__(BLOCK)
    recur_adjoints(V *d_value, float *weights, float *adjoints, struct recurrence_task<T, V> a,
                   int from, int to, int last)
{
    __shared__ struct chunk_space space;
    struct chunk_space *s = &space;
    size_t head = blockIdx.x, size = (size_t)a.dk * (size_t)a.dv, segment = head / (size_t)a.heads;
    int first_column = (int)blockIdx.y * CHUNK;
    float *slots = adjoints + head * (SPAN_CHUNKS + 1) * size;
    for (int e = (int)threadIdx.x; e < a.dk * CHUNK; e += BLOCK) {
        int column = first_column + e % CHUNK, at = e / CHUNK * a.dv + column;
        if (column < a.dv)
            slots[(size_t)(to - from) * size + (size_t)at] = last ? 0 : slots[at];
    }
    for (int n = to - from; n-- > 0;) {
        struct chunk<T, V> c = chunk_at(a, head, (from + n) * CHUNK);
        const float *H = slots + (size_t)(n + 1) * size;
        float *next = slots + (size_t)n * size, x[EACH][EACH] = {}, y[EACH][EACH] = {};
        begin_chunk(s, c);
        if (c.read < c.count) {
            weigh_pairs<false>(s->first, s, c, [&](int i, int l) { return c.query(i, l); });
            multiply<false, false>(
                x, s, CHUNK, [&](int i, int l) { return s->first[l][i]; },
                [&](int l, int j) { return a.scale * c.d_o(l, first_column + j); });
        }
        multiply<true, false>(
            y, s, a.dk, [&](int i, int l) { return c.key(i, l); },
            [&](int l, int j) { return c.state(H, l, first_column + j); });
        for_tile([&](int i, int j, int row, int column) {
            s->second[row][column] = s->behind[row] * y[i][j] + x[i][j];
        });
        if (a.delta) {
            weigh_pairs<true>(s->first, s, c, [&](int i, int l) { return c.key(i, l); });
            solve_up(s, c.count);
        }
        for_tile([&](int, int, int row, int column) {
            int at = first_column + column;
            float F = s->second[row][column];
            if (row >= c.count || at >= a.dv)
                return;
            if (weights)
                weights[(head * RECURRENCE_SPAN + (size_t)(n * CHUNK + row)) * (size_t)a.dv +
                        (size_t)at] = F;
            d_value[(segment * (size_t)a.keys + (size_t)((from + n) * CHUNK + row)) *
                        (size_t)a.value_width +
                    head % (size_t)a.heads * (size_t)a.dv + (size_t)at] =
                from_float<V>(s->step[row] * F + c.skip * c.d_o(row, at));
        });
        for (int d = 0; d < a.dk; d += CHUNK) {
            for_tile([&](int i, int j, int, int) { x[i][j] = 0; });
            if (c.read < c.count)
                multiply<false, false>(
                    x, s, CHUNK, [&](int i, int l) { return s->before[l] * c.query(l, d + i); },
                    [&](int l, int j) { return a.scale * c.d_o(l, first_column + j); });
            if (a.delta)
                multiply<false, false>(
                    x, s, CHUNK, [&](int i, int l) { return -s->before[l] * c.key(l, d + i); },
                    [&](int l, int j) { return s->step[l] * s->second[l][j]; });
            for_tile([&](int i, int j, int row, int column) {
                int at = (d + row) * a.dv + first_column + column;
                if (d + row < a.dk && first_column + column < a.dv)
                    next[at] = decay_of_all(s) * H[at] + x[i][j];
            });
        }
    }
}

/* sums[0][t] = sum of second_ij over j < t <= i; second is used up. Begins and ends with a barrier.
 */
__device__ static void sum_across(struct chunk_space *s)
{
    int at = (int)threadIdx.x;
    __syncthreads();
    if (at < CHUNK) {
        float sum = 0;
        for (int j = 0; j <= at; j++) {
            float here = s->second[at][j];
            s->second[at][j] = sum;
            sum += here;
        }
    }
    __syncthreads();
    if (at < CHUNK) {
        float sum = 0;
        for (int i = at; i < CHUNK; i++)
            sum += s->second[i][at];
        s->sums[0][at] = sum;
    }
    __syncthreads();
}

/* What the two kernels before left of a span: a block for each chunk n and head. */
struct span_parts {
    const float *begin; /* the kept state before the span, heads begin_step apart */
    size_t begin_step;
    const float *kept; /* [.., SPAN_CHUNKS - 1, dk, dv]: the state before chunks 1 .. */
    const float *adjoints, *corrections, *weights;
};

/* d_pairs [.., RECURRENCE_SPAN, 2, dk] of queries and keys, and d_gates. */
template <class T, class V>
__global__ void __launch_bounds__(BLOCK)
    recur_gradients(float *d_pairs, float *d_gates, struct span_parts p,
                    struct recurrence_task<T, V> a, int from)
{
    __shared__ struct chunk_space space;
    struct chunk_space *s = &space;
    size_t head = blockIdx.x, n = blockIdx.y, size = (size_t)a.dk * (size_t)a.dv,
           row_0 = head * RECURRENCE_SPAN + n * CHUNK;
    struct chunk<T, V> c = chunk_at(a, head, (from + (int)n) * CHUNK);
    const float *S = n ? p.kept + (head * (SPAN_CHUNKS - 1) + n - 1) * size
                       : p.begin + head * p.begin_step,
                *H = p.adjoints + (head * (SPAN_CHUNKS + 1) + n + 1) * size,
                *E = p.corrections + row_0 * (size_t)a.dv, *F = p.weights + row_0 * (size_t)a.dv;
    float *d_gate = d_gates + (c.gate - a.gates), *d_pair = d_pairs + row_0 * 2 * (size_t)a.dk;
    bool reads = c.read < c.count;
    auto d_o = [&](int i, int l) { return a.scale * c.d_o(i, l); };
    auto written = [&](int i, int l) { return s->step[i] * c.row_of(E, i, l); }; /* N */
    auto erased = [&](int i, int l) { return s->step[i] * c.row_of(F, i, l); }; /* D */
    auto query = [&](int i, int l) { return c.query(i, l); };
    auto key = [&](int i, int l) { return c.key(i, l); };
    float erasing[EACH][EACH] = {}, into[EACH] = {}, out_of[EACH] = {}, through = 0;

    begin_chunk(s, c);
    for (size_t e = threadIdx.x; e < size; e += BLOCK)
        through += H[e] * S[e];
    through = decay_of_all(s) * block_sum(through, s->sums[0]);
    {
        float x[EACH][EACH] = {}, pairs[EACH][EACH] = {};
        if (reads) {
            multiply<true, true>(x, s, a.dv, d_o, [&](int l, int j) { return written(j, l); });
            multiply<true, true>(pairs, s, a.dk, query, [&](int l, int j) { return key(j, l); });
        }
        for_tile([&](int i, int j, int row, int column) {
            float A1 = column <= row ? x[i][j] * decay_between(s, row, column) : 0;
            s->first[row][column] = A1, s->second[row][column] = A1 * pairs[i][j];
        });
    }
    if (a.delta) {
        float pairs[EACH][EACH] = {};
        multiply<true, true>(erasing, s, a.dv, erased, [&](int l, int j) { return written(j, l); });
        multiply<true, true>(pairs, s, a.dk, key, [&](int l, int j) { return key(j, l); });
        for_tile([&](int i, int j, int row, int column) {
            erasing[i][j] = column < row ? erasing[i][j] * decay_between(s, row, column) : 0;
            s->second[row][column] -= erasing[i][j] * pairs[i][j];
        });
    }
    sum_across(s);
    for_tile([&](int i, int j, int row, int column) { s->second[row][column] = erasing[i][j]; });
    for (int i = 0; i < EACH; i++) {
        int row = tile_row() + i;
        float sum = 0;
        for (int l = tile_column(); l < a.dv; l += SIDE)
            sum += c.row_of(E, row, l) * c.row_of(F, row, l);
        sum = tile_row_sum(sum);
        if (tile_column() == 0 && row < c.count)
            d_gate[(size_t)(row * c.gate_width + a.heads)] = sum;
    }
    for (int d = 0; d < a.dk; d += CHUNK) {
        float x[EACH][EACH] = {};
        if (reads) {
            multiply<true, true>(x, s, a.dv, d_o,
                                 [&](int l, int j) { return c.state(S, d + j, l); });
            for_tile([&](int i, int j, int row, int column) {
                x[i][j] *= s->before[row];
                into[i] += c.query(row, d + column) * x[i][j];
            });
            multiply<true, false>(
                x, s, CHUNK, [&](int i, int l) { return s->first[i][l]; },
                [&](int l, int j) { return c.key(l, d + j); });
        }
        for_tile([&](int i, int j, int row, int column) {
            if (row < c.count && d + column < a.dk)
                d_pair[row * 2 * a.dk + d + column] = x[i][j];
            x[i][j] = 0;
        });
        multiply<true, true>(x, s, a.dv, written,
                             [&](int l, int j) { return c.state(H, d + j, l); });
        for_tile([&](int i, int j, int row, int column) {
            x[i][j] *= s->behind[row];
            out_of[i] += c.key(row, d + column) * x[i][j];
        });
        if (a.delta) {
            float y[EACH][EACH] = {};
            multiply<true, true>(y, s, a.dv, erased,
                                 [&](int l, int j) { return c.state(S, d + j, l); });
            for_tile([&](int i, int j, int row, int column) {
                y[i][j] *= s->before[row];
                into[i] -= c.key(row, d + column) * y[i][j];
                x[i][j] -= y[i][j];
            });
            multiply<true, false>(
                x, s, CHUNK, [&](int i, int l) { return -s->second[i][l] - s->second[l][i]; },
                [&](int l, int j) { return c.key(l, d + j); });
        }
        if (reads)
            multiply<false, false>(
                x, s, CHUNK, [&](int i, int l) { return s->first[l][i]; },
                [&](int l, int j) { return c.query(l, d + j); });
        for_tile([&](int i, int j, int row, int column) {
            if (row < c.count && d + column < a.dk)
                d_pair[(row * 2 + 1) * a.dk + d + column] = x[i][j];
        });
    }
    for (int i = 0; i < EACH; i++) {
        float in = tile_row_sum(into[i]), out = tile_row_sum(out_of[i]);
        if (tile_column() == 0)
            s->sums[1][tile_row() + i] = in, s->sums[2][tile_row() + i] = out;
    }
    __syncthreads();
    int t = (int)threadIdx.x;
    if (t < c.count) {
        float sum = s->sums[0][t] + through;
        for (int i = t; i < CHUNK; i++)
            sum += s->sums[1][i];
        for (int j = 0; j < t; j++)
            sum += s->sums[2][j];
        d_gate[(size_t)(t * c.gate_width)] = sum;
    }
}

#endif
