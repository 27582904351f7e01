/* The tokens of a model as streams that no window leaves. */
#include "run/ppl/ppl.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>

/* Adds the stream of `length` tokens from t->ids[from], copied if a token precedes it. */
static void add_stream(struct ppl_model *m, size_t from, size_t length, size_t row, size_t position)
{
    size_t begins = (size_t)m->text.bounds.begins, i = m->stream_count++;
    struct ppl_stream *s = &m->streams[i], *before = i ? s - 1 : NULL;

    *s = (struct ppl_stream){.ids = m->tokens->ids + from,
                             .length = length + begins,
                             .target = before ? before->target + before->length - 1 : 0,
                             .row = row,
                             .position = position - begins};
    if (begins) {
        int32_t *copy = m->begun + from + i;

        copy[0] = m->text.bounds.bos;
        memcpy(copy + 1, m->tokens->ids + from, length * sizeof *copy);
        s->ids = copy;
    }
}

/* The documents that are long enough: adds them, or with `add` 0 only counts them. */
static int take_documents(struct ppl_model *m, size_t needed, int add, struct error *e)
{
    const struct tokens *t = m->tokens;
    struct document d;

    if (t->columns)
        return fail(e,
                    "%s: is 2-D, with one document per row, and cannot be divided at --boundary "
                    "(expected a 1-D stream)",
                    t->name ? t->name : "tokens");
    for (size_t at = 0; document_next(&d, &at, t, m->text.bounds.boundary);)
        if (!add)
            m->documents.used += (size_t)documents_add(&m->documents, &d, needed);
        else if (d.count >= needed)
            add_stream(m, d.first, d.count, 0, d.first + 1);
    return m->documents.used ? 0
                             : fail(e,
                                    "%s: no document is long enough: the longest of %zu has %zu "
                                    "tokens (expected at least %zu for one window)",
                                    t->name ? t->name : "tokens", m->documents.count,
                                    m->documents.longest, needed);
}

int ppl_streams(struct ppl_model *m, size_t needed, struct error *e)
{
    const struct tokens *t = m->tokens;
    size_t count = t->columns ? t->rows : 1, length = t->columns ? t->columns : t->total, bytes;

    if (tokens_divided(t, m->text.bounds.boundary)) {
        if (take_documents(m, needed, 0, e) != 0)
            return -1;
        count = m->documents.used;
    }
    m->streams = calloc(count, sizeof *m->streams);
    if (!m->streams)
        return fail_memory(e, (double)count * sizeof *m->streams, "the texts");
    if (m->text.bounds.begins &&
        (size_add(&bytes, t->total, count) != 0 ||
         size_multiply(&bytes, bytes, sizeof *m->begun) != 0 || !(m->begun = malloc(bytes))))
        return fail_memory(e, (double)(t->total + count) * sizeof *m->begun, "the tokens");
    if (tokens_divided(t, m->text.bounds.boundary))
        return take_documents(m, needed, 1, e);
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
