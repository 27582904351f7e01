/* All CSV files that reach writes, by their tables of columns. */
#ifndef REACH_RUN_OUTPUTS_OUTPUTS_H
#define REACH_RUN_OUTPUTS_OUTPUTS_H

#include "io/formats/csv.h"

/* In the order of doc/outputs.md. */
extern const struct csv_layout *const outputs[];
extern const size_t output_count;

#endif
