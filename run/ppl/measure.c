/* Opening, scoring, reducing. */
#include "run/ppl/ppl.h"

#include "io/element.h"
#include "model/biases.h"
#include "model/score.h"
#include "run/interrupt.h"
#include "run/kernels.h"
#include "run/ppl/score.h"

#include <stdlib.h>
#include <string.h>

/* *taken: set if the model takes --train-length. */
static int open_model(struct ppl_model *m, const struct ppl_options *o, int *taken,
                      struct progress *p, struct error *e)
{
    struct decoder *d = m->decoder = model_open(m->argument->path, &m->argument->adapted, o->strict,
                                                p, e);

    if (!d)
        return -1;
    *taken |= model_take_length(d, o->train_length);
    if (run_override(d, &o->encoding, e) != 0)
        return -1;
    if (model_text_open(&m->text, d, m->argument->path, o->text.count > 0, &o->reading, e) != 0)
        return -1;
    if (o->protocol == PROTOCOL_CACHED && score_carry_check(d, e) != 0)
        return -1;
    char limit[DECODER_LIMIT_TEXT];
    if (decoder_limit(d) > 0 && o->context_count &&
        o->contexts[o->context_count - 1] > (size_t)decoder_limit(d))
        return fail(e, "%s: %s, and a context of %zu needs more (expected --context %d at most)",
                    m->argument->path, decoder_limit_text(limit, d),
                    o->contexts[o->context_count - 1], decoder_limit(d));
    m->window = decoder_window(d);
    m->train_length = d->train_length;
    return 0;
}

/* Every id must be one of the model's. */
static int check_ids(const struct ppl_model *m, struct error *e)
{
    const struct tokens *t = m->tokens;
    int vocabulary = m->decoder->vocabulary;

    if (m->text.bounds.begins && m->text.bounds.bos >= vocabulary)
        return fail(
            e, "%s: its beginning-of-text token %d is not in the vocabulary (expected 0 to %d)",
            m->argument->path, m->text.bounds.bos, vocabulary - 1);
    for (size_t i = 0; i < t->total; i++)
        if ((t->ids[i] < 0 || t->ids[i] >= vocabulary) &&
            !(m->text.bounds.boundary >= 0 && t->ids[i] == m->text.bounds.boundary))
            return fail(e,
                        "%s: id %d at index %zu is not in the vocabulary of %s (expected 0 to %d)",
                        t->name ? t->name : "tokens", (int)t->ids[i], i, m->argument->path,
                        vocabulary - 1);
    return 0;
}

/* The protocol's input: segments for the longest context, or streams; a text as a whole, but not a
 * document, has at least one window. */
static int take_tokens(struct ppl_model *m, struct ppl_run *r, struct error *e)
{
    const struct ppl_options *o = r->options;
    const struct tokens *t = m->tokens = model_text_tokens(&m->text, &r->text, r->progress, e);
    size_t longest = o->context_count ? o->contexts[o->context_count - 1] : 1, length, needed;

    if (!t)
        return -1;
    tokens_digest(m->tokens_digest, t);
    length = t->columns ? t->columns : t->total;
    needed = o->protocol == PROTOCOL_LAST ? longest + 1
                                          : longest + 1 - (size_t)m->text.bounds.begins;
    if (length < needed && !tokens_divided(t, m->text.bounds.boundary))
        return fail(e,
                    "%s: there are %zu tokens%s (expected at least %zu: a context of %zu and %s; "
                    "give more text or a smaller "
                    "--context)",
                    t->name ? t->name : "tokens", length, t->columns ? " a row" : "", needed,
                    longest, o->protocol == PROTOCOL_LAST ? "its target" : "one more");
    if (o->protocol == PROTOCOL_LAST) {
        struct segments_request request = {.length = longest + 1,
                                           .segments = o->segments,
                                           .stride = o->stride};

        if (segments_cut(&m->segments, t, &request, &m->text.bounds, (size_t)m->decoder->vocabulary,
                         e) != 0)
            return -1;
        m->documents = m->segments.documents;
        return 0;
    }
    return check_ids(m, e) != 0 ? -1 : ppl_streams(m, 2 - (size_t)m->text.bounds.begins, e);
}

static int make_results(struct ppl_model *m, struct ppl_run *r, struct error *e)
{
    const struct ppl_options *o = r->options;

    m->results = calloc(r->result_count, sizeof *m->results);
    if (!m->results)
        return fail(e, "out of memory for the results");
    for (size_t i = 0; i < r->result_count; i++) {
        struct ppl_result *at = &m->results[i];

        at->context = o->protocol == PROTOCOL_CACHED ? score_longest(m) - 1 : o->contexts[i];
        if (o->protocol == PROTOCOL_SLIDING)
            at->stride = o->stride ? o->stride : (at->context + 1) / 2;
        else
            at->stride = o->stride;
    }
    return 0;
}

