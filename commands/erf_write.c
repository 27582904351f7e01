/* Results of `reach erf` on disk. */
#include "commands/erf.h"

#include "io/csv.h"
#include "io/result.h"
#include "plots/figure.h"
#include "version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTRIBUTES_MAX = 40 };

/* The attributes of one model, their values owned. */
struct attributes {
    struct result_attribute list[ATTRIBUTES_MAX];
    size_t count;
    int failed;
};

static void put(struct attributes *a, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);

static void put(struct attributes *a, const char *name, const char *format, ...)
{
    va_list arguments;
    char *value;

    va_start(arguments, format);
    if (a->count == ATTRIBUTES_MAX || vasprintf(&value, format, arguments) < 0)
        a->failed = 1;
    else
        a->list[a->count++] = (struct result_attribute){name, value};
    va_end(arguments);
}

static void free_attributes(struct attributes *a)
{
    for (size_t i = 0; i < a->count; i++)
        free((char *)a->list[i].value);
}

/* All thresholds, ascending, with commas. */
static void put_thresholds(struct attributes *a, const struct erf_options *o)
{
    char text[THRESHOLDS_MAX * 33] = "", number[32];
    size_t used = 0;

    for (size_t i = 0; i < o->threshold_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", csv_format_real(number, o->thresholds[i]));
    put(a, "thresholds", "%s", text);
}

static int describe(struct attributes *a, const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    const struct erf_options *o = r->options;
    const struct decoder *d = m->decoder;
    const struct segments *cut = &m->segments;
    char number[32], device[sizeof r->kernels->name];

    snprintf(device, sizeof device, "%.*s", (int)strcspn(r->kernels->name, " ("), r->kernels->name);
    put(a, "path", "%s", m->argument->path);
    put(a, "digest", "%s", m->digest);
    put(a, "family", "%s", d->family);
    put(a, "layers", "%d", d->layers);
    put(a, "heads", "%d", d->heads);
    put(a, "kv_heads", "%d", d->kv_heads);
    put(a, "head_size", "%d", d->head_size);
    put(a, "hidden", "%d", d->hidden);
    put(a, "vocabulary", "%d", d->vocabulary);
    put(a, "position_encoding", "%s", d->position_text);
    put(a, "cone", "%ld", decoder_cone(d, (long)r->positions));
    put(a, "dtype", "%s", r->kernels->dtype);
    put(a, "device", "%s", strcmp(device, "reference") == 0 ? "cpu" : device);
    put(a, "kernels", "%s", r->kernels->name);
    put(a, "target", "log p of token %zu, gradient with respect to the token embedding rows", cut->length);
    put(a, "target_position", "%zu", cut->length);
    put(a, "layer", "0");
    put(a, "attribution", "grad");
    put(a, "length", "%zu", cut->length);
    put(a, "segments", "%zu", m->summary.segments);
    put(a, "excluded", "%zu", m->summary.excluded);
    put(a, "stride", "%zu", cut->stride);
    put(a, "offset", "%zu", o->cut.offset);
    put(a, "overlapping", "%d", cut->overlapping);
    put(a, "bos", "%d", m->bos);
    put(a, "tokens_digest", "%s", m->tokens_digest);
    put(a, "train_length", "%d", m->train_length);
    put_thresholds(a, o);
    put(a, "main_threshold", "%s", csv_format_real(number, o->main_threshold));
    put(a, "sink", "%ld", o->sink);
    put(a, "bootstrap", "%ld", o->bootstrap);
    put(a, "seed", "%llu", (unsigned long long)o->seed);
    return a->failed ? fail(e, "%s: out of memory for the attributes", m->argument->path) : 0;
}

static int write_h5(const struct erf_run *r, const char *path, struct error *e)
{
    struct result result = {.version = (char[]){REACH_VERSION}, .command = r->command, .model_count = r->count};
    struct attributes *attributes = calloc(r->count, sizeof *attributes);
    int rc = -1;

    result.models = calloc(r->count, sizeof *result.models);
    if (!attributes || !result.models) {
        fail(e, "%s: out of memory for the results", path);
        goto end;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];
        struct result_model *out = &result.models[i];

        if (describe(&attributes[i], r, m, e) != 0)
            goto end;
        snprintf(out->name, sizeof out->name, "%s", m->argument->name);
        out->segments = m->segments.count;
        out->positions = r->positions;
        out->wide = strcmp(r->options->dtype, "f64") == 0;
        out->norm = m->norm;
        out->logprob = m->logprob;
        out->status = m->status;
        out->start = m->segments.start;
        out->s = m->summary.s;
        out->c = m->summary.c;
        out->c_lo = m->summary.c_lo;
        out->c_hi = m->summary.c_hi;
        out->attributes = attributes[i].list;
        out->attribute_count = attributes[i].count;
    }
    rc = result_write(path, &result, e);
end:
    for (size_t i = 0; attributes && i < r->count; i++)
        free_attributes(&attributes[i]);
    free(attributes);
    free(result.models);
    return rc;
}

/* The lines above each header; the last one tells the units of the columns. */
static char *command_comment(const struct erf_run *r)
{
    char *text;

    return asprintf(&text, "command: %s", r->command) < 0 ? NULL : text;
}

static const char overlap_comment[] = "segments overlap (stride below length): the intervals are too narrow";

