/* The tables of the engine's buffers and parameters: what an engine creates and loads is what its
 * plan says, to the byte, and all of it is given back. The kernel set counts. */
#include "model/engine.h"
#include "model/score.h"
#include "tests/golden.h"
#include "tests/memory_decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LIVE_MOST = 4096 };

static struct kernels *k;
static struct buffer *(*create_uncounted)(struct kernels *k, enum buffer_role role, size_t count,
                                          struct error *e);
static void (*destroy_uncounted)(struct kernels *k, struct buffer *b);
static struct weight *(*load_uncounted)(struct kernels *k, enum weight_use use,
                                        const struct weight_part *parts, int count,
                                        struct error *e);
static void (*free_uncounted)(struct kernels *k, struct weight *w);
static double created, loaded;
static long weights; /* loaded and not freed */
static long left_to_create; /* the create after so many fails; -1: none does */
static struct buffer *live[LIVE_MOST];
static int live_count;

static struct buffer *create_counted(struct kernels *set, enum buffer_role role, size_t count,
                                     struct error *e)
{
    struct buffer *b;
    if (left_to_create == 0) {
        (fail)(e, "no more");
        return NULL;
    }
    left_to_create -= left_to_create > 0;
    b = create_uncounted(set, role, count, e);
    assert_true(b && live_count < LIVE_MOST);
    created += (double)count * (double)set->role_size[role];
    live[live_count++] = b;
    return b;
}

static void destroy_counted(struct kernels *set, struct buffer *b)
{
    int i = 0;
    if (!b)
        return;
    while (i < live_count && live[i] != b)
        i++;
    assert_true(i < live_count); /* destroyed twice, or never created */
    live[i] = live[--live_count];
    destroy_uncounted(set, b);
}

static struct weight *load_counted(struct kernels *set, enum weight_use use,
                                   const struct weight_part *parts, int count, struct error *e)
{
    loaded += (double)set->weight_bytes(set, use, parts, count);
    weights++;
    return load_uncounted(set, use, parts, count, e);
}

static void free_counted(struct kernels *set, struct weight *w)
{
    weights -= w != NULL;
    free_uncounted(set, w);
}

/* Creates and closes an engine, and one that fails half way. */
static struct memory_plan check(const char *name, const struct decoder *d, struct engine_request o)
{
    struct error e;
    struct memory_plan plan;
    o.memory = o.memory ? o.memory : (size_t)1 << 40;
    created = loaded = 0, left_to_create = -1;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s: %s", name, e.text);
    plan = *engine_plan(g);
    int buffers = live_count;
    if (d->position ==
        POSITION_SINUSOIDAL) /* rows that the engine makes, and room for a set's copy */
        loaded += 16.0 * plan.positions * d->hidden;
    loaded += (double)d->vector_bytes; /* which the decoder made */
    if (plan.resident ? loaded != plan.weights : !(loaded <= plan.weights))
        fail_msg("%s: %.0f bytes of weights loaded, %.0f planned", name, loaded, plan.weights);
    engine_close(g);
    assert_int_equal(weights, 0);
    if (created != plan.buffers || live_count || !(plan.buffers <= plan.activations + plan.scratch))
        fail_msg("%s: request %d of %d inputs, batch %d, %d layers stored: %.0f bytes created, "
                 "%.0f planned, %d buffers left",
                 name, o.kind, plan.positions, plan.batch, plan.stored_layers, created,
                 plan.buffers, live_count);
    left_to_create = buffers / 2;
    assert_null(engine_create(k, d, &o, &e));
    assert_true(live_count == 0 && weights == 0);
    return plan;
}

