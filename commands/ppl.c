/* `reach ppl`: perplexity by four protocols ([A] section 3.4 and appendix B; [B] "Sliding window attention"). */
#include "commands/ppl.h"

#include <stdlib.h>

/* Measures and writes; the folder is checked before the work. */
static int run(struct call *c, struct ppl_run *r, struct error *e)
{
    const struct ppl_options *o = r->options;
    int rc;

    if (ppl_prepare(r, e) != 0 || ppl_tokens_open(r, e) != 0)
        return -1;
    rc = call_lock(c, e);
    if (rc == 0)
        rc = ppl_measure(r, e);
    if (ppl_tokens_close(r, rc == 0, e) != 0)
        rc = -1;
    if (rc == 0 && o->folder) {
        rc = call_drawn(c, ppl_write(r, o->folder, e), e);
        if (rc == 0)
            progress_message(r->progress, "results are in %s", o->folder);
    }
    return rc == 0 ? ppl_print(r, e) : -1;
}

int ppl_call(struct call *c, struct error *e)
{
    const struct ppl_options *o = c->options;
    struct ppl_run r = {.options = o, .command = c->command, .progress = &c->terminal.progress, .count = (size_t)o->models.count};
    int rc = EXIT_USAGE;

    if (model_arguments(&r.arguments, &o->models, e) == 0)
        rc = run_available(&o->machine, e) == 0 ? run(c, &r, e) : -1;
    ppl_run_free(&r);
    free(r.arguments);
    return rc;
}
