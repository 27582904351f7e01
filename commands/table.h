/* Aligned tables, on a text screen and in an HTML page. */
#ifndef REACH_COMMANDS_TABLE_H
#define REACH_COMMANDS_TABLE_H

#include "io/error.h"

#include <stdio.h>

struct table;

/* `alignment` has a letter for each column, l or r, followed by a digit if the column may be left
 * out on a narrow screen: those with the lowest digit first, from the right. NULL: out of memory;
 * the caller frees. */
struct table *table_create(const char *alignment);
/* Adds a line above it. */
void table_caption(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* Adds a line below it. */
void table_note(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* The next cell, row by row, the header first. table_print reports a lack of memory. */
void table_cell(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* A cell with a number, or with - for 0. */
void table_count(struct table *t, size_t n);
/* Several cells of equal alignment, ended by NULL. */
void table_cells(struct table *t, const char *const *texts);
/* Prints all rows, with columns as wide as their widest cell, and as many columns as fit if F is
 * standard output. 0, or -1: out of memory. */
int table_print(FILE *f, const struct table *t) MUST_USE;
/* The same within this many columns; 0: unlimited. */
int table_print_within(FILE *f, const struct table *t, int columns) MUST_USE;
/* The same as HTML. */
int table_html(FILE *f, const struct table *t) MUST_USE;
/* Either. */
typedef int table_sink(FILE *f, const struct table *t);
void table_free(struct table *t);

#endif
