/* What `reach explain` prints. */
#include "commands/explain.h"

#include "commands/screen.h"
#include "commands/table.h"
#include "page/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At WIDE columns the table is complete, with FIXED columns besides `token` and `around it`. */
enum { WIDE = 78, FIXED = 50, AROUND_MOST = 36, TOKEN_MOST = 14, TOKEN_LEAST = 8, LONG_MOST = 80 };
/* The table of several: columns that its numbers and target need; those with all other columns. */
enum { INDEX_WIDE = 62, INDEX_FIXED = 66, NAME_MOST = 20, NAME_LEAST = 6 };

static int predicted(struct table *t, const struct explanation *x, const char *what,
                     struct prediction p, int width)
{
    char *quoted = explanation_quoted(x, p.id);

    if (!quoted)
        return -1;
    table_cell(t, "%s", what);
    table_cell(t, "%s", screen_columns(quoted) > width ? "(long)" : quoted);
    if (p.id < 0) /* several tokens */
        table_cell(t, "%s", "");
    else
        table_cell(t, "%d", (int)p.id);
    if (isnan(p.logprob)) {
        table_cell(t, "%s", "");
        table_cell(t, "%s", "");
    } else {
        table_cell(t, "%.4f", p.logprob);
        table_cell(t, "%.3g %%", 100 * exp(p.logprob));
    }
    free(quoted);
    return 0;
}

/* What was explained, as `number` of several; 0: the only one. */
static void put_caption(struct table *t, const struct explanation *x, size_t number)
{
    char segment[48] = "", place[32] = "", rank[SHOW_RANK] = "";
    size_t inputs = explanation_inputs(x);

    if (x->segment)
        snprintf(segment, sizeof segment, ", segment %zu", x->segment);
    if (number)
        snprintf(place, sizeof place, "%zu: ", number);
    show_rank(rank, x);
    table_caption(t, "%s%s%s%s, %zu input%s, target at position %zu%s%s", place, x->model,
                  *x->position_encoding ? ", " : "", x->position_encoding, inputs,
                  inputs == 1 ? "" : "s", inputs + 1, segment, rank);
}

static int print_predictions(const struct explanation *x, size_t number, int width, struct error *e)
{
    struct table *t = table_create("llrrr");
    int room = width - 38 > 8 ? width - 38 : 8, rc = 0;

    if (!t)
        return table_show(t, e);
    put_caption(t, x, number);
    table_cell(t, "%s", "");
    table_cell(t, "token");
    table_cell(t, "id");
    table_cell(t, "log p");
    table_cell(t, "p");
    rc |= predicted(t, x, "target", x->target, room);
    if (x->contrast)
        rc |= predicted(t, x, "against", x->against, room);
    for (size_t i = 0; i < x->alternative_count; i++)
        rc |= predicted(t, x, i ? "" : "others", x->alternative[i], room);
    if (rc == 0)
        return table_show(t, e);
    table_free(t);
    return table_show(NULL, e);
}

/* Widths of the cells of a row; around 0: none. wide 0: the least columns. */
struct widths {
    int wide, token, around;
};

static struct widths widths_of(const struct explanation *x, int width)
{
    struct widths w = {.token = x->by ? TOKEN_LEAST - 2 : TOKEN_LEAST};
    char line[24];
    int digits = snprintf(line, sizeof line, "%zu", x->line[x->count]),
        left = width - FIXED - (digits > 4 ? digits - 4 : 0);

    if (width < WIDE)
        return w;
    w.wide = 1;
    if (x->by && strcmp(x->by, "word") != 0) { /* long: shown instead of what is around it */
        w.token = left > LONG_MOST ? LONG_MOST : left;
        return w;
    }
    w.token = left > 3 * TOKEN_MOST ? TOKEN_MOST : TOKEN_LEAST;
    w.around = (left - w.token - 4) / 3; /* before, token, after; brackets and ellipses */
    w.around = w.around > AROUND_MOST ? AROUND_MOST : w.around;
    return w;
}

/* The input of a row: by share, or if parts were left out by the size of the change. */
static size_t ranked(const struct explanation *x, size_t rank)
{
    return x->change ? x->change_order[rank] : x->order[rank];
}

static int print_row(struct table *t, const struct explanation *x, size_t rank, double sum,
                     struct widths w, struct error *e)
{
    size_t i = ranked(x, rank);
    struct around a;

    if (around_make(&a, x, i, w.token, e) != 0)
        return -1;
    table_cell(t, "%zu", i + 1);
    if (w.wide)
        table_cell(t, "%zu", x->count - 1 - i);
    table_cell(t, "\"%s\"", a.token);
    if (x->change && isnan(x->change[i]))
        table_cell(t, "%s", "");
    else if (x->change)
        table_cell(t, "%+.4f", x->change[i]);
    table_cell(t, "%.2f %%", 100 * x->share[i]);
    if (!x->change)
        table_cell(t, "%.2f %%", 100 * sum);
    around_free(&a);
    if (w.wide)
        table_cell(t, "%zu", x->line[i]);
    if (!w.around)
        return 0;
    if (around_make(&a, x, i, w.around, e) != 0)
        return -1;
    table_cell(t, "%s[%s]%s", a.before, a.token, a.after);
    around_free(&a);
    return 0;
}

