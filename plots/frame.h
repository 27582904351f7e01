/* Marks at the frame of a panel: an arrow with their number. */
#ifndef REACH_PLOTS_FRAME_H
#define REACH_PLOTS_FRAME_H

#include "plots/layout.h"

#include <stddef.h>

#define FRAME_ARROW "filled head size screen 0.008,20 lw 2.2 lc rgb \"#000000\""
/* Its entry in a key. */
#define FRAME_TITLE "at the frame, and how many"

struct frame_mark {
    double place; /* units from the frame */
    int beyond; /* 1: it is only known to lie beyond the frame */
    int gathered; /* 1: an arrow stands for it */
};

/* Sets `gathered` of the marks [count] that lie beyond the frame, and of those that are so close to
 * it that they hide each other. Returns how many. */
size_t frame_gather(struct frame_mark *marks, size_t count);

/* Sets an arrow to the right or the left frame at height y, with the number of marks above or below
 * it; 0: none. */
void frame_arrow(struct script *s, const struct layout *l, double y, int at_left, size_t count);

#endif
