/* What `reach ppl` writes as CSV: the rows and their columns. */
#ifndef REACH_RUN_PPL_COLUMNS_H
#define REACH_RUN_PPL_COLUMNS_H

#include "io/formats/csv.h"

/* A row of ppl.csv; 0 or NaN: empty, in columns that may be. */
struct ppl_row {
    const char *model, *protocol;
    long long context, stride, tokens;
    double nll, std_error, ppl;
    long long window;
    double seconds_per_token, diff, diff_se, p;
    long long bytes, characters, words;
    double bits_per_byte, character_ppl, word_ppl;
};
extern const struct csv_layout ppl_csv;

/* A row of gain.csv; NaN: empty, in columns that may be. */
struct gain_row {
    const char *model, *protocol;
    long long context, tokens;
    double nll, gain, gain_lo, gain_hi, p, rest, rest_lo, rest_hi, within, needed, enough;
    long long needed_q10, needed_median, needed_q90;
};
extern const struct csv_layout gain_csv;

/* Of the file of --per-token. */
struct ppl_target_row {
    const char *model;
    long long context, row, position, id;
    double nll;
    const char *piece;
};
extern const struct csv_layout ppl_targets_csv;

#endif
