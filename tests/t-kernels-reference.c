/* The reference set against PyTorch's autograd in float64 (tests/goldens/kernels), and against
 * itself: <J dx, dy> = <dx, J^T dy> with J dx by central differences of the forward operation. */
#include "kernels/reference/reference.h"
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kernels *single, *whole; /* f32, f64 */

static int open_sets(void **state)
{
    struct error e;
    (void)state;
    single = kernels_allocate(&e);
    whole = kernels_allocate(&e);
    if (!single || !whole)
        return -1;
    reference_fill_f32(single);
    reference_fill_f64(whole);
    return 0;
}

static int close_sets(void **state)
{
    (void)state;
    single->close(single);
    whole->close(whole);
    return 0;
}

/* ---- goldens ---- */

/* The number behind ` key=` in a case line. */
static double field(const char *line, const char *key)
{
    char pattern[40];
    snprintf(pattern, sizeof pattern, " %s=", key);
    const char *at = strstr(line, pattern);
    if (!at)
        fail_msg("kernels.txt: no %s in: %s", key, line);
    return strtod(at + strlen(pattern), NULL);
}

static int whole_field(const char *line, const char *key)
{
    return (int)field(line, key);
}

/* Runs the case of a line `case OP key=value ...`. */
static struct outputs run_line(struct kernels *k, const char *line, int bounds)
{
    char op[32];
    int S = whole_field(line, "segments");
    assert_int_equal(sscanf(line, "case %31s", op), 1);
    if (!strcmp(op, "linear")) {
        struct linear_case c = {S,
                                0,
                                whole_field(line, "rows"),
                                whole_field(line, "in"),
                                whole_field(line, "out"),
                                whole_field(line, "bias"),
                                whole_field(line, "accumulate"),
                                0};
        return run_linear(k, &c, bounds);
    }
    if (!strcmp(op, "norm")) {
        struct norm_case c = {S,
                              0,
                              whole_field(line, "rows"),
                              whole_field(line, "width"),
                              (enum norm_kind)whole_field(line, "kind"),
                              whole_field(line, "shift"),
                              whole_field(line, "accumulate"),
                              0,
                              field(line, "epsilon"),
                              whole_field(line, "vectors")};
        return run_norm(k, &c, bounds);
    }
    if (!strcmp(op, "norm_heads")) {
        struct heads_case c = {S,
                               0,
                               whole_field(line, "rows"),
                               whole_field(line, "heads"),
                               whole_field(line, "head_size"),
                               whole_field(line, "width"),
                               (enum norm_kind)whole_field(line, "kind"),
                               whole_field(line, "shift"),
                               0,
                               0};
        return run_norm_heads(k, &c, bounds);
    }
    if (!strcmp(op, "clip")) {
        struct clip_case c = {S, 0, whole_field(line, "rows"), whole_field(line, "width"),
                              field(line, "limit")};
        return run_clip(k, &c, bounds);
    }
    if (!strcmp(op, "activation")) {
        struct activation_case c = {S,
                                    0,
                                    whole_field(line, "rows"),
                                    whole_field(line, "width"),
                                    (enum activation)whole_field(line, "kind"),
                                    whole_field(line, "gated"),
                                    0,
                                    field(line, "size")};
        return run_activation(k, &c, bounds);
    }
    if (!strcmp(op, "xielu")) {
        struct xielu_case c = {S,
                               0,
                               whole_field(line, "rows"),
                               whole_field(line, "width"),
                               0,
                               field(line, "size"),
                               {field(line, "positive"), field(line, "negative"),
                                field(line, "linear"), field(line, "limit")}};
        return run_xielu(k, &c, bounds);
    }
    if (!strcmp(op, "embed") || !strcmp(op, "moves")) {
        struct rows_case c = {S,
                              0,
                              whole_field(line, "rows"),
                              whole_field(line, "positions"),
                              whole_field(line, "heads"),
                              whole_field(line, "head_size"),
                              0,
                              PAIRING_HALF,
                              whole_field(line, "position_rows"),
                              0,
                              0};
        return op[0] == 'e' ? run_embed(k, &c, bounds) : run_moves(k, &c, bounds);
    }
    if (!strcmp(op, "rotation")) {
        struct rows_case c = {S,
                              0,
                              whole_field(line, "rows"),
                              whole_field(line, "positions"),
                              whole_field(line, "heads"),
                              whole_field(line, "head_size"),
                              whole_field(line, "rotary_size"),
                              (enum rotary_pairing)whole_field(line, "pairing"),
                              0,
                              0,
                              whole_field(line, "rotary_first")};
        return run_rotate(k, &c, bounds);
    }
    if (!strcmp(op, "head")) {
        struct head_case c = {S,
                              0,
                              whole_field(line, "width"),
                              whole_field(line, "vocabulary"),
                              whole_field(line, "bias"),
                              field(line, "soft_cap"),
                              field(line, "seed"),
                              field(line, "size")};
        return run_head(k, &c, bounds);
    }
    if (!strcmp(op, "recurrence")) {
        struct recurrence_case c = {S,
                                    0,
                                    whole_field(line, "keys"),
                                    whole_field(line, "queries"),
                                    whole_field(line, "heads"),
                                    whole_field(line, "key_heads"),
                                    whole_field(line, "key_size"),
                                    whole_field(line, "value_size"),
                                    whole_field(line, "delta"),
                                    whole_field(line, "states"),
                                    field(line, "decay"),
                                    field(line, "scale"),
                                    0,
                                    whole_field(line, "by_channel")};
        return run_recurrence(k, &c, bounds);
    }
    if (!strcmp(op, "gating")) {
        struct gating_case c = {S,
                                0,
                                whole_field(line, "rows"),
                                whole_field(line, "heads"),
                                whole_field(line, "bias"),
                                0,
                                field(line, "low"),
                                field(line, "high"),
                                field(line, "write"),
                                field(line, "size")};
        return run_gating(k, &c, bounds);
    }
    if (!strcmp(op, "lru")) {
        struct lru_case c = {S,
                             0,
                             whole_field(line, "rows"),
                             whole_field(line, "width"),
                             0,
                             field(line, "size"),
                             field(line, "rates")};
        return run_lru(k, &c, bounds);
    }
    if (!strcmp(op, "scan")) {
        struct scan_case c = {S,
                              0,
                              whole_field(line, "keys"),
                              whole_field(line, "queries"),
                              whole_field(line, "channels"),
                              whole_field(line, "size"),
                              whole_field(line, "selective"),
                              0,
                              field(line, "decay"),
                              field(line, "time"),
                              whole_field(line, "groups")};
        return run_scan(k, &c, bounds);
    }
    if (!strcmp(op, "wkv")) {
        struct wkv_case c = {S,
                             0,
                             whole_field(line, "rows"),
                             whole_field(line, "queries"),
                             whole_field(line, "channels"),
                             field(line, "decay"),
                             field(line, "size")};
        return run_wkv(k, &c, bounds);
    }
    if (!strcmp(op, "channel_gating")) {
        struct channel_gating_case c = {S,
                                        0,
                                        whole_field(line, "rows"),
                                        whole_field(line, "heads"),
                                        whole_field(line, "key_size"),
                                        whole_field(line, "bias"),
                                        field(line, "write"),
                                        field(line, "floor"),
                                        field(line, "size")};
        return run_channel_gating(k, &c, bounds);
    }
    assert_string_equal(op, "attention");
    struct attention_case c = {S,
                               0,
                               whole_field(line, "heads"),
                               whole_field(line, "kv_heads"),
                               whole_field(line, "head_size"),
                               whole_field(line, "positions"),
                               whole_field(line, "keys"),
                               whole_field(line, "queries"),
                               whole_field(line, "window"),
                               (enum bias_kind)whole_field(line, "bias"),
                               whole_field(line, "multiplier"),
                               whole_field(line, "key_bias"),
                               field(line, "soft_cap"),
                               field(line, "size"),
                               1,
                               whole_field(line, "keep"),
                               0,
                               whole_field(line, "value_size")};
    return run_attention(k, &c, bounds);
}

