/* Attention of the cuda set, forward and reverse, in each of its arithmetics, at sizes around those
 * of its tiles; on a GPU, or on the stand-in for one, whichever plug-in there is.
 * tests/t-kernels-sets.c has the rest: the same cases for all sets, other batches and orders of
 * threads.
 *
 * Inputs are bf16 numbers, exact in every arithmetic, and the model below computes in double what
 * the kernels should, together with a bound for each element's rounding error. With u the roundoff
 * of an operand of the first products, p of P and dS as left operands of the second ones, r of
 * results, and e a float's (sums included), all relative: z:  |scale| sum |q k| (2 u + e) + (1
 * + |z|) e =: ez          p of a row: ez + sum p ez o:  sum p (its error + p + u) |v| + r |o| dp:
 * sum |do v| (2 u + e)         delta: sum |do| (error of o) ds: |slope p| (errors of p, times |dp -
 * delta|, of dp and delta), and what ez does to the soft-cap's slope dq, dk, dv: sums of (error +
 * (p + u) |ds| or |P|) times |k|, |q|, |do|, and r |result|. bf16 has u = 0 (its operands are
 * exact), p = r = 2^-8; tf32 u = p = 2^-11, r = 0; f32 neither. The matrix units may cut where
 * others round, so e = 2^-20. */
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static struct kernels *sets[3];
static int set_count;

static int open_sets(void **state)
{
    (void)state;
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e;
        if (strcmp(kernel_sets[i].name, "cuda"))
            continue;
        if (!set_usable(&kernel_sets[i])) {
            print_message("the cuda set (%s) cannot run here\n", kernel_sets[i].dtype);
            continue;
        }
        sets[set_count] = kernel_sets[i].open(&e);
        if (!sets[set_count]) {
            print_error("cuda (%s): %s\n", kernel_sets[i].dtype, e.text);
            return -1;
        }
        set_count++;
    }
    return 0;
}

static int close_sets(void **state)
{
    (void)state;
    for (int i = 0; i < set_count; i++)
        sets[i]->close(sets[i]);
    return 0;
}

/* A case's inputs and outputs; queries' rows are [heads, head_size], keys' [2, kv_heads,
 * head_size]. */
struct problem {
    struct attention_case c;
    struct attention_shape shape;
    double *bias, *multiplier, *key_bias, *sinks;
    double *q, *kv, *d_o;
    size_t q_count, kv_count, lse_count;
};

enum { O, LSE, DQ, DKV, OUTPUTS };
static const char *const output_names[OUTPUTS] = {"o", "lse", "dq", "dkv"};

struct results {
    double *value[OUTPUTS], *bound[OUTPUTS]; /* bound is NULL for what a set gave */
};

static double *bf16_values(int segments, int first, size_t each, unsigned seed, double size)
{
    double *x = random_segments(segments, first, each, seed, size);
    for (size_t i = 0; i < (size_t)segments * each; i++) {
        float value = (float)x[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
        memcpy(&value, &bits, sizeof bits);
        x[i] = value;
    }
    return x;
}

static struct problem problem_of(const struct attention_case *c)
{
    struct problem p = {.c = *c,
                        .bias = attention_bias(c),
                        .multiplier = attention_multiplier(c),
                        .key_bias = attention_key_bias(c),
                        .sinks = attention_sinks(c)};
    size_t size = (size_t)c->head_size, q_each = (size_t)c->queries * (size_t)c->heads * size,
           kv_each = (size_t)c->keys * 2 * (size_t)c->kv_heads * size;
    p.shape = (struct attention_shape){.heads = c->heads,
                                       .kv_heads = c->kv_heads,
                                       .head_size = c->head_size,
                                       .positions = c->positions,
                                       .window = c->window,
                                       .keep = c->keep,
                                       .scale = 1 / sqrt((double)c->head_size),
                                       .soft_cap = c->soft_cap,
                                       .bias = p.bias,
                                       .multiplier = p.multiplier,
                                       .key_bias = p.key_bias};
    p.q = bf16_values(c->segments, c->first, q_each, 1, c->size);
    p.kv = bf16_values(c->segments, c->first, kv_each, 2, c->size);
    p.d_o = bf16_values(c->segments, c->first, q_each, 3, c->d_o);
    p.q_count = (size_t)c->segments * q_each;
    p.kv_count = (size_t)c->segments * kv_each;
    p.lse_count = (size_t)c->segments * (size_t)c->heads * (size_t)c->queries;
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->bias), free(p->multiplier), free(p->key_bias), free(p->sinks), free(p->q), free(p->kv),
        free(p->d_o);
}

