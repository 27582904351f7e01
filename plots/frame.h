/* Marks at the frame of a panel: an arrow with their number. */
#ifndef REACH_PLOTS_FRAME_H
#define REACH_PLOTS_FRAME_H

#include "plots/layout.h"

#include <stddef.h>

#define FRAME_ARROW "filled head size screen 0.008,20 lw 2.2 lc rgb \"#000000\""
/* Its entry in a key. */
#define FRAME_TITLE "at the frame, and how many"

/* Which of `count` marks are shown by an arrow: those that lie `beyond` the frame, and those that
 * are so close to it that they hide each other. place: units from the frame; below 0: no mark.
 * Returns how many. */
size_t frame_gather(unsigned char *gathered, const double *place, const unsigned char *beyond,
                    size_t count);

/* Sets an arrow to the right or the left frame at height y, with the number of marks above or below
 * it; 0: none. */
void frame_arrow(struct script *s, const struct layout *l, double y, int at_left, size_t count);

#endif
