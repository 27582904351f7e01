/* `reach erf --attention`: how far each head attends, beside the theoretical field of its position bias. */
#include "commands/erf.h" /* what it prints */

#include "analyze/attribution.h"
#include "analyze/series.h"
#include "model/biases.h"
#include "run/interrupt.h"
#include "commands/table.h"
#include "io/csv.h"
#include "io/journal.h"
#include "io/result.h"
#include "model/mass.h"
#include "version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADS_SHOWN = 16 };
/* Seconds of work that a kill may cost. */
static const double saved_every = 10;

void erf_attention_free(struct erf_attention *a)
{
    free(a->sum);
    free(a->mass);
    free(a->rows);
    memset(a, 0, sizeof *a);
}

struct engine_request erf_attention_options(const struct erf_run *r, const struct erf_model *m)
{
    return (struct engine_request){.kind = REQUEST_ATTENTION,
                                   .positions = (int)r->positions,
                                   .memory = r->options->machine.memory,
                                   .segments = m->segments.count};
}

/* ---- what is measured, and kept while the run goes on ---- */

/* Layers times heads times distances. */
static size_t mass_count(const struct erf_run *r, const struct erf_model *m)
{
    return (size_t)m->decoder->layers * (size_t)m->decoder->heads * r->positions;
}

int erf_attention_room(struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        if (!m->attention.sum && !(m->attention.sum = calloc(mass_count(r, m), sizeof *m->attention.sum)))
            return fail_memory(e, (double)mass_count(r, m) * sizeof *m->attention.sum, "the attention of all heads");
    }
    return 0;
}

enum { SUM_DOUBLES = sizeof *((struct erf_attention *)0)->sum / sizeof(double) };

/* Values of the longest record: the bytes of a model's sums. */
static size_t longest_record(const struct erf_run *r)
{
    size_t most = 0;

    for (size_t i = 0; i < r->count; i++)
        most = mass_count(r, &r->models[i]) > most ? mass_count(r, &r->models[i]) : most;
    return SUM_DOUBLES * most;
}

/* Keeps the sums so far in PATH, whole or not at all: a journal with one record a model, whose number is that of the segments
 * that are in the sums, whose log p that of those that were usable, and whose values are the bytes of the sums. */
static int save(const struct erf_run *r, const char *path, struct error *e)
{
    size_t values = longest_record(r);
    double *record = calloc(values, sizeof *record);
    char *fresh = NULL, *settings = erf_settings(r);
    struct journal *j = NULL;
    int rc = -1;

    if (!record || !settings || asprintf(&fresh, "%s.new", path) < 0) {
        fresh = NULL;
        fail_memory(e, (double)values * sizeof *record, "the attention of all heads");
        goto end;
    }
    j = journal_create(fresh, values, settings, e);
    rc = j ? 0 : -1;
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct erf_attention *a = &r->models[i].attention;
        struct journal_record one = {.model = (uint32_t)i,
                                     .segment = (uint32_t)a->measured,
                                     .status = SEGMENT_DONE,
                                     .logprob = (double)a->used,
                                     .norm = record};

        memset(record, 0, values * sizeof *record);
        memcpy(record, a->sum, mass_count(r, &r->models[i]) * sizeof *a->sum);
        rc = journal_append(j, &one, e);
    }
    if (j && journal_close(j, rc == 0 ? e : NULL) != 0)
        rc = -1;
    if (rc == 0 && rename(fresh, path) != 0)
        rc = fail(e, "%s: cannot be written: %s", path, strerror(errno));
    if (rc != 0)
        unlink(fresh);
end:
    free(record);
    free(settings);
    free(fresh);
    return rc;
}

static int take_sums(void *context, const struct journal_record *record)
{
    struct erf_run *r = context;
    struct erf_model *m;

    if (record->model >= r->count)
        return -1;
    m = &r->models[record->model];
    if (record->segment > m->segments.count || !(record->logprob >= 0 && record->logprob <= record->segment))
        return -1;
    memcpy(m->attention.sum, record->norm, mass_count(r, m) * sizeof *m->attention.sum);
    m->attention.measured = record->segment;
    m->attention.used = (size_t)record->logprob;
    return 0;
}

int erf_attention_resume(struct erf_run *r, const char *path, struct error *e)
{
    char *settings = erf_settings(r);
    struct journal *j;
    struct journal_found found;

    if (!settings)
        return fail(e, "out of memory for the settings");
    if (erf_attention_room(r, e) != 0) {
        free(settings);
        return -1;
    }
    j = journal_resume(path, longest_record(r), settings, take_sums, r, &found, e);
    free(settings);
    if (!j)
        return found.absent ? 0 : -1;
    erf_tell_found(r, path, &found);
    return journal_close(j, e);
}

