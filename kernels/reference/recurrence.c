/* Reference set: recurrences, one row after the other, with states in double.
 *
 * Reverse, with the gradient H of the state, zero behind the last row, and P = e^l S_(t-1), for t
 * downwards:
 *     H += scale q do^T    dq = scale S_t do    g = H^T k
 *     additive: dv = step g    dstep = g . v    dk = H u
 *     delta, with e = v - P^T k, F = step g: dv = F    dstep = g . e    dk = H u - P F
 *               and H -= k F^T
 *     dl = sum of H * P, by channel of its row        H = e^l H,
 * and skip do is added to dv. dl is a sum of products: the shorter identity by q . dq - k . dk
 * leaves the rounding of large terms where the true value is small. */
#include "kernels/reference/reference.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* One head of one segment. Row t is at qkv + t * stride; gates + t * gate_stride. */
struct head {
    const struct recurrence *r;
    const real *query, *key, *value, *log_decay, *step;
    size_t stride, gate_stride;
    size_t dk, dv;
    size_t decays; /* log decays of a row: 1, or dk */
    double skip;
};

static struct head head_at(const struct recurrence *r, const struct buffer *qkv,
                           const struct buffer *gates, size_t segment, size_t h, size_t keys)
{
    size_t dk = (size_t)r->key_size, dv = (size_t)r->value_size, heads = (size_t)r->heads,
           key_heads = (size_t)r->key_heads, stride = (size_t)recurrence_width(r),
           decays = (size_t)recurrence_decays(r), gate_stride = (size_t)recurrence_gates_width(r);
    const real *row = (const real *)qkv->data + segment * keys * stride,
               *gate = (const real *)gates->data + segment * keys * gate_stride;
    struct head v = {
        .r = r, .stride = stride, .gate_stride = gate_stride, .dk = dk, .dv = dv, .decays = decays};
    v.query = row + h * key_heads / heads * dk;
    v.key = v.query + key_heads * dk;
    v.value = row + 2 * key_heads * dk + h * dv;
    v.log_decay = gate + h * decays;
    v.step = gate + heads * decays + h;
    v.skip = r->skip ? ((const real *)r->skip->data)[h] : 0;
    return v;
}

/* e^l_t of row i of the state; `before`: that of row i - 1. */
static double kept_of(const struct head *v, size_t t, size_t i, double before)
{
    return i < v->decays ? exp(v->log_decay[t * v->gate_stride + i]) : before;
}

/* P = e^l_t S, and u[dv]; S and P may be one. With the delta rule e[dv] too. */
static void decay(double *P, double *u, double *e, const double *S, const struct head *v, size_t t)
{
    const real *key = v->key + t * v->stride, *value = v->value + t * v->stride;
    double kept = 0, step = v->step[t * v->gate_stride];
    for (size_t i = 0; i < v->dk; i++) {
        kept = kept_of(v, t, i, kept);
        for (size_t c = 0; c < v->dv; c++)
            P[i * v->dv + c] = kept * S[i * v->dv + c];
    }
    for (size_t c = 0; c < v->dv; c++)
        e[c] = value[c];
    for (size_t i = 0; v->r->delta && i < v->dk; i++)
        for (size_t c = 0; c < v->dv; c++)
            e[c] -= key[i] * P[i * v->dv + c];
    for (size_t c = 0; c < v->dv; c++)
        u[c] = step * e[c];
}

/* S += key[dk] u[dv]^T. */
static void add_outer(double *S, const real *key, double factor, const double *u,
                      const struct head *v)
{
    for (size_t i = 0; i < v->dk; i++)
        for (size_t c = 0; c < v->dv; c++)
            S[i * v->dv + c] += factor * key[i] * u[c];
}

static void read_state(real *out, const double *S, const struct head *v, size_t t)
{
    const real *query = v->query + t * v->stride, *value = v->value + t * v->stride;
    for (size_t c = 0; c < v->dv; c++) {
        double sum = 0;
        for (size_t i = 0; i < v->dk; i++)
            sum += query[i] * S[i * v->dv + c];
        out[c] = (real)(v->r->scale * sum + v->skip * value[c]);
    }
}

/* The kept state [dk, dv] after row `t`, the last of its span. */
static real *kept_state(const struct buffer *states, const struct head *v, size_t head, size_t keys,
                        size_t t)
{
    size_t at = t / RECURRENCE_SPAN;
    return (real *)states->data + (head * recurrence_states((int)keys) + at) * v->dk * v->dv;
}

