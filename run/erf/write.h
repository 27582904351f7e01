/* The files of a result of `reach erf` in their folder, whoever made it. */
#ifndef REACH_RUN_ERF_WRITE_H
#define REACH_RUN_ERF_WRITE_H

#include "io/results/result.h"
#include "plots/style.h"
#include "run/progress.h"

/* 1 and a message if FOLDER holds results. */
int erf_results_exist(const char *folder, struct error *e);
/* Describes the result (result_describe) and writes erf.h5, curve.csv, summary.csv, what of attention.csv and figures belongs to
 * it, and draws. What is the matter with pictures is told to `p`. */
int erf_write(struct result *r, const char *folder, const char *formats, struct progress *p, struct error *e) MUST_USE;

/* The figures that a result may have. */
enum { ERF_FIGURES = 5 };
extern const struct erf_figure {
    const char *stem;
    int (*is_wanted)(const struct result *r);
    int (*draw)(const char *folder, const char *stem, const struct result *r, const struct figure_style *style, struct error *e);
} erf_figures[ERF_FIGURES];

#endif
