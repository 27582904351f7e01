/* What the tests of `reach ppl` run on. */
#ifndef REACH_TESTS_PPL_INPUTS_H
#define REACH_TESTS_PPL_INPUTS_H

#include "commands/ppl.h"
#include "io/formats/csv.h"
#include "plots/ppl.h"
#include "tests/golden.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <stddef.h>

extern char ppl_goldens[4096];

/* The table of BASE/FOLDER/ppl.csv; csv_table_free. */
struct csv_table read_ppl(const char *folder);

int ppl_inputs(void **state);

#endif