/* Every request, at n inputs. */
static void check_requests(const char *name, const struct decoder *d, int n)
{
    static const enum keep_mode keeps[] = {KEEP_STORE, KEEP_RECOMPUTE,
                                           KEEP_BF16}; /* the last one without experts */
    const size_t ways = sizeof keeps / sizeof *keeps - (decoder_has_experts(d) ? 1 : 0);
    struct error e;
    for (int batch = 1; batch <= 3; batch += 2) {
        struct engine_request o = {.positions = n, .batch = batch};
        for (size_t i = 0; i < ways; i++) {
            o.gradient.keep = keeps[i];
            struct memory_plan plan = check(name, d, o);
            assert_int_equal(plan.stored_layers, keeps[i] == KEEP_STORE ? d->layers : 0);
            o.gradient.by_layer = 1;
            check(name, d, o);
            o.gradient.by_layer = 0, o.gradient.attribution = ATTRIBUTION_SMOOTH;
            check(name, d, o);
            o.gradient.attribution = ATTRIBUTION_GRAD;
        }
        /* some layers stored: by a budget between all and none of them */
        struct engine_request all = o, none = o;
        struct memory_plan most, least;
        all.gradient.keep = KEEP_STORE, none.gradient.keep = KEEP_RECOMPUTE,
        all.memory = none.memory = (size_t)1 << 40;
        assert_int_equal(engine_estimate(&most, k, d, &all, &e) ||
                             engine_estimate(&least, k, d, &none, &e),
                         0);
        if (d->layers > 2) {
            o.gradient.keep = KEEP_AUTO, o.weights = WEIGHTS_RESIDENT,
            o.memory = (size_t)(most.total - 1);
            struct memory_plan some = check(name, d, o);
            if (!(some.stored_layers > 0 && some.stored_layers < d->layers &&
                  some.total <= (double)o.memory))
                fail_msg("%s: %d of %d layers stored, %.0f bytes (expected some, in %zu)", name,
                         some.stored_layers, d->layers, some.total, o.memory);
        }
        assert_true(least.buffers <= most.buffers);
        for (int outputs = 1; outputs <= n; outputs += n - 1)
            check(name, d,
                  (struct engine_request){.kind = REQUEST_SCORE,
                                          .positions = n,
                                          .batch = batch,
                                          .score.outputs = outputs});
        check(name, d,
              (struct engine_request){.kind = REQUEST_ATTENTION, .positions = n, .batch = batch});
    }
    if (score_carry_check(d, &e) == 0)
        check(name, d,
              (struct engine_request){.kind = REQUEST_SCORE,
                                      .batch = 1,
                                      .score = {.outputs = 4, .carry = 7}});
    if (score_retains(d))
        check(name, d,
              (struct engine_request){.kind = REQUEST_SCORE,
                                      .positions = n,
                                      .batch = 1,
                                      .score = {.outputs = 4, .retain = 1}});
}

static void test_families(void **state)
{
    size_t count, longest = 24;
    struct golden *cases = goldens_open(&count);
    struct error e;
    (void)state;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        struct decoder *d = decoder_open(cases[i].checkpoint, &e);
        size_t n = cases[i].length - 1;
        if (!d)
            fail_msg("%s", e.text);
        check_requests(cases[i].name, d, (int)(n < longest ? n : longest));
        decoder_close(d);
    }
    goldens_free(cases, count);
}

/* Cones of windows, whose layers are of all sizes, and heads in groups. */
static void test_shapes(void **state)
{
    static const struct memory_shape shapes[] = {{MEMORY_LLAMA, 5, 4, 2, 32, 48, 60, 0, 4},
                                                 {MEMORY_LLAMA, 4, 6, 1, 24, 40, 50, 0, 0},
                                                 {MEMORY_NEOX, 4, 2, 0, 32, 64, 50, 0, 3},
                                                 {MEMORY_GPT2, 3, 2, 0, 16, 96, 50, 40, 12},
                                                 {MEMORY_ALIBI, 1, 2, 0, 16, 96, 50, 0, 5}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char name[32];
        struct decoder *d = memory_decoder(&shapes[i], &e);
        if (!d)
            fail_msg("%s", e.text);
        snprintf(name, sizeof name, "shape %zu", i);
        check_requests(name, d, 30);
        memory_decoder_free(d);
    }
}

static int setup(void **state)
{
    struct error e;
    (void)state;
    for (int i = 0; i < kernel_set_count && !k; i++)
        if (strcmp(kernel_sets[i].name, "reference") == 0 &&
            strcmp(kernel_sets[i].dtype, "f32") == 0)
            k = kernel_sets[i].open(&e);
    if (!k)
        return -1;
    create_uncounted = k->create, destroy_uncounted = k->destroy;
    k->create = create_counted, k->destroy = destroy_counted;
    load_uncounted = k->weight_load, free_uncounted = k->weight_free;
    k->weight_load = load_counted, k->weight_free = free_counted;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    k->close(k);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests_name("buffers", tests, setup, teardown);
}
