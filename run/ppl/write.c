/* Results of `reach ppl` on disk: ppl.csv and the figure. */
#include "run/ppl/ppl.h"

#include "run/ppl/columns.h"
#include "run/results.h"
#include "plots/ppl.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

static void write_row(struct csv *csv, const struct ppl_run *r, const struct ppl_model *m,
                      const struct ppl_result *at)
{
    const struct ppl_units *u = &m->units;

    csv_row(csv, &(struct ppl_row){
                     .model = m->argument->name,
                     .protocol = protocol_names[r->options->protocol],
                     .context = (long long)at->context,
                     .stride = (long long)at->stride,
                     .tokens = (long long)at->perplexity.tokens,
                     .nll = at->perplexity.nll,
                     .std_error = at->perplexity.std_error,
                     .ppl = at->perplexity.ppl,
                     .window = m->window,
                     .seconds_per_token =
                         r->options->timing ? at->seconds / (double)at->perplexity.tokens : NAN,
                     .diff = at->paired ? at->difference.difference : NAN,
                     .diff_se = at->paired ? at->difference.std_error : NAN,
                     .p = at->paired ? at->difference.p : NAN,
                     .bytes = (long long)u->bytes,
                     .characters = (long long)u->characters,
                     .words = (long long)u->words,
                     .bits_per_byte = perplexity_each(&at->perplexity, u->bytes) / M_LN2,
                     .character_ppl = exp(perplexity_each(&at->perplexity, u->characters)),
                     .word_ppl = exp(perplexity_each(&at->perplexity, u->words)),
                 });
}

char *ppl_note(const void *found)
{
    const struct ppl_run *r = found;
    char *note = NULL;
    size_t size;
    FILE *f = open_memstream(&note, &size);
    int failed, any = 0;

    for (size_t i = 0; f && i < r->count; i++) {
        const struct ppl_model *m = &r->models[i];

        any |= text_describe(f, any ? "; " : "",
                             &(struct text_notes){m->argument->name, &m->text.bounds,
                                                  &m->documents});
    }
    failed = !f || ferror(f);
    if ((f && fclose(f) != 0) || failed) {
        free(note);
        return NULL;
    }
    return note;
}

static int rows(const void *found, struct csv *csv, struct error *e)
{
    const struct ppl_run *r = found;

    (void)e;
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++)
            write_row(csv, r, &r->models[i], &r->models[i].results[j]);
    return 0;
}

/* The protocol, for the figure's title. */
static char *title_of(const struct ppl_run *r)
{
    const struct ppl_options *o = r->options;
    size_t tokens = r->models[0].results[0].perplexity.tokens;
    char *text;
    int rc;

    if (o->protocol == PROTOCOL_LAST)
        rc = asprintf(&text, "Perplexity of the last token: the same %zu targets at every context",
                      tokens);
    else if (o->protocol == PROTOCOL_NONOVERLAPPING)
        rc = asprintf(&text, "Perplexity in nonoverlapping blocks: %zu targets", tokens);
    else if (o->protocol == PROTOCOL_CACHED)
        rc = asprintf(&text, "Perplexity in one pass with the last keys cached: %zu targets",
                      tokens);
    else if (o->stride)
        rc = asprintf(&text, "Perplexity in sliding windows, stride %zu: %zu targets", o->stride,
                      tokens);
    else
        rc = asprintf(&text, "Perplexity in sliding windows, stride half the context: %zu targets",
                      tokens);
    return rc < 0 ? NULL : text;
}

static int write_figure(const struct ppl_run *r, const struct figure_place *to, struct error *e)
{
    struct ppl_line *lines = calloc(r->count, sizeof *lines);
    struct ppl_point *points = calloc(r->count * r->result_count, sizeof *points);
    char *title = title_of(r);
    int cached = r->options->protocol == PROTOCOL_CACHED;
    int rc = -1;

    if (!lines || !points || !title) {
        fail(e, "%s: out of memory for the figure", to->folder);
        goto end;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct ppl_model *m = &r->models[i];
        struct ppl_point *p = points + i * r->result_count;
        int changes = r->options->gain && r->result_count > 1;

        for (size_t j = 0; j < r->result_count; j++) {
            const struct ppl_result *at = &m->results[j];

            p[j] = (struct ppl_point){cached ? m->window : (double)at->context, at->perplexity.nll,
                                      at->perplexity.std_error,
                                      changes ? at->change.difference : NAN,
                                      changes ? at->change.std_error : NAN};
        }
        lines[i] = (struct ppl_line){m->argument->name, p, r->result_count, m->train_length,
                                     changes ? (double)m->results[m->reference].context : 0};
    }
    rc = figure_ppl(to,
                    &(struct ppl_lines){lines, r->count, title,
                                        cached ? "window (tokens)" : "context (input tokens)"},
                    e);
end:
    free(lines);
    free(points);
    free(title);
    return rc;
}

static int has_gain(const void *found)
{
    const struct ppl_run *r = found;

    return r->options->gain;
}

const struct results_file *const ppl_files[] = {
    &(const struct results_file){.layout = &ppl_csv, .rows = rows, .note = ppl_note},
    &(const struct results_file){.is_wanted = has_gain, .layout = &gain_csv, .rows = ppl_gain_rows},
    NULL};
const struct results_layout ppl_layout = {ppl_files, (const char *const[]){"ppl", "gain", NULL}};

int ppl_write(const struct ppl_run *r, const char *folder, struct error *e)
{
    char *command = command_comment(r->command);
    const char *const comments[] = {"reach " REACH_VERSION, command, NULL};
    const struct figure_style style = {.formats = r->options->formats};
    const struct figure_place ppl = {folder, "ppl", comments, &style},
                              gain = {folder, "gain", comments, &style};
    int rc = -1, drawn;

    if (!command)
        fail(e, "%s: out of memory", folder);
    else if (results_write(folder, &ppl_layout, r, r->command, e) == 0) {
        rc = write_figure(r, &ppl, e);
        if (rc >= 0 && r->options->gain && (drawn = ppl_gain_draw(r, &gain, e)) != 0)
            rc = drawn;
    }
    free(command);
    return rc;
}
