/* What the tests of `reach trf` run on. */
#ifndef REACH_TESTS_TRF_INPUTS_H
#define REACH_TESTS_TRF_INPUTS_H

#include "commands/trf.h"
#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <stddef.h>

/* The first row whose cells are as given (NULL: any). */
size_t trf_row(const struct csv_table *t, const char *formula, const char *head, const char *length,
               const char *layers, const char *epsilon, const char *layer);

int trf_inputs(void **state);

#endif
