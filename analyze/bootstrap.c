/* Bootstrap over segments: a matrix product, replicates x segments by segments x positions, done in
 * blocks of positions so that neither matrix of replicates is ever whole in memory. Weights are
 * drawn again for each block, which costs a hundredth of the product. */
#include "analyze/bootstrap.h"

#include <stdlib.h>

enum {
    LANES = 8, /* positions done at once */
    TILE = 2, /* replicates done at once: with LANES, what the registers of plain x86-64 hold */
    BLOCK_MAX = 256, /* positions of a block */
    BLOCK_VALUES = 4 << 20 /* segments x positions of a block, if there are very many segments */
};

/* Two doubles: every supported machine has such registers, and each operation is done on each lane
 * separately, so the result is that of plain loops. */
typedef double pair __attribute__((vector_size(16)));
enum { PAIRS = LANES / 2 };

uint64_t random_at(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* How often replicate b draws each of the `used` segments: weight[i * TILE]. The high half of the
 * product has a bias below used / 2^64. */
static void draw(double *weight, uint64_t seed, size_t b, size_t used)
{
    for (size_t i = 0; i < used; i++)
        weight[i * TILE] = 0;
    for (size_t i = 0; i < used; i++)
        weight[(size_t)((unsigned __int128)random_at(seed, (uint64_t)b * used + i) * used >> 64) *
               TILE] += 1;
}

/* A range of positions, start..end, with width a multiple of LANES. */
struct block {
    double *c; /* [groups, used, LANES] each segment's cumulative sum at position start + group
                  LANES + lane (beyond `end`: not used) */
    double *carry; /* [used] sum of what is to the right of the block */
    double *curve; /* [replicates, width] */
    size_t start, end, width;
};

/* Fills the block that ends at `end`; sums run from the last position to the first. */
static void fill_block(struct block *k, const double *share, const size_t *row, size_t used,
                       size_t positions, size_t end)
{
    k->end = end;
    k->start = end > k->width ? end - k->width : 0;
    for (size_t i = 0; i < used; i++) {
        double sum = k->carry[i];
        for (size_t column = k->width; column-- > 0;) {
            size_t m = k->start + column;
            if (m < end)
                sum += share[row[i] * positions + m];
            k->c[(column / LANES * used + i) * LANES + column % LANES] = sum;
        }
        k->carry[i] = sum;
    }
}

/* out[r, 0..LANES) = sum_i weight[i, r] c[i, 0..LANES), in the order of i. weight [used, TILE], c
 * [used, LANES]. */
static void weighted_sums(double out[TILE][LANES], const double *weight, const double *c,
                          size_t used)
{
    pair sum[TILE][PAIRS] = {{{0}}};
    for (size_t i = 0; i < used; i++)
        for (int r = 0; r < TILE; r++) {
            pair w = {weight[i * TILE + r], weight[i * TILE + r]};
            for (int p = 0; p < PAIRS; p++)
                sum[r][p] += w * (pair){c[i * LANES + 2 * p], c[i * LANES + 2 * p + 1]};
        }
    for (int r = 0; r < TILE; r++)
        for (int lane = 0; lane < LANES; lane++)
            out[r][lane] = sum[r][lane / 2][lane % 2];
}

/* The curves of replicates first..first+TILE in this block, and the ERFs of those that first pass a
 * threshold here. whole [used]: the sum of each segment's shares in the order of the curve, so that
 * the curve at position 0 is exactly 1. Returns 0, or -1: out of memory. */
static int replicate_block(const struct block *k, const double *whole, size_t *erf, size_t first,
                           size_t used, size_t positions, const struct erf_settings *settings)
{
    double *weight = calloc(used, TILE * sizeof *weight), sums[TILE][LANES], scale[TILE] = {0};
    size_t replicates = settings->bootstrap,
           count = replicates - first < TILE ? replicates - first : TILE;
    if (!weight)
        return -1;
    for (size_t r = 0; r < count; r++) {
        draw(weight + r, settings->seed, first + r, used);
        for (size_t i = 0; i < used; i++)
            scale[r] += weight[i * TILE + r] * whole[i];
    }
    for (size_t group = 0; group < k->width / LANES; group++) {
        weighted_sums(sums, weight, k->c + group * used * LANES, used);
        for (size_t r = 0; r < count; r++)
            for (size_t lane = 0; lane < LANES; lane++)
                k->curve[(first + r) * k->width + group * LANES + lane] = sums[r][lane] / scale[r];
    }
    for (size_t r = 0; r < count; r++)
        for (size_t q = 0; q < settings->threshold_count; q++) {
            size_t *found = &erf[q * replicates + first + r];
            for (size_t m = k->end; m-- > k->start && *found == 0;)
                if (k->curve[(first + r) * k->width + m - k->start] > settings->thresholds[q])
                    *found = positions - m;
        }
    free(weight);
    return 0;
}

/* c_lo[m], c_hi[m] from the block's replicates. Returns 0, or -1 when memory runs out. */
static int position_interval(double *c_lo, double *c_hi, const struct block *k, size_t m,
                             size_t replicates)
{
    double *values = calloc(replicates, sizeof *values);
    if (!values)
        return -1;
    for (size_t b = 0; b < replicates; b++)
        values[b] = k->curve[b * k->width + m - k->start];
    c_lo[m] = quantile(values, replicates, 0.025);
    c_hi[m] = quantile(values, replicates, 0.975);
    free(values);
    return 0;
}

int bootstrap_curves(double *c_lo, double *c_hi, size_t *erf, const double *share,
                     const size_t *row, size_t used, size_t positions,
                     const struct erf_settings *settings)
{
    size_t replicates = settings->bootstrap, block_values, curve_values;
    struct block k = {.width = BLOCK_VALUES / used / LANES * LANES};
    k.width = k.width < LANES ? LANES : k.width > BLOCK_MAX ? BLOCK_MAX : k.width;
    if (__builtin_mul_overflow(used, k.width, &block_values) ||
        __builtin_mul_overflow(replicates, k.width, &curve_values))
        return -1;
    int failed = 0;
    double *whole = calloc(used, sizeof *whole);
    k.c = calloc(block_values, sizeof *k.c);
    k.carry = calloc(used, sizeof *k.carry);
    k.curve = calloc(curve_values, sizeof *k.curve);
    if (!whole || !k.c || !k.carry || !k.curve) {
        failed = 1;
        goto end;
    }
    for (size_t i = 0; i < used; i++)
        for (size_t m = positions; m-- > 0;)
            whole[i] += share[row[i] * positions + m];
    for (size_t i = 0; i < settings->threshold_count * replicates; i++)
        erf[i] = 0;
    for (size_t end = positions; end > 0 && !failed; end = k.start) {
        fill_block(&k, share, row, used, positions, end);
#pragma omp parallel for schedule(static) reduction(| : failed)
        for (size_t first = 0; first < replicates; first += TILE)
            failed |= replicate_block(&k, whole, erf, first, used, positions, settings) != 0;
#pragma omp parallel for schedule(static) reduction(| : failed)
        for (size_t m = k.start; m < k.end; m++)
            failed |= position_interval(c_lo, c_hi, &k, m, replicates) != 0;
    }
end:
    free(whole);
    free(k.c);
    free(k.carry);
    free(k.curve);
    return failed ? -1 : 0;
}
