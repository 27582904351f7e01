/* A model opened for questions, and its engine, fitted to one length after the other. */
#include "run/explain/parts.h"

#include "run/kernels.h"

#include <math.h>
#include <stdlib.h>

int explainer_open(struct explainer *x, const struct explain_run *r, struct error *e)
{
    const struct explain_options *o = r->options;
    const char *path = r->argument->path;

    *x = (struct explainer){.options = o, .argument = r->argument, .progress = r->progress};
    x->decoder = model_open(path, &r->argument->adapted, o->strict, r->progress, e);
    return !x->decoder ||
                   (!model_take_length(x->decoder, o->train_length) &&
                    models_refuse_length(e) != 0) ||
                   run_override(x->decoder, &o->encoding, e) != 0 ||
                   model_text_open(&x->reading, x->decoder, path, !o->tokens.count, &o->reading,
                                   e) != 0
               ? -1
               : 0;
}

void explainer_close(struct explainer *x)
{
    explain_close_blank(x);
    engine_close(x->engine);
    if (x->kernels)
        x->kernels->close(x->kernels);
    model_text_close(&x->reading);
    decoder_close(x->decoder);
}

int explainer_kernels(struct explainer *x, struct error *e)
{
    const struct explain_options *o = x->options;

    if (x->kernels)
        return 0;
    if (o->attribution == ATTRIBUTION_SMOOTH &&
        !isfinite(x->noise = SMOOTH_NOISE * attribution_embedding_size(x->decoder)))
        return fail_memory(e, (double)x->decoder->embedding_width * 8, "a row of the embedding");
    x->kernels = run_kernels(o->machine.device, o->machine.dtype, x->progress, e);
    return x->kernels ? 0 : -1;
}

/* A block of the batch in progress is computed. */
static void see(void *explainer, double part)
{
    struct explainer *x = explainer;
    double cost = fmin(part * x->cost, x->cost - x->seen);

    x->seen += cost;
    progress_spend(x->progress, cost, x->argument->name);
}

int explainer_fit(struct explainer *x, size_t inputs, size_t outputs, int contrast, size_t segments,
                  struct error *e)
{
    const struct explain_options *o = x->options;
    struct engine_request request = {.kind = REQUEST_GRADIENT,
                                     .positions = (int)inputs,
                                     .memory = o->machine.memory,
                                     /* noise depends on the number of a segment in its batch */
                                     .batch = o->attribution == ATTRIBUTION_SMOOTH,
                                     .segments = segments,
                                     .gradient = {.attribution = o->attribution,
                                                  .noise_seed = o->seed,
                                                  .contrast = contrast,
                                                  .outputs = (int)outputs}};
    char text[MEMORY_PLAN_TEXT];

    if (explainer_kernels(x, e) != 0)
        return -1;
    request.gradient.noise = x->noise;
    run_keep(&request.gradient, &o->machine);
    if (x->engine)
        return engine_reshape(x->engine, &request, e);
    x->engine = engine_create(x->kernels, x->decoder, &request, e);
    if (!x->engine)
        return -1;
    engine_watch(x->engine, see, x);
    progress_message(x->progress, "%s: %s", x->argument->name,
                     memory_plan_text(text, engine_plan(x->engine)));
    return 0;
}
