/* Means by channel in kernel_run.h. */
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

/* What a case is made of. */
struct numbers {
    double *k, *v, *d_o, *rate, *first;
};

static struct numbers numbers_of(const struct wkv_case *c)
{
    size_t channels = (size_t)c->channels, rows = (size_t)c->rows;
    struct numbers n = {.k = random_segments(c->segments, c->first, rows * channels, 1, c->size),
                        .v = random_segments(c->segments, c->first, rows * channels, 2, 1),
                        .d_o = random_segments(c->segments, c->first, (size_t)c->queries * channels,
                                               3, 1),
                        .rate = random_values(channels, 4, 1),
                        .first = random_values(channels, 5, c->size)};
    for (size_t i = 0; i < (size_t)c->segments * rows * channels; i++)
        n.k[i] = (float)n.k[i];
    for (size_t i = 0; i < channels; i++)
        n.rate[i] = (float)(c->decay / 2 * (n.rate[i] + 2)), n.first[i] = (float)n.first[i];
    return n;
}

/* Sums of sizes, times e^-p. */
struct sizes {
    double a, b, p;
};

/* After a row of this rate, with e^exponent (a, b) added. */
static struct sizes with(struct sizes s, double rate, double exponent, double a, double b)
{
    double m = fmax(s.p - rate, exponent), before = exp(s.p - rate - m), here = exp(exponent - m);
    return (struct sizes){before * s.a + here * a, before * s.b + here * b, m};
}

/* The bounds of a channel of a segment: roundings are proportional to what would be summed if all
 * numbers were positive, and those of exponents to their sizes. */
static void bound_channel(struct outputs *out, const struct wkv_case *c, const struct numbers *n,
                          size_t segment, size_t channel)
{
    size_t rows = (size_t)c->rows, queries = (size_t)c->queries, channels = (size_t)c->channels;
    /* what float keeps no digits of is 0 or rounded to its least number */
    double unit = 124 + 4 * sqrt((double)rows) + 24 * c->size, least = 0x1p-99,
           rate = n->rate[channel], first = n->first[channel],
           *mean = allocate(queries * sizeof *mean), *z = allocate(queries * sizeof *z);
    struct sizes s = {0, 0, -1e38};
    for (size_t t = 0; t < rows; t++) {
        size_t at = (segment * rows + t) * channels + channel;
        double v = fabs(n->v[at]);
        if (t + queries >= rows) {
            size_t i = t + queries - rows, to = (segment * queries + i) * channels + channel;
            struct sizes all = with(s, 0, first + n->k[at], v, 1);
            mean[i] = all.a / all.b, z[i] = all.p + log(all.b);
            out->array[0].bound[to] = unit * mean[i] + least;
            out->array[1].bound[to] = unit + 8 * fabs(z[i]);
        }
        s = with(s, rate, n->k[at], v, 1);
    }
    s = (struct sizes){0, 0, -1e38};
    for (size_t t = rows; t-- > 0;) {
        size_t at = (segment * rows + t) * channels + channel;
        double v = fabs(n->v[at]), k = n->k[at], later = exp(k + s.p), of_v = later * s.a,
               of_k = later * (v * s.a + s.b), d = 0, own = 0, o = 0, exponent = -1e38;
        if (t + queries >= rows) {
            size_t i = t + queries - rows;
            d = fabs(n->d_o[(segment * queries + i) * channels + channel]), o = mean[i];
            own = exp(first + k - z[i]) * d, exponent = -z[i];
        }
        out->array[2].bound[at] = unit * (of_k + own * (v + o)) + least;
        out->array[3].bound[at] = unit * (of_v + own) + least;
        s = with(s, rate, exponent, d, d * o);
    }
    free(mean), free(z);
}

struct outputs run_wkv(struct kernels *k, const struct wkv_case *c, int bounds)
{
    struct outputs out = {.segments = c->segments};
    struct numbers n = numbers_of(c);
    size_t S = (size_t)c->segments, channels = (size_t)c->channels,
           each = (size_t)c->rows * channels, o_each = (size_t)c->queries * channels;
    struct weight *rate = weight_of(k, WEIGHT_VECTOR, n.rate, channels, 1),
                  *first = weight_of(k, WEIGHT_VECTOR, n.first, channels, 1);
    struct wkv w = {.channels = c->channels, .rate = rate, .first = first};
    struct buffer *key = buffer_of(k, ROLE_RESIDUAL, n.k, S * each),
                  *v = buffer_of(k, ROLE_ACTIVATION, n.v, S * each),
                  *d_o = buffer_of(k, ROLE_ACTIVATION, n.d_o, S * o_each),
                  *o = buffer_new(k, ROLE_ACTIVATION, S * o_each),
                  *again = buffer_new(k, ROLE_ACTIVATION, S * o_each),
                  *log_sum = buffer_new(k, ROLE_STATISTIC, S * o_each),
                  *d_k = buffer_new(k, ROLE_RESIDUAL, S * each),
                  *d_v = buffer_new(k, ROLE_ACTIVATION, S * each);
    double *alone = allocate(S * o_each * sizeof *alone);
    k->wkv(k, o, log_sum, key, v, &w, c->segments, c->queries, c->rows);
    k->wkv(k, again, NULL, key, v, &w, c->segments, c->queries, c->rows);
    k->wkv_reverse(k, d_k, d_v, d_o, o, log_sum, key, v, &w, c->segments, c->queries, c->rows);
    kernel_collect(&out, k, "wkv o", o, o_each, bounds);
    kernel_collect(&out, k, "wkv log_sum", log_sum, o_each, bounds);
    kernel_collect(&out, k, "wkv d_k", d_k, each, bounds);
    kernel_collect(&out, k, "wkv d_v", d_v, each, bounds);
    k->read(k, alone, again, 0, S * o_each);
    if (compare_exact("wkv o, sums not kept", alone, out.array[0].value, S * o_each))
        fail_msg("%s: without log_sum other numbers", k->name);
    for (size_t i = 0; bounds && i < S * channels; i++)
        bound_channel(&out, c, &n, i / channels, i % channels);
    k->destroy(k, key), k->destroy(k, v), k->destroy(k, d_o), k->destroy(k, again);
    k->weight_free(k, rate), k->weight_free(k, first);
    free(n.k), free(n.v), free(n.d_o), free(n.rate), free(n.first), free(alone);
    return out;
}
