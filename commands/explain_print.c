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
/* The table of several: columns of its numbers, with gaps. */
enum { INDEX_NUMBERS = 40, NAME_MOST = 20, NAME_LEAST = 6 };

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
    if (x->contrast) {
        table_cells(t, (const char *const[]){"difference", "", "", NULL});
        table_cell(t, "%+.4f", explanation_explained(x));
        table_cell(t, "%s", "");
    }
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
    /* long: shown instead of what is around it, unless there is room for both */
    if (x->by && (strcmp(x->by, "word") != 0 || left <= 3 * TOKEN_MOST)) {
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

/* The table of several. */
struct index {
    int wide; /* 0: the fewest columns */
    int contrast; /* 1: with what targets are compared with */
    int around; /* columns of the text before the target; 0: it is left out */
};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Columns of a token in quotes, cut if it is long; -1: out of memory. */
static int token_columns(const struct explanation *x, int32_t id)
{
    char *quoted = explanation_quoted(x, id);
    int columns = quoted ? screen_columns(quoted) : -1;

    free(quoted);
    return columns > TOKEN_MOST + 3 ? TOKEN_MOST + 3 : columns;
}

/* What fits beside what the rows need. */
static int index_of(struct index *n, const struct explanations *all, int width, struct error *e)
{
    int name = 6, target = 6, against = 0, room;

    *n = (struct index){0};
    for (size_t i = 0; i < all->count; i++) {
        const struct explanation *x = &all->item[i];
        int columns = token_columns(x, x->target.id),
            other = x->contrast ? token_columns(x, x->against.id) : 0;

        if (columns < 0 || other < 0)
            return fail(e, "out of memory for the table");
        target = larger(target, columns);
        against = larger(against, other);
        n->contrast |= x->contrast;
        if (x->name)
            name = larger(name, screen_columns(x->name));
    }
    name = name > NAME_MOST ? NAME_MOST + 1 : name;
    room = width - INDEX_NUMBERS - name - target - (n->contrast ? 2 + larger(7, against) : 0);
    n->wide = room >= 0;
    n->around = room < TOKEN_LEAST + 3 ? 0 : room - 3; /* a gap and an ellipsis */
    return 0;
}

static int quoted_cell(struct table *t, const struct explanation *x, int columns, struct error *e)
{
    struct around a;

    if (around_make(&a, x, x->count, columns, e) != 0)
        return -1;
    table_cell(t, "\"%s\"", a.token);
    around_free(&a);
    return 0;
}

static int against_cell(struct table *t, const struct explanation *x, int columns, struct error *e)
{
    char *quoted = x->contrast ? explanation_quoted(x, x->against.id) : strdup(""),
         *cut = quoted ? show_cut(quoted, columns + 2) : NULL;

    if (cut)
        table_cell(t, "%s", cut);
    free(quoted);
    free(cut);
    return cut ? 0 : fail(e, "out of memory for a token");
}

static int print_index_row(struct table *t, const struct explanation *x, size_t number,
                           const struct index *n, struct error *e)
{
    const struct explanation *text = x->tokens ? x->tokens : x; /* a unit may be too long */
    struct around a;

    if (x->name) {
        char *name = show_cut(x->name, n->wide ? NAME_MOST : NAME_LEAST);

        if (!name)
            return fail(e, "out of memory for a name");
        table_cell(t, "%s", name);
        free(name);
    } else {
        table_cell(t, "%zu", number);
    }
    table_cell(t, "%zu", explanation_inputs(x) + 1);
    if (n->around) {
        if (around_make(&a, text, text->count, n->around, e) != 0)
            return -1;
        table_cell(t, "%s", a.before);
        around_free(&a);
    }
    if (quoted_cell(t, x, n->wide ? TOKEN_MOST : TOKEN_LEAST - 2, e) != 0 ||
        (n->contrast && against_cell(t, x, n->wide ? TOKEN_MOST : TOKEN_LEAST - 2, e) != 0))
        return -1;
    if (n->wide)
        table_cell(t, "%.4f", x->target.logprob);
    table_cell(t, "%.3g %%", 100 * exp(x->target.logprob));
    if (n->wide)
        table_cell(t, "%zu", x->half);
    return 0;
}

static int print_index(const struct explanations *all, int width, struct error *e)
{
    struct index n;
    char layout[16];
    struct table *t;
    int rc = index_of(&n, all, width, e);

    if (rc != 0)
        return rc;

    snprintf(layout, sizeof layout, "%s%s%s%s", all->item->name ? "lr" : "rr", n.around ? "l" : "",
             n.contrast ? "ll" : "l", n.wide ? "rrr" : "r");
    if (!(t = table_create(layout)))
        return fail(e, "out of memory for the table");
    table_cell(t, all->item->name ? "prompt" : "number");
    table_cell(t, "position");
    if (n.around)
        table_cell(t, "before it");
    table_cell(t, "target");
    if (n.contrast)
        table_cell(t, "against");
    if (n.wide)
        table_cell(t, "log p");
    table_cell(t, "p");
    if (n.wide)
        table_cell(t, "half");
    for (size_t i = 0; i < all->count && rc == 0; i++)
        rc = print_index_row(t, &all->item[i], i + 1, &n, e);
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
