/* Checkpoints with scales beside their matrices as a user meets them; see program.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/changed.h"
#include "tests/program.h"
#include "tests/scratch.h"

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char goldens[2048]; /* by their full path: the program runs in a folder of its own */

static int open_all(void **state)
{
    char here[2000];
    if (!getcwd(here, sizeof here) || program_open())
        return -1;
    snprintf(goldens, sizeof goldens, "%s/tests/goldens/quantised", here);
    return scratch_setup(state);
}

static int close_all(void **state)
{
    return program_close(state) != 0 ? -1 : scratch_teardown(state);
}

static const char *line(const char *format, const char *model)
{
    static char text[4096];
    snprintf(text, sizeof text, format, model);
    return text;
}

static void types_are_named(void **state)
{
    static const char *const rows[][2] = {{"nf4", "stored as      bf16, NF4\n"},
                                          {"fp4", "stored as      bf16, FP4\n"},
                                          {"int8", "stored as      bf16, INT8\n"},
                                          {"fp8-blocks", "stored as      bf16, FP8\n"},
                                          {"compressed-fp8", "stored as      bf16, FP8\n"},
                                          {"compressed-int4", "stored as      bf16, INT\n"},
                                          {"gptq", "stored as      bf16, INT\n"},
                                          {"awq", "stored as      bf16, INT\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[2200];
        snprintf(path, sizeof path, "%s/%s", goldens, rows[i][0]);
        expect(line("info %s --length 32 --strict --verify", path), 0, rows[i][1]);
        struct outcome o = reach(line("info %s --length 32", path));
        if (!strstr(o.err, "are widened to float32; activations are not quantised"))
            fail_msg("%s: %s", path, o.err);
        outcome_free(&o);
        expect(line("convert %s out", path), 1,
               "which cannot be written (expected --widen, which writes it as F32)");
        expect(line("convert %s wide --widen --force", path), 0, "tensors");
        expect("info wide --length 32 --strict --verify", 0, "stored as      f32, bf16\n");
    }
}

static void other_methods_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        changed(i ? "llama-tied" : "quantised/nf4", "quantization_config",
                "{\"quant_method\": \"hqq\", \"bits\": 4}");
        expect(line("info %s --length 32", scratch_folder), 1,
               "quantization_config is not supported: its quant_method is 'hqq' (expected");
    }
    changed("quantised/nf4", "quantization_config.colour", "1");
    expect(line("info %s --length 32 --strict", scratch_folder), 1, "quantization_config.colour");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_are_named),
                                       cmocka_unit_test(other_methods_are_named)};
    return cmocka_run_group_tests_name("quantised checkpoints as a user meets them", tests,
                                       open_all, close_all);
}
