/* What `reach bias --json` has besides bias.csv. */
#include "commands/bias.h"

struct biases_row {
    const char *formula, *layers, *source, *reason;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(biases_row, formula, "", "as in bias.csv"),
    CSV_OPTIONAL(biases_row, layers, "", "of a checkpoint, those that share the bias, in words"),
    CSV_OPTIONAL(biases_row, source, "", "the bias as a formula; empty: there is none"),
    CSV_OPTIONAL(biases_row, reason, "",
                 "why there is none, or only that of the window; empty: the formula is all"),
};

static const struct csv_layout layout = {
    .file = "biases",
    .origin = "`reach bias --json`",
    .row = "a bias of an argument",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct bias_run *r = found;

    (void)e;
    for (int i = 0; i < r->count; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count; b++) {
            const struct bias_set *set = &r->arguments[i].set;
            const struct layer_bias *bias = &set->biases[b];
            char layers[128];

            bias_layers_text(layers, sizeof layers, set, b);
            csv_row(csv, &(struct biases_row){r->arguments[i].label, layers,
                                              bias->formula ? bias->formula->source : NULL,
                                              bias->reason});
        }
    return 0;
}

const struct results_file *const bias_shown[] = {&(const struct results_file){.layout = &layout,
                                                                              .rows = rows},
                                                 NULL};
