/* What `reach fit` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_FIT_COLUMNS_H
#define REACH_RUN_FIT_COLUMNS_H

#include "io/formats/csv.h"

/* Of fit.csv. */
struct fit_row {
    const char *formula, *head, *form;
    double first, last;
    const char *coefficient;
    double value, std_error, r2;
    const char *layer;
};
extern const struct csv_layout fit_csv;

#endif