int ppl_prepare(struct ppl_run *r, struct error *e)
{
    const struct ppl_options *o = r->options;
    int taken = 0;

    r->result_count = o->context_count ? o->context_count : 1;
    r->models = calloc(r->count, sizeof *r->models);
    if (!r->models)
        return fail(e, "out of memory for the run");
    for (size_t i = 0; i < r->count; i++) {
        r->models[i].argument = &r->arguments[i];
        if (open_model(&r->models[i], o, &taken, r->progress, e) != 0)
            return -1;
    }
    if (!taken)
        return models_refuse_length(e);
    if (run_text_read(&r->text, &o->text, &o->tokens, o->reading.tokens_dtype, &o->reading.records,
                      e) != 0)
        return -1;
    r->kernels = run_kernels(o->machine.device, o->machine.dtype, r->progress, e);
    if (!r->kernels)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        struct ppl_model *m = &r->models[i];

        if (take_tokens(m, r, e) != 0 || make_results(m, r, e) != 0)
            return -1;
        model_tell_length(m->decoder, m->results[r->result_count - 1].context, r->progress);
        model_text_tell(&m->text, m->argument->name, r->progress);
        for (size_t j = 0; j < r->result_count;
             j++) /* refuses before measuring what does not fit; the last context is the longest */
            if (score_estimate(&m->plan, r, m, &m->results[j], e) != 0)
                return -1;
    }
    return 0;
}

/* 1 if two models score the same targets: tokens of their own, divided the same way, after the same
 * token. */
static int same_targets(const struct ppl_model *a, const struct ppl_model *b)
{
    return strcmp(a->tokens_digest, b->tokens_digest) == 0 &&
           a->text.bounds.begins == b->text.bounds.begins &&
           a->text.bounds.boundary == b->text.bounds.boundary;
}

/* All models at context number `which`; keeps the first model's NLLs for comparisons. */
static int measure_context(struct ppl_run *r, size_t which, double *const room[2], struct error *e)
{
    const double *first = NULL;

    for (size_t i = 0; i < r->count; i++) {
        struct ppl_model *m = &r->models[i];
        struct ppl_result *at = &m->results[which];
        size_t targets = score_targets(r, m);
        double *nll = m->nll ? m->nll + which * targets : room[i > 0];

        if (score_run(nll, at, r, m, e) != 0)
            return -1;
        at->perplexity = perplexity_of(nll, targets);
        if (ppl_tokens_add(r, m, at, nll, e) != 0)
            return -1;
        if (!i)
            first = nll;
        else if (same_targets(m, &r->models[0])) {
            at->paired = 1;
            at->difference = perplexity_compare(nll, first, targets);
        }
    }
    return 0;
}

/* Memory for log p of all targets: of the first model and another one at one context, with --gain
 * of all at all contexts. */
static int make_room(struct ppl_run *r, double *room[2], struct error *e)
{
    size_t targets = 0, bytes, kept = 0;

    for (size_t i = 0; i < r->count; i++) {
        struct ppl_model *m = &r->models[i];
        size_t own = score_targets(r, m);

        targets = own > targets ? own : targets;
        kept += own * r->result_count;
        if (r->options->gain &&
            (size_multiply(&bytes, own, r->result_count * sizeof *m->nll) != 0 ||
             !(m->nll = malloc(bytes))))
            return fail_memory(e, (double)kept * sizeof *m->nll,
                               "the log p of all targets at every context");
    }
    if (!r->options->gain &&
        (size_multiply(&bytes, targets, sizeof **room) != 0 || !(room[0] = malloc(bytes)) ||
         (r->count > 1 && !(room[1] = malloc(bytes)))))
        return fail_memory(e, 2.0 * (double)targets * sizeof **room, "the log p of all targets");
    return 0;
}

int ppl_measure(struct ppl_run *r, struct error *e)
{
    size_t steps = 0;
    double *room[2] = {NULL, NULL};
    int rc;

    for (size_t i = 0; i < r->count; i++) {
        char text[MEMORY_PLAN_TEXT];

        progress_plan(r->progress, r->models[i].argument->name,
                      memory_plan_text(text, &r->models[i].plan), r->models[i].plan.total);
        for (size_t j = 0; j < r->result_count; j++)
            steps += score_steps(r, &r->models[i], &r->models[i].results[j]);
    }
    rc = make_room(r, room, e);
    if (rc == 0) {
        progress_start(r->progress, steps, 0);
        interrupt_watch();
        for (size_t j = 0; j < r->result_count && rc == 0; j++)
            rc = measure_context(r, j, room, e);
        progress_end(r->progress);
    }
    for (size_t i = 0; i < r->count && rc == 0 && r->options->gain; i++)
        ppl_gain(&r->models[i], r->models[i].nll, r->result_count, score_targets(r, &r->models[i]),
                 r->options->gain_within);
    free(room[0]);
    free(room[1]);
    return rc;
}
