/* What the sizes of a run follow from: which rows of a segment each block reads and writes (see engine_parts.h). */
#include "model/engine_parts.h"

#include <stdlib.h>

int shape_open(struct shape *s, const struct decoder *d, const struct engine_options *o, struct error *e)
{
    size_t layers = (size_t)d->layers;
    *s = (struct shape){.d = d,
                        .kind = o->attention ? REQUEST_ATTENTION : o->outputs ? REQUEST_SCORE : REQUEST_GRADIENT,
                        .outputs = o->outputs > 0 ? o->outputs : 1,
                        .carry = o->carry,
                        .by_layer = o->by_layer,
                        .attributed = o->attribution != ATTRIBUTION_GRAD};
    s->keys = calloc(layers + 1, sizeof *s->keys);
    s->queries = calloc(layers, sizeof *s->queries);
    if (!s->keys || !s->queries)
        return fail_memory(e, 8.0 * d->layers, "memory plan");
    shape_rows(s, o->positions);
    return 0;
}

void shape_close(struct shape *s)
{
    free(s->keys), free(s->queries);
    s->keys = s->queries = NULL;
}

void shape_rows(struct shape *s, int n)
{
    int layers = s->d->layers, rows = s->outputs < n ? s->outputs : n;
    s->n = n;
    s->keys[layers] = rows;
    for (int l = layers - 1; l >= 0; l--) {
        int window = s->d->blocks[l].score.window;
        s->queries[l] = rows;
        if (!s->carry)
            rows = window && window - 1 < n - rows ? rows + window - 1 : n;
        s->keys[l] = rows;
    }
}

int shape_carry(const struct shape *s, int l)
{
    int before = s->d->blocks[l].score.window - 1;
    return !s->carry ? 0 : s->carry < before ? s->carry : before;
}
