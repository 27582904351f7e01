#include "run/ppl/ppl.h"

#include "run/results.h"

#include <stdlib.h>

int ppl_run(struct ppl_run *r, struct error *e)
{
    const struct ppl_options *o = r->options;
    struct results results = {.lock = -1};
    int rc;

    if (o->folder && o->per_token && results_holds(o->folder, &ppl_layout, o->per_token))
        return fail(e, "--per-token %s: is a file of the results in %s (expected another FILE)",
                    o->per_token, o->folder);
    if (ppl_prepare(r, e) != 0 || ppl_count_units(r, e) != 0 || ppl_tokens_open(r, e) != 0)
        return -1;
    rc = o->folder ? results_open(&results, o->folder, &ppl_layout, o->force, e) : 0;
    if (rc == 0)
        rc = ppl_measure(r, e);
    if (ppl_tokens_close(r, rc == 0, e) != 0)
        rc = -1;
    if (rc == 0 && o->folder) {
        rc = results_drawn(ppl_write(r, o->folder, e), o->folder, o->formats, NULL, r->progress, e);
        if (rc == 0)
            progress_message(r->progress, "results are in %s", o->folder);
    }
    results_close(&results);
    return rc;
}

void ppl_run_free(struct ppl_run *r)
{
    for (size_t i = 0; r->models && i < r->count; i++) {
        segments_free(&r->models[i].segments);
        free(r->models[i].streams);
        free(r->models[i].begun);
        free(r->models[i].nll);
        texts_free(&r->models[i].pieces);
        model_text_close(&r->models[i].text);
        free(r->models[i].results);
        decoder_close(r->models[i].decoder);
    }
    free(r->models);
    run_text_free(&r->text);
    if (r->kernels)
        r->kernels->close(r->kernels);
}
