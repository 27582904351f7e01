/* Attention of the cuda set, forward and reverse, in each of its arithmetics, at sizes around those
 * of its tiles; on a GPU, or on the stand-in for one, whichever plug-in there is.
 * tests/t-kernels-attention_sets.c has the rest: the same cases for all attention_sets, other
 * batches and orders of threads.
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
#include "tests/cuda_attention.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    size_t stride = (size_t)attention_kv_width(&p->shape), table = (size_t)h * (size_t)c->positions;
    int own = c->keys - c->queries + r;
    double largest = p->sinks ? p->sinks[h] : -INFINITY, sum = 0, mean = 0;
    for (int j = 0; j < c->keys; j++) {
        int t = own - j;
        row[j] = (struct model_row){-INFINITY, 0, 0, 0};
        if (!case_sees(c, own, j))
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

/* One row of one head, number `number` of all rows' heads: everything of it, and its share of dk
 * and dv. k_at, v_at: where its kv head's first key and value are. */
static void model_row(struct results *out, const struct problem *p, const struct roundings *u,
                      struct model_row *row, size_t number, size_t lse_at, size_t k_at, size_t v_at,
                      int h, int r)
{
    const struct attention_case *c = &p->c;
    size_t stride = (size_t)attention_kv_width(&p->shape), at = number * (size_t)c->head_size,
           o_at = number * (size_t)p->shape.value_size;
    int value_size = p->shape.value_size;
    const double *q = p->q + at, *d_o = p->d_o + o_at, *k = p->kv + k_at, *v = p->kv + v_at;
    double *o = out->value[O] + o_at, *o_bound = out->bound[O] + o_at, *dq = out->value[DQ] + at,
           *dq_bound = out->bound[DQ] + at, delta = 0, delta_error = 0;
    double lse, mean = model_scores(row, &lse, p, u, q, k, h, r), scale = fabs(p->shape.scale);
    out->value[LSE][lse_at] = lse;
    out->bound[LSE][lse_at] = isfinite(lse) ? mean + (1 + fabs(lse)) * u->e : 0;
    for (int j = 0; j < c->keys; j++)
        for (int i = 0; row[j].p > 0 && i < value_size; i++) {
            double x = v[(size_t)j * stride + (size_t)i];
            o[i] += row[j].p * x;
            o_bound[i] += row[j].p * (row[j].error + mean + u->p + u->u + u->e) * fabs(x);
        }
    for (int i = 0; i < value_size; i++) {
        o_bound[i] += u->r * fabs(o[i]);
        delta += o[i] * d_o[i];
        delta_error += fabs(d_o[i]) * (o_bound[i] + u->e * fabs(o[i]));
    }
    for (int j = 0; j < c->keys; j++) {
        double dp = 0, size = 0, error = row[j].error + mean + (2 + fabs(lse)) * u->e;
        if (!(row[j].p > 0))
            continue;
        for (int i = 0; i < value_size; i++) {
            dp += d_o[i] * v[(size_t)j * stride + (size_t)i];
            size += fabs(d_o[i] * v[(size_t)j * stride + (size_t)i]);
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
        }
        for (int i = 0; i < value_size; i++) {
            size_t to = v_at + (size_t)j * stride + (size_t)i;
            out->value[DKV][to] += row[j].p * d_o[i];
            out->bound[DKV][to] += row[j].p * (error + u->p + u->u + u->e) * fabs(d_o[i]);
        }
    }
    for (int i = 0; i < c->head_size; i++)
        dq_bound[i] += u->r * fabs(dq[i]);
}

