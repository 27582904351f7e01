/* GGUF files against what the gguf Python package and transformers make of the same (tests/goldens/gguf/make.py), and files that
 * must be refused. */
#include "io/blocks.h"
#include "io/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/gguf/"

/* -- blocks -- */

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The same bits; NaN is any NaN, of which processors make several. */
static int same(float a, float b)
{
    return a != a ? b != b : float_bits(a) == float_bits(b);
}

static void blocks_have_the_bits_of_the_python_package(void **state)
{
    (void)state;
    struct error e = {""};
    struct config *own;
    struct tensors *t = checkpoint_tensors(GOLDENS "blocks.safetensors", &own, &e);
    if (!t)
        fail_msg("%s", e.text);
    for (int type = ELEMENT_Q4_0; type < ELEMENT_COUNT; type++) {
        char name[32];
        size_t block = element_block((enum element)type);
        snprintf(name, sizeof name, "%s.values", element_name((enum element)type));
        const struct tensor *stored = tensors_find_any(t, element_name((enum element)type)), *values = tensors_find(t, name);
        assert_non_null(stored);
        assert_non_null(values);
        assert_int_equal(stored->shape[1], element_size((enum element)type));
        assert_int_equal(values->shape[1], block);
        float *want = malloc(values->bytes), *got = malloc(values->bytes);
        double *wide = malloc(2 * values->bytes);
        assert_true(want && got && wide);
        memcpy(want, values->data, values->bytes);
        /* all, each by itself, and runs that begin and end within blocks */
        element_widen_f32(got, stored->data, (enum element)type, values->count);
        for (size_t i = 0; i < values->count; i++)
            if (!same(got[i], want[i]) || !same((float)element_read(stored->data, (enum element)type, i), want[i]))
                fail_msg("%s, block %zu, element %zu: %a (expected %a)", name, i / block, i % block, (double)got[i],
                         (double)want[i]);
        for (size_t first = 0; first < 2 * block + 3; first += 7)
            for (size_t count = 0; count < 3 * block; count += 11) {
                element_run_f32(got, stored->data, (enum element)type, first, count);
                element_run_f64(wide, stored->data, (enum element)type, first, count);
                for (size_t i = 0; i < count; i++)
                    if (!same(got[i], want[first + i]) || !same((float)wide[i], want[first + i]))
                        fail_msg("%s, %zu elements from %zu on, element %zu: %a", name, count, first, i, (double)got[i]);
            }
        free(want);
        free(got);
        free(wide);
    }
    tensors_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_have_the_bits_of_the_python_package)};
    return cmocka_run_group_tests_name("gguf", tests, scratch_setup, scratch_teardown);
}
