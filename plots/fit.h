/* The figure of fits. */
#ifndef REACH_PLOTS_FIT_H
#define REACH_PLOTS_FIT_H

#include "analyze/fit.h"
#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* Points and the least-squares curve through them. */
struct fit_figure {
    const char *label; /* "t5, layer 2, head 3" */
    const char *name, *layers; /* of many fits: "t5"; "layer 2" or "" */
    const char *form;
    const struct fit_result *result;
    const double *t, *y, *fitted; /* [points], t ascending; y NULL, in all fits or none: unknown */
    size_t points;
};
struct fit_figures {
    const struct fit_figure *fits; /* [count] */
    size_t count;
    const char *quantity; /* the name of y */
};

/* Fits on a linear and a logarithmic axis, with the residuals below. Of more than eight, those of a
 * name and layer, or of a name, are a band from the lowest to the highest with a line at their
 * median. Returns as figure_draw. */
int figure_fit(const struct figure_place *to, const struct fit_figures *u,
               struct error *e) MUST_USE;

/* ---- private to plots/ ---- */

/* The lines of the figure: single fits, or groups of them over the same t. */
struct fit_line {
    const struct fit_figure **members; /* [count], owned, the first one's t for all */
    size_t count;
    char *label, *text; /* owned; its key: "alibi, median of 8", "a = 1 to 2, b = 3, R^2 = 0.9" */
};
struct fit_lines {
    struct fit_line *lines; /* [count] */
    size_t count;
    int has_form; /* 1: all have one form, which the texts leave out */
};
int fit_lines_make(struct fit_lines *out, const struct fit_figures *u, struct error *e) MUST_USE;
void fit_lines_free(struct fit_lines *l);
/* The least, the median and the greatest of `values` [count], which are sorted. */
void fit_spread(double out[3], double *values, size_t count);

#endif
