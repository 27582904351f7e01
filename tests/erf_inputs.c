#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/erf_inputs.h"
#include "analyze/curve.h"
#include "commands/erf.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void assert_same_erf(const char *a, const char *b)
{
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv", "erf.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_same_file(at("%s/%s", a, names[i]), at("%s/%s", b, names[i]));
}

int erf_inputs(void **state)
{
    static const struct row {
        const char *name;
        struct tiny shape;
    } models[] = {
        {"none", {.seed = 1}},
        {"window", {.seed = 2, .settings = "\"window\": 5, \"train_length\": 16,"}},
        {"learned", {.seed = 3, .learned = 32}},
        {"big", {.seed = 4, .vocabulary = 300}},
        {"missing", {.seed = 5, .missing = "layers.1.mlp.down.weight"}},
        {"rare", {.seed = 7, .untied = 1, .spoiled = "embedding.weight"}}, /* the row of id 0 */
        {"faint", {.seed = 8, .settings = "\"embedding_scale\": 1e-37,"}},
        {"spoiled", {.seed = 6, .spoiled = "layers.1.mlp.down.bias"}},
    };
    int32_t ids[300];
    char *text;

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 40000, 7) != 0 || tiny_text(at("short"), 63, 8) != 0 ||
        !(text = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 300; i++)
        ids[i] = (unsigned char)text[i];
    free(text);
    if (tiny_npy(at("stream.npy"), ids, 0, 300) != 0 || tiny_npy(at("rows.npy"), ids, 4, 64) != 0)
        return -1;
    ids[70] = 0;
    if (tiny_npy(at("rare.npy"), ids, 4, 64) != 0)
        return -1;
    ids[7] = 256;
    return tiny_npy(at("outside.npy"), ids, 0, 300);
}