static struct results model(const struct problem *p, const struct roundings *u)
{
    const struct attention_case *c = &p->c;
    size_t size = (size_t)c->head_size, stride = (size_t)attention_kv_width(&p->shape);
    struct model_row *row = allocate((size_t)c->keys * sizeof *row);
    struct results out;
    for (int i = 0; i < OUTPUTS; i++) {
        size_t bytes = attention_output_count(p, i) * sizeof(double);
        out.value[i] = memset(allocate(bytes), 0, bytes);
        out.bound[i] = memset(allocate(bytes), 0, bytes);
    }
    for (int s = 0; s < c->segments; s++)
        for (int h = 0; h < c->heads; h++)
            for (int r = 0; r < c->queries; r++) {
                size_t kv_head = (size_t)(h * c->kv_heads / c->heads),
                       first = (size_t)s * (size_t)c->keys * stride;
                model_row(
                    &out, p, u, row,
                    ((size_t)s * (size_t)c->queries + (size_t)r) * (size_t)c->heads + (size_t)h,
                    ((size_t)s * (size_t)c->heads + (size_t)h) * (size_t)c->queries + (size_t)r,
                    first + kv_head * size,
                    first + (size_t)c->kv_heads * size + kv_head * (size_t)p->shape.value_size, h,
                    r);
            }
    for (size_t i = 0; i < p->kv_count; i++)
        out.bound[DKV][i] += u->r * fabs(out.value[DKV][i]);
    for (int i = 0; i < OUTPUTS; i++) /* what falls below the smallest float */
        for (size_t j = 0; j < attention_output_count(p, i); j++)
            out.bound[i][j] += 1e-35 * (1 + c->size);
    free(row);
    return out;
}

static void check(const struct problem *p, int turn)
{
    for (int s = 0; s < attention_set_count; s++) {
        if (!attention_has_turn(s, turn))
            continue;
        struct roundings u = roundings_of(attention_sets[s]);
        struct results want = model(p, &u), got = attention_run(attention_sets[s], p);
        for (int i = 0; i < OUTPUTS; i++)
            if (compare_bounded(attention_outputs[i], got.value[i], want.value[i], want.bound[i],
                                attention_output_count(p, i), 1))
                attention_fail("differs from the model", attention_sets[s], &p->c);
        attention_results_free(&want);
        attention_results_free(&got);
    }
}

static void check_cases(const struct attention_case *cases, int count)
{
    for (int i = 0; i < count; i++) {
        struct problem p = attention_problem(&cases[i]);
        check(&p, i);
        attention_problem_free(&p);
    }
}

/* Every class of head sizes, aligned to 16 bytes and not, with every form of scores: plain, biased,
 * general. */
static void test_head_sizes(void **state)
{
    static const int sizes[] = {1, 16, 31, 64, 80, 128, 192, 256, 257, 512};
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
                                       form == 1 ? 2 : 0,
                                       0};
            struct problem p = attention_problem(&c);
            check(&p, i + form);
            attention_problem_free(&p);
        }
}

/* Values of another size than keys, either aligned to 16 bytes or not, by tiles and one by one. */
static void test_value_sizes(void **state)
{
    static const int sizes[][2] = {{192, 128}, {96, 64}, {24, 16}, {16, 24},  {31, 17},
                                   {40, 100},  {64, 1},  {1, 64},  {512, 100}};
    (void)state;
    for (int i = 0; i < LENGTH(sizes); i++)
        for (int form = 0; form < 3; form++) {
            int n = sizes[i][0] > 128 ? 34 : 65, queries = form == 2 ? 3 : n;
            struct attention_case c = {.segments = 1,
                                       .heads = 2,
                                       .kv_heads = 1 + i % 2,
                                       .head_size = sizes[i][0],
                                       .value_size = sizes[i][1],
                                       .positions = n,
                                       .keys = n,
                                       .queries = queries,
                                       .bias = form ? BIAS_STEEP : BIAS_NONE,
                                       .size = 1,
                                       .d_o = 1};
            struct problem p = attention_problem(&c);
            check(&p, i + form);
            attention_problem_free(&p);
        }
}

