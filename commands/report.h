/* The parts of the verb `report`. */
#ifndef REACH_COMMANDS_REPORT_H
#define REACH_COMMANDS_REPORT_H

#include "run/report/run.h"

/* The page. -1: memory ran out. */
int report_page(FILE *f, const struct report_run *r);
/* What a result of `reach erf` says in words, a paragraph for each model. -1: memory ran out. */
int report_tell_result(FILE *f, const struct result *r);
/* What a table of `reach ppl` or `reach trf` says, the same way. Other tables say
 * nothing here. */
void report_tell(FILE *f, const struct report *table);

#endif
