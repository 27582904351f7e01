/* Aligned tables, on a text screen and in a page. */
#ifndef REACH_COMMANDS_TABLE_H
#define REACH_COMMANDS_TABLE_H

#include "io/error.h"

#include <stdio.h>

struct table;

/* `alignment` has a letter for each column, l or r, and behind it a digit where the column may be left out on a narrow screen:
 * those of the lowest digit go first, of equal ones the last. NULL when memory runs out; the caller frees. */
struct table *table_create(const char *alignment);
/* A line above it. */
void table_caption(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* A line below it. */
void table_note(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* The next cell, row by row; the first row is the header. What memory cannot hold is reported by table_print. */
void table_cell(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* Cells of several columns alike, ended by NULL. */
void table_cells(struct table *t, const char *const *texts);
/* Prints all rows, columns as wide as their widest cell on a screen, and as many columns as standard output has room for if it is
 * F. 0, or -1 when memory ran out. */
int table_print(FILE *f, const struct table *t) MUST_USE;
/* The same in so many columns; 0: all it needs. */
int table_print_within(FILE *f, const struct table *t, int columns) MUST_USE;
/* The same as HTML. */
int table_html(FILE *f, const struct table *t) MUST_USE;
/* Either. */
typedef int table_sink(FILE *f, const struct table *t);
void table_free(struct table *t);

#endif
