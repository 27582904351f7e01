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
    CSV_COLUMN(explain_row, target_id, "",
               "token id of the target; -1: the tokens of --answer together"),
    CSV_COLUMN(explain_row, target_logprob, "nats", "natural log p of the target"),
    CSV_OPTIONAL(
        explain_row, unit, "",
        "number of its word, sentence or line in units.csv; empty without --by and --leave-out"),
    CSV_OPTIONAL(explain_row, prompt, "",
                 "with --prompts the id of the line, or its number; otherwise empty"),
    CSV_OPTIONAL(explain_row, target, "",
                 "text of the target, or of the whole answer, spelt as `piece`"),
};

static const struct csv_column of_units[] = {
    CSV_COLUMN(unit_row, model, "", "name of the model"),
    CSV_COLUMN(unit_row, unit, "", "number of the word, sentence or line, from 1"),
    CSV_COLUMN(unit_row, position, "tokens", "of its first token, from 1"),
    CSV_COLUMN(unit_row, last, "tokens", "position of its last token"),
    CSV_COLUMN(unit_row, distance, "tokens", "from its last token to the last input"),
    CSV_OPTIONAL(unit_row, text, "", "its text, spelt as in explain.csv"),
    CSV_COLUMN(unit_row, norm, "", "sum of the norms of its tokens"),
    CSV_COLUMN(unit_row, share, "", "sum of the shares of its tokens"),
    CSV_COLUMN(unit_row, cumulative, "", "sum of the shares from this unit on"),
    CSV_COLUMN(unit_row, rank, "",
               "rank by decreasing share, from 1; of equal shares the nearest comes first"),
    CSV_COLUMN(unit_row, line, "", "of the text that it begins in, from 1"),
    CSV_COLUMN(unit_row, target_position, "tokens", "as in explain.csv"),
    CSV_COLUMN(unit_row, target_id, "", "as in explain.csv"),
    CSV_COLUMN(unit_row, target_logprob, "nats", "as in explain.csv"),
    CSV_OPTIONAL(unit_row, prompt, "", "as in explain.csv"),
    CSV_OPTIONAL(unit_row, target, "", "as in explain.csv"),
    CSV_OPTIONAL(unit_row, change, "nats",
                 "with --leave-out: log p of the target without the unit, less its log p after the "
                 "whole text; with --against of the difference; empty: it is the only unit, the "
                 "beginning-of-text token, or of the answer"),
    CSV_OPTIONAL(unit_row, change_rank, "",
                 "rank by decreasing absolute value of the change, from 1; of equal ones the "
                 "nearest comes first"),
    CSV_OPTIONAL(unit_row, rank_correlation, "",
                 "Spearman's, over the units of this target, between the absolute value of the "
                 "change and the share; empty below three units, or if one of them is the same "
                 "for all"),
};

const struct csv_layout units_csv = {
    .file = "units.csv",
    .origin = "`reach explain -o DIR --by word` or `--leave-out word`, sentence or line",
    .row = "a word, sentence or line of the inputs",
    .units = "position, last, distance, target_position in tokens; target_logprob in nats; norm, "
             "share: sums over the tokens of the unit; cumulative: sum of the shares from this "
             "unit on; change in nats",
    .columns = of_units,
    .count = sizeof of_units / sizeof *of_units,
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
