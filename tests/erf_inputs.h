/* What the tests of `reach erf` run on, and comparisons of its results. */
#ifndef REACH_TESTS_ERF_INPUTS_H
#define REACH_TESTS_ERF_INPUTS_H

#include "analyze/curve.h"
#include "commands/erf.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <stddef.h>

void assert_same_erf(const char *a, const char *b);

int erf_inputs(void **state);

#endif
