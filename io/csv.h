/* CSV as every reach result has it: `# ` lines, one header line, standard quoting, numbers that read back exactly, `\n` line
 * ends; atomic. */
#ifndef REACH_IO_CSV_H
#define REACH_IO_CSV_H

#include "io/error.h"

#include <stddef.h>

struct csv;

/* Starts PATH (written beside and renamed by csv_close). `comments` is a NULL-terminated list of lines without `# `; `header` the
 * column names with commas. */
struct csv *csv_create(const char *path, const char *const *comments, const char *header, struct error *e) MUST_USE;
/* The next field of the row; quoted where needed. */
void csv_text(struct csv *c, const char *value);
/* Shortest decimal that reads back to the same double; inf and nan as `inf`, `-inf`, `nan`. */
void csv_real(struct csv *c, double value);
void csv_whole(struct csv *c, long long value);
void csv_empty(struct csv *c);
void csv_end_row(struct csv *c);
/* Checks the number of fields of every row and all writes, syncs, renames and frees. On failure nothing is left behind. */
int csv_close(struct csv *c, struct error *e) MUST_USE;
/* The same but for the renaming, which atomic_place does. */
struct atomic_file;
int csv_stage(struct csv *c, struct atomic_file *out, struct error *e) MUST_USE;
/* Gives up: removes the temporary file and frees. */
void csv_abandon(struct csv *c);

/* Shortest decimal form of `value` that strtod reads back to the same bits. Returns `out`. */
char *csv_format_real(char out[32], double value);

/* A table read back: `cell[row * columns + column]`, strings unquoted. Caller frees with csv_table_free. */
struct csv_table {
    char **header;
    size_t columns, rows;
    char **cell;
    char *storage;
};
int csv_read(const char *path, struct csv_table *out, struct error *e) MUST_USE;
int csv_column(const struct csv_table *t, const char *name); /* index or -1 */
void csv_table_free(struct csv_table *t);

#endif