static void test_sizes(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
        {2, 0, 2, 2, 64, 1, 1, 1, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 64, 2, 2, 2, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 1, 1, 64, 9, 9, 9, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0,
         0}, /* the fewest queries that go by tiles */
        {1, 0, 2, 2, 64, 9, 9, 8, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 2, 64, 63, 63, 63, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 257, 257, 257, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 128, 130, 130, 130, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        /* queries and keys are the last ones */
        {2, 0, 2, 1, 64, 200, 140, 70, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 131, 130, 65, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 128, 257, 130, 63, 0, BIAS_NONE, 0, 1, 0, 1, 1, 0, 0, 0},
        {1, 0, 6, 4, 32, 33, 33, 31, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0,
         0}, /* groups of two heads and of one */
        {1, 0, 5, 1, 16, 33, 33, 33, 0, BIAS_RANDOM, 1, 1, 0, 1, 1, 0, 0, 0},
        /* few queries: several blocks of keys, groups */
        {2, 0, 4, 2, 64, 600, 600, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 80, 513, 513, 3, 0, BIAS_GENTLE, 1, 1, 7, 1, 1, 0, 0, 0},
        {1, 0, 3, 1, 31, 300, 290, 2, 0, BIAS_HOLES, 0, 2, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 2, 128, 270, 270, 8, 100, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 256, 257, 257, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 512, 300, 300, 3, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 2, 0},
        {1, 0, 2, 2, 300, 40, 40, 2, 0, BIAS_RANDOM, 1, 1, 5, 1, 1, 0, 0, 261},
    };
    (void)state;
    check_cases(cases, LENGTH(cases));
}

static void test_masks(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
        {1, 0, 1, 1, 64, 130, 130, 130, 127, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0,
         0}, /* just one pair of the first tiles is masked */
        {1, 0, 1, 1, 64, 130, 130, 130, 1, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 200, 200, 200, 64, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 64, 200, 200, 140, 65, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 128, 140, 140, 140, 33, BIAS_NONE, 0, 0, 20, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 300, 300, 20, 40, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0,
         0}, /* keys that no query sees */
        {1, 0, 2, 2, 64, 66, 66, 66, 0, BIAS_HOLES, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 64, 130, 130, 4, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 128, 130, 130, 130, 0, BIAS_CUT, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 2, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 257, 257, 257, 0, BIAS_STEEP, 0, 0, 0, 1, 1, 0, 0,
         0}, /* most tiles left out */
        {1, 0, 2, 1, 128, 150, 150, 120, 0, BIAS_STEEP, 1, 2, 5, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 32, 300, 300, 200, 90, BIAS_STEEP, 0, 0, 0, 8, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 130, 130, 130, 0, BIAS_NONE, 0, 0, 0, 8, 1, 0, 0,
         0}, /* scores in the hundreds */
        /* first keys beside a window: in a tile of their own, in that of the window, and in several
         */
        {1, 0, 2, 1, 64, 300, 300, 300, 20, BIAS_NONE, 0, 0, 0, 1, 1, 1, 0, 0},
        {1, 0, 2, 2, 64, 130, 130, 130, 33, BIAS_RANDOM, 0, 0, 0, 1, 1, 70, 0, 0},
        {1, 0, 2, 1, 32, 300, 260, 200, 30, BIAS_GENTLE, 0, 2, 0, 1, 1, 50, 0, 0},
        {1, 0, 1, 1, 128, 200, 200, 200, 9, BIAS_STEEP, 1, 0, 5, 1, 1, 4, 0, 0},
        {1, 0, 1, 1, 64, 300, 240, 100, 64, BIAS_RANDOM, 0, 0, 0, 1, 1, 60, 0,
         0}, /* none of them among the keys */
        {1, 0, 2, 1, 64, 600, 600, 3, 40, BIAS_RANDOM, 0, 0, 0, 1, 1, 300, 0, 0}, /* few queries */
        {1, 0, 1, 1, 192, 130, 130, 130, 5, BIAS_NONE, 0, 0, 0, 1, 1, 4, 0, 0},
        /* chunks: that end within tiles and with them, longer than a tile and shorter; keys from
           within one; few queries */
        {1, 0, 2, 1, 64, 300, 300, 300, -50, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 2, 64, 256, 256, 256, -128, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 2, 1, 32, 300, 260, 200, -7, BIAS_GENTLE, 1, 2, 4, 1, 1, 0, 2, 0},
        {1, 0, 2, 1, 128, 300, 260, 200, -131, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 257, 257, 257, -100, BIAS_STEEP, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 192, 130, 130, 130, -33, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 512, 80, 70, 60, -33, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 64, 600, 600, 3, -299, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 70, 70, 70, -1000, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        /* sinks, by tiles and for few queries: among the scores, and far above and below them */
        {2, 0, 4, 2, 64, 130, 130, 130, 20, BIAS_NONE, 0, 0, 0, 1, 1, 0, 3, 0},
        {1, 0, 4, 2, 32, 200, 200, 140, 0, BIAS_GENTLE, 1, 1, 5, 1, 1, 0, 60, 0},
        {1, 0, 4, 1, 64, 300, 300, 3, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 3, 0},
        {1, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 1, 0},
        {1, 0, 2, 1, 64, 130, 130, 4, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 1, 0},
    };
    (void)state;
    check_cases(cases, LENGTH(cases));
}

