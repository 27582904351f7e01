/* The parts of the verb `explain`. */
#ifndef REACH_COMMANDS_EXPLAIN_H
#define REACH_COMMANDS_EXPLAIN_H

#include "commands/verb.h"
#include "run/explain/explain.h"

int explain_call(struct call *c, struct error *e);
/* What only --json has of a struct explain_run. */
extern const struct results_file *const explain_json[];

/* The report on standard output: the prediction, where the gradient is, the shaded text, and the
 * tokens with the largest shares. */
int explain_print(const struct explain_run *r, struct error *e) MUST_USE;
/* The last `shown` tokens, shaded, or with a digit below each. */
int explain_draw(const struct explanation *x, const struct explain_options *o,
                 struct error *e) MUST_USE;

#endif
