#include "run/explain/explain.h"

#include "run/results.h"

int explain_run(struct explain_run *r, struct error *e)
{
    const struct explain_options *o = r->options;
    struct results place = {.lock = -1};
    int rc;

    if (o->folder && results_open(&place, o->folder, &explain_layout, o->force, e) != 0)
        return -1;
    rc = (r->argument ? explain_measure(r, e) : explain_read(r, e)) != 0 ||
                 explain_reduce(&r->found, e) != 0 || (o->folder && explain_write(r, e) != 0)
             ? -1
             : 0;
    if (rc == 0 && o->folder)
        progress_message(r->progress, "results are in %s", o->folder);
    results_close(&place);
    return rc;
}
