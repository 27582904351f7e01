/* What a run measures beside gradients, by its table. Each function goes through those that the run is asked for. Private to
 * run/erf. */
#ifndef REACH_RUN_ERF_MEASUREMENTS_H
#define REACH_RUN_ERF_MEASUREMENTS_H

#include "run/erf/run.h"
#include "run/measurement.h"

struct erf_measurement {
    const struct measurement *how;
    long (*asked)(const struct erf_options *o); /* 0: not asked for */
};
extern const struct erf_measurement measurements[]; /* ended by one without `how` */

/* Whether any is asked for. */
int measurements_asked(const struct erf_options *o);
/* As struct measurement says of room, estimate, measure and reduce; of all models, or of one. */
int measurements_room(struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
int measurements_estimate(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
int measurements_measure(const struct erf_run *r, struct error *e) MUST_USE;
int measurements_resume(struct erf_model *m, const struct journal_record *record) MUST_USE;
/* Adds what there is to do, and what of it is done, in steps and in operations. */
void measurements_count(const struct erf_run *r, const struct erf_model *m, size_t *total, size_t *done);
void measurements_costs(const struct erf_run *r, const struct erf_model *m, double *total, double *done);
/* Whether they were asked for or not. */
void measurements_close(struct erf_model *m);

#endif
