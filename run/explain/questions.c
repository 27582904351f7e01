/* The questions of a run, from its options: texts as tokens. */
#include "run/explain/parts.h"

#include <stdlib.h>
#include <string.h>

/* Editors and echo end a text with a newline, which is not meant as its last token. */
static void drop_newline(struct text *t, const struct explain_options *o, struct progress *p)
{
    if (o->position_count || t->size < 2 || t->bytes[t->size - 1] != '\n')
        return;
    t->size -= t->size > 2 && t->bytes[t->size - 2] == '\r' ? 2 : 1;
    progress_message(
        p, "%s: the newline at its end is left out (--target-position takes the text as it is)",
        t->name);
}

static int read_text(struct run_text *t, const struct explainer *x, struct error *e)
{
    const struct text_list standard = {&(const char *){"-"}, 1}, none = {0};
    const struct explain_options *o = x->options;
    int is_standard = o->prompt && strcmp(o->prompt, "-") == 0;

    if (!o->prompt || is_standard) {
        if (run_text_read(t, is_standard ? &standard : &o->text, is_standard ? &none : &o->tokens,
                          o->reading.tokens_dtype, NULL, e) != 0)
            return -1;
        if (t->text.bytes)
            drop_newline(&t->text, o, x->progress);
        return 0;
    }
    t->text = (struct text){.bytes = strdup(o->prompt),
                            .size = strlen(o->prompt),
                            .name = strdup("--prompt")};
    return t->text.bytes && t->text.name ? 0
                                         : fail_memory(e, (double)strlen(o->prompt), "the prompt");
}

int question_check(const struct explainer *x, const struct tokens *t, const char *name,
                   struct error *e)
{
    if (t->rows > 1)
        return fail(e, "%s: has %zu rows of tokens (expected one text: a 1-D file, or one row)",
                    name, t->rows);
    for (size_t i = 0; i < t->total; i++)
        if (t->ids[i] < 0 || t->ids[i] >= x->decoder->vocabulary)
            return fail(e,
                        "%s: id %d at index %zu is not in the vocabulary of %s (expected 0 to %d)",
                        name, (int)t->ids[i], i, x->argument->path, x->decoder->vocabulary - 1);
    return 0;
}

static int check_limit(const struct question *q, const struct explainer *x, size_t inputs,
                       struct error *e)
{
    int limit = decoder_limit(x->decoder);
    char why[DECODER_LIMIT_TEXT];

    return limit <= 0 || inputs <= (size_t)limit
               ? 0
               : fail(e,
                      "%s%s%s: %s, and there are %zu (expected a shorter text, or "
                      "--target-position %d at most)",
                      q->from ? q->from->where : "", q->from ? ": " : "", x->argument->path,
                      decoder_limit_text(why, x->decoder), inputs, limit + 1);
}

int question_take(struct question *q, const struct explainer *x, const struct tokens *t,
                  size_t position, int is_prompt, struct error *e)
{
    const char *name = t->name ? t->name : "text";
    size_t begins = (size_t)x->reading.bounds.begins, total = t->total + begins,
           most = total + (size_t)is_prompt;

    if (most < 2)
        return fail(e, "%s: has %s (expected at least 2 tokens: one input and the target)", name,
                    total ? "one token" : "no token");
    if (position > most)
        return fail(e, "--target-position %zu: %s has %zu tokens (expected 2 to %zu)", position,
                    name, total, most);
    q->count = (position ? position : most) - 1;
    if (q->count > 1 << 30)
        return fail(e, "%s: has %zu tokens (expected at most %d, or --target-position)", name,
                    total, (1 << 30) + 1);
    q->predicted = q->count == total;
    if (check_limit(q, x, q->count, e) != 0)
        return -1;
    q->id = calloc(q->count + 1, sizeof *q->id);
    if (!q->id)
        return fail_memory(e, (double)q->count * sizeof *q->id, "the tokens");
    if (begins)
        q->id[0] = x->reading.bounds.bos;
    memcpy(q->id + begins, t->ids, (q->count + 1 - (size_t)q->predicted - begins) * sizeof *q->id);
    return 0;
}

int grow(void **array, size_t count, size_t *room, size_t size, struct error *e)
{
    size_t wanted = 2 * *room + 16;
    void *grown;

    if (count < *room)
        return 0;
    grown = realloc(*array, wanted * size);
    if (!grown)
        return fail_memory(e, (double)wanted * (double)size, "the questions");
    *array = grown;
    *room = wanted;
    return 0;
}

