#include "io/tokenizer/bpe.h"

#include "io/element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link in a word's chain of symbols. */
struct symbol {
    int32_t id;
    int32_t previous, next; /* -1: none */
    int alive; /* 0: merged into the previous one */
};

struct bpe_tables {
    struct pairs ids; /* while tokens are added: the ids already used, each with 0 */
    struct words words;
    struct symbol *symbols;
    size_t symbol_count, symbol_room;
    uint64_t *queue; /* rank << 32 | position: a heap, the smallest on top */
    size_t queue_count, queue_room;
    struct buffer spelt; /* a word in the byte alphabet, or the result of a merge */
    int32_t fallback[256]; /* id of the token <0x..>, or MAP_ABSENT */
    struct spelling {
        char text[2];
        unsigned char size;
        int32_t id; /* MAP_ABSENT: no token */
        uint32_t character;
    } byte[256]; /* in the byte alphabet */
    unsigned char known[CHARACTERS / 8]; /* a bit for each character that is a token */
};

uint32_t byte_character(unsigned char byte)
{
    if ((byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD))
        return byte;
    return 0x100u + (byte <= ' ' ? byte : byte == 0xAD ? 67u : byte - 0x7Fu + 33u);
}

/* -- the tables of the file -- */

int bpe_start(struct bpe *b, size_t merges, struct error *e)
{
    struct bpe_tables *t = b->tables = calloc(1, sizeof *t);
    if (!t)
        return fail_memory(e, sizeof *t, "a tokenizer");
    return neighbours_start(&b->neighbours, merges, e) || words_start(&t->words, e) ||
                   pairs_reserve(&b->merges, merges, e)
               ? -1
               : 0;
}

int bpe_reserve(struct bpe *b, size_t tokens, size_t bytes, struct error *e)
{
    return pairs_reserve(&b->tables->ids, tokens, e) ||
                   map_reserve(&b->vocabulary, tokens, bytes, e)
               ? -1
               : 0;
}

int bpe_add_token(struct bpe *b, struct span token, int64_t id, struct error *e)
{
    struct bpe_tables *t = b->tables;
    size_t size;
    if (id < 0 || id >= INT32_MAX)
        return fail(e, "token '%.*s' has the id %lld (expected 0 to %d)", bpe_shown(token),
                    token.text, (long long)id, INT32_MAX - 1);
    int added = map_add(&b->vocabulary, token.text, token.size, (int32_t)id, e);
    if (added != 1)
        return added ? -1 : fail(e, "token '%.*s' is listed twice", bpe_shown(token), token.text);
    if ((added = pairs_add(&t->ids, (int32_t)id, 0, e)) != 1)
        return added ? -1
                     : fail(e, "token '%.*s' has the id %lld, which another token has too",
                            bpe_shown(token), token.text, (long long)id);
    if (token.size > b->longest)
        b->longest = token.size;
    if (token.size) {
        uint32_t character = character_at(token.text, &size);
        if (size == token.size)
            t->known[character >> 3] |= (unsigned char)(1 << (character & 7));
    }
    return 0;
}

/* -- where a long word may be cut --
 *
 * A merge joins the last character of its left part with the first of its right part. If no merge
 * joins two neighbours this way, none can ever reach across: cut there, a word gives the same
 * tokens. That finds the words of texts that are not split beforehand (Llama-2, Gemma). */

static void note_pair(struct bpe *b, struct span left, struct span right)
{
    size_t at = left.size, size;
    if (left.size == 0 || right.size == 0)
        return;
    do
        at--;
    while (at > 0 && ((unsigned char)left.text[at] & 0xC0) == 0x80);
    neighbours_note(&b->neighbours, character_at(left.text + at, &size),
                    character_at(right.text, &size));
}

/* 1 if the symbols of two neighbours can never become one. Characters that are not tokens become
 * other symbols, for which the answer is 0. */
static int may_cut(const struct bpe *b, uint32_t left, uint32_t right)
{
    const struct bpe_tables *t = b->tables;
    return !neighbours_may_meet(&b->neighbours, left, right) &&
           t->known[left >> 3] >> (left & 7) & 1 && t->known[right >> 3] >> (right & 7) & 1;
}

/* -- merges -- */

static int32_t find_part(const struct bpe *b, struct span part, struct error *e)
{
    int32_t id = map_find(&b->vocabulary, part.text, part.size);
    if (id == MAP_ABSENT)
        fail(e, "merge %zu needs '%.*s', which is not a token", b->merge_count + 1, bpe_shown(part),
             part.text);
    return id;
}

