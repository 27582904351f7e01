/* Answers: predictions and norms. Texts of equal length share batches, the longest first, so that
 * what does not fit is found before the work. */
#include "run/explain/parts.h"

#include "run/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of log p of the vocabulary held at a time. */
enum { PREDICTED_AT_ONCE = 8 };

/* One explanation to fill: a target of a question. Those of one question follow each other. */
struct answer {
    const struct question *of;
    struct explanation *x;
    size_t nth; /* from 0 */
};

/* Memory for a batch. */
struct batch {
    struct answer *answer; /* [count] */
    int count;
    int32_t *id, *against; /* [most, inputs + 1], [most] */
    double *norm, *logprob; /* [most, inputs], [most, outputs] */
    struct completeness *completeness; /* [most] */
    double *vocabulary; /* [PREDICTED_AT_ONCE, vocabulary] log p */
};

static void close_batch(struct batch *b)
{
    free(b->id);
    free(b->against);
    free(b->norm);
    free(b->logprob);
    free(b->completeness);
    free(b->vocabulary);
}

static int open_batch(struct batch *b, size_t most, size_t inputs, size_t outputs, int vocabulary,
                      struct error *e)
{
    *b = (struct batch){.id = calloc(most * (inputs + 1), sizeof *b->id),
                        .against = calloc(most, sizeof *b->against),
                        .norm = calloc(most * inputs, sizeof *b->norm),
                        .logprob = calloc(most * outputs, sizeof *b->logprob),
                        .completeness = calloc(most, sizeof *b->completeness),
                        .vocabulary = calloc(PREDICTED_AT_ONCE * (size_t)vocabulary,
                                             sizeof *b->vocabulary)};
    if (b->id && b->against && b->norm && b->logprob && b->completeness && b->vocabulary)
        return 0;
    close_batch(b);
    return fail_memory(e,
                       ((double)most * (double)inputs + PREDICTED_AT_ONCE * vocabulary) *
                           sizeof *b->norm,
                       "the norms");
}

/* The likeliest id that is not among the first `count` of `taken`, and not `target`. */
static int32_t likeliest(const double *logprob, int vocabulary, const struct prediction *taken,
                         size_t count, int32_t target)
{
    int32_t best = -1;

    for (int32_t t = 0; t < vocabulary; t++) {
        size_t k = 0;

        if (t == target || isnan(logprob[t]) || (best >= 0 && logprob[t] <= logprob[best]))
            continue;
        while (k < count && taken[k].id != t)
            k++;
        best = k == count ? t : best;
    }
    return best;
}

/* Neither the target nor what it is compared with. */
static void take_alternatives(struct explanation *x, const double *logprob, int vocabulary)
{
    struct prediction taken[ALTERNATIVES + 1] = {x->against};
    size_t known = (size_t)x->contrast;

    for (x->alternative_count = 0; x->alternative_count < ALTERNATIVES; x->alternative_count++) {
        int32_t id = likeliest(logprob, vocabulary, taken, known + x->alternative_count,
                               x->target.id);

        if (id < 0)
            return;
        taken[known + x->alternative_count] = x->alternative[x->alternative_count] =
            (struct prediction){id, logprob[id]};
    }
}

static int choose_against(const struct explainer *s, const struct question *q,
                          struct explanation *x, const double *logprob, struct error *e)
{
    x->against.id = named_choose(&q->against, logprob, x->target.id);
    x->against.logprob = logprob[x->against.id];
    return x->against.id != x->target.id
               ? 0
               : fail(e, "%s: %s %s is the target itself (expected another token)",
                      q->from ? q->from->where : s->argument->path, q->against.option,
                      q->against.written);
}

/* Of several targets none is the token that they are compared with. */
static int32_t not_a_target(const struct question *q, const double *logprob)
{
    return q->targets > 1 && q->against.written ? named_choose(&q->against, logprob, -1) : -1;
}

/* Targets, contrasts and alternatives of a question, from log p of the vocabulary. */
static int choose(const struct explainer *s, const struct answer *a, const double *logprob,
                  struct error *e)
{
    const struct question *q = a->of;
    int vocabulary = s->decoder->vocabulary;
    int32_t left_out = not_a_target(q, logprob);
    struct prediction *taken = calloc(q->targets, sizeof *taken);
    int rc = taken ? 0 : fail_memory(e, (double)q->targets * sizeof *taken, "the targets");

