/* The output of `reach erf --attention`: attention ERFs by layer and head, and the TRFs. */
#include "commands/erf.h"

#include "io/order.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_SHOWN = 16 };

static int attends(const struct result_model *m, size_t layer)
{
    struct mixers mixers;

    return mixers_of(&mixers, &m->attention, layer) == 0 && mixers.attention;
}

static int recurs(const struct result_model *m, size_t layer)
{
    struct mixers mixers;

    return mixers_of(&mixers, &m->attention, layer) == 0 && mixers.recurs;
}

/* The first layer that attends; a->layers: none does. */
static size_t first_attending(const struct result_model *m)
{
    size_t l = 0;

    while (l < m->attention.layers && !attends(m, l))
        l++;
    return l;
}

/* The TRF of each head, one row for each bias: cells after the first. If all layers that attend
 * share one, there is one row, for the first of them. */
static void print_theory(struct table *t, const struct result *r, const struct result_model *m,
                         size_t layer, size_t shown)
{
    int same = 1;

    for (size_t l = 0; l < m->attention.layers; l++)
        for (size_t h = 0; attends(m, l) && h < shown; h++)
            same &= attention_row(r, m, l, h, r->main_row)->trf_length ==
                    attention_row(r, m, layer, h, r->main_row)->trf_length;
    if (same && layer > first_attending(m))
        return;
    if (same)
        table_cell(t, "TRF");
    else
        table_cell(t, "TRF of %zu", layer + 1);
    for (size_t h = 0; h < shown; h++) {
        const struct attention_row *row = attention_row(r, m, layer, h, r->main_row);

        if (row->trf_length)
            table_cell(t, "%zu", row->trf_length);
        else
            table_cell(t, "-");
    }
    table_cell(t, "%s", "");
}

static size_t shown_of(size_t heads)
{
    return heads < HEADS_SHOWN ? heads : HEADS_SHOWN;
}

/* An empty table of numbers of heads: the first ones, and the least, median and most of all. */
static struct table *begin(size_t heads)
{
    char alignment[2 * HEADS_SHOWN + 4] = "l";

    for (size_t h = 0; h < shown_of(heads); h++)
        strcat(alignment, "r1");
    strcat(alignment, "r");
    return table_create(alignment);
}

static void put_header(struct table *t, size_t heads)
{
    table_cell(t, "layer");
    for (size_t h = 0; h < shown_of(heads); h++)
        table_cell(t, "%zu", h + 1);
    table_cell(t, "least/median/most");
}

/* The row of a layer; sorts its numbers [heads]. */
static void put_layer(struct table *t, size_t layer, double *value, size_t heads)
{
    table_cell(t, "%zu", layer + 1);
    for (size_t h = 0; h < shown_of(heads); h++)
        table_cell(t, "%.0f", value[h]);
    qsort(value, heads, sizeof *value, order_numbers);
    table_cell(t, "%.0f/%.0f/%.0f", value[0], value[(heads - 1) / 2], value[heads - 1]);
}

static void put_attention(struct table *t, const struct result *r, const struct result_model *m,
                          double *value)
{
    const struct result_attention *a = &m->attention;
    const struct attention_row *first = attention_row(r, m, first_attending(m), 0, 0);
    size_t heads = a->heads, shown = shown_of(heads);
    char epsilon[32];

    table_caption(t, "attention ERF(%s) of %s by layer and head%s",
                  result_epsilon(epsilon, r->main_threshold), m->name,
                  shown < heads ? ", the first ones" : "");
    put_header(t, heads);
    for (size_t l = 0; l < a->layers; l++) {
        for (size_t h = 0; h < heads; h++)
            value[h] = (double)attention_row(r, m, l, h, r->main_row)->erf;
        if (attends(m, l))
            put_layer(t, l, value, heads);
    }
    for (size_t l = 0; l < a->layers; l++)
        if (attends(m, l))
            print_theory(t, r, m, l, shown);
    if (strcmp(first->verdict, "not applicable") == 0)
        table_note(t, "TRF: not applicable, its position encoding is not a series of biases");
    else
        table_note(t, "TRF: of the first %zu terms of the series, which %s", a->positions,
                   first->verdict);
    if (isfinite(a->correlation))
        table_note(t, "rank correlation of attention ERF and TRF over all heads: %.3f",
                   a->correlation);
}

static void put_decays(struct table *t, const struct result *r, const struct result_model *m,
                       double *value)
{
    const struct result_attention *a = &m->attention;
    size_t heads = a->recurrence_heads;
    char epsilon[32];

    result_epsilon(epsilon, r->main_threshold);
    table_caption(t,
                  "tokens over which states of recurrences of %s fall to %s, by layer and head%s",
                  m->name, epsilon, shown_of(heads) < heads ? ", the first ones" : "");
    put_header(t, heads);
    for (size_t l = 0; l < a->layers; l++) {
        for (size_t h = 0; h < heads; h++)
            value[h] = decay_tokens(strtod(epsilon, NULL), a->log_decay[l * heads + h]);
        if (recurs(m, l))
            put_layer(t, l, value, heads);
    }
    table_note(t, "ln(%s) / the log decay of a head, its mean over the text", epsilon);
}

int erf_table_attention(const struct result *r, const struct result_model *m, table_sink *put,
                        FILE *f)
{
    static void (*const made[])(struct table *, const struct result *, const struct result_model *,
                                double *) = {put_attention, put_decays};
    const struct result_attention *a = &m->attention;
    const size_t heads[] = {first_attending(m) < a->layers ? a->heads : 0, a->recurrence_heads};
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        double *value = heads[i] ? calloc(heads[i], sizeof *value) : NULL;
        struct table *t = value ? begin(heads[i]) : NULL;

        if (t) {
            made[i](t, r, m, value);
            if (a->used < a->measured)
                table_note(t, "%zu of %zu segments are left out: their %s is not finite",
                           a->measured - a->used, a->measured,
                           a->recurrence_heads ? "attention or decay" : "attention");
        }
        rc = t ? put(f, t) : heads[i] ? -1 : 0;
        table_free(t);
        free(value);
    }
    return rc;
}
