#include "analyze/validation.h"

#include "analyze/attribution.h"
#include "analyze/curve.h"
#include "analyze/perplexity.h"

#include <math.h>
#include <stdlib.h>

enum { IN_AN_OCTAVE = 4 };

size_t validation_kept(size_t out[VALIDATION_KEPT_MAX], size_t n)
{
    size_t count = 0;

    for (int i = 0; count < VALIDATION_KEPT_MAX; i++) {
        size_t k = (size_t)(ldexp(1, i / 2) * (i % 2 ? sqrt(2) : 1) + 0.5);

        if (k >= n)
            break;
        if (!count || out[count - 1] != k)
            out[count++] = k;
    }
    return count;
}

size_t validation_single(size_t out[VALIDATION_SINGLE_MAX], size_t n, uint64_t seed, uint64_t first)
{
    size_t count = 0;

    for (size_t octave = 1; octave <= n && count + IN_AN_OCTAVE <= VALIDATION_SINGLE_MAX;
         octave *= 2) {
        size_t width = octave <= n - octave + 1 ? octave : n - octave + 1,
               parts = width < IN_AN_OCTAVE ? width : IN_AN_OCTAVE;

        for (size_t p = 0; p < parts; p++) {
            size_t from = width * p / parts, to = width * (p + 1) / parts;
            unsigned __int128 random = random_at(seed, first + count);

            out[count++] = octave + from + (size_t)(random * (to - from) >> 64);
        }
    }
    return count;
}

struct validation_mean validation_mean(const double *value, size_t count)
{
    struct perplexity p = perplexity_of(value, count);
    double margin = perplexity_margin(&(struct perplexity_difference){.std_error = p.std_error},
                                      count);

    return (struct validation_mean){p.nll, p.nll - margin, p.nll + margin};
}

int validation_change(struct validation_change *out, const double *changed, const double *whole,
                      size_t count)
{
    double *value = calloc(count, sizeof *value);

    if (!value)
        return -1;
    for (size_t i = 0; i < count; i++)
        value[i] = changed[i] - whole[i];
    out->change = validation_mean(value, count);
    for (size_t i = 0; i < count; i++)
        value[i] = fabs(value[i]);
    out->size = validation_mean(value, count);
    free(value);
    return 0;
}

size_t validation_enough(const double *size, size_t count, double within)
{
    while (count > 0 && size[count - 1] <= within)
        count--;
    return count;
}

int validation_correlate(double *all, double *octaves, const double *change, const size_t *where,
                         size_t count, const double *norm, size_t n)
{
    double moved[VALIDATION_SINGLE_MAX] = {0}, there[VALIDATION_SINGLE_MAX] = {0}, sum = 0, one;
    size_t used = 0, next;

    for (size_t i = 0; i < count; i++) {
        moved[i] = fabs(change[i]);
        there[i] = norm[n - where[i]];
    }
    if (rank_correlation(all, moved, there, count) != 0)
        return -1;
    for (size_t i = 0, octave = 1; i < count; i = next, octave *= 2) {
        for (next = i; next < count && where[next] < 2 * octave; next++)
            ;
        if (next - i < IN_AN_OCTAVE)
            continue;
        if (rank_correlation(&one, moved + i, there + i, next - i) != 0)
            return -1;
        sum += isnan(one) ? 0 : one;
        used += !isnan(one);
    }
    *octaves = used ? sum / (double)used : NAN;
    return 0;
}
