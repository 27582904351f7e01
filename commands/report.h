/* The parts of the verb `report`. */
#ifndef REACH_COMMANDS_REPORT_H
#define REACH_COMMANDS_REPORT_H

#include "run/report/run.h"

/* The title, which names the models, and a table of their fields. -1: memory ran out. */
int report_title(FILE *f, const struct report_run *r);
int report_summary(FILE *f, const struct report_run *r);
/* What a kind of source is called. */
const char *report_heading(const struct report_source *s);
/* The texts of an explain.csv, shaded. -1: memory ran out. */
int report_texts(FILE *f, const struct explanations *all);
/* The page. -1: memory ran out. */
int report_page(FILE *f, const struct report_run *r);
/* Describes a result of `reach erf` in words, a paragraph for each model. -1: out of memory. */
int report_tell_result(FILE *f, const struct result *r);
/* The same for a table of the run that `reach ppl` or `reach trf` wrote. Nothing for other tables.
 */
void report_tell(FILE *f, const struct report *table, const struct report_run *r);

#endif
