#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/trf_inputs.h"
#include "commands/trf.h"
#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t trf_row(const struct csv_table *t, const char *formula, const char *head, const char *length,
               const char *layers, const char *epsilon, const char *layer)
{
    const char *const names[] = {"formula", "head", "length", "layers", "epsilon", "layer"},
                      *const wanted[] = {formula, head, length, layers, epsilon, layer};

    for (size_t row = 0; row < t->rows; row++) {
        int same = 1;

        for (int i = 0; i < 6 && same; i++)
            same = !wanted[i] || strcmp(cell(t, row, names[i]), wanted[i]) == 0;
        if (same)
            return row;
    }
    fail_msg("no row with formula %s, head %s, length %s, layers %s, epsilon %s, layer %s",
             formula ? formula : "", head ? head : "", length ? length : "", layers ? layers : "",
             epsilon ? epsilon : "", layer ? layer : "");
    return 0;
}

int trf_inputs(void **state)
{
    static const struct {
        const char *name, *settings;
    } models[] = {
        {"slopes", "\"position_bias\": \"alibi\","},
        {"windows", "\"window\": [5, 10],"},
        {"rotary", "\"position\": {\"kind\": \"rotary\"},"},
        {"narrow", "\"position\": {\"kind\": \"rotary\"}, \"window\": 5,"},
        {"trained", "\"window\": 4, \"train_length\": 8,"},
        {"kerple", "\"position_bias\": {\"formula\": \"kerple_log\", \"set\": {\"p\": [2.5, 3], "
                   "\"a\": [1, 0.5]}},"},
        {"weighted", "\"position_multiplier\": \"exp(-t/10)\","},
    };

    (void)state;
    setenv("COLUMNS", "1000", 1); /* lines of reports are as long as they are */
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct tiny t = {.settings = models[i].settings, .seed = i + 1};

        if (tiny_checkpoint(at("%s", models[i].name), &t) != 0)
            return -1;
    }
    if (mkdir(at("folder"), 0777) != 0 || tiny_text(at("text"), 4096, 1) != 0)
        return -1;
    return 0;
}