struct question *questions_add(struct questions *q, const struct question *like, struct error *e)
{
    void *item = q->item;
    int rc = grow(&item, q->count, &q->room, sizeof *q->item, e);

    q->item = item;
    if (rc != 0)
        return NULL;
    q->item[q->count] = *like;
    return &q->item[q->count++];
}

/* Tokens of two texts joined; borrowed until the next text is read. */
static const struct tokens *read_joined(struct explainer *x, const char *where, const char *one,
                                        const char *other, struct error *e)
{
    struct run_text text = {0};
    char *joined, *name = strdup(where);
    const struct tokens *t = NULL;

    if (asprintf(&joined, "%s%s", one, other) < 0)
        joined = NULL;
    text.text = (struct text){.bytes = joined, .size = joined ? strlen(joined) : 0, .name = name};
    if (joined && name)
        t = model_text_tokens(&x->reading, &text, x->progress, e);
    else
        fail(e, "%s: out of memory", where);
    run_text_free(&text);
    return t;
}

/* The ids of a prompt and of its answer. The tokens of the prompt are those that it has by itself:
 * otherwise nobody could say which of them are the answer's. */
static int read_answer(int32_t **id, size_t *inputs, size_t *total, struct explainer *x,
                       const char *where, const char *prompt, const char *answer, struct error *e)
{
    size_t begins = (size_t)x->reading.bounds.begins;
    const struct tokens *t = read_joined(x, where, prompt, "", e);
    int32_t *first;

    if (!t)
        return -1;
    *inputs = t->total;
    first = malloc((t->total + 1) * sizeof *first);
    if (!first)
        return fail_memory(e, (double)t->total * sizeof *first, "the tokens");
    memcpy(first, t->ids, t->total * sizeof *first);
    t = read_joined(x, where, prompt, answer, e);
    if (t && (t->total <= *inputs || memcmp(first, t->ids, *inputs * sizeof *first) != 0)) {
        fail(e,
             "%s: the tokenizer joins the end of the prompt with the answer (expected a prompt "
             "that ends where a token ends; a blank between them belongs to the answer)",
             where);
        t = NULL;
    }
    free(first);
    if (!t || question_check(x, t, where, e) != 0)
        return -1;
    *total = t->total + begins;
    *inputs += begins;
    *id = malloc(*total * sizeof **id);
    if (!*id)
        return fail_memory(e, (double)*total * sizeof **id, "the tokens");
    if (begins)
        **id = x->reading.bounds.bos;
    memcpy(*id + begins, t->ids, t->total * sizeof **id);
    return 0;
}

/* Reads it with a blank before it, too, and takes the likelier. What cannot be read so is not
 * tried. */
static int try_blank(int32_t **id, size_t inputs, size_t *total, struct explainer *x,
                     const struct question *like, const char *where, const char *prompt,
                     const char *answer, struct error *e)
{
    struct error unused;
    int32_t *spaced_id = NULL;
    size_t spaced_inputs = 0, spaced_total = 0;
    char *spaced;
    int rc = 0, taken;

    if (asprintf(&spaced, " %s", answer) < 0)
        return fail(e, "%s: out of memory", where);
    if (read_answer(&spaced_id, &spaced_inputs, &spaced_total, x, where, prompt, spaced, &unused) ==
            0 &&
        check_limit(like, x, spaced_total - 1, &unused) == 0 &&
        (rc = explain_choose_blank(&taken, x, *id, *total, spaced_id, spaced_total, inputs, e)) ==
            0) {
        if (taken) {
            int32_t *plain = *id;

            *id = spaced_id;
            *total = spaced_total;
            spaced_id = plain;
        }
        rc = explain_tell_blank(x, answer, taken, e);
    }
    free(spaced);
    free(spaced_id);
    return rc;
}

