/* Saved results of several kinds in one page: the input of `reach report`. */
#ifndef REACH_RUN_REPORT_RUN_H
#define REACH_RUN_REPORT_RUN_H

#include "io/results/result.h"
#include "page/explanation.h"
#include "run/progress.h"
#include "run/report.h"
#include "run/report/options.h"

#include <stdio.h>

struct report_figure {
    const char *stem; /* "erf": the stem of its script */
    char *svg; /* owned */
};
enum { REPORT_FIGURES = 8 };

/* One file; a folder may have several. */
struct report_source {
    const char *argument; /* borrowed */
    struct report file;
    struct result result; /* of an erf.h5, reduced again */
    struct explanations *explained; /* of an explain.csv, owned; NULL: of another file */
    struct explanations units; /* of the units.csv beside it; count 0: there is none */
    struct csv_table attention; /* the attention.csv beside it, from which the result borrows */
    struct report_figure figures[REPORT_FIGURES];
    size_t figure_count;
};

struct report_run {
    const struct report_options *options;
    struct progress *progress;
    const char *command; /* as recorded; borrowed */
    int (*put)(FILE *f, const struct report_run *r); /* writes the page; -1: memory ran out */
    struct report_source *sources; /* [count] */
    size_t count;
    char *drawn_in; /* the temporary folder for figures */
    int without_gnuplot;
};

/* Reads all results, draws their figures, and writes the page. 0, RUN_USAGE or -1; caller frees the
 * run, also on failure. */
int report_run(struct report_run *r, struct error *e) MUST_USE;
void report_run_free(struct report_run *r);

/* Its steps. Adds everything in a folder, or a file, and draws its figures. */
int report_add(struct report_run *r, const char *argument, struct error *e) MUST_USE;
/* Fills in the rows of attention from the table beside an erf.h5, if it exists. */
int report_read_attention(struct report_source *s, struct error *e) MUST_USE;
/* Fills in what an explain.csv and the units.csv beside it explain. */
int report_explain(struct report_source *s, struct error *e) MUST_USE;
/* The figures of a source. gnuplot's failures are reported to the run's progress. */
int report_draw(struct report_run *r, struct report_source *s, struct error *e) MUST_USE;

#endif
