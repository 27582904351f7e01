/* A run's measurements other than gradients, from a table. Each function handles those that the run
 * was asked for. Private to run/erf. */
#ifndef REACH_RUN_ERF_MEASUREMENTS_H
#define REACH_RUN_ERF_MEASUREMENTS_H

#include "run/erf/run.h"
#include "run/measurement.h"

struct erf_measurement {
    const struct measurement *how;
    long (*asked)(const struct erf_options *o); /* 0: not asked for */
};
extern const struct erf_measurement measurements[]; /* ended by an entry with NULL `how` */

/* 1 if any is asked for. */
int measurements_asked(const struct erf_options *o);
/* As room, estimate, measure and reduce of struct measurement; for all models, or for one. */
int measurements_room(struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
int measurements_estimate(const struct erf_run *r, struct erf_model *m, struct error *e) MUST_USE;
int measurements_measure(const struct erf_run *r, struct error *e) MUST_USE;
int measurements_resume(struct erf_model *m, const struct journal_record *record) MUST_USE;
/* Adds the total work and the work done, in steps and in operations. */
void measurements_count(const struct erf_run *r, const struct erf_model *m, size_t *total,
                        size_t *done);
void measurements_costs(const struct erf_run *r, const struct erf_model *m, double *total,
                        double *done);
/* For all measurements, asked for or not. */
void measurements_close(struct erf_model *m);

#endif
