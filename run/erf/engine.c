/* The engines that measure gradients. */
#include "run/erf/parts.h"

#include "model/engine.h"
#include "run/kernels.h"
#include "run/ranks.h"

static struct engine_request request_of(const struct erf_run *r, const struct erf_model *m,
                                        size_t length)
{
    struct engine_request request = {.kind = REQUEST_GRADIENT,
                                     .positions = (int)(length - 1),
                                     .memory = ranks_memory(r->options->machine.memory),
                                     .segments = m->segments.count,
                                     .gradient = {.by_layer = m->layer_count > 1,
                                                  .attribution = r->options->attribution,
                                                  .noise = m->out->noise,
                                                  .noise_seed = r->options->seed}};

    run_keep(&request.gradient, &r->options->machine);
    return request;
}

struct engine *erf_engine_open(const struct erf_run *r, const struct erf_model *m, size_t length,
                               struct error *e)
{
    struct engine_request request = request_of(r, m, length);

    return engine_create(r->kernels, m->decoder, &request, e);
}

struct engine *erf_oracle_open(struct kernels *oracle, const struct erf_run *r,
                               const struct erf_model *m, struct error *e)
{
    struct engine_request request = request_of(r, m, r->positions + 1);

    request.batch = 1;
    request.gradient.by_layer = 0;
    request.gradient.keep = KEEP_AUTO; /* as computed */
    return engine_create(oracle, m->decoder, &request, e);
}

int erf_engine_estimate(const struct erf_run *r, struct erf_model *m, struct error *e)
{
    for (size_t t = 0; t < r->target_count; t++) {
        struct engine_request request = request_of(r, m, erf_fields(m, t)->target);
        struct memory_plan plan;

        if (engine_estimate(&plan, r->kernels, m->decoder, &request, e) != 0)
            return -1;
        m->cost[t] = plan.flops;
        m->attention_cost[t] = plan.attention_flops;
        m->recurrence_cost[t] = plan.recurrence_flops;
    }
    return 0;
}
