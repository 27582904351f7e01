#include "run/erf/run.h"

#include "io/results/journal.h"
#include "io/system/atomic.h"
#include "plots/figure.h"
#include "run/erf/deal.h"
#include "run/erf/measurements.h"
#include "run/erf/parts.h"
#include "run/erf/reduce.h"
#include "run/erf/write.h"
#include "run/interrupt.h"
#include "run/kernels.h"
#include "run/ranks.h"
#include "run/results.h"

#include <stdlib.h>
#include <unistd.h>

int erf_open_kernels(struct erf_run *r, struct error *e)
{
    char device[32];

    r->kernels = run_kernels(ranks_device(device, r->options->machine.device,
                                          r->options->machine.dtype),
                             r->options->machine.dtype, r->progress, e);
    if (!r->kernels)
        return -1;
    progress_tell(r->progress, "kernels",
                  (const struct progress_fact[]){{"kernels", r->kernels->name, 0},
                                                 {"dtype", r->options->machine.dtype, 0},
                                                 {0}});
    for (size_t i = 0; i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        if (erf_engine_estimate(r, m, e) != 0 || measurements_estimate(r, m, e) != 0 ||
            (!*m->digest && model_digest(m->digest, m->decoder, e) != 0))
            return -1;
    }
    return 0;
}

/* Measures everything that the journal at `path` lacks, and reduces it. */
static int measure(struct erf_run *r, const char *path, struct error *e)
{
    struct error closing, *ended;
    size_t total, done;
    double cost, spent;
    int rc;

    if (erf_open_kernels(r, e) != 0 || erf_identify(r, e) != 0 || erf_journal_open(r, path, e) != 0)
        return -1;
    erf_count_work(r, &total, &done);
    if (r->target_count > 1 ||
        measurements_asked(r->options)) /* more than one model run per segment */
        r->progress->unit = "runs";
    if (done)
        progress_message(r->progress, "resuming: %zu of %zu %s are in %s", done, total,
                         r->progress->unit, path);
    progress_start(r->progress, total, done);
    erf_count_costs(r, &cost, &spent);
    progress_costs(r->progress, cost, spent);
    erf_foresee(r, cost - spent);
    interrupt_watch();
    rc = deal_open(r, e);
    if (rc == 0)
        rc = erf_measure(r, e);
    ended = rc == 0 ? e : &closing;
    if (deal_close(r, rc != 0, ended) != 0 && rc == 0)
        rc = -1;
    progress_end(r->progress);
    erf_count_work(r, &total, &done);
    if (rc == -1 && interrupt_wanted())
        fail(e, "%s: interrupted; %zu of %zu %s are kept (continue with --resume)", path, done,
             total, r->progress->unit);
    if (rc == ERF_UNUSABLE || done == 0) /* nothing to resume */
        erf_journal_remove(path);
    if (journal_close(r->journal, rc == 0 ? e : &closing) != 0 && rc == 0)
        rc = -1;
    r->journal = NULL;
    return rc == 0 ? 0 : -1;
}

/* Measures and writes in a folder that exists and is locked. */
static int run_in_folder(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    char *journal = results_path(o->folder, "erf.part", e),
         *whole = journal ? results_path(o->folder, "erf.h5", e) : NULL;
    int rc = -1, is_begun, finished;

    if (!whole)
        goto end;
    /* an unfinished run may have been killed between two files of its result */
    is_begun = o->resume && access(journal, F_OK) == 0;
    finished = o->resume && !is_begun && access(whole, F_OK) == 0 ? erf_finished(r, whole, e) : 0;
    if (finished) {
        rc = finished == 1 ? 0 : -1;
        goto end;
    }
    if (!o->force && !is_begun && erf_results_exist(o->folder, e))
        goto end;
    if (measure(r, journal, e) != 0 || erf_unchanged(r, e) != 0)
        goto end;
    if (erf_write(&r->result, o->folder, o->formats, r->progress, e) != 0)
        goto end;
    erf_journal_remove(journal);
    progress_message(r->progress, "results are in %s", o->folder);
    rc = 0;
end:
    free(whole);
    free(journal);
    return rc;
}

int erf_run(struct erf_run *r, struct error *e)
{
    struct results place;
    int rc;

    if (erf_prepare(r, e) != 0 || results_open(&place, r->options->folder, NULL, 1, e) != 0)
        return -1;
    rc = run_in_folder(r, e);
    results_close(&place);
    return rc;
}

void erf_run_free(struct erf_run *r)
{
    for (size_t i = 0; r->models && i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        segments_free(&m->segments);
        model_text_close(&m->text);
        decoder_close(m->decoder);
        measurements_close(m);
    }
    free(r->models);
    free(r->unread);
    result_free(&r->result);
    if (r->kernels)
        r->kernels->close(r->kernels);
}
