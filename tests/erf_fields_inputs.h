/* What the tests of fields by layer, target and head run on. */
#ifndef REACH_TESTS_ERF_FIELDS_INPUTS_H
#define REACH_TESTS_ERF_FIELDS_INPUTS_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

#include <stddef.h>

enum { LENGTH = 64, N = LENGTH - 1, SEGMENTS = 6, LAYERS = 3, WINDOW = 5 };

int erf_fields_inputs(void **state);

#endif
