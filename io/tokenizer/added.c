#include "io/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

static uint32_t find_child(const struct added_tokens *a, uint32_t node, unsigned char byte)
{
    if (node == 0)
        return a->first[byte];
    uint32_t child = a->node[node].child;
    while (child && a->node[child].byte != byte)
        child = a->node[child].sibling;
    return child;
}

/* A new child of `node`; 0 when memory runs out. */
static uint32_t add_child(struct added_tokens *a, uint32_t node, unsigned char byte,
                          struct error *e)
{
    if (a->node_count == a->node_room) {
        size_t room = a->node_room ? 2 * a->node_room : 256;
        struct added_node *grown = room < UINT32_MAX ? realloc(a->node, room * sizeof *grown)
                                                     : NULL;
        if (!grown) {
            fail_memory(e, (double)room * sizeof *grown, "added tokens");
            return 0;
        }
        a->node = grown;
        a->node_room = room;
        if (a->node_count == 0)
            a->node[a->node_count++] = (struct added_node){.token = -1};
    }
    uint32_t child = (uint32_t)a->node_count++;
    a->node[child] =
        (struct added_node){.sibling = node ? a->node[node].child : 0, .token = -1, .byte = byte};
    if (node)
        a->node[node].child = child;
    else
        a->first[byte] = child;
    return child;
}

int added_add(struct added_tokens *a, struct span text, struct added_token token, struct error *e)
{
    uint32_t node = 0;
    if (text.size == 0)
        return fail(e, "an added token is empty");
    /* Rust's \w and \s, which define published tokenizers */
    if (!a->word &&
        (!(a->word = pattern_own("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]", e)) ||
         !(a->space = pattern_own("[\\t-\\r\\x{85}\\p{Z}]", e))))
        return -1;
    if (a->count == a->room) {
        size_t room = a->room ? 2 * a->room : 16;
        struct added_token *grown = room < INT32_MAX ? realloc(a->token, room * sizeof *grown)
                                                     : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "added tokens");
        a->token = grown;
        a->room = room;
    }
    for (size_t i = 0; i < text.size; i++) {
        uint32_t child = find_child(a, node, (unsigned char)text.text[i]);
        if (!child && !(child = add_child(a, node, (unsigned char)text.text[i], e)))
            return -1;
        node = child;
    }
    if (a->node[node].token >= 0)
        return fail(e, "two added tokens are found as '%.*s'",
                    (int)(text.size < 80 ? text.size : 80), text.text);
    a->node[node].token = (int32_t)a->count;
    a->token[a->count++] = token;
    return 0;
}

const struct added_token *added_longest(const struct added_tokens *a, struct span text, size_t at,
                                        size_t *size)
{
    const struct added_token *best = NULL;
    uint32_t node = 0;
    for (size_t i = at; i < text.size && (node = find_child(a, node, (unsigned char)text.text[i]));
         i++)
        if (a->node[node].token >= 0) {
            best = &a->token[a->node[node].token];
            *size = i + 1 - at;
        }
    return best;
}

/* The start of the character before `at`; at > 0. */
static size_t step_back(struct span text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text.text[at] & 0xC0) == 0x80);
    return at;
}

/* 1 if a word character is next to [start, end). -1: an error. */
static int within_word(struct added_tokens *a, struct span text, size_t start, size_t end,
                       struct error *e)
{
    int before = start > 0 ? pattern_matches_at(a->word, text, step_back(text, start), e) : 0;
    if (before)
        return before;
    return end < text.size ? pattern_matches_at(a->word, text, end, e) : 0;
}

/* Moves *start left over white space, down to `least`, and *end right. */
static int strip(struct added_tokens *a, const struct added_token *token, struct span text,
                 size_t least, size_t *start, size_t *end, struct error *e)
{
    size_t size;
    int space = 1;
    while (token->strip_left && *start > least) {
        size_t before = step_back(text, *start);
        if ((space = pattern_matches_at(a->space, text, before, e)) != 1)
            break;
        *start = before;
    }
    while (space >= 0 && token->strip_right && *end < text.size &&
           (space = pattern_matches_at(a->space, text, *end, e)) == 1) {
        character_at(text.text + *end, &size);
        *end += size;
    }
    return space < 0 ? -1 : 0;
}

int added_split(struct added_tokens *a, struct span text,
                int (*each)(void *context, int32_t id, struct span part, struct error *e),
                void *context, struct error *e)
{
    size_t done = 0, size = 0; /* `done`: parts before it were passed on */
    for (size_t at = 0; a->count && at < text.size; at++) {
        const struct added_token *token = a->first[(unsigned char)text.text[at]]
                                              ? added_longest(a, text, at, &size)
                                              : NULL;
        if (!token)
            continue;
        size_t start = at, end = at + size;
        at = end - 1;
        if (token->single_word) {
            int within = within_word(a, text, start, end, e);
            if (within < 0)
                return -1;
            if (within)
                continue;
        }
        if (strip(a, token, text, done, &start, &end, e))
            return -1;
        if (done < start && each(context, -1, (struct span){text.text + done, start - done}, e))
            return -1;
        if (each(context, token->id, (struct span){text.text + start, end - start}, e))
            return -1;
        done = end;
    }
    return done < text.size
               ? each(context, -1, (struct span){text.text + done, text.size - done}, e)
               : 0;
}

void added_free(struct added_tokens *a)
{
    free(a->token);
    free(a->node);
    pattern_free(a->word);
    pattern_free(a->space);
    *a = (struct added_tokens){0};
}
