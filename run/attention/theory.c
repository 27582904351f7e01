/* The theoretical fields of the heads' position biases, computed, and as text in shards'
 * results. */
#include "analyze/attribution.h"
#include "analyze/series.h"
#include "model/biases.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets the theory of a row; its erf stays. */
static void copy_theory(struct attention_row *to, const struct attention_row *from)
{
    size_t erf = to->erf;

    *to = *from;
    to->erf = erf;
}

/* The upper end of a count (the count itself if exact) as a number; empty if unknown. */
static void count_text(char out[64], const struct series_count *c)
{
    if (isnan(c->log10_hi))
        out[0] = 0;
    else if (c->hi && strlen(c->hi) < 40)
        snprintf(out, 64, "%s", c->hi);
    else if (isfinite(c->log10_hi)) /* rounded up by one more unit of the last digit, since pow
                                       rounds too */
        snprintf(out, 64, "%.6fe%.0f",
                 (ceil(1e6 * pow(10, c->log10_hi - floor(c->log10_hi))) + 1) / 1e6,
                 floor(c->log10_hi));
    else
        out[0] = 0;
}

/* The fields of one head's bias at all thresholds. */
static int fill_head(const struct result *r, const struct result_model *m, const struct bias_set *a,
                     const struct formula *f, size_t layer, size_t head,
                     struct formula_error *problem)
{
    size_t positions = m->attention.positions;
    struct formula_point at = {.t = 0,
                               .h = (double)head + 1,
                               .heads = a->heads,
                               .head_size = a->head_size,
                               .length = (double)positions + 1};
    struct series *s = series_open(f, &at, problem);
    int rc = s ? 0 : -1;

    for (size_t q = 0; q < r->threshold_count && rc == 0; q++) {
        struct attention_row *row = attention_row(r, m, layer, head, q);
        struct series_count whole = {.log10_lo = NAN, .log10_hi = NAN}, cut = whole;
        char epsilon[32];

        result_epsilon(epsilon, r->thresholds[q]);
        if ((!a->uses_length && series_trf(s, epsilon, &whole, problem) != 0) ||
            series_trf_finite(s, epsilon, positions, &cut, NULL, NULL, problem) != 0)
            rc = -1;
        if (rc == 0) {
            row->verdict = a->uses_length ? "undecided" : series_verdict_name(series_verdict(s));
            row->trf_length = cut.hi ? strtoul(cut.hi, NULL, 10) : 0;
            count_text(row->trf, &whole);
            if (!a->uses_length && series_verdict(s) == SERIES_DIVERGES)
                snprintf(row->trf, sizeof row->trf, "inf");
        }
        series_count_free(&whole);
        series_count_free(&cut);
    }
    series_free(s);
    return rc;
}

/* One layer; heads and layers that share a bias share the work. */
static int fill_layer(const struct result *r, const struct result_model *m,
                      const struct bias_set *a, size_t layer, struct error *e)
{
    const struct layer_bias *b = &a->biases[a->bias_of_layer[layer]];
    struct formula_error problem = {0, "out of memory"};
    size_t same = 0;

    while (a->bias_of_layer[same] != a->bias_of_layer[layer])
        same++;
    for (size_t h = 0; h < m->attention.heads; h++) {
        size_t from_layer = same < layer ? same : layer,
               from_head = same < layer || bias_rows(a, b) > 1 ? h : 0;

        if (b->formula && from_layer == layer && from_head == h) {
            if (fill_head(r, m, a, b->formula, layer, h, &problem) != 0)
                return fail(e, "%s, layer %zu, head %zu: %s", m->path, layer + 1, h + 1,
                            problem.message);
            continue;
        }
        for (size_t q = 0; q < r->threshold_count; q++)
            if (b->formula)
                copy_theory(attention_row(r, m, layer, h, q),
                            attention_row(r, m, from_layer, from_head, q));
            else
                attention_row(r, m, layer, h, q)->verdict = "not applicable";
    }
    return 0;
}

/* All rows as text, for a shard's results: a line for each layer and head, `trf trf_length verdict`
 * of each threshold separated by `;`; `=` for a layer equal to the one before. */
