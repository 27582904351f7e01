/* The figure of theoretical fields over epsilon. */
#ifndef REACH_PLOTS_EPSILONS_H
#define REACH_PLOTS_EPSILONS_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* TRF(epsilon) of one encoding. */
struct epsilon_point {
    double epsilon;
    double lo, hi; /* equal if the field is exact */
};

struct epsilon_line {
    const char *label;
    const struct epsilon_point *points; /* [count] ascending by epsilon, all finite */
    size_t count;
};

struct epsilon_lines {
    const struct epsilon_line *lines; /* [count] */
    size_t count;
};

/* TRF over epsilon, one line per encoding, with a band where the fields are intervals. An axis that
 * spans a factor of 10 is logarithmic. Returns as figure_draw. */
int figure_epsilons(const struct figure_place *to, const struct epsilon_lines *u,
                    struct error *e) MUST_USE;

#endif
