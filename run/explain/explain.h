/* Which tokens a prediction depended on: the work of `reach explain`. */
#ifndef REACH_RUN_EXPLAIN_EXPLAIN_H
#define REACH_RUN_EXPLAIN_EXPLAIN_H

#include "page/explanation.h"
#include "run/erf/options.h"
#include "run/explain/options.h"
#include "run/models.h"
#include "run/progress.h"
#include "run/results.h"

struct explain_run {
    const struct explain_options *options;
    const char *command; /* as recorded; borrowed, here and above */
    const struct model_argument *argument; /* NULL: a saved result is shown */
    struct progress *progress;
    struct explanations found;
};

/* Measures or reads, reduces, and writes explain.csv and explain.html if a folder is given. Caller
 * frees `found`, also on failure. */
int explain_run(struct explain_run *r, struct error *e) MUST_USE;

/* The steps: the segment from the result; shares, ranks and lines about it; the files. */
int explain_read(struct explain_run *r, struct error *e) MUST_USE;
int explain_reduce(struct explanation *x, struct error *e) MUST_USE;
int explain_write(const struct explain_run *r, struct error *e) MUST_USE;
extern const struct results_file *const explain_files[]; /* ended by NULL */
extern const struct results_layout explain_layout;

#endif
