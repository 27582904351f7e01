/* What `reach plot` is asked for. */
#ifndef REACH_RUN_PLOT_OPTIONS_H
#define REACH_RUN_PLOT_OPTIONS_H

#include "io/text_list.h"

struct plot_options {
    struct text_list results;
    const char *folder, *formats;
    double threshold; /* 0: that of the first result */
    long train_length; /* 0: unmarked */
    int force;
};

#endif
