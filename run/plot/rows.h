/* The rows of a table as structs: how figures read their tables. */
#ifndef REACH_RUN_PLOT_ROWS_H
#define REACH_RUN_PLOT_ROWS_H

#include "run/plot/plot.h"

/* The first member of the struct of a row. */
struct plot_row {
    const struct report *from;
    size_t number; /* in its table, from 1 */
    int begins; /* 1: the first row of a line: of a table, or the columns that tell lines apart
                   differ from the row before */
    const char *line; /* for plot_sort: the name of its line, */
    double along; /* and its place in that */
    size_t order; /* set by plot_sort */
};

enum plot_cell { CELL_TEXT, CELL_NUMBER, CELL_WHOLE };

/* A column: its value is the member of the same name. */
struct plot_column {
    const char *name;
    size_t offset; /* of a const char * (borrowed from the table) or a double */
    enum plot_cell kind;
    int tells_lines; /* 1: rows with different texts here are of different lines */
    double least, empty; /* of a number: what it must be at least; the value of an empty cell */
    double most; /* of a whole number, whose empty cell is 0 */
};
#define PLOT_TEXT(row, name) \
    { \
#name, offsetof(struct row, name), CELL_TEXT, 0, 0, 0, 0 \
    }
#define PLOT_NUMBER(row, name, least, empty) \
    { \
#name, offsetof(struct row, name), CELL_NUMBER, 0, least, empty, 0 \
    }
#define PLOT_WHOLE(row, name, least, most) \
    { \
#name, offsetof(struct row, name), CELL_WHOLE, 0, least, 0, most \
    }
/* The same for columns that tell lines apart. */
#define PLOT_LINE(row, name) \
    { \
#name, offsetof(struct row, name), CELL_TEXT, 1, 0, 0, 0 \
    }
#define PLOT_LINE_NUMBER(row, name, least, empty) \
    { \
#name, offsetof(struct row, name), CELL_NUMBER, 1, least, empty, 0 \
    }

struct plot_columns {
    enum report_kind kind;
    const char *expected; /* for a table that lacks a column: "trf.csv of `reach trf`" */
    const struct plot_column *column; /* [count] */
    size_t count, size; /* of the struct */
    const char *only; /* only rows with this text in the first column; NULL: all */
};

#define PLOT_COLUMNS(kind, expected, column, row, only) \
    { \
        kind, expected, column, sizeof column / sizeof *column, sizeof(struct row), only \
    }

/* The rows of a table, or if it is NULL of all tables of the kind; *count of them. NULL with *e.
 * They last as long as the run. */
void *plot_rows(struct plot_run *r, const struct plot_columns *c, const struct report *table,
                size_t *count, struct error *e) MUST_USE;

/* Puts the rows of each line together, ascending in `along`; lines stay in the order in which they
 * begin. Sets `begins` anew. `size`: of the struct. */
void plot_sort(void *rows, size_t count, size_t size);

/* Of the numbers `first` is one of, members of `count` structs of `size` bytes, the nearest to
 * `wanted`; NaN without any. */
double plot_nearest(const double *first, size_t size, size_t count, double wanted);

#endif
