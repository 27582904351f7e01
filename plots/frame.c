/* Marks at the frame of a panel, where they would hide each other. */
#include "plots/frame.h"

enum { NEAR = 22, LENGTH = 24, LABEL = 6 }; /* units: from the frame; of an arrow; to a label */

size_t frame_gather(struct frame_mark *marks, size_t count)
{
    size_t near = 0, gathered = 0;

    for (size_t i = 0; i < count; i++)
        near += marks[i].beyond || marks[i].place < NEAR;
    for (size_t i = 0; i < count; i++) {
        marks[i].gathered = marks[i].beyond || (near > 1 && marks[i].place < NEAR);
        gathered += (size_t)marks[i].gathered;
    }
    return gathered;
}

void frame_arrow(struct script *s, const struct layout *l, double y, int at_left, size_t count)
{
    double from = LENGTH / l->across, to = 2 / l->across;

    if (!count)
        return;
    fprintf(s->plot, "set arrow from graph %.4f, first %.10g to graph %.4f, first %.10g %s front\n",
            at_left ? from : 1 - from, y, at_left ? to : 1 - to, y, FRAME_ARROW);
    fprintf(s->plot,
            "set label times(%zu) at graph %.4f, "
            "first %.10g %s offset 0,%s front boxed\n",
            count, at_left ? LABEL / l->across : 1 - LABEL / l->across, y,
            at_left ? "left" : "right", at_left ? "-0.75" : "0.75");
}
