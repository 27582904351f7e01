/* What an engine reports of a batch to whoever watches it. */
#include "model/engine.h"
#include "model/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { INPUTS = 8 };

static void add_part(void *sum, double part)
{
    *(double *)sum += part;
}

/* The parts are the whole: of texts that are scored, and of gradients with layers stored or not. */
static void test_sums(void **state)
{
    static const int32_t ids[INPUTS + 1] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    const struct engine_request requests[] = {{.kind = REQUEST_GRADIENT,
                                               .gradient.keep = KEEP_STORE},
                                              {.kind = REQUEST_GRADIENT,
                                               .gradient.keep = KEEP_RECOMPUTE},
                                              {.kind = REQUEST_SCORE, .score.outputs = INPUTS}};
    struct error e;
    struct kernels *k = kernels_open_on("cpu", "f32", &e, &e);
    struct decoder *d = decoder_open("tests/goldens/own-window", &e);

    (void)state;
    assert_non_null(k);
    assert_non_null(d);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct engine_request o = requests[i];
        struct engine *g;
        double norm[INPUTS], logprob[INPUTS], sum = 0;

        o.positions = INPUTS, o.batch = 1, o.memory = 1u << 30;
        g = engine_create(k, d, &o, &e);
        assert_non_null(g);
        engine_watch(g, add_part, &sum);
        if (o.kind == REQUEST_SCORE ? engine_score(g, logprob, ids, 1, &e)
                                    : engine_measure(g, norm, logprob, ids, 1, &e))
            fail_msg("%s", e.text);
        if (!(fabs(sum - 1) < 1e-12))
            fail_msg("request %zu: parts sum to %.17g", i, sum);
        engine_close(g);
    }
    decoder_close(d);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
