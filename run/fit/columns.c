#include "run/fit/columns.h"

static const struct csv_column columns[] = {
    CSV_COLUMN(fit_row, formula, "",
               "the argument: its NAME, the formula as it was written, a checkpoint's name; of a "
               "file, the "
               "model or formula in it, or the file's name"),
    CSV_OPTIONAL(fit_row, head, "",
                 "from 1; `all`: all heads alike; empty for points without heads"),
    CSV_COLUMN(fit_row, form, "", "the form that is fitted"),
    CSV_COLUMN(fit_row, first, "tokens", "the least distance among the points"),
    CSV_COLUMN(fit_row, last, "tokens", "the greatest"),
    CSV_COLUMN(fit_row, coefficient, "", "name of the coefficient in the form"),
    CSV_COLUMN(fit_row, value, "", "its estimate, by ordinary least squares"),
    CSV_COLUMN(fit_row, std_error, "",
               "standard error of it; `nan` if there are no more points than coefficients"),
    CSV_COLUMN(fit_row, r2, "", "1 - RSS / sum of (y - mean y)^2, of the whole fit"),
    CSV_OPTIONAL(fit_row, layer, "",
                 "of a checkpoint, from 1, or as in the file; empty for other points"),
};

const struct csv_layout fit_csv = {
    .file = "fit.csv",
    .origin = "`reach fit -o DIR`",
    .row = "a fit and coefficient",
    .units = "first, last in tokens of distance; value and std_error of the coefficients by "
             "ordinary least squares; r2 = 1 - RSS "
             "/ sum of (y - mean y)^2",
    .columns = columns,
    .count = sizeof columns / sizeof *columns,
};
