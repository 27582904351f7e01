#include "io/tokenizer/parts.h"

#include <stdlib.h>
#include <string.h>

int tokenizer_find(const struct tokenizer *t, struct span content)
{
    int32_t id = map_find(&t->added, content.text, content.size);
    return id != MAP_ABSENT ? id : map_find(&t->bpe.vocabulary, content.text, content.size);
}

int tokenizer_add(struct tokenizer *t, struct span content, struct added_token token,
                  int is_normalized, struct error *e)
{
    int32_t known = map_find(&t->bpe.vocabulary, content.text, content.size);
    struct span found = content;
    if (known != MAP_ABSENT && known != token.id)
        return fail(e, "the added token '%.60s' has the id %d, and %d in the vocabulary",
                    content.text, token.id, known);
    if (map_set(&t->added, content.text, content.size, token.id, e) ||
        (is_normalized && normalize(&t->normalizer, &found, content, e)))
        return -1;
    return added_add(is_normalized ? &t->normalized : &t->verbatim, found, token, e);
}

int tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

int tokenizer_adds_bos(const struct tokenizer *t)
{
    return t->adds_bos;
}

struct tokenizer *tokenizer_create(size_t merges, struct error *e)
{
    struct tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        fail_memory(e, sizeof *t, "a tokenizer");
        return NULL;
    }
    t->bos = -1;
    t->bpe.unknown = BPE_NONE;
    if (bpe_start(&t->bpe, merges, e)) {
        tokenizer_close(t);
        return NULL;
    }
    return t;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    added_free(&t->verbatim);
    normalizer_free(&t->normalizer);
    added_free(&t->normalized);
    splitter_free(&t->splitter);
    bpe_free(&t->bpe);
    unigram_free(&t->unigram);
    map_free(&t->added);
    free(t);
}

/* A merge written as two tokens with a blank between them. */
static int read_merge_line(struct tokenizer *t, struct span line, struct error *e)
{
    const char *blank = memchr(line.text, ' ', line.size), *end = line.text + line.size;
    if (!blank || memchr(blank + 1, ' ', (size_t)(end - blank - 1)))
        return fail(e, "merge %zu is not two tokens with a blank between them",
                    t->bpe.merge_count + 1);
    return bpe_add_merge(&t->bpe, (struct span){line.text, (size_t)(blank - line.text)},
                         (struct span){blank + 1, (size_t)(end - blank - 1)}, e);
}

static int is_version(struct span line)
{
    return line.size >= 8 && memcmp(line.text, "#version", 8) == 0;
}

int tokenizer_merge(struct tokenizer *t, struct span line, struct error *e)
{
    return is_version(line) ? 0 : read_merge_line(t, line, e);
}

/* Byte pair encoding converts the bytes itself if that is the last step, which is faster. */
void tokenizer_finish(struct tokenizer *t)
{
    struct splitter *s = &t->splitter;
    if (s->count && s->step[s->count - 1].kind == SPLIT_BYTES && !t->unigram.is_model) {
        s->count--;
        t->bpe.bytes_as_characters = 1;
    }
    bpe_finish(&t->bpe);
    if (t->unigram.is_model)
        unigram_finish(&t->unigram, &t->bpe.vocabulary);
}

int tokenizer_name_file(const char *path, const struct error *inner, struct error *e)
{
    return fail(e, "%s: %s", path, inner->text);
}
