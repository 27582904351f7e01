/* Which tokens a prediction depended on: what `reach explain` finds and writes. */
#ifndef REACH_RUN_EXPLAIN_EXPLAIN_H
#define REACH_RUN_EXPLAIN_EXPLAIN_H

#include "page/explanation.h"
#include "run/erf/options.h"
#include "run/explain/options.h"
#include "run/models.h"
#include "run/progress.h"

struct explain_run {
    const struct explain_options *options;
    const char *command; /* as it is recorded; borrowed, here and above */
    const struct model_argument *argument; /* NULL: a result is shown */
    struct progress *progress;
    struct explanation found;
};

/* Measures or reads, reduces, and writes explain.csv and explain.html where a folder is given. The caller frees `found` also when
 * it fails. */
int explain_run(struct explain_run *r, struct error *e) MUST_USE;

/* The steps: what the model says of the text; what the result holds of the segment; shares, ranks, lines of what they found; the
 * files. */
int explain_measure(struct explain_run *r, struct error *e) MUST_USE;
int explain_read(struct explain_run *r, struct error *e) MUST_USE;
int explain_reduce(struct explanation *x, struct error *e) MUST_USE;
int explain_write(const struct explain_run *r, struct error *e) MUST_USE;
extern const struct results_layout explain_layout;

#endif
