/* curve.csv and summary.csv. */
#ifndef REACH_RUN_ERF_CSV_H
#define REACH_RUN_ERF_CSV_H

#include "io/results/result.h"
#include "run/results.h"

extern const struct csv_layout curve_csv, summary_csv;

/* From a struct result. */
extern const struct results_file curve_file, summary_file;

#endif
