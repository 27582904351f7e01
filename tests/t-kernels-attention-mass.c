/* attention_mass of every kernel set against a plain loop in double on the same inputs, at awkward
 * sizes. */
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many of the last queries count; 0: all. */
struct mass_case {
    struct attention_case a;
    int counted;
};

static const struct mass_case cases[] = {
    {{1, 0, 1, 1, 1, 1, 1, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0}, 0},
    {{2, 0, 2, 2, 8, 33, 33, 33, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0}, 17},
    {{2, 3, 4, 2, 31, 130, 130, 130, 0, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0}, 65},
    {{1, 0, 3, 1, 64, 300, 300, 300, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 0, 0}, 150},
    {{1, 0, 2, 1, 16, 300, 300, 200, 0, BIAS_STEEP, 0, 0, 0, 1, 1, 0, 0, 0}, 97},
    {{2, 0, 2, 2, 16, 200, 120, 96, 25, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0}, 96},
    {{1, 0, 2, 2, 24, 130, 130, 1, 1, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0}, 1},
    {{1, 0, 2, 1, 17, 100, 100, 100, 0, BIAS_HOLES, 1, 1, 5, 1, 1, 0, 0, 0}, 50},
    {{1, 0, 2, 1, 20, 100, 97, 96, 0, BIAS_CUT, 1, 2, 0, 1, 1, 0, 0, 0}, 3},
    {{1, 0, 2, 2, 16, 65, 65, 65, 0, BIAS_HEAD_MASKED, 0, 0, 0, 1, 1, 0, 0, 0}, 33},
    {{1, 0, 2, 1, 24, 300, 300, 300, 20, BIAS_RANDOM, 0, 0, 0, 1, 1, 4, 0, 0}, 150},
    {{2, 0, 2, 2, 16, 250, 220, 100, 31, BIAS_NONE, 0, 1, 0, 1, 1, 130, 0, 0}, 60},
    {{2, 0, 4, 2, 16, 200, 200, 150, 40, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 2, 0}, 100},
    {{1, 0, 2, 1, 16, 65, 65, 1, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 3, 0}, 1},
    {{1, 0, 1, 1, 256, 200, 200, 200, 0, BIAS_NONE, 0, 0, 2, 2, 1, 0, 0, 0}, 100},
    {{1, 0, 4, 2, 512, 131, 131, 131, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 0, 0}, 65},
    {{2, 0, 4, 2, 24, 130, 130, 130, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 0, 16}, 65},
    {{2, 0, 2, 1, 16, 300, 280, 200, -37, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0}, 150},
    {{1, 0, 2, 2, 24, 250, 250, 250, -110, BIAS_RANDOM, 1, 1, 2, 1, 1, 0, 2, 0}, 125},
};

/* Numbers of a row of keys and values, and of outputs. */
static size_t kv_width_of(const struct attention_case *c)
{
    return (size_t)c->kv_heads *
           (size_t)(c->head_size + (c->value_size ? c->value_size : c->head_size));
}

static size_t o_width_of(const struct attention_case *c)
{
    return (size_t)c->heads * (size_t)(c->value_size ? c->value_size : c->head_size);
}

/* mass [segments, heads, keys] by the definition, in double. */
static void plain(double *mass, const struct attention_case *c, int counted, const double *q,
                  const double *kv, const double *bias, const double *multiplier,
                  const double *key_bias, const double *sinks)
{
    size_t size = (size_t)c->head_size;
    double p[512];
    memset(mass, 0, (size_t)c->segments * (size_t)c->heads * (size_t)c->keys * sizeof *mass);
    for (int s = 0; s < c->segments; s++)
        for (int h = 0; h < c->heads; h++)
            for (int r = c->queries - counted; r < c->queries; r++) {
                const double *query =
                    q +
                    (((size_t)s * (size_t)c->queries + (size_t)r) * (size_t)c->heads + (size_t)h) *
                        size;
                int own = c->keys - c->queries + r;
                double largest = sinks ? sinks[h] : -INFINITY, sum = 0;
                for (int j = 0; j <= own; j++) {
                    const double *key = kv +
                                        ((size_t)s * (size_t)c->keys + (size_t)j) * kv_width_of(c) +
                                        (size_t)(h * c->kv_heads / c->heads) * size;
                    size_t table = (size_t)h * (size_t)c->positions;
                    double z = 0;
                    for (size_t i = 0; i < size; i++)
                        z += query[i] * key[i];
                    z /= sqrt((double)c->head_size);
                    if (c->soft_cap > 0)
                        z = c->soft_cap * tanh(z / c->soft_cap);
                    if (multiplier)
                        z *= multiplier[table + (size_t)(own - j)];
                    if (bias)
                        z += bias[table + (size_t)(own - j)];
                    if (key_bias)
                        z += key_bias[table + (size_t)(c->positions - c->keys + j)];
                    p[j] = case_sees(c, own, j) ? z : -INFINITY;
                    largest = fmax(largest, p[j]);
                }
                sum = sinks ? exp(sinks[h] - largest) : 0;
                for (int j = 0; j <= own; j++)
                    sum += p[j] = largest == -INFINITY ? 0 : exp(p[j] - largest);
                for (int j = 0; j <= own && sum > 0; j++)
                    mass[((size_t)s * (size_t)c->heads + (size_t)h) * (size_t)c->keys +
                         (size_t)(own - j)] += p[j] / sum;
            }
}

