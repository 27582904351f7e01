/* Scans, and gates of linear recurrent units, in kernel_run.h. */
#include "tests/kernel_run.h"

#include <math.h>
#include <stdlib.h>

/* What a case is made of. */
struct numbers {
    double *x, *steps, *bc, *d_o, *rate, *skip;
};

static size_t groups_of(const struct scan_case *c)
{
    return c->groups ? (size_t)c->groups : 1;
}

static struct numbers numbers_of(const struct scan_case *c)
{
    size_t channels = (size_t)c->channels, keys = (size_t)c->keys, size = (size_t)c->size,
           factors = groups_of(c) * 2 * size;
    struct numbers n = {.x = random_segments(c->segments, c->first, keys * channels, 1, 1),
                        .steps = random_segments(c->segments, c->first, keys * channels, 2, 1),
                        .bc = random_segments(c->segments, c->first, keys * factors, 3, 1),
                        .d_o = random_segments(c->segments, c->first, (size_t)c->queries * channels,
                                               4, 1),
                        .rate = random_values(size * channels, 5, 1),
                        .skip = random_values(channels, 6, 1)};
    for (size_t i = 0; i < (size_t)c->segments * keys * channels; i++)
        n.steps[i] = (float)(c->selective ? c->time + n.steps[i] : c->time * fabs(n.steps[i]));
    for (size_t i = 0; i < size * channels; i++)
        n.rate[i] = c->plain ? 1 : (float)(c->decay / 2 * (n.rate[i] + 2));
    for (size_t i = 0; c->plain && i < (size_t)c->segments * keys * factors; i++)
        n.bc[i] = 1;
    for (size_t i = 0; c->plain && i < channels; i++)
        n.skip[i] = 0;
    return n;
}

/* Sizes that roundings are proportional to, of one state or its gradient: itself, and how far it
 * moves if all logs of decays grow by one part. */
struct size {
    double itself, moved;
};

/* After a row whose state keeps e^-decay. */
static struct size kept(struct size z, double decay)
{
    double a = exp(-decay);
    return (struct size){a * z.itself, a > 0 ? a * (z.moved + decay * z.itself) : 0};
}

/* Adds what state j of a channel contributes to the bounds of its segment. */
static void bound_state(struct outputs *out, const struct scan_case *c, const struct numbers *n,
                        size_t s, size_t channel, size_t j)
{
    size_t keys = (size_t)c->keys, queries = (size_t)c->queries, channels = (size_t)c->channels,
           size = (size_t)c->size, groups = groups_of(c), group = channel / (channels / groups);
    /* what float keeps no digits of is 0 or rounded to its least number */
    double unit = 24 + 4 * sqrt((double)keys), least = 0x1p-102,
           rate = n->rate[j * channels + channel];
    struct size *z = allocate((keys + 1) * sizeof *z), g = {0, 0};
    for (size_t t = keys; t-- > 0;)
        z[t] = (struct size){0, 0};
    for (size_t t = 0; t < keys; t++) {
        size_t at = (s * keys + t) * channels + channel;
        double step = n->steps[at], dt = c->selective ? log1p(exp(step)) : step, x = fabs(n->x[at]),
               b = fabs(n->bc[((s * keys + t) * groups + group) * 2 * size + j]);
        z[t + 1] = kept(z[t], dt * rate);
        z[t + 1].itself += (c->selective ? dt * x : x) * b;
        if (out->count > 4 && (t + 1) % SCAN_SPAN == 0 && t + 1 < keys)
            out->array[4].bound[((s * scan_states(c->keys) + t / SCAN_SPAN) * size + j) * channels +
                                channel] = unit * z[t + 1].itself + 8 * z[t + 1].moved + least;
    }
    for (size_t t = keys; t-- > 0;) {
        size_t at = (s * keys + t) * channels + channel,
               row = ((s * keys + t) * groups + group) * 2 * size;
        int read = t + queries >= keys;
        size_t to = (s * queries + (t + queries - keys)) * channels + channel; /* if read */
        double step = n->steps[at], dt = c->selective ? log1p(exp(step)) : step,
               slope = c->selective ? 1 / (1 + exp(-step)) : 1, x = fabs(n->x[at]),
               written = c->selective ? dt * x : x, d = read ? fabs(n->d_o[to]) : 0,
               b = fabs(n->bc[row + j]), r = fabs(n->bc[row + size + j]),
               skip = j ? 0 : fabs(n->skip[channel]), back;
        struct size p = kept(z[t], dt * rate);
        g.itself += r * d;
        back = b * (unit * g.itself + 8 * g.moved);
        if (read)
            out->array[0].bound[to] += r * (unit * z[t + 1].itself + 8 * z[t + 1].moved) +
                                       unit * skip * x + least;
        out->array[1].bound[at] += (c->selective ? dt : 1) * back + unit * skip * d + least;
        out->array[2].bound[at] += slope * (rate * (unit * g.itself * p.itself +
                                                    8 * (g.moved * p.itself + g.itself * p.moved)) +
                                            (c->selective ? x * back : 0)) +
                                   least;
        if (out->count > 3 && !c->plain) {
            out->array[3].bound[row + j] += written * (unit * g.itself + 8 * g.moved) + least;
            out->array[3].bound[row + size + j] +=
                d * (unit * z[t + 1].itself + 8 * z[t + 1].moved) + least;
        }
        g = kept(g, dt * rate);
    }
    free(z);
}