int bpe_add_merge(struct bpe *b, struct span left, struct span right, struct error *e)
{
    struct buffer *joint = &b->tables->spelt;
    int32_t pair[2], id = MAP_ABSENT;
    if ((pair[0] = find_part(b, left, e)) == MAP_ABSENT ||
        (pair[1] = find_part(b, right, e)) == MAP_ABSENT)
        return -1;
    joint->size = 0;
    if (buffer_add(joint, left.text, left.size, e) == 0 &&
        buffer_add(joint, right.text, right.size, e) == 0)
        id = find_part(b, buffer_span(joint), e);
    if (id == MAP_ABSENT)
        return -1;
    if (b->merge_count == b->merge_room) {
        size_t room = b->merge_room ? 2 * b->merge_room : 1024;
        int32_t *grown = room < INT32_MAX ? realloc(b->merged, room * sizeof *grown) : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "merges");
        b->merged = grown;
        b->merge_room = room;
    }
    note_pair(b, left, right);
    if (pairs_set(&b->merges, pair[0], pair[1], (int32_t)b->merge_count, id, e))
        return -1;
    b->merged[b->merge_count++] = id;
    return 0;
}

void bpe_finish(struct bpe *b)
{
    struct bpe_tables *t = b->tables;
    pairs_free(&t->ids);
    for (int i = 0; i < 256; i++) {
        char text[CHARACTER_BYTES_MAX + 3];
        struct spelling *s = &t->byte[i];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        t->fallback[i] = map_find(&b->vocabulary, text, 6);
        s->character = byte_character((unsigned char)i);
        s->size = (unsigned char)character_write(text, s->character);
        memcpy(s->text, text, s->size);
        s->id = map_find(&b->vocabulary, s->text, s->size);
    }
}

/* -- one word -- */

static int add_symbol(struct bpe_tables *t, int32_t id, struct error *e)
{
    if (t->symbol_count == t->symbol_room) {
        size_t room = t->symbol_room ? 2 * t->symbol_room : 256;
        struct symbol *grown = room < INT32_MAX ? realloc(t->symbols, room * sizeof *grown) : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a word");
        t->symbols = grown;
        t->symbol_room = room;
    }
    int32_t at = (int32_t)t->symbol_count++;
    t->symbols[at] = (struct symbol){.id = id, .previous = at - 1, .next = -1, .alive = 1};
    if (at)
        t->symbols[at - 1].next = at;
    return 0;
}

/* Unknown characters that are not symbols yet. The reference library lets byte fallbacks pass them,
 * and so do we. */
struct unknown {
    int waiting;
};

static int flush_unknown(const struct bpe *b, struct unknown *u, struct error *e)
{
    int waiting = u->waiting;
    u->waiting = 0;
    return waiting ? add_symbol(b->tables, b->unknown, e) : 0;
}

/* A character that is not a token: by its bytes, as an unknown one, or dropped. */
static int add_unknown(const struct bpe *b, struct unknown *u, const char *text, size_t size,
                       struct error *e)
{
    struct bpe_tables *t = b->tables;
    int bytes = b->byte_fallback;
    for (size_t i = 0; bytes && i < size; i++)
        bytes = t->fallback[(unsigned char)text[i]] != MAP_ABSENT;
    for (size_t i = 0; bytes && i < size; i++)
        if (add_symbol(t, t->fallback[(unsigned char)text[i]], e))
            return -1;
    if (bytes || b->unknown == BPE_NONE)
        return 0;
    if (b->unknown == BPE_MISSING)
        return fail(e,
                    "the text holds '%.*s', which no token matches, and the unknown token is not "
                    "in the vocabulary",
                    (int)size, text);
    if (u->waiting && !b->fuse_unknown && flush_unknown(b, u, e))
        return -1;
    u->waiting = 1;
    return 0;
}

/* Each character, with or without a token. */
static int make_characters(const struct bpe *b, struct span word, struct error *e)
{
    struct bpe_tables *t = b->tables;
    for (size_t at = 0, size; at < word.size; at += size) {
        uint32_t character = character_at(word.text + at, &size);
        int32_t id = character > ' ' && character < 0x7F
                         ? t->byte[character].id
                         : map_find(&b->vocabulary, word.text + at, size);
        if (add_symbol(t, id != MAP_ABSENT ? id : CHARACTER_IDS + (int32_t)character, e))
            return -1;
    }
    return 0;
}

