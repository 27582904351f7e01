/* How long a run will take, before it begins. */
#include "run/erf/parts.h"

#include "model/engine.h"
#include "run/erf/measurements.h"
#include "run/ranks.h"

/* Work that takes seconds on any machine is not worth the second that measuring rates takes. */
static const double worth = 3e12;
enum { FEW = 16, LONG = 600 };

/* Seconds for the segments of a model that are not measured yet, but at most `most` of them; 0: a
 * rate could not be measured. */
static double seconds_of(const struct erf_run *r, const struct erf_model *m,
                         const struct engine_rates *rates, size_t most)
{
    double total = 0, done = 0, seconds;

    measurements_costs(r, m, &total, &done);
    seconds = (total - done) / rates->products;
    for (size_t t = 0; t < r->target_count; t++) {
        size_t left = 0;

        for (size_t k = 0; k < m->segments.count; k++)
            left += !erf_fields(m, t)->status[k];
        seconds += (double)(left < most ? left : most) *
                   engine_seconds(rates, m->cost[t], m->attention_cost[t], m->recurrence_cost[t]);
    }
    return seconds;
}

void erf_foresee(const struct erf_run *r, double cost)
{
    char all[DURATION_TEXT], few[DURATION_TEXT];
    double seconds = 0, least = 0;

    if (cost < worth)
        return;
    for (size_t i = 0; i < r->count; i++) {
        struct engine_rates rates;
        struct error ignored; /* a run that fails says so itself */

        if (engine_rates(&rates, r->kernels, r->models[i].decoder, (int)r->positions, &ignored) !=
            0)
            return;
        seconds += seconds_of(r, &r->models[i], &rates, (size_t)-1);
        least += seconds_of(r, &r->models[i], &rates, FEW);
    }
    seconds /= ranks_here()->count;
    least /= ranks_here()->count;
    if (seconds > LONG && least < seconds / 2)
        progress_message(r->progress, "this takes about %s (a first look: --segments %d, about %s)",
                         duration_text(all, seconds), FEW, duration_text(few, least));
    else
        progress_message(r->progress, "this takes about %s", duration_text(all, seconds));
}
