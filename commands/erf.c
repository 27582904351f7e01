/* `reach erf`: the empirical receptive field ([A] section 5.1). */
#include "commands/erf.h"
#include "run/erf/run.h"
#include "run/ranks.h"

#include <stdlib.h>

static int check_precision(const struct erf_run *r, struct error *e)
{
    struct deviation *deviations = calloc(r->count, sizeof *deviations);
    int rc = -1;

    fflush(stdout);
    if (!deviations)
        fail_memory(e, (double)r->count * sizeof *deviations, "the check of precision");
    else if (precision_check(deviations, r, e) == 0)
        rc = erf_print_precision(&r->result, deviations, &r->options->machine, e);
    free(deviations);
    return rc;
}

/* The run itself, and its messages. */
static int run_and_print(struct call *c, struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;

    if (erf_run(r, e) != 0 || erf_print(&r->result, e) != 0 ||
        (o->check_precision && check_precision(r, e) != 0))
        return -1;
    terminal_sum_up(&c->terminal);
    return 0;
}

int erf_call(struct call *c, struct error *e)
{
    const struct erf_options *o = c->options;
    struct model_argument *models = NULL;
    int rc = EXIT_USAGE;

    if (model_arguments(&models, &o->models, o->adapter, e) == 0) {
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
                                      : run_and_print(c, &r, e);
        erf_run_free(&r);
    }
    model_arguments_free(models, o->models.count);
    return rc;
}