    for (size_t k = 0; k < q->targets && rc == 0; k++) {
        struct explanation *x = a->x + k;

        if (q->target.written)
            x->id[x->count] = named_choose(&q->target, logprob, -1);
        else if (q->predicted)
            x->id[x->count] = likeliest(logprob, vocabulary, taken, k, left_out);
        x->target.id = taken[k].id = x->id[x->count];
        if (x->target.id < 0)
            rc = fail(e, "%s: the output of the head is not finite (expected finite numbers)",
                      s->argument->path);
        else if (x->contrast)
            rc = choose_against(s, q, x, logprob, e);
        if (rc == 0)
            take_alternatives(x, logprob, vocabulary);
    }
    free(taken);
    return rc;
}

/* After the forward pass: a question's first answer chooses for all of them. */
static int predict(const struct explainer *s, struct batch *b, struct error *e)
{
    size_t vocabulary = (size_t)s->decoder->vocabulary;

    for (int first = 0, count; first < b->count; first += count) {
        for (count = 0; first + count < b->count && count < PREDICTED_AT_ONCE &&
                        b->answer[first + count].nth == 0;)
            count++;
        if (count && engine_predict(s->engine, b->vocabulary, first, count, e) != 0)
            return -1;
        for (int i = 0; i < count; i++)
            if (choose(s, &b->answer[first + i], b->vocabulary + (size_t)i * vocabulary, e) != 0)
                return -1;
        count += !count; /* a later target */
    }
    return 0;
}

/* Tokens whose log p is summed, and inputs of the engine. */
static size_t outputs_of(const struct answer *a)
{
    return a->of->answer > 1 ? a->of->answer : 1;
}

static size_t inputs_of(const struct answer *a)
{
    return a->of->count + outputs_of(a) - 1;
}

/* The sum of log p of answers of several tokens: all are known, so nothing is predicted. */
static int sum_batch(struct explainer *s, struct batch *b, struct error *e)
{
    size_t n = inputs_of(b->answer), outputs = outputs_of(b->answer);

    for (int i = 0; i < b->count; i++)
        memcpy(b->id + (size_t)i * (n + 1), b->answer[i].of->id, (n + 1) * sizeof *b->id);
    if (engine_measure(s->engine, b->norm, b->logprob, b->id, b->count, e) != 0)
        return -1;
    for (int i = 0; i < b->count; i++) {
        struct explanation *x = b->answer[i].x;

        memcpy(x->norm, b->norm + (size_t)i * n, x->count * sizeof *b->norm); /* of the prompt */
        x->target.logprob = 0;
        for (size_t k = 0; k < outputs; k++)
            x->target.logprob += b->logprob[(size_t)i * outputs + k];
    }
    return 0;
}

/* Answers of one kind. */
static int answer_batch(struct explainer *s, struct batch *b, struct error *e)
{
    size_t n = b->answer->x->count;
    int contrast = b->answer->x->contrast, plain = s->options->attribution == ATTRIBUTION_GRAD;

    for (int i = 0; i < b->count; i++) {
        int32_t *id = b->id + (size_t)i * (n + 1);

        memcpy(id, b->answer[i].x->id, n * sizeof *id);
        id[n] = id[n - 1]; /* valid; the forward pass ignores it */
    }
    if (engine_forward(s->engine, b->id, b->count, e) != 0 || predict(s, b, e) != 0)
        return -1;
    for (int i = 0; i < b->count; i++) {
        b->id[(size_t)i * (n + 1) + n] = b->answer[i].x->target.id;
        b->against[i] = b->answer[i].x->against.id;
    }
    if ((contrast && engine_contrast(s->engine, b->against, b->count, e) != 0) ||
        (plain ? engine_reverse(s->engine, b->norm, b->logprob, b->id, b->count, e)
               : engine_attribute(s->engine, b->norm, b->logprob, b->completeness, b->id, 0,
                                  b->count, e)) != 0)
        return -1;
    for (int i = 0; i < b->count; i++) {
        memcpy(b->answer[i].x->norm, b->norm + (size_t)i * n, n * sizeof *b->norm);
        b->answer[i].x->target.logprob = b->logprob[i];
        if (s->options->attribution == ATTRIBUTION_INTEGRATED) {
            b->answer[i].x->integrated = 1;
            b->answer[i].x->attributed = b->completeness[i].sum;
            b->answer[i].x->baseline = b->completeness[i].baseline;
        }
    }
    return 0;
}

