/* `reach plot` on results of `reach trf`: theoretical beside measured fields. Private to commands/plot*.c. */
#ifndef REACH_COMMANDS_PLOT_FIELDS_H
#define REACH_COMMANDS_PLOT_FIELDS_H

#include "commands/options.h"
#include "plots/figure.h"

/* Draws FOLDER/fields.gp: of each name in the tables (paths of trf.csv) its TRF of one layer and, where the table has one, across
 * layers, and of each curve of that name the measured ERF at `threshold` with the interval that its band gives. The epsilon
 * nearest to 1 - threshold is taken. Returns as figure_draw does. */
int plot_fields(const char *folder, const struct text_list *tables, const struct figure_curve *curves, size_t count,
                double threshold, const char *const *comments, const char *formats, struct error *e) MUST_USE;

#endif
