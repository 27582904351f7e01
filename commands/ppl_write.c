/* Results of `reach ppl` on disk: ppl.csv and the figure. */
#include "commands/ppl.h"

#include "run/results.h"
#include "io/csv.h"
#include "plots/ppl.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

static void real_or_empty(struct csv *csv, double value)
{
    if (isnan(value))
        csv_empty(csv);
    else
        csv_real(csv, value);
}

static void whole_or_empty(struct csv *csv, size_t value)
{
    if (value)
        csv_whole(csv, (long long)value);
    else
        csv_empty(csv);
}

static void write_row(struct csv *csv, const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at)
{
    csv_text(csv, m->argument->name);
    csv_text(csv, protocol_names[r->options->protocol]);
    csv_whole(csv, (long long)at->context);
    whole_or_empty(csv, at->stride);
    csv_whole(csv, (long long)at->perplexity.tokens);
    csv_real(csv, at->perplexity.nll);
    real_or_empty(csv, at->perplexity.std_error);
    csv_real(csv, at->perplexity.ppl);
    whole_or_empty(csv, (size_t)m->window);
    real_or_empty(csv, r->options->timing ? at->seconds / (double)at->perplexity.tokens : NAN);
    real_or_empty(csv, at->paired ? at->difference.difference : NAN);
    real_or_empty(csv, at->paired ? at->difference.std_error : NAN);
    real_or_empty(csv, at->paired ? at->difference.p : NAN);
    csv_end_row(csv);
}

static int write_csv(const struct ppl_run *r, const char *path, const char *command, struct atomic_file *out, struct error *e)
{
    const char *comments[] = {"reach " REACH_VERSION, command,
                              "units: context (inputs), stride, window (keys that every layer attends to; empty: all, or layers "
                              "differ), tokens (scored targets) in tokens; nll, std_error in nats, over all targets alike; ppl = "
                              "exp(nll); seconds_per_token with --timing; diff: nll less that of the first model over the same "
                              "targets, diff_se its standard error, p two-sided of the paired t-test",
                              NULL};
    struct csv *csv = csv_create(path, comments,
                                 "model,protocol,context,stride,tokens,nll,std_error,ppl,window,seconds_per_token,diff,diff_se,p",
                                 e);

    if (!csv)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++)
            write_row(csv, r, &r->models[i], &r->models[i].results[j]);
    return csv_stage(csv, out, e);
}

/* What the protocol is, as the figure's title says it. */
static char *title_of(const struct ppl_run *r)
{
    const struct ppl_options *o = r->options;
    size_t tokens = r->models[0].results[0].perplexity.tokens;
    char *text;
    int rc;

    if (o->protocol == PROTOCOL_LAST)
        rc = asprintf(&text, "Perplexity of the last token: the same %zu targets at every context", tokens);
    else if (o->protocol == PROTOCOL_NONOVERLAPPING)
        rc = asprintf(&text, "Perplexity in nonoverlapping blocks: %zu targets", tokens);
    else if (o->protocol == PROTOCOL_CACHED)
        rc = asprintf(&text, "Perplexity in one pass with the last keys cached: %zu targets", tokens);
    else if (o->stride)
        rc = asprintf(&text, "Perplexity in sliding windows, stride %zu: %zu targets", o->stride, tokens);
    else
        rc = asprintf(&text, "Perplexity in sliding windows, stride half the context: %zu targets", tokens);
    return rc < 0 ? NULL : text;
}

static int write_figure(const struct ppl_run *r, const char *folder, const char *command, struct error *e)
{
    struct ppl_line *lines = calloc(r->count, sizeof *lines);
    struct ppl_point *points = calloc(r->count * r->result_count, sizeof *points);
    const char *comments[] = {"reach " REACH_VERSION, command, NULL};
    char *title = title_of(r);
    int cached = r->options->protocol == PROTOCOL_CACHED;
    int rc = -1;

    if (!lines || !points || !title) {
        fail(e, "%s: out of memory for the figure", folder);
        goto end;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct ppl_model *m = &r->models[i];
        struct ppl_point *p = points + i * r->result_count;

        for (size_t j = 0; j < r->result_count; j++)
            p[j] = (struct ppl_point){cached ? m->window : (double)m->results[j].context, m->results[j].perplexity.nll,
                                      m->results[j].perplexity.std_error};
        lines[i] = (struct ppl_line){m->argument->name, p, r->result_count, m->train_length};
    }
    rc = figure_ppl(folder, "ppl", lines, r->count, title, cached ? "window (keys)" : "context (input tokens)", comments,
                    r->options->formats, e);
end:
    free(lines);
    free(points);
    free(title);
    return rc;
}

int ppl_write(const struct ppl_run *r, const char *folder, struct error *e)
{
    static const char *const names[] = {"ppl.csv", NULL}, *const stems[] = {"ppl", NULL};
    struct results_files ready = {.count = 1};
    char *path = results_path(folder, "ppl.csv", e), *command = NULL;
    int rc = -1;

    if (path && asprintf(&command, "command: %s", r->command) < 0) {
        command = NULL;
        fail(e, "%s: out of memory", folder);
    }
    if (command && write_csv(r, path, command, &ready.file[0], e) == 0 && results_place(&ready, folder, names, stems, e) == 0)
        rc = write_figure(r, folder, command, e);
    free(command);
    free(path);
    return rc;
}