enum { SUM_BITS = 96 }; /* behind the point: no double from 2^-43 up is cut, and 2^32 segments fit */

/* Adds one segment's mass, shares between 0 and (but for rounding) 1, unless a number of it is not finite. */
static void add_segment(struct erf_attention *a, const double *mass, size_t count)
{
    int usable = 1;

    for (size_t i = 0; i < count; i++)
        usable &= mass[i] >= 0 && mass[i] < 2;
    a->measured++;
    if (!usable)
        return;
    a->used++;
    for (size_t i = 0; i < count; i++)
        a->sum[i] += (unsigned __int128)ldexp(mass[i], SUM_BITS);
}

static int measure_model(struct erf_run *r, struct erf_model *m, const char *path, double *saved, struct error *e)
{
    struct engine_request options = erf_attention_options(r, m);
    struct erf_attention *a = &m->attention;
    size_t length = r->positions + 1, count = mass_count(r, m), most;
    struct engine *g;
    double *mass = NULL;
    int rc = -1;

    if (a->measured == m->segments.count)
        return 0;
    g = engine_create(r->kernels, m->decoder, &options, e);
    if (!g)
        return -1;
    most = (size_t)engine_plan(g)->batch;
    mass = calloc(most, count * sizeof *mass);
    if (!mass) {
        fail_memory(e, (double)most * (double)count * sizeof *mass, "the attention of a batch");
        goto end;
    }
    while (a->measured < m->segments.count) {
        size_t left = m->segments.count - a->measured, now = left < most ? left : most;

        if (interrupt_wanted() || progress_seconds(r->progress) - *saved > saved_every) {
            *saved = progress_seconds(r->progress);
            if (save(r, path, e) != 0)
                goto end;
        }
        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        if (engine_attention(g, mass, m->segments.ids + a->measured * length, (int)now, e) != 0 || erf_unchanged(r, e) != 0)
            goto end;
        for (size_t i = 0; i < now; i++)
            add_segment(a, mass + i * count, count);
        progress_step(r->progress, now, m->argument->name);
    }
    progress_log(r->progress, "%s: attention is measured", m->argument->name);
    rc = 0;
end:
    free(mass);
    engine_close(g);
    return rc;
}

/* ---- attention ERF and TRF ---- */

static struct attention_row *row_at(const struct erf_run *r, const struct erf_model *m, int layer, int head, size_t threshold)
{
    return &m->attention
                .rows[((size_t)layer * (size_t)m->decoder->heads + (size_t)head) * r->options->threshold_count + threshold];
}