/* What can share batches: equally many inputs and outputs, all with a contrast or all without. */
static int by_kind(const struct answer *a, const struct answer *b)
{
    size_t x = inputs_of(a), y = inputs_of(b);

    if (x == y)
        x = outputs_of(a), y = outputs_of(b);
    return x != y ? (x > y ? -1 : 1) : b->x->contrast - a->x->contrast;
}

/* In the order of the results. */
static int by_place(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;

    return (x->x > y->x) - (x->x < y->x);
}

static int compare_answers(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;
    int kind = by_kind(x, y);

    return kind ? kind : by_place(a, b);
}

static int answer_group(struct explainer *s, struct answer *answer, size_t count, struct error *e)
{
    size_t inputs = inputs_of(answer), outputs = outputs_of(answer);
    struct batch b;
    int rc = 0;

    if (explainer_fit(s, inputs, outputs, answer->x->contrast, count, e) != 0 ||
        open_batch(&b, (size_t)engine_plan(s->engine)->batch, inputs, outputs,
                   s->decoder->vocabulary, e) != 0)
        return -1;
    for (size_t first = 0; rc == 0 && first < count; first += (size_t)b.count) {
        size_t left = count - first;

        b.answer = answer + first;
        b.count = engine_plan(s->engine)->batch;
        b.count = left < (size_t)b.count ? (int)left : b.count;
        s->cost = (double)b.count * (double)inputs;
        s->seen = 0;
        rc = (outputs > 1 ? sum_batch(s, &b, e) : answer_batch(s, &b, e)) != 0 ||
                     tensors_unchanged(s->decoder->tensors, e) != 0
                 ? -1
                 : 0;
        if (rc == 0)
            progress_step_of(s->progress, (size_t)b.count, (s->cost - s->seen) / b.count,
                             s->argument->name);
    }
    close_batch(&b);
    return rc;
}

/* Texts of answers of several tokens, whose ids are below 0: those of their tokens, joined. */
static int add_answers(struct explanations *all, const struct answer *answer, size_t sums,
                       struct error *e)
{
    struct token_text *piece = calloc(sums + 1, sizeof *piece);
    struct token_texts texts = {0};
    size_t made = 0;
    int rc = piece ? 0 : fail_memory(e, (double)sums * sizeof *piece, "the answers");

    for (size_t i = all->count; rc == 0 && i-- > 0;) { /* by ascending id */
        const struct question *q = answer[i].of;
        char *text = NULL, room[16];
        FILE *f = q->answer > 1 ? open_memstream(&text, &piece[made].size) : NULL;

        if (q->answer < 2)
            continue;
        for (size_t k = 0; f && k < q->answer; k++) {
            size_t size;
            const char *one = explanation_piece(&all->item[i], q->id[q->count + k], &size, room);

            fwrite(one, 1, size, f);
        }
        if (!f || fclose(f) != 0)
            rc = fail(e, "out of memory for an answer");
        piece[made].id = all->item[i].target.id;
        piece[made++].text = text;
    }
    if (rc == 0 && (rc = texts_make(&texts, piece, made, e)) == 0)
        rc = texts_add(&all->pieces, &texts, e);
    texts_free(&texts);
    for (size_t i = 0; i < made; i++)
        free((char *)(uintptr_t)piece[i].text);
    free(piece);
    return rc;
}

/* Of all tokens shown; ids without texts are shown as <ID>. */
static int take_pieces(struct explainer *s, struct explanations *all, const struct answer *answer,
                       struct error *e)
{
    size_t total = 0, count = 0, sums = 0;
    int32_t *id;
    int rc;

