/* The figure of checkpoints of one training run: the field over the steps. */
#ifndef REACH_PLOTS_STEPS_H
#define REACH_PLOTS_STEPS_H

#include "plots/figure.h"

struct step_curve {
    const char *label;
    double step;
    const struct figure_curve *curve; /* of one length */
};

/* ERF at every threshold over the step, with the interval of the main one, thresholds[0]; and c of
 * the 1, 4, 16 ... most recent tokens. The curves ascend by step. Returns as figure_draw. */
int figure_steps(const char *folder, const char *stem, const struct step_curve *curves,
                 size_t count, const double *thresholds, size_t threshold_count,
                 const char *const *comments, const struct figure_style *style,
                 struct error *e) MUST_USE;

#endif
