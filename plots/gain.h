/* The figure of `reach ppl --gain`: for how many targets a context is enough. */
#ifndef REACH_PLOTS_GAIN_H
#define REACH_PLOTS_GAIN_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

struct gain_point {
    double context; /* inputs */
    double enough; /* share of the targets */
    double lo, hi; /* its interval; equal: none */
};

/* One model. */
struct gain_line {
    const char *label;
    const struct gain_point *points; /* [count], contexts ascending */
    size_t count;
    int train_length; /* 0: unmarked */
};

struct gain_lines {
    const struct gain_line *lines; /* [count] */
    size_t count;
    double within; /* nats */
};

/* The share of targets for which a context is enough, over the context on a logarithmic axis, one
 * line per model with intervals, the models' L_tr marked; enough means within `within` nats of the
 * NLL at the longest context. Returns as figure_draw (plots/draw.h). */
int figure_gain(const struct figure_place *to, const struct gain_lines *u,
                struct error *e) MUST_USE;

#endif
