/* `reach ppl --per-token`: the NLL of every target at every context. */
#include "run/ppl/ppl.h"

#include "run/ppl/columns.h"

#include <stdlib.h>
#include <unistd.h>

/* Ids of a model without a tokenizer are bytes, or have no texts. */
static int take_pieces(struct ppl_model *m, struct error *e)
{
    if (model_text_pieces(&m->pieces, &m->text, m->argument->path, m->tokens->ids, m->tokens->total,
                          e) != 0)
        return -1;
    return m->pieces.count || m->decoder->vocabulary != 256 ? 0 : texts_of_bytes(&m->pieces, e);
}

int ppl_tokens_open(struct ppl_run *r, struct error *e)
{
    const char *path = r->options->per_token;
    char *note;

    if (!path)
        return 0;
    if (!r->options->force && access(path, F_OK) == 0)
        return fail(e, "%s: exists (expected another --per-token FILE, or --force)", path);
    note = ppl_note(r);
    if (!note)
        return fail(e, "%s: out of memory", path);
    for (size_t i = 0; i < r->count; i++)
        if (take_pieces(&r->models[i], e) != 0) {
            free(note);
            return -1;
        }
    r->per_token = csv_open(path, &ppl_targets_csv, r->command, *note ? note : NULL, e);
    free(note);
    return r->per_token ? 0 : -1;
}

/* Row (0: a stream) and position, from 1, of target number `i`, and its id. */
static int32_t find_target(size_t *row, size_t *position, const struct ppl_run *r,
                           const struct ppl_model *m, size_t i)
{
    const struct ppl_stream *stream;

    if (r->options->protocol == PROTOCOL_LAST) {
        const struct segments *s = &m->segments;
        size_t columns = m->tokens->columns;

        *row = columns ? (size_t)s->start[i] + 1 : 0;
        *position = columns ? columns
                            : (size_t)s->start[i] + s->length - (size_t)m->text.bounds.begins;
        return s->ids[(i + 1) * s->length - 1];
    }
    stream = ppl_stream_of(m, i);
    *row = stream->row;
    *position = stream->position + i - stream->target + 1;
    return stream->ids[i - stream->target + 1];
}

int ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                   const double *nll, struct error *e)
{
    char *text = NULL;
    size_t size;
    int rc = 0;

    for (size_t i = 0; r->per_token && i < at->perplexity.tokens && rc == 0; i++) {
        size_t row, position;
        int32_t id = find_target(&row, &position, r, m, i);
        const char *piece = texts_spell(&m->pieces, id, &text, &size);

        if (piece)
            csv_row(r->per_token, &(struct ppl_target_row){m->argument->name,
                                                           (long long)at->context, (long long)row,
                                                           (long long)position, id, nll[i], piece});
        else
            rc = fail(e, "%s: out of memory", r->options->per_token);
    }
    free(text);
    return rc;
}

int ppl_tokens_close(struct ppl_run *r, int keep, struct error *e)
{
    struct csv *csv = r->per_token;

    r->per_token = NULL;
    if (csv && !keep)
        csv_abandon(csv);
    return csv && keep ? csv_close(csv, e) : 0;
}
