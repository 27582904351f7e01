/* How the page of `reach report` begins: a title with the names of the models, and their fields. */
#include "commands/erf.h"
#include "commands/report.h"
#include "commands/table.h"
#include "page/report.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MOST = 4 };

/* Adds a name that is not in the list; borrowed. */
static int add_name(struct text_list *l, const char *name)
{
    struct error unused;

    for (int i = 0; i < l->count; i++)
        if (strcmp(l->item[i], name) == 0)
            return 0;
    return text_list_add(l, name, &unused);
}

static int is_of_fields(const struct report_source *s)
{
    return s->file.kind == REPORT_ERF || s->file.kind == REPORT_CURVES ||
           s->file.kind == REPORT_LADDER;
}

/* The models of the results, or the rows of COLUMN in their tables; `fields`: of measured fields.
 */
static int find_names(struct text_list *l, const struct report_run *r, const char *column,
                      int fields)
{
    int rc = 0;

    for (size_t i = 0; i < r->count; i++) {
        const struct report_source *s = &r->sources[i];
        int at = s->file.table.columns ? csv_column(&s->file.table, column) : -1;

        if (fields && !is_of_fields(s))
            continue;
        for (size_t k = 0; k < s->result.model_count && rc == 0; k++)
            rc = add_name(l, s->result.models[k].name);
        for (size_t row = 0; at >= 0 && row < s->file.table.rows && rc == 0; row++)
            rc = add_name(l, report_cell(&s->file, row, at));
    }
    return rc;
}

/* "a", "a and b", "a, b and c", "a, b, c, d and 3 more". */
static void put_names(FILE *f, const struct text_list *l)
{
    int shown = l->count > NAMED_MOST + 1 ? NAMED_MOST : l->count;

    for (int i = 0; i < shown; i++)
        fprintf(f, "%s%s", i == 0 ? "" : i + 1 == l->count ? " and " : ", ", l->item[i]);
    if (shown < l->count)
        fprintf(f, " and %d more", l->count - shown);
}

int report_title(FILE *f, const struct report_run *r)
{
    struct text_list names = {0};
    char *title = NULL;
    size_t size;
    FILE *m = open_memstream(&title, &size);
    int rc = m ? find_names(&names, r, "model", 1) : -1, fields = names.count;

    if (rc == 0 && !fields && (rc = find_names(&names, r, "model", 0)) == 0 && !names.count)
        rc = find_names(&names, r, "formula", 0);
    if (rc == 0) {
        fputs(!fields       ? report_heading(r->sources)
              : fields == 1 ? "How far back does "
                            : "How far back do ",
              m);
        fputs(!fields && names.count ? ": " : "", m);
        put_names(m, &names);
        fputs(fields ? " look?" : "", m);
    }
    if (m && fclose(m) != 0)
        rc = -1;
    if (rc == 0)
        report_begin(f, title, REACH_VERSION);
    text_list_free(&names);
    free(title);
    return rc;
}

/* The perplexity of a model at the longest context of the first table that has it; 0: none. */
static const char *perplexity_of(const struct report_run *r, const char *name, const char **context)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct report *t = &r->sources[i].file;
        const char *found = NULL;

        if (t->kind != REPORT_PERPLEXITY)
            continue;
        for (size_t row = 0; row < t->table.rows; row++)
            if (strcmp(report_cell(t, row, csv_column(&t->table, "model")), name) == 0) {
                found = report_cell(t, row, csv_column(&t->table, "ppl"));
                *context = report_cell(t, row, csv_column(&t->table, "context"));
            }
        if (found)
            return found;
    }
    return NULL;
}

static void add_model(struct table *t, const struct report_run *r, const struct result *result,
                      const struct result_model *m, int has_perplexity)
{
    const struct erf_summary *u = &result_main(m)->summary;
    const struct erf_row *row = &u->rows[result->main_row];
    const char *context, *perplexity = perplexity_of(r, m->name, &context);

    table_cell(t, "%s", m->name);
    table_cell(t, "%s%zu", row->saturated ? ">= " : "", row->erf);
    if (u->replicate_count)
        table_cell(t, "[%zu, %zu]", row->erf_lo, row->erf_hi);
    else
        table_cell(t, "-");
    table_count(t, m->train_length);
    if (has_perplexity && perplexity)
        table_cell(t, "%.4g (%s)", strtod(perplexity, NULL), context);
    else if (has_perplexity)
        table_cell(t, "-");
}

/* A table for each result of gradients. */
int report_summary(FILE *f, const struct report_run *r)
{
    char q[32];
    int rc = 0, has_perplexity = 0;

    for (size_t i = 0; i < r->count; i++)
        has_perplexity |= r->sources[i].file.kind == REPORT_PERPLEXITY;
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct result *result = &r->sources[i].result;
        struct table *t;

        if (r->sources[i].file.kind != REPORT_ERF)
            continue;
        t = table_create(has_perplexity ? "lrrrr" : "lrrr");
        if (!t)
            return -1;
        table_caption(t,
                      "ERF(%s): how many of the most recent tokens, of %zu, hold more than that "
                      "share of the gradient",
                      threshold_text(q, result->main_threshold), result->length - 1);
        table_cell(t, "model");
        table_cell(t, "ERF(%s)", q);
        table_cells(t, (const char *const[]){"95 % interval", "trained on",
                                             has_perplexity ? "PPL (context)" : NULL, NULL});
        for (size_t k = 0; k < result->model_count; k++)
            add_model(t, r, result, &result->models[k], has_perplexity);
        fputs("<div class=summary>", f);
        rc = table_html(f, t);
        fputs("</div>\n", f);
        table_free(t);
    }
    return rc;
}
