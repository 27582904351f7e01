/* All CSV files that reach writes, by their tables of columns. */
#ifndef REACH_RUN_OUTPUTS_OUTPUTS_H
#define REACH_RUN_OUTPUTS_OUTPUTS_H

#include "io/formats/csv.h"

/* By number from 0, in the order of doc/outputs.md; NULL: no more. */
const struct csv_layout *output_at(size_t i);

#endif