static size_t output_count(const struct problem *p, int output)
{
    return output == LSE ? p->lse_count : output == DKV ? p->kv_count : p->q_count;
}

static void results_free(struct results *r)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(r->value[i]), free(r->bound[i]);
}

/* The relative roundings of an arithmetic; see the top. */
struct roundings {
    double u, p, r, e;
};

static struct roundings roundings_of(const struct kernels *k)
{
    if (!strcmp(k->dtype, "bf16"))
        return (struct roundings){0, 0x1p-8, 0x1p-8, 0x1p-20};
    if (!strcmp(k->dtype, "tf32"))
        return (struct roundings){0x1p-11, 0x1p-11, 0, 0x1p-20};
    assert_string_equal(k->dtype, "f32");
    return (struct roundings){0, 0, 0, 0x1p-20};
}

/* Few queries are computed in float whatever the arithmetic (kernels/cuda/attention_few.cu), so
 * their bounds with the arithmetic's u and p hold too. */
struct model_row {
    double p, slope, error, slope_error; /* of each key: probability, dz / d(scale q.k), absolute
                                            error of z, of slope */
};

/* Row r of query head h: fills row[keys] and *lse; returns sum p ez. */
static double model_scores(struct model_row *row, double *lse, const struct problem *p,
                           const struct roundings *u, const double *q, const double *k, int h,
                           int r)
{
    const struct attention_case *c = &p->c;
    size_t stride = 2 * (size_t)c->kv_heads * (size_t)c->head_size,
           table = (size_t)h * (size_t)c->positions;
    int own = c->keys - c->queries + r;
    double largest = p->sinks ? p->sinks[h] : -INFINITY, sum = 0, mean = 0;
    for (int j = 0; j < c->keys; j++) {
        int t = own - j;
        row[j] = (struct model_row){-INFINITY, 0, 0, 0};
        if (t < 0 || (c->window > 0 && t >= c->window && c->positions - c->keys + j >= c->keep))
            continue;
        double bias = (p->bias ? p->bias[table + (size_t)t] : 0) +
                      (p->key_bias ? p->key_bias[table + (size_t)(c->positions - c->keys + j)] : 0);
        double multiplier = p->multiplier ? p->multiplier[table + (size_t)t] : 1, product = 0,
               size = 0, tangent = 0;
        if (bias == -INFINITY)
            continue;
        for (int i = 0; i < c->head_size; i++) {
            product += q[i] * k[(size_t)j * stride + (size_t)i];
            size += fabs(q[i] * k[(size_t)j * stride + (size_t)i]);
        }
        double z = p->shape.scale * product,
               error = fabs(p->shape.scale) * size * (2 * u->u + u->e) + fabs(z) * u->e;
        if (c->soft_cap > 0) {
            tangent = tanh(z / c->soft_cap);
            z = c->soft_cap * tangent;
            row[j].slope_error = fabs(multiplier) * (2 * error / c->soft_cap + 4 * u->e);
            error += c->soft_cap * u->e;
        }
        row[j].p = z * multiplier + bias;
        row[j].slope = multiplier * (1 - tangent * tangent);
        row[j].slope_error += fabs(multiplier) * u->e;
        row[j].error = error * fabs(multiplier) + (1 + fabs(row[j].p) + fabs(bias)) * u->e;
        largest = fmax(largest, row[j].p);
    }
    double sink = p->sinks ? exp(p->sinks[h] - largest) : 0;
    for (int j = 0; j < c->keys; j++)
        sum += row[j].p = row[j].p == -INFINITY ? 0 : exp(row[j].p - largest);
    sum += sink;
    for (int j = 0; j < c->keys && sum > 0; j++) {
        row[j].p /= sum;
        mean += row[j].p * row[j].error;
    }
    mean += p->sinks ? sink / sum * (1 + fabs(p->sinks[h])) * u->e : 0;
    *lse = sum > 0 ? largest + log(sum) : -INFINITY;
    return mean;
}

/* One row of one head: everything of it, and its share of dk and dv. `at`: of its row in q; k, dk:
 * its kv head's first row, here and in the results. */
