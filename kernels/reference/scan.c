/* Reference set: scans, one channel after the other, with states in double.
 *
 * Reverse, with the gradient g of a channel's states, zero behind the last row, a = e^(-dt rate)
 * and P = a h_(t-1), for t downwards: g += C do    dC = h do    dB = v g    s = B . g    dt's:
 * -(rate g) . P dx = s + skip do; selective: dx = dt s + skip do, and x s is added to dt's g = a g
 */
#include "kernels/reference/reference.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Reverse adds up what channels give for B and C in this many parts, then the parts in order. */
enum { PARTS = 8 };

/* One channel of one segment: row t of x and steps is at t * stride, of bc at t * bc_stride. */
struct channel {
    const real *x, *steps, *bc, *rate;
    size_t stride, size, bc_stride, rate_stride;
    double skip;
    int selective;
};

static struct channel channel_at(const struct scan *v, const struct buffer *x,
                                 const struct buffer *steps, const struct buffer *bc,
                                 size_t segment, size_t c, size_t keys)
{
    size_t stride = (size_t)v->channels, size = (size_t)v->size, first = segment * keys,
           width = (size_t)scan_factors_width(v), group = c * (size_t)scan_groups(v) / stride;
    return (struct channel){.x = (const real *)x->data + first * stride + c,
                            .steps = (const real *)steps->data + first * stride + c,
                            .bc = bc ? (const real *)bc->data + first * width + group * 2 * size
                                     : NULL,
                            .rate = v->rate ? (const real *)v->rate->data + c : NULL,
                            .stride = stride,
                            .size = size,
                            .bc_stride = width,
                            .rate_stride = stride,
                            .skip = v->skip ? ((const real *)v->skip->data)[c] : 0,
                            .selective = v->selective};
}

/* dt of the row, and its derivative by the step. */
static double time_of(double *slope, const struct channel *v, size_t t)
{
    double a = v->steps[t * v->stride];
    *slope = v->selective ? sigmoid(a) : 1;
    return v->selective ? (a > 0 ? a : 0) + log1p(exp(-fabs(a))) : a;
}

static double rate_of(const struct channel *v, size_t n)
{
    return v->rate ? v->rate[n * v->rate_stride] : 1;
}

static double b_of(const struct channel *v, size_t t, size_t n)
{
    return v->bc ? v->bc[t * v->bc_stride + n] : 1;
}

static double c_of(const struct channel *v, size_t t, size_t n)
{
    return v->bc ? v->bc[t * v->bc_stride + v->size + n] : 1;
}

/* The states after row t, from those before it; the two may be one. */
static void step(double *next, const double *h, const struct channel *v, size_t t)
{
    double slope, dt = time_of(&slope, v, t), x = v->x[t * v->stride],
                  written = v->selective ? dt * x : x;
    for (size_t n = 0; n < v->size; n++)
        next[n] = exp(-dt * rate_of(v, n)) * h[n] + written * b_of(v, t, n);
}

static void scan(struct kernels *k, struct buffer *o, struct buffer *states, const struct buffer *x,
                 const struct buffer *steps, const struct buffer *bc, const struct scan *s,
                 int segments, int queries, int keys)
{
    size_t channels = (size_t)s->channels, all = (size_t)segments * channels, n = (size_t)keys,
           first = (size_t)(keys - queries);
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < all; i++) {
        size_t segment = i / channels, c = i % channels;
        struct channel v = channel_at(s, x, steps, bc, segment, c, n);
        real *out = (real *)o->data + segment * (size_t)queries * channels + c;
        double h[SCAN_SIZE_MOST] = {0};
        for (size_t t = 0; t < n; t++) {
            double sum = v.skip * v.x[t * v.stride];
            step(h, h, &v, t);
            for (size_t j = 0; t >= first && j < v.size; j++)
                sum += c_of(&v, t, j) * h[j];
            if (t >= first)
                out[(t - first) * channels] = (real)sum;
            for (size_t j = 0; states && (t + 1) % SCAN_SPAN == 0 && t + 1 < n && j < v.size; j++)
                ((real *)states->data)
                    [((segment * scan_states(keys) + t / SCAN_SPAN) * v.size + j) * channels + c] =
                        (real)h[j];
        }
    }
}

