/* What the tests of `reach plot` run on, and how they read scripts. */
#ifndef REACH_TESTS_PLOT_INPUTS_H
#define REACH_TESTS_PLOT_INPUTS_H

#include "tests/program.h"

/* `reach LINE` without gnuplot, which takes longer than all else: the scripts are what counts. */
void script_only(const char *line);
/* The same; a line on standard error has the text `said`. */
void script_with_warning(const char *line, const char *said);
/* A script; the caller frees. */
char *script_of(const char *name);
void assert_has(const char *name, const char *part);
void assert_lacks(const char *name, const char *part);

/* Opens the program's folder and measures small models in it. */
int plot_inputs(void **state);

#endif
