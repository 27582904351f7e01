#include "run/explain/columns.h"

static const struct csv_column columns[] = {
    CSV_COLUMN(explain_row, model, "", "name of the model"),
    CSV_COLUMN(explain_row, position, "tokens", "of the input m, from 1"),
    CSV_COLUMN(explain_row, distance, "tokens", "from the last input"),
    CSV_COLUMN(explain_row, id, "", "its token id"),
    CSV_OPTIONAL(explain_row, piece, "",
                 "its text, with \\\\ for a backslash, \\n, \\t, \\r, \\x1B or \\u202E for a "
                 "character that cannot be shown, "
                 "\\xE2 for a byte that is not UTF-8; empty if the id has no text"),
    CSV_COLUMN(explain_row, norm, "", "of the gradient, or of the attribution, as in `reach erf`"),
    CSV_COLUMN(explain_row, share, "", "of the norm in the sum of all"),
    CSV_COLUMN(explain_row, cumulative, "", "sum of the shares from this position on"),
    CSV_COLUMN(explain_row, rank, "",
               "rank by decreasing share, from 1; of equal shares the nearest comes first"),
    CSV_COLUMN(explain_row, line, "", "of the text that the token begins in, from 1"),
    CSV_COLUMN(explain_row, target_position, "tokens",
               "of the target in the text, from 1: what the row's norm is of"),
    CSV_COLUMN(explain_row, target_id, "", "token id of the target"),
    CSV_COLUMN(explain_row, target_logprob, "nats", "natural log p of the target"),
};

const struct csv_layout explain_csv = {
    .file = "explain.csv",
    .origin = "`reach explain -o DIR`",
    .row = "an input",
    .units = "position, distance in tokens; norm: of the gradient of the target's log p, or its "
             "attribution, at the input; share: of "
             "the norm in the sum of all; cumulative: sum of the shares from this position on",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};
