/* Finds why a log p is not finite. */
#include "run/ppl/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int score_explain(const double *nll, size_t count, const struct ppl_result *at,
                  const struct ppl_run *r, const struct ppl_model *m, struct error *e)
{
    size_t first = 0, bad = 0, inputs;
    char where[96], layer[96] = "no layer's output is so in the tokens before it";
    struct engine_request o = {.kind = REQUEST_GRADIENT,
                               .batch = 1,
                               .memory = r->options->machine.memory};
    struct engine *g;
    int32_t *copy;
    const int32_t *ids;
    int at_layer;

    for (size_t i = count; i-- > 0;)
        if (!isfinite(nll[i]))
            bad++, first = i;
    if (r->options->protocol == PROTOCOL_LAST) {
        inputs = at->context;
        ids = m->segments.ids + (first + 1) * m->segments.length - inputs - 1;
        snprintf(where, sizeof where, "of segment %zu", first + 1);
    } else {
        const struct ppl_stream *s = ppl_stream_of(m, first);
        size_t target = first - s->target + 1, position = s->position + target;

        inputs = r->options->protocol == PROTOCOL_CACHED ? SCORE_PIECE : at->context;
        inputs = target < inputs ? target : inputs;
        ids = s->ids + target - inputs;
        if (s->row)
            snprintf(where, sizeof where, "token %zu of row %zu", position, s->row);
        else
            snprintf(where, sizeof where, "token %zu", position);
    }
    copy = calloc(inputs + 1, sizeof *copy);
    if (!copy)
        return fail_memory(e, (double)(inputs + 1) * sizeof *copy, "a window");
    score_copy(copy, ids, inputs + 1, &m->text);
    o.positions = (int)inputs;
    g = engine_create(r->kernels, m->decoder, &o, e);
    if (g && engine_first_nonfinite(g, copy, &at_layer, e) == 0 && at_layer <= m->decoder->layers) {
        if (at_layer < 0)
            snprintf(layer, sizeof layer,
                     "the output of the embedding is the first that is not finite");
        else if (at_layer == m->decoder->layers)
            snprintf(layer, sizeof layer,
                     "the output of the head is not finite, all layers before it are");
        else
            snprintf(layer, sizeof layer,
                     "the output of layer %d of %d is the first that is not finite", at_layer + 1,
                     m->decoder->layers);
    }
    engine_close(g);
    free(copy);
    return fail(e,
                "%s: log p of %zu of %zu targets is not finite, the first that %s: %s (expected "
                "finite numbers)",
                m->argument->path, bad, count, where, layer);
}
