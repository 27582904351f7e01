/* What `reach fit --json` has besides fit.csv. */
#include "commands/fit.h"

struct fits_row {
    const char *formula, *layers, *head;
    long long points;
    double residual_sd;
};

static const struct csv_column fits_columns[] = {
    CSV_COLUMN(fits_row, formula, "", "as in fit.csv"),
    CSV_OPTIONAL(fits_row, layers, "", "of a checkpoint, those that share the bias, in words"),
    CSV_OPTIONAL(fits_row, head, "", "as in fit.csv"),
    CSV_COLUMN(fits_row, points, "", "number of points"),
    CSV_COLUMN(fits_row, residual_sd, "",
               "standard deviation of the residuals, in the unit of the points"),
};

static const struct csv_layout fits_layout = {
    .file = "fits",
    .origin = "`reach fit --json`",
    .row = "a fit",
    .columns = fits_columns,
    .count = sizeof fits_columns / sizeof *fits_columns,
};

static int fits_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct fit_run *r = found;

    (void)e;
    for (size_t i = 0; i < r->count; i++) {
        const struct fit_points *p = &r->points[i];

        csv_row(csv, &(struct fits_row){p->label, p->layers, p->head, (long long)p->count,
                                        p->result.residual_deviation});
    }
    return 0;
}

struct readings_row {
    long long first, points;
    double slope, intercept, r2, distance;
};

static const struct csv_column readings_columns[] = {
    CSV_COLUMN(readings_row, first, "", "where the index starts"),
    CSV_COLUMN(readings_row, points, "", "the most recent ones that are used"),
    CSV_COLUMN(readings_row, slope, "", "that of the fit; printed: -0.825"),
    CSV_COLUMN(readings_row, intercept, "", "that of the fit; printed: -0.8"),
    CSV_COLUMN(readings_row, r2, "", "of the fit"),
    CSV_COLUMN(readings_row, distance, "",
               "of slope and intercept from the printed ones; the least is the closest reading"),
};

static const struct csv_layout readings_layout = {
    .file = "readings",
    .origin = "`reach fit sandwich --json`",
    .row = "a reading of the definition of Chi et al. (2023)",
    .columns = readings_columns,
    .count = sizeof readings_columns / sizeof *readings_columns,
};

static int is_sandwich(const void *found)
{
    const struct fit_run *r = found;

    return r->is_sandwich;
}

static int readings_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct fit_run *r = found;

    (void)e;
    for (int i = 0; i < FIT_READINGS; i++) {
        const struct fit_reading *x = &r->readings[i];

        csv_row(csv, &(struct readings_row){x->first, (long long)x->points, x->result.value[1],
                                            x->result.value[0], x->result.r2, x->away});
    }
    return 0;
}

const struct results_file *const fit_shown[] = {
    &(const struct results_file){.layout = &fits_layout, .rows = fits_rows},
    &(const struct results_file){.is_wanted = is_sandwich,
                                 .layout = &readings_layout,
                                 .rows = readings_rows},
    NULL};
