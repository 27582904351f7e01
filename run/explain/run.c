#include "run/explain/parts.h"

#include "run/results.h"

/* What named tokens were taken to mean: of a question, from its first explanation. */
static int tell_named(const struct question *q, const struct explanation *x, struct progress *p,
                      struct error *e)
{
    if (q->target.written && !q->predicted)
        progress_message(p, "--target %s takes the place of token %zu of the text",
                         q->target.written, x->count + 1);
    return named_tell(&q->target, x, x->target.id, p, e) != 0 ||
                   named_tell(&q->against, x, x->against.id, p, e) != 0
               ? -1
               : 0;
}

/* The same for many prompts: how many of them. */
static void tell_prompts(const struct questions *q, struct progress *p)
{
    size_t chosen = 0;

    for (size_t i = 0; i < q->count; i++)
        chosen += q->item[i].target.readings > 1 || q->item[i].against.readings > 1;
    if (chosen)
        progress_message(p,
                         "%zu of %zu lines name a token that may mean several; the likelier one is "
                         "taken, and explain.jsonl has its id",
                         chosen, q->count);
}

static int tell(const struct explain_run *r, const struct questions *q, struct error *e)
{
    int rc = 0;

    if (r->options->prompts)
        tell_prompts(q, r->progress);
    for (size_t i = 0, k = 0; i < q->count && rc == 0 && !r->options->prompts;
         k += q->item[i++].targets)
        rc = tell_named(&q->item[i], &r->found.item[k], r->progress, e);
    return rc;
}

/* Shares, ranks and lines, and the units that are shown. */
static int reduce(struct explain_run *r, struct error *e)
{
    enum explain_by by = explain_unit_of(r->options);

    for (size_t i = 0; i < r->found.count; i++)
        if (explain_reduce(&r->found.item[i], e) != 0)
            return -1;
    return by != BY_TOKEN ? explain_join(&r->joined, &r->found, by, e) : 0;
}

/* With a model. */
static int measure(struct explain_run *r, struct error *e)
{
    struct explainer x;
    struct questions q = {0};
    int rc = explainer_open(&x, r, e) != 0 || questions_read(&q, &x, e) != 0 ? -1 : 0;

    if (rc == 0 && (r->options->prompt || r->options->prompts))
        explain_tell_chat(&x, &q);
    if (rc == 0)
        rc = explain_answer(&x, &q, &r->found, e) != 0 || tell(r, &q, e) != 0 || reduce(r, e) != 0
                 ? -1
                 : 0;
    if (rc == 0 && r->options->leave_out != BY_TOKEN)
        rc = explain_leave_out(r, &x, &q, e);
    questions_free(&q);
    explainer_close(&x);
    return rc;
}

int explain_run(struct explain_run *r, struct error *e)
{
    const struct explain_options *o = r->options;
    struct results place = {.lock = -1};
    int rc;

    if (o->folder && results_open(&place, o->folder, &explain_layout, o->force, e) != 0)
        return -1;
    if (r->argument)
        rc = measure(r, e);
    else
        rc = explain_read(r, e) != 0 || reduce(r, e) != 0 ? -1 : 0;
    if (rc == 0 && o->folder)
        rc = explain_write(r, e);
    if (rc == 0 && o->folder)
        progress_message(r->progress, "results are in %s", o->folder);
    results_close(&place);
    return rc;
}

const struct explanations *explain_shown(const struct explain_run *r)
{
    return explain_unit_of(r->options) == BY_TOKEN ? &r->found : &r->joined;
}

void explain_run_free(struct explain_run *r)
{
    explanations_free(&r->joined);
    explanations_free(&r->found);
}
