#include "io/tokenizer/unigram.h"

#include <stdio.h>
#include <stdlib.h>

#define SUM_MAX 100000.0

/* The best way to a place in the text. */
struct unigram_step {
    double score; /* its sum */
    int32_t id; /* of its last token */
    uint32_t size; /* its bytes; 0: no way leads here */
    uint32_t next; /* of the best way of all: bytes of the token that begins here */
};

/* -- the tokens -- */

static int add_node(struct unigram *u, struct error *e)
{
    if (u->node_count == u->node_room) {
        size_t room = u->node_room ? 2 * u->node_room : 1024;
        struct unigram_node *grown = room < INT32_MAX ? realloc(u->node, room * sizeof *grown)
                                                      : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a vocabulary");
        u->node = grown;
        u->node_room = room;
    }
    u->node[u->node_count++] = (struct unigram_node){.id = UNIGRAM_NONE};
    return 0;
}

int unigram_start(struct unigram *u, size_t tokens, size_t bytes, struct error *e)
{
    u->is_model = 1;
    u->unknown = UNIGRAM_NONE;
    return add_node(u, e) || words_start(&u->words, e) ||
                   neighbours_start(&u->neighbours, tokens, e) ||
                   pairs_reserve(&u->tree, bytes / 2, e)
               ? -1
               : 0;
}

/* The node that a byte leads to, or 0. */
static int32_t follow(const struct unigram *u, int32_t node, unsigned char byte)
{
    if (node == 0)
        return u->first[byte];
    const struct pair *p = pairs_find(&u->tree, node, byte);
    return p ? p->merged : 0;
}

int unigram_add(struct unigram *u, struct span token, int32_t id, double score, struct error *e)
{
    int32_t node = 0, next;
    uint32_t before = 0, character;
    for (size_t at = 0, size; at < token.size; at += size, before = character) {
        character = character_at(token.text + at, &size);
        if (at)
            neighbours_note(&u->neighbours, before, character);
    }
    for (size_t i = 0; i < token.size; i++, node = next) {
        unsigned char byte = (unsigned char)token.text[i];
        if ((next = follow(u, node, byte)))
            continue;
        next = (int32_t)u->node_count;
        if (add_node(u, e) || (node && pairs_set(&u->tree, node, byte, 0, next, e)))
            return -1;
        if (node == 0)
            u->first[byte] = next;
    }
    u->node[node] = (struct unigram_node){id, score};
    u->longest = token.size > u->longest ? token.size : u->longest;
    return 0;
}

void unigram_finish(struct unigram *u, const struct map *vocabulary)
{
    u->vocabulary = vocabulary;
    for (int i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        u->fallback[i] = map_find(vocabulary, text, 6);
    }
}

/* -- one word -- */

/* A run of characters without a token. */
static int add_unknown(struct unigram *u, struct ids *out, struct span text, struct error *e)
{
    int32_t id = u->is_single ? MAP_ABSENT : map_find(u->vocabulary, text.text, text.size);
    int bytes = id == MAP_ABSENT && u->byte_fallback;
    for (size_t i = 0; bytes && i < text.size; i++)
        bytes = u->fallback[(unsigned char)text.text[i]] != MAP_ABSENT;
    if (!bytes)
        return ids_add(out, id == MAP_ABSENT ? u->unknown : id, e);
    for (size_t i = 0; i < text.size; i++)
        if (ids_add(out, u->fallback[(unsigned char)text.text[i]], e))
            return -1;
    return 0;
}

/* Makes room for steps up to `last`; those beyond `count` are empty. */
static int reserve_steps(struct unigram *u, size_t *count, size_t last, struct error *e)
{
    if (last >= u->step_room) {
        size_t room = u->step_room ? u->step_room : 1024;
        while (room <= last)
            room *= 2;
        struct unigram_step *grown = room < UINT32_MAX ? realloc(u->step, room * sizeof *grown)
                                                       : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a word");
        u->step = grown;
        u->step_room = room;
    }
    for (; *count <= last; ++*count)
        u->step[*count].size = 0;
    return 0;
}

static double add(const struct unigram *u, double sum, double score)
{
    return u->is_single ? (double)(float)(sum + score) : sum + score;
}

/* SentencePiece restarts its sums when they are too large to distinguish ways. */
static void count_anew(const struct unigram *u, struct unigram_step *from,
                       struct unigram_step *behind)
{
    const double offset = from->score;
    if (!u->is_single || (offset >= -SUM_MAX && offset <= SUM_MAX))
        return;
    from->score = 0;
    for (struct unigram_step *s = from + 1; s < behind; s++)
        if (s->size)
            s->score = add(u, s->score, -offset);
}

