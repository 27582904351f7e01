/* Opening a saved result: a folder of `reach erf`, a file of one, or a table of another verb. */
#ifndef REACH_RUN_REPORT_H
#define REACH_RUN_REPORT_H

#include "io/formats/csv.h"

enum report_kind {
    REPORT_ERF, /* erf.h5; any file whose name does not end in .csv is taken for one */
    REPORT_CURVES, /* curve.csv */
    REPORT_LADDER, /* summary.csv */
    REPORT_PERPLEXITY, /* ppl.csv */
    REPORT_GAIN, /* gain.csv */
    REPORT_VALIDATION, /* validation.csv */
    REPORT_FIELDS, /* trf.csv */
    REPORT_BIASES, /* bias.csv */
    REPORT_FITS, /* fit.csv */
    REPORT_ATTENTION, /* attention.csv */
    REPORT_TARGETS, /* the FILE of `reach ppl --per-token` */
    REPORT_TABLE /* a CSV file of no verb */
};

struct report {
    enum report_kind kind;
    char *path; /* of the file; owned */
    struct csv_table table; /* of a CSV file */
};

/* Finds out what PATH is; of a folder its erf.h5, or its curve.csv where there is none. A CSV file is read and told by its
 * columns. What lies beside the journal of an unfinished run of `reach erf` is refused. 0, or -1 with nothing to close. */
int report_open(struct report *r, const char *path, struct error *e) MUST_USE;
void report_close(struct report *r);

/* Where a table has the columns of `names` [count]; one that it lacks is an error, with `expected`. */
int report_columns(const struct report *r, const char *const *names, int count, const char *expected, int *column,
                   struct error *e) MUST_USE;
/* The text of a cell; column -1: empty. */
const char *report_cell(const struct report *r, size_t row, int column);
/* A cell that must be a finite number of at least `least`; an empty one is `none`, whatever the least. */
int report_number(const struct report *r, size_t row, int column, double least, double none, double *out,
                  struct error *e) MUST_USE;

#endif
