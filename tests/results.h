/* What the program wrote, read back. Each function fails the test where it cannot. */
#ifndef REACH_TESTS_RESULTS_H
#define REACH_TESTS_RESULTS_H

#include "io/formats/csv.h"
#include "io/results/result.h"

/* Tables and results are the caller's to free. */
struct csv_table read_table(const char *path);
const char *cell(const struct csv_table *t, size_t row, const char *column);
double number(const struct csv_table *t, size_t row, const char *column);
/* BASE/FOLDER/erf.h5 */
struct result read_result(const char *folder);

void assert_same_file(const char *a, const char *b);

#endif
