/* The options of `reach bias`. */
#ifndef REACH_RUN_BIAS_OPTIONS_H
#define REACH_RUN_BIAS_OPTIONS_H

#include "run/formula_options.h"
#include "run/shared_options.h"

struct bias_options {
    struct formula_options formulas;
    struct text_list arguments;
    long length; /* distances 0 to length-1 */
    const char *folder, *formats; /* folder NULL: nothing is written */
    int force;
    struct shown_options shown;
};

#endif
