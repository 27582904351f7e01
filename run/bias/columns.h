/* What `reach bias` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_BIAS_COLUMNS_H
#define REACH_RUN_BIAS_COLUMNS_H

#include "io/formats/csv.h"

/* A row of bias.csv; 0: empty, in columns that may be. */
struct bias_row {
    const char *formula, *head;
    long long distance;
    double bias;
    long long layer;
};
extern const struct csv_layout bias_csv;

#endif
