/* Figures: a .gp script and its data, drawn by a gnuplot process.
 *
 * A script contains its data (as $name << EOD blocks), so that it can be redrawn or edited anywhere
 * with `gnuplot erf.gp`. */
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
    double cone; /* inputs reached through windows; 0: all. Drawn with theoretical fields */
};

struct figure_curves {
    const struct figure_curve *curves; /* [count] */
    size_t count;
    const double *thresholds; /* [threshold_count], the main one first */
    size_t threshold_count;
};

/* The cumulative curves c_m of several models over the position m, as in Figures 4 to 7 of [A] (one
 * line per model, band = interval, thresholds and L_tr marked), and the share 1 - c beyond the most
 * recent tokens, on logarithmic axes that separate short fields. Writes FOLDER/STEM.gp, removes
 * earlier pictures, then draws those that the style asks for. Returns as figure_draw. */
int figure_erf(const struct figure_place *to, const struct figure_curves *what,
               struct error *e) MUST_USE;

#endif
