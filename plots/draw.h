/* Pictures of a script, drawn by a gnuplot process. */
#ifndef REACH_PLOTS_DRAW_H
#define REACH_PLOTS_DRAW_H

#include "io/error.h"

/* Results of drawing other than 0 and -1: the script is written, but there are no pictures because
 * gnuplot is missing, or has failed; the message says why. */
enum { FIGURE_NO_GNUPLOT = 1, FIGURE_NOT_DRAWN = 2 };

/* Runs gnuplot on FOLDER/SCRIPT once for each format, with `format` and `output` set for it; the
 * pictures are FOLDER/STEM.FORMAT. Uses the first gnuplot in an absolute folder of PATH other than
 * FOLDER. Returns as above. */
int figure_draw(const char *script, const char *folder, const char *stem, const char *formats,
                struct error *e) MUST_USE;

/* Ends a running gnuplot, for a handler of a signal that ends the program. */
void figure_stop(void);

/* Removes FOLDER/STEM.{png,svg,pdf,tikz}. */
int figure_remove(const char *folder, const char *stem, struct error *e) MUST_USE;

/* 0 if every entry of the comma-separated list is png, svg, pdf or tikz. */
int figure_check_formats(const char *formats, struct error *e) MUST_USE;

#endif
