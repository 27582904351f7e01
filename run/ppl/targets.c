/* `reach ppl --per-token`: the NLL of every target at every context. */
#include "run/ppl/ppl.h"

#include "run/ppl/columns.h"

#include <unistd.h>

int ppl_tokens_open(struct ppl_run *r, struct error *e)
{
    const char *path = r->options->per_token;

    if (!path)
        return 0;
    if (!r->options->force && access(path, F_OK) == 0)
        return fail(e, "%s: is there already (expected another --per-token FILE, or --force)", path);
    r->per_token = csv_open(path, &ppl_targets_csv, r->command, NULL, e);
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

        csv_row(r->per_token, &(struct ppl_target_row){m->argument->name, (long long)at->context, (long long)row,
                                                       (long long)position, id, nll[i]});
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