/* The array NAME COUNT and its numbers at the file's position. */
static double *read_array(FILE *file, size_t *count)
{
    char name[32], number[64];
    assert_int_equal(fscanf(file, "%31s %zu", name, count), 2);
    double *values = allocate(*count * sizeof *values);
    for (size_t i = 0; i < *count; i++) {
        assert_int_equal(fscanf(file, "%63s", number), 1);
        values[i] = strtod(number, NULL);
    }
    assert_int_equal(fgetc(file), '\n');
    return values;
}

static void test_goldens(void **state)
{
    FILE *file = fopen("tests/goldens/kernels/kernels.txt", "r");
    char line[400];
    int cases = 0;
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        struct outputs got = run_line(whole, line, 1), rounded = run_line(single, line, 0);
        cases++;
        for (int a = 0; a < got.count; a++) {
            size_t count, n = (size_t)got.segments * got.array[a].each;
            double *want = read_array(file, &count);
            if (count != n)
                fail_msg("%s: %zu values in %s, golden has %zu", line, n, got.array[a].name, count);
            if (compare_bounded(got.array[a].name, got.array[a].value, want, got.array[a].bound, n,
                                0x1p-53))
                fail_msg("f64 differs from PyTorch: %s", line);
            if (compare_bounded(got.array[a].name, rounded.array[a].value, want, got.array[a].bound,
                                n, 0x1p-24))
                fail_msg("f32 differs from PyTorch: %s", line);
            free(want);
        }
        outputs_free(&got);
        outputs_free(&rounded);
    }
    fclose(file);
    assert_int_equal(cases, 96);
}

