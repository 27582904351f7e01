/* `reach erf`: the empirical receptive field ([A] section 5.1). */
#include "commands/erf.h"

#include <stdlib.h>
#include <unistd.h>

/* Measures and writes in a folder that exists and is locked. */
static int run_in_folder(struct call *c, struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    char *journal = erf_path(o->folder, "erf.part", e);
    int rc = -1;

    if (!journal)
        goto end;
    /* an unfinished run may have been killed between two of its results */
    if (!o->force && !(o->resume && access(journal, F_OK) == 0) && erf_results_exist(o->folder, e))
        goto end;
    if (erf_measure(r, journal, e) != 0 || erf_unchanged(r, e) != 0 || call_drawn(c, erf_write(r, o->folder, e), e) != 0)
        goto end;
    erf_journal_remove(journal);
    progress_message(r->progress, "results are in %s", o->folder);
    rc = erf_print(r, e);
    if (rc == 0 && o->check_precision) {
        fflush(stdout);
        rc = erf_check_precision(r, e);
    }
end:
    free(journal);
    return rc;
}

int erf_call(struct call *c, struct error *e)
{
    const struct erf_options *o = c->options;
    struct erf_run r = {.options = o, .progress = &c->terminal.progress, .command = c->command, .count = (size_t)o->models.count};
    int rc = EXIT_USAGE;

    if (model_arguments(&r.arguments, &o->models, e) == 0)
        rc = run_available(&o->machine, e) == 0 && erf_prepare(&r, e) == 0 && call_lock(c, e) == 0 ? run_in_folder(c, &r, e) : -1;
    erf_run_free(&r);
    free(r.arguments);
    return rc;
}
