/* Shared by the figures of a result. Private to plots/. */
#ifndef REACH_PLOTS_RESULT_SCRIPT_H
#define REACH_PLOTS_RESULT_SCRIPT_H

#include "io/results/result.h"
#include "plots/script.h"

/* script_make with the result's version and command as comment lines. */
int script_of_result(const char *folder, const char *stem, const struct result *r,
                     const struct figure_style *style,
                     int (*write)(struct script *s, const void *figure, struct error *e),
                     const void *figure, struct error *e) MUST_USE;

#endif
