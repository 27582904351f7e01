/* What `reach bias` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_BIAS_COLUMNS_H
#define REACH_RUN_BIAS_COLUMNS_H

#include "io/formats/csv.h"

/* Of bias.csv; 0 where a column may be empty. */
struct bias_row {
    const char *formula, *head;
    long long distance;
    double bias;
    long long layer;
};
extern const struct csv_layout bias_csv;

#endif
