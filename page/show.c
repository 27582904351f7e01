#include "page/show.h"

#include "analyze/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t show_next(struct glyph *g, const char *bytes, size_t size)
{
    size_t taken = glyph_next(g, bytes, size);

    if (g->newline || *bytes == '\t') {
        strcpy(g->text, g->newline ? "\u21b5" : "\u21e5");
        g->width = 1;
    }
    return taken;
}

enum { UNIT_MOST = 60 }; /* columns of a unit in a sentence */

/* ---- a token in its text ---- */

/* As many of the bytes as fit from the start, in *left columns; 1: all of them. */
static int put(FILE *f, const char *text, size_t size, int *left)
{
    struct glyph g;

    for (size_t i = 0; i < size;) {
        i += show_next(&g, text + i, size - i);
        if (g.width > *left)
            return 0;
        fputs(g.text, f);
        *left -= g.width;
    }
    return 1;
}

char *show_cut(const char *text, int columns)
{
    char *out = NULL;
    size_t length;
    FILE *f = open_memstream(&out, &length);

    if (f && !put(f, text, strlen(text), &columns))
        fputs("\u2026", f);
    if (f && fclose(f) == 0)
        return out;
    free(out);
    return NULL;
}

static int columns_of(const char *text, size_t size)
{
    struct glyph g;
    int columns = 0;

    for (size_t i = 0; i < size;) {
        i += show_next(&g, text + i, size - i);
        columns += g.width;
    }
    return columns;
}

/* Tokens [first, end), with an ellipsis if they do not fit. */
static int put_tokens(char **out, const struct explanation *x, size_t first, size_t end,
                      int columns, int is_cut)
{
    char room[16];
    size_t size, length;
    int all = 1;
    FILE *f = open_memstream(out, &length);

    if (!f)
        return -1;
    if (is_cut)
        fputs("\u2026", f);
    for (; first < end && all; first++) {
        const char *text = explanation_piece(x, x->id[first], &size, room);

        all = put(f, text, size, &columns);
    }
    if (!all)
        fputs("\u2026", f);
    return ferror(f) | fclose(f) ? -1 : 0;
}

int around_make(struct around *a, const struct explanation *x, size_t input, int columns,
                struct error *e)
{
    char room[16];
    size_t first = input, end = input + 1, size;
    int before = 0, behind = 0;

    *a = (struct around){0};
    while (first > 0) {
        const char *text = explanation_piece(x, x->id[first - 1], &size, room);

        before += columns_of(text, size);
        if (before > columns)
            break;
        first--;
    }
    while (end < x->count && behind <= columns) {
        const char *text = explanation_piece(x, x->id[end++], &size, room);

        behind += columns_of(text, size);
    }
    if (put_tokens(&a->before, x, first, input, columns, first > 0) == 0 &&
        put_tokens(&a->token, x, input, input + 1, columns, 0) == 0 &&
        put_tokens(&a->after, x, input + 1, end, columns, 0) == 0)
        return 0;
    around_free(a);
    return fail(e, "out of memory for a token's surroundings");
}

void around_free(struct around *a)
{
    free(a->before);
    free(a->token);
    free(a->after);
    *a = (struct around){0};
}

/* ---- in words ---- */

void show_rank(char text[SHOW_RANK], const struct explanation *x)
{
    *text = 0;
    if (x->predicted == 1)
        snprintf(text, SHOW_RANK, ", the likeliest next token");
    else if (x->answer > 1)
        snprintf(text, SHOW_RANK, ", log p summed over its %zu tokens", x->answer);
    else if (x->predicted > 1)
        snprintf(text, SHOW_RANK, ", number %d of the likeliest next tokens", x->predicted);
}

const char *show_share_of(const struct explanation *x)
{
    return strcmp(x->attribution, "grad") == 0 ? "gradient" : "attribution";
}

void show_last(FILE *f, size_t last, size_t count, const char *unit)
{
    if (last == 1)
        fputs("the last", f);
    else
        fprintf(f, "the last %zu", last);
    fprintf(f, " of %zu %ss", count, unit);
}

char *show_input(const struct explanation *x, size_t input)
{
    struct error unused;
    struct around a;
    char *quoted;

    if (!x->by)
        return explanation_quoted(x, x->id[input]);
    if (around_make(&a, x, input, UNIT_MOST, &unused) != 0)
        return NULL;
    if (asprintf(&quoted, "\"%s\"", a.token) < 0)
        quoted = NULL;
    around_free(&a);
    return quoted;
}

/* A sentence on what happened without each part. */
static int show_change(FILE *f, const struct explanation *x)
{
    size_t top = x->change_order[0];
    char *part = show_input(x, top);

    if (!part)
        return -1;
    fprintf(f,
            " Of all %ss left out one at a time, %s at position %zu changes log p most, by %+.4g",
            x->by, part, top + 1, x->change[top]);
    free(part);
    if (!isnan(x->correlation))
        fprintf(f,
                "; the sizes of the changes and the shares have a rank correlation (Spearman) of "
                "%.2f",
                x->correlation);
    fputs(".", f);
    return 0;
}

/* How far integrated gradients are from what they are to add up to. */
static void show_completeness(FILE *f, const struct explanation *x)
{
    const char *what = x->contrast ? "the difference" : "log p";
    double whole = explanation_explained(x) - x->baseline;

    fprintf(f,
            " Completeness: the attributions sum to %.4g, and %s minus that of rows of zeros is "
            "%.4g; the gap is %.2g.",
            x->attributed, what, whole, fabs(x->attributed - whole));
}

int show_sentence(FILE *f, const struct explanation *x)
{
    size_t top = x->order[0], most = curve_erf(x->cumulative, x->count, 0.9);
    char *token = show_input(x, top);

    if (!token)
        return -1;
    if (x->count == 1) {
        fprintf(f, "All of the %s norm comes from the only %s, %s.", show_share_of(x),
                x->by ? x->by : "input", token);
    } else {
        fprintf(f, "Half of the summed %s norm comes from ", show_share_of(x));
        show_last(f, x->half, x->count, explanation_unit(x));
        if (most != x->half)
            fprintf(f, ", nine tenths from the last %zu", most);
        else
            fputs(", and so do nine tenths", f);
        fprintf(f, "; the largest share, %.1f\u00a0%%, is that of %s at position %zu.",
                100 * x->share[top], token, top + 1);
    }
    free(token);
    if (x->contrast)
        fprintf(f,
                " Shares are of the %s of the difference, log p(target) - log p(against) = %.4f.",
                show_share_of(x), explanation_explained(x));
    if (x->integrated)
        show_completeness(f, x);
    return x->change && !isnan(x->change[x->change_order[0]]) ? show_change(f, x) : 0;
}
