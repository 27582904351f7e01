/* The output of `reach erf --attention`: attention ERFs by layer and head, and the TRFs. */
#include "commands/erf.h"

#include "io/order.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_SHOWN = 16 };

/* The TRF of each head, one row for each bias: cells after the first. Layers that share the
 * previous layer's bias are left out; the last row is for l = 0. */
static void print_theory(struct table *t, const struct result *r, const struct result_model *m,
                         size_t layer, size_t shown)
{
    int same = 1;

    for (size_t l = 0; l < m->attention.layers; l++)
        for (size_t h = 0; h < shown; h++)
            same &= attention_row(r, m, l, h, r->main_row)->trf_length ==
                    attention_row(r, m, layer, h, r->main_row)->trf_length;
    if (same && layer > 0)
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

int erf_table_attention(const struct result *r, const struct result_model *m, table_sink *put,
                        FILE *f)
{
    size_t heads = m->attention.heads, shown = heads < HEADS_SHOWN ? heads : HEADS_SHOWN;
    char alignment[2 * HEADS_SHOWN + 4] = "l", epsilon[32];
    size_t *sorted = calloc(heads, sizeof *sorted);
    struct table *t;
    int rc;

    for (size_t h = 0; h < shown; h++)
        strcat(alignment, "r1");
    strcat(alignment, "r");
    t = table_create(alignment);
    if (!t || !sorted) {
        table_free(t);
        free(sorted);
        return -1;
    }
    result_epsilon(epsilon, r->main_threshold);
    table_caption(t, "attention ERF(%s) of %s by layer and head%s", epsilon, m->name,
                  shown < heads ? ", the first ones" : "");
    table_cell(t, "layer");
    for (size_t h = 0; h < shown; h++)
        table_cell(t, "%zu", h + 1);
    table_cell(t, "least/median/most");
    for (size_t l = 0; l < m->attention.layers; l++) {
        table_cell(t, "%zu", l + 1);
        for (size_t h = 0; h < heads; h++) {
            sorted[h] = attention_row(r, m, l, h, r->main_row)->erf;
            if (h < shown)
                table_cell(t, "%zu", sorted[h]);
        }
        qsort(sorted, heads, sizeof *sorted, order_sizes);
        table_cell(t, "%zu/%zu/%zu", sorted[0], sorted[(heads - 1) / 2], sorted[heads - 1]);
    }
    for (size_t l = 0; l < m->attention.layers; l++)
        print_theory(t, r, m, l, shown);
    if (strcmp(m->attention.rows[0].verdict, "not applicable") == 0)
        table_note(t, "TRF: not applicable, its position encoding is not a series of biases");
    else
        table_note(t, "TRF: of the first %zu terms of the series, which %s", m->attention.positions,
                   m->attention.rows[0].verdict);
    if (isfinite(m->attention.correlation))
        table_note(t, "rank correlation of attention ERF and TRF over all heads: %.3f",
                   m->attention.correlation);
    if (m->attention.used < m->attention.measured)
        table_note(t, "%zu of %zu segments are left out: their attention is not finite",
                   m->attention.measured - m->attention.used, m->attention.measured);
    rc = put(f, t);
    table_free(t);
    free(sorted);
    return rc;
}