static void recur(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                  int segments, int queries, int keys)
{
    size_t size = (size_t)r->key_size * (size_t)r->value_size, dv = (size_t)r->value_size,
           heads = (size_t)r->heads, all = (size_t)segments * heads, n = (size_t)keys,
           first = (size_t)(keys - queries), each = size + 2 * dv;
    double *scratch = malloc((size_t)omp_get_max_threads() * each * sizeof *scratch);
    if (!scratch) {
        kernels_keep_error(k, "out of memory (states of %d x %d)", r->key_size, r->value_size);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < all; i++) {
        struct head v = head_at(r, qkv, gates, i / heads, i % heads, n);
        double *S = scratch + (size_t)omp_get_thread_num() * each, *u = S + size, *e = u + dv;
        real *out = (real *)o->data + i / heads * (size_t)queries * heads * dv + i % heads * dv;
        for (size_t j = 0; j < size; j++)
            S[j] = 0;
        for (size_t t = 0; t < n; t++) {
            decay(S, u, e, S, &v, t);
            add_outer(S, v.key + t * v.stride, 1, u, &v);
            if (t >= first)
                read_state(out + (t - first) * heads * dv, S, &v, t);
            if (states && ((t + 1) % RECURRENCE_SPAN == 0 || t + 1 == n))
                for (size_t j = 0; j < size; j++)
                    kept_state(states, &v, i, n, t)[j] = (real)S[j];
        }
    }
    free(scratch);
}

/* What reverse of one key head adds up over its heads and writes once: [keys, dk] each. */
struct shared {
    double *d_query, *d_key;
};

/* Scratch of a thread. */
struct space {
    struct shared shared;
    double *states; /* [keys + 1, dk, dv] */
    double *H, *P; /* [dk, dv] */
    double *u, *e, *g, *d_o; /* [dv] */
};

static size_t space_size(const struct recurrence *r, size_t keys)
{
    size_t dk = (size_t)r->key_size, dv = (size_t)r->value_size;
    return 2 * keys * dk + (keys + 3) * dk * dv + 4 * dv;
}

static struct space space_at(double *p, const struct recurrence *r, size_t keys)
{
    size_t dk = (size_t)r->key_size, dv = (size_t)r->value_size;
    struct space s = {.shared = {p, p + keys * dk}, .states = p + 2 * keys * dk};
    s.H = s.states + (keys + 1) * dk * dv;
    s.P = s.H + dk * dv;
    s.u = s.P + dk * dv;
    s.e = s.u + dv;
    s.g = s.e + dv;
    s.d_o = s.g + dv;
    return s;
}

/* Row t of one head, its P, u and e in s: adds to d_query and d_key, writes d_value, d_log_decay
 * (each of them) and d_step. d_out[dv] NULL: its output is not read. */
static void row_reverse(const struct space *s, const struct head *v, real *d_value,
                        real *d_log_decay, real *d_step, const real *d_out, size_t t)
{
    const double *S = s->states + (t + 1) * v->dk * v->dv; /* behind row t */
    const real *query = v->query + t * v->stride, *key = v->key + t * v->stride;
    double step = v->step[t * v->gate_stride], kept = 0, along = 0, through = 0;
    for (size_t c = 0; c < v->dv; c++)
        s->d_o[c] = d_out ? d_out[c] : 0, s->g[c] = 0;
    if (d_out)
        add_outer(s->H, query, v->r->scale, s->d_o, v);
    for (size_t i = 0; i < v->dk; i++)
        for (size_t c = 0; c < v->dv; c++)
            s->g[c] += key[i] * s->H[i * v->dv + c];
    for (size_t c = 0; c < v->dv; c++) {
        along += s->g[c] * s->e[c];
        d_value[c] = (real)(step * s->g[c] + v->skip * s->d_o[c]);
    }
    for (size_t i = 0; i < v->dk; i++) {
        double d_query = 0, d_key = 0;
        kept = kept_of(v, t, i, kept);
        for (size_t c = 0; c < v->dv; c++) {
            size_t at = i * v->dv + c;
            d_query += S[at] * s->d_o[c];
            d_key += s->H[at] * s->u[c];
            if (v->r->delta) {
                d_key -= s->P[at] * step * s->g[c];
                s->H[at] -= key[i] * step * s->g[c];
            }
            through += s->H[at] * s->P[at];
            s->H[at] *= kept;
        }
        s->shared.d_query[t * v->dk + i] += v->r->scale * d_query;
        s->shared.d_key[t * v->dk + i] += d_key;
        if (i + 1 == v->dk || v->decays > 1) {
            d_log_decay[v->decays > 1 ? i : 0] = (real)through;
            through = 0;
        }
    }
    *d_step = (real)along;
}

