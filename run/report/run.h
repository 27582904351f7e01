/* Saved results of several kinds in one page: what `reach report` collects. */
#ifndef REACH_RUN_REPORT_RUN_H
#define REACH_RUN_REPORT_RUN_H

#include "io/results/result.h"
#include "run/progress.h"
#include "run/report.h"
#include "run/report/options.h"

#include <stdio.h>

struct report_figure {
    const char *stem; /* "erf": of the script that it comes from */
    char *svg; /* owned */
};
enum { REPORT_FIGURES = 8 };

/* One file: of a folder there may be several. */
struct report_source {
    const char *argument; /* borrowed */
    struct report file;
    struct result result; /* of an erf.h5, reduced anew */
    struct csv_table attention; /* the attention.csv beside it, which the result borrows from */
    struct report_figure figures[REPORT_FIGURES];
    size_t figure_count;
};

struct report_run {
    const struct report_options *options;
    struct progress *progress;
    const char *command; /* as it is recorded; borrowed */
    int (*put)(FILE *f, const struct report_run *r); /* writes the page; -1: memory ran out */
    struct report_source *sources; /* [count] */
    size_t count;
    char *drawn_in; /* the folder for figures, for a while */
    int without_gnuplot;
};

/* Reads all results, draws their figures, and writes the page. 0, RUN_USAGE or -1; the caller frees the run, also when it fails.
 */
int report_run(struct report_run *r, struct error *e) MUST_USE;
void report_run_free(struct report_run *r);

/* The steps of it. What of a folder there is, or the file; figures are drawn at once. */
int report_add(struct report_run *r, const char *argument, struct error *e) MUST_USE;
/* Fills in the rows of attention from the table beside an erf.h5, if there is one. */
int report_read_attention(struct report_source *s, struct error *e) MUST_USE;
/* The figures of a source. What gnuplot could not draw is told to the run's progress. */
int report_draw(struct report_run *r, struct report_source *s, struct error *e) MUST_USE;

#endif
