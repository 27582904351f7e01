/* What `reach erf` and `reach merge` print of a result: the table, differences between models,
 * fields by layer and target. */
#include "commands/erf.h"
#include "commands/notes.h"
#include "commands/screen.h"

#include "run/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_header(struct table *t, const struct result *r)
{
    char q[32];

    table_cell(t, "model");
    table_cell(t, "position encoding");
    table_cell(t, "segments");
    table_cell(t, "ERF(%s)", threshold_text(q, r->main_threshold));
    table_cell(t, "95 %% interval");
    for (size_t i = 0; i < r->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "(%s)", threshold_text(q, r->thresholds[i]));
    table_cell(t, "q10/median/q90");
    table_cell(t, "sink %%");
    table_cell(t, "no sink");
    table_cell(t, "PPL");
    table_cell(t, "L_tr");
}

static void print_model(struct table *t, const struct result *r, const struct result_model *m)
{
    const struct erf_summary *u = &result_main(m)->summary;
    const struct erf_row *row = &u->rows[r->main_row];
    enum { ENCODING = 36 };

    table_cell(t, "%s", m->name);
    if (strlen(m->position_encoding) > ENCODING)
        table_cell(t, "%.*s...", ENCODING - 3, m->position_encoding);
    else
        table_cell(t, "%s", m->position_encoding);
    table_cell(t, "%zu", u->segments);
    table_cell(t, "%s%zu", row->saturated ? ">= " : "", row->erf);
    if (u->replicate_count)
        table_cell(t, "[%zu, %zu]", row->erf_lo, row->erf_hi);
    else
        table_cell(t, "-");
    for (size_t i = 0; i < u->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "%s%zu", u->rows[i].saturated ? ">= " : "", u->rows[i].erf);
    table_cell(t, "%zu/%zu/%zu", row->q10, row->median, row->q90);
    table_cell(t, "%.2f", 100 * u->sink_share);
    table_cell(t, "%zu", row->without_sink);
    table_cell(t, "%.4g", u->perplexity);
    if (m->train_length)
        table_cell(t, "%zu", m->train_length);
    else
        table_cell(t, "-");
}

struct erf_comparison erf_compare(const struct result *r, const struct result_model *m)
{
    static const char *const notes[] = {"", "at least: saturated",
                                        "at most: the first is saturated",
                                        "unknown: both are saturated"};
    const struct result_model *first = &r->models[0];
    const struct erf_summary *base = &result_main(first)->summary, *u = &result_main(m)->summary;
    const struct erf_row *row = &u->rows[r->main_row], *base_row = &base->rows[r->main_row];
    struct erf_comparison out = {.note = notes[row->saturated + 2 * base_row->saturated]};
    int same_text = strcmp(m->tokens_digest, first->tokens_digest) == 0 &&
                    m->bounds.begins == first->bounds.begins &&
                    m->bounds.boundary == first->bounds.boundary,
        paired = same_text &&
                 erf_difference(&out.difference, &out.lo, &out.hi, u, base, r->main_row) == 0;

    if (!paired) {
        out.difference = (double)row->erf - (double)base_row->erf;
        out.lo = out.hi = NAN;
        if (!same_text || (r->bootstrap && u->pairing != base->pairing))
            out.note = same_text ? "not paired: different segments are excluded"
                                 : "not paired: different tokens";
    }
    return out;
}

static struct table *differences(const struct result *r)
{
    struct table *t = table_create("lrrl");
    char q[32];

    if (!t)
        return NULL;
    table_caption(t, "ERF(%s) against %s, paired by segment", threshold_text(q, r->main_threshold),
                  r->models[0].name);
    table_cells(t, (const char *const[]){"model", "difference", "95 % interval", "", NULL});
    for (size_t i = 1; i < r->model_count; i++) {
        struct erf_comparison d = erf_compare(r, &r->models[i]);

        table_cell(t, "%s", r->models[i].name);
        table_cell(t, "%+.0f", d.difference);
        if (isnan(d.lo))
            table_cell(t, "-");
        else
            table_cell(t, "[%+.0f, %+.0f]", d.lo, d.hi);
        table_cell(t, "%s", d.note);
    }
    return t;
}

