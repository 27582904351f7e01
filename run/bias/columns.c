#include "run/bias/columns.h"

static const struct csv_column columns[] = {
    CSV_COLUMN(bias_row, formula, "",
               "the argument: its NAME, the formula as it was written, or a checkpoint's name"),
    CSV_COLUMN(bias_row, head, "", "from 1; `all`: all heads alike"),
    CSV_COLUMN(bias_row, distance, "tokens", "from the query back to the key, from 0"),
    CSV_COLUMN(bias_row, bias, "nats",
               "what is added to the attention logit; `-inf` outside a window"),
    CSV_OPTIONAL(bias_row, layer, "", "of a checkpoint, from 1; empty for a formula"),
};

const struct csv_layout bias_csv = {
    .file = "bias.csv",
    .origin = "`reach bias -o DIR`",
    .row = "an argument, layer, head and distance",
    .units = "distance in tokens, bias in natural logarithms of attention weight; head all: all "
             "heads alike; layer of a "
             "checkpoint, from 1",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};
