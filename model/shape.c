/* The shape of a request: the rows that each block reads and writes (see engine_parts.h). */
#include "model/engine_parts.h"
#include "model/score.h"

#include <stdlib.h>

/* Inputs visible to one call of a stream: its own, and earlier ones that any block attends to. */
static int stream_inputs(const struct shape *s)
{
    int most = 0;
    for (int l = 0; l < s->d->layers; l++)
        most = shape_carry(s, l) > most ? shape_carry(s, l) : most;
    return s->outputs + most;
}

static int check_inputs(const struct decoder *d, int n, struct error *e)
{
    if (n < 1)
        return fail(e, "a segment needs at least 2 tokens: one input and the target");
    char text[DECODER_LIMIT_TEXT];
    if (decoder_limit(d) && n > decoder_limit(d))
        return fail(e,
                    "%s: %s, and a segment of %d tokens has %d (the longest --length that works "
                    "is %d)",
                    d->path, decoder_limit_text(text, d), n + 1, n, decoder_limit(d) + 1);
    return 0;
}

int shape_open(struct shape *s, const struct decoder *d, const struct engine_request *request,
               struct error *e)
{
    size_t layers = (size_t)d->layers;
    int n = request->positions;
    *s = (struct shape){.d = d, .kind = request->kind};
    switch (request->kind) {
    case REQUEST_GRADIENT:
        s->outputs = request->gradient.outputs > 0 ? request->gradient.outputs : 1;
        s->by_layer = request->gradient.by_layer;
        s->attributed = request->gradient.attribution != ATTRIBUTION_GRAD;
        s->contrast = request->gradient.contrast;
        s->short_inputs = request->gradient.keep == KEEP_BF16;
        if (s->outputs > 1 && (s->attributed || s->contrast || s->outputs > n))
            return fail(e,
                        "a sum of %d targets after %d inputs%s (expected as many inputs, the plain "
                        "gradient and no contrast)",
                        s->outputs, n, s->contrast ? ", with a contrast" : "");
        break;
    case REQUEST_SCORE:
        s->outputs = request->score.outputs;
        s->carry = request->score.carry;
        s->retain = request->score.retain;
        s->inputs = s->outputs;
        if (s->outputs < 1)
            return fail(e, "%d outputs to score (expected 1 or more)", s->outputs);
        if (s->retain && !score_retains(d))
            return fail(e,
                        "%s: its scores depend on the length of the text, so that of a part of "
                        "it nothing can be kept",
                        d->path);
        if (s->retain)
            break;
        if (s->carry && score_carry_check(d, e))
            return -1;
        n = s->carry ? stream_inputs(s) : n;
        break;
    case REQUEST_ATTENTION: s->outputs = 1; break;
    }
    s->keys = calloc(layers + 1, sizeof *s->keys);
    s->queries = calloc(layers, sizeof *s->queries);
    if (!s->keys || !s->queries)
        return fail_memory(e, 8.0 * d->layers, "memory plan");
    if (check_inputs(d, n, e))
        return -1;
    shape_rows(s, n);
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
    if (s->kind == REQUEST_ATTENTION)
        rows = n - n / 2; /* the second half, including the middle one */
    s->n = n;
    s->carry = s->retain ? n : s->carry;
    s->keys[layers] = rows;
    for (int l = 0; l < layers; l++)
        s->keys[l] = 0; /* so far: what the blocks above need of its keys */
    for (int l = layers - 1; l >= 0; l--) {
        const struct block *b = &s->d->blocks[l];
        int *of = &s->keys[block_source(s->d, l)], span = rows, window = block_window(b);
        s->queries[l] = rows;
        if (!block_mixes(b))
            span = rows;
        else if (s->retain) /* the head needs fewer than the blocks */
            span = s->inputs < n ? s->inputs : n;
        else if (!s->carry) /* only the last n include the first keys */
            span = window && !b->score.keep && window - 1 < n - rows
                       ? rows + window - 1
                       : n - attention_chunk_begin(n - rows, b->score.chunk);
        *of = span > *of ? span : *of;
        if (b->source)
            s->keys[l] = rows;
        rows = s->keys[l];
    }
}

int shape_rotates(const struct decoder *d, int l)
{
    return d->position == POSITION_ROTARY && d->blocks[l].score.rotary != ROTARY_NONE;
}

int shape_span(const struct shape *s, int l)
{
    return s->keys[block_source(s->d, l)];
}

int shape_is_source(const struct decoder *d, int l)
{
    for (int above = l + 1; above < d->layers; above++)
        if (d->blocks[above].source == l + 1)
            return 1;
    return 0;
}

int shape_carry(const struct shape *s, int l)
{
    if (s->d->blocks[l].source || !block_mixes(&s->d->blocks[l]))
        return 0;
    int before = block_window(&s->d->blocks[l]) - 1;
    return !s->carry ? 0 : s->retain || s->carry < before ? s->carry : before;
}
