/* Recurrences and their gates in kernel_run.h. */
#include "tests/kernel_run.h"

#include <math.h>
#include <stdlib.h>

/* What a case is made of. */
struct numbers {
    double *qkv, *gates, *d_o, *skip;
};

static struct recurrence shape_of(const struct recurrence_case *c)
{
    return (struct recurrence){.heads = c->heads,
                               .key_heads = c->key_heads,
                               .key_size = c->key_size,
                               .value_size = c->value_size,
                               .delta = c->delta,
                               .by_channel = c->by_channel,
                               .scale = c->scale};
}

/* The mean INFINITY: most rows decay by nothing, others by what leaves nothing in float, in double,
 * or at all. */
static double mixed_log_decay(size_t row)
{
    static const double logs[] = {-700, -1e4, -1e17, -INFINITY};
    return row % 5 == 4 ? logs[row / 5 % 4] : 0;
}

/* Log decays in (-2 decay, 0], steps in (0, 1), and with the delta rule keys that are short enough
 * for step |k|^2 <= 2, where no state grows. */
static struct numbers numbers_of(const struct recurrence_case *c)
{
    struct recurrence r = shape_of(c);
    size_t width = (size_t)recurrence_width(&r), heads = (size_t)c->heads,
           queries = (size_t)c->key_heads * (size_t)c->key_size,
           rows = (size_t)c->segments * (size_t)c->keys;
    size_t decays = (size_t)recurrence_decays(&r), gates = (size_t)recurrence_gates_width(&r);
    struct numbers n = {
        .qkv = random_segments(c->segments, c->first, (size_t)c->keys * width, 1, 1),
        .gates = random_segments(c->segments, c->first, (size_t)c->keys * gates, 2, 1),
        .d_o = random_segments(c->segments, c->first,
                               (size_t)c->queries * heads * (size_t)c->value_size, 3, 1),
        .skip = random_values(heads, 5, 1)};
    for (size_t t = 0; t < rows; t++) {
        double *gate = n.gates + t * gates;
        for (size_t i = 0; i < heads * decays; i++)
            gate[i] = isinf(c->decay) ? mixed_log_decay(t % (size_t)c->keys + 3 * i)
                                      : (gate[i] - 2) * (c->decay / 2);
        for (size_t h = 0; h < heads; h++)
            gate[heads * decays + h] = (gate[heads * decays + h] + 2) / 4;
        for (size_t i = 0; c->size > 0 && i < 2 * queries; i++)
            n.qkv[t * width + i] *= c->size;
        for (size_t i = 0; c->delta && i < queries; i++)
            n.qkv[t * width + queries + i] /= 8 * ceil(sqrt((double)c->key_size) / 8);
    }
    return n;
}

