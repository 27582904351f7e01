/* The tokens of a model as streams that windows never leave. */
#include "run/ppl/ppl.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>

/* Adds the stream of `length` tokens from t->ids[from] on; with a beginning-of-text token, which is copied before it. */
static void add_stream(struct ppl_model *m, size_t from, size_t length, size_t row, size_t position)
{
    size_t begins = (size_t)m->text.begins, i = m->stream_count++;
    struct ppl_stream *s = &m->streams[i], *before = i ? s - 1 : NULL;

    *s = (struct ppl_stream){.ids = m->tokens->ids + from,
                             .length = length + begins,
                             .target = before ? before->target + before->length - 1 : 0,
                             .row = row,
                             .position = position - begins};
    if (begins) {
        int32_t *copy = m->begun + from + i;

        copy[0] = m->text.bos;
        memcpy(copy + 1, m->tokens->ids + from, length * sizeof *copy);
        s->ids = copy;
    }
}

int ppl_streams(struct ppl_model *m, struct error *e)
{
    const struct tokens *t = m->tokens;
    size_t count = t->columns ? t->rows : 1, length = t->columns ? t->columns : t->total, bytes;

    m->streams = calloc(count, sizeof *m->streams);
    if (!m->streams)
        return fail_memory(e, (double)count * sizeof *m->streams, "the texts");
    if (m->text.begins && (size_add(&bytes, t->total, count) != 0 || size_multiply(&bytes, bytes, sizeof *m->begun) != 0 ||
                           !(m->begun = malloc(bytes))))
        return fail_memory(e, (double)(t->total + count) * sizeof *m->begun, "the tokens");
    for (size_t i = 0; i < count; i++)
        add_stream(m, i * length, length, t->columns ? i + 1 : 0, 1);
    return 0;
}

size_t ppl_stream_targets(const struct ppl_model *m)
{
    const struct ppl_stream *last = &m->streams[m->stream_count - 1];

    return last->target + last->length - 1;
}

const struct ppl_stream *ppl_stream_of(const struct ppl_model *m, size_t target)
{
    size_t low = 0, high = m->stream_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (m->streams[middle].target <= target)
            low = middle;
        else
            high = middle;
    }
    return &m->streams[low];
}