void erf_epsilon_text(char out[32], double threshold)
{
    snprintf(out, 32, "%.15g", 1 - threshold);
}

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
        struct attention_row *row = row_at(r, m, layer, head, q);
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
static int theory(const struct erf_run *r, const struct erf_model *m, struct error *e)
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
                    row_at(r, m, l, h, q)->verdict = "not applicable";
            } else if (from_layer == l && from_head == h) {
                if (fill_fields(r, m, &a, b->formula, l, h, &problem) != 0) {
                    fail(e, "%s, layer %d, head %d: %s", m->argument->path, l + 1, h + 1, problem.message);
                    goto end;
                }
            } else {
                for (size_t q = 0; q < thresholds; q++) {
                    struct attention_row *to = row_at(r, m, l, h, q);
                    size_t erf = to->erf;

                    *to = *row_at(r, m, from_layer, from_head, q);
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

static int correlate(const struct erf_run *r, struct erf_model *m, struct error *e)
{
    size_t all = (size_t)m->decoder->layers * (size_t)m->decoder->heads, count = 0;
    double *x = calloc(all, 2 * sizeof *x), *y = x ? x + all : NULL;
    int rc = x ? 0 : -1;

    for (size_t i = 0; i < all && rc == 0; i++) {
        const struct attention_row *row = row_at(r, m, 0, (int)i, r->main_row); /* heads of all layers lie one after the other */

        if (row->trf_length)
            x[count] = (double)row->erf, y[count++] = (double)row->trf_length;
    }
    if (rc == 0)
        rc = rank_correlation(&m->attention.correlation, x, y, count);
    free(x);
    return rc == 0 ? 0 : fail_memory(e, 2 * (double)all * sizeof *x, "the rank correlation");
}

char *erf_attention_theory(const struct erf_run *r, const struct erf_model *m)
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
            const struct attention_row *row = row_at(r, m, l, 0, k), *before = row_at(r, m, l - 1, 0, k);

            same = strcmp(row->trf, before->trf) == 0 && row->trf_length == before->trf_length &&
                   strcmp(row->verdict, before->verdict) == 0;
        }
        if (same)
            fputs("=\n", f);
        for (size_t h = 0; h < heads && !same; h++)
            for (size_t q = 0; q < thresholds; q++) {
                const struct attention_row *row = row_at(r, m, l, (int)h, q);

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

/* One entry of erf_attention_theory's text; what lies behind it, or NULL. */
static const char *take_row(struct attention_row *row, const char *text)
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

static int take_theory(const struct erf_run *r, struct erf_model *m, const char *text, struct error *e)
{
    size_t heads = (size_t)m->decoder->heads, thresholds = r->options->threshold_count;

    for (int l = 0; l < m->decoder->layers; l++) {
        int same = l > 0 && strncmp(text, "=\n", 2) == 0;

        text += same ? 2 : 0;
        for (size_t k = 0; k < heads * thresholds; k++) {
            struct attention_row *row = row_at(r, m, l, 0, k);
            size_t erf = row->erf;

            if (same) {
                *row = *row_at(r, m, l - 1, 0, k);
                row->erf = erf;
            } else if (!(text = take_row(row, text)) || *text++ != ((k + 1) % thresholds ? ';' : '\n'))
                return fail(e, "%s: attention_trf is damaged", m->argument->name);
        }
    }
    return *text ? fail(e, "%s: attention_trf is damaged", m->argument->name) : 0;
}

int erf_attention_reduce(const struct erf_run *r, struct erf_model *m, const char *known, struct error *e)
{
    struct erf_attention *a = &m->attention;
    int layers = m->decoder->layers, heads = m->decoder->heads;
    size_t thresholds = r->options->threshold_count;

    if (a->used == 0)
        return fail(e, "%s: the attention of none of %zu segments is finite (expected finite numbers)", m->argument->path,
                    m->segments.count);
    a->mass = calloc(mass_count(r, m), sizeof *a->mass);
    if (!a->mass)
        return fail_memory(e, (double)mass_count(r, m) * sizeof *a->mass, "the attention of all heads");
    for (size_t i = 0; i < mass_count(r, m); i++)
        a->mass[i] = ldexp((double)a->sum[i], -SUM_BITS) / (double)a->used;
    a->rows = calloc((size_t)layers * (size_t)heads, thresholds * sizeof *a->rows);
    if (!a->rows)
        return fail_memory(e, (double)layers * heads * (double)thresholds * sizeof *a->rows, "the attention fields");
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++)
            for (size_t q = 0; q < thresholds; q++) {
                char epsilon[32];

                erf_epsilon_text(epsilon, r->options->thresholds[q]);
                row_at(r, m, l, h, q)->erf = attention_erf(a->mass + ((size_t)l * (size_t)heads + (size_t)h) * r->positions,
                                                           r->positions, strtod(epsilon, NULL));
            }
    return (known ? take_theory(r, m, known, e) : theory(r, m, e)) != 0 || correlate(r, m, e) != 0 ? -1 : 0;
}

int erf_attention_measure(struct erf_run *r, const char *path, struct error *e)
{
    double saved = progress_seconds(r->progress);

    if (erf_attention_room(r, e) != 0)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        if (measure_model(r, &r->models[i], path, &saved, e) != 0)
            return -1;
    for (size_t i = 0; i < r->count; i++)
        if (erf_attention_reduce(r, &r->models[i], NULL, e) != 0)
            return -1;
    return 0;
}

/* ---- what is said of it ---- */

int erf_attention_write(const struct erf_run *r, const char *path, struct atomic_file *out, struct error *e)
{
    char *command = NULL;
    struct csv *csv = NULL;

    if (asprintf(&command, "command: %s", r->command) < 0) {
        command = NULL;
        fail(e, "%s: out of memory", path);
    }
    if (command) {
        const char *comments[] = {
            "reach " REACH_VERSION, command,
            "units: layer and head from 1; attention_erf, trf, trf_length in tokens: the smallest windows that hold a share "
            "above 1 - epsilon of the attention (its mean over segments and the queries of their second half, by distance), of "
            "the series of exp(bias), and of its first L-1 terms; trf: an upper end where it is no exact integer",
            NULL};

        csv = csv_create(path, comments, "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict,segments,excluded", e);
    }
    free(command);
    if (!csv)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        for (int l = 0; l < m->decoder->layers; l++)
            for (int h = 0; h < m->decoder->heads; h++)
                for (size_t q = r->options->threshold_count; q-- > 0;) {
                    const struct attention_row *row = row_at(r, m, l, h, q);
                    char epsilon[32];

                    erf_epsilon_text(epsilon, r->options->thresholds[q]);
                    csv_text(csv, m->argument->name);
                    csv_whole(csv, l + 1);
                    csv_whole(csv, h + 1);
                    csv_text(csv, epsilon);
                    csv_whole(csv, (long long)row->erf);
                    csv_text(csv, row->trf);
                    if (row->trf_length)
                        csv_whole(csv, (long long)row->trf_length);
                    else
                        csv_text(csv, "");
                    csv_text(csv, row->verdict);
                    csv_whole(csv, (long long)m->attention.measured);
                    csv_whole(csv, (long long)(m->attention.measured - m->attention.used));
                    csv_end_row(csv);
                }
    }
    return csv_stage(csv, out, e);
}

