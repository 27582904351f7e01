/* The output of `reach ppl`: the table, differences between models, notes. */
#include "commands/ppl.h"

#include "commands/notes.h"
#include "commands/screen.h"
#include "commands/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NaN (from a single target) is printed as -. */
static void real_cell(struct table *t, const char *format, double value)
    __attribute__((format(printf, 2, 0)));

static void real_cell(struct table *t, const char *format, double value)
{
    char text[64];

    if (isnan(value)) {
        table_cell(t, "-");
        return;
    }
    snprintf(text, sizeof text, format, value);
    table_cell(t, "%s", text);
}

/* Seconds a token as 1.23 ms, 45.6 us. */
static void time_cell(struct table *t, double seconds)
{
    if (seconds >= 1)
        table_cell(t, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        table_cell(t, "%.3g ms", 1e3 * seconds);
    else
        table_cell(t, "%.3g us", 1e6 * seconds);
}

static void print_model(struct table *t, const struct ppl_run *r, const struct ppl_model *m)
{
    for (size_t j = 0; j < r->result_count; j++) {
        const struct ppl_result *at = &m->results[j];

        table_cell(t, "%s", m->argument->name);
        table_cell(t, "%s", protocol_names[r->options->protocol]);
        table_cell(t, "%zu", at->context);
        table_count(t, at->stride);
        table_count(t, (size_t)m->window);
        table_cell(t, "%zu", at->perplexity.tokens);
        table_cell(t, "%.5f", at->perplexity.nll);
        real_cell(t, "%.5f", at->perplexity.std_error);
        table_cell(t, "%.5g", at->perplexity.ppl);
        time_cell(t, at->seconds / (double)at->perplexity.tokens);
        table_count(t, (size_t)m->train_length);
    }
}

static int print_differences(const struct ppl_run *r, struct error *e)
{
    struct table *t = table_create("lrrrr");

    if (!t)
        return table_show(t, e);
    table_caption(t, "NLL against %s, paired over the same targets (two-sided t-test)",
                  r->models[0].argument->name);
    table_cell(t, "model");
    table_cell(t, "context");
    table_cell(t, "difference");
    table_cell(t, "s.e.");
    table_cell(t, "p");
    for (size_t i = 1; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++) {
            const struct ppl_result *at = &r->models[i].results[j];

            table_cell(t, "%s", r->models[i].argument->name);
            table_cell(t, "%zu", at->context);
            real_cell(t, "%+.5f", at->paired ? at->difference.difference : NAN);
            real_cell(t, "%.5f", at->paired ? at->difference.std_error : NAN);
            if (at->paired && at->difference.p < 1e-300)
                table_cell(t, "< 1e-300");
            else
                real_cell(t, "%.2g", at->paired ? at->difference.p : NAN);
        }
    return table_show(t, e);
}

/* Of less text, perplexity by word is of a few words, and astronomical. */
enum { WORDS_LEAST = 300 /* bytes */ };

/* By units of the text, which compare across tokenizers; nothing if no model's ids have texts. */
static int print_units(const struct ppl_run *r, struct error *e)
{
    static const char *const header[] = {"model",     "context",  "bytes",
                                         "bits/byte", "PPL/char", NULL};
    struct table *t;
    size_t most = 0;

    for (size_t i = 0; i < r->count; i++)
        most = r->models[i].units.bytes > most ? r->models[i].units.bytes : most;
    if (!most)
        return 0;
    if (!(t = table_create(most < WORDS_LEAST ? "lrr3rr2" : "lrr3rr2r1")))
        return table_show(t, e);
    table_caption(t,
                  "for each byte, character and word of the targets' text, which compare across "
                  "tokenizers%s",
                  r->options->protocol == PROTOCOL_LAST
                      ? " only where the same text is scored (--protocol sliding)"
                      : "");
    table_cells(t, header);
    if (most >= WORDS_LEAST)
        table_cell(t, "PPL/word");
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++) {
            const struct perplexity *p = &r->models[i].results[j].perplexity;
            const struct ppl_units *u = &r->models[i].units;

            table_cell(t, "%s", r->models[i].argument->name);
            table_cell(t, "%zu", r->models[i].results[j].context);
            table_count(t, u->bytes);
            real_cell(t, "%.5f", perplexity_each(p, u->bytes) / M_LN2);
            real_cell(t, "%.5g", exp(perplexity_each(p, u->characters)));
            if (most >= WORDS_LEAST)
                real_cell(t, "%.5g", exp(perplexity_each(p, u->words)));
        }
    return table_show(t, e);
}

/* ---- --gain ---- */

static void interval_cell(struct table *t, const struct perplexity_difference *d, size_t targets)
{
    double margin = perplexity_margin(d, targets);

    real_cell(t, "%+.5f", d->difference);
    if (isnan(margin))
        table_cell(t, "-");
    else
        table_cell(t, "[%+.5f, %+.5f]", d->difference - margin, d->difference + margin);
}

static void skip_cells(struct table *t)
{
    table_cells(t, (const char *const[]){"-", "-", NULL});
}

static int print_gain(const struct ppl_run *r, struct error *e)
{
    struct table *t = table_create("lrrr3r2r1rr");

    if (!t)
        return table_show(t, e);
    table_caption(t, "nats that a context gains over the next shorter one, and nats that are left "
                     "to gain at the longest; shares "
                     "of the targets");
    table_cells(t, (const char *const[]){"model", "context", "gains", "95 % interval", "left",
                                         "95 % interval", "needed", "enough", NULL});
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++) {
            const struct ppl_result *at = &r->models[i].results[j];

            table_cell(t, "%s", r->models[i].argument->name);
            table_cell(t, "%zu", at->context);
            if (j)
                interval_cell(t, &at->gain, at->perplexity.tokens);
            else
                skip_cells(t);
            if (j + 1 < r->result_count)
                interval_cell(t, &at->rest, at->perplexity.tokens);
            else
                skip_cells(t);
            table_cell(t, "%.1f %%", 100 * at->needed);
            table_cell(t, "%.1f %%", 100 * at->enough);
        }
    return table_show(t, e);
}

