/* Notes below the tables of a result that a reader needs to interpret them. */
#include "commands/erf.h"

#include "commands/notes.h"
#include "run/text.h"

#include <math.h>
#include <string.h>

/* The number for a position, by the name of the attribution. */
static const char *quantity_of(const char *attribution)
{
    static const char *const quantities[] = {
        [ATTRIBUTION_GRAD] = "gradient of",
        [ATTRIBUTION_INPUT] = "embedding rows times the gradient of",
        [ATTRIBUTION_INTEGRATED] = "integrated gradients (50 points, baseline of zero rows) of",
        [ATTRIBUTION_SMOOTH] = "mean over 50 noisy samples of the gradient of"};

    for (int i = 0; attribution_names[i]; i++)
        if (strcmp(attribution, attribution_names[i]) == 0)
            return quantities[i];
    return attribution;
}

static const struct result_model *model_at(const void *result, size_t model)
{
    return &((const struct result *)result)->models[model];
}

static const char *name_of(const void *result, size_t model)
{
    return model_at(result, model)->name;
}

/* The part of log p - log p(baseline) missing from integrated gradients. */
static void put_completeness(FILE *f, const void *result, size_t model)
{
    const struct result_model *m = model_at(result, model);
    const struct result_field *field = result_main(m);
    double largest = 0, mean = 0, difference = 0, used = 0;

    if (!field->completeness)
        return;
    for (size_t i = 0; i < m->segments; i++) {
        double sum = field->completeness[2 * i],
               whole = field->logprob[i] - field->completeness[2 * i + 1], gap = fabs(sum - whole);

        if (field->status[i] != SEGMENT_DONE)
            continue;
        largest = fmax(largest, gap);
        mean += gap;
        difference += fabs(whole);
        used++;
    }
    fprintf(f,
            "completeness: the sum of the attributions differs from log p - log p(baseline) by "
            "%.3g on average, %.3g at most "
            "(mean |log p - log p(baseline)| %.3g)",
            mean / used, largest, difference / used);
}

static void put_text(FILE *f, const void *result, size_t model)
{
    const struct result_model *m = model_at(result, model);

    text_describe(f, "", &(struct text_notes){NULL, &m->bounds, &m->documents});
}

static void put_noise(FILE *f, const void *result, size_t model)
{
    if (((const struct result *)result)->attribution_samples)
        fprintf(f, "noise of standard deviation %.4g", model_at(result, model)->noise);
}

static void put_shard(FILE *f, const void *result, size_t model)
{
    const struct result *r = result;
    const struct result_model *m = model_at(r, model);

    if (r->shards)
        fprintf(f, "shard %zu of %zu: segments %zu to %zu of %zu (`reach merge` joins the shards)",
                r->shard, r->shards, m->first + 1, m->first + m->segments, m->run_segments);
}

static void put_excluded(FILE *f, const void *result, size_t model)
{
    const struct result_model *m = model_at(result, model);

    if (result_main(m)->summary.excluded)
        fprintf(f, "%zu of %zu segments are excluded (norms that are not finite, or sum to zero)",
                result_main(m)->summary.excluded, m->segments);
}

static void put_few(FILE *f, const void *result, size_t model)
{
    const struct erf_summary *u = &result_main(model_at(result, model))->summary;
    size_t used = u->segments - u->excluded;

    if (((const struct result *)result)->bootstrap && used < INTERVAL_SEGMENTS)
        fprintf(f, "no intervals: %zu segment%s too few (%d or more have intervals)", used,
                used == 1 ? " is" : "s are", INTERVAL_SEGMENTS);
}

void erf_notes(FILE *f, const struct result *r)
{
    const struct result_model *first = &r->models[0];
    const struct model_notes models = {r, r->model_count, name_of};
    int saturated = 0;

    fprintf(f,
            "target: %s log p(target) with respect to the token embedding rows; target = token %zu "
            "of %zu\n",
            quantity_of(r->attribution), r->length, r->length);
    notes_of_models(f, &models, put_text);
    notes_of_models(f, &models, put_noise);
    notes_of_models(f, &models, put_shard);
    if (first->overlapping)
        fprintf(f, "intervals are too narrow: segments overlap (stride %zu < length %zu)\n",
                first->stride, r->length);
    notes_of_models(f, &models, put_excluded);
    notes_of_models(f, &models, put_few);
    notes_of_models(f, &models, put_completeness);
    for (size_t i = 0; i < r->model_count; i++)
        saturated |= result_main(&r->models[i])->summary.rows[r->main_row].saturated;
    if (saturated)
        fprintf(f,
                ">= %zu: saturated; all tokens are needed, and the field may be longer (a larger "
                "--length may show it)\n",
                r->length - 1);
}
