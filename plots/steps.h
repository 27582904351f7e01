/* The figure of checkpoints of one training run: the field over the steps. */
#ifndef REACH_PLOTS_STEPS_H
#define REACH_PLOTS_STEPS_H

#include "plots/figure.h"

struct step_curve {
    const char *label;
    double step;
    const struct figure_curve *curve; /* of one length */
};

struct step_curves {
    const struct step_curve *curves; /* [count], ascending by step */
    size_t count;
    const double *thresholds; /* [threshold_count], the main one first */
    size_t threshold_count;
};

/* ERF at every threshold over the step, and c of the 1, 4, 16 ... most recent tokens, each with the
 * curve's band, in one scale of colours a panel. Returns as figure_draw. */
int figure_steps(const struct figure_place *to, const struct step_curves *what,
                 struct error *e) MUST_USE;

#endif