static struct gain_needs needs_of(const struct ppl_run *r, const struct ppl_model *m)
{
    size_t longest = r->result_count - 1;

    return (struct gain_needs){.best = (double)ppl_gain_best(r, m)->context,
                               .longest = (double)m->results[longest].context,
                               .shorter = (double)m->results[longest - 1].context,
                               .half = (double)ppl_gain_quantile(r, m, 0.5),
                               .most = (double)ppl_gain_quantile(r, m, 0.9)};
}

/* Sentences on how much context targets need; a note says of which models that is unknown. */
static int print_needs(const struct ppl_run *r, struct error *e)
{
    size_t said = 0;

    for (size_t i = 0; i < r->count && r->count <= SENTENCES_MOST; i++) {
        const struct ppl_model *m = &r->models[i];
        struct gain_needs needs = needs_of(r, m);
        char *text = needs.best == needs.longest ? gain_sentence(&needs) : NULL;

        if (text)
            screen_say("%s%s: %s.\n", said++ ? "" : "\n", m->argument->name, text);
        else if (needs.best == needs.longest)
            return fail(e, "out of memory for the report");
        free(text);
    }
    screen_say("\nenough: the NLL of the target is at most %.6g nats above its NLL at %zu tokens\n",
               r->options->gain_within, r->models[0].results[r->result_count - 1].context);
    return 0;
}

/* ---- notes ---- */

/* The targets scored by protocols that use the whole text. */
static const char *targets_of(const struct ppl_run *r)
{
    static const char *const of[2][3] = {
        {"every token of the text but the first", "every token of the text",
         "every token of the text, but the first if nothing precedes it"},
        {"every token but the first of each document that is used",
         "every token of the documents that are used",
         "every token of the documents that are used, but the first ones if nothing precedes "
         "them"}};
    int which = r->models[0].text.bounds.begins;

    for (size_t i = 1; i < r->count; i++)
        if (r->models[i].text.bounds.begins != r->models[0].text.bounds.begins)
            which = 2;
    return of[r->models[0].documents.count > 0][which];
}

static const char *name_of(const void *run, size_t model)
{
    return ((const struct ppl_run *)run)->models[model].argument->name;
}

static void put_text(FILE *f, const void *run, size_t model)
{
    const struct ppl_model *m = &((const struct ppl_run *)run)->models[model];

    text_describe(f, "", &(struct text_notes){NULL, &m->text.bounds, &m->documents});
}

static void put_unpaired(FILE *f, const void *run, size_t model)
{
    const struct ppl_run *r = run;
    const struct ppl_model *m = &r->models[model], *first = &r->models[0];

    if (m == first || m->results[0].paired)
        return;
    if (strcmp(m->tokens_digest, first->tokens_digest) == 0)
        fprintf(f, "not paired: its targets are not those of %s",
                screen_text(first->argument->name));
    else
        fprintf(f,
                "not paired: its tokens are not those of %s, so perplexities per token cannot be "
                "compared either",
                screen_text(first->argument->name));
}

static void put_worse(FILE *f, const void *run, size_t model)
{
    struct gain_needs needs = needs_of(run, &((const struct ppl_run *)run)->models[model]);
    char *text = needs.best < needs.longest ? gain_sentence(&needs) : NULL;

    if (text)
        fputs(text, f);
    free(text);
}

void ppl_notes(FILE *f, const struct ppl_run *r)
{
    const struct segments *cut = &r->models[0].segments;
    const struct model_notes models = {r, r->count, name_of};
    const char *all = targets_of(r);

    switch (r->options->protocol) {
    case PROTOCOL_LAST:
        fprintf(f,
                "targets: the last tokens of %zu segments of %zu tokens, the same for every "
                "context%s\n",
                cut->count, cut->length, cut->overlapping ? "; segments overlap" : "");
        break;
    case PROTOCOL_NONOVERLAPPING:
        fprintf(
            f,
            "targets: %s, the same for every context; the first ones of a block see few tokens\n",
            all);
        break;
    case PROTOCOL_SLIDING:
        fprintf(f,
                "targets: %s, the same for every context; after the first window each sees at "
                "least context - stride + 1 inputs\n",
                all);
        break;
    case PROTOCOL_CACHED: fprintf(f, "targets: %s, in one pass\n", all); break;
    case PROTOCOLS: break;
    }
    notes_of_models(f, &models, put_text);
    notes_of_models(f, &models, put_unpaired);
    if (r->options->gain)
        notes_of_models(f, &models, put_worse);
}

static void put_notes(FILE *f, const void *r)
{
    ppl_notes(f, r);
}

int ppl_print(const struct ppl_run *r, struct error *e)
{
    static const char *const header[] = {"model",  "protocol",   "context", "stride",
                                         "window", "tokens",     "NLL",     "s.e.",
                                         "PPL",    "time/token", "L_tr"};
    struct table *t = table_create("ll4rr3r5r6rrrr1r2");

    if (!t)
        return table_show(t, e);
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        table_cell(t, "%s", header[i]);
    for (size_t i = 0; i < r->count; i++)
        print_model(t, r, &r->models[i]);
    if (table_show(t, e) != 0 || (r->count > 1 && print_differences(r, e) != 0) ||
        print_units(r, e) != 0 ||
        (r->options->gain && (print_gain(r, e) != 0 || print_needs(r, e) != 0)))
        return -1;
    screen_say("\n");
    return notes_print(r, put_notes, e);
}
