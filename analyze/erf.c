/* Statistics of one model: norms [segments, positions] -> curve, ERFs, intervals, sink,
 * perplexity. */
#include "analyze/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* calloc of a * b elements, at least one; NULL if the size overflows. */
static void *array(size_t a, size_t b, size_t element)
{
    size_t count, bytes;
    if (__builtin_mul_overflow(a, b, &count) || __builtin_mul_overflow(count, element, &bytes))
        return NULL;
    return calloc(count ? count : 1, element);
}

void erf_summary_free(struct erf_summary *s)
{
    free(s->s);
    free(s->c);
    free(s->c_lo);
    free(s->c_hi);
    free(s->rows);
    free(s->replicates);
    memset(s, 0, sizeof *s);
}

/* Shares of the usable segments: share[i, :], and row[0..S') = their indices. Returns S'. */
static size_t find_usable(double *share, size_t *row, uint8_t *status, const double *norm,
                          const double *logprob, size_t segments, size_t positions)
{
    size_t used = 0;
    for (size_t i = 0; i < segments; i++) {
        int usable = isfinite(logprob[i]) &&
                     curve_share(share + i * positions, norm + i * positions, positions) == 0;
        status[i] = usable ? 1 : 2;
        if (usable)
            row[used++] = i;
    }
    return used;
}

/* q10, median and q90 of the ERFs of single segments. c [positions] and erf [thresholds, used] are
 * scratch. */
static void segment_quantiles(struct erf_summary *out, double *c, double *erf, const double *share,
                              const size_t *row, size_t used)
{
    for (size_t i = 0; i < used; i++) {
        curve_cumulative(c, share + row[i] * out->positions, out->positions);
        for (size_t q = 0; q < out->threshold_count; q++)
            erf[q * used + i] = (double)curve_erf(c, out->positions, out->rows[q].threshold);
    }
    for (size_t q = 0; q < out->threshold_count; q++) {
        out->rows[q].q10 = (size_t)quantile(erf + q * used, used, 0.1);
        out->rows[q].median = (size_t)quantile(erf + q * used, used, 0.5);
        out->rows[q].q90 = (size_t)quantile(erf + q * used, used, 0.9);
    }
}

/* ERFs without the first `sink` positions. rest, c [positions] are scratch. */
static void without_sink(struct erf_summary *out, double *rest, double *c, const double *share,
                         const size_t *row, size_t used, size_t sink)
{
    size_t n = out->positions, count = 0;
    memset(c, 0, n * sizeof *c);
    for (size_t i = 0; i < used; i++) {
        memcpy(rest, share + row[i] * n, n * sizeof *rest);
        memset(rest, 0, (sink < n ? sink : n) * sizeof *rest);
        if (curve_share(rest, rest, n))
            continue; /* all of it was sink */
        count++;
        for (size_t m = 0; m < n; m++)
            c[m] += rest[m];
    }
    if (count > 0)
        curve_cumulative(c, c, n);
    for (size_t q = 0; q < out->threshold_count; q++)
        out->rows[q].without_sink = count > 0 ? curve_erf(c, n, out->rows[q].threshold) : 0;
}

/* Intervals of the curve and of each threshold's ERF, if there are enough segments. values
 * [replicates] is scratch. Returns 0, or -1 when memory runs out. */
static int intervals(struct erf_summary *out, double *values, const double *share,
                     const size_t *row, size_t used, const struct erf_settings *settings)
{
    size_t replicates = used < INTERVAL_SEGMENTS ? 0 : settings->bootstrap;
    out->replicate_count = replicates;
    if (replicates == 0) {
        memcpy(out->c_lo, out->c, out->positions * sizeof *out->c);
        memcpy(out->c_hi, out->c, out->positions * sizeof *out->c);
    } else if (bootstrap_curves(out->c_lo, out->c_hi, out->replicates, out->c, share, row, used,
                                out->positions, settings)) {
        return -1;
    }
    for (size_t q = 0; q < out->threshold_count; q++) {
        struct erf_row *r = &out->rows[q];
        r->erf_lo = r->erf_hi = r->erf;
        for (size_t b = 0; b < replicates; b++)
            values[b] = (double)out->replicates[q * replicates + b];
        if (replicates > 0) {
            r->erf_lo = (size_t)quantile(values, replicates, 0.025);
            r->erf_hi = (size_t)quantile(values, replicates, 0.975);
        }
    }
    return 0;
}

