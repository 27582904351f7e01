#include "io/tokenizer/texts.h"

#include "io/tokenizer/parts.h"

#include <stdlib.h>
#include <string.h>

/* The requested ids, ascending, each once, and the start of each one's text in `text`. */
struct wanted {
    int32_t *id;
    size_t *start, *size; /* [count]; start SIZE_MAX: none */
    size_t count;
    struct buffer text;
    short byte_of[0x200]; /* characters of the byte alphabet; -1: none */
    int spelt_bytes, byte_tokens;
    uint32_t blank; /* the character for a blank */
};

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void wanted_close(struct wanted *w)
{
    free(w->id);
    free(w->start);
    free(w->size);
    buffer_free(&w->text);
}

static int wanted_open(struct wanted *w, const struct tokenizer *t, const int32_t *ids,
                       size_t count, struct error *e)
{
    size_t words = 0, most = 0;
    *w = (struct wanted){0};
    for (size_t i = 0; i < count; i++)
        words = (size_t)ids[i] / 64 >= words ? (size_t)ids[i] / 64 + 1 : words;
    uint64_t *bits = calloc(words + 1, sizeof *bits); /* sorting the ids would take longer */
    if (!bits)
        return fail_memory(e, (double)words * sizeof *bits, "token ids");
    for (size_t i = 0; i < count; i++)
        bits[ids[i] / 64] |= (uint64_t)1 << ids[i] % 64;
    for (size_t i = 0; i < words; i++)
        most += (size_t)__builtin_popcountll(bits[i]);
    if ((w->id = malloc((most + 1) * sizeof *w->id)))
        for (size_t i = 0; i < words; i++)
            for (uint64_t left = bits[i]; left; left &= left - 1)
                w->id[w->count++] = (int32_t)(64 * i + (size_t)__builtin_ctzll(left));
    free(bits);
    if (!w->id)
        return fail_memory(e, (double)most * sizeof *w->id, "token ids");
    w->start = malloc((w->count + 1) * sizeof *w->start);
    w->size = calloc(w->count + 1, sizeof *w->size);
    if (!w->start || !w->size)
        return fail_memory(e, (double)w->count * 2 * sizeof *w->start, "the texts of tokens");
    for (size_t i = 0; i < w->count; i++)
        w->start[i] = SIZE_MAX;
    memset(w->byte_of, -1, sizeof w->byte_of);
    for (int i = 0; i < 256; i++)
        w->byte_of[byte_character((unsigned char)i)] = (short)i;
    w->spelt_bytes = t->bpe.bytes_as_characters;
    w->blank = 0x2581;
    for (int i = 0; i < t->splitter.count; i++) {
        const struct split_step *s = &t->splitter.step[i];
        size_t size;
        w->spelt_bytes |= s->kind == SPLIT_BYTES;
        if (s->kind == SPLIT_SPACES)
            w->blank = character_at(s->prefix.text, &size);
    }
    w->byte_tokens = t->bpe.byte_fallback || t->unigram.byte_fallback ||
                     (map_find(&t->bpe.vocabulary, "<0x00>", 6) >= 0 &&
                      map_find(&t->bpe.vocabulary, "<0xFF>", 6) >= 0);
    return 0;
}

/* <0x0A>: the byte, or -1. */
static int byte_token(const char *text, size_t size)
{
    char digits[3] = "", *end;
    if (size != 6 || memcmp(text, "<0x", 3) || text[5] != '>')
        return -1;
    memcpy(digits, text + 3, 2);
    long byte = strtol(digits, &end, 16);
    return *end || end != digits + 2 ? -1 : (int)byte;
}

static int add_character(struct wanted *w, const char *text, size_t size, uint32_t character,
                         struct error *e)
{
    if (w->spelt_bytes && character < 0x200 && w->byte_of[character] >= 0)
        return buffer_add(&w->text, &(const char){(char)w->byte_of[character]}, 1, e);
    if (!w->spelt_bytes && character == w->blank)
        return buffer_add(&w->text, " ", 1, e);
    return buffer_add(&w->text, text, size, e);
}

/* A token as spelled in the vocabulary; in an added one (maybe also there) only blanks are
 * spelled. */
static int add_spelt(struct wanted *w, const char *text, size_t size, int is_added, struct error *e)
{
    int byte = w->byte_tokens && !is_added ? byte_token(text, size) : -1;
    if (byte >= 0)
        return buffer_add(&w->text, &(const char){(char)byte}, 1, e);
    if ((is_added && w->spelt_bytes) || utf8_sound((struct span){text, size}) != size)
        return buffer_add(&w->text, text, size, e);
    for (size_t at = 0, taken; at < size; at += taken) {
        uint32_t character = character_at(text + at, &taken);
        if (add_character(w, text + at, taken, character, e))
            return -1;
    }
    return 0;
}

/* The texts of the wanted tokens of a map, replacing earlier ones. */
static int add_map(struct wanted *w, const struct map *m, int is_added, struct error *e)
{
    const void *key;
    size_t at = 0, size;
    int32_t id;
    while (map_next(m, &at, &key, &size, &id)) {
        const int32_t *found = bsearch(&id, w->id, w->count, sizeof id, by_value);
        if (!found)
            continue;
        size_t i = (size_t)(found - w->id);
        w->start[i] = w->text.size;
        if (add_spelt(w, key, size, is_added, e))
            return -1;
        w->size[i] = w->text.size - w->start[i];
    }
    return 0;
}

static int make(struct token_texts *out, const struct wanted *w, struct error *e)
{
    struct token_text *piece = calloc(w->count + 1, sizeof *piece);
    size_t count = 0;
    if (!piece)
        return fail_memory(e, (double)w->count * sizeof *piece, "the texts of tokens");
    for (size_t i = 0; i < w->count; i++)
        if (w->start[i] != SIZE_MAX)
            piece[count++] = (struct token_text){w->id[i], w->size[i], w->text.text + w->start[i]};
    int result = texts_make(out, piece, count, e);
    free(piece);
    return result;
}

int tokenizer_texts(struct token_texts *out, const struct tokenizer *t, const int32_t *ids,
                    size_t count, struct error *e)
{
    struct wanted w;
    *out = (struct token_texts){0};
    int result = wanted_open(&w, t, ids, count, e) || add_map(&w, &t->bpe.vocabulary, 0, e) ||
                         add_map(&w, &t->added, 1, e) || make(out, &w, e)
                     ? -1
                     : 0;
    wanted_close(&w);
    return result;
}
