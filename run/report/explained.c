/* explain.csv as explanations, for their texts on the page. */
#include "io/glyph.h"
#include "run/explain/explain.h"
#include "run/report/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL, POSITION, ID, PIECE, NORM, AT, TARGET_ID, LOGPROB, PROMPT, TARGET, COLUMNS };
static const char *const names[COLUMNS] = {"model",     "position",       "id",
                                           "piece",     "norm",           "target_position",
                                           "target_id", "target_logprob", "prompt",
                                           "target"};

struct source_rows {
    const struct report *file;
    int column[COLUMNS];
};

static const char *cell(const struct source_rows *r, size_t row, int column)
{
    return report_cell(r->file, row, r->column[column]);
}

static int whole(const struct source_rows *r, size_t row, int column, long low, long high,
                 long *out, struct error *e)
{
    const char *text = cell(r, row, column);
    char *end;

    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && *text && !*end && *out >= low && *out <= high
               ? 0
               : fail(e, "%s: row %zu has \"%s\" as %s (expected a whole number from %ld to %ld)",
                      r->file->path, row + 1, text, names[column], low, high);
}

/* 1 if two rows are of one explanation. */
static int are_together(const struct source_rows *r, size_t a, size_t b)
{
    static const int keys[] = {MODEL, PROMPT, AT, TARGET_ID};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(cell(r, a, keys[i]), cell(r, b, keys[i])) != 0)
            return 0;
    return 1;
}

static size_t end_of(const struct source_rows *r, size_t first)
{
    size_t row = first + 1;

    while (row < r->file->table.rows && are_together(r, first, row))
        row++;
    return row;
}

/* What shares are of, by the command. */
static const char *attribution_of(const char *command)
{
    static const char option[] = "--attribution ";
    const char *found = command ? strstr(command, option) : NULL;

    for (size_t i = 0; found && attribution_names[i]; i++) {
        size_t length = strlen(attribution_names[i]);

        if (strncmp(found + strlen(option), attribution_names[i], length) == 0 &&
            strchr(" ", found[strlen(option) + length]))
            return attribution_names[i];
    }
    return attribution_names[ATTRIBUTION_GRAD];
}

/* Rows [first, end). The target gets an id of its own: that of an answer stands for others too. */
static int read_one(struct explanation *x, const struct source_rows *r, size_t first, size_t end,
                    int32_t target, struct error *e)
{
    const char *logprob = cell(r, first, LOGPROB), *name = cell(r, first, PROMPT);
    char *rest;
    size_t n = end - first;

    *x = (struct explanation){.count = n,
                              .target = {target, strtod(logprob, &rest)},
                              .attribution = attribution_of(r->file->table.command)};
    if (*rest || !*logprob || !(x->target.logprob <= 0))
        return fail(e, "%s: row %zu has \"%s\" as target_logprob (expected a number up to 0)",
                    r->file->path, first + 1, logprob);
    x->name = *name ? strdup(name) : NULL;
    x->model = strdup(cell(r, first, MODEL));
    x->path = strdup(r->file->path);
    x->position_encoding = strdup("");
    x->id = malloc((n + 1) * sizeof *x->id);
    x->norm = malloc(n * sizeof *x->norm);
    if (!x->model || !x->path || !x->position_encoding || !x->id || !x->norm || (*name && !x->name))
        return fail_memory(e, (double)n * (sizeof *x->id + sizeof *x->norm), "an explanation");
    for (size_t i = 0; i < n; i++) {
        long at, id;

        if (whole(r, first + i, POSITION, (long)i + 1, (long)i + 1, &at, e) != 0 ||
            whole(r, first + i, ID, 0, INT32_MAX, &id, e) != 0 ||
            report_number(r->file, first + i, r->column[NORM], 0, NAN, &x->norm[i], e) != 0)
            return -1;
        x->id[i] = (int32_t)id;
    }
    x->id[n] = target;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct token_text *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* Texts of all ids: of inputs from their rows, of targets from the first row of each. */
static int read_texts(struct explanations *all, const struct source_rows *r, struct error *e)
{
    size_t rows = r->file->table.rows, count = 0, kept = 0, row = 0;
    struct token_text *piece = calloc(rows + all->count, sizeof *piece);
    int rc = piece ? 0 : fail_memory(e, (double)rows * sizeof *piece, "the texts of tokens");

    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const struct explanation *x = &all->item[i];

        piece[count++] = (struct token_text){.id = x->target.id, .text = cell(r, row, TARGET)};
        for (size_t k = 0; k < x->count; k++, row++)
            piece[count++] = (struct token_text){.id = x->id[k], .text = cell(r, row, PIECE)};
    }
    if (rc == 0)
        qsort(piece, count, sizeof *piece, by_id);
    for (size_t i = 0; i < count && rc == 0; i++) {
        char *bytes;

        if (!*piece[i].text || (kept && piece[kept - 1].id == piece[i].id))
            continue;
        bytes = malloc(strlen(piece[i].text) + 1);
        if (!bytes)
            rc = fail_memory(e, (double)strlen(piece[i].text), "the text of a token");
        else
            piece[kept++] = (struct token_text){.id = piece[i].id,
                                                .size = glyphs_read(bytes, piece[i].text),
                                                .text = bytes};
    }
    if (rc == 0)
        rc = texts_make(&all->pieces, piece, kept, e);
    for (size_t i = 0; i < kept; i++)
        free((char *)(uintptr_t)piece[i].text);
    free(piece);
    return rc;
}

int report_explain(struct report_source *s, struct error *e)
{
    struct source_rows r = {.file = &s->file};
    struct explanations *all = s->explained = calloc(1, sizeof *all);
    size_t rows = s->file.table.rows, most = 0;
    int rc = !all ? fail_memory(e, sizeof *all, "the explanations")
                  : report_columns(&s->file, names, COLUMNS, "explain.csv of reach 0.3 or later",
                                   r.column, e);

    for (size_t row = 0; row < rows && rc == 0; row = end_of(&r, row))
        most++;
    if (rc == 0 && !(all->item = calloc(most + 1, sizeof *all->item)))
        rc = fail_memory(e, (double)most * sizeof *all->item, "the explanations");
    for (size_t row = 0, end; row < rows && rc == 0; row = end) {
        end = end_of(&r, row);
        rc = read_one(&all->item[all->count], &r, row, end, -1 - (int32_t)all->count, e);
        all->count++; /* to be freed */
    }
    if (rc == 0)
        rc = read_texts(all, &r, e);
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        all->item[i].pieces = &all->pieces;
        rc = explain_reduce(&all->item[i], e);
    }
    return rc;
}
