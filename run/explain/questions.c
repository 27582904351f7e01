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
                          NULL, e) != 0)
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

int question_take(struct question *q, const struct explainer *x, const struct tokens *t,
                  size_t position, int is_prompt, struct error *e)
{
    const struct decoder *d = x->decoder;
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
    if (d->position_limit > 0 && q->count > (size_t)d->position_limit)
        return fail(e,
                    "%s%s%s: has learned positions for %d inputs, and there are %zu (expected a "
                    "shorter text, or --target-position %d at "
                    "most)",
                    q->where ? q->where : "", q->where ? ": " : "", x->argument->path,
                    d->position_limit, q->count, d->position_limit + 1);
    q->id = calloc(q->count + 1, sizeof *q->id);
    if (!q->id)
        return fail_memory(e, (double)q->count * sizeof *q->id, "the tokens");
    if (begins)
        q->id[0] = x->reading.bounds.bos;
    memcpy(q->id + begins, t->ids, (q->count + 1 - (size_t)q->predicted - begins) * sizeof *q->id);
    return 0;
}

static int make_room(struct questions *q, size_t count, struct error *e)
{
    q->item = calloc(count, sizeof *q->item);
    if (!q->item)
        return fail_memory(e, (double)count * sizeof *q->item, "the questions");
    q->count = count;
    return 0;
}

/* One text, at each of its --target-positions. */
static int read_one_text(struct questions *q, struct explainer *x, const struct named_token *target,
                         const struct named_token *against, struct error *e)
{
    const struct explain_options *o = x->options;
    struct run_text text = {0};
    const struct tokens *t;
    int rc = -1;

    if (read_text(&text, x, e) != 0 ||
        !(t = model_text_tokens(&x->reading, &text, x->progress, e)) ||
        question_check(x, t, t->name ? t->name : "text", e) != 0 ||
        make_room(q, o->position_count ? o->position_count : 1, e) != 0)
        goto end;
    rc = 0;
    for (size_t i = 0; i < q->count && rc == 0; i++) {
        q->item[i] = (struct question){.target = *target,
                                       .against = *against,
                                       .targets = (size_t)o->targets};
        rc = question_take(&q->item[i], x, t, o->position_count ? o->positions[i] : 0,
                           o->prompt != NULL, e);
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
    struct named_token target, against;
    size_t most = 0;

    if (o->targets >= vocabulary)
        return fail(e, "%s: --targets %ld: has a vocabulary of %ld (expected fewer targets)", path,
                    o->targets, vocabulary);
    if (named_find(&target, x, path, "--target", o->target, 1, e) != 0 ||
        named_find(&against, x, path, "--against", o->against, 1, e) != 0 ||
        (o->prompts ? questions_of_prompts(q, x, &target, &against, e)
                    : read_one_text(q, x, &target, &against, e)) != 0)
        return -1;
    for (size_t i = 0; i < q->count; i++)
        most = q->item[i].count > most ? q->item[i].count : most;
    model_tell_length(x->decoder, most, x->progress);
    model_text_tell(&x->reading, x->argument->name, x->progress);
    return 0;
}

void questions_free(struct questions *q)
{
    for (size_t i = 0; i < q->count; i++) {
        struct question *one = &q->item[i];

        free(one->id);
        free(one->where);
        free(one->name);
        free(one->target_text);
        free(one->against_text);
        json_decref(one->line);
    }
    free(q->item);
    *q = (struct questions){0};
}
