/* The description of a result: the run's settings, its models, and the gradient in each field. */
#include "run/erf/parts.h"

#include "version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantities[] = {[ATTRIBUTION_GRAD] = "gradient",
                                         [ATTRIBUTION_INPUT] = "input times gradient",
                                         [ATTRIBUTION_INTEGRATED] = "integrated gradients",
                                         [ATTRIBUTION_SMOOTH] = "mean gradient over noisy samples"};

/* Sets a text; NULL and a message when memory runs out. */
static int set(char **text, struct error *e, const char *format, ...) PRINTF_LIKE(3, 4);

static int set(char **text, struct error *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(text, format, arguments) < 0)
        *text = NULL;
    va_end(arguments);
    return *text ? 0 : fail(e, "out of memory for the result");
}

static int identify_run(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    struct result *out = &r->result;
    const char *kernels = r->kernels->name;
    int device = (int)strcspn(kernels, " ("),
        is_reference = device == 9 && strncmp(kernels, "reference", 9) == 0;

    out->length = r->positions + 1;
    out->offset = o->cut.offset;
    out->sink = (size_t)o->sink;
    out->bootstrap = (size_t)o->bootstrap;
    out->seed = o->seed;
    out->threshold_count = o->threshold_count;
    memcpy(out->thresholds, o->thresholds, o->threshold_count * sizeof *o->thresholds);
    out->main_threshold = o->main_threshold;
    while (out->thresholds[out->main_row] != out->main_threshold)
        out->main_row++;
    out->shard = (size_t)o->shard;
    out->shards = (size_t)o->shards;
    out->by_layer = o->layer != LAYER_NONE;
    out->attribution_steps = o->attribution == ATTRIBUTION_INTEGRATED ? INTEGRATED_STEPS : 0;
    out->attribution_samples = o->attribution == ATTRIBUTION_SMOOTH ? SMOOTH_SAMPLES : 0;
    return set(&out->version, e, REACH_VERSION) != 0 ||
                   set(&out->command, e, "%s", r->command) != 0 ||
                   set(&out->dtype, e, "%s", r->kernels->dtype) != 0 ||
                   set(&out->kernels, e, "%s", kernels) != 0 ||
                   set(&out->device, e, "%.*s", device, is_reference ? "cpu" : kernels) != 0 ||
                   set(&out->attribution, e, "%s", attribution_names[o->attribution]) != 0 ||
                   (out->attribution_steps &&
                    set(&out->attribution_baseline, e, "rows of zeros") != 0) ||
                   (o->encoding.bias_dtype &&
                    set(&out->bias_dtype, e, "%s", o->encoding.bias_dtype) != 0) ||
                   (o->machine.keep_bf16 && set(&out->keep, e, "bf16") != 0)
               ? -1
               : 0;
}

static int identify_field(const struct erf_run *r, struct result_field *f, struct error *e)
{
    if (f->layer)
        return set(
            &f->quantity, e,
            "log p of token %zu, gradient with respect to the input of block %zu, counted from 0",
            f->target, f->layer);
    return set(&f->quantity, e, "log p of token %zu, %s with respect to the token embedding rows",
               f->target, quantities[r->options->attribution]);
}

static int identify_model(const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    const struct decoder *d = m->decoder;
    struct result_model *out = m->out;

    snprintf(out->name, sizeof out->name, "%s", m->argument->name);
    out->layers = (size_t)d->layers;
    out->heads = (size_t)d->heads;
    out->kv_heads = (size_t)d->kv_heads;
    out->head_size = (size_t)d->head_size;
    out->hidden = (size_t)d->hidden;
    out->vocabulary = (size_t)d->vocabulary;
    out->cone = (size_t)decoder_cone(d, (long)r->positions);
    out->train_length = (size_t)d->train_length;
    out->stride = m->segments.stride;
    out->overlapping = (size_t)m->segments.overlapping;
    out->bounds = m->text.bounds;
    out->documents = m->segments.documents;
    out->first = m->first;
    out->run_segments = m->run_segments;
    if (set(&out->path, e, "%s", m->argument->path) != 0 ||
        set(&out->digest, e, "%s", m->digest) != 0 || set(&out->family, e, "%s", d->family) != 0 ||
        set(&out->position_encoding, e, "%s", d->position_text) != 0 ||
        set(&out->tokens_digest, e, "%s", m->tokens_digest) != 0 ||
        (d->adapter && set(&out->adapter, e, "%s", m->argument->adapter_path) != 0) ||
        (*d->not_understood && set(&out->not_understood, e, "%s", d->not_understood) != 0) ||
        (*tensors_assumed(d->tensors) &&
         set(&out->assumed, e, "%s", tensors_assumed(d->tensors)) != 0))
        return -1;
    for (size_t k = 0; k < out->field_count; k++)
        if (identify_field(r, &out->fields[k], e) != 0)
            return -1;
    return 0;
}

int erf_identify(struct erf_run *r, struct error *e)
{
    if (identify_run(r, e) != 0)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        if (identify_model(r, &r->models[i], e) != 0)
            return -1;
    return 0;
}
