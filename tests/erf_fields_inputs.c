#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/erf_fields_inputs.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int erf_fields_inputs(void **state)
{
    static const struct row {
        const char *name;
        struct tiny shape;
    } models[] = {
        {"none", {.seed = 1, .layers = LAYERS}},
        {"deep", {.seed = 9, .layers = LAYERS + 2}},
        {"window",
         {.seed = 2, .layers = LAYERS, .settings = "\"window\": 5, \"train_length\": 16,"}},
        {"alibi",
         {.seed = 3, .layers = LAYERS, .settings = "\"position_bias\": \"alibi(delta=0)\","}},
        {"rotary",
         {.seed = 4, .layers = LAYERS, .settings = "\"position\": {\"kind\": \"rotary\"},"}},
        {"learned", {.seed = 5, .layers = LAYERS, .learned = LENGTH}},
    };
    int32_t ids[4 * LENGTH], prefix[4 * 33];
    char *text;

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 20000, 7) != 0 || !(text = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 4 * LENGTH; i++)
        ids[i] = (unsigned char)text[i];
    for (int i = 0; i < 4; i++)
        memcpy(prefix + i * 33, ids + i * LENGTH, 33 * sizeof *ids);
    free(text);
    return tiny_npy(at("rows.npy"), ids, 4, LENGTH) != 0 ||
                   tiny_npy(at("prefix.npy"), prefix, 4, 33) != 0
               ? -1
               : 0;
}
