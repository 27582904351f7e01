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
    struct explanations found, joined; /* joined: of words, ..., if they were asked for */
};

/* Measures or reads, reduces, and writes the files of a result if a folder is given. */
int explain_run(struct explain_run *r, struct error *e) MUST_USE;
/* Call it also on failure. */
void explain_run_free(struct explain_run *r);
/* What is shown: `found`, or `joined`. */
const struct explanations *explain_shown(const struct explain_run *r);

/* The steps: the segment from the result; shares, ranks and lines about it; the files. */
int explain_read(struct explain_run *r, struct error *e) MUST_USE;
int explain_reduce(struct explanation *x, struct error *e) MUST_USE;
/* Explanations of larger units than tokens, from those of tokens, which must outlive them. */
int explain_join(struct explanations *out, const struct explanations *of, enum explain_by by,
                 struct error *e) MUST_USE;
/* Ranks of the changes, and how they agree with the shares. */
int explain_rank_changes(struct explanation *x, struct error *e) MUST_USE;
int explain_write(const struct explain_run *r, struct error *e) MUST_USE;
/* The units of what is shown. */
enum explain_by explain_unit_of(const struct explain_options *o);
/* explain.jsonl: a line for each explanation. */
int explain_write_lines(const void *found, const char *path, struct atomic_file *out,
                        struct error *e) MUST_USE;
extern const struct results_file *const explain_files[]; /* ended by NULL */
extern const struct results_layout explain_layout;

#endif
