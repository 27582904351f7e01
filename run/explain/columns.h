/* What `reach explain` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_EXPLAIN_COLUMNS_H
#define REACH_RUN_EXPLAIN_COLUMNS_H

#include "io/formats/csv.h"

struct explain_row {
    const char *model;
    long long position, distance, id;
    const char *piece;
    double norm, share, cumulative;
    long long rank, line, target_position, target_id;
    double target_logprob;
    long long unit;
    const char *prompt, *target;
};

/* A word, sentence or line. */
struct unit_row {
    const char *model;
    long long unit, position, last, distance;
    const char *text;
    double norm, share, cumulative;
    long long rank, line, target_position, target_id;
    double target_logprob;
    const char *prompt, *target;
    double change;
    long long change_rank;
    double rank_correlation;
};

extern const struct csv_layout explain_csv, units_csv;

#endif
