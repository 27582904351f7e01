/* `reach plot` on tables of results: summary.csv of `reach erf` as a ladder of fields, ppl.csv as perplexity over the context.
 * Private to commands/plot*.c. */
#ifndef REACH_COMMANDS_PLOT_TABLES_H
#define REACH_COMMANDS_PLOT_TABLES_H

#include "commands/options.h"

/* What a CSV file of ours holds, by its header. */
enum table_kind { TABLE_CURVES, TABLE_FIELDS, TABLE_LADDER, TABLE_PERPLEXITY };
enum table_kind table_kind_of(const char *path);

/* Draws FOLDER/ladder.gp: ERF at every threshold of all models of the tables, in order; `threshold` is the one with intervals
 * (the nearest counts). Other targets and layers of a model are left out. train_length 0: unmarked. Returns as figure_draw does.
 */
int plot_ladder(const char *folder, const struct text_list *tables, double threshold, int train_length,
                const char *const *comments, const char *formats, struct error *e) MUST_USE;

/* Draws FOLDER/ppl.gp: perplexity over the context, a line for each model and protocol of the tables; where there is no context
 * (cached) the window takes its place. train_length 0: unmarked. Returns as figure_draw does. */
int plot_perplexity(const char *folder, const struct text_list *tables, int train_length, const char *const *comments,
                    const char *formats, struct error *e) MUST_USE;

#endif
