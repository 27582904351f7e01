/* A table's cells, for the files that print it in one form or another. */
#ifndef REACH_COMMANDS_TABLE_PARTS_H
#define REACH_COMMANDS_TABLE_PARTS_H

#include "commands/table.h"

enum { TABLE_NOTES = 4 };

struct table {
    char *alignment, *rank; /* a letter and a digit for each column; rank 0: always shown */
    size_t columns, count; /* cells so far */
    char **cell, *caption, *note[TABLE_NOTES];
    size_t notes;
    int headless; /* the least width of the first column; 0: the header is shown */
    int failed;
};

/* The width of each column, 0 for those left out so that the others fit `columns` (0: all fit), if
 * they may be: those of rank 9 only on a screen. The caller frees; NULL: out of memory. */
int *table_widths(const struct table *t, int columns, int on_screen);
/* How many columns were left out; their names with commas go to F, unless it is NULL. */
size_t table_left_out(FILE *f, const struct table *t, const int *width);

#endif
