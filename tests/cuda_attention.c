#include "tests/cuda_attention.h"
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

struct kernels *attention_sets[3];

int attention_set_count;

int attention_open_sets(void **state)
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
        attention_sets[attention_set_count] = kernel_sets[i].open(&e);
        if (!attention_sets[attention_set_count]) {
            print_error("cuda (%s): %s\n", kernel_sets[i].dtype, e.text);
            return -1;
        }
        attention_set_count++;
    }
    return 0;
}

int attention_close_sets(void **state)
{
    (void)state;
    for (int i = 0; i < attention_set_count; i++)
        attention_sets[i]->close(attention_sets[i]);
    return 0;
}

const char *const attention_outputs[OUTPUTS] = {"o", "lse", "dq", "dkv"};

double *attention_bf16_values(int segments, int first, size_t each, unsigned seed, double size)
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

struct problem attention_problem(const struct attention_case *c)
{
    struct problem p = {.c = *c,
                        .bias = attention_bias(c),
                        .multiplier = attention_multiplier(c),
                        .key_bias = attention_key_bias(c),
                        .sinks = attention_sinks(c)};
    p.shape = (struct attention_shape){.heads = c->heads,
                                       .kv_heads = c->kv_heads,
                                       .head_size = c->head_size,
                                       .value_size = c->value_size ? c->value_size : c->head_size,
                                       .positions = c->positions,
                                       .window = case_window(c),
                                       .chunk = case_chunk(c),
                                       .keep = c->keep,
                                       .scale = 1 / sqrt((double)c->head_size),
                                       .soft_cap = c->soft_cap,
                                       .bias = p.bias,
                                       .multiplier = p.multiplier,
                                       .key_bias = p.key_bias};
    size_t q_each = (size_t)c->queries * (size_t)c->heads * (size_t)c->head_size,
           kv_each = (size_t)c->keys * (size_t)attention_kv_width(&p.shape),
           o_each = (size_t)c->queries * (size_t)attention_o_width(&p.shape);
    p.q = attention_bf16_values(c->segments, c->first, q_each, 1, c->size);
    p.kv = attention_bf16_values(c->segments, c->first, kv_each, 2, c->size);
    p.d_o = attention_bf16_values(c->segments, c->first, o_each, 3, c->d_o);
    p.q_count = (size_t)c->segments * q_each;
    p.kv_count = (size_t)c->segments * kv_each;
    p.o_count = (size_t)c->segments * o_each;
    p.lse_count = (size_t)c->segments * (size_t)c->heads * (size_t)c->queries;
    return p;
}

void attention_problem_free(struct problem *p)
{
    free(p->bias), free(p->multiplier), free(p->key_bias), free(p->sinks), free(p->q), free(p->kv),
        free(p->d_o);
}

size_t attention_output_count(const struct problem *p, int output)
{
    const size_t counts[OUTPUTS] = {
        [O] = p->o_count, [LSE] = p->lse_count, [DQ] = p->q_count, [DKV] = p->kv_count};
    return counts[output];
}

void attention_results_free(struct results *r)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(r->value[i]), free(r->bound[i]);
}

struct results attention_run(struct kernels *k, const struct problem *p)
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
        in[i] = buffer_of(k, ROLE_ACTIVATION, inputs[i],
                          i == 0   ? p->q_count
                          : i == 1 ? p->kv_count
                                   : p->o_count);
    for (int i = 0; i < OUTPUTS; i++) {
        size_t count = attention_output_count(p, i);
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
        k->read(k, got.value[i], out[i], 0, attention_output_count(p, i));
        k->destroy(k, out[i]);
    }
    for (int i = 0; i < 3; i++)
        k->destroy(k, in[i]);
    k->attention_free(k, a);
    k->weight_free(k, sink);
    return got;
}

void attention_fail(const char *what, const struct kernels *k, const struct attention_case *c)
{
    fail_msg("%s: %s %s, segments %d, heads %d/%d of %d and %d, positions %d keys %d queries %d "
             "window %d "
             "keep %d bias %d multiplier %d key "
             "bias %d soft-cap %g size %g sinks %g",
             what, k->name, k->dtype, c->segments, c->heads, c->kv_heads, c->head_size,
             c->value_size, c->positions, c->keys, c->queries, c->window, c->keep, c->bias,
             c->multiplier, c->key_bias, c->soft_cap, c->size, c->sinks);
}

int attention_has_turn(int s, int turn)
{
    return s == attention_set_count - 1 || s == turn % (attention_set_count - 1);
}