struct outputs run_scan(struct kernels *k, const struct scan_case *c, int bounds)
{
    struct outputs out = {.segments = c->segments};
    struct numbers n = numbers_of(c);
    size_t S = (size_t)c->segments, channels = (size_t)c->channels, keys = (size_t)c->keys,
           size = (size_t)c->size, factors = groups_of(c) * 2 * size, each = keys * channels,
           o_each = (size_t)c->queries * channels,
           states_each = scan_states(c->keys) * size * channels;
    struct weight *rate = weight_of(k, WEIGHT_VECTOR, n.rate, size * channels, 1),
                  *skip = weight_of(k, WEIGHT_VECTOR, n.skip, channels, 1);
    struct scan v = {.channels = c->channels,
                     .size = c->size,
                     .groups = c->groups,
                     .selective = c->selective,
                     .rate = c->plain ? NULL : rate,
                     .skip = c->plain ? NULL : skip};
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, n.x, S * each),
                  *steps = buffer_of(k, ROLE_RESIDUAL, n.steps, S * each),
                  *bc = c->plain ? NULL : buffer_of(k, ROLE_ACTIVATION, n.bc, S * keys * factors),
                  *d_o = buffer_of(k, ROLE_ACTIVATION, n.d_o, S * o_each),
                  *o = buffer_new(k, ROLE_ACTIVATION, S * o_each),
                  *d_x = buffer_new(k, ROLE_ACTIVATION, S * each),
                  *d_steps = buffer_new(k, ROLE_RESIDUAL, S * each),
                  *d_bc = bc ? buffer_new(k, ROLE_ACTIVATION, S * keys * factors) : NULL,
                  *states = states_each ? buffer_new(k, ROLE_STATISTIC, S * states_each) : NULL;
    k->scan(k, o, states, x, steps, bc, &v, c->segments, c->queries, c->keys);
    k->scan_reverse(k, d_x, d_steps, d_bc, d_o, states, x, steps, bc, &v, c->segments, c->queries,
                    c->keys);
    kernel_collect(&out, k, "scan o", o, o_each, bounds);
    kernel_collect(&out, k, "scan d_x", d_x, each, bounds);
    kernel_collect(&out, k, "scan d_steps", d_steps, each, bounds);
    if (bc)
        kernel_collect(&out, k, "scan d_bc", d_bc, keys * factors, bounds);
    if (bc && states)
        kernel_collect(&out, k, "scan states", states, states_each, bounds);
    for (size_t i = 0; bounds && i < S * channels * size; i++)
        bound_state(&out, c, &n, i / (channels * size), i / size % channels, i % size);
    if (!bc && states)
        k->destroy(k, states);
    k->destroy(k, x), k->destroy(k, steps), k->destroy(k, d_o);
    k->destroy(k, bc);
    k->weight_free(k, rate), k->weight_free(k, skip);
    free(n.x), free(n.steps), free(n.bc), free(n.d_o), free(n.rate), free(n.skip);
    return out;
}

