/* Tables: aligned on a text screen, or as LaTeX, Markdown, CSV or HTML. */
#ifndef REACH_COMMANDS_TABLE_H
#define REACH_COMMANDS_TABLE_H

#include "io/error.h"

#include <stdio.h>

struct table;

/* `alignment` has a letter for each column: l or r, or w for a text on the left that is broken at
 * words if the screen is too narrow; after it a digit if the column may be left out there: those
 * with the lowest digit first, from the right; those with a 9 never in LaTeX. NULL: out of memory;
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
/* On a screen the header is not shown, and the first column has at least so many columns. */
void table_headless(struct table *t, int columns);

/* Prints all rows, with columns as wide as their widest cell, and as many columns as fit if F is
 * standard output. 0, or -1: out of memory. After table_choose, in that format. */
int table_print(FILE *f, const struct table *t) MUST_USE;
/* The same within this many columns; 0: unlimited. */
int table_print_within(FILE *f, const struct table *t, int columns) MUST_USE;
/* The same as HTML. */
int table_html(FILE *f, const struct table *t) MUST_USE;
/* Either. */
typedef int table_sink(FILE *f, const struct table *t);
/* Prints it on standard output, and frees it. T NULL, as made by table_create without memory, is an
 * error. */
int table_show(struct table *t, struct error *e) MUST_USE;
void table_free(struct table *t);

/* --table: the numbers of its choices. */
enum table_format { TABLE_TEXT, TABLE_LATEX, TABLE_MARKDOWN, TABLE_CSV };
extern const char *const table_formats[];
/* From now on table_print prints standard output's tables so; the first of them names the command,
 * where the format has comments. Borrowed. */
void table_choose(enum table_format format, const char *command);
/* Which was chosen. */
enum table_format table_chosen(void);
/* One table in a format other than TABLE_TEXT. LaTeX: a tabular with rules of booktabs, with as
 * many columns as one of a page's two has room for, or after screen_widen all; captions and notes
 * are comments. CSV: the same. Markdown: that of GitHub. */
int table_write(FILE *f, const struct table *t, enum table_format format) MUST_USE;

#endif
