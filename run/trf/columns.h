/* What `reach trf` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_TRF_COLUMNS_H
#define REACH_RUN_TRF_COLUMNS_H

#include "io/formats/csv.h"

/* A row of trf.csv; NULL or 0: empty, in columns that may be. */
struct trf_row {
    const char *formula, *head, *length;
    long long layers;
    const char *epsilon, *verdict;
    const char *sum_lo, *sum_hi; /* decimals, rounded outwards */
    const char *trf_lo, *trf_hi;
    long long layer;
    const char *log10_trf_lo, *log10_trf_hi;
};
extern const struct csv_layout trf_csv;

/* A row of rotary.csv; 0: empty, in columns that may be. */
struct rotary_row {
    const char *formula;
    long long layer, inputs, turned;
    double still;
    const char *verdict;
    long long distance, window, train_length;
    double slowest;
    long long quarter_turn, whole_turn, layers;
    const char *coherence;
    long long incoherent;
};
extern const struct csv_layout rotary_csv;

/* A row of weights.csv; NULL or NaN: empty, in columns that may be. */
struct weights_row {
    const char *formula, *layers, *head, *length;
    long long tokens;
    double weight, beyond;
    const char *epsilon, *verdict, *field;
    double trf;
};
extern const struct csv_layout weights_csv;

#endif
