/* explain.csv as explanations, and units.csv beside it as those of larger units, for their texts on
 * the page. */
#include "io/glyph.h"
#include "run/command.h"
#include "run/explain/explain.h"
#include "run/report/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODEL, POSITION, ID, PIECE, NORM, AT, TARGET_ID, LOGPROB, PROMPT, TARGET, COLUMNS };
static const char *const names[COLUMNS] = {"model",     "position",       "id",
                                           "piece",     "norm",           "target_position",
                                           "target_id", "target_logprob", "prompt",
                                           "target"},
                         /* a unit's number, its first token, and its text */
    *const names_of_units[COLUMNS] = {"model",     "unit",           "position",
                                      "text",      "norm",           "target_position",
                                      "target_id", "target_logprob", "prompt",
                                      "target"};

struct source_rows {
    const struct report *file;
    const char *const *names;
    const char *by; /* of units; NULL: of tokens */
    int change; /* the column; -1: no part was left out */
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
                      r->file->path, row + 1, text, r->names[column], low, high);
}

/* 1 if two rows are of one explanation. */
static int are_together(const struct source_rows *r, size_t a, const struct source_rows *other,
                        size_t b)
{
    static const int keys[] = {MODEL, PROMPT, AT, TARGET_ID};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(cell(r, a, keys[i]), cell(other, b, keys[i])) != 0)
            return 0;
    return 1;
}

static size_t end_of(const struct source_rows *r, size_t first)
{
    size_t row = first + 1;

    while (row < r->file->table.rows && are_together(r, first, r, row))
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
        x->id[i] = (int32_t)(r->by ? (long)(first + i) : id); /* each unit has its text */
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

/* All of a table, with their shares. */
static int read_all(struct explanations *all, const struct source_rows *r, struct error *e)
{
    size_t rows = r->file->table.rows, most = 0;
    int rc = 0;

    for (size_t row = 0; row < rows; row = end_of(r, row))
        most++;
    if (!(all->item = calloc(most + 1, sizeof *all->item)))
        rc = fail_memory(e, (double)most * sizeof *all->item, "the explanations");
    for (size_t row = 0, end; row < rows && rc == 0; row = end) {
        end = end_of(r, row);
        rc = read_one(&all->item[all->count], r, row, end, -1 - (int32_t)all->count, e);
        all->count++; /* to be freed */
    }
    if (rc == 0)
        rc = read_texts(all, r, e);
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        all->item[i].pieces = &all->pieces;
        rc = explain_reduce(&all->item[i], e);
    }
    return rc;
}

/* ---- units ---- */

/* Where the units of a target begin, in rows from `row` on, and what changes without them. */
static int take_parts(struct explanation *x, const struct source_rows *r, size_t row,
                      struct error *e)
{
    long start;

    x->by = r->by;
    if (!(x->start = calloc(x->count + 1, sizeof *x->start)) ||
        (r->change >= 0 && !(x->change = calloc(x->count, sizeof *x->change))))
        return fail_memory(e, 2.0 * (double)x->count * sizeof *x->start, "the units of a text");
    for (size_t i = 0; i < x->count; i++) {
        long least = i ? (long)x->start[i - 1] + 2 : 1,
             most = i ? (long)x->tokens->count - (long)(x->count - 1 - i) : 1;

        if (whole(r, row + i, ID, least, most, &start, e) != 0 ||
            (x->change &&
             report_number(r->file, row + i, r->change, -INFINITY, NAN, &x->change[i], e) != 0))
            return -1;
        x->start[i] = (size_t)start - 1;
    }
    x->start[x->count] = x->tokens->count;
    return x->change ? explain_rank_changes(x, e) : 0;
}

static int read_units(struct report_source *s, struct source_rows *r,
                      const struct source_rows *tokens, struct error *e)
{
    const struct csv_table *t = &r->file->table;
    int change = csv_column(t, "change");

    if (report_columns(r->file, r->names, COLUMNS, "units.csv of reach 0.3 or later", r->column,
                       e) != 0 ||
        read_all(&s->units, r, e) != 0)
        return -1;
    r->change = -1;
    for (size_t row = 0; row < t->rows; row++)
        if (*report_cell(r->file, row, change))
            r->change = change;
    for (size_t i = 0, row = 0, at = 0; i < s->units.count || i < s->explained->count; i++) {
        if (i == s->units.count || i == s->explained->count || !are_together(r, row, tokens, at))
            return fail(e, "%s: is of other targets than %s (expected those of the same run)",
                        r->file->path, s->file.path);
        s->units.item[i].tokens = &s->explained->item[i];
        if (take_parts(&s->units.item[i], r, row, e) != 0)
            return -1;
        row += s->units.item[i].count;
        at += s->explained->item[i].count;
    }
    return 0;
}

/* word, sentence or line, by the command; *by NULL: token. */
static int find_unit(const char **by, const char *command, struct error *e)
{
    static const char *const options[] = {"--leave-out", "--by"};
    char **words = NULL;
    int count = 0;

    *by = NULL;
    if (!command)
        return 0;
    if (command_words(&words, &count, command, e) != 0)
        return -1;
    for (size_t i = 0; i < sizeof options / sizeof *options && !*by; i++) {
        const char *value = command_value(words, count, options[i]);

        for (size_t k = BY_WORD; value && explain_units[k]; k++)
            if (strcmp(value, explain_units[k]) == 0)
                *by = explain_units[k];
    }
    free(words);
    return 0;
}

/* The table beside explain.csv, whose rows name its units. */
static int report_units(struct report_source *s, const struct source_rows *tokens, struct error *e)
{
    const char *slash = strrchr(s->file.path, '/');
    struct source_rows r = {.names = names_of_units};
    struct report file;
    char *path;
    int rc = 0;

    if (!*report_cell(&s->file, 0, csv_column(&s->file.table, "unit")))
        return 0;
    if (find_unit(&r.by, s->file.table.command, e) != 0)
        return -1;
    if (asprintf(&path, "%.*sunits.csv", slash ? (int)(slash - s->file.path) + 1 : 0,
                 s->file.path) < 0)
        return fail(e, "%s: out of memory", s->file.path);
    if (r.by && access(path, F_OK) == 0 && (rc = report_open(&file, path, e)) == 0) {
        r.file = &file;
        rc = read_units(s, &r, tokens, e);
        report_close(&file);
    }
    free(path);
    return rc;
}

int report_explain(struct report_source *s, struct error *e)
{
    struct source_rows r = {.file = &s->file, .names = names};

    s->explained = calloc(1, sizeof *s->explained);
    if (!s->explained)
        return fail_memory(e, sizeof *s->explained, "the explanations");
    return report_columns(&s->file, names, COLUMNS, "explain.csv of reach 0.3 or later", r.column,
                          e) != 0 ||
                   read_all(s->explained, &r, e) != 0 ||
                   (s->explained->count && report_units(s, &r, e) != 0)
               ? -1
               : 0;
}
