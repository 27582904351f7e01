#include "tests/measured.h"

#include "io/tokens/tokens.h"
#include "model/engine.h"
#include "tests/compare.h"
#include "tests/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void measure_golden(const char *file, const char *expected, const char *dtype,
                    double norm_tolerance, double logprob_tolerance)
{
    enum { SEGMENTS_MAX = 4 };
    struct error e = {""};
    char path[256];
    const char *tokens_path = path;
    struct tokens tokens;
    const int cuda = getenv("REACH_CUDA") != NULL;
    if (cuda && strcmp(dtype, "f64") == 0) /* which that set does not have */
        return;
    struct decoder *d = decoder_open(file, &e);
    if (!d)
        fail_msg("%s", e.text);
    assert_string_equal(d->not_understood, "");
    snprintf(path, sizeof path, "%s/tokens.npy", expected);
    if (tokens_read_files(&tokens, &tokens_path, 1, &e))
        fail_msg("%s", e.text);
    size_t segments = tokens.total / tokens.columns, n = tokens.columns - 1;
    assert_true(segments <= SEGMENTS_MAX);
    snprintf(path, sizeof path, "%s/norm.npy", expected);
    double *want = golden_read_f64(path, segments * n), *norm = calloc(segments * n, sizeof *norm),
           logprob[SEGMENTS_MAX];
    snprintf(path, sizeof path, "%s/logprob.npy", expected);
    double *want_logprob = golden_read_f64(path, segments);
    struct error note;
    struct kernels *k = kernels_open_on(cuda ? "cuda" : "cpu", dtype, &note, &e);
    if (!k)
        fail_msg("%s", e.text);
    for (int resident = 0; resident < 2;
         resident++) { /* weights widened once, or for each use of a block */
        const struct engine_request o = {.kind = REQUEST_GRADIENT,
                                         .positions = (int)n,
                                         .batch = 1,
                                         .weights = resident ? WEIGHTS_RESIDENT : WEIGHTS_BY_LAYER};
        struct engine *g = engine_create(k, d, &o, &e);
        if (!g)
            fail_msg("%s: %s", file, e.text);
        for (size_t s = 0; s < segments; s++) {
            double largest = 0;
            if (engine_measure(g, norm + s * n, logprob + s, tokens.ids + s * (n + 1), 1, &e))
                fail_msg("%s: %s", file, e.text);
            for (size_t i = 0; i < n; i++)
                largest = want[s * n + i] > largest ? want[s * n + i] : largest;
            assert_int_equal(compare_values(file, norm + s * n, want + s * n, n,
                                            norm_tolerance * largest, 0),
                             0);
        }
        assert_int_equal(compare_values(file, logprob, want_logprob, segments, logprob_tolerance,
                                        0),
                         0);
        engine_close(g);
    }
    k->close(k);
    free(want);
    free(want_logprob);
    free(norm);
    tokens_free(&tokens);
    decoder_close(d);
}
