/* log p of the ends of texts, each of which begins like the one before. */
#include "run/explain/parts.h"

#include "model/score.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 2048 /* inputs at once: fixed, so that results do not depend on memory */ };

int scorer_open(struct scorer *s, const struct explainer *of, size_t most, const char *purpose,
                struct error *e)
{
    *s = (struct scorer){.of = of,
                         .purpose = purpose,
                         .retains = score_retains(of->decoder),
                         .most = most,
                         .id = malloc(most * sizeof *s->id),
                         .target = malloc(most * sizeof *s->target),
                         .logprob = malloc(most * sizeof *s->logprob)};
    return s->id && s->target && s->logprob
               ? 0
               : fail_memory(e, (double)most * sizeof *s->logprob, "the tokens");
}

void scorer_close(struct scorer *s)
{
    engine_close(s->engine);
    free(s->id);
    free(s->target);
    free(s->logprob);
    *s = (struct scorer){0};
}

void scorer_forget(struct scorer *s)
{
    s->count = 0;
}

/* Inputs that need not be computed for log p of the last `outputs` of ids [inputs + 1]. */
static size_t known_of(const struct scorer *s, const int32_t *ids, size_t inputs, size_t outputs)
{
    size_t same = 0, scored = inputs - outputs;

    while (same < s->count && same < inputs && s->id[same] == ids[same])
        same++;
    while (scored < same && s->target[scored] == ids[scored + 1] && !isnan(s->logprob[scored]))
        scored++;
    if (!s->retains) /* what is known is of one length */
        return scored == inputs && inputs == s->count ? inputs : 0;
    return scored < same ? scored : same;
}

/* An engine for texts of one length, or for all of them. */
static int fit(struct scorer *s, size_t inputs, size_t outputs, struct error *e)
{
    size_t piece = s->most < PIECE ? s->most : PIECE;
    struct engine_request request = {.kind = REQUEST_SCORE,
                                     .positions = (int)(s->retains ? s->most : inputs),
                                     .memory = s->of->options->machine.memory,
                                     .batch = 1,
                                     .score = {.outputs = (int)(s->retains ? piece : outputs),
                                               .retain = s->retains}};
    char text[MEMORY_PLAN_TEXT];

    if (s->engine)
        return s->retains ? 0 : engine_reshape(s->engine, &request, e);
    s->engine = engine_create(s->of->kernels, s->of->decoder, &request, e);
    if (!s->engine)
        return -1;
    progress_message(s->of->progress, "%s, %s: %s", s->of->argument->name, s->purpose,
                     memory_plan_text(text, engine_plan(s->engine)));
    return 0;
}

/* Inputs from `known` on; log p from `first` on is wanted. */
static int go_on(struct scorer *s, const int32_t *ids, size_t known, size_t inputs, size_t first,
                 struct error *e)
{
    if (known < inputs)
        engine_score_rewind(s->engine, (int)known);
    for (size_t i = known, count; i < inputs; i += count) {
        size_t wanted, end;

        count = inputs - i < PIECE ? inputs - i : PIECE;
        end = i + count;
        wanted = end <= first ? 1 : end - (first > i ? first : i); /* a call has at least one */
        if (engine_score_on(s->engine, s->logprob + end - wanted, ids + i, (int)count, (int)wanted,
                            e) != 0)
            return -1;
        progress_spend(s->of->progress, (double)count, s->of->argument->name);
    }
    return 0;
}

/* The text becomes the one so far. Of its log p those from `first` on have this value yet. */
static void take(struct scorer *s, const int32_t *ids, size_t known, size_t inputs, size_t first,
                 double logprob)
{
    for (size_t i = known; i < inputs; i++) {
        s->id[i] = ids[i];
        s->target[i] = ids[i + 1];
        s->logprob[i] = i < first ? NAN : logprob;
    }
    s->count = known < inputs ? inputs : s->count;
}

size_t scorer_foresee(struct scorer *s, const int32_t *ids, size_t inputs, size_t outputs)
{
    size_t known = known_of(s, ids, inputs, outputs);

    take(s, ids, known, inputs, inputs - outputs, 0);
    return inputs - known;
}

int scorer_sum(struct scorer *s, double *sum, const int32_t *ids, size_t inputs, size_t outputs,
               struct error *e)
{
    size_t known = known_of(s, ids, inputs, outputs), first = inputs - outputs;

    take(s, ids, known, inputs, first, NAN);
    if (known < inputs && fit(s, inputs, outputs, e) != 0)
        return -1;
    if (s->retains) {
        if (go_on(s, ids, known, inputs, first > known ? first : known, e) != 0)
            return -1;
    } else if (known < inputs) {
        if (engine_score(s->engine, s->logprob + first, ids, 1, e) != 0)
            return -1;
        progress_spend(s->of->progress, (double)inputs, s->of->argument->name);
    }
    *sum = 0;
    for (size_t i = first; i < inputs; i++)
        *sum += s->logprob[i];
    return 0;
}
