/* Figures: a .gp script and its data, drawn by a gnuplot process.
 *
 * A script stands alone: the data are in it (as $name << EOD blocks), so that it can be redrawn or edited anywhere with `gnuplot
 * erf.gp`. */
#ifndef REACH_PLOTS_FIGURE_H
#define REACH_PLOTS_FIGURE_H

#include "plots/draw.h"
#include "plots/style.h"

#include <stddef.h>

/* One cumulative curve with its band. */
struct figure_curve {
    const char *label;
    const double *c, *c_lo, *c_hi; /* [positions]; lo and hi may be NULL */
    size_t positions;
    int train_length; /* 0: unmarked */
    size_t erf; /* at the main threshold; marked on the curve when > 0 */
    int saturated;
    double cone; /* inputs that windows let through; 0: all, or unknown. Not drawn here, but beside theoretical fields */
};

/* The cumulative curves c_m of several models over the position m, as in Figures 4 to 7 of [A] (one line a model, band =
 * interval, thresholds and L_tr marked), and beside them the share 1 - c that lies beyond the most recent tokens, on logarithmic
 * axes, where short fields can be told apart. thresholds[0] is the main one. Writes FOLDER/STEM.gp, then draws
 * the pictures as `style` asks; those of an earlier drawing are removed. Returns 0, one of the two above, or -1. */
int figure_erf(const char *folder, const char *stem, const struct figure_curve *curves, size_t count, const double *thresholds,
               size_t threshold_count, const char *const *comments, const struct figure_style *style, struct error *e) MUST_USE;

#endif
