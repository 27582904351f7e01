/* Results of `reach erf` on disk. */
#include "run/erf/parts.h"

#include "run/attention/attention.h"
#include "run/attention/csv.h"
#include "run/erf/csv.h"
#include "run/results.h"
#include "io/csv.h"
#include "io/result.h"
#include "plots/figure.h"
#include "version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTRIBUTES_MAX = 48 };

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
    for (size_t i = 0; a && i < a->count; i++)
        free((char *)a->list[i].value);
    free(a);
}

/* All thresholds, ascending, with commas. */
static void put_thresholds(struct attributes *a, const struct erf_options *o)
{
    char text[THRESHOLDS_MAX * 33] = "", number[32];
    size_t used = 0;

    for (size_t i = 0; i < o->threshold_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "",
                                 csv_format_real(number, o->thresholds[i]));
    put(a, "thresholds", "%s", text);
}

/* What stands for a position, and of which target. */
static void put_target(struct attributes *a, const struct erf_run *r, const struct erf_model *m, const struct erf_target *t,
                       const struct erf_field *f)
{
    static const char *const quantities[] = {[ATTRIBUTION_GRAD] = "gradient",
                                             [ATTRIBUTION_INPUT] = "input times gradient",
                                             [ATTRIBUTION_INTEGRATED] = "integrated gradients",
                                             [ATTRIBUTION_SMOOTH] = "mean gradient over noisy samples"};
    enum attribution kind = r->options->attribution;
    char number[32];

    if (f->layer)
        put(a, "target", "log p of token %zu, gradient with respect to the input of block %d, counted from 0", t->length,
            f->layer);
    else
        put(a, "target", "log p of token %zu, %s with respect to the token embedding rows", t->length, quantities[kind]);
    put(a, "target_position", "%zu", t->length);
    put(a, "layer", "%d", f->layer);
    put(a, "attribution", "%s", attribution_names[kind]);
    if (kind == ATTRIBUTION_INTEGRATED) {
        put(a, "attribution_steps", "%d", INTEGRATED_STEPS);
        put(a, "attribution_baseline", "rows of zeros");
    } else if (kind == ATTRIBUTION_SMOOTH) {
        put(a, "attribution_samples", "%d", SMOOTH_SAMPLES);
        put(a, "attribution_noise", "%s", csv_format_real(number, m->noise));
    }
}

/* What `reach merge` needs of a part of a run. */
static void put_shard(struct attributes *a, const struct erf_run *r, const struct erf_model *m)
{
    const struct erf_options *o = r->options;
    char *theory;

    if (!o->shards)
        return;
    put(a, "shard", "%ld/%ld", o->shard, o->shards);
    put(a, "shard_first", "%zu", m->first);
    put(a, "run_segments", "%zu", m->run_segments);
    if (!o->attention)
        return;
    theory = attention_theory_text(r, m);
    put(a, "attention_segments", "%zu", m->attention.measured);
    put(a, "attention_used", "%zu", m->attention.used);
    put(a, "attention_trf", "%s", theory ? theory : "");
    a->failed |= !theory;
    free(theory);
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
    put(a, "cone", "%ld", m->cone);
    put(a, "dtype", "%s", r->kernels->dtype);
    put(a, "device", "%s", strcmp(device, "reference") == 0 ? "cpu" : device);
    put(a, "kernels", "%s", r->kernels->name);
    put_target(a, r, m, &m->targets[0], erf_main(m));
    put(a, "length", "%zu", cut->length);
    put(a, "segments", "%zu", erf_main(m)->summary.segments);
    put(a, "excluded", "%zu", erf_main(m)->summary.excluded);
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
    if (o->encoding.bias_dtype)
        put(a, "bias_dtype", "%s", o->encoding.bias_dtype);
    if (*d->not_understood)
        put(a, "not_understood", "%s", d->not_understood);
    put_shard(a, r, m);
    return a->failed ? fail(e, "%s: out of memory for the attributes", m->argument->path) : 0;
}

/* The attributes of a group below the model's. */
static int describe_field(struct attributes *a, const struct erf_run *r, const struct erf_model *m, const struct erf_target *t,
                          const struct erf_field *f, struct error *e)
{
    put_target(a, r, m, t, f);
    put(a, "segments", "%zu", f->summary.segments);
    put(a, "excluded", "%zu", f->summary.excluded);
    return a->failed ? fail(e, "%s: out of memory for the attributes", m->argument->path) : 0;
}

/* What is stored of a field; arrays are borrowed. */
static int store_field(struct result_field *out, const struct erf_run *r, const struct erf_model *m, const struct erf_target *t,
                       const struct erf_field *f, struct error *e)
{
    struct attributes *a = calloc(1, sizeof *a);
    int rc;

    if (!a)
        return fail(e, "%s: out of memory for the attributes", m->argument->path);
    rc = f == erf_main(m) ? describe(a, r, m, e) : describe_field(a, r, m, t, f, e);
    *out = (struct result_field){.target = t->length,
                                 .layer = (size_t)f->layer,
                                 .positions = t->length - 1,
                                 .norm = f->norm,
                                 .logprob = t->logprob,
                                 .status = f->status,
                                 .completeness = (double *)t->completeness,
                                 .summary = f->summary,
                                 .attributes = a->list,
                                 .attribute_count = a->count};
    return rc;
}

