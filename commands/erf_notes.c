/* Notes below the tables of a result that a reader needs to interpret them. */
#include "commands/erf.h"

#include "commands/screen.h"
#include "run/text.h"

#include <math.h>
#include <string.h>

/* The part of log p - log p(baseline) missing from integrated gradients. */
static void put_completeness(FILE *f, const struct result_model *m)
{
    const struct result_field *field = result_main(m);
    double largest = 0, mean = 0, difference = 0, used = 0;

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
            "%s: completeness: the sum of the attributions differs from log p - log p(baseline) by "
            "%.3g on average, %.3g at most "
            "(mean |log p - log p(baseline)| %.3g)\n",
            m->name, mean / used, largest, difference / used);
}

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

void erf_notes(FILE *f, const struct result *r)
{
    const struct result_model *first = &r->models[0];
    int saturated = 0;

    fprintf(f,
            "target: %s log p(target) with respect to the token embedding rows; target = token %zu "
            "of %zu\n",
            quantity_of(r->attribution), r->length, r->length);
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];

        if (text_describe(f, "",
                          &(struct text_notes){screen_text(m->name), &m->bounds, &m->documents}))
            putc('\n', f);
    }
    for (size_t i = 0; i < r->model_count && r->attribution_samples; i++)
        fprintf(f, "%s: noise of standard deviation %.4g\n", screen_text(r->models[i].name),
                r->models[i].noise);
    for (size_t i = 0; i < r->model_count && r->shards; i++) {
        const struct result_model *m = &r->models[i];

        fprintf(
            f,
            "%s: shard %zu of %zu: segments %zu to %zu of %zu (`reach merge` joins the shards)\n",
            screen_text(m->name), r->shard, r->shards, m->first + 1, m->first + m->segments,
            m->run_segments);
    }
    if (first->overlapping)
        fprintf(f, "intervals are too narrow: segments overlap (stride %zu < length %zu)\n",
                first->stride, r->length);
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];

        saturated |= result_main(m)->summary.rows[r->main_row].saturated;
        if (result_main(m)->summary.excluded)
            fprintf(f,
                    "%s: %zu of %zu segments are excluded (norms that are not finite, or sum to "
                    "zero)\n",
                    screen_text(m->name), result_main(m)->summary.excluded, m->segments);
        if (result_main(m)->completeness)
            put_completeness(f, m);
    }
    if (saturated)
        fprintf(f,
                ">= %zu: saturated; all tokens are needed, and the field may be longer (a larger "
                "--length may show it)\n",
                r->length - 1);
    erf_note_rule(f, r);
}
