/* `reach ppl`: perplexity by four protocols ([A] section 3.4 and appendix B; [B] "Sliding window
 * attention"). */
#include "commands/ppl.h"

#include <stdlib.h>

int ppl_call(struct call *c, struct error *e)
{
    const struct ppl_options *o = c->options;
    struct ppl_run r = {.options = o,
                        .command = c->command,
                        .progress = &c->terminal.progress,
                        .count = (size_t)o->models.count};
    int rc = EXIT_USAGE;

    if (model_arguments(&r.arguments, &o->models, &o->adapters, e) == 0)
        rc = run_available(&o->machine, e) == 0 &&
                     model_arguments_find(r.arguments, o->models.count, r.progress, e) == 0 &&
                     ppl_run(&r, e) == 0
                 ? (c->json ? verb_document(c, &r, &r, e) : ppl_print(&r, e))
                 : -1;
    ppl_run_free(&r);
    model_arguments_free(r.arguments, o->models.count);
    return rc;
}
