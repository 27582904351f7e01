/* `reach ppl --per-token`: the NLL of every target at every context. */
#include "run/ppl/ppl.h"

#include "run/ppl/columns.h"

#include <stdlib.h>
#include <unistd.h>

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
    r->per_token = csv_open(path, &ppl_targets_csv, r->command, *note ? note : NULL, e);
    free(note);
    return r->per_token ? 0 : -1;
}

struct ppl_target ppl_target(const struct ppl_run *r, const struct ppl_model *m, size_t i)
{
    const struct ppl_stream *stream;

    if (r->options->protocol == PROTOCOL_LAST) {
        const struct segments *s = &m->segments;
        size_t columns = m->tokens->columns;

        return (struct ppl_target){.row = columns ? (size_t)s->start[i] + 1 : 0,
                                   .position = columns ? columns
                                                       : (size_t)s->start[i] + s->length -
                                                             (size_t)m->text.bounds.begins,
                                   .id = &s->ids[(i + 1) * s->length - 1]};
    }
    stream = ppl_stream_of(m, i);
    return (struct ppl_target){.row = stream->row,
                               .position = stream->position + i - stream->target + 1,
                               .id = &stream->ids[i - stream->target + 1]};
}

int ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                   const double *nll, struct error *e)
{
    char *text = NULL;
    size_t size;
    int rc = 0;

    for (size_t i = 0; r->per_token && i < at->perplexity.tokens && rc == 0; i++) {
        struct ppl_target t = ppl_target(r, m, i);
        const char *piece = texts_spell(&m->pieces, *t.id, &text, &size);

        if (piece)
            csv_row(r->per_token,
                    &(struct ppl_target_row){m->argument->name, (long long)at->context,
                                             (long long)t.row, (long long)t.position, *t.id, nll[i],
                                             piece});
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