    for (size_t i = 0; i < all->count; i++)
        total += inputs_of(&answer[i]) + ALTERNATIVES + 2;
    id = malloc(total * sizeof *id);
    if (!id)
        return fail_memory(e, (double)total * sizeof *id, "the tokens");
    for (size_t i = 0; i < all->count; i++) {
        const struct explanation *x = &all->item[i];
        const struct question *q = answer[i].of;

        memcpy(id + count, x->id, (x->count + (q->answer < 2)) * sizeof *id);
        count += x->count + (q->answer < 2);
        memcpy(id + count, q->id + x->count, q->answer * sizeof *id);
        count += q->answer;
        sums += q->answer > 1;
        for (size_t k = 0; k < x->alternative_count; k++)
            id[count++] = x->alternative[k].id;
        if (x->contrast)
            id[count++] = x->against.id;
    }
    rc = model_text_pieces(&all->pieces, &s->reading, s->argument->path, id, count, e);
    free(id);
    if (rc == 0 && !s->reading.tokenizer && s->decoder->vocabulary == 256)
        rc = texts_of_bytes(&all->pieces, e);
    return rc == 0 && sums ? add_answers(all, answer, sums, e) : rc;
}

static char *number_text(size_t number)
{
    char *text;

    return asprintf(&text, "%zu", number) < 0 ? NULL : text;
}

static int prepare(struct answer *a, const struct explainer *s, const struct explanations *all,
                   struct error *e)
{
    const struct question *q = a->of;
    const struct prompt_line *line = q->from;
    struct explanation *x = a->x;

    if (line && !(x->name = line->name ? strdup(line->name) : number_text(line->number)))
        return fail(e, "%s: out of memory", line->where);
    x->is_numbered = line && (!line->name || json_is_integer(json_object_get(line->object, "id")));
    x->answer = q->answer;
    x->count = q->count;
    x->prompt = q->prompt;
    x->contrast = q->against.written != NULL;
    x->predicted = q->predicted && !q->target.written ? (int)a->nth + 1 : 0;
    x->against.logprob = NAN;
    x->attribution = attribution_names[s->options->attribution];
    x->pieces = &all->pieces;
    x->model = strdup(s->argument->name);
    x->path = strdup(s->argument->path);
    x->position_encoding = strdup(s->decoder->position_text);
    x->id = malloc((x->count + 1) * sizeof *x->id);
    x->norm = calloc(x->count, sizeof *x->norm);
    if (!x->model || !x->path || !x->position_encoding || !x->id || !x->norm)
        return fail_memory(e, (double)x->count * (sizeof *x->id + sizeof *x->norm), "the norms");
    memcpy(x->id, q->id, (x->count + 1) * sizeof *x->id);
    if (q->answer > 1) /* unlike any token's; each has its own */
        x->target.id = x->id[x->count] = -1 - (int32_t)(x - all->item);
    return 0;
}

static int answer_all(struct explainer *s, struct answer *answer, size_t count, struct error *e)
{
    double cost = 0;
    int rc = 0;

    qsort(answer, count, sizeof *answer, compare_answers);
    for (size_t i = 0; i < count; i++)
        cost += (double)inputs_of(&answer[i]);
    progress_start(s->progress, count, 0);
    progress_costs(s->progress, cost, 0);
    for (size_t first = 0, end; rc == 0 && first < count; first = end) {
        for (end = first + 1; end < count && by_kind(&answer[first], &answer[end]) == 0;)
            end++;
        rc = answer_group(s, answer + first, end - first, e);
    }
    progress_end(s->progress);
    if (s->kernels)
        run_tell_products(s->kernels, s->progress);
    return rc;
}

int explain_answer(struct explainer *s, const struct questions *q, struct explanations *out,
                   struct error *e)
{
    size_t total = 0;
    struct answer *answer;
    int rc = 0;

    for (size_t i = 0; i < q->count; i++)
        total += q->item[i].targets;
    answer = calloc(total, sizeof *answer);
    out->item = calloc(total, sizeof *out->item);
    if (!answer || !out->item)
        rc = fail_memory(e, (double)total * sizeof *out->item, "the explanations");
    for (size_t i = 0; i < q->count; i++)
        for (size_t k = 0; k < q->item[i].targets && rc == 0; k++, out->count++) {
            answer[out->count] = (struct answer){&q->item[i], &out->item[out->count], k};
            rc = prepare(&answer[out->count], s, out, e);
        }
    if (rc == 0 && (rc = answer_all(s, answer, total, e)) == 0) {
        qsort(answer, total, sizeof *answer, by_place);
        rc = take_pieces(s, out, answer, e);
    }
    free(answer);
    return rc;
}
