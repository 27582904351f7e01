#include "run/trf/trf.h"

#include "run/results.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum run_status trf_run(struct trf_run *r, struct error *e)
{
    const struct trf_options *o = r->options;
    struct results results = {.lock = -1};
    enum run_status status;

    status = trf_read(r, e);
    if (status == RUN_DONE && o->certificate && !o->force && access(o->certificate, F_OK) == 0) {
        fail(e, "%s: exists (expected another --certificate FILE, or --force)", o->certificate);
        return RUN_FAILED;
    }
    if (status == RUN_DONE && o->folder &&
        results_open(&results, o->folder, &trf_layout, o->force, e) != 0)
        return RUN_FAILED;
    if (status == RUN_DONE && o->certificate && o->folder &&
        results_holds(o->folder, &trf_layout, o->certificate)) {
        fail(e, "--certificate %s: is a file of the results in %s (expected another FILE)",
             o->certificate, o->folder);
        status = RUN_FAILED;
    }
    if (status == RUN_DONE)
        status = trf_analyze(r, e);
    if (status == RUN_DONE &&
        (trf_rank(r, e) != 0 || trf_shares(r, e) != 0 || trf_rotary(r, e) != 0))
        status = RUN_FAILED;
    if (status == RUN_DONE && o->certificate && trf_write_certificate(r, e) != 0)
        status = RUN_FAILED;
    if (status == RUN_DONE && (o->folder || o->shown.json) && trf_find_curves(r, e) != 0)
        status = RUN_FAILED;
    if (status == RUN_DONE && o->folder &&
        results_drawn(trf_write(r, e), o->folder, o->formats, NULL, r->progress, e) != 0)
        status = RUN_FAILED;
    results_close(&results);
    return status;
}

int trf_of_decoder(struct trf_run *r, const struct decoder *d, struct progress *p, struct error *e)
{
    static const struct trf_options options = {.epsilons = {"0.01"},
                                               .epsilon_count = 1,
                                               .layers = 1};

    *r = (struct trf_run){.options = &options,
                          .progress = p,
                          .count = 1,
                          .arguments = calloc(1, sizeof *r->arguments)};
    if (!r->arguments || !(r->arguments->label = strdup(d->path)))
        return fail(e, "%s: out of memory", d->path);
    r->arguments->is_model = 1;
    if (biases_of_decoder(&r->arguments->set, d, e) != 0)
        return -1;
    return r->arguments->set.uses_length || trf_analyze(r, e) == RUN_DONE ? 0 : -1;
}

void trf_run_free(struct trf_run *r)
{
    for (int i = r->head_count - 1; i >= 0; i--) { /* a mean before its heads */
        int values = (1 + r->options->length_count) * r->depths * r->options->epsilon_count;

        for (int k = 0; r->heads[i].values && k < values; k++)
            series_count_free(&r->heads[i].values[k].count);
        free(r->heads[i].values);
        series_free(r->heads[i].series);
    }
    for (int i = 0; i < r->curve_count; i++)
        free(r->curves[i].tokens);
    free(r->curves);
    free(r->heads);
    free(r->places);
    free(r->shares);
    free(r->rotaries);
    formula_arguments_free(r->arguments, r->count);
    r->heads = NULL;
    r->places = NULL;
    r->shares = NULL;
    r->rotaries = NULL;
    r->curves = NULL;
    r->curve_count = 0;
    r->arguments = NULL;
}