static void model_row(struct results *out, const struct problem *p, const struct roundings *u,
                      struct model_row *row, size_t at, size_t lse_at, const double *k, size_t k_at,
                      int h, int r)
{
    const struct attention_case *c = &p->c;
    size_t stride = 2 * (size_t)c->kv_heads * (size_t)c->head_size, values = stride / 2;
    const double *q = p->q + at, *d_o = p->d_o + at;
    double *o = out->value[O] + at, *o_bound = out->bound[O] + at, *dq = out->value[DQ] + at,
           *dq_bound = out->bound[DQ] + at, delta = 0, delta_error = 0;
    double lse, mean = model_scores(row, &lse, p, u, q, k, h, r), scale = fabs(p->shape.scale);
    out->value[LSE][lse_at] = lse;
    out->bound[LSE][lse_at] = isfinite(lse) ? mean + (1 + fabs(lse)) * u->e : 0;
    for (int j = 0; j < c->keys; j++)
        for (int i = 0; row[j].p > 0 && i < c->head_size; i++) {
            double v = k[(size_t)j * stride + values + (size_t)i];
            o[i] += row[j].p * v;
            o_bound[i] += row[j].p * (row[j].error + mean + u->p + u->u + u->e) * fabs(v);
        }
    for (int i = 0; i < c->head_size; i++) {
        o_bound[i] += u->r * fabs(o[i]);
        delta += o[i] * d_o[i];
        delta_error += fabs(d_o[i]) * (o_bound[i] + u->e * fabs(o[i]));
    }
    for (int j = 0; j < c->keys; j++) {
        double dp = 0, size = 0, error = row[j].error + mean + (2 + fabs(lse)) * u->e;
        if (!(row[j].p > 0))
            continue;
        for (int i = 0; i < c->head_size; i++) {
            dp += d_o[i] * k[(size_t)j * stride + values + (size_t)i];
            size += fabs(d_o[i] * k[(size_t)j * stride + values + (size_t)i]);
        }
        double slope = fabs(row[j].slope) + row[j].slope_error,
               ds = row[j].p * (dp - delta) * row[j].slope;
        double ds_error = row[j].p * (slope * (error * fabs(dp - delta) + size * (2 * u->u + u->e) +
                                               delta_error) +
                                      row[j].slope_error * fabs(dp - delta));
        ds_error += (u->p + u->u + u->e) * (fabs(ds) + ds_error);
        for (int i = 0; i < c->head_size; i++) {
            size_t to = k_at + (size_t)j * stride + (size_t)i;
            dq[i] += p->shape.scale * ds * k[(size_t)j * stride + (size_t)i];
            dq_bound[i] += scale * ds_error * fabs(k[(size_t)j * stride + (size_t)i]);
            out->value[DKV][to] += p->shape.scale * ds * q[i];
            out->bound[DKV][to] += scale * ds_error * fabs(q[i]);
            out->value[DKV][to + values] += row[j].p * d_o[i];
            out->bound[DKV][to + values] += row[j].p * (error + u->p + u->u + u->e) * fabs(d_o[i]);
        }
    }
    for (int i = 0; i < c->head_size; i++)
        dq_bound[i] += u->r * fabs(dq[i]);
}

static struct results model(const struct problem *p, const struct roundings *u)
{
    const struct attention_case *c = &p->c;
    size_t size = (size_t)c->head_size, stride = 2 * (size_t)c->kv_heads * size;
    struct model_row *row = allocate((size_t)c->keys * sizeof *row);
    struct results out;
    for (int i = 0; i < OUTPUTS; i++) {
        size_t bytes = output_count(p, i) * sizeof(double);
        out.value[i] = memset(allocate(bytes), 0, bytes);
        out.bound[i] = memset(allocate(bytes), 0, bytes);
    }
    for (int s = 0; s < c->segments; s++)
        for (int h = 0; h < c->heads; h++)
            for (int r = 0; r < c->queries; r++) {
                size_t k_at = (size_t)s * (size_t)c->keys * stride +
                              (size_t)(h * c->kv_heads / c->heads) * size;
                model_row(
                    &out, p, u, row,
                    (((size_t)s * (size_t)c->queries + (size_t)r) * (size_t)c->heads + (size_t)h) *
                        size,
                    ((size_t)s * (size_t)c->heads + (size_t)h) * (size_t)c->queries + (size_t)r,
                    p->kv + k_at, k_at, h, r);
            }
    for (size_t i = 0; i < p->kv_count; i++)
        out.bound[DKV][i] += u->r * fabs(out.value[DKV][i]);
    for (int i = 0; i < OUTPUTS; i++) /* what falls below the smallest float */
        for (size_t j = 0; j < output_count(p, i); j++)
            out.bound[i][j] += 1e-35 * (1 + c->size);
    free(row);
    return out;
}

