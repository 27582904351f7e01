/* Cases of any operation, run by every kernel set that this machine has and compared with the f64
 * reference. */
#ifndef REACH_TESTS_KERNEL_CASES_H
#define REACH_TESTS_KERNEL_CASES_H

#include "tests/kernel_run.h"

enum op {
    OP_LINEAR,
    OP_NORM,
    OP_HEADS,
    OP_CLIP,
    OP_ACTIVATION,
    OP_XIELU,
    OP_EMBED,
    OP_ROTATE,
    OP_SCALE_QUERIES,
    OP_MOVES,
    OP_ROW_NORMS,
    OP_COPY,
    OP_HEAD,
    OP_HEAD_ROWS,
    OP_JOIN,
    OP_JOIN_KEYS,
    OP_RECURRENCE,
    OP_GATING,
    OP_SCAN,
    OP_CHANNEL_GATING,
    OP_LRU,
    OP_WKV,
    OP_CONVOLUTION,
    OP_ROUTE,
    OP_MIX,
    OP_RUNS,
    OP_ATTENTION
};

/* All cases begin with segments and first. */
struct any_case {
    enum op op;
    union {
        struct {
            int segments, first;
        };
        struct linear_case linear;
        struct norm_case norm;
        struct heads_case heads;
        struct clip_case clip;
        struct activation_case activation;
        struct xielu_case xielu;
        struct rows_case rows;
        struct head_case head;
        struct head_rows_case head_rows;
        struct copy_case copy;
        struct join_case join;
        struct join_keys_case join_keys;
        struct recurrence_case recurrence;
        struct gating_case gating;
        struct scan_case scan;
        struct channel_gating_case channel_gating;
        struct lru_case lru;
        struct wkv_case wkv;
        struct convolution_case convolution;
        struct route_case route;
        struct mix_case mix;
        struct runs_case runs;
        struct attention_case attention;
    };
};

extern struct kernels *oracle; /* the f64 reference, one of the sets */
extern struct kernels *sets[16];
extern int set_count;

/* Setup and teardown of a group: opens the sets that can run, and only those of the plug-in and the
 * oracle where REACH_CUDA names one. */
int open_sets(void **state);
int close_sets(void **state);

/* Of the least precise numbers that the operation reads, writes or multiplies. */
double roundoff(const struct kernels *k, enum op op);
/* The case's fields after `first` as numbers, in the order of kernel_run.h. */
void describe(char text[300], const struct kernels *k, const struct any_case *c);
/* All outputs of `got` have the bits of segments `from` on of `want`, or the test fails. */
void require_same(const char *change, struct kernels *k, const struct any_case *c,
                  const struct outputs *got, const struct outputs *want, int from);
/* Attention's. */
enum { ATTENTION_CASES = 54 };
extern const struct attention_case set_attention_cases[ATTENTION_CASES];
/* Runs the case on every set: near to the oracle by the outputs' bounds, and the same bits with
 * other numbers of threads and segments. */
void check_case(const struct any_case *c);

#endif