/* A scale of any sign. */
static void test_scale(void **state)
{
    static const double scales[] = {-0.125, 0, 1};
    (void)state;
    for (int i = 0; i < LENGTH(scales); i++) {
        struct attention_case c = {1, 0, 1, 1, 64, 33, 33, 33, 0, i ? BIAS_NONE : BIAS_GENTLE,
                                   0, 0, 0, 1, 1,  0,  0,  0};
        struct problem p = attention_problem(&c);
        p.shape.scale = scales[i];
        check(&p, i);
        attention_problem_free(&p);
    }
}

/* Queries that leave the first 128 keys out by far, and beside them one, of each warp in turn that
 * looks for the smallest, which sees all keys alike. The mask is what has tiles looked at. */
static void test_flat_queries(void **state)
{
    enum { ROWS = 260, KEYS = 128, SIZE = 64 };
    struct attention_case c = {1,           0, 1, 1, SIZE, ROWS, ROWS, ROWS, 0,
                               BIAS_RANDOM, 0, 0, 0, 1,    1,    0,    0,    0};
    (void)state;
    for (int flat = 0; flat < 8; flat++) {
        struct problem p = attention_problem(&c);
        for (size_t t = 0; t < ROWS; t++)
            p.bias[t] = t + 1 < ROWS ? 0 : -INFINITY;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < SIZE; i++) {
                p.q[r * SIZE + i] = r % 64 == (size_t)flat ? 0 : 6;
                p.kv[2 * r * SIZE + i] = r < KEYS ? 0 : 6; /* scores of 0, and of 288 */
            }
        check(&p, flat);
        attention_problem_free(&p);
    }
}

/* Heads of 256 by each open set, forward and in reverse: refused with one error that has both
 * texts. */
