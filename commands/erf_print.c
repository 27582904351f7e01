/* What `reach erf` prints: the table, differences between models, notes, and the check of precision. */
#include "commands/erf.h"

#include "commands/table.h"
#include "io/result.h"
#include "model/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 0.99 -> "0.99"; enough digits for a threshold. */
static char *threshold_text(char out[32], double q)
{
    snprintf(out, 32, "%.10g", q);
    return out;
}

static void print_header(struct table *t, const struct erf_run *r)
{
    const struct erf_options *o = r->options;
    char q[32];

    table_cell(t, "model");
    table_cell(t, "position encoding");
    table_cell(t, "segments");
    table_cell(t, "ERF(%s)", threshold_text(q, o->main_threshold));
    table_cell(t, "95 %% interval");
    for (size_t i = 0; i < o->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "(%s)", threshold_text(q, o->thresholds[i]));
    table_cell(t, "q10/median/q90");
    table_cell(t, "sink %%");
    table_cell(t, "no sink");
    table_cell(t, "PPL");
    table_cell(t, "L_tr");
}

static void print_model(struct table *t, const struct erf_run *r, const struct erf_model *m)
{
    const struct erf_options *o = r->options;
    const struct erf_summary *u = &m->summary;
    const struct erf_row *row = &u->rows[r->main_row];
    enum { ENCODING = 36 };

    table_cell(t, "%s", m->argument->name);
    if (strlen(m->decoder->position_text) > ENCODING)
        table_cell(t, "%.*s...", ENCODING - 3, m->decoder->position_text);
    else
        table_cell(t, "%s", m->decoder->position_text);
    table_cell(t, "%zu", u->segments);
    table_cell(t, "%s%zu", row->saturated ? ">= " : "", row->erf);
    if (o->bootstrap && u->segments - u->excluded > 1) /* one segment tells nothing about others */
        table_cell(t, "[%zu, %zu]", row->erf_lo, row->erf_hi);
    else
        table_cell(t, "-");
    for (size_t i = 0; i < u->threshold_count; i++)
        if (i != r->main_row)
            table_cell(t, "%s%zu", u->rows[i].saturated ? ">= " : "", u->rows[i].erf);
    table_cell(t, "%zu/%zu/%zu", row->q10, row->median, row->q90);
    table_cell(t, "%.2f", 100 * u->sink_share);
    table_cell(t, "%zu", row->without_sink);
    table_cell(t, "%.4g", u->perplexity);
    if (m->train_length)
        table_cell(t, "%d", m->train_length);
    else
        table_cell(t, "-");
}

static int print_differences(const struct erf_run *r)
{
    struct table *t = table_create("lrrl");
    const struct erf_model *first = &r->models[0];
    char q[32];
    int rc;

    if (!t)
        return -1;
    printf("\nERF(%s) against %s, paired by segment:\n", threshold_text(q, r->options->main_threshold), first->argument->name);
    table_cell(t, "model");
    table_cell(t, "difference");
    table_cell(t, "95 %% interval");
    table_cell(t, "%s", "");
    for (size_t i = 1; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];
        double difference, lo, hi;
        int saturated = m->summary.rows[r->main_row].saturated + 2 * first->summary.rows[r->main_row].saturated;
        static const char *const notes[] = {"", "at least: saturated", "at most: the first is saturated", "unknown: both are saturated"};

        int same_text = strcmp(m->tokens_digest, first->tokens_digest) == 0 && m->bos == first->bos;

        table_cell(t, "%s", m->argument->name);
        if (same_text && erf_difference(&difference, &lo, &hi, &m->summary, &first->summary, r->main_row) == 0) {
            table_cell(t, "%+.0f", difference);
            if (m->summary.segments - m->summary.excluded > 1)
                table_cell(t, "[%+.0f, %+.0f]", lo, hi);
            else
                table_cell(t, "-");
            table_cell(t, "%s", notes[saturated]);
        } else {
            table_cell(t, "%+.0f", (double)m->summary.rows[r->main_row].erf - (double)first->summary.rows[r->main_row].erf);
            table_cell(t, "-");
            table_cell(t, "%s", !same_text ? "not paired: other tokens" : r->options->bootstrap ? "not paired: other segments are excluded" : notes[saturated]);
        }
    }
    rc = table_print(stdout, t);
    table_free(t);
    return rc;
}