/* ---- forward against reverse ---- */

/* A differentiable map in double: y [out] = forward(x [in]), dx [in] = reverse(x, dy [out]). */
struct map {
    const char *name;
    size_t in, out;
    void (*forward)(const struct map *m, double *y, const double *x);
    void (*reverse)(const struct map *m, double *dx, const double *x, const double *dy);
    const void *context;
};

static double inner(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void check_map(const struct map *m)
{
    const double step = 0x1p-17;
    double *x = random_values(m->in, 31, 0.5), *dx = random_values(m->in, 32, 0.5),
           *dy = random_values(m->out, 33, 0.5);
    double *moved = allocate(m->in * sizeof(double)), *ahead = allocate(m->out * sizeof(double)),
           *behind = allocate(m->out * sizeof(double));
    double *gradient = allocate(m->in * sizeof(double));
    for (size_t i = 0; i < m->in; i++)
        moved[i] = x[i] + step * dx[i];
    m->forward(m, ahead, moved);
    for (size_t i = 0; i < m->in; i++)
        moved[i] = x[i] - step * dx[i];
    m->forward(m, behind, moved);
    for (size_t i = 0; i < m->out; i++)
        ahead[i] = (ahead[i] - behind[i]) / (2 * step);
    m->reverse(m, gradient, x, dy);
    double along = inner(ahead, dy, m->out), back = inner(gradient, dx, m->in);
    double size = sqrt(inner(ahead, ahead, m->out) * inner(dy, dy, m->out) /
                       (double)m->out); /* what <J dx, dy> is for a dy at random */
    if (compare_values(m->name, &back, &along, 1, 1e-6 * size, 0))
        fail_msg("%s: reverse is not the transpose of forward", m->name);
    free(x), free(dx), free(dy), free(moved), free(ahead), free(behind), free(gradient);
}

static struct attention *create_attention(const struct attention_case *c)
{
    double *bias = attention_bias(c), *multiplier = attention_multiplier(c),
           *key_bias = attention_key_bias(c);
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->kv_heads,
                                    .head_size = c->head_size,
                                    .value_size = c->value_size,
                                    .positions = c->positions,
                                    .window = case_window(c),
                                    .chunk = case_chunk(c),
                                    .keep = c->keep,
                                    .scale = 0.3,
                                    .soft_cap = c->soft_cap,
                                    .bias = bias,
                                    .multiplier = multiplier,
                                    .key_bias = key_bias};
    struct error e;
    struct attention *a = whole->attention_create(whole, &shape, &e);
    if (!a)
        fail_msg("%s", e.text);
    free(bias), free(multiplier), free(key_bias);
    return a;
}

