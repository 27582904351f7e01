/* The options of `reach report`. */
#ifndef REACH_RUN_REPORT_OPTIONS_H
#define REACH_RUN_REPORT_OPTIONS_H

#include "io/text_list.h"
#include "run/shared_options.h"

struct report_options {
    struct text_list results;
    const char *path; /* of the page */
    int force;
    struct shown_options shown;
};

#endif
