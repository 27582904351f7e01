#include "run/validate/write.h"

#include "run/validate/validate.h"

#include <math.h>

struct validation_csv_row {
    const char *model, *change;
    long long tokens, tests;
    double nll_change, nll_change_lo, nll_change_hi, size, size_lo, size_hi, gradient, within;
    long long enough, enough_lo, enough_hi;
    double enough_gradient, correlation, correlation_lo, correlation_hi, octaves, octaves_lo,
        octaves_hi;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(validation_csv_row, model, "", "name of the model"),
    CSV_COLUMN(validation_csv_row, change, "",
               "truncated: only the last inputs are read; replaced: all before them are those of "
               "another segment; single: one input "
               "is that of another segment"),
    CSV_COLUMN(validation_csv_row, tokens, "tokens",
               "last inputs that stay; with single: the nearest input of the octave, counted from "
               "the target, which is 0"),
    CSV_COLUMN(validation_csv_row, tests, "",
               "segments that were tested, of which each has one target"),
    CSV_COLUMN(validation_csv_row, nll_change, "nats",
               "-log p of the target minus that with all inputs, mean over the tests"),
    CSV_OPTIONAL(
        validation_csv_row, nll_change_lo, "nats",
        "lower end of its 95 % interval, by Student's t over the tests; empty for a single one"),
    CSV_OPTIONAL(validation_csv_row, nll_change_hi, "nats", "its upper end"),
    CSV_COLUMN(validation_csv_row, size, "nats", "mean size of the change, whatever its sign"),
    CSV_OPTIONAL(validation_csv_row, size_lo, "nats",
                 "lower end of its 95 % interval, by Student's t over the tests"),
    CSV_OPTIONAL(validation_csv_row, size_hi, "nats", "its upper end"),
    CSV_COLUMN(validation_csv_row, gradient, "",
               "share of the gradient's norm of the inputs before those that stay, 1 - c; of "
               "single: of one input of the octave"),
    CSV_COLUMN(validation_csv_row, within, "nats",
               "largest change that counts as none; the same in all rows"),
    CSV_COLUMN(validation_csv_row, enough, "tokens",
               "last inputs, of the numbers tried or all, from which on replacing the rest no "
               "longer changes the loss (size of "
               "replaced); the same in all rows of a model, as are the columns after it"),
    CSV_OPTIONAL(validation_csv_row, enough_lo, "tokens",
                 "by the lower ends of the intervals of size; empty for a single test"),
    CSV_OPTIONAL(validation_csv_row, enough_hi, "tokens", "by their upper ends"),
    CSV_COLUMN(validation_csv_row, enough_gradient, "",
               "share of the gradient of this many inputs: the q of an ERF(q) of that size"),
    CSV_OPTIONAL(validation_csv_row, correlation, "",
                 "rank correlation of norm and size of the change over the inputs that are "
                 "replaced one at a time, mean over "
                 "the tests; empty if it does not exist"),
    CSV_OPTIONAL(validation_csv_row, correlation_lo, "",
                 "lower end of its 95 % interval over the tests"),
    CSV_OPTIONAL(validation_csv_row, correlation_hi, "", "its upper end"),
    CSV_OPTIONAL(validation_csv_row, octaves, "",
                 "the same within octaves of the distance, mean over octaves and tests"),
    CSV_OPTIONAL(validation_csv_row, octaves_lo, "",
                 "lower end of its 95 % interval over the tests"),
    CSV_OPTIONAL(validation_csv_row, octaves_hi, "", "its upper end"),
};

const struct csv_layout validation_csv = {
    .file = "validation.csv",
    .origin = "`reach erf --validate`",
    .row = "a model, change and number of tokens",
    .units =
        "tokens, enough and its ends in tokens; nll_change, size and their 95 % intervals, within "
        "in nats; gradient, "
        "enough_gradient shares of 1; correlation, octaves and their intervals rank correlations",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};

int validate_rows(const void *result, struct csv *csv, struct error *e)
{
    const struct result *r = result;

    (void)e;
    for (size_t i = 0; i < r->model_count; i++) {
        const struct validation *v = r->models[i].validation;

        for (size_t k = 0; k < v->row_count; k++) {
            const struct validation_row *row = &v->rows[k];

            csv_row(csv, &(struct validation_csv_row){
                             .model = r->models[i].name,
                             .change = validation_names[row->kind],
                             .tokens = (long long)row->tokens,
                             .tests = (long long)v->used,
                             .nll_change = row->loss.change.mean,
                             .nll_change_lo = row->loss.change.lo,
                             .nll_change_hi = row->loss.change.hi,
                             .size = row->loss.size.mean,
                             .size_lo = row->loss.size.lo,
                             .size_hi = row->loss.size.hi,
                             .gradient = row->gradient,
                             .within = validation_within,
                             .enough = (long long)v->enough,
                             .enough_lo = v->used > 1 ? (long long)v->enough_lo : 0,
                             .enough_hi = v->used > 1 ? (long long)v->enough_hi : 0,
                             .enough_gradient = v->enough_gradient,
                             .correlation = v->correlation.mean,
                             .correlation_lo = v->correlation.lo,
                             .correlation_hi = v->correlation.hi,
                             .octaves = v->within_octaves.mean,
                             .octaves_lo = v->within_octaves.lo,
                             .octaves_hi = v->within_octaves.hi});
        }
    }
    return 0;
}