/* Numbers of a row's value or output in a head. */
static size_t value_size_of(const struct attention_case *c)
{
    return (size_t)(c->value_size ? c->value_size : c->head_size);
}

/* x: q [S, queries, heads head_size], then kv [S, keys, kv_heads (head_size + value_size)]. With
 * dy, writes dq and dkv behind each other; else o. */
static void attention_both(const struct attention_case *c, double *out, const double *x,
                           const double *dy)
{
    struct kernels *k = whole;
    size_t S = (size_t)c->segments, size = (size_t)c->head_size,
           heads = S * (size_t)c->queries * (size_t)c->heads, nq = heads * size,
           no = heads * value_size_of(c);
    size_t nkv = S * (size_t)c->keys * (size_t)c->kv_heads * (size + value_size_of(c));
    struct attention *a = create_attention(c);
    double *sinks = attention_sinks(c);
    struct weight *sink = sinks_of(k, sinks, c->heads);
    struct buffer *q = buffer_of(k, ROLE_ACTIVATION, x, nq),
                  *kv = buffer_of(k, ROLE_ACTIVATION, x + nq, nkv),
                  *o = buffer_new(k, ROLE_ACTIVATION, no);
    struct buffer *lse = buffer_new(k, ROLE_STATISTIC, heads),
                  *dq = buffer_new(k, ROLE_ACTIVATION, nq),
                  *dkv = buffer_new(k, ROLE_ACTIVATION, nkv);
    k->attention(k, o, lse, q, kv, a, sink, c->segments, c->queries, c->keys);
    if (dy) {
        struct buffer *d_o = buffer_of(k, ROLE_ACTIVATION, dy, no);
        k->attention_reverse(k, dq, dkv, d_o, q, kv, o, lse, a, sink, c->segments, c->queries,
                             c->keys);
        k->read(k, out, dq, 0, nq);
        k->read(k, out + nq, dkv, 0, nkv);
        k->destroy(k, d_o);
    } else {
        k->read(k, out, o, 0, no);
    }
    struct buffer *all[] = {q, kv, o, lse, dq, dkv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->attention_free(k, a);
    k->weight_free(k, sink);
    free(sinks);
}

static void attention_forward(const struct map *m, double *y, const double *x)
{
    attention_both(m->context, y, x, NULL);
}

static void attention_backward(const struct map *m, double *dx, const double *x, const double *dy)
{
    attention_both(m->context, dx, x, dy);
}

static void test_attention_transpose(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
        {1, 0, 2, 2, 16, 40, 40, 40, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 4, 2, 31, 33, 33, 33, 0, BIAS_GENTLE, 1, 1, 0, 1, 1, 0, 0, 0},
        {2, 0, 6, 1, 8, 33, 20, 7, 9, BIAS_RANDOM, 1, 2, 0.8, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 16, 40, 40, 40, 0, BIAS_HOLES, 0, 0, 0.5, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 16, 40, 40, 1, 0, BIAS_CUT, 1, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 4, 2, 16, 33, 33, 20, 9, BIAS_RANDOM, 0, 0, 2, 1, 1, 0, 2, 0},
        {2, 0, 4, 2, 12, 33, 33, 20, 9, BIAS_RANDOM, 1, 0, 2, 1, 1, 0, 2, 8},
        {1, 0, 2, 2, 5, 33, 33, 33, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 17},
        {2, 0, 4, 2, 16, 33, 30, 20, -8, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attention_case *c = &cases[i];
        size_t S = (size_t)c->segments, size = (size_t)c->head_size, values = value_size_of(c),
               heads = S * (size_t)(c->queries * c->heads),
               kv_heads = S * (size_t)(c->keys * c->kv_heads);
        char name[40];
        snprintf(name, sizeof name, "attention %zu", i);
        check_map(&(struct map){name, heads * size + kv_heads * (size + values), heads * values,
                                attention_forward, attention_backward, c});
    }
}

enum { ROWS = 3, WIDTH = 17, VOCABULARY = 29 };

struct norm_context {
    enum norm_kind kind;
    double epsilon;
};

static void norm_both(const struct map *m, double *out, const double *x, const double *dy)
{
    struct kernels *k = whole;
    size_t n = ROWS * WIDTH;
    double *scale = random_values(WIDTH, 41, 1), *shift = random_values(WIDTH, 42, 1);
    struct weight *w = weight_of(k, WEIGHT_VECTOR, scale, WIDTH, 1),
                  *b = weight_of(k, WEIGHT_VECTOR, shift, WIDTH, 1);
    const struct norm_context *given = m->context;
    struct norm norm = {given->kind, given->epsilon, w, b};
    struct rows rows = {1, ROWS};
    struct buffer *bx = buffer_of(k, ROLE_RESIDUAL, x, n), *y = buffer_new(k, ROLE_ACTIVATION, n),
                  *st = buffer_new(k, ROLE_STATISTIC, 2 * ROWS);
    k->norm(k, y, st, bx, &norm, rows, WIDTH);
    if (dy) {
        k->write(k, y, 0, dy, n);
        struct buffer *dx = buffer_new(k, ROLE_RESIDUAL, n);
        k->norm_reverse(k, dx, NULL, y, bx, st, &norm, rows, WIDTH, 0);
        k->read(k, out, dx, 0, n);
        k->destroy(k, dx);
    } else {
        k->read(k, out, y, 0, n);
    }
    k->destroy(k, bx);
    k->destroy(k, y);
    k->destroy(k, st);
    k->weight_free(k, w);
    k->weight_free(k, b);
    free(scale), free(shift);
}

static void norm_forward(const struct map *m, double *y, const double *x)
{
    norm_both(m, y, x, NULL);
}

/* x: up [ROWS, WIDTH], then gate. */
static void activation_both(const struct map *m, double *out, const double *x, const double *dy)
{
    struct kernels *k = whole;
    enum activation kind = *(const enum activation *)m->context;
    size_t n = ROWS * WIDTH;
    struct rows rows = {1, ROWS};
    struct buffer *up = buffer_of(k, ROLE_ACTIVATION, x, n),
                  *gate = m->in > n ? buffer_of(k, ROLE_ACTIVATION, x + n, n) : NULL;
    struct buffer *a = buffer_new(k, ROLE_ACTIVATION, n), *d_up = buffer_new(k, ROLE_ACTIVATION, n),
                  *d_gate = buffer_new(k, ROLE_ACTIVATION, n);
    if (dy) {
        k->write(k, a, 0, dy, n);
        k->activate_reverse(k, d_up, gate ? d_gate : NULL, a, up, gate, kind, rows, WIDTH);
        k->read(k, out, d_up, 0, n);
        if (gate)
            k->read(k, out + n, d_gate, 0, n);
    } else {
        k->activate(k, a, up, gate, kind, rows, WIDTH);
        k->read(k, out, a, 0, n);
    }
    struct buffer *all[] = {up, gate, a, d_up, d_gate};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
}

static void activation_forward(const struct map *m, double *y, const double *x)
{
    activation_both(m, y, x, NULL);
}

static void head_both(const struct map *m, double *out, const double *x, const double *dy)
{
    struct kernels *k = whole;
    double *table = random_values(VOCABULARY * WIDTH, 43, 0.5),
           *shift = random_values(VOCABULARY, 44, 1);
    struct weight *w = weight_of(k, WEIGHT_TABLE, table, VOCABULARY, WIDTH),
                  *b = weight_of(k, WEIGHT_VECTOR, shift, VOCABULARY, 1);
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, WIDTH),
                  *dx = buffer_new(k, ROLE_ACTIVATION, WIDTH),
                  *logprob = buffer_new(k, ROLE_STATISTIC, 1);
    struct buffer *target = index_of(k, (const int32_t[]){11}, 1);
    k->head(k, dx, logprob, bx, target, w, b, *(const double *)m->context, dy ? dy[0] : 1, 1,
            WIDTH);
    k->read(k, out, dy ? dx : logprob, 0, dy ? WIDTH : 1);
    k->destroy(k, bx);
    k->destroy(k, dx);
    k->destroy(k, logprob);
    k->destroy(k, target);
    k->weight_free(k, w);
    k->weight_free(k, b);
    free(table), free(shift);
}