/* One head: forward again, then backwards. d_qkv and d_gates are the segment's. */
static void head_reverse(const struct space *s, const struct head *v, size_t h, real *d_qkv,
                         real *d_gates, const real *d_o, size_t queries, size_t keys)
{
    size_t size = v->dk * v->dv, heads = (size_t)v->r->heads,
           value = 2 * (size_t)v->r->key_heads * v->dk + h * v->dv;
    for (size_t j = 0; j < size; j++)
        s->states[j] = s->H[j] = 0;
    for (size_t t = 0; t < keys; t++) {
        double *next = s->states + (t + 1) * size;
        decay(next, s->u, s->e, s->states + t * size, v, t);
        add_outer(next, v->key + t * v->stride, 1, s->u, v);
    }
    for (size_t t = keys; t-- > 0;) {
        const real *d_out = t + queries >= keys ? d_o + ((t + queries - keys) * heads + h) * v->dv
                                                : NULL;
        real *d_gate = d_gates + t * v->gate_stride;
        decay(s->P, s->u, s->e, s->states + t * size, v, t);
        row_reverse(s, v, d_qkv + t * v->stride + value, d_gate + h * v->decays,
                    d_gate + heads * v->decays + h, d_out, t);
    }
}

static void recur_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *r, int segments, int queries, int keys)
{
    size_t n = (size_t)keys, heads = (size_t)r->heads, groups = (size_t)r->key_heads,
           dk = (size_t)r->key_size, each = heads / groups, all = (size_t)segments * groups,
           space = space_size(r, n);
    (void)states;
    double *scratch = malloc((size_t)omp_get_max_threads() * space * sizeof *scratch);
    if (!scratch) {
        kernels_keep_error(k, "out of memory (%d states of %d x %d)", keys, r->key_size,
                           r->value_size);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < all; i++) {
        struct space s = space_at(scratch + (size_t)omp_get_thread_num() * space, r, n);
        size_t segment = i / groups, group = i % groups, width = (size_t)recurrence_width(r);
        real *d_rows = (real *)d_qkv->data + segment * n * width;
        for (size_t j = 0; j < n * dk; j++)
            s.shared.d_query[j] = s.shared.d_key[j] = 0;
        for (size_t h = group * each; h < (group + 1) * each; h++) {
            struct head v = head_at(r, qkv, gates, segment, h, n);
            head_reverse(&s, &v, h, d_rows, (real *)d_gates->data + segment * n * v.gate_stride,
                         (const real *)d_o->data + segment * (size_t)queries * heads * v.dv,
                         (size_t)queries, n);
        }
        for (size_t t = 0; t < n; t++)
            for (size_t j = 0; j < dk; j++) {
                real *row = d_rows + t * width + group * dk + j;
                row[0] = (real)s.shared.d_query[t * dk + j];
                row[groups * dk] = (real)s.shared.d_key[t * dk + j];
            }
    }
    free(scratch);
}

static size_t recurrence_bytes(struct kernels *k, const struct recurrence *r, int segments,
                               int keys, int stateless)
{
    (void)k;
    (void)segments;
    (void)stateless;
    return (size_t)omp_get_max_threads() * space_size(r, (size_t)keys) * sizeof(double);
}

/* dt at a + bias, and its derivative by a in *slope. */
static double time_step(double *slope, double a, const struct gating *v)
{
    double dt = (a > 0 ? a : 0) + log1p(exp(-fabs(a)));
    *slope = dt < v->low || dt > v->high ? 0 : sigmoid(a);
    return dt < v->low ? v->low : dt > v->high ? v->high : dt;
}

static void gate(struct kernels *k, struct buffer *gates, const struct buffer *raw,
                 const struct gating *v, struct rows rows, int heads)
{
    size_t h = (size_t)heads, total = (size_t)rows.segments * (size_t)rows.count * h;
    const real *in = raw->data, *rate = v->rate->data, *bias = v->bias ? v->bias->data : NULL;
    real *out = gates->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        size_t row = i / h, c = i % h;
        double slope,
            dt = time_step(&slope,
                           (double)in[row * (v->write > 0 ? 2 * h : h) + c] + (bias ? bias[c] : 0),
                           v);
        out[row * 2 * h + c] = (real)(-rate[c] * dt);
        out[row * 2 * h + h + c] = (real)(v->write > 0 ? v->write * sigmoid(in[row * 2 * h + h + c])
                                                       : dt);
    }
}