int erf_summarize(struct erf_summary *out, uint8_t *status, const double *norm,
                  const double *logprob, size_t segments, size_t positions,
                  const struct erf_settings *settings)
{
    size_t replicates = settings->bootstrap, thresholds = settings->threshold_count;
    int result = -2;
    double *share = NULL, *scratch = NULL, *other = NULL, *erf = NULL;
    size_t *row = NULL;
    uint8_t *use = NULL;
    *out = (struct erf_summary){.segments = segments,
                                .positions = positions,
                                .threshold_count = thresholds,
                                .pairing = settings->seed};
    if (!(share = array(segments, positions, sizeof *share)) ||
        !(out->replicates = array(thresholds, replicates, sizeof *out->replicates)) ||
        !(out->s = array(positions, 1, sizeof *out->s)) ||
        !(out->c = array(positions, 1, sizeof *out->c)) ||
        !(out->c_lo = array(positions, 1, sizeof *out->c_lo)) ||
        !(out->c_hi = array(positions, 1, sizeof *out->c_hi)) ||
        !(out->rows = array(thresholds, 1, sizeof *out->rows)) ||
        !(erf = array(thresholds, segments, sizeof *erf)) ||
        !(row = array(segments, 1, sizeof *row)) || !(use = array(segments, 1, sizeof *use)) ||
        !(other = array(positions, 1, sizeof *other)) ||
        !(scratch = array(positions > replicates ? positions : replicates, 1, sizeof *scratch)))
        goto end;

    size_t used = find_usable(share, row, status, norm, logprob, segments, positions);
    if (used == 0) {
        result = -1;
        goto end;
    }
    out->excluded = segments - used;
    for (size_t i = 0; i < segments; i++) {
        use[i] = status[i] == 1;
        out->pairing = random_at(out->pairing, status[i]);
        out->mean_logprob += use[i] ? logprob[i] : 0;
    }
    out->mean_logprob /= (double)used;
    out->perplexity = exp(-out->mean_logprob);
    curve_mean(out->s, share, use, segments, positions);
    curve_cumulative(out->c, out->s, positions);
    out->sink_share = curve_sink_share(out->s, positions, settings->sink);
    for (size_t q = 0; q < thresholds; q++) {
        out->rows[q].threshold = settings->thresholds[q];
        out->rows[q].erf = curve_erf(out->c, positions, settings->thresholds[q]);
        out->rows[q].saturated = out->rows[q].erf == positions;
    }
    segment_quantiles(out, scratch, erf, share, row, used);
    without_sink(out, scratch, other, share, row, used, settings->sink);
    if (intervals(out, scratch, share, row, used, settings) == 0)
        result = 0;
end:
    free(share);
    free(scratch);
    free(other);
    free(erf);
    free(row);
    free(use);
    if (result)
        erf_summary_free(out);
    return result;
}

int erf_difference(double *difference, double *lo, double *hi, const struct erf_summary *a,
                   const struct erf_summary *b, size_t q)
{
    size_t replicates = a->replicate_count;
    if (replicates == 0 || b->replicate_count != replicates || a->pairing != b->pairing ||
        a->segments - a->excluded != b->segments - b->excluded || q >= a->threshold_count ||
        q >= b->threshold_count || a->rows[q].threshold != b->rows[q].threshold)
        return -1;
    double *values = calloc(replicates, sizeof *values);
    if (!values)
        return -2;
    for (size_t i = 0; i < replicates; i++)
        values[i] = (double)a->replicates[q * replicates + i] -
                    (double)b->replicates[q * replicates + i];
    *difference = (double)a->rows[q].erf - (double)b->rows[q].erf;
    *lo = quantile(values, replicates, 0.025);
    *hi = quantile(values, replicates, 0.975);
    free(values);
    return 0;
}

/* Linear fit of ln y over the logarithm of the inputs. */
static double slope(const struct erf_summary *const *lengths, const double *y, size_t count)
{
    double mean_x = 0, mean_y = 0, above = 0, below = 0;

    for (size_t i = 0; i < count; i++) {
        mean_x += log((double)lengths[i]->positions) / (double)count;
        mean_y += log(y[i]) / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double x = log((double)lengths[i]->positions) - mean_x;

        above += x * (log(y[i]) - mean_y);
        below += x * x;
    }
    return above / below;
}

int erf_growth(struct erf_growth *out, const struct erf_summary *const *lengths, size_t count,
               size_t q)
{
    size_t replicates = lengths[0]->replicate_count;
    double *y = calloc(count, sizeof *y), *slopes = calloc(replicates + 1, sizeof *slopes);
    int result = y && slopes ? 0 : -1;

    *out = (struct erf_growth){.lo = NAN, .hi = NAN};
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct erf_summary *u = lengths[i];

        y[i] = (double)u->rows[q].erf;
        out->saturated += (size_t)u->rows[q].saturated;
        if (u->replicate_count != replicates || u->pairing != lengths[0]->pairing)
            replicates = 0;
    }
    if (result == 0)
        out->exponent = slope(lengths, y, count);
    for (size_t b = 0; b < replicates && result == 0; b++) {
        for (size_t i = 0; i < count; i++)
            y[i] = (double)lengths[i]->replicates[q * replicates + b];
        slopes[b] = slope(lengths, y, count);
    }
    if (replicates && result == 0) {
        out->lo = quantile(slopes, replicates, 0.025);
        out->hi = quantile(slopes, replicates, 0.975);
    }
    free(y);
    free(slopes);
    return result;
}
