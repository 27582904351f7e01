/* Bootstrap over segments: two matrix products, replicates x segments by segments x positions, of
 * deviations and of their squares, done in blocks of positions so that neither matrix of replicates
 * is ever whole in memory. Weights are drawn again for each block, which costs a hundredth of a
 * product.
 *
 * Why studentized: near ERF(0.99) the share that is left, 1 - c, is small in most segments and
 * large in a few. A few segments then often miss the large ones, and underestimate the mean and its
 * spread together. Percentiles of the means do not know that: of 16 segments their intervals hold
 * the true ERF(0.99) in as few as 75 of 100 cases (doc/studies/intervals.md). Dividing each
 * replicate's deviation by the spread of its own segments does. */
#include "analyze/bootstrap.h"

#include <math.h>
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

/* Deviations below ROUNDING are those of sums of shares, not of segments. A replicate whose
 * variance is below this part of that of all segments drew equal ones: the rest is cancellation. */
static const double ROUNDING = 1e-12, NO_SPREAD = 1e-10;

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
    double *deviation; /* [groups, used, LANES] each segment's c at position start + group LANES +
                          lane (beyond `end`: not used), less the mean of the segments */
    double *square; /* [groups, used, LANES] its square */
    double *variance; /* [width] mean of the squares */
    double *carry; /* [used] sum of what is to the right of the block */
    double *whole; /* [used] sum of all shares, in the order of the sums: c is exactly 1 at 0 */
    double *curve; /* [replicates, width] */
    double *top; /* [replicates] the curve's greatest value to the right of the block */
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
            k->deviation[(column / LANES * used + i) * LANES + column % LANES] = sum / k->whole[i];
        }
        k->carry[i] = sum;
    }
    for (size_t column = 0; column < k->width; column++) {
        size_t at = column / LANES * used * LANES + column % LANES;
        double mean = 0, variance = 0;
        for (size_t i = 0; i < used; i++)
            mean += k->deviation[at + i * LANES];
        mean /= (double)used;
        for (size_t i = 0; i < used; i++) {
            double d = k->deviation[at + i * LANES] - mean;
            k->deviation[at + i * LANES] = d;
            k->square[at + i * LANES] = d * d;
            variance += d * d;
        }
        k->variance[column] = variance / (double)used;
    }
}

/* out[r, 0..LANES) = sum_i weight[i, r] v[i, 0..LANES), in the order of i. weight [used, TILE], v
 * [used, LANES]. */
static void weighted_sums(double out[TILE][LANES], const double *weight, const double *v,
                          size_t used)
{
    pair sum[TILE][PAIRS] = {{{0}}};
    for (size_t i = 0; i < used; i++)
        for (int r = 0; r < TILE; r++) {
            pair w = {weight[i * TILE + r], weight[i * TILE + r]};
            for (int p = 0; p < PAIRS; p++)
                sum[r][p] += w * (pair){v[i * LANES + 2 * p], v[i * LANES + 2 * p + 1]};
        }
    for (int r = 0; r < TILE; r++)
        for (int lane = 0; lane < LANES; lane++)
            out[r][lane] = sum[r][lane / 2][lane % 2];
}

/* c less the deviation of a replicate in units of its own standard error, times that of c:
 * `shift` and `square` are the mean deviation and mean squared deviation of the segments drawn,
 * `variance` that of all. A replicate of equal segments has no spread, and says nothing on its
 * side. */
static double studentized(double c, double shift, double square, double variance)
{
    double own = square - shift * shift;
    if (variance <= ROUNDING * ROUNDING)
        return c;
    if (own <= NO_SPREAD * variance)
        return shift * shift <= NO_SPREAD * variance ? c : shift > 0 ? 0 : 1;
    return c - shift * sqrt(variance / own);
}

/* Makes a replicate's curve [width] one of cumulative shares, which are at most 1 and do not fall
 * towards the start, and finds the ERFs that first pass a threshold in this block. */
