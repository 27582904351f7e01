/* Opening a saved result: a folder of `reach erf`, a file of one, or a table of another verb. */
#ifndef REACH_RUN_REPORT_H
#define REACH_RUN_REPORT_H

#include "io/formats/csv.h"

enum report_kind {
    REPORT_ERF, /* erf.h5; any file whose name does not end in .csv counts as one */
    REPORT_CURVES, /* curve.csv */
    REPORT_LADDER, /* summary.csv */
    REPORT_PERPLEXITY, /* ppl.csv */
    REPORT_GAIN, /* gain.csv */
    REPORT_VALIDATION, /* validation.csv */
    REPORT_FIELDS, /* trf.csv */
    REPORT_WEIGHTS, /* weights.csv */
    REPORT_BIASES, /* bias.csv */
    REPORT_FITS, /* fit.csv */
    REPORT_ATTENTION, /* attention.csv */
    REPORT_TARGETS, /* the FILE of `reach ppl --per-token` */
    REPORT_EXPLANATIONS, /* explain.csv, as reach 0.3 writes it */
    REPORT_TABLE /* a CSV file that reach does not recognize */
};

struct report {
    enum report_kind kind;
    char *path; /* of the file; owned */
    struct csv_table table; /* of a CSV file */
};

/* Determines the type of PATH; for a folder that of its erf.h5, or if there is none of its
 * curve.csv. A CSV file is read and recognized by its columns. Files beside the journal of an
 * unfinished run of `reach erf` are refused. 0, or -1 with nothing to close. */
int report_open(struct report *r, const char *path, struct error *e) MUST_USE;
void report_close(struct report *r);

/* Indices of a table's columns `names` [count]; a missing one is an error, with `expected`. */
int report_columns(const struct report *r, const char *const *names, int count,
                   const char *expected, int *column, struct error *e) MUST_USE;
/* The text of a cell; for column -1 empty. */
const char *report_cell(const struct report *r, size_t row, int column);
/* A cell with a finite number of at least `least`; an empty one gives `none`, unchecked. */
int report_number(const struct report *r, size_t row, int column, double least, double none,
                  double *out, struct error *e) MUST_USE;

#endif