static int write_text(const struct result *r, struct result_model *m, struct error *e)
{
    char *text = NULL;
    size_t size, rows = m->attention.heads * r->threshold_count;
    FILE *f = open_memstream(&text, &size);
    int failed;

    for (size_t l = 0; f && l < m->attention.layers; l++) {
        int same = l > 0;

        for (size_t k = 0; k < rows && same; k++) {
            const struct attention_row *row = attention_row(r, m, l, 0, k),
                                       *before = attention_row(r, m, l - 1, 0, k);

            same = strcmp(row->trf, before->trf) == 0 && row->trf_length == before->trf_length &&
                   strcmp(row->verdict, before->verdict) == 0;
        }
        if (same)
            fputs("=\n", f);
        for (size_t k = 0; k < rows && !same; k++) {
            const struct attention_row *row = attention_row(r, m, l, 0, k);

            fprintf(f, "%s %zu %s%c", *row->trf ? row->trf : "-", row->trf_length, row->verdict,
                    (k + 1) % r->threshold_count ? ';' : '\n');
        }
    }
    failed = !f || ferror(f);
    if ((f && fclose(f) != 0) || failed) {
        free(text);
        return fail(e, "%s: out of memory for the attention fields", m->path);
    }
    m->attention.theory = text;
    return 0;
}

int attention_theory(const struct result *r, struct result_model *m, const struct decoder *d,
                     struct error *e)
{
    struct bias_set a = {0};
    int rc = biases_of_decoder(&a, d, e);

    for (size_t l = 0; l < m->attention.layers && rc == 0; l++)
        rc = fill_layer(r, m, &a, l, e);
    biases_free(&a);
    return rc == 0 && r->shards ? write_text(r, m, e) : rc;
}

/* One entry of the text; returns the text after it, or NULL. */
static const char *read_row(struct attention_row *row, const char *text)
{
    static const char *const verdicts[] = {"converges", "diverges", "undecided", "not applicable"};
    unsigned long length;
    int used = 0;

    if (sscanf(text, "%63s %lu %n", row->trf, &length, &used) != 2 || !used)
        return NULL;
    if (strcmp(row->trf, "-") == 0)
        *row->trf = 0;
    row->trf_length = length;
    text += used;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strncmp(text, verdicts[i], strlen(verdicts[i])) == 0) {
            row->verdict = verdicts[i];
            return text + strlen(verdicts[i]);
        }
    return NULL;
}

int attention_theory_read(const struct result *r, struct result_model *m, const char *text,
                          struct error *e)
{
    size_t rows = m->attention.heads * r->threshold_count;

    for (size_t l = 0; l < m->attention.layers; l++) {
        int same = l > 0 && strncmp(text, "=\n", 2) == 0;

        text += same ? 2 : 0;
        for (size_t k = 0; k < rows; k++) {
            struct attention_row *row = attention_row(r, m, l, 0, k);

            if (same)
                copy_theory(row, attention_row(r, m, l - 1, 0, k));
            else if (!(text = read_row(row, text)) ||
                     *text++ != ((k + 1) % r->threshold_count ? ';' : '\n'))
                return fail(e, "%s: attention_trf is damaged", m->name);
        }
    }
    return *text ? fail(e, "%s: attention_trf is damaged", m->name) : 0;
}

int attention_correlate(const struct result *r, struct result_model *m, struct error *e)
{
    size_t all = m->attention.layers * m->attention.heads, count = 0;
    double *x = calloc(all, 2 * sizeof *x), *y = x ? x + all : NULL;
    int rc = x ? 0 : -1;

    for (size_t i = 0; i < all && rc == 0; i++) {
        const struct attention_row *row =
            attention_row(r, m, 0, i, r->main_row); /* heads of all layers are consecutive */

        if (row->trf_length)
            x[count] = (double)row->erf, y[count++] = (double)row->trf_length;
    }
    if (rc == 0)
        rc = rank_correlation(&m->attention.correlation, x, y, count);
    free(x);
    return rc == 0 ? 0 : fail_memory(e, 2 * (double)all * sizeof *x, "the rank correlation");
}
