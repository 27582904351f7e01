/* Explanations in the page of `reach report`: the texts, shaded, and their largest shares. */
#include "commands/report.h"
#include "commands/table.h"
#include "page/escape.h"
#include "page/report.h"
#include "page/show.h"

#include <math.h>
#include <stdlib.h>

enum { TEXTS_MOST = 50, TOKENS_MOST = 2000, TOP = 10 };

static int put_heading(FILE *f, const struct explanation *x)
{
    char *target = explanation_quoted(x, x->target.id);

    if (!target)
        return -1;
    fputs("<h3>", f);
    if (x->name) {
        html_text(f, x->name);
        fputs(": ", f);
    }
    fputs("what the prediction of <code>", f);
    html_text(f, target);
    fprintf(f, "</code> depended on</h3>\n<p class=about>");
    html_text(f, x->model);
    fprintf(f,
            ", %zu inputs, log p %.4f; shaded by the root of the share, the darkest %.3g&nbsp;%%",
            explanation_inputs(x), x->target.logprob, 100 * explanation_shade_share(x, SHADES - 1));
    if (x->count > TOKENS_MOST)
        fprintf(f, "; the last %d %ss are shown", TOKENS_MOST, x->by ? x->by : "input");
    fputs(".</p>\n", f);
    free(target);
    return 0;
}

static int put_sentence(FILE *f, const struct explanation *x)
{
    char *text = NULL;
    size_t size;
    FILE *m = open_memstream(&text, &size);
    int rc = m ? show_sentence(m, x) : -1;

    if (m && fclose(m) != 0)
        rc = -1;
    if (rc == 0)
        report_text(f, "p class=sentence", text);
    free(text);
    return rc;
}

/* The inputs with the largest shares, or changes when left out. */
static int put_top(FILE *f, const struct explanation *x)
{
    const size_t *order = x->change ? x->change_order : x->order;
    struct table *t = table_create(x->change ? "rrlrr" : "rrlr");
    int rc = 0;

    if (!t)
        return -1;
    table_cells(t, (const char *const[]){"position", "distance", explanation_unit(x),
                                         x->change ? "change" : "share", x->change ? "share" : NULL,
                                         NULL});
    for (size_t k = 0; k < x->count && k < TOP && rc == 0; k++) {
        char *text = show_input(x, order[k]);

        table_cell(t, "%zu", order[k] + 1);
        table_cell(t, "%zu", x->count - 1 - order[k]);
        table_cell(t, "%s", text ? text : "");
        if (x->change && isnan(x->change[order[k]]))
            table_cell(t, "%s", "");
        else if (x->change)
            table_cell(t, "%+.4f", x->change[order[k]]);
        table_cell(t, "%.2f %%", 100 * x->share[order[k]]);
        rc = text ? 0 : -1;
        free(text);
    }
    if (rc == 0)
        rc = table_html(f, t);
    table_free(t);
    return rc;
}

int report_texts(FILE *f, const struct explanations *all)
{
    for (size_t i = 0; i < all->count && i < TEXTS_MOST; i++) {
        const struct explanation *x = &all->item[i];

        if (put_heading(f, x) != 0)
            return -1;
        report_shaded(f, x, TOKENS_MOST);
        if (put_sentence(f, x) != 0 || put_top(f, x) != 0)
            return -1;
    }
    if (all->count > TEXTS_MOST)
        fprintf(f, "<p class=about>The first %d of %zu explanations are shown.</p>\n", TEXTS_MOST,
                all->count);
    return 0;
}
