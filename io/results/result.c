/* Allocation and access of a result. */
#include "io/results/result.h"

#include "io/element.h"
#include "io/system/confine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *result_epsilon(char out[32], double threshold)
{
    snprintf(out, 32, "%.15g", 1 - threshold);
    return out;
}

int result_field_room(struct result_field *f, size_t segments, int completeness, struct error *e)
{
    size_t cells;

    f->positions = f->target - 1;
    if (size_multiply(&cells, segments, f->positions) != 0 || cells > SIZE_MAX / sizeof *f->norm)
        return fail_memory(e, (double)segments * (double)f->positions * sizeof *f->norm,
                           "the norms");
    f->norm = malloc(cells * sizeof *f->norm);
    f->logprob = calloc(segments, sizeof *f->logprob);
    f->status = calloc(segments, sizeof *f->status);
    f->completeness = completeness ? calloc(segments, 2 * sizeof *f->completeness) : NULL;
    if (!f->norm || !f->logprob || !f->status || (completeness && !f->completeness))
        return fail_memory(e, (double)cells * sizeof *f->norm, "the norms");
    return 0;
}

int result_attention_room(struct result_attention *a, struct error *e)
{
    size_t mass, decays, count;

    if (size_multiply(&mass, a->layers, a->heads) != 0 ||
        size_multiply(&mass, mass, a->positions) != 0 ||
        size_multiply(&decays, a->layers, a->recurrence_heads) != 0 ||
        size_add(&count, mass, decays) != 0)
        return fail_memory(e, INFINITY, "the attention of all heads");
    a->high = calloc(count, sizeof *a->high);
    a->low = calloc(count, sizeof *a->low);
    if (!a->high || !a->low)
        return fail_memory(e, 2 * (double)count * sizeof *a->high, "the attention of all heads");
    a->decay_high = a->high + mass;
    a->decay_low = a->low + mass;
    return 0;
}

void result_attributes_free(struct result_field *f)
{
    for (size_t k = 0; k < f->attribute_count; k++) {
        free((char *)f->attributes[k].name);
        free((char *)f->attributes[k].value);
    }
    free(f->attributes);
    f->attributes = NULL;
    f->attribute_count = 0;
}

static void free_field(struct result_field *f, int with_arrays)
{
    if (with_arrays) {
        free(f->norm);
        free(f->logprob);
        free(f->status);
        free(f->completeness);
        erf_summary_free(&f->summary);
    }
    free(f->quantity);
    result_attributes_free(f);
}

static void free_model(struct result_model *m, int with_arrays)
{
    char *const texts[] = {m->path,          m->digest,  m->family,         m->position_encoding,
                           m->tokens_digest, m->adapter, m->not_understood, m->assumed};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; m->fields && i < m->field_count; i++)
        free_field(&m->fields[i], with_arrays);
    free(m->fields);
    if (with_arrays) {
        free(m->start);
        free(m->tokens);
        texts_free(&m->pieces);
        free(m->attention.high);
        free(m->attention.low);
        free(m->attention.log_decay);
    }
    free(m->attention.mass);
    free(m->attention.mixers);
    free(m->attention.rows);
    free(m->attention.theory);
}

void result_free(struct result *r)
{
    char *const texts[] = {r->version,
                           r->command,
                           r->dtype,
                           r->device,
                           r->kernels,
                           r->attribution,
                           r->attribution_baseline,
                           r->bias_dtype,
                           r->keep};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; r->models && i < r->model_count; i++)
        free_model(&r->models[i], !r->memory);
    free(r->models);
    confine_memory_free(r->memory, r->memory_bytes);
    *r = (struct result){0};
}

const char *result_attribute(const struct result_field *f, const char *name)
{
    for (size_t i = 0; i < f->attribute_count; i++)
        if (strcmp(f->attributes[i].name, name) == 0)
            return f->attributes[i].value;
    return NULL;
}

size_t result_layers(const struct result_model *m)
{
    size_t count = 0;

    while (count < m->field_count && m->fields[count].target == m->fields[0].target)
        count++;
    return count;
}

size_t result_targets(const struct result_model *m)
{
    return m->field_count / result_layers(m);
}

const struct result_field *result_target(const struct result_model *m, size_t i)
{
    size_t targets = result_targets(m), layers = result_layers(m);

    return &m->fields[(i + 1) % targets * layers];
}

int result_has_interval(const struct result *r, const struct result_field *f)
{
    return r->bootstrap && f->summary.segments - f->summary.excluded >= INTERVAL_SEGMENTS;
}

int result_growth(const struct erf_summary *out[GROWTH_LENGTHS], const struct result_model *m)
{
    size_t whole = m->fields[0].target, found = 0;

    for (size_t i = 0; whole >= 8 && i < result_targets(m);
         i++) { /* a quarter has an input and a target */
        const struct result_field *f = result_target(m, i);

        for (size_t k = 0; k < GROWTH_LENGTHS; k++)
            if (f->target == whole >> (GROWTH_LENGTHS - 1 - k)) {
                out[k] = &f->summary;
                found++;
            }
    }
    return found == GROWTH_LENGTHS;
}