static int write_curve(const struct erf_run *r, const char *path, struct error *e)
{
    char *command = command_comment(r);
    const char *comments[] = {"reach " REACH_VERSION, command,
                              "units: position, distance, target in tokens (position 1 is the first; distance = L-1-position); s, c, c_lo, c_hi shares of 1; "
                              "c_lo, c_hi: 95 % bootstrap interval over segments",
                              r->models[0].segments.overlapping ? overlap_comment : NULL, NULL};
    struct csv *csv = command ? csv_create(path, comments, "model,position,distance,s,c,c_lo,c_hi,target,layer,attribution", e) : NULL;
    size_t n = r->positions;

    if (!command)
        fail(e, "%s: out of memory", path);
    free(command);
    if (!csv)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_summary *u = &r->models[i].summary;

        for (size_t m = 0; m < n; m++) {
            csv_text(csv, r->models[i].argument->name);
            csv_whole(csv, (long long)m + 1);
            csv_whole(csv, (long long)(n - 1 - m));
            csv_real(csv, u->s[m]);
            csv_real(csv, u->c[m]);
            csv_real(csv, u->c_lo[m]);
            csv_real(csv, u->c_hi[m]);
            csv_whole(csv, (long long)n + 1);
            csv_whole(csv, 0);
            csv_text(csv, "grad");
            csv_end_row(csv);
        }
    }
    return csv_close(csv, e);
}

static int write_summary(const struct erf_run *r, const char *path, struct error *e)
{
    char *command = command_comment(r);
    const char *comments[] = {"reach " REACH_VERSION, command,
                              "units: length, erf (and its interval, quantiles, without sink), target in tokens; threshold, sink_share shares of 1; "
                              "mean_logprob natural log; saturated 1: all L-1 tokens are needed, the field is at least that",
                              r->models[0].segments.overlapping ? overlap_comment : NULL, NULL};
    struct csv *csv = command ? csv_create(path, comments,
                                           "model,segments,excluded,length,threshold,erf,erf_lo,erf_hi,saturated,erf_q10,erf_median,erf_q90,sink_share,"
                                           "erf_without_sink,mean_logprob,ppl,target,layer,attribution",
                                           e)
                              : NULL;

    if (!command)
        fail(e, "%s: out of memory", path);
    free(command);
    if (!csv)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_summary *u = &r->models[i].summary;

        for (size_t j = 0; j < u->threshold_count; j++) {
            const struct erf_row *row = &u->rows[j];

            csv_text(csv, r->models[i].argument->name);
            csv_whole(csv, (long long)u->segments);
            csv_whole(csv, (long long)u->excluded);
            csv_whole(csv, (long long)r->positions + 1);
            csv_real(csv, row->threshold);
            csv_whole(csv, (long long)row->erf);
            csv_whole(csv, (long long)row->erf_lo);
            csv_whole(csv, (long long)row->erf_hi);
            csv_whole(csv, row->saturated);
            csv_whole(csv, (long long)row->q10);
            csv_whole(csv, (long long)row->median);
            csv_whole(csv, (long long)row->q90);
            csv_real(csv, u->sink_share);
            csv_whole(csv, (long long)row->without_sink);
            csv_real(csv, u->mean_logprob);
            csv_real(csv, u->perplexity);
            csv_whole(csv, (long long)r->positions + 1);
            csv_whole(csv, 0);
            csv_text(csv, "grad");
            csv_end_row(csv);
        }
    }
    return csv_close(csv, e);
}

static int write_figure(const struct erf_run *r, const char *folder, struct error *e)
{
    const struct erf_options *o = r->options;
    struct figure_curve *curves = calloc(r->count, sizeof *curves);
    char *command = command_comment(r);
    const char *comments[] = {"reach " REACH_VERSION, command, NULL};
    double thresholds[THRESHOLDS_MAX];
    size_t count = 0;
    int rc = -1;

    if (!curves || !command) {
        fail(e, "%s: out of memory for the figure", folder);
        goto end;
    }
    thresholds[count++] = o->main_threshold;
    for (size_t i = 0; i < o->threshold_count; i++)
        if (i != r->main_row)
            thresholds[count++] = o->thresholds[i];
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];
        const struct erf_row *row = &m->summary.rows[r->main_row];

        curves[i] = (struct figure_curve){.label = m->argument->name, .c = m->summary.c, .positions = r->positions, .train_length = m->train_length,
                                          .erf = row->erf, .saturated = row->saturated};
        if (o->bootstrap) {
            curves[i].c_lo = m->summary.c_lo;
            curves[i].c_hi = m->summary.c_hi;
        }
    }
    rc = figure_erf(folder, "erf", curves, r->count, thresholds, count, comments, o->formats, e);
end:
    free(curves);
    free(command);
    return rc;
}

int erf_results_exist(const char *folder, struct error *e)
{
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv", "erf.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = erf_path(folder, names[i], e);
        int found;

        if (!path)
            return 1;
        found = access(path, F_OK) == 0;
        free(path);
        if (found) {
            fail(e, "%s/%s: exists (expected --force to overwrite results, or another folder with -o)", folder, names[i]);
            return 1;
        }
    }
    return 0;
}

int erf_write(const struct erf_run *r, const char *folder, struct error *e)
{
    static int (*const writers[])(const struct erf_run *, const char *, struct error *) = {write_h5, write_curve, write_summary};
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv"};

    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        char *path = erf_path(folder, names[i], e);
        int rc = path ? writers[i](r, path, e) : -1;

        free(path);
        if (rc != 0)
            return -1;
    }
    return write_figure(r, folder, e);
}