static void gate_reverse(struct kernels *k, struct buffer *d_raw, const struct buffer *d_gates,
                         const struct buffer *raw, const struct gating *v, struct rows rows,
                         int heads)
{
    size_t h = (size_t)heads, total = (size_t)rows.segments * (size_t)rows.count * h;
    const real *in = raw->data, *d = d_gates->data, *rate = v->rate->data,
               *bias = v->bias ? v->bias->data : NULL;
    real *out = d_raw->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        size_t row = i / h, c = i % h, at = row * (v->write > 0 ? 2 * h : h) + c;
        double slope, d_log = d[row * 2 * h + c], d_step = d[row * 2 * h + h + c];
        time_step(&slope, (double)in[at] + (bias ? bias[c] : 0), v);
        if (v->write > 0) {
            double b = in[at + h];
            out[at + h] = (real)(d_step * v->write * sigmoid(b) * sigmoid(-b));
            d_step = 0;
        }
        out[at] = (real)(slope * (d_step - rate[c] * d_log));
    }
}

/* l of a channel at x = a + bias, and its derivative by a in *slope. */
static double channel_decay(double *slope, double x, double rate, const struct gating *v)
{
    if (v->floor < 0) {
        double part = sigmoid(rate * x);
        *slope = v->floor * rate * part * sigmoid(-rate * x);
        return v->floor * part;
    }
    *slope = -rate * sigmoid(x);
    return -rate * ((x > 0 ? x : 0) + log1p(exp(-fabs(x))));
}

static void gate_channels(struct kernels *k, struct buffer *gates, const struct buffer *a,
                          const struct buffer *b, const struct gating *v, struct rows rows,
                          int heads, int key_size)
{
    size_t h = (size_t)heads, dk = (size_t)key_size,
           total = (size_t)rows.segments * (size_t)rows.count;
    const real *raw = a->data, *raw_b = b->data, *rate = v->rate->data,
               *bias = v->bias ? v->bias->data : NULL;
    real *out = gates->data;
    (void)k;
#pragma omp parallel for
    for (size_t row = 0; row < total; row++) {
        const real *in = raw + row * h * dk;
        real *to = out + row * h * (dk + 1);
        double slope;
        for (size_t i = 0; i < h * dk; i++)
            to[i] = (real)channel_decay(&slope, in[i] + (bias ? (double)bias[i] : 0), rate[i / dk],
                                        v);
        for (size_t i = 0; i < h; i++)
            to[h * dk + i] = (real)(v->write * sigmoid(raw_b[row * h + i]));
    }
}

static void gate_channels_reverse(struct kernels *k, struct buffer *d_a, struct buffer *d_b,
                                  const struct buffer *d_gates, const struct buffer *a,
                                  const struct buffer *b, const struct gating *v, struct rows rows,
                                  int heads, int key_size)
{
    size_t h = (size_t)heads, dk = (size_t)key_size,
           total = (size_t)rows.segments * (size_t)rows.count;
    const real *raw = a->data, *raw_b = b->data, *d = d_gates->data, *rate = v->rate->data,
               *bias = v->bias ? v->bias->data : NULL;
    real *out = d_a->data, *out_b = d_b->data;
    (void)k;
#pragma omp parallel for
    for (size_t row = 0; row < total; row++) {
        const real *in = raw + row * h * dk, *from = d + row * h * (dk + 1);
        for (size_t i = 0; i < h * dk; i++) {
            double slope;
            channel_decay(&slope, in[i] + (bias ? (double)bias[i] : 0), rate[i / dk], v);
            out[row * h * dk + i] = (real)(slope * from[i]);
        }
        for (size_t i = 0; i < h; i++) {
            double x = raw_b[row * h + i];
            out_b[row * h + i] = (real)(from[h * dk + i] * v->write * sigmoid(x) * sigmoid(-x));
        }
    }
}

void fill_recurrence(struct kernels *k)
{
    k->gate = gate;
    k->gate_reverse = gate_reverse;
    k->gate_channels = gate_channels;
    k->gate_channels_reverse = gate_channels_reverse;
    k->recur = recur;
    k->recur_reverse = recur_reverse;
    k->recurrence_bytes = recurrence_bytes;
}
