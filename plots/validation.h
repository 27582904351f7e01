/* The figure of `reach erf --validate`: what the loss depends on, compared with the gradient. */
#ifndef REACH_PLOTS_VALIDATION_H
#define REACH_PLOTS_VALIDATION_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* The inputs before the last `kept` are replaced. */
struct validation_point {
    double kept; /* tokens */
    double size, lo,
        hi; /* mean size of the change of -log p, nats, with its interval; lo and hi NaN: unknown */
    double gradient; /* share of the gradient that was replaced */
};

/* One model. */
struct validation_line {
    const char *label;
    const struct validation_point *points; /* [count], kept ascending */
    size_t count;
    int train_length; /* 0: unmarked */
};

struct validation_lines {
    const struct validation_line *lines; /* [count] */
    size_t count;
    double within; /* nats */
};

/* Two panels, both axes logarithmic, one line per model: the size of the change over the tokens
 * kept, with the models' L_tr and `within` nats marked; and over the share of the gradient that was
 * replaced, where equal lines mean that the gradient predicts the loss. Zeros are left out. Returns
 * as figure_draw (plots/draw.h). */
int figure_validation(const struct figure_place *to, const struct validation_lines *u,
                      struct error *e) MUST_USE;

#endif