/* The same on a set, into buffers that hold NaN. */
static struct results run(struct kernels *k, const struct problem *p)
{
    const struct attention_case *c = &p->c;
    const double *inputs[3] = {p->q, p->kv, p->d_o};
    const enum buffer_role roles[OUTPUTS] = {ROLE_ACTIVATION, ROLE_STATISTIC, ROLE_ACTIVATION,
                                             ROLE_ACTIVATION};
    struct buffer *in[3], *out[OUTPUTS];
    struct results got = {{0}, {0}};
    struct error e;
    struct attention *a = k->attention_create(k, &p->shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    struct weight *sink = sinks_of(k, p->sinks, c->heads);
    for (int i = 0; i < 3; i++)
        in[i] = buffer_of(k, ROLE_ACTIVATION, inputs[i], i == 1 ? p->kv_count : p->q_count);
    for (int i = 0; i < OUTPUTS; i++) {
        size_t count = output_count(p, i);
        got.value[i] = allocate(count * sizeof(double));
        for (size_t j = 0; j < count; j++)
            got.value[i][j] = NAN;
        out[i] = buffer_of(k, roles[i], got.value[i], count);
    }
    k->attention(k, out[O], out[LSE], in[0], in[1], a, sink, c->segments, c->queries, c->keys);
    k->attention_reverse(k, out[DQ], out[DKV], in[2], in[0], in[1], out[O], out[LSE], a, sink,
                         c->segments, c->queries, c->keys);
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    for (int i = 0; i < OUTPUTS; i++) {
        k->read(k, got.value[i], out[i], 0, output_count(p, i));
        k->destroy(k, out[i]);
    }
    for (int i = 0; i < 3; i++)
        k->destroy(k, in[i]);
    k->attention_free(k, a);
    k->weight_free(k, sink);
    return got;
}

static void fail_case(const char *what, const struct kernels *k, const struct attention_case *c)
{
    fail_msg("%s: %s %s, segments %d, heads %d/%d of %d, positions %d keys %d queries %d window %d "
             "keep %d bias %d multiplier %d key "
             "bias %d soft-cap %g size %g sinks %g",
             what, k->name, k->dtype, c->segments, c->heads, c->kv_heads, c->head_size,
             c->positions, c->keys, c->queries, c->window, c->keep, c->bias, c->multiplier,
             c->key_bias, c->soft_cap, c->size, c->sinks);
}

/* 1 for set s if the turn-th case is for it: all are for the last, which is bf16, and each is for
 * one of the others; for time's sake. */
static int has_turn(int s, int turn)
{
    return s == set_count - 1 || s == turn % (set_count - 1);
}

static void check(const struct problem *p, int turn)
{
    for (int s = 0; s < set_count; s++) {
        if (!has_turn(s, turn))
            continue;
        struct roundings u = roundings_of(sets[s]);
        struct results want = model(p, &u), got = run(sets[s], p);
        for (int i = 0; i < OUTPUTS; i++)
            if (compare_bounded(output_names[i], got.value[i], want.value[i], want.bound[i],
                                output_count(p, i), 1))
                fail_case("differs from the model", sets[s], &p->c);
        results_free(&want);
        results_free(&got);
    }
}

static void check_cases(const struct attention_case *cases, int count)
{
    for (int i = 0; i < count; i++) {
        struct problem p = problem_of(&cases[i]);
        check(&p, i);
        problem_free(&p);
    }
}

/* Every class of head sizes, aligned to 16 bytes and not, with every form of scores: plain, biased,
 * general. */
static void test_head_sizes(void **state)
{
    static const int sizes[] = {1, 16, 31, 64, 80, 128, 192, 256};
    (void)state;
    for (int i = 0; i < LENGTH(sizes); i++)
        for (int form = 0; form < 3; form++) {
            int n = sizes[i] > 128 ? 34 : 65; /* two tiles of keys */
            struct attention_case c = {1,
                                       0,
                                       1 + (form == 2),
                                       1,
                                       sizes[i],
                                       n,
                                       n,
                                       n,
                                       0,
                                       form ? BIAS_GENTLE : BIAS_NONE,
                                       form == 2,
                                       form == 2,
                                       form == 2 ? 5 : 0,
                                       1,
                                       1,
                                       0,
                                       form == 1 ? 2 : 0};
            struct problem p = problem_of(&c);
            check(&p, i + form);
            problem_free(&p);
        }
}

static void test_sizes(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks */
        {2, 0, 2, 2, 64, 1, 1, 1, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 1, 64, 2, 2, 2, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {2, 0, 1, 1, 64, 9, 9, 9, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0,
         0}, /* the fewest queries that go by tiles */
        {1, 0, 2, 2, 64, 9, 9, 8, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 2, 64, 63, 63, 63, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 257, 257, 257, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 128, 130, 130, 130, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        /* queries and keys are the last ones */
        {2, 0, 2, 1, 64, 200, 140, 70, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 131, 130, 65, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 128, 257, 130, 63, 0, BIAS_NONE, 0, 1, 0, 1, 1, 0, 0},
        {1, 0, 6, 4, 32, 33, 33, 31, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0,
         0}, /* groups of two heads and of one */
        {1, 0, 5, 1, 16, 33, 33, 33, 0, BIAS_RANDOM, 1, 1, 0, 1, 1, 0, 0},
        /* few queries: several blocks of keys, groups */
        {2, 0, 4, 2, 64, 600, 600, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 1, 80, 513, 513, 3, 0, BIAS_GENTLE, 1, 1, 7, 1, 1, 0, 0},
        {1, 0, 3, 1, 31, 300, 290, 2, 0, BIAS_HOLES, 0, 2, 0, 1, 1, 0, 0},
        {1, 0, 2, 2, 128, 270, 270, 8, 100, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 256, 257, 257, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
    };
    (void)state;
    check_cases(cases, LENGTH(cases));
}

static void test_masks(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks */
        {1, 0, 1, 1, 64, 130, 130, 130, 127, BIAS_NONE, 0, 0, 0, 1, 1, 0,
         0}, /* just one pair of the first tiles is masked */
        {1, 0, 1, 1, 64, 130, 130, 130, 1, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 200, 200, 200, 64, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 1, 64, 200, 200, 140, 65, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 128, 140, 140, 140, 33, BIAS_NONE, 0, 0, 20, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 300, 300, 20, 40, BIAS_NONE, 0, 0, 0, 1, 1, 0,
         0}, /* keys that no query sees */
        {1, 0, 2, 2, 64, 66, 66, 66, 0, BIAS_HOLES, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 2, 1, 64, 130, 130, 4, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 128, 130, 130, 130, 0, BIAS_CUT, 0, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 2, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 257, 257, 257, 0, BIAS_STEEP, 0, 0, 0, 1, 1, 0,
         0}, /* most tiles left out */
        {1, 0, 2, 1, 128, 150, 150, 120, 0, BIAS_STEEP, 1, 2, 5, 1, 1, 0, 0},
        {1, 0, 2, 1, 32, 300, 300, 200, 90, BIAS_STEEP, 0, 0, 0, 8, 1, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 0, 0, 8, 1, 0,
         0}, /* scores in the hundreds */
        /* first keys beside a window: in a tile of their own, in that of the window, and in several
         */
        {1, 0, 2, 1, 64, 300, 300, 300, 20, BIAS_NONE, 0, 0, 0, 1, 1, 1, 0},
        {1, 0, 2, 2, 64, 130, 130, 130, 33, BIAS_RANDOM, 0, 0, 0, 1, 1, 70, 0},
        {1, 0, 2, 1, 32, 300, 260, 200, 30, BIAS_GENTLE, 0, 2, 0, 1, 1, 50, 0},
        {1, 0, 1, 1, 128, 200, 200, 200, 9, BIAS_STEEP, 1, 0, 5, 1, 1, 4, 0},
        {1, 0, 1, 1, 64, 300, 240, 100, 64, BIAS_RANDOM, 0, 0, 0, 1, 1, 60,
         0}, /* none of them among the keys */
        {1, 0, 2, 1, 64, 600, 600, 3, 40, BIAS_RANDOM, 0, 0, 0, 1, 1, 300, 0}, /* few queries */
        {1, 0, 1, 1, 192, 130, 130, 130, 5, BIAS_NONE, 0, 0, 0, 1, 1, 4, 0},
        /* sinks, by tiles and for few queries: among the scores, and far above and below them */
        {2, 0, 4, 2, 64, 130, 130, 130, 20, BIAS_NONE, 0, 0, 0, 1, 1, 0, 3},
        {1, 0, 4, 2, 32, 200, 200, 140, 0, BIAS_GENTLE, 1, 1, 5, 1, 1, 0, 60},
        {1, 0, 4, 1, 64, 300, 300, 3, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 3},
        {1, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 1},
        {1, 0, 2, 1, 64, 130, 130, 4, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 1},
    };
    (void)state;
    check_cases(cases, LENGTH(cases));
}

/* tf32 rounds its operands to the nearest, not towards 0: where one key is seen, o is the rounded
 * value. */
static void test_rounding(void **state)
{
    struct attention_case c = {1, 0, 1, 1, 64, 9, 9, 9, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0};
    struct problem p = problem_of(&c);
    (void)state;
    for (size_t i = 0; i < 64; i++)
        p.kv[64 + i] = 1 + 0x1p-11 + 0x1p-13;
    for (int s = 0; s < set_count; s++) {
        double want = strcmp(sets[s]->dtype, "f32")
                          ? strcmp(sets[s]->dtype, "tf32") ? 1 : 1 + 0x1p-10
                          : 1 + 0x1p-11 + 0x1p-13;
        struct results got = run(sets[s], &p);
        for (size_t i = 0; i < 64; i++)
            if (got.value[O][i] != want)
                fail_msg("%s %s: o[%zu] = %.9g of one value %.9g (expected %.9g)", sets[s]->name,
                         sets[s]->dtype, i, got.value[O][i], p.kv[64 + i], want);
        results_free(&got);
    }
    problem_free(&p);
}

/* So it does with the weights of the values: of two keys with scores 0 and ln w, o is the rounded w
 * over 1 + w where the other value is 0. */
static void test_rounding_weights(void **state)
{
    static const double w = 0.5 * (1 + 0x1p-11 + 0x1p-13), tf32 = 0.5 * (1 + 0x1p-10);
    struct attention_case c = {1, 0, 1, 1, 64, 130, 130, 130, 2, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0};
    struct problem p = problem_of(&c);
    (void)state;
    memset(p.q, 0, p.q_count * sizeof *p.q);
    p.bias[0] = 0;
    p.bias[1] = log(w);
    for (int odd = 0; odd < 2; odd++) {
        for (size_t i = 0; i < 130 * 64; i++)
            p.kv[i / 64 * 128 + 64 + i % 64] = i / 64 % 2 == (size_t)odd;
        for (int s = 0; s < set_count; s++) {
            double want = (strcmp(sets[s]->dtype, "tf32") ? w : tf32) / (1 + w);
            if (!strcmp(sets[s]->dtype, "bf16")) /* what it writes has fewer digits than that */
                continue;
            struct results got = run(sets[s], &p);
            for (size_t i = 64; i < 130 * 64; i++)
                if (i / 64 % 2 != (size_t)odd && !(fabs(got.value[O][i] - want) <= 0x1p-14))
                    fail_msg("%s %s: o[%zu] = %.9g (expected %.9g)", sets[s]->name, sets[s]->dtype,
                             i, got.value[O][i], want);
            results_free(&got);
        }
    }
    problem_free(&p);
}

/* A scale of any sign. */
static void test_scale(void **state)
{
    static const double scales[] = {-0.125, 0, 1};
    (void)state;
    for (int i = 0; i < LENGTH(scales); i++) {
        struct attention_case c = {1, 0, 1, 1, 64, 33, 33, 33, 0, i ? BIAS_NONE : BIAS_GENTLE,
                                   0, 0, 0, 1, 1,  0,  0};
        struct problem p = problem_of(&c);
        p.shape.scale = scales[i];
        check(&p, i);
        problem_free(&p);
    }
}

/* Leaving tiles out changes no bit. Two multipliers that differ only at distances that the bias
 * masks: the second is so large there that no tile can be proved to be zero. */
static void test_skipping(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks */
        {1, 0, 1, 1, 64, 200, 200, 200, 0, BIAS_STEEP, 1, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 467, 467, 20, 0, BIAS_GENTLE, 1, 0, 0, 0.0625, 1, 0,
         0}, /* the first 128 keys have p from 2^-108 down to 0 */
        {1, 0, 1, 1, 64, 800, 800, 20, 0, BIAS_GENTLE, 1, 1, 0, 8, 1, 0,
         0}, /* scores in the hundreds, against the bias */
        {1, 0, 1, 1, 128, 200, 200, 140, 0, BIAS_STEEP, 1, 2, 30, 4, 1, 0, 0},
        {1, 0, 1, 1, 192, 130, 130, 60, 0, BIAS_STEEP, 1, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 64, 300, 300, 300, 0, BIAS_FAR, 1, 0, 0, 1, 1, 0,
         0}, /* the tile that a block begins with is left out */
        {1, 0, 2, 1, 96, 300, 300, 300, 0, BIAS_FAR, 1, 0, 0, 1, 1, 0, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        struct problem p = problem_of(&cases[i]);
        for (int j = 0; j < p.c.heads * p.c.positions; j++) {
            int t = j % p.c.positions;
            p.bias[j] *= p.c.bias == BIAS_GENTLE
                             ? 60
                             : 1; /* slopes that spare some tiles and not others */
            if (t % 32 == 31)
                p.bias[j] = -INFINITY;
        }
        for (int s = 0; s < set_count; s++) {
            if (!has_turn(s, i))
                continue;
            struct results left_out = run(sets[s], &p), all;
            for (int j = 31; j < p.c.heads * p.c.positions; j++)
                if (j % p.c.positions % 32 == 31)
                    p.multiplier[j] = 1e30;
            all = run(sets[s], &p);
            for (int o = 0; o < OUTPUTS; o++)
                if (compare_exact(output_names[o], left_out.value[o], all.value[o],
                                  output_count(&p, o)))
                    fail_case("leaving tiles out changes bits", sets[s], &p.c);
            for (int j = 31; j < p.c.heads * p.c.positions; j++)
                if (j % p.c.positions % 32 == 31)
                    p.multiplier[j] = 1;
            results_free(&left_out);
            results_free(&all);
        }
        problem_free(&p);
    }
}

/* Queries that leave the first 128 keys out by far, and beside them one, of each warp in turn that
 * looks for the smallest, which sees all keys alike. The mask is what has tiles looked at. */
static void test_flat_queries(void **state)
{
    enum { ROWS = 260, KEYS = 128, SIZE = 64 };
    struct attention_case c = {1,           0, 1, 1, SIZE, ROWS, ROWS, ROWS, 0,
                               BIAS_RANDOM, 0, 0, 0, 1,    1,    0,    0};
    (void)state;
    for (int flat = 0; flat < 8; flat++) {
        struct problem p = problem_of(&c);
        for (size_t t = 0; t < ROWS; t++)
            p.bias[t] = t + 1 < ROWS ? 0 : -INFINITY;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < SIZE; i++) {
                p.q[r * SIZE + i] = r % 64 == (size_t)flat ? 0 : 6;
                p.kv[2 * r * SIZE + i] = r < KEYS ? 0 : 6; /* scores of 0, and of 288 */
            }
        check(&p, flat);
        problem_free(&p);
    }
}

/* A key or value that is not a number reaches every query that sees it, however steep the bias. */
static void test_not_finite(void **state)
{
    struct attention_case c = {1, 0, 1, 1, 64, 200, 200, 200, 0, BIAS_STEEP, 0, 0, 0, 1, 1, 0, 0};
    (void)state;
    for (int value = 0; value < 2; value++) {
        struct problem p = problem_of(&c);
        p.kv[(3 * 2 + (size_t)value) * 64 + 5] = value ? INFINITY : NAN; /* of key 3 */
        for (int s = 0; s < set_count; s++) {
            struct results got = run(sets[s], &p);
            for (int r = 3; r < c.queries; r++) {
                double x = got.value[O][(size_t)r * 64 + 5]; /* 0 times infinity is NaN */
                if (isfinite(x))
                    fail_msg("%s %s: %g in row %d, which sees a %s", sets[s]->name, sets[s]->dtype,
                             x, r, value ? "value that is infinite" : "key that is NaN");
            }
            results_free(&got);
        }
        problem_free(&p);
    }
}

/* Heads of 256 by each open set, forward and in reverse: refused with one error that has both
 * texts. */
static void require_refused(const char *begin, const char *end)
{
    for (int s = 0; s < set_count; s++)
        for (int reverse = 0; reverse < 2; reverse++) {
            struct attention_case c = {1, 0, 1, 1, 256, 9, 9, 9, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0};
            struct problem p = problem_of(&c);
            struct error e;
            struct attention *a = sets[s]->attention_create(sets[s], &p.shape, &e);
            struct buffer *q = buffer_of(sets[s], ROLE_ACTIVATION, p.q, p.q_count),
                          *kv = buffer_of(sets[s], ROLE_ACTIVATION, p.kv, p.kv_count),
                          *o = buffer_of(sets[s], ROLE_ACTIVATION, p.q, p.q_count),
                          *dkv = buffer_of(sets[s], ROLE_ACTIVATION, p.kv, p.kv_count),
                          *lse = buffer_of(sets[s], ROLE_STATISTIC, p.q, p.lse_count);
            if (reverse)
                sets[s]->attention_reverse(sets[s], o, dkv, q, q, kv, q, lse, a, NULL, 1, c.queries,
                                           c.keys);
            else
                sets[s]->attention(sets[s], o, lse, q, kv, a, NULL, 1, c.queries, c.keys);
            assert_int_equal(sets[s]->synchronize(sets[s], &e), -1);
            if (!strstr(e.text, begin) || !strstr(e.text, end))
                fail_msg("%s", e.text);
            assert_int_equal(sets[s]->synchronize(sets[s], &e), 0);
            struct buffer *all[] = {q, kv, o, dkv, lse};
            for (int i = 0; i < LENGTH(all); i++)
                sets[s]->destroy(sets[s], all[i]);
            sets[s]->attention_free(sets[s], a);
            problem_free(&p);
        }
}

/* Devices whose blocks have less shared memory (99 KB: compute capability 8.6, 8.9, 12.0; 163
 * KB: 8.0) have smaller tiles, and where none would fit a call is refused. The stand-in's is what
 * its environment says when a set is opened. */
static void test_shared_memory(void **state)
{
    static const int sizes[] = {64, 65, 128, 129, 256};
    static const char *const kb[] = {"99", "163"};
    struct kernels *before[3];
    (void)state;
    memcpy(before, sets, sizeof sets);
    if (!set_count || !strstr(sets[0]->name, "stand-in"))
        skip();
    for (int limit = 0; limit < LENGTH(kb); limit++) {
        setenv("REACH_CUDA_HOST_SHARED", kb[limit], 1);
        set_count = 0;
        assert_int_equal(open_sets(NULL), 0);
        for (int i = 0; i < LENGTH(sizes); i++)
            for (int general = 0; general < 2; general++) {
                struct attention_case c = {1,
                                           0,
                                           1 + general,
                                           1,
                                           sizes[i],
                                           66,
                                           66,
                                           66,
                                           0,
                                           general ? BIAS_STEEP : BIAS_GENTLE,
                                           general,
                                           general,
                                           general ? 5 : 0,
                                           1,
                                           1,
                                           0,
                                           0};
                struct problem p = problem_of(&c);
                for (int turn = 0; turn < 2; turn++)
                    if (turn == 0 || limit == 0) /* 99 KB: all sets */
                        check(&p, i + general + turn);
                problem_free(&p);
            }
        close_sets(NULL);
    }
    setenv("REACH_CUDA_HOST_SHARED", "48", 1);
    set_count = 0;
    assert_int_equal(open_sets(NULL), 0);
    require_refused("attention: head size 256 in ", "and this GPU has 49152 (expected");
    close_sets(NULL);
    unsetenv(
        "REACH_CUDA_HOST_SHARED"); /* what the runtime does not grant, though the device has it */
    set_count = 0;
    assert_int_equal(open_sets(NULL), 0);
    setenv("REACH_CUDA_HOST_SHARED", "48", 1);
    require_refused("GPU: attention: shared memory of a block: ", "invalid argument");
    close_sets(NULL);
    unsetenv("REACH_CUDA_HOST_SHARED");
    memcpy(sets, before, sizeof sets);
    set_count = LENGTH(sets);
}

/* Other batches, other orders of threads: the same bytes. */
static void test_same_bytes(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks */
        {2, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_RANDOM, 1, 1, 0, 1, 1, 0, 0},
        {2, 0, 1, 1, 128, 40, 40, 33, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0},
        {2, 0, 4, 2, 64, 300, 300, 2, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        for (int s = 0; s < set_count; s++) {
            if (!has_turn(s, i + 1))
                continue;
            struct attention_case last = cases[i];
            last.first = last.segments - 1;
            last.segments = 1;
            struct problem p = problem_of(&cases[i]), alone = problem_of(&last);
            struct results whole = run(sets[s], &p), part = run(sets[s], &alone);
            for (int o = 0; o < OUTPUTS; o++) {
                size_t each = output_count(&alone, o);
                if (compare_exact(output_names[o], part.value[o],
                                  whole.value[o] + (size_t)last.first * each, each))
                    fail_case("a segment alone has other bytes", sets[s], &cases[i]);
            }
            thread_order("97"); /* what the stand-in takes; a GPU has an order of its own */
            struct results again = run(sets[s], &p);
            thread_order(NULL);
            for (int o = 0; o < OUTPUTS; o++)
                if (compare_exact(output_names[o], again.value[o], whole.value[o],
                                  output_count(&p, o)))
                    fail_case("another order of threads gives other bytes", sets[s], &cases[i]);
            results_free(&again);
            results_free(&whole);
            results_free(&part);
            problem_free(&p);
            problem_free(&alone);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_sizes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_rounding_weights),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_skipping),
        cmocka_unit_test(test_flat_queries),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_shared_memory),
    };
    return cmocka_run_group_tests(tests, open_sets, close_sets);
}