int questions_add_answer(struct questions *q, struct explainer *x, const struct question *like,
                         const char *where, const char *prompt, const char *answer, struct error *e)
{
    int32_t *id;
    size_t inputs = 0, total = 0;
    int rc = read_answer(&id, &inputs, &total, x, where, prompt, answer, e);

    if (rc != 0)
        return -1;
    if (inputs == 0 || check_limit(like, x, total - 1, e) != 0)
        rc = inputs ? -1 : fail(e, "%s: has no token (expected at least one input)", where);
    else if (explain_may_take_blank(x, prompt, answer))
        rc = try_blank(&id, inputs, &total, x, like, where, prompt, answer, e);
    /* of one token there is no sum */
    for (size_t k = total - inputs > 1 ? 0 : 1; k <= total - inputs && rc == 0; k++) {
        struct question *next = questions_add(q, like, e);
        size_t ids = k == 0 ? total : inputs + k;

        if (!next || !(next->id = malloc(ids * sizeof *id))) {
            rc = next ? fail_memory(e, (double)ids * sizeof *id, "the tokens") : -1;
            break;
        }
        memcpy(next->id, id, ids * sizeof *id);
        next->count = k == 0 ? inputs : inputs + k - 1;
        next->prompt = inputs;
        next->answer = k == 0 ? total - inputs : 0;
        next->targets = 1;
        next->target = next->against = (struct named_token){0}; /* of other prompts */
    }
    free(id);
    return rc;
}

/* The answer to a text, whose bytes have no zero behind them. */
static int add_answer_to(struct questions *q, struct explainer *x, const struct question *like,
                         const struct text *text, struct error *e)
{
    const char *where = text->name ? text->name : "text";
    char *prompt;
    int rc;

    if (memchr(text->bytes, 0, text->size))
        return fail(e, "%s: has a zero byte (expected text before --answer)", where);
    if (!(prompt = strndup(text->bytes, text->size)))
        return fail_memory(e, (double)text->size, where);
    rc = questions_add_answer(q, x, like, where, prompt, x->options->answer, e);
    free(prompt);
    return rc;
}

/* One text, at each of its --target-positions. */
static int read_one_text(struct questions *q, struct explainer *x, const struct question *like,
                         struct error *e)
{
    const struct explain_options *o = x->options;
    size_t count = o->position_count ? o->position_count : 1;
    struct run_text text = {0};
    const struct tokens *t;
    int rc = -1;

    if (read_text(&text, x, e) != 0)
        goto end;
    if (o->answer) {
        rc = add_answer_to(q, x, like, &text.text, e);
        goto end;
    }
    if (!(t = model_text_tokens(&x->reading, &text, x->progress, e)) ||
        question_check(x, t, t->name ? t->name : "text", e) != 0)
        goto end;
    rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct question *next = questions_add(q, like, e);

        rc = next ? question_take(next, x, t, o->position_count ? o->positions[i] : 0,
                                  o->prompt != NULL, e)
                  : -1;
    }
end:
    run_text_free(&text);
    return rc;
}

int questions_read(struct questions *q, struct explainer *x, struct error *e)
{
    const struct explain_options *o = x->options;
    const char *path = x->argument->path;
    const long vocabulary = x->decoder->vocabulary;
    struct question like = {.targets = (size_t)o->targets};
    size_t most = 0;

    if (o->targets >= vocabulary)
        return fail(e, "%s: --targets %ld: has a vocabulary of %ld (expected fewer targets)", path,
                    o->targets, vocabulary);
    if (named_find(&like.target, x, path, "--target", o->target, 1, e) != 0 ||
        named_find(&like.against, x, path, "--against", o->against, 1, e) != 0 ||
        (o->prompts ? questions_of_prompts(q, x, &like, e) : read_one_text(q, x, &like, e)) != 0)
        return -1;
    explain_close_blank(x);
    if (x->blanks_tried)
        progress_message(x->progress,
                         "answers tried with and without a blank before them: %zu; the likelier is "
                         "taken, and explain.jsonl has it",
                         x->blanks_tried);
    for (size_t i = 0; i < q->count; i++)
        most = q->item[i].count > most ? q->item[i].count : most;
    model_tell_length(x->decoder, most, x->progress);
    model_text_tell(&x->reading, x->argument->name, x->progress);
    return 0;
}

void questions_free(struct questions *q)
{
    for (size_t i = 0; i < q->count; i++)
        free(q->item[i].id);
    for (size_t i = 0; i < q->line_count; i++) {
        struct prompt_line *line = q->line[i];

        free(line->where);
        free(line->name);
        free(line->target);
        free(line->against);
        free(line->answer);
        json_decref(line->object);
        free(line);
    }
    free(q->item);
    free(q->line);
    *q = (struct questions){0};
}
