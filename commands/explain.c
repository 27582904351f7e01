/* `reach explain`: which tokens a prediction depended on. */
#include "commands/explain.h"

#include <stdlib.h>

static int show(struct call *c, const struct explain_run *r, struct error *e)
{
    return c->json ? verb_document(c, r, r, e) : explain_print(r, e);
}

static int call(struct call *c, struct explain_run *r, struct error *e)
{
    const struct explain_options *o = r->options;

    r->progress->unit = "targets";
    if ((o->segment ? 0 : run_available(&o->machine, e)) != 0 || explain_run(r, e) != 0 ||
        show(c, r, e) != 0)
        return -1;
    if (o->prompts)
        terminal_sum_up(&c->terminal);
    return 0;
}

int explain_call(struct call *c, struct error *e)
{
    const struct explain_options *o = c->options;
    struct explain_run r = {.options = o, .command = c->command, .progress = &c->terminal.progress};
    struct text_list models = {(const char *[]){o->source}, 1};
    struct model_argument *model = NULL;
    int rc;

    if (o->segment) {
        rc = call(c, &r, e);
    } else if (model_arguments(&model, &models, &o->adapters, e) != 0) {
        rc = EXIT_USAGE;
    } else {
        r.argument = model;
        rc = model_arguments_find(model, 1, r.progress, e) != 0 ? -1 : call(c, &r, e);
    }
    explain_run_free(&r);
    model_arguments_free(model, 1);
    return rc;
}