/* One row of a table of fields. */
static void print_field(struct table *t, const struct result *r, const struct erf_summary *u)
{
    const struct erf_row *row = &u->rows[r->main_row];

    table_cell(t, "%s%zu", row->saturated ? ">= " : "", row->erf);
    if (u->replicate_count)
        table_cell(t, "[%zu, %zu]", row->erf_lo, row->erf_hi);
    else
        table_cell(t, "-");
    for (size_t i = 0; i < u->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "%s%zu", u->rows[i].saturated ? ">= " : "", u->rows[i].erf);
    table_cell(t, "%zu/%zu/%zu", row->q10, row->median, row->q90);
}

/* ERF by layer (`by_target` 0), of the whole segments, or by target position, at the embeddings;
 * rows of all models. */
static struct table *fields(const struct result *r, int by_target)
{
    char alignment[2 * THRESHOLDS_MAX + 16] = "lrrr", q[32];
    struct table *t;

    for (size_t i = 0; i + 1 < r->threshold_count; i++)
        strcat(alignment, "r2");
    strcat(alignment, by_target ? "r1r3" : "r1");
    t = table_create(alignment);
    if (!t)
        return NULL;
    table_caption(
        t, "%s",
        by_target ? "by target position (segments cut to their first tokens)"
                  : "by layer (gradient with respect to the input of block K; 0: the embeddings)");
    table_cells(t, (const char *const[]){"model", by_target ? "target" : "layer", NULL});
    table_cell(t, "ERF(%s)", threshold_text(q, r->main_threshold));
    table_cell(t, "95 %% interval");
    for (size_t i = 0; i < r->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "(%s)", threshold_text(q, r->thresholds[i]));
    table_cell(t, "q10/median/q90");
    if (by_target)
        table_cell(t, "PPL");
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        size_t count = by_target ? result_targets(m) : result_layers(m);

        for (size_t k = 0; k < count; k++) {
            const struct result_field *field = by_target ? result_target(m, k) : &m->fields[k];

            table_cell(t, "%s", m->name);
            table_cell(t, "%zu", by_target ? field->target : field->layer);
            print_field(t, r, &field->summary);
            if (by_target)
                table_cell(t, "%.4g", field->summary.perplexity);
        }
    }
    return t;
}

static struct table *by_layer(const struct result *r)
{
    return fields(r, 0);
}

static struct table *by_target(const struct result *r)
{
    return fields(r, 1);
}

static struct table *whole(const struct result *r)
{
    char alignment[2 * THRESHOLDS_MAX + 32] = "ll4r7rr";
    struct table *t;

    for (size_t i = 0; i + 1 < r->threshold_count; i++)
        strcat(alignment, "r6");
    strcat(alignment, "r5r2r1r8r3");
    t = table_create(alignment);
    if (!t)
        return NULL;
    print_header(t, r);
    for (size_t i = 0; i < r->model_count; i++)
        print_model(t, r, &r->models[i]);
    return t;
}

int erf_tables(const struct result *r, table_sink *put, FILE *f)
{
    struct table *(*const made[])(
        const struct result *r) = {whole, r->model_count > 1 ? differences : NULL,
                                   r->by_layer ? by_layer : NULL,
                                   result_targets(&r->models[0]) > 1 ? by_target : NULL};
    int rc = 0;

    for (size_t i = 0; i < sizeof made / sizeof *made && rc == 0; i++) {
        struct table *t = made[i] ? made[i](r) : NULL;

        if (made[i])
            rc = t ? put(f, t) : -1;
        table_free(t);
    }
    for (size_t i = 0; i < r->model_count && rc == 0; i++)
        if (r->models[i].attention.rows)
            rc = erf_table_attention(r, &r->models[i], put, f);
    return rc == 0 && r->models[0].validation ? erf_table_validation(r, put, f) : rc;
}

static void put_notes(FILE *f, const void *r)
{
    erf_notes(f, r);
}

int erf_print(const struct result *r, struct error *e)
{
    if (erf_tables(r, table_print, stdout) != 0)
        return fail(e, "out of memory for the table");
    if (erf_print_sentences(r) != 0)
        return fail(e, "out of memory for the report");
    screen_say("\n");
    return notes_print(r, put_notes, e);
}