static void head_forward(const struct map *m, double *y, const double *x)
{
    head_both(m, y, x, NULL);
}

static void test_transpose(void **state)
{
    static const struct norm_context norms[] = {{NORM_LAYER, 1e-2},
                                                {NORM_RMS, 1e-2},
                                                {NORM_RMS_OUTSIDE, 0.3},
                                                {NORM_LENGTH, 1e-2},
                                                {NORM_LENGTH, 9}};
    static const enum activation activations[] = {ACTIVATION_GELU,         ACTIVATION_GELU_TANH,
                                                  ACTIVATION_GELU_BLOOM,   ACTIVATION_QUICK_GELU,
                                                  ACTIVATION_RELU,         ACTIVATION_SILU,
                                                  ACTIVATION_RELU_SQUARED, ACTIVATION_CLAMPED,
                                                  ACTIVATION_TANH,         ACTIVATION_SIGMOID};
    static const double caps[] = {0, 1.5};
    size_t n = ROWS * WIDTH;
    char name[40];
    (void)state;
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        snprintf(name, sizeof name, "norm %zu", i);
        check_map(&(struct map){name, n, n, norm_forward, norm_both, &norms[i]});
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "head with soft-cap %g", caps[i]);
        check_map(&(struct map){name, WIDTH, 1, head_forward, head_both, &caps[i]});
    }
    for (size_t i = 0; i < 2 * sizeof activations / sizeof *activations; i++) {
        snprintf(name, sizeof name, "activation %zu%s", i / 2, i % 2 ? " gated" : "");
        check_map(&(struct map){name, i % 2 ? 2 * n : n, n, activation_forward, activation_both,
                                &activations[i / 2]});
    }
}

