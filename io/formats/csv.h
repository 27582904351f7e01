/* CSV as in every reach result: `# ` lines, one header line, standard quoting, numbers that read
 * back exactly, `\n` line ends; atomic. The same rows may go into a JSON document instead. */
#ifndef REACH_IO_FORMATS_CSV_H
#define REACH_IO_FORMATS_CSV_H

#include "io/error.h"

#include <stddef.h>
#include <stdio.h>

struct csv;
struct json_writer;

/* ---- writing by a table of columns ---- */

enum csv_kind {
    CSV_TEXT,
    CSV_WHOLE,
    CSV_REAL,
    CSV_DECIMAL, /* a real rounded by the writer: its decimals as text */
    CSV_DIGITS /* a whole number of any size, or inf: its digits as text */
};

/* A column: its value is the member of the same name in the writer's struct of a row. */
struct csv_column {
    const char *name;
    const char *unit; /* "tokens", "nats"; empty: none */
    const char *meaning; /* for doc/outputs.md: what a value means, and what an empty cell means */
    enum csv_kind kind;
    int may_be_empty; /* 1: an empty text, 0 or NaN becomes an empty cell */
    size_t offset; /* of the value in the row */
};

/* The column of member NAME in struct ROW: const char *, long long or double. */
#define CSV_COLUMN(row, name, unit, meaning) \
    { \
#name, unit, meaning, CSV_KIND(row, name), 0, offsetof(struct row, name) \
    }
#define CSV_OPTIONAL(row, name, unit, meaning) \
    { \
#name, unit, meaning, CSV_KIND(row, name), 1, offsetof(struct row, name) \
    }
/* A decimal that may be empty, a const char *. */
#define CSV_ROUNDED(row, name, unit, meaning) \
    { \
#name, unit, meaning, CSV_DECIMAL, 1, offsetof(struct row, name) \
    }
/* A whole number of any size that may be empty, a const char *. */
#define CSV_LONG(row, name, unit, meaning) \
    { \
#name, unit, meaning, CSV_DIGITS, 1, offsetof(struct row, name) \
    }
#define CSV_KIND(row, name) \
    _Generic(((struct row *)0)->name, const char * : CSV_TEXT, char * : CSV_TEXT, long long : CSV_WHOLE, double : CSV_REAL)

/* Describes one of our files: its header, comment line of units and part of doc/outputs.md are made
 * from it. */
struct csv_layout {
    const char *file; /* "ppl.csv" */
    const char *origin; /* "`reach ppl -o DIR`" */
    const char *row; /* what one row is for: "a model and context" */
    const char *units; /* the comment line after `# units: `; NULL: never a file */
    const struct csv_column *columns;
    size_t count;
};

/* Starts PATH with the lines of version, command (without `command: `), units, and `note` unless it
 * is NULL, and the header. */
struct csv *csv_open(const char *path, const struct csv_layout *l, const char *command,
                     const char *note, struct error *e) MUST_USE;
/* All fields of a row, a struct whose members are the layout's columns. */
void csv_row(struct csv *c, const void *row);
/* Rows as a member of a JSON document: a list of objects, or if `single` the object of the only
 * row. Their members are the columns: texts and decimals as texts, numbers as numbers
 * (json_write_real), what is empty as null. csv_leave ends the member and frees. */
struct csv *csv_enter(struct json_writer *d, const struct csv_layout *l, int single,
                      struct error *e) MUST_USE;
void csv_leave(struct csv *c);
/* The member's name: that of the layout's file without its ending. Returns `out`. */
enum { CSV_MEMBER = 64 };
const char *csv_member(char out[CSV_MEMBER], const struct csv_layout *l);

/* ---- writing field by field ---- */

/* Starts PATH (written beside and renamed by csv_close). `comments` is a NULL-terminated list of
 * lines without `# `; `header` the column names with commas. */
struct csv *csv_create(const char *path, const char *const *comments, const char *header,
                       struct error *e) MUST_USE;
/* The next field of the row; quoted where needed. */
void csv_text(struct csv *c, const char *value);
/* Shortest decimal that reads back to the same double; inf and nan as `inf`, `-inf`, `nan`. */
void csv_real(struct csv *c, double value);
void csv_whole(struct csv *c, long long value);
void csv_empty(struct csv *c);
void csv_end_row(struct csv *c);
/* Checks the number of fields of every row and all writes, syncs, renames and frees. On failure no
 * file remains. */
int csv_close(struct csv *c, struct error *e) MUST_USE;
/* The same without the rename, which atomic_place does. */
struct atomic_file;
int csv_stage(struct csv *c, struct atomic_file *out, struct error *e) MUST_USE;
/* Gives up: removes the temporary file and frees. */
void csv_abandon(struct csv *c);

/* A field by itself, quoted as in RFC 4180, and if it has a #, a comment for pandas and R outside
 * quotes. */
void csv_quote(FILE *f, const char *value);

/* Shortest decimal form of `value` that strtod reads back to the same bits. Returns `out`. */
char *csv_format_real(char out[32], double value);

/* ---- reading ---- */

/* A table read back: `cell[row * columns + column]`, strings unquoted. Caller frees with
 * csv_table_free. */
struct csv_table {
    char **header;
    size_t columns, rows;
    char **cell;
    char *storage;
    const char *version, *command; /* from its comment lines; NULL: not given */
};
int csv_read(const char *path, struct csv_table *out, struct error *e) MUST_USE;
int csv_column(const struct csv_table *t, const char *name); /* index or -1 */
void csv_table_free(struct csv_table *t);

#endif
