#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/ppl_inputs.h"
#include "commands/ppl.h"
#include "io/formats/csv.h"
#include "plots/ppl.h"
#include "tests/golden.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

char ppl_goldens[4096];

struct csv_table read_ppl(const char *folder)
{
    return read_table(at("%s/ppl.csv", folder));
}

int ppl_inputs(void **state)
{
    static const struct {
        const char *name;
        struct tiny shape;
    } models[] = {
        {"none", {.seed = 1}},
        {"window", {.seed = 2, .settings = "\"window\": 5, \"train_length\": 16,"}},
        {"learned", {.seed = 3, .learned = 32}},
        {"spoiled", {.seed = 6, .spoiled = "layers.1.mlp.down.bias"}},
    };
    int32_t ids[256];
    char *text;

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens", ppl_goldens))
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 40000, 7) != 0 || tiny_text(at("short"), 63, 8) != 0 ||
        tiny_text(at("middle"), 700, 9) != 0 || !(text = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 256; i++)
        ids[i] = (unsigned char)text[i];
    free(text);
    if (tiny_npy(at("rows.npy"), ids, 4, 64) != 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if (tiny_npy(at("row-%d.npy", i), ids + 64 * i, 0, 64) != 0)
            return -1;
    ids[7] = 256;
    return tiny_npy(at("outside.npy"), ids, 0, 256);
}
