/* The theoretical fields of the heads' position biases, computed, and as text in the results of shards. */
#include "analyze/attribution.h"
#include "analyze/series.h"
#include "model/biases.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The upper end of a count (the count itself where it is exact) as a number; empty where none is known. */
static void count_text(char out[64], const struct series_count *c)
{
    if (isnan(c->log10_hi))
        out[0] = 0;
    else if (c->hi && strlen(c->hi) < 40)
        snprintf(out, 64, "%s", c->hi);
    else if (isfinite(c->log10_hi)) /* a unit of the last digit more than rounded up: pow rounds too */
        snprintf(out, 64, "%.6fe%.0f", (ceil(1e6 * pow(10, c->log10_hi - floor(c->log10_hi))) + 1) / 1e6, floor(c->log10_hi));
    else
        out[0] = 0;
}

/* The fields of one head's bias at all thresholds; `rows` of layer `layer`, head `head`. */
static int fill_fields(const struct erf_run *r, const struct erf_model *m, const struct bias_set *a, const struct formula *f,
                       int layer, int head, struct formula_error *problem)
{
    struct formula_point at = {
        .t = 0, .h = head + 1, .heads = a->heads, .head_size = a->head_size, .length = (double)r->positions + 1};
    struct series *s = series_open(f, &at, problem);
    int rc = s ? 0 : -1;

    for (size_t q = 0; q < r->options->threshold_count && rc == 0; q++) {
        struct attention_row *row = attention_row(r, m, layer, head, q);
        struct series_count whole = {.log10_lo = NAN, .log10_hi = NAN}, cut = whole;
        char epsilon[32];

        erf_epsilon_text(epsilon, r->options->thresholds[q]);
        if ((!a->uses_length && series_trf(s, epsilon, &whole, problem) != 0) ||
            series_trf_finite(s, epsilon, r->positions, &cut, NULL, NULL, problem) != 0)
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

/* The TRF of every head; heads and layers that share a bias share the work. */
int attention_theory(const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    struct bias_set a = {0};
    struct formula_error problem = {0, "out of memory"};
    int rc = -1, layers = m->decoder->layers, heads = m->decoder->heads;
    size_t thresholds = r->options->threshold_count;

    if (biases_of_decoder(&a, m->decoder, e) != 0)
        goto end;
    for (int l = 0; l < layers; l++) {
        const struct layer_bias *b = &a.biases[a.bias_of_layer[l]];
        int rows = bias_rows(&a, b), same = 0;

        while (a.bias_of_layer[same] != a.bias_of_layer[l])
            same++;
        for (int h = 0; h < heads; h++) {
            int from_layer = same < l ? same : l, from_head = same < l ? h : rows == 1 ? 0 : h;

            if (!b->formula) {
                for (size_t q = 0; q < thresholds; q++)
                    attention_row(r, m, l, h, q)->verdict = "not applicable";
            } else if (from_layer == l && from_head == h) {
                if (fill_fields(r, m, &a, b->formula, l, h, &problem) != 0) {
                    fail(e, "%s, layer %d, head %d: %s", m->argument->path, l + 1, h + 1, problem.message);
                    goto end;
                }
            } else {
                for (size_t q = 0; q < thresholds; q++) {
                    struct attention_row *to = attention_row(r, m, l, h, q);
                    size_t erf = to->erf;

                    *to = *attention_row(r, m, from_layer, from_head, q);
                    to->erf = erf;
                }
            }
        }
    }
    rc = 0;
end:
    biases_free(&a);
    return rc;
}

char *attention_theory_text(const struct erf_run *r, const struct erf_model *m)
{
    char *text = NULL;
    size_t size, heads = (size_t)m->decoder->heads, thresholds = r->options->threshold_count;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    for (int l = 0; l < m->decoder->layers; l++) {
        int same = l > 0;

        for (size_t k = 0; k < heads * thresholds && same; k++) {
            const struct attention_row *row = attention_row(r, m, l, 0, k), *before = attention_row(r, m, l - 1, 0, k);

            same = strcmp(row->trf, before->trf) == 0 && row->trf_length == before->trf_length &&
                   strcmp(row->verdict, before->verdict) == 0;
        }
        if (same)
            fputs("=\n", f);
        for (size_t h = 0; h < heads && !same; h++)
            for (size_t q = 0; q < thresholds; q++) {
                const struct attention_row *row = attention_row(r, m, l, (int)h, q);

                fprintf(f, "%s %zu %s%c", *row->trf ? row->trf : "-", row->trf_length, row->verdict,
                        q + 1 < thresholds ? ';' : '\n');
            }
    }
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* One entry of attention_theory_text's text; what lies behind it, or NULL. */
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

int attention_theory_read(const struct erf_run *r, struct erf_model *m, const char *text, struct error *e)
{
    size_t heads = (size_t)m->decoder->heads, thresholds = r->options->threshold_count;

    for (int l = 0; l < m->decoder->layers; l++) {
        int same = l > 0 && strncmp(text, "=\n", 2) == 0;

        text += same ? 2 : 0;
        for (size_t k = 0; k < heads * thresholds; k++) {
            struct attention_row *row = attention_row(r, m, l, 0, k);
            size_t erf = row->erf;

            if (same) {
                *row = *attention_row(r, m, l - 1, 0, k);
                row->erf = erf;
            } else if (!(text = read_row(row, text)) || *text++ != ((k + 1) % thresholds ? ';' : '\n'))
                return fail(e, "%s: attention_trf is damaged", m->argument->name);
        }
    }
    return *text ? fail(e, "%s: attention_trf is damaged", m->argument->name) : 0;
}

int attention_correlate(const struct erf_run *r, struct erf_model *m, struct error *e)
{
    size_t all = (size_t)m->decoder->layers * (size_t)m->decoder->heads, count = 0;
    double *x = calloc(all, 2 * sizeof *x), *y = x ? x + all : NULL;
    int rc = x ? 0 : -1;

    for (size_t i = 0; i < all && rc == 0; i++) {
        const struct attention_row *row = attention_row(r, m, 0, (int)i,
                                                        r->main_row); /* heads of all layers lie one after the other */

        if (row->trf_length)
            x[count] = (double)row->erf, y[count++] = (double)row->trf_length;
    }
    if (rc == 0)
        rc = rank_correlation(&m->attention.correlation, x, y, count);
    free(x);
    return rc == 0 ? 0 : fail_memory(e, 2 * (double)all * sizeof *x, "the rank correlation");
}
