#include "run/report/run.h"

#include "io/system/atomic.h"
#include "run/status.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_page(const struct report_run *r, struct error *e)
{
    struct atomic_file out;

    if (atomic_open(&out, r->options->path, e) != 0)
        return -1;
    if (r->put(out.stream, r) == 0)
        return atomic_commit(&out, e);
    atomic_abandon(&out);
    return fail(e, "%s: out of memory", r->options->path);
}

/* A page may not overwrite another file. */
static int is_page(const char *path)
{
    size_t length = strlen(path);

    return length > 5 && strcmp(path + length - 5, ".html") == 0;
}

int report_run(struct report_run *r, struct error *e)
{
    const struct report_options *o = r->options;
    int rc = 0;

    if (!is_page(o->path)) {
        fail(e, "-o: \"%s\" is not a page (expected a file whose name ends in .html)", o->path);
        return RUN_USAGE;
    }
    if (!o->force && access(o->path, F_OK) == 0)
        return fail(e, "%s: exists (expected --force to overwrite it, or another file with -o)",
                    o->path);
    if (!(r->drawn_in = folder_scratch("reach-report", e)))
        return -1;
    for (int i = 0; i < o->results.count && rc == 0; i++)
        rc = report_add(r, o->results.item[i], e);
    folder_scratch_remove(r->drawn_in); /* scripts and pictures are now in the page */
    r->drawn_in = NULL;
    if (rc == 0 && r->without_gnuplot)
        progress_message(r->progress, "gnuplot: not found, so the page has no figures (expected "
                                      "gnuplot 5.4 or later on PATH)");
    return rc == 0 ? write_page(r, e) : -1;
}

void report_run_free(struct report_run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct report_source *s = &r->sources[i];

        for (size_t k = 0; k < s->figure_count; k++)
            free(s->figures[k].svg);
        for (size_t m = 0; s->result.models && m < s->result.model_count;
             m++) /* when read, not owned */
            for (size_t k = 0; k < s->result.models[m].field_count; k++)
                erf_summary_free(&s->result.models[m].fields[k].summary);
        result_free(&s->result);
        csv_table_free(&s->attention);
        explanations_free(&s->units);
        if (s->explained)
            explanations_free(s->explained);
        free(s->explained);
        report_close(&s->file);
    }
    free(r->sources);
    r->sources = NULL;
    r->count = 0;
}
