/* The files of a result of `reach erf` in their folder, whoever made it. */
#ifndef REACH_RUN_ERF_WRITE_H
#define REACH_RUN_ERF_WRITE_H

#include "io/results/result.h"
#include "run/measurement.h"

/* 1 and a message if FOLDER holds results. */
int erf_results_exist(const char *folder, struct error *e);
/* Describes the result (result_describe) and writes erf.h5, curve.csv, summary.csv, what of other tables and figures belongs to
 * it, and draws. What is the matter with pictures is told to `p`. */
int erf_write(struct result *r, const char *folder, const char *formats, struct progress *p, struct error *e) MUST_USE;

/* The figures that a result may have, by their number from 0; NULL: no more. */
const struct result_figure *erf_figure(size_t i);

#endif
