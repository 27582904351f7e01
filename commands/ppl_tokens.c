/* `reach ppl --per-token`: the NLL of every target at every context. */
#include "commands/ppl.h"

#include "io/csv.h"
#include "version.h"

#include <stdlib.h>
#include <unistd.h>

int ppl_tokens_open(struct ppl_run *r, struct error *e)
{
    const char *path = r->options->per_token;
    char *command;

    if (!path)
        return 0;
    if (!r->options->force && access(path, F_OK) == 0)
        return fail(e, "%s: is there already (expected another --per-token FILE, or --force)", path);
    if (asprintf(&command, "command: %s", r->command) < 0)
        return fail(e, "%s: out of memory", path);
    const char *comments[] = {"reach " REACH_VERSION, command,
                              "units: context (inputs) in tokens; row: of a 2-D token file, from 1, empty for a stream; "
                              "position: of the target in its stream or row, from 1; id: the target; nll: -log p of it in nats",
                              NULL};
    r->per_token = csv_create(path, comments, "model,context,row,position,id,nll", e);
    free(command);
    return r->per_token ? 0 : -1;
}

/* Row (0: a stream) and position, from 1, of target number `i`, and its id. */
static int32_t find_target(size_t *row, size_t *position, const struct ppl_run *r, const struct ppl_model *m, size_t i)
{
    size_t length = m->tokens->columns ? m->tokens->columns : m->tokens->total;

    if (r->options->protocol == PROTOCOL_LAST) {
        const struct segments *s = &m->segments;

        *row = m->tokens->columns ? (size_t)s->start[i] + 1 : 0;
        *position = m->tokens->columns ? length : (size_t)s->start[i] + s->length;
        return s->ids[(i + 1) * s->length - 1];
    }
    *row = m->tokens->columns ? i / (length - 1) + 1 : 0;
    *position = i % (length - 1) + 2;
    return m->tokens->ids[i / (length - 1) * length + *position - 1];
}

void ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at, const double *nll)
{
    for (size_t i = 0; r->per_token && i < at->perplexity.tokens; i++) {
        size_t row, position;
        int32_t id = find_target(&row, &position, r, m, i);

        csv_text(r->per_token, m->argument->name);
        csv_whole(r->per_token, (long long)at->context);
        if (row)
            csv_whole(r->per_token, (long long)row);
        else
            csv_empty(r->per_token);
        csv_whole(r->per_token, (long long)position);
        csv_whole(r->per_token, id);
        csv_real(r->per_token, nll[i]);
        csv_end_row(r->per_token);
    }
}

int ppl_tokens_close(struct ppl_run *r, int keep, struct error *e)
{
    struct csv *csv = r->per_token;

    r->per_token = NULL;
    if (csv && !keep)
        csv_abandon(csv);
    return csv && keep ? csv_close(csv, e) : 0;
}