static void finish_curve(const struct block *k, size_t b, size_t *erf, size_t positions,
                         const struct erf_settings *settings)
{
    double *curve = k->curve + b * k->width, top = k->top[b];
    for (size_t m = k->end; m-- > k->start;) {
        double value = fmin(curve[m - k->start], 1);
        top = value > top ? value : top;
        curve[m - k->start] = top;
        for (size_t q = 0; q < settings->threshold_count; q++)
            if (erf[q * settings->bootstrap + b] == 0 && top > settings->thresholds[q])
                erf[q * settings->bootstrap + b] = positions - m;
    }
    k->top[b] = top;
}

/* The curves of replicates first..first+TILE in this block, and their ERFs. Returns 0, or -1: out
 * of memory. */
static int replicate_block(const struct block *k, const double *c, size_t *erf, size_t first,
                           size_t used, size_t positions, const struct erf_settings *settings)
{
    double *weight = calloc(used, TILE * sizeof *weight), shift[TILE][LANES], square[TILE][LANES];
    size_t replicates = settings->bootstrap,
           count = replicates - first < TILE ? replicates - first : TILE;
    if (!weight)
        return -1;
    for (size_t r = 0; r < count; r++)
        draw(weight + r, settings->seed, first + r, used);
    for (size_t group = 0; group < k->width / LANES; group++) {
        weighted_sums(shift, weight, k->deviation + group * used * LANES, used);
        weighted_sums(square, weight, k->square + group * used * LANES, used);
        for (size_t r = 0; r < count; r++)
            for (size_t lane = 0; lane < LANES; lane++) {
                size_t column = group * LANES + lane;
                if (k->start + column < k->end)
                    k->curve[(first + r) * k->width + column] =
                        studentized(c[k->start + column], shift[r][lane] / (double)used,
                                    square[r][lane] / (double)used, k->variance[column]);
            }
    }
    for (size_t r = 0; r < count; r++)
        finish_curve(k, first + r, erf, positions, settings);
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

int bootstrap_curves(double *c_lo, double *c_hi, size_t *erf, const double *c, const double *share,
                     const size_t *row, size_t used, size_t positions,
                     const struct erf_settings *settings)
{
    size_t replicates = settings->bootstrap, block_values, curve_values;
    struct block k = {.width = BLOCK_VALUES / used / LANES * LANES};
    k.width = k.width < LANES ? LANES : k.width > BLOCK_MAX ? BLOCK_MAX : k.width;
    if (positions < k.width)
        k.width = (positions + LANES - 1) / LANES * LANES;
    if (__builtin_mul_overflow(used, k.width, &block_values) ||
        __builtin_mul_overflow(replicates, k.width, &curve_values))
        return -1;
    int failed = 0;
    k.deviation = calloc(block_values, sizeof *k.deviation);
    k.square = calloc(block_values, sizeof *k.square);
    k.variance = calloc(k.width, sizeof *k.variance);
    k.carry = calloc(used, sizeof *k.carry);
    k.whole = calloc(used, sizeof *k.whole);
    k.curve = calloc(curve_values, sizeof *k.curve);
    k.top = calloc(replicates, sizeof *k.top);
    if (!k.deviation || !k.square || !k.variance || !k.carry || !k.whole || !k.curve || !k.top) {
        failed = 1;
        goto end;
    }
    for (size_t i = 0; i < used; i++)
        for (size_t m = positions; m-- > 0;)
            k.whole[i] += share[row[i] * positions + m];
    for (size_t i = 0; i < settings->threshold_count * replicates; i++)
        erf[i] = 0;
    for (size_t end = positions; end > 0 && !failed; end = k.start) {
        fill_block(&k, share, row, used, positions, end);
#pragma omp parallel for schedule(static) reduction(| : failed)
        for (size_t first = 0; first < replicates; first += TILE)
            failed |= replicate_block(&k, c, erf, first, used, positions, settings) != 0;
#pragma omp parallel for schedule(static) reduction(| : failed)
        for (size_t m = k.start; m < k.end; m++)
            failed |= position_interval(c_lo, c_hi, &k, m, replicates) != 0;
    }
end:
    free(k.deviation);
    free(k.square);
    free(k.variance);
    free(k.carry);
    free(k.whole);
    free(k.curve);
    free(k.top);
    return failed ? -1 : 0;
}