/* ---- errors that operations keep ---- */

static void test_kept_errors(void **state)
{
    struct kernels *both[] = {single, whole};
    double *table = random_values(5 * 4, 1, 1);
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct kernels *k = both[i];
        struct error e;
        struct weight *w = weight_of(k, WEIGHT_TABLE, table, 5, 4);
        struct buffer *x = buffer_new(k, ROLE_RESIDUAL, 8),
                      *bad = index_of(k, (const int32_t[]){4, 5}, 2),
                      *worse = index_of(k, (const int32_t[]){-1, 0}, 2);
        k->embed(k, x, bad, w, NULL, 0, 1, (struct rows){1, 2}, 4);
        k->embed(k, x, worse, w, NULL, 0, 1, (struct rows){1, 2}, 4);
        assert_int_equal(k->synchronize(k, &e), -1);
        assert_string_equal(e.text,
                            "embedding: token id 5 (expected 0 to 4)"); /* the first of the two */
        assert_int_equal(k->synchronize(k, &e), 0);
        struct buffer *logprob = buffer_new(k, ROLE_STATISTIC, 2);
        k->head(k, x, logprob, x, bad, w, NULL, 0, 1, 2, 4);
        assert_null(k->create(k, ROLE_ACTIVATION, 1, &e)); /* create, load and synchronize report */
        assert_string_equal(e.text, "head: target id 5 (expected 0 to 4)");
        assert_null(k->create(k, ROLE_ACTIVATION, SIZE_MAX / 2, &e));
        k->destroy(k, x);
        k->destroy(k, bad);
        k->destroy(k, worse);
        k->destroy(k, logprob);
        k->destroy(k, NULL);
        k->weight_free(k, w);
        assert_int_equal(k->synchronize(k, &e), 0);
    }
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_attention_transpose),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_kept_errors),
    };
    return cmocka_run_group_tests_name("reference", tests, open_sets, close_sets);
}