struct outputs run_lru(struct kernels *k, const struct lru_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, width = (size_t)c->width, rows = (size_t)c->rows,
           each = rows * width;
    double *x = random_segments(c->segments, c->first, each, 1, 1),
           *raw = random_segments(c->segments, c->first, 2 * each, 2, c->size),
           *d_steps = random_segments(c->segments, c->first, each, 3, 1),
           *d_y = random_segments(c->segments, c->first, each, 4, 1),
           *rate = random_values(width, 5, 1);
    for (size_t i = 0; i < width; i++)
        rate[i] = (float)(c->rates / 2 * (rate[i] + 3));
    for (size_t i = 0; i < 2 * S * each; i++)
        raw[i] = (float)raw[i];
    struct weight *w = weight_of(k, WEIGHT_VECTOR, rate, width, 1);
    struct rows all = {c->segments, c->rows};
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * each),
                  *braw = buffer_of(k, ROLE_RESIDUAL, raw, 2 * S * each),
                  *bd = buffer_of(k, ROLE_RESIDUAL, d_steps, S * each),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, d_y, S * each),
                  *steps = buffer_new(k, ROLE_RESIDUAL, S * each),
                  *y = buffer_new(k, ROLE_ACTIVATION, S * each),
                  *d_x = buffer_new(k, ROLE_ACTIVATION, S * each),
                  *d_raw = buffer_new(k, ROLE_RESIDUAL, 2 * S * each);
    k->lru(k, steps, y, bx, braw, w, all, c->width, c->before);
    k->lru_reverse(k, d_x, d_raw, bdy, bd, bx, braw, w, all, c->width, c->before);
    struct output *out[] = {kernel_collect(&o, k, "lru steps", steps, each, bounds),
                            kernel_collect(&o, k, "lru y", y, each, bounds),
                            kernel_collect(&o, k, "lru d_x", d_x, each, bounds),
                            kernel_collect(&o, k, "lru d_raw", d_raw, 2 * each, bounds)};
    /* roundings of e^r and e^i are of the size of r and i */
    for (size_t i = 0; bounds && i < S * each; i++) {
        size_t row = i / width, at = row * 2 * width + i % width;
        double r = raw[at], z = raw[at + width], open = 1 / (1 + exp(-r)), in = 1 / (1 + exp(-z)),
               unit = 16 * (1 + fabs(r) + fabs(z)), dt = 8 * open, decay = 2 * rate[i % width] * dt,
               first = !c->before && row % rows == 0, m = first ? 1 : sqrt(-expm1(-decay)),
               slope = first || m == 0 ? 0 : rate[i % width] * exp(-decay) / m;
        out[0]->bound[i] = unit * dt;
        out[1]->bound[i] = unit * m * in * fabs(x[i]);
        out[2]->bound[i] = unit * m * in * fabs(d_y[i]);
        out[3]->bound[at] = unit * dt / (1 + exp(r)) *
                            (fabs(d_steps[i]) + slope * in * fabs(x[i] * d_y[i]));
        out[3]->bound[at + width] = unit * m * fabs(x[i] * d_y[i]) * in / (1 + exp(z));
    }
    k->destroy(k, bx), k->destroy(k, braw), k->destroy(k, bd), k->destroy(k, bdy);
    k->weight_free(k, w);
    free(x), free(raw), free(d_steps), free(d_y), free(rate);
    return o;
}
