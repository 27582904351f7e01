/* A text through all parts of a tokenizer. */
#include "io/tokenizer/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int encode_word(void *context, struct span word, struct error *e)
{
    struct tokenizer *t = context;
    return t->unigram.is_model ? unigram_encode(&t->unigram, t->out, word, e)
                               : bpe_encode(&t->bpe, t->out, word, e);
}

/* A part of the normalized text. */
static int encode_normalized(void *context, int32_t id, struct span part, struct error *e)
{
    struct tokenizer *t = context;
    return id >= 0 ? ids_add(t->out, id, e)
                   : split_text(&t->splitter, part, t->first && part.text == t->normal, e);
}

/* A part of the text as it is. */
static int encode_verbatim(void *context, int32_t id, struct span part, struct error *e)
{
    struct tokenizer *t = context;
    struct span normal;
    if (id >= 0)
        return ids_add(t->out, id, e);
    t->first = part.text == t->text;
    if (t->pieces)
        t->pieces->later = !t->first;
    if (normalize(&t->normalizer, &normal, part, e))
        return -1;
    t->normal = normal.text;
    t->before = (size_t)(part.text - t->text);
    t->part = part.size;
    t->seen = 0;
    t->scale = normal.size ? (double)part.size / (double)normal.size : 0;
    return added_split(&t->normalized, normal, encode_normalized, t, e);
}

/* Words may be longer than their source text, so the reported position stays within the part. */
static int tell_done(void *context, size_t bytes, struct error *e)
{
    struct tokenizer *t = context;
    t->seen += bytes;
    double done = (double)t->seen * t->scale;
    t->told = t->before + (done < (double)t->part ? (size_t)done : t->part);
    return t->step(t->context, t->told, e);
}

/* From within a pattern: no new work was done. */
static int tell_nothing(void *context, struct error *e)
{
    const struct tokenizer *t = context;
    return t->step(t->context, t->told, e);
}

int tokenizer_tell(const struct tokenizer *t, size_t done, struct error *e)
{
    return t->step ? t->step(t->context, done, e) : 0;
}

void tokenizer_watch(struct tokenizer *t, int (*step)(void *context, size_t done, struct error *e),
                     void *context)
{
    for (int i = 0; i < t->splitter.count; i++)
        if (t->splitter.step[i].pattern)
            pattern_watch(t->splitter.step[i].pattern, step ? tell_nothing : NULL, t);
    for (int i = 0; i < t->normalizer.count; i++)
        if (t->normalizer.step[i].pattern)
            pattern_watch(t->normalizer.step[i].pattern, step ? tell_nothing : NULL, t);
    t->step = step;
    t->context = context;
    t->bpe.teller = t->unigram.teller = (struct teller){.step = step ? tell_done : NULL,
                                                        .context = t};
}

/* The only token of the text; -1: not a single one. */
static int only_token(struct tokenizer *t, const char *text)
{
    struct ids ids = {0};
    struct error none;
    int id = tokenizer_encode(t, &ids, text, strlen(text), &none) == 0 && ids.count == 1 ? ids.id[0]
                                                                                         : -1;
    free(ids.id);
    return id;
}

int tokenizer_token(struct tokenizer *t, const char *text)
{
    int id = tokenizer_find(t, (struct span){text, strlen(text)});
    return id >= 0 ? id : only_token(t, text);
}

int tokenizer_readings(int id[TOKENIZER_READINGS], struct tokenizer *t, const char *text)
{
    static const char mark[] = "\xE2\x96\x81"; /* U+2581, SentencePiece's blank */
    const char *word = text + (*text == ' ');
    char *spaced = malloc(sizeof mark + strlen(word)), *marked = malloc(sizeof mark + strlen(word));
    int found[TOKENIZER_READINGS] = {tokenizer_token(t, text), only_token(t, text), -1, -1},
        count = 0;
    if (spaced && marked) {
        sprintf(spaced, " %s", word);
        sprintf(marked, "%s%s", mark, word);
        found[2] = only_token(t, spaced);
        found[3] = tokenizer_find(t, (struct span){marked, strlen(marked)});
    }
    for (int i = 0; i < TOKENIZER_READINGS; i++) {
        int known = found[i] < 0;
        for (int k = 0; k < count; k++)
            known |= id[k] == found[i];
        if (!known)
            id[count++] = found[i];
    }
    free(spaced);
    free(marked);
    return count;
}

int tokenizer_encode(struct tokenizer *t, struct ids *out, const void *text, size_t size,
                     struct error *e)
{
    struct span whole = {text, size};
    struct buffer repaired = {0};
    int result = -1;
    if (utf8_sound(whole) != size) {
        if (utf8_repair(&repaired, whole, e))
            goto end;
        whole = buffer_span(&repaired);
    }
    t->out = out;
    t->told = 0;
    t->text = whole.text;
    t->splitter.each = encode_word;
    t->splitter.context = t;
    result = added_split(&t->verbatim, whole, encode_verbatim, t, e);
end:
    buffer_free(&repaired);
    return result;
}