/* Lines under the table that a reader needs to take it right. */
static void print_notes(const struct erf_run *r)
{
    const struct segments *cut = &r->models[0].segments;
    int saturated = 0;

    printf("\ntarget: gradient of log p(target) with respect to the token embedding rows; target = token %zu of %zu\n", cut->length, cut->length);
    if (cut->overlapping)
        printf("intervals are too narrow: segments overlap (stride %zu < length %zu)\n", cut->stride, cut->length);
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        saturated |= m->summary.rows[r->main_row].saturated;
        if (m->summary.excluded)
            printf("%s: %zu of %zu segments are excluded (norms that are not finite, or sum to zero)\n", m->argument->name, m->summary.excluded,
                   m->segments.count);
    }
    if (saturated)
        printf(">= %zu: saturated, all tokens are needed, so the field is not measured (a larger --length may do)\n", r->positions);
}

int erf_print(const struct erf_run *r, struct error *e)
{
    char alignment[THRESHOLDS_MAX + 16] = "llrrr";
    struct table *t;
    int rc;

    for (size_t i = 0; i + 1 < r->options->threshold_count; i++)
        strcat(alignment, "r");
    strcat(alignment, "rrrrr");
    t = table_create(alignment);
    if (!t)
        return fail(e, "out of memory for the table");
    print_header(t, r);
    for (size_t i = 0; i < r->count; i++)
        print_model(t, r, &r->models[i]);
    rc = table_print(stdout, t);
    table_free(t);
    if (rc == 0 && r->count > 1)
        rc = print_differences(r);
    if (rc != 0)
        return fail(e, "out of memory for the table");
    print_notes(r);
    return 0;
}

/* The largest deviations of one model from the oracle. */
struct deviation {
    double s, c, logprob; /* s relative, where the oracle's s > 1e-6 */
    size_t erf, outside;  /* largest difference of ERF in tokens; segments outside what the allowed error of c permits */
    size_t segments;
};

/* The float64 reference set, whatever set is forced for the run itself. */
static struct kernels *open_oracle(struct error *e)
{
    for (int i = 0; i < kernel_set_count; i++)
        if (strcmp(kernel_sets[i].name, "reference") == 0 && strcmp(kernel_sets[i].dtype, "f64") == 0)
            return kernel_sets[i].open(e);
    fail(e, "--check-precision: this build has no float64 reference set");
    return NULL;
}

/* Compares one segment; `work` [4, positions]. */
static void compare(struct deviation *out, const double *norm, double logprob, const double *oracle_norm, double oracle_logprob, size_t n, double q,
                    double tolerance, double *work)
{
    double *s = work, *c = work + n, *oracle_s = work + 2 * n, *oracle_c = work + 3 * n;
    size_t erf, oracle_erf, low, high;

    if (curve_share(s, norm, n) != 0 || curve_share(oracle_s, oracle_norm, n) != 0)
        return;
    curve_cumulative(c, s, n);
    curve_cumulative(oracle_c, oracle_s, n);
    for (size_t m = 0; m < n; m++) {
        if (oracle_s[m] > 1e-6)
            out->s = fmax(out->s, fabs(s[m] - oracle_s[m]) / oracle_s[m]);
        out->c = fmax(out->c, fabs(c[m] - oracle_c[m]));
    }
    out->logprob = fmax(out->logprob, fabs(logprob - oracle_logprob));
    erf = curve_erf(c, n, q);
    oracle_erf = curve_erf(oracle_c, n, q);
    low = curve_erf(oracle_c, n, fmax(q - tolerance, 0x1p-53));
    high = curve_erf(oracle_c, n, fmin(q + tolerance, 1 - 0x1p-53));
    out->erf = erf > oracle_erf ? (erf - oracle_erf > out->erf ? erf - oracle_erf : out->erf) : (oracle_erf - erf > out->erf ? oracle_erf - erf : out->erf);
    out->outside += erf < low || erf > high;
    out->segments++;
}

