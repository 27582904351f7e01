/* The parts of the verb `report`. */
#ifndef REACH_COMMANDS_REPORT_H
#define REACH_COMMANDS_REPORT_H

#include "run/report/run.h"

/* The page. -1: memory ran out. */
int report_page(FILE *f, const struct report_run *r);
/* Describes a result of `reach erf` in words, a paragraph for each model. -1: out of memory. */
int report_tell_result(FILE *f, const struct result *r);
/* The same for a table of `reach ppl` or `reach trf`. Nothing for other tables. */
void report_tell(FILE *f, const struct report *table);

#endif
