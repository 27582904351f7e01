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

/* The last one is in results with `mixers`. */
enum {
    MODEL,
    LAYER,
    HEAD,
    EPSILON,
    ERF,
    TRF,
    TRF_LENGTH,
    VERDICT,
    SEGMENTS,
    EXCLUDED,
    MIXER,
    COLUMNS
};
static const char *const names[COLUMNS] = {"model",         "layer",    "head",       "epsilon",
                                           "attention_erf", "trf",      "trf_length", "verdict",
                                           "segments",      "excluded", "mixer"};

static int whole(const struct csv_table *t, size_t row, int column, size_t *out)
{
    const char *text = t->cell[row * t->columns + (size_t)column];
    char *end;

    errno = 0;
    *out = strtoul(text, &end, 10);
    return errno == 0 && *end == 0 && (!*text || isdigit((unsigned char)*text)) ? 0 : -1;
}

enum { HEADS_MOST = 1 << 22 }; /* of all layers, by thresholds: a damaged file could name more */

/* Rows of a table as they are read. */
struct reader {
    struct result *r;
    const struct csv_table *t;
    const char *path;
    int column[COLUMNS];
    size_t row;
};

/* The next row's key must be this one: the rows of a model are in the order of layers, mixers,
 * heads and, from the highest, thresholds. Sets the members that all mixers' rows have. */
static int expect_row(struct reader *x, struct result_model *m, size_t layer, size_t head, size_t q,
                      const char *mixer, struct error *e)
{
    struct result_attention *a = &m->attention;
    const struct csv_table *t = x->t;
    const char *const *cell = (const char *const *)&t->cell[x->row * t->columns];
    size_t at_layer, at_head, excluded;
    char epsilon[32];

    if (x->row == t->rows)
        return fail(e,
                    "%s: row %zu is missing, of %s (expected the table of the same run as erf.h5)",
                    x->path, t->rows + 1, m->name);
    if (strcmp(cell[x->column[MODEL]], m->name) != 0 ||
        whole(t, x->row, x->column[LAYER], &at_layer) != 0 || at_layer != layer + 1 ||
        whole(t, x->row, x->column[HEAD], &at_head) != 0 || at_head != head + 1 ||
        strcmp(cell[x->column[EPSILON]], result_epsilon(epsilon, x->r->thresholds[q])) != 0 ||
        (a->mixers && strcmp(cell[x->column[MIXER]], mixer) != 0))
        return fail(e,
                    "%s: row %zu is not of %s, layer %zu, head %zu (expected the table of the same "
                    "run as erf.h5)",
                    x->path, x->row + 1, m->name, layer + 1, head + 1);
    if (whole(t, x->row, x->column[SEGMENTS], &a->measured) != 0 ||
        whole(t, x->row, x->column[EXCLUDED], &excluded) != 0 || excluded > a->measured)
        return fail(e,
                    "%s: row %zu: segments or excluded is not a count (expected the table of the "
                    "same run as erf.h5)",
                    x->path, x->row + 1);
    a->used = a->measured - excluded;
    return 0;
}

/* The rows of a head that attends. */
static int read_head(struct reader *x, struct result_model *m, size_t layer, size_t head,
                     const char *mixer, struct error *e)
{
    for (size_t q = x->r->threshold_count; q-- > 0; x->row++) {
        struct attention_row *to = attention_row(x->r, m, layer, head, q);
        const char *const *cell = (const char *const *)&x->t->cell[x->row * x->t->columns];

        if (expect_row(x, m, layer, head, q, mixer, e) != 0)
            return -1;
        if (whole(x->t, x->row, x->column[ERF], &to->erf) != 0 ||
            whole(x->t, x->row, x->column[TRF_LENGTH], &to->trf_length) != 0)
            return fail(e,
                        "%s: row %zu: attention_erf or trf_length is not a count (expected the "
                        "table of the same run as erf.h5)",
                        x->path, x->row + 1);
        snprintf(to->trf, sizeof to->trf, "%s", cell[x->column[TRF]]);
        to->verdict = cell[x->column[VERDICT]];
    }
    return 0;
}

/* The rows of a head of another mixer: its numbers are in erf.h5. */
static int skip_head(struct reader *x, struct result_model *m, size_t layer, size_t head,
                     const char *mixer, struct error *e)
{
    for (size_t q = x->r->threshold_count; q-- > 0; x->row++)
        if (expect_row(x, m, layer, head, q, mixer, e) != 0)
            return -1;
    return 0;
}

static int read_layer(struct reader *x, struct result_model *m, size_t layer, struct error *e)
{
    struct result_attention *a = &m->attention;
    struct mixers mixers;

    if (mixers_of(&mixers, a, layer) != 0 || (a->mixers && x->column[MIXER] < 0) ||
        (mixers.recurs && !a->log_decay))
        return fail(e,
                    "%s: does not fit the mixers of %s in erf.h5 (expected the table of its run)",
                    x->path, m->name);
    for (size_t h = 0; mixers.attention && h < a->heads; h++)
        if (read_head(x, m, layer, h, mixers.attention, e) != 0)
            return -1;
    for (size_t h = 0; mixers.recurs && h < a->recurrence_heads; h++)
        if (skip_head(x, m, layer, h, "recurrence", e) != 0)
            return -1;
    return mixers.convolves ? skip_head(x, m, layer, 0, "convolution", e) : 0;
}

static int read_model(struct reader *x, struct result_model *m, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t count;

    if (a->layers && a->layers != m->layers)
        return fail(e, "%s: log_decay of %s is of %zu layers in erf.h5 (expected %zu)", x->path,
                    m->name, a->layers, m->layers);
    a->layers = m->layers;
    a->heads = m->heads;
    a->positions = x->r->length - 1;
    if (size_multiply(&count, m->layers, m->heads) != 0 ||
        size_multiply(&count, count, x->r->threshold_count) != 0 || count > HEADS_MOST)
        return fail(e, "%s: %s has %zu layers of %zu heads (expected the table of its run)",
                    x->path, m->name, m->layers, m->heads);
    if (!(a->rows = calloc(count, sizeof *a->rows)))
        return fail_memory(e, (double)count * sizeof *a->rows, "the attention of all heads");
    for (size_t l = 0; l < a->layers; l++)
        if (read_layer(x, m, l, e) != 0)
            return -1;
    return attention_correlate(x->r, m, e);
}

static int read_table(struct report_source *s, const char *path, struct error *e)
{
    struct csv_table *t = &s->attention;
    struct reader x = {.r = &s->result, .t = t, .path = path};

    if (csv_read(path, t, e) != 0)
        return -1;
    for (int i = 0; i < COLUMNS; i++)
        if ((x.column[i] = csv_column(t, names[i])) < 0 && i != MIXER)
            return fail(e, "%s: has no column %s (expected attention.csv of `reach erf`)", path,
                        names[i]);
    for (size_t i = 0; i < s->result.model_count; i++)
        if (read_model(&x, &s->result.models[i], e) != 0)
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
