/* What stays mapped of weights that are read in place. */
#include "model/engine.h"
#include "tests/memory_decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Bytes of shared memory, such as a memory decoder's weights, that the program has mapped; -1:
 * unknown. */
static double mapped_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double bytes = -1;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "RssShmem:", 9) == 0)
            bytes = 1024 * atof(line + 9);
    if (f)
        fclose(f);
    return bytes;
}

/* After a large batch only the weights of two layers are (and what a huge page adds), after a small
 * one all. */
static void test_batches(void **state)
{
    enum { LAYERS = 24, HIDDEN = 128, MLP = 512, N = 1000 };
    const double layer = 4.0 * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * MLP), slack = 4e6;
    const struct memory_shape shape = {MEMORY_GPT2, LAYERS, 2, 0, HIDDEN, MLP, 50, N, 0};
    static int32_t ids[N + 1];
    static double norm[N];
    struct error e;
    struct kernels *k = kernels_open("f32", &e);
    double before = mapped_bytes(), logprob;
    struct decoder *d = memory_decoder(&shape, &e);
    (void)state;
    assert_true(k && d);
    for (int n = N / 10; n <= N; n *= 10) {
        struct engine_request o = {.positions = n, .batch = 1, .memory = (size_t)1 << 40};
        struct engine *g = engine_create(k, d, &o, &e);
        if (!g || engine_measure(g, norm, &logprob, ids, 1, &e))
            fail_msg("%s", e.text);
        assert_true(engine_plan(g)->in_place && engine_plan(g)->resident);
        double mapped = mapped_bytes() - before;
        if (before >= 0 && (n < N ? mapped < LAYERS * layer : mapped > 2 * layer + slack))
            fail_msg("%d inputs: %.0f bytes of weights are mapped, and a layer has %.0f", n, mapped,
                     layer);
        engine_close(g);
    }
    memory_decoder_free(d);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches)};
    return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