/* One channel: forward again into h[keys + 1, size], then backwards. d_x, d_steps and d_o are its
 * first row's; adds to the group's d_bc [keys, 2 size], whose rows are bc_stride apart. */
static void channel_reverse(double *h, double *d_bc, const struct channel *v, real *d_x,
                            real *d_steps, const real *d_o, size_t queries, size_t keys)
{
    double g[SCAN_SIZE_MOST] = {0};
    memset(h, 0, v->size * sizeof *h);
    for (size_t t = 0; t < keys; t++)
        step(h + (t + 1) * v->size, h + t * v->size, v, t);
    for (size_t t = keys; t-- > 0;) {
        double d = t + queries >= keys ? d_o[(t + queries - keys) * v->stride] : 0, slope,
               dt = time_of(&slope, v, t), x = v->x[t * v->stride],
               written = v->selective ? dt * x : x, s = 0, through = 0;
        for (size_t n = 0; n < v->size; n++) {
            double a = exp(-dt * rate_of(v, n)), *row = d_bc + t * v->bc_stride;
            g[n] += c_of(v, t, n) * d;
            row[n] += written * g[n];
            row[v->size + n] += h[(t + 1) * v->size + n] * d;
            s += b_of(v, t, n) * g[n];
            through -= rate_of(v, n) * g[n] * a * h[t * v->size + n];
            g[n] *= a;
        }
        d_x[t * v->stride] = (real)((v->selective ? dt * s : s) + v->skip * d);
        d_steps[t * v->stride] = (real)(slope * (through + (v->selective ? x * s : 0)));
    }
}

/* Doubles of a task of reverse: its sums for B and C, and the states of a channel. */
static size_t task_size(const struct scan *s, size_t keys)
{
    return keys * (size_t)scan_factors_width(s) + (keys + 1) * (size_t)s->size;
}

static void scan_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_steps,
                         struct buffer *d_bc, const struct buffer *d_o, const struct buffer *states,
                         const struct buffer *x, const struct buffer *steps,
                         const struct buffer *bc, const struct scan *s, int segments, int queries,
                         int keys)
{
    size_t channels = (size_t)s->channels, tasks = (size_t)segments * PARTS, n = (size_t)keys,
           each = task_size(s, n), sums = n * (size_t)scan_factors_width(s);
    double *scratch = calloc(tasks * each, sizeof *scratch);
    (void)states;
    if (!scratch) {
        kernels_keep_error(k, "out of memory (%d rows of %d states)", keys, s->size);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < tasks; i++) {
        size_t segment = i / PARTS, part = i % PARTS;
        for (size_t c = part * channels / PARTS; c < (part + 1) * channels / PARTS; c++) {
            struct channel v = channel_at(s, x, steps, bc, segment, c, n);
            size_t at = segment * n * channels + c;
            channel_reverse(scratch + i * each + sums,
                            scratch + i * each + c * (size_t)scan_groups(s) / channels * 2 * v.size,
                            &v, (real *)d_x->data + at, (real *)d_steps->data + at,
                            (const real *)d_o->data + segment * (size_t)queries * channels + c,
                            (size_t)queries, n);
        }
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < (d_bc ? (size_t)segments * sums : 0); i++) {
        double sum = 0;
        for (size_t part = 0; part < PARTS; part++)
            sum += scratch[(i / sums * PARTS + part) * each + i % sums];
        ((real *)d_bc->data)[i] = (real)sum;
    }
    free(scratch);
}

static size_t scan_bytes(struct kernels *k, const struct scan *s, int segments, int keys)
{
    (void)k;
    return (size_t)segments * PARTS * task_size(s, (size_t)keys) * sizeof(double);
}

void fill_scan(struct kernels *k)
{
    k->scan = scan;
    k->scan_reverse = scan_reverse;
    k->scan_bytes = scan_bytes;
}
