/* The parts of a report: files, and numbers computed from them. */
#include "io/element.h"
#include "run/attention/attention.h"
#include "run/erf/reduce.h"
#include "run/report/run.h"
#include "run/results.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- attention ---- */

enum { MODEL, LAYER, HEAD, EPSILON, ERF, TRF, TRF_LENGTH, VERDICT, SEGMENTS, EXCLUDED, COLUMNS };
static const char *const names[COLUMNS] = {"model",         "layer",   "head",       "epsilon",
                                           "attention_erf", "trf",     "trf_length", "verdict",
                                           "segments",      "excluded"};

static int whole(const struct csv_table *t, size_t row, int column, size_t *out)
{
    const char *text = t->cell[row * t->columns + (size_t)column];
    char *end;

    errno = 0;
    *out = strtoul(text, &end, 10);
    return errno == 0 && *end == 0 && (!*text || isdigit((unsigned char)*text)) ? 0 : -1;
}

/* The expected key of a model's row number i, and its values. */
static int read_row(struct result *r, struct result_model *m, const struct csv_table *t,
                    const int *column, size_t row, size_t i, const char *path, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t head = i / r->threshold_count, q = r->threshold_count - 1 - i % r->threshold_count,
           at_layer, at_head, excluded;
    struct attention_row *to = &a->rows[head * r->threshold_count + q];
    const char *const *cell = (const char *const *)&t->cell[row * t->columns];
    char epsilon[32];

    if (strcmp(cell[column[MODEL]], m->name) != 0 || whole(t, row, column[LAYER], &at_layer) != 0 ||
        at_layer != head / m->heads + 1 || whole(t, row, column[HEAD], &at_head) != 0 ||
        at_head != head % m->heads + 1 ||
        strcmp(cell[column[EPSILON]], result_epsilon(epsilon, r->thresholds[q])) != 0)
        return fail(e,
                    "%s: row %zu is not of %s, layer %zu, head %zu (expected the table of the same "
                    "run as erf.h5)",
                    path, row + 1, m->name, head / m->heads + 1, head % m->heads + 1);
    if (whole(t, row, column[ERF], &to->erf) != 0 ||
        whole(t, row, column[TRF_LENGTH], &to->trf_length) != 0 ||
        whole(t, row, column[SEGMENTS], &a->measured) != 0 ||
        whole(t, row, column[EXCLUDED], &excluded) != 0 || excluded > a->measured)
        return fail(e,
                    "%s: row %zu: attention_erf, trf_length, segments or excluded is not a count "
                    "(expected the table of the "
                    "same run as erf.h5)",
                    path, row + 1);
    snprintf(to->trf, sizeof to->trf, "%s", cell[column[TRF]]);
    to->verdict = cell[column[VERDICT]];
    a->used = a->measured - excluded;
    return 0;
}

/* The rows of a model are in the order of layers, heads and, from the highest, thresholds. */
static int read_model(struct result *r, struct result_model *m, const struct csv_table *t,
                      const int *column, size_t *row, const char *path, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t count;

    if (size_multiply(&count, m->layers, m->heads) != 0 ||
        size_multiply(&count, count, r->threshold_count) != 0 || count > t->rows - *row)
        return fail(e,
                    "%s: row %zu is missing, of %s (expected the table of the same run as erf.h5)",
                    path, t->rows + 1, m->name);
    a->layers = m->layers;
    a->heads = m->heads;
    a->positions = r->length - 1;
    if (!(a->rows = calloc(count, sizeof *a->rows)))
        return fail_memory(e, (double)count * sizeof *a->rows, "the attention of all heads");
    for (size_t i = 0; i < count; i++, ++*row)
        if (read_row(r, m, t, column, *row, i, path, e) != 0)
            return -1;
    return attention_correlate(r, m, e);
}

static int read_table(struct report_source *s, const char *path, struct error *e)
{
    struct csv_table *t = &s->attention;
    int column[COLUMNS];
    size_t row = 0;

    if (csv_read(path, t, e) != 0)
        return -1;
    for (int i = 0; i < COLUMNS; i++)
        if ((column[i] = csv_column(t, names[i])) < 0)
            return fail(e, "%s: has no column %s (expected attention.csv of `reach erf`)", path,
                        names[i]);
    for (size_t i = 0; i < s->result.model_count; i++)
        if (read_model(&s->result, &s->result.models[i], t, column, &row, path, e) != 0)
            return -1;
    return 0;
}

int report_read_attention(struct report_source *s, struct error *e)
{
    const char *slash = strrchr(s->file.path, '/');
    char *path;
    int rc;

    if (asprintf(&path, "%.*sattention.csv", slash ? (int)(slash - s->file.path) + 1 : 0,
                 s->file.path) < 0)
        return fail(e, "%s: out of memory", s->file.path);
    rc = access(path, F_OK) == 0 ? read_table(s, path, e) : 0;
    free(path);
    return rc;
}

/* ---- files ---- */

static int read_result(struct report_source *s, struct error *e)
{
    struct result *r = &s->result;

    if (result_read(s->file.path, r, e) != 0)
        return -1;
    for (size_t i = 0; i < r->model_count; i++) /* replaces arrays in the reader's memory */
        for (size_t k = 0; k < r->models[i].field_count; k++)
            r->models[i].fields[k].summary = (struct erf_summary){0};
    if (result_check_attributes(r, s->file.path, e) != 0)
        return -1;
    for (size_t i = 0; i < r->model_count; i++) {
        struct result_model *m = &r->models[i];
        int rc = erf_reduce(r, m, m->fields, m->field_count, e);

        if (rc == ERF_UNUSABLE)
            return fail(e, "%s: none of the %zu segments of %s is usable", s->file.path,
                        m->segments, m->name);
        if (rc != 0)
            return -1;
        r->by_layer |= result_layers(m) > 1;
    }
    return report_read_attention(s, e);
}

static int add_file(struct report_run *r, const char *argument, const char *path, struct error *e)
{
    struct report_source *grown = reallocarray(r->sources, r->count + 1, sizeof *grown), *s;

    if (!grown)
        return fail_memory(e, (double)(r->count + 1) * sizeof *grown, "the results");
    r->sources = grown;
    s = &r->sources[r->count];
    *s = (struct report_source){.argument = argument};
    if (report_open(&s->file, path, e) != 0)
        return -1;
    r->count++; /* to be freed */
    return (s->file.kind == REPORT_ERF && read_result(s, e) != 0) ||
                   (s->file.kind == REPORT_EXPLANATIONS && report_explain(s, e) != 0)
               ? -1
               : report_draw(r, s, e);
}

int report_add(struct report_run *r, const char *argument, struct error *e)
{
    static const char *const files[] = {"erf.h5",   "validation.csv", "ppl.csv",
                                        "gain.csv", "trf.csv",        "weights.csv",
                                        "fit.csv",  "bias.csv",       "explain.csv"};
    struct stat found;
    size_t before = r->count;

    if (stat(argument, &found) != 0 || !S_ISDIR(found.st_mode))
        return add_file(r, argument, argument, e);
    if (results_check_finished(argument, e) != 0)
        return -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = results_path(argument, files[i], e);
        int rc = !path ? -1 : access(path, F_OK) == 0 ? add_file(r, argument, path, e) : 0;

        free(path);
        if (rc != 0)
            return -1;
    }
    return r->count > before ? 0
                             : fail(e,
                                    "%s: holds no result (expected a folder of `reach erf`, ppl, "
                                    "trf, fit, bias or explain)",
                                    argument);
}