static void require_refused(const char *begin, const char *end)
{
    for (int s = 0; s < attention_set_count; s++)
        for (int reverse = 0; reverse < 2; reverse++) {
            struct attention_case c = {1,         0, 1, 1, 256, 9, 9, 9, 0,
                                       BIAS_NONE, 0, 0, 0, 1,   1, 0, 0, 0};
            struct problem p = attention_problem(&c);
            struct error e;
            struct attention *a = attention_sets[s]->attention_create(attention_sets[s], &p.shape,
                                                                      &e);
            struct buffer *q = buffer_of(attention_sets[s], ROLE_ACTIVATION, p.q, p.q_count),
                          *kv = buffer_of(attention_sets[s], ROLE_ACTIVATION, p.kv, p.kv_count),
                          *o = buffer_of(attention_sets[s], ROLE_ACTIVATION, p.q, p.q_count),
                          *dkv = buffer_of(attention_sets[s], ROLE_ACTIVATION, p.kv, p.kv_count),
                          *lse = buffer_of(attention_sets[s], ROLE_STATISTIC, p.q, p.lse_count);
            if (reverse)
                attention_sets[s]->attention_reverse(attention_sets[s], o, dkv, q, q, kv, q, lse, a,
                                                     NULL, 1, c.queries, c.keys);
            else
                attention_sets[s]->attention(attention_sets[s], o, lse, q, kv, a, NULL, 1,
                                             c.queries, c.keys);
            assert_int_equal(attention_sets[s]->synchronize(attention_sets[s], &e), -1);
            if (!strstr(e.text, begin) || !strstr(e.text, end))
                fail_msg("%s", e.text);
            assert_int_equal(attention_sets[s]->synchronize(attention_sets[s], &e), 0);
            struct buffer *all[] = {q, kv, o, dkv, lse};
            for (int i = 0; i < LENGTH(all); i++)
                attention_sets[s]->destroy(attention_sets[s], all[i]);
            attention_sets[s]->attention_free(attention_sets[s], a);
            attention_problem_free(&p);
        }
}

/* Devices whose blocks have less shared memory (99 KB: compute capability 8.6, 8.9, 12.0; 163
 * KB: 8.0) have smaller tiles, and where none would fit a call is refused. The stand-in's is what
 * its environment says when a set is opened. */
static void test_shared_memory(void **state)
{
    static const int sizes[] = {64, 65, 128, 129, 256, 512};
    static const char *const kb[] = {"99", "163"};
    struct kernels *before[3];
    (void)state;
    memcpy(before, attention_sets, sizeof attention_sets);
    if (!attention_set_count || !strstr(attention_sets[0]->name, "stand-in"))
        skip();
    for (int limit = 0; limit < LENGTH(kb); limit++) {
        setenv("REACH_CUDA_HOST_SHARED", kb[limit], 1);
        attention_set_count = 0;
        assert_int_equal(attention_open_sets(NULL), 0);
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
                                           0,
                                           0};
                struct problem p = attention_problem(&c);
                for (int turn = 0; turn < 2; turn++) {
                    int tf32 = (i + general + turn) % 2; /* with bf16; else f32 */
                    if (limit == 0 ? sizes[i] <= 256 || !tf32 /* does not fit */ : turn == 0)
                        check(&p, tf32);
                }
                attention_problem_free(&p);
            }
        attention_close_sets(NULL);
    }
    setenv("REACH_CUDA_HOST_SHARED", "48", 1);
    attention_set_count = 0;
    assert_int_equal(attention_open_sets(NULL), 0);
    require_refused("attention: head size 256 in ", "and this GPU has 49152 (expected");
    attention_close_sets(NULL);
    unsetenv(
        "REACH_CUDA_HOST_SHARED"); /* what the runtime does not grant, though the device has it */
    attention_set_count = 0;
    assert_int_equal(attention_open_sets(NULL), 0);
    setenv("REACH_CUDA_HOST_SHARED", "48", 1);
    require_refused("GPU: attention: shared memory of a block: ", "invalid argument");
    attention_close_sets(NULL);
    unsetenv("REACH_CUDA_HOST_SHARED");
    memcpy(attention_sets, before, sizeof attention_sets);
    attention_set_count = LENGTH(attention_sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_sizes),   cmocka_unit_test(test_value_sizes),
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_rounding),     cmocka_unit_test(test_rounding_weights),
        cmocka_unit_test(test_scale),        cmocka_unit_test(test_skipping),
        cmocka_unit_test(test_flat_queries), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_same_bytes),   cmocka_unit_test(test_shared_memory),
    };
    return cmocka_run_group_tests(tests, attention_open_sets, attention_close_sets);
}
