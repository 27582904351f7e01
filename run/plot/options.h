/* The options of `reach plot`. */
#ifndef REACH_RUN_PLOT_OPTIONS_H
#define REACH_RUN_PLOT_OPTIONS_H

#include "io/text_list.h"
#include "run/shared_options.h"

struct plot_options {
    struct text_list results;
    const char *folder, *formats;
    const char *figures; /* names with commas; NULL: all that the results have */
    double threshold; /* 0: the first result's */
    long train_length; /* 0: unmarked */
    const char *steps; /* of the curves, in order, with commas; NULL: from the labels */
    struct text_list only, labels; /* "A,B"; "NAME=TEXT" */
    const char *width, *height, *font, *title, *panels,
        *legend; /* NULL: the figure's own; lengths as text */
    double font_size; /* points; 0 */
    int no_title, logarithmic_x, sequential;
    int force;
    struct shown_options shown;
};

#endif