static int store_model(struct result_model *out, const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    *out = (struct result_model){.segments = m->segments.count,
                                 .wide = strcmp(r->options->machine.dtype, "f64") == 0,
                                 .start = m->segments.start};
    snprintf(out->name, sizeof out->name, "%s", m->argument->name);
    if (m->attention.mass)
        out->attention = (struct result_attention){.layers = (size_t)m->decoder->layers,
                                                   .heads = (size_t)m->decoder->heads,
                                                   .positions = r->positions,
                                                   .high = m->attention.high,
                                                   .low = m->attention.low,
                                                   .mass = m->attention.mass};
    out->fields = calloc(r->target_count * (size_t)m->field_count, sizeof *out->fields);
    if (!out->fields)
        return fail(e, "%s: out of memory for the results", m->argument->path);
    for (size_t t = 0; t < r->target_count; t++)
        for (int k = 0; k < m->field_count; k++)
            if (store_field(&out->fields[out->field_count++], r, m, &m->targets[t], &m->targets[t].fields[k], e) != 0)
                return -1;
    return 0;
}

static void free_stored(struct result *r)
{
    for (size_t i = 0; r->models && i < r->model_count; i++) {
        for (size_t k = 0; k < r->models[i].field_count; k++)
            free_attributes((struct attributes *)r->models[i].fields[k].attributes); /* its first member */
        free(r->models[i].fields);
    }
    free(r->models);
}

static int write_h5(const struct erf_run *r, const char *path, struct atomic_file *out, struct error *e)
{
    struct result result = {.version = (char[]){REACH_VERSION},
                            .command = (char *)r->command,
                            .shards = (size_t)r->options->shards,
                            .models = calloc(r->count, sizeof *result.models),
                            .model_count = r->count};
    int rc = result.models ? 0 : fail(e, "%s: out of memory for the results", path);

    for (size_t i = 0; i < r->count && rc == 0; i++)
        rc = store_model(&result.models[i], r, &r->models[i], e);
    if (rc == 0)
        rc = result_stage(path, &result, out, e);
    free_stored(&result);
    return rc;
}

static int write_figure(const struct erf_run *r, const char *folder, struct error *e)
{
    const struct erf_options *o = r->options;
    struct figure_curve *curves = calloc(r->count, sizeof *curves);
    char *command = command_comment(r->command);
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
        const struct erf_summary *u = &erf_main(m)->summary;
        const struct erf_row *row = &u->rows[r->main_row];

        curves[i] = (struct figure_curve){.label = m->argument->name,
                                          .c = u->c,
                                          .positions = r->positions,
                                          .train_length = m->train_length,
                                          .erf = row->erf,
                                          .saturated = row->saturated};
        if (o->bootstrap) {
            curves[i].c_lo = u->c_lo;
            curves[i].c_hi = u->c_hi;
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
    static const char *const names[] = {"erf.h5",    "curve.csv",  "summary.csv",   "erf.gp",
                                        "layers.gp", "targets.gp", "attention.csv", "attention.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = results_path(folder, names[i], e);
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

int erf_write(const struct erf_run *r, const char *folder, struct error *not_drawn, struct error *e)
{
    const struct {
        const char *name;
        int wanted;
        int (*write)(const struct erf_run *, const char *, struct atomic_file *, struct error *);
    } files[] = {{"erf.h5", 1, write_h5},
                 {"curve.csv", 1, erf_write_curve},
                 {"summary.csv", 1, erf_write_summary},
                 {"attention.csv", r->options->attention, attention_write}};
    const struct {
        const char *stem;
        int wanted;
        int (*draw)(const struct erf_run *, const char *, struct error *);
    } figures[] = {{"erf", 1, write_figure},
                   {"layers", r->options->layer != LAYER_NONE, erf_layers_draw},
                   {"targets", r->target_count > 1, erf_targets_draw},
                   {"attention", r->options->attention, erf_attention_draw}};
    enum { FILES = sizeof files / sizeof *files, FIGURES = sizeof figures / sizeof *figures };
    const char *names[FILES + 1] = {NULL}, *stems[FIGURES + 1] = {NULL}; /* of this run or an earlier one */
    struct results_files ready = {.count = 0};
    int missing = 0;

    for (int i = 0; i < FILES; i++) {
        char *path = results_path(folder, names[i] = files[i].name, e);
        int rc = !path ? -1 : files[i].wanted ? files[i].write(r, path, &ready.file[ready.count], e) : 0;

        free(path);
        if (rc != 0) {
            results_abandon(&ready);
            return -1;
        }
        ready.count += files[i].wanted;
    }
    for (int i = 0; i < FIGURES; i++)
        stems[i] = figures[i].stem;
    if (results_place(&ready, folder, names, stems, e) != 0)
        return -1;
    for (int i = 0; i < FIGURES; i++) { /* the scripts are written also where pictures cannot be drawn */
        int rc = figures[i].wanted ? figures[i].draw(r, folder, e) : 0;

        if (rc < 0)
            return -1;
        if (rc > missing) {
            missing = rc;
            *not_drawn = *e;
        }
    }
    if (missing == FIGURE_NO_GNUPLOT)
        progress_warning(r->progress, "%s", not_drawn->text);
    if (missing != FIGURE_NOT_DRAWN)
        *not_drawn->text = 0;
    return 0;
}
