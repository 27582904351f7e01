/* The files of a result of `reach erf` in their folder, from a run or a merge. */
#ifndef REACH_RUN_ERF_WRITE_H
#define REACH_RUN_ERF_WRITE_H

#include "io/results/result.h"
#include "run/measurement.h"

/* The files of gradients and of the measurements, from a struct result; the first makes them one.
 * Ended by NULL. */
extern const struct results_file *const erf_files[];

/* If FOLDER holds results: 1 with a message. */
int erf_results_exist(const char *folder, struct error *e);
/* Describes the result (result_describe) and writes erf.h5, curve.csv, summary.csv, the other
 * tables and figures that it has, and draws. Problems with pictures are reported to `p`. */
int erf_write(struct result *r, const char *folder, const char *formats, struct progress *p,
              struct error *e) MUST_USE;

/* The figures that a result may have, by number from 0; NULL: no more. Draws one; returns as
 * figure_draw. */
const struct result_figure *erf_figure(size_t i);
int erf_draw(const struct result_figure *one, const char *folder, const char *formats,
             const struct result *r, struct error *e) MUST_USE;

#endif