static int make_symbols(const struct bpe *b, struct span word, struct error *e)
{
    struct bpe_tables *t = b->tables;
    struct unknown u = {0};
    t->symbol_count = 0;
    if (b->by_score)
        return make_characters(b, word, e);
    for (size_t at = 0, size; at < word.size; at += size) {
        const char *text = word.text + at;
        int32_t id;
        if (b->bytes_as_characters) {
            const struct spelling *s = &t->byte[(unsigned char)*text];
            id = s->id;
            size = 1;
            if (id == MAP_ABSENT && add_unknown(b, &u, s->text, s->size, e))
                return -1;
        } else {
            uint32_t character = character_at(text, &size);
            id = character > ' ' && character < 0x7F
                     ? t->byte[character].id
                     : map_find(&b->vocabulary, text, size); /* spell themselves */
            if (id == MAP_ABSENT && add_unknown(b, &u, text, size, e))
                return -1;
        }
        if (id != MAP_ABSENT && (flush_unknown(b, &u, e) || add_symbol(t, id, e)))
            return -1;
    }
    return flush_unknown(b, &u, e);
}

static int queue_push(struct bpe_tables *t, uint64_t item, struct error *e)
{
    if (t->queue_count == t->queue_room) {
        size_t room = t->queue_room ? 2 * t->queue_room : 256;
        uint64_t *grown = realloc(t->queue, room * sizeof *grown);
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a word");
        t->queue = grown;
        t->queue_room = room;
    }
    size_t at = t->queue_count++;
    for (; at && t->queue[(at - 1) / 2] > item; at = (at - 1) / 2)
        t->queue[at] = t->queue[(at - 1) / 2];
    t->queue[at] = item;
    return 0;
}

static uint64_t queue_pop(struct bpe_tables *t)
{
    uint64_t top = t->queue[0], item = t->queue[--t->queue_count];
    size_t at = 0, count = t->queue_count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && t->queue[child + 1] < t->queue[child])
            child++;
        if (t->queue[child] >= item)
            break;
        t->queue[at] = t->queue[child];
    }
    t->queue[at] = item;
    return top;
}

/* The merge of the symbol at `at` with its next one, or NULL. */
static const struct pair *pair_at(const struct bpe *b, int32_t at)
{
    const struct symbol *s = &b->tables->symbols[at];
    return s->next < 0 ? NULL : pairs_find(&b->merges, s->id, b->tables->symbols[s->next].id);
}

static int queue_merge(const struct bpe *b, int32_t at, struct error *e)
{
    const struct pair *p = pair_at(b, at);
    return p ? queue_push(b->tables, (uint64_t)(p->rank_behind - 1) << 32 | (uint32_t)at, e) : 0;
}

static int merge_symbols(const struct bpe *b, struct error *e)
{
    struct bpe_tables *t = b->tables;
    t->queue_count = 0;
    for (size_t i = 0; i + 1 < t->symbol_count; i++)
        if (queue_merge(b, (int32_t)i, e))
            return -1;
    while (t->queue_count) {
        uint64_t top = queue_pop(t);
        int32_t at = (int32_t)(uint32_t)top, rank = (int32_t)(top >> 32);
        struct symbol *s = &t->symbols[at];
        const struct pair *now;
        /* an entry is valid while its place still gives the same token, by scores the same score */
        if (!s->alive || !(now = pair_at(b, at)) ||
            (b->by_score ? now->rank_behind != rank + 1 : now->merged != b->merged[rank]))
            continue;
        struct symbol *right = &t->symbols[s->next];
        right->alive = 0;
        s->id = now->merged;
        s->next = right->next;
        if (s->next >= 0)
            t->symbols[s->next].previous = at;
        if ((s->previous >= 0 && queue_merge(b, s->previous, e)) || queue_merge(b, at, e))
            return -1;
    }
    return 0;
}

/* Appends the symbols with scores: remaining characters by their bytes, or as unknown ones, where
 * neighbours share a token. */
static int add_characters(const struct bpe *b, struct ids *out, struct error *e)
{
    const struct bpe_tables *t = b->tables;
    int was_unknown = 0;
    if (ids_reserve(out, CHARACTER_BYTES_MAX * t->symbol_count, e))
        return -1;
    for (int32_t i = t->symbol_count ? 0 : -1; i >= 0; i = t->symbols[i].next) {
        char text[CHARACTER_BYTES_MAX];
        int32_t id = t->symbols[i].id;
        int is_unknown = id >= CHARACTER_IDS && !b->byte_fallback;
        if (id < CHARACTER_IDS)
            out->id[out->count++] = id;
        else if (is_unknown && !was_unknown)
            out->id[out->count++] = b->unknown;
        for (size_t k = 0, size = id < CHARACTER_IDS || is_unknown
                                      ? 0
                                      : character_write(text, (uint32_t)(id - CHARACTER_IDS));
             k < size; k++)
            out->id[out->count++] = t->fallback[(unsigned char)text[k]];
        was_unknown = is_unknown;
    }
    return 0;
}