static int print_top(const struct explanation *x, size_t rows, int width, struct error *e)
{
    struct widths w = widths_of(x, width);
    struct table *t = table_create(w.around ? "rrlrrrl" : w.wide ? "rrlrrr" : "rlrr");
    double sum = 0;
    int rc = 0;

    if (!t)
        return fail(e, "out of memory for the table");
    table_cell(t, "position");
    if (w.wide)
        table_cell(t, "distance");
    table_cell(t, "%s", explanation_unit(x));
    table_cell(t, x->change ? "change" : "share");
    table_cell(t, x->change ? "share" : "sum");
    if (w.wide)
        table_cell(t, "line");
    if (w.around)
        table_cell(t, "around it");
    for (size_t rank = 0; rank < x->count && rank < rows && rc == 0; rank++) {
        sum += x->share[ranked(x, rank)];
        rc = print_row(t, x, rank, sum, w, e);
    }
    screen_say("\n");
    if (rc == 0)
        return table_show(t, e);
    table_free(t);
    return rc;
}

static int print_sentence(const struct explanation *x)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int rc = f ? show_sentence(f, x) : -1;

    if (f && fclose(f) != 0)
        rc = -1;
    screen_say("\n");
    if (rc == 0)
        screen_say("%s\n", text);
    free(text);
    return rc;
}

static int print_one(const struct explanation *x, size_t number, const struct explain_options *o,
                     int width, struct error *e)
{
    if (print_predictions(x, number, width, e) != 0)
        return -1;
    if (print_sentence(x) != 0)
        return fail(e, "out of memory for the report");
    if (explain_draw(x, o, e) != 0)
        return -1;
    return o->top ? print_top(x, (size_t)o->top, width, e) : 0;
}

static int is_wide(const struct explanation *x, int width)
{
    return width >= INDEX_WIDE + (x->name ? NAME_MOST : 0);
}

/* Columns of the text before the target in the table of several; 0: it is left out. */
static int index_around(const struct explanation *x, int width)
{
    int room = width - INDEX_FIXED - (x->name ? NAME_MOST : 0);

    return room < TOKEN_LEAST ? 0 : room > AROUND_MOST ? AROUND_MOST : room;
}

/* A row of the table of several: on a narrow screen with the fewest columns (INDEX_WIDE). */
static int print_index_row(struct table *t, const struct explanation *x, size_t number, int width,
                           struct error *e)
{
    int wide = is_wide(x, width), around = index_around(x, width);
    struct around a;

    if (x->name) {
        char *name = show_cut(x->name, wide ? NAME_MOST : NAME_LEAST);

        if (!name)
            return fail(e, "out of memory for a name");
        table_cell(t, "%s", name);
        free(name);
    } else {
        table_cell(t, "%zu", number);
    }
    table_cell(t, "%zu", explanation_inputs(x) + 1);
    if (around) {
        if (around_make(&a, x, x->count, around, e) != 0)
            return -1;
        table_cell(t, "%s", a.before);
        around_free(&a);
    }
    if (around_make(&a, x, x->count, wide ? TOKEN_MOST : TOKEN_LEAST - 2, e) != 0)
        return -1;
    table_cell(t, "\"%s\"", a.token);
    around_free(&a);
    if (wide)
        table_cell(t, "%.4f", x->target.logprob);
    table_cell(t, "%.3g %%", 100 * exp(x->target.logprob));
    if (wide)
        table_cell(t, "%zu", x->half);
    return 0;
}

static int print_index(const struct explanations *all, int width, struct error *e)
{
    int wide = is_wide(all->item, width), around = index_around(all->item, width), rc = 0;
    struct table *t = table_create(all->item->name ? (around ? "lrllrrr"
                                                      : wide ? "lrlrrr"
                                                             : "lrlr")
                                   : around        ? "rrllrrr"
                                   : wide          ? "rrlrrr"
                                                   : "rrlr");

    if (!t)
        return fail(e, "out of memory for the table");
    table_cell(t, all->item->name ? "prompt" : "number");
    table_cell(t, "position");
    if (around)
        table_cell(t, "before it");
    table_cell(t, "target");
    if (wide)
        table_cell(t, "log p");
    table_cell(t, "p");
    if (wide)
        table_cell(t, "half");
    for (size_t i = 0; i < all->count && rc == 0; i++)
        rc = print_index_row(t, &all->item[i], i + 1, width, e);
    if (rc == 0)
        return table_show(t, e);
    table_free(t);
    return rc;
}

int explain_print(const struct explain_run *r, struct error *e)
{
    const struct explanations *all = explain_shown(r);
    int width = screen_width(), has_index = all->count > 1 || all->item->name,
        rc = has_index ? print_index(all, width, e) : 0;

    for (size_t i = 0; i < all->count && rc == 0 && !all->item->name; i++)
        rc = print_one(&all->item[i], all->count > 1 ? i + 1 : 0, r->options, width, e);
    return rc;
}
