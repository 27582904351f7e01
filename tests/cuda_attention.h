/* Problems of attention, run by every set, and a model of what the CUDA attention_sets round. */
#ifndef REACH_TESTS_CUDA_ATTENTION_H
#define REACH_TESTS_CUDA_ATTENTION_H

#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stddef.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* A case's inputs and outputs; queries' rows are [heads, head_size], those of keys and values
 * [kv_heads, head_size] and [kv_heads, value_size], the output's [heads, value_size]. */
struct problem {
    struct attention_case c;
    struct attention_shape shape;
    double *bias, *multiplier, *key_bias, *sinks;
    double *q, *kv, *d_o;
    size_t q_count, kv_count, o_count, lse_count;
};

enum { O, LSE, DQ, DKV, OUTPUTS };

struct results {
    double *value[OUTPUTS], *bound[OUTPUTS]; /* bound is NULL for what a set gave */
};

extern struct kernels *attention_sets[3];

extern int attention_set_count;

int attention_open_sets(void **state);

int attention_close_sets(void **state);

extern const char *const attention_outputs[OUTPUTS];

double *attention_bf16_values(int segments, int first, size_t each, unsigned seed, double size);

struct problem attention_problem(const struct attention_case *c);

void attention_problem_free(struct problem *p);

size_t attention_output_count(const struct problem *p, int output);

void attention_results_free(struct results *r);

/* The same on a set, into buffers that hold NaN. */
struct results attention_run(struct kernels *k, const struct problem *p);

void attention_fail(const char *what, const struct kernels *k, const struct attention_case *c);

/* 1 for set s if the turn-th case is for it: all are for the last, which is bf16, and each is for
 * one of the others; for time's sake. */
int attention_has_turn(int s, int turn);

/* Tests of t-kernels-cuda-attention.c: what holds bit for bit (cuda_attention_bytes.c). */
void test_rounding(void **state);
void test_rounding_weights(void **state);
void test_skipping(void **state);
void test_not_finite(void **state);
void test_same_bytes(void **state);

#endif