static void offer(struct unigram_step *to, double score, int32_t id, size_t size)
{
    if (to->size == 0 || score > to->score)
        *to = (struct unigram_step){.score = score, .id = id, .size = (uint32_t)size};
}

/* All tokens that begin at `at`, and the handling of a character without one. */
static int offer_tokens(const struct unigram *u, struct span text, size_t at, size_t size,
                        struct unigram_step *from, struct error *e)
{
    int32_t node = 0;
    int single = 0;
    for (size_t i = at; i < text.size && (node = follow(u, node, (unsigned char)text.text[i]));
         i++) {
        const struct unigram_node *n = &u->node[node];
        if (n->id == UNIGRAM_NONE)
            continue;
        offer(from + (i + 1 - at), add(u, from->score, n->score), n->id, i + 1 - at);
        single |= i + 1 - at == size;
    }
    if (single)
        return 0;
    double score = add(u, from->score, u->unknown_score);
    if (u->unknown == UNIGRAM_NONE && (from[size].size == 0 || score > from[size].score))
        return fail(
            e, "the text holds '%.*s', which no token matches, and no unknown token is defined",
            (int)size, text.text + at);
    offer(from + size, score, u->unknown, size);
    return 0;
}

/* Appends the tokens of the best way through `size` bytes; *unknown is an end without a token. */
static int add_way(struct unigram *u, struct ids *out, const char *text, size_t size,
                   struct span *unknown, struct error *e)
{
    for (size_t at = size; at; at -= u->step[at].size)
        u->step[at - u->step[at].size].next = u->step[at].size;
    for (size_t at = 0; at < size; at += u->step[at].next) {
        size_t bytes = u->step[at].next;
        int32_t id = u->step[at + bytes].id;
        if (id == u->unknown) {
            *unknown = unknown->size ? (struct span){unknown->text, unknown->size + bytes}
                                     : (struct span){text + at, bytes};
            continue;
        }
        if (unknown->size && add_unknown(u, out, *unknown, e))
            return -1;
        unknown->size = 0;
        if (ids_add(out, id, e))
            return -1;
    }
    return 0;
}

/* Every way stops between two characters that no token holds side by side, including the best one:
 * the part before is decided there, and its sum continues. */
static int encode_word(struct unigram *u, struct ids *out, struct span word, struct error *e)
{
    struct span unknown = {0};
    size_t start = 0, count = 0;
    uint32_t before = 0, character;
    double sum = 0;
    for (size_t at = 0, size; at < word.size; at += size, before = character) {
        character = character_at(word.text + at, &size);
        if (at > start && !neighbours_may_meet(&u->neighbours, before, character)) {
            if (add_way(u, out, word.text + start, at - start, &unknown, e) ||
                tell_bytes(&u->teller, at - start, e))
                return -1;
            sum = u->step[at - start].score;
            start = at;
            count = 0;
        }
        size_t reach = u->longest > size ? u->longest : size;
        if (reserve_steps(u, &count, at - start + (reach < word.size - at ? reach : word.size - at),
                          e))
            return -1;
        if (at == start)
            u->step[0].score = sum;
        count_anew(u, &u->step[at - start], &u->step[count]);
        if (offer_tokens(u, word, at, size, &u->step[at - start], e))
            return -1;
    }
    if (add_way(u, out, word.text + start, word.size - start, &unknown, e) ||
        tell_bytes(&u->teller, word.size - start, e))
        return -1;
    return unknown.size ? add_unknown(u, out, unknown, e) : 0;
}

int unigram_encode(struct unigram *u, struct ids *out, struct span word, struct error *e)
{
    uint64_t hash = 0;
    if (word.size == 0)
        return 0;
    int is_short = word.size <= WORD_BYTES_MAX,
        known = is_short ? words_find(&u->words, out, word, &hash, e) : 0;
    if (known)
        return known < 0 ? -1 : tell_bytes(&u->teller, word.size, e);
    size_t start = out->count;
    if (encode_word(u, out, word, e))
        return -1;
    if (is_short && out->count > start)
        words_keep(&u->words, word, hash, out->id + start, out->count - start);
    return 0;
}

void unigram_free(struct unigram *u)
{
    pairs_free(&u->tree);
    free(u->node);
    words_free(&u->words);
    neighbours_free(&u->neighbours);
    free(u->step);
    *u = (struct unigram){0};
}