/* Also puts q and kv back as the set holds them. */
static double *run(struct kernels *k, const struct mass_case *m, double *q, double *kv,
                   const double *sinks, const struct attention_shape *shape)
{
    const struct attention_case *c = &m->a;
    size_t S = (size_t)c->segments,
           q_count = S * (size_t)c->queries * (size_t)c->heads * (size_t)c->head_size;
    size_t kv_count = S * (size_t)c->keys * kv_width_of(c),
           count = S * (size_t)c->heads * (size_t)c->keys;
    struct error e;
    struct attention *a = k->attention_create(k, shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    struct weight *sink = sinks_of(k, sinks, c->heads);
    struct buffer *bq = buffer_of(k, ROLE_ACTIVATION, q, q_count),
                  *bkv = buffer_of(k, ROLE_ACTIVATION, kv, kv_count);
    struct buffer *bo = buffer_new(k, ROLE_ACTIVATION, S * (size_t)c->queries * o_width_of(c)),
                  *lse = buffer_new(k, ROLE_STATISTIC, S * (size_t)c->heads * (size_t)c->queries);
    struct buffer *mass = buffer_new(k, ROLE_STATISTIC, count);
    double *out = allocate(count * sizeof *out);
    k->attention(k, bo, lse, bq, bkv, a, sink, c->segments, c->queries, c->keys);
    k->attention_mass(k, mass, bq, bkv, lse, a, sink, c->segments, c->queries, c->keys,
                      m->counted ? m->counted : c->queries);
    k->read(k, out, mass, 0, count);
    k->read(k, q, bq, 0, q_count);
    k->read(k, kv, bkv, 0, kv_count);
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    struct buffer *all[] = {bq, bkv, bo, lse, mass};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->attention_free(k, a);
    k->weight_free(k, sink);
    return out;
}

static void check_case(struct kernels *k, size_t number)
{
    const struct mass_case *m = &cases[number];
    const struct attention_case *c = &m->a;
    int counted = m->counted ? m->counted : c->queries, threads = omp_get_max_threads();
    size_t count = (size_t)c->segments * (size_t)c->heads * (size_t)c->keys;
    double *q = random_segments(c->segments, c->first,
                                (size_t)c->queries * (size_t)c->heads * (size_t)c->head_size, 1,
                                c->size);
    double *kv = random_segments(c->segments, c->first, (size_t)c->keys * kv_width_of(c), 2,
                                 c->size);
    double *bias = attention_bias(c), *multiplier = attention_multiplier(c),
           *key_bias = attention_key_bias(c), *sinks = attention_sinks(c),
           *want = allocate(count * sizeof *want);
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->kv_heads,
                                    .head_size = c->head_size,
                                    .value_size = c->value_size,
                                    .positions = c->positions,
                                    .window = case_window(c),
                                    .chunk = case_chunk(c),
                                    .keep = c->keep,
                                    .scale = 1 / sqrt((double)c->head_size),
                                    .soft_cap = c->soft_cap,
                                    .bias = bias,
                                    .multiplier = multiplier,
                                    .key_bias = key_bias};
    double *got = run(k, m, q, kv, sinks, &shape),
           tolerance = strcmp(k->dtype, "f64") == 0                           ? 1e-12
                       : strcmp(k->dtype, "tf32") == 0 || rounds_attention(k) ? 1e-2
                                                                              : 2e-5;
    plain(want, c, counted, q, kv, bias, multiplier, key_bias, sinks);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + want[i])) || (want[i] == 0 && got[i] != 0))
            fail_msg("%s %s, case %zu, head %zu, distance %zu: %.10g, expected %.10g", k->name,
                     k->dtype, number, i / (size_t)c->keys, i % (size_t)c->keys, got[i], want[i]);
    omp_set_num_threads(1);
    double *again = run(k, m, q, kv, sinks, &shape);
    omp_set_num_threads(threads);
    if (compare_exact("one thread", again, got, count))
        fail_msg("%s %s, case %zu: threads change it", k->name, k->dtype, number);
    free(q), free(kv), free(bias), free(multiplier), free(key_bias), free(sinks), free(want),
        free(got), free(again);
}

static void test_all_sets(void **state)
{
    int checked = 0;
    (void)state;
    omp_set_num_threads(3);
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e;
        if (!set_usable(&kernel_sets[i])) {
            print_message("kernel set %s %s cannot run here\n", kernel_sets[i].name,
                          kernel_sets[i].dtype);
            continue;
        }
        struct kernels *k = kernel_sets[i].open(&e);
        if (!k)
            fail_msg("%s: %s", kernel_sets[i].name, e.text);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            check_case(k, c);
        checked++;
        k->close(k);
    }
    assert_true(checked >= 3); /* reference in both types, cpu */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sets)};
    return cmocka_run_group_tests_name("attention mass", tests, NULL, NULL);
}