/* The TRF of each head, one row a bias: cells behind the first one. Layers that share the bias of the one before are left out;
 * the last row is for l = 0. */
static void print_theory(struct table *t, const struct erf_run *r, const struct erf_model *m, int layer, int shown)
{
    int same = 1;

    for (int l = 0; l < m->decoder->layers; l++)
        for (int h = 0; h < shown; h++)
            same &= row_at(r, m, l, h, r->main_row)->trf_length == row_at(r, m, layer, h, r->main_row)->trf_length;
    if (same && layer > 0)
        return;
    if (same)
        table_cell(t, "TRF");
    else
        table_cell(t, "TRF of %d", layer + 1);
    for (int h = 0; h < shown; h++) {
        const struct attention_row *row = row_at(r, m, layer, h, r->main_row);

        if (row->trf_length)
            table_cell(t, "%zu", row->trf_length);
        else
            table_cell(t, "-");
    }
    table_cell(t, "%s", "");
}

static int by_erf(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static int print_model(const struct erf_run *r, const struct erf_model *m)
{
    int heads = m->decoder->heads, shown = heads < HEADS_SHOWN ? heads : HEADS_SHOWN, rc;
    char alignment[HEADS_SHOWN + 4] = "l", epsilon[32];
    size_t *sorted = calloc((size_t)heads, sizeof *sorted);
    struct table *t;

    for (int h = 0; h < shown; h++)
        strcat(alignment, "r");
    strcat(alignment, "r");
    t = table_create(alignment);
    if (!t || !sorted) {
        table_free(t);
        free(sorted);
        return -1;
    }
    erf_epsilon_text(epsilon, r->options->main_threshold);
    printf("\nattention ERF(%s) of %s by layer and head%s:\n", epsilon, m->argument->name,
           shown < heads ? ", the first ones" : "");
    table_cell(t, "layer");
    for (int h = 0; h < shown; h++)
        table_cell(t, "%d", h + 1);
    table_cell(t, "least/median/most");
    for (int l = 0; l < m->decoder->layers; l++) {
        table_cell(t, "%d", l + 1);
        for (int h = 0; h < heads; h++) {
            sorted[h] = row_at(r, m, l, h, r->main_row)->erf;
            if (h < shown)
                table_cell(t, "%zu", sorted[h]);
        }
        qsort(sorted, (size_t)heads, sizeof *sorted, by_erf);
        table_cell(t, "%zu/%zu/%zu", sorted[0], sorted[(heads - 1) / 2], sorted[heads - 1]);
    }
    for (int l = 0; l < m->decoder->layers; l++)
        print_theory(t, r, m, l, shown);
    rc = table_print(stdout, t);
    table_free(t);
    free(sorted);
    if (strcmp(m->attention.rows[0].verdict, "not applicable") == 0)
        printf("TRF: not applicable, its position encoding is no series of biases\n");
    else
        printf("TRF: of the first %zu terms of the series, which %s\n", r->positions, m->attention.rows[0].verdict);
    if (isfinite(m->attention.correlation))
        printf("rank correlation of attention ERF and TRF over all heads: %.3f\n", m->attention.correlation);
    if (m->attention.used < m->attention.measured)
        printf("%zu of %zu segments are left out: their attention is not finite\n", m->attention.measured - m->attention.used,
               m->attention.measured);
    return rc;
}

int erf_attention_print(const struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (print_model(r, &r->models[i]) != 0)
            return fail(e, "out of memory for the table");
    return 0;
}
