/* The parts of a run of `reach erf`. Private to run/erf. */
#ifndef REACH_RUN_ERF_PARTS_H
#define REACH_RUN_ERF_PARTS_H

#include "run/erf/run.h"

/* run.c: opens working kernels; refuses what cannot fit before anything is measured. */
int erf_open_kernels(struct erf_run *r, struct error *e) MUST_USE;

/* prepare.c: opens models and text, cuts the segments and lays the result out; makes all checks
 * that can be made before the work. */
int erf_prepare(struct erf_run *r, struct error *e) MUST_USE;
/* Fills in what the result is of: the run, its models, and every field. */
int erf_identify(struct erf_run *r, struct error *e) MUST_USE;

/* engine.c: the engine that measures segments of this length, or one segment at a time with the
 * kernels of an oracle; and a check that a model's largest segment fits. */
struct engine;
struct engine *erf_engine_open(const struct erf_run *r, const struct erf_model *m, size_t length,
                               struct error *e) MUST_USE;
struct engine *erf_oracle_open(struct kernels *oracle, const struct erf_run *r,
                               const struct erf_model *m, struct error *e) MUST_USE;
int erf_engine_estimate(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;

/* foresee.c: says how long the rest of the work, of so many operations, will take, if it is not
 * soon done. */
void erf_foresee(const struct erf_run *r, double cost);

/* measure.c: measures and reduces all fields. 0, -1, or ERF_UNUSABLE. */
int erf_measure(struct erf_run *r, struct error *e) MUST_USE;
/* Fails if a file of a model was written to during the run, naming the file: the last batch then
 * mixes two versions of the model. */
int erf_unchanged(const struct erf_run *r, struct error *e) MUST_USE;

/* resume.c: `key=value` lines of all that results depend on. NULL: no memory; caller frees. */
char *erf_settings_text(const struct erf_run *r);
/* Opens r->journal, with --resume an earlier run's; erf_journal_remove also removes the other file
 * of reach 0.1.0. */
int erf_journal_open(struct erf_run *r, const char *path, struct error *e) MUST_USE;
void erf_journal_remove(const char *path);
/* finished.c: 1 if the erf.h5 at PATH is of this very run, and says so; r->result is then what the
 * run found, without what measurements added. 0 if it is of another run, -1 with *e. */
int erf_finished(struct erf_run *r, const char *path, struct error *e) MUST_USE;
/* The total work in segments, and the part that is done. */
void erf_count_work(const struct erf_run *r, size_t *total, size_t *done);
/* The same in costs of segments (struct erf_model). */
void erf_count_costs(const struct erf_run *r, double *total, double *done);

/* The fields of target number `target` of a model: [layer_count]. */
static inline struct result_field *erf_fields(const struct erf_model *m, size_t target)
{
    return &m->out->fields[target * m->layer_count];
}

#endif
