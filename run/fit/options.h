/* The options of `reach fit`. */
#ifndef REACH_RUN_FIT_OPTIONS_H
#define REACH_RUN_FIT_OPTIONS_H

#include "run/formula_options.h"
#include "run/shared_options.h"

#include <stddef.h>
#include <stdint.h>

#define FIT_FORM_DEFAULT "a + b*ln(1+t)"

/* The column of curve.csv to fit. */
enum fit_quantity { FIT_C, FIT_S, FIT_LN_S };

struct fit_options {
    struct formula_options formulas;
    const char *argument; /* borrowed */
    const char *form;
    enum fit_quantity of;
    long first, last; /* distances, both included; last -1: the argument's default */
    const char *folder, *formats;
    int force;
    struct shown_options shown;
};

#endif
