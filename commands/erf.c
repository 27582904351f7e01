/* `reach erf`: the empirical receptive field ([A] section 5.1). */
#include "commands/erf.h"
#include "run/erf/run.h"
#include "run/ranks.h"

#include <stdlib.h>

/* What was found, with the deviations if they were asked for. */
static int show(struct call *c, const struct erf_run *r, struct error *e)
{
    const struct machine_options *machine = &r->options->machine;
    struct deviation *deviations = NULL;
    int rc = c->json ? 0 : erf_print(&r->result, e);

    if (rc == 0 && r->options->check_precision) {
        fflush(stdout);
        if (!(deviations = calloc(r->count, sizeof *deviations)))
            rc = fail_memory(e, (double)r->count * sizeof *deviations, "the check of precision");
        else
            rc = precision_check(deviations, r, e);
        if (rc == 0 && !c->json)
            rc = erf_print_precision(&r->result, deviations, machine, e);
    }
    if (rc == 0 && c->json)
        rc =
            verb_document(c,
                          &(struct erf_shown){&r->result, deviations,
                                              precision_bounds(machine->dtype, machine->keep_bf16)},
                          &r->result, e);
    free(deviations);
    return rc;
}

/* The run itself, and its messages. */
static int run_and_show(struct call *c, struct erf_run *r, struct error *e)
{
    if (erf_run(r, e) != 0 || show(c, r, e) != 0)
        return -1;
    terminal_sum_up(&c->terminal);
    return erf_fail_unread(r, e);
}

int erf_call(struct call *c, struct error *e)
{
    const struct erf_options *o = c->options;
    struct model_argument *models = NULL;
    int rc = EXIT_USAGE;

    if (model_arguments(&models, &o->models, &o->adapters, e) == 0) {
        struct erf_run r = {.options = o,
                            .settings = &c->settings,
                            .command = c->command,
                            .arguments = models,
                            .count = (size_t)o->models.count,
                            .progress = &c->terminal.progress};

        rc = run_available(&o->machine, e) != 0 ||
                     model_arguments_find(models, o->models.count, r.progress, e) != 0
                 ? -1
             : ranks_here()->rank > 0 ? erf_serve(&r, e)
                                      : run_and_show(c, &r, e);
        erf_run_free(&r);
    }
    model_arguments_free(models, o->models.count);
    return rc;
}