static int check_model(struct deviation *out, const struct erf_run *r, const struct erf_model *m, struct kernels *oracle, double tolerance, struct error *e)
{
    struct engine_options options = {.positions = (int)r->positions, .memory = r->options->memory, .batch = 1, .keep = KEEP_AUTO, .resident = -1, .seed = 1};
    size_t n = r->positions, count = (size_t)r->options->check_precision;
    double *norm = calloc(n, 5 * sizeof *norm), logprob;
    struct engine *g = NULL;
    int rc = -1;

    count = count < m->segments.count ? count : m->segments.count;
    memset(out, 0, sizeof *out);
    if (!norm) {
        fail_memory(e, 5 * (double)n * sizeof *norm, "the check of precision");
        goto end;
    }
    g = engine_create(oracle, m->decoder, &options, e);
    if (!g)
        goto end;
    for (size_t i = 0; i < count; i++) {
        if (m->status[i] != SEGMENT_DONE)
            continue;
        if (engine_measure(g, norm, &logprob, m->segments.ids + i * (n + 1), 1, e) != 0)
            goto end;
        compare(out, m->norm + i * n, m->logprob[i], norm, logprob, n, r->options->main_threshold, tolerance, norm + n);
    }
    rc = 0;
end:
    engine_close(g);
    free(norm);
    return rc;
}

int erf_check_precision(const struct erf_run *r, struct error *e)
{
    int wide = strcmp(r->options->dtype, "f64") == 0, rc = -1;
    double allowed_s = wide ? 1e-9 : 1e-4, allowed_c = wide ? 1e-9 : 1e-5, allowed_logprob = wide ? 1e-9 : 1e-5;
    struct kernels *oracle = open_oracle(e);
    struct table *t = table_create("lrrrrrr");
    char q[32];

    if (!t)
        fail(e, "out of memory for the table");
    if (!oracle || !t)
        goto end;
    table_cell(t, "model");
    table_cell(t, "segments");
    table_cell(t, "s (relative)");
    table_cell(t, "c");
    table_cell(t, "log p");
    table_cell(t, "ERF(%s)", threshold_text(q, r->options->main_threshold));
    table_cell(t, "ERF outside");
    for (size_t i = 0; i < r->count; i++) {
        struct deviation d;

        if (check_model(&d, r, &r->models[i], oracle, allowed_c, e) != 0)
            goto end;
        table_cell(t, "%s", r->models[i].argument->name);
        table_cell(t, "%zu", d.segments);
        table_cell(t, "%.2g%s", d.s, d.s > allowed_s ? " !" : "");
        table_cell(t, "%.2g%s", d.c, d.c > allowed_c ? " !" : "");
        table_cell(t, "%.2g%s", d.logprob, d.logprob > allowed_logprob ? " !" : "");
        table_cell(t, "%zu", d.erf);
        table_cell(t, "%zu%s", d.outside, d.outside ? " !" : "");
        progress_log(r->progress, "%s: largest deviations from float64 over %zu segments: s %.3g, c %.3g, log p %.3g, ERF %zu tokens, %zu outside",
                     r->models[i].argument->name, d.segments, d.s, d.c, d.logprob, d.erf, d.outside);
    }
    table_cell(t, "allowed");
    table_cell(t, "%s", "");
    table_cell(t, "%.0e", allowed_s);
    table_cell(t, "%.0e", allowed_c);
    table_cell(t, "%.0e", allowed_logprob);
    table_cell(t, "%s", "");
    table_cell(t, "0");
    printf("\nlargest deviations from the float64 reference, segment by segment (s where it is above 1e-6; ERF in tokens; ! beyond what is allowed;\n"
           "ERF outside: segments whose ERF is not between the reference's ERF(q - %.0e) and ERF(q + %.0e)):\n",
           allowed_c, allowed_c);
    rc = table_print(stdout, t);
    if (rc != 0)
        fail(e, "out of memory for the table");
end:
    table_free(t);
    if (oracle)
        oracle->close(oracle);
    return rc;
}