/* ||x|| over n. */
static double length(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* e^l of a row of `gates`, by channel of the one that keeps most: by so much at most the columns of
 * the state are shortened. */
static double kept_of(const struct recurrence *r, const double *gates, size_t h)
{
    size_t decays = (size_t)recurrence_decays(r);
    double most = -INFINITY;
    for (size_t i = 0; i < decays; i++)
        most = fmax(most, gates[h * decays + i]);
    return exp(most);
}

static double step_of(const struct recurrence *r, const double *gates, size_t h)
{
    return gates[(size_t)(r->heads * recurrence_decays(r)) + h];
}

/* Sizes that roundings are proportional to, of one head: of the state's columns behind each row
 * [keys + 1, dv], and of what a row writes into them [keys, dv]. A decay shortens them, and the
 * delta rule makes none longer. */
struct sizes {
    double *state, *written;
};

static struct sizes head_sizes(const struct recurrence_case *c, const struct numbers *n, size_t s,
                               size_t h)
{
    struct recurrence r = shape_of(c);
    size_t keys = (size_t)c->keys, dk = (size_t)c->key_size, dv = (size_t)c->value_size,
           width = (size_t)recurrence_width(&r), heads = (size_t)c->heads,
           gates = (size_t)recurrence_gates_width(&r), groups = (size_t)c->key_heads,
           group = h * groups / heads;
    struct sizes z = {allocate((keys + 1) * dv * sizeof(double)),
                      allocate(keys * dv * sizeof(double))};
    for (size_t t = 0; t < keys; t++) {
        const double *row = n->qkv + (s * keys + t) * width,
                     *gate = n->gates + (s * keys + t) * gates;
        double key = length(row + (groups + group) * dk, dk), decay = kept_of(&r, gate, h);
        for (size_t j = 0; j < dv; j++) {
            double kept = decay * z.state[t * dv + j];
            double *u = z.written + t * dv + j;
            *u = step_of(&r, gate, h) *
                 (fabs(row[2 * groups * dk + h * dv + j]) + (c->delta ? key * kept : 0));
            z.state[(t + 1) * dv + j] = kept + key * *u;
        }
    }
    return z;
}

/* Adds what one head contributes to the bounds of its segment. */
static void bound_head(struct outputs *out, const struct recurrence_case *c,
                       const struct numbers *n, size_t s, size_t h)
{
    struct recurrence r = shape_of(c);
    struct sizes z = head_sizes(c, n, s, h);
    size_t keys = (size_t)c->keys, queries = (size_t)c->queries, dk = (size_t)c->key_size,
           dv = (size_t)c->value_size, width = (size_t)recurrence_width(&r),
           heads = (size_t)c->heads, groups = (size_t)c->key_heads, group = h * groups / heads,
           value = 2 * groups * dk + h * dv, decays = (size_t)recurrence_decays(&r),
           gates = (size_t)recurrence_gates_width(&r);
    /* what float keeps no digits of is 0 or rounded to its least number */
    int fades = c->decay < 1 && (double)keys * c->decay > 80; /* over some rows: in sums of such */
    double unit = 24 + 4 * sqrt((double)keys),
           least = isinf(c->decay) ? 0x1p-102
                   : fades         ? (double)dv * 0x1p-102
                                   : 0,
           *adjoint = allocate(dv * sizeof *adjoint), *o = out->array[0].bound,
           *d_qkv = out->array[1].bound, *d_gates = out->array[2].bound;
    for (size_t t = keys; t-- > 0;) {
        const double *row = n->qkv + (s * keys + t) * width,
                     *gate = n->gates + (s * keys + t) * gates;
        double *d_row = d_qkv + (s * keys + t) * width, *d_gate = d_gates + (s * keys + t) * gates,
               d_query = least, d_key = least, d_decay = least, d_step = least,
               decay = kept_of(&r, gate, h), step = step_of(&r, gate, h);
        double key = length(row + (groups + group) * dk, dk), query = length(row + group * dk, dk);
        int read = t + queries >= keys;
        size_t at = ((s * queries + (t + queries - keys)) * heads + h) * dv; /* if read */
        double *state = c->states && ((t + 1) % RECURRENCE_SPAN == 0 || t + 1 == keys)
                            ? out->array[3].bound + ((s * heads + h) * recurrence_states(c->keys) +
                                                     t / RECURRENCE_SPAN) *
                                                        dk * dv
                            : NULL;
        for (size_t j = 0; j < dv; j++) {
            double d_o = read ? fabs(n->d_o[at + j]) : 0, skip = fabs(n->skip[h]),
                   after = z.state[(t + 1) * dv + j], kept = decay * z.state[t * dv + j];
            adjoint[j] += c->scale * query * d_o;
            if (read)
                o[at + j] = unit * (c->scale * query * after + skip * fabs(row[value + j])) + least;
            d_row[value + j] = unit * (step * key * adjoint[j] + skip * d_o) + least;
            d_query += unit * c->scale * after * d_o;
            d_key += unit * adjoint[j] *
                     (z.written[t * dv + j] + (c->delta ? step * key * kept : 0));
            d_decay += unit * adjoint[j] * kept;
            d_step += unit * key * adjoint[j] * z.written[t * dv + j] / step;
            if (c->delta) /* removed and added again: at most twice as long, for rounding */
                d_decay += unit * step * key * key * adjoint[j] * kept;
            adjoint[j] *= decay;
        }
        for (size_t i = 0; i < decays; i++)
            d_gate[h * decays + i] = d_decay;
        d_gate[heads * decays + h] = d_step;
        for (size_t e = 0; state && e < dk * dv; e++)
            state[e] = unit * z.state[(t + 1) * dv + e % dv] + least;
        for (size_t i = 0; i < dk; i++) {
            d_row[group * dk + i] += d_query;
            d_row[(groups + group) * dk + i] += d_key;
        }
    }
    free(z.state), free(z.written), free(adjoint);
}

struct outputs run_recurrence(struct kernels *k, const struct recurrence_case *c, int bounds)
{
    struct outputs out = {.segments = c->segments};
    struct recurrence r = shape_of(c);
    struct numbers n = numbers_of(c);
    size_t S = (size_t)c->segments, heads = (size_t)c->heads, keys = (size_t)c->keys,
           width = (size_t)recurrence_width(&r), o_width = (size_t)recurrence_o_width(&r),
           size = (size_t)c->key_size * (size_t)c->value_size, kept = recurrence_states(c->keys),
           gates_width = (size_t)recurrence_gates_width(&r);
    struct weight *skip = weight_of(k, WEIGHT_VECTOR, n.skip, heads, 1);
    r.skip = skip;
    struct buffer *qkv = buffer_of(k, ROLE_ACTIVATION, n.qkv, S * keys * width),
                  *gates = buffer_of(k, ROLE_RESIDUAL, n.gates, S * keys * gates_width),
                  *d_o = buffer_of(k, ROLE_ACTIVATION, n.d_o, S * (size_t)c->queries * o_width),
                  *o = buffer_new(k, ROLE_ACTIVATION, S * (size_t)c->queries * o_width),
                  *d_qkv = buffer_new(k, ROLE_ACTIVATION, S * keys * width),
                  *d_gates = buffer_new(k, ROLE_RESIDUAL, S * keys * gates_width),
                  *states = c->states ? buffer_new(k, ROLE_STATISTIC, S * heads * kept * size)
                                      : NULL;
    k->recur(k, o, states, qkv, gates, &r, c->segments, c->queries, c->keys);
    k->recur_reverse(k, d_qkv, d_gates, d_o, states, qkv, gates, &r, c->segments, c->queries,
                     c->keys);
    kernel_collect(&out, k, "recur o", o, (size_t)c->queries * o_width, bounds);
    kernel_collect(&out, k, "recur d_qkv", d_qkv, keys * width, bounds);
    kernel_collect(&out, k, "recur d_gates", d_gates, keys * gates_width, bounds);
    if (states)
        kernel_collect(&out, k, "recur states", states, heads * kept * size, bounds);
    for (size_t s = 0; bounds && s < S; s++)
        for (size_t h = 0; h < heads; h++)
            bound_head(&out, c, &n, s, h);
    k->destroy(k, qkv), k->destroy(k, gates), k->destroy(k, d_o);
    k->weight_free(k, skip);
    free(n.qkv), free(n.gates), free(n.d_o), free(n.skip);
    return out;
}

struct outputs run_gating(struct kernels *k, const struct gating_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, heads = (size_t)c->heads, rows = (size_t)c->rows,
           each = rows * heads * (c->write > 0 ? 2 : 1), full = rows * heads * 2;
    double *raw = random_segments(c->segments, c->first, each, 1, c->size),
           *d = random_segments(c->segments, c->first, full, 2, 1),
           *rate = random_values(heads, 3, 1), *bias = random_values(heads, 4, 1);
    for (size_t h = 0; h < heads; h++)
        rate[h] = rate[h] + 2.5;
    struct weight *wr = weight_of(k, WEIGHT_VECTOR, rate, heads, 1),
                  *wb = c->bias ? weight_of(k, WEIGHT_VECTOR, bias, heads, 1) : NULL;
    const struct gating v = {wr, wb, c->low, c->high, c->write, 0};
    struct rows all = {c->segments, c->rows};
    struct buffer *braw = buffer_of(k, ROLE_RESIDUAL, raw, S * each),
                  *bd = buffer_of(k, ROLE_RESIDUAL, d, S * full),
                  *gates = buffer_new(k, ROLE_RESIDUAL, S * full),
                  *d_raw = c->alias ? bd : buffer_new(k, ROLE_RESIDUAL, S * each);
    k->gate(k, gates, braw, &v, all, c->heads);
    k->gate_reverse(k, d_raw, bd, braw, &v, all, c->heads);
    k->destroy(k, braw);
    if (!c->alias)
        k->destroy(k, bd);
    struct output *out = kernel_collect(&o, k, "gate", gates, full, bounds),
                  *dx = kernel_collect(&o, k, "gate d_raw", d_raw, each, bounds);
    for (size_t i = 0; bounds && i < S * full; i++) /* raw itself was rounded */
        out->bound[i] = 16 * (1 + 2 * c->size) * fabs(out->value[i]);
    for (size_t i = 0; bounds && i < S * rows * heads; i++) {
        size_t row = i / heads, h = i % heads, at = row * (each / rows) + h;
        double d_log = fabs(d[row * 2 * heads + h]), d_step = fabs(d[row * 2 * heads + heads + h]),
               a = raw[at] + (c->bias ? bias[h] : 0);
        dx->bound[at] = 16 * (1 + fabs(a)) / (1 + exp(-a)) *
                        (rate[h] * d_log + (c->write > 0 ? 0 : d_step));
        if (c->write > 0)
            dx->bound[at + heads] = 16 * c->write * d_step / (2 + 2 * cosh(raw[at + heads])) *
                                    (1 + fabs(raw[at + heads]));
    }
    k->weight_free(k, wr);
    if (wb)
        k->weight_free(k, wb);
    free(raw), free(d), free(rate), free(bias);
    return o;
}

struct outputs run_channel_gating(struct kernels *k, const struct channel_gating_case *c,
                                  int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, heads = (size_t)c->heads, rows = (size_t)c->rows,
           size = (size_t)c->key_size, decays = heads * size, width = decays + heads;
    double *a = random_segments(c->segments, c->first, rows * decays, 1, c->size),
           *b = random_segments(c->segments, c->first, rows * heads, 5, c->size),
           *d = random_segments(c->segments, c->first, rows * width, 2, 1),
           *rate = random_values(heads, 3, 1), *bias = random_values(decays, 4, 1);
    for (size_t h = 0; h < heads; h++)
        rate[h] = rate[h] + 2.5;
    struct weight *wr = weight_of(k, WEIGHT_VECTOR, rate, heads, 1),
                  *wb = c->bias ? weight_of(k, WEIGHT_VECTOR, bias, decays, 1) : NULL;
    const struct gating v = {.rate = wr, .bias = wb, .write = c->write, .floor = c->floor};
    struct rows all = {c->segments, c->rows};
    struct buffer *ba = buffer_of(k, ROLE_RESIDUAL, a, S * rows * decays),
                  *bb = buffer_of(k, ROLE_RESIDUAL, b, S * rows * heads),
                  *bd = buffer_of(k, ROLE_RESIDUAL, d, S * rows * width),
                  *gates = buffer_new(k, ROLE_RESIDUAL, S * rows * width),
                  *d_a = buffer_new(k, ROLE_RESIDUAL, S * rows * decays),
                  *d_b = buffer_new(k, ROLE_RESIDUAL, S * rows * heads);
    k->gate_channels(k, gates, ba, bb, &v, all, c->heads, c->key_size);
    k->gate_channels_reverse(k, d_a, d_b, bd, ba, bb, &v, all, c->heads, c->key_size);
    k->destroy(k, ba), k->destroy(k, bb), k->destroy(k, bd);
    struct output *out = kernel_collect(&o, k, "gate_channels", gates, rows * width, bounds),
                  *da = kernel_collect(&o, k, "gate_channels d_a", d_a, rows * decays, bounds),
                  *db = kernel_collect(&o, k, "gate_channels d_b", d_b, rows * heads, bounds);
    /* a and b themselves were rounded */
    double unit = 16 * (1 + 2 * c->size) * (c->floor < 0 ? 5 : 1);
    for (size_t i = 0; bounds && i < S * rows * width; i++)
        out->bound[i] = unit * fabs(out->value[i]);
    for (size_t i = 0; bounds && i < S * rows * decays; i++)
        da->bound[i] = unit * fabs(da->value[i]);
    for (size_t i = 0; bounds && i < S * rows * heads; i++)
        db->bound[i] = unit * fabs(db->value[i]);
    k->weight_free(k, wr);
    if (wb)
        k->weight_free(k, wb);
    free(a), free(b), free(d), free(rate), free(bias);
    return o;
}