static int encode_symbols(const struct bpe *b, struct ids *out, struct span word, struct error *e)
{
    struct bpe_tables *t = b->tables;
    if (make_symbols(b, word, e) || merge_symbols(b, e))
        return -1;
    if (b->by_score)
        return add_characters(b, out, e);
    if (ids_reserve(out, t->symbol_count, e))
        return -1;
    for (int32_t i = t->symbol_count ? 0 : -1; i >= 0; i = t->symbols[i].next)
        out->id[out->count++] = t->symbols[i].id;
    return 0;
}

/* -- cached words -- */

/* The id of a word that is a token as a whole, or MAP_ABSENT. */
static int32_t whole_word(const struct bpe *b, struct span word, struct error *e)
{
    struct bpe_tables *t = b->tables;
    if (word.size > b->longest)
        return MAP_ABSENT;
    if (!b->bytes_as_characters)
        return map_find(&b->vocabulary, word.text, word.size);
    t->spelt.size = 0;
    if (buffer_reserve(&t->spelt, 2 * word.size, e))
        return BPE_MISSING;
    for (size_t i = 0; i < word.size; i++) {
        const struct spelling *s = &t->byte[(unsigned char)word.text[i]];
        memcpy(t->spelt.text + t->spelt.size, s->text, s->size);
        t->spelt.size += s->size;
    }
    return map_find(&b->vocabulary, t->spelt.text, t->spelt.size);
}

static int encode_short(struct bpe *b, struct ids *out, struct span word, struct error *e)
{
    uint64_t hash;
    int known = words_find(&b->tables->words, out, word, &hash, e);
    if (known)
        return known < 0 ? -1 : 0;
    size_t start = out->count;
    int32_t id = b->ignore_merges ? whole_word(b, word, e) : MAP_ABSENT;
    if (id == BPE_MISSING ||
        (id == MAP_ABSENT ? encode_symbols(b, out, word, e) : ids_add(out, id, e)))
        return -1;
    if (out->count >
        start) /* unknown characters alone may have no ids, and there may be none yet */
        words_keep(&b->tables->words, word, hash, out->id + start, out->count - start);
    return 0;
}

/* A part of a long word, uncrossed by merges. With ignore_merges only whole words are cached. */
static int encode_part(struct bpe *b, struct ids *out, const char *from, const char *to,
                       struct error *e)
{
    struct span part = {from, (size_t)(to - from)};
    if (tell_bytes(&b->teller, part.size, e))
        return -1;
    return b->ignore_merges || part.size > WORD_BYTES_MAX ? encode_symbols(b, out, part, e)
                                                          : encode_short(b, out, part, e);
}

static int encode_long(struct bpe *b, struct ids *out, struct span word, struct error *e)
{
    const struct bpe_tables *t = b->tables;
    const char *start = word.text, *at = word.text, *end = word.text + word.size;
    uint32_t before = 0;
    for (size_t size; at < end; at += size) {
        uint32_t character;
        if (b->bytes_as_characters) {
            character = t->byte[(unsigned char)*at].character;
            size = 1;
        } else {
            character = character_at(at, &size);
        }
        if (at > start && may_cut(b, before, character)) {
            if (encode_part(b, out, start, at, e))
                return -1;
            start = at;
        }
        before = character;
    }
    return encode_part(b, out, start, end, e);
}

int bpe_encode(struct bpe *b, struct ids *out, struct span word, struct error *e)
{
    if (word.size == 0)
        return 0;
    if (word.size <= WORD_BYTES_MAX)
        return tell_bytes(&b->teller, word.size, e) ? -1 : encode_short(b, out, word, e);
    int32_t id = b->ignore_merges ? whole_word(b, word, e) : MAP_ABSENT;
    if (id == BPE_MISSING)
        return -1;
    return id == MAP_ABSENT ? encode_long(b, out, word, e) : ids_add(out, id, e);
}

void bpe_free(struct bpe *b)
{
    struct bpe_tables *t = b->tables;
    map_free(&b->vocabulary);
    pairs_free(&b->merges);
    neighbours_free(&b->neighbours);
    free(b->merged);
    if (t) {
        pairs_free(&t->ids);
        words_free(&t->words);
        free(t->symbols);
        free(t->queue);
        buffer_free(&t->spelt);
        free(t);
    }
    *b = (struct bpe){0};
}
