/* The two large tables of a tokenizer.json, vocab and merges of its model, read from the text
 * without a Jansson value for each token. Only text that is clearly valid is read this way;
 * anything else is left to Jansson, which reports what is wrong. */
#include "io/tokenizer/parts.h"

#include <string.h>

/* -- finding them -- */

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

/* The position after the string whose quote is at `at`; NULL: unterminated. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : NULL;
}

/* The position after the object or list at `at`; *commas are those directly in it. */
static const char *skip_value(const char *at, const char *end, size_t *commas)
{
    size_t depth = 0;
    for (*commas = 0; at && at < end; at++) {
        if (*at == '"') {
            if (!(at = skip_string(at, end)))
                return NULL;
            at--;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
        *commas += *at == ',' && depth == 1;
    }
    return NULL;
}

static int is_key(const char *at, const char *behind, const char *name)
{
    return (size_t)(behind - at) == strlen(name) + 2 && memcmp(at + 1, name, strlen(name)) == 0;
}

/* The contents between the brackets of the value after the colon at `at`; NULL unless it begins
 * with `bracket` and is the first of its name. */
static const char *take_table(struct span *table, size_t *count, const char *at, const char *end,
                              char bracket)
{
    const char *start = skip_space(at + 1, end);
    size_t commas;
    if (table->text || start == end || *start != bracket || !(at = skip_value(start, end, &commas)))
        return NULL;
    *table = (struct span){start + 1, (size_t)(at - start) - 2};
    *count = commas + 1;
    return at;
}

int tables_find(struct tables *t, struct span text)
{
    const char *at = text.text, *end = at + text.size, *behind, *colon;
    int depth = 0, in_model = 0, models = 0;
    *t = (struct tables){0};
    while (at && at < end) {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (*at != '"') {
            at++;
            continue;
        }
        if (!(behind = skip_string(at, end)))
            return 0;
        colon = skip_space(behind, end);
        if (colon == end || *colon != ':') {
            at = behind;
            continue;
        }
        if (depth == 1)
            models += in_model = is_key(at, behind, "model");
        if (depth == 2 && in_model && is_key(at, behind, "vocab"))
            at = take_table(&t->vocabulary, &t->tokens, colon, end, '{');
        else if (depth == 2 && in_model && is_key(at, behind, "merges"))
            at = take_table(&t->merges, &t->merge_count, colon, end, '[');
        else
            at = behind;
    }
    return at && models == 1 && t->vocabulary.text && t->merges.text &&
           utf8_sound(t->vocabulary) == t->vocabulary.size &&
           utf8_sound(t->merges) == t->merges.size;
}

int tables_rest(struct buffer *out, const struct tables *t, struct span text, struct error *e)
{
    const struct span *first = t->vocabulary.text < t->merges.text ? &t->vocabulary : &t->merges,
                      *second = first == &t->vocabulary ? &t->merges : &t->vocabulary;
    const char *middle = first->text + first->size, *last = second->text + second->size;
    return buffer_add(out, text.text, (size_t)(first->text - text.text), e) ||
                   buffer_add(out, middle, (size_t)(second->text - middle), e) ||
                   buffer_add(out, last, (size_t)(text.text + text.size - last), e)
               ? -1
               : 0;
}

/* -- what is in them -- */

struct reader {
    const char *at, *end;
    struct buffer decoded[2]; /* strings with escapes */
    struct error *e;
};

/* 1 if the next character is `c`; skips it. */
static int take(struct reader *r, char c)
{
    r->at = skip_space(r->at, r->end);
    if (r->at == r->end || *r->at != c)
        return 0;
    r->at++;
    return 1;
}

/* The character of \uXXXX, or -1: a NUL, half of a pair, or not a number. */
static int read_escape(const char *at, const char *end)
{
    int character = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef",
                   *digit = at + i < end && at[i]
                                ? strchr(digits, at[i] | (at[i] >= 'A' ? 0x20 : 0))
                                : NULL;
        if (!digit)
            return -1;
        character = character << 4 | (int)(digit - digits);
    }
    return character && (character < 0xD800 || character > 0xDFFF) ? character : -1;
}

/* A string; if it has escapes, decoded into r->decoded[which]. */
static int take_string(struct reader *r, struct span *out, int which)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    struct buffer *b = &r->decoded[which];
    const char *start;
    if (!take(r, '"'))
        return -1;
    b->size = 0;
    for (start = r->at; r->at < r->end && *r->at != '"';) {
        char character[CHARACTER_BYTES_MAX];
        size_t size = 1;
        const char *escape;
        if ((unsigned char)*r->at < 0x20)
            return -1;
        if (*r->at != '\\') {
            r->at++;
            continue;
        }
        if (buffer_add(b, start, (size_t)(r->at - start), r->e) || ++r->at == r->end)
            return -1;
        if (*r->at == 'u') {
            int code = read_escape(r->at + 1, r->end);
            if (code < 0)
                return -1;
            size = character_write(character, (uint32_t)code);
            r->at += 4;
        } else {
            if (!*r->at || !(escape = strchr(escapes, *r->at)))
                return -1;
            character[0] = meant[escape - escapes];
        }
        if (buffer_add(b, character, size, r->e))
            return -1;
        start = ++r->at;
    }
    if (r->at == r->end)
        return -1;
    *out = (struct span){start, (size_t)(r->at - start)};
    r->at++;
    if (b->size == 0) /* without an escape it is used in place */
        return 0;
    if (buffer_add(b, out->text, out->size, r->e))
        return -1;
    *out = buffer_span(b);
    return 0;
}

/* A whole number of few digits. */
static int take_number(struct reader *r, int64_t *out)
{
    const char *start = r->at = skip_space(r->at, r->end);
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && r->at - start < 12; r->at++)
        *out = 10 * *out + (*r->at - '0');
    return r->at > start && (*start != '0' || r->at == start + 1) ? 0 : -1;
}

static int is_end(struct reader *r)
{
    r->at = skip_space(r->at, r->end);
    return r->at == r->end;
}

static int read_tokens(struct tokenizer *t, struct reader *r)
{
    struct span token;
    int64_t id;
    if (is_end(r))
        return 0;
    do
        if (take_string(r, &token, 0) || !take(r, ':') || take_number(r, &id) ||
            bpe_add_token(&t->bpe, token, id, r->e))
            return -1;
    while (take(r, ','));
    return is_end(r) ? 0 : -1;
}

static int read_merges(struct tokenizer *t, struct reader *r)
{
    struct span left, right;
    if (is_end(r))
        return 0;
    do
        if (take(r, '[')) {
            if (take_string(r, &left, 0) || !take(r, ',') || take_string(r, &right, 1) ||
                !take(r, ']') || bpe_add_merge(&t->bpe, left, right, r->e))
                return -1;
        } else if (take_string(r, &left, 0) || tokenizer_merge(t, left, r->e)) {
            return -1;
        }
    while (take(r, ','));
    return is_end(r) ? 0 : -1;
}

int tables_read(struct tokenizer *t, const struct tables *tables, struct error *e)
{
    struct reader tokens = {.at = tables->vocabulary.text,
                            .end = tables->vocabulary.text + tables->vocabulary.size,
                            .e = e},
                  merges = {.at = tables->merges.text,
                            .end = tables->merges.text + tables->merges.size,
                            .e = e};
    int result = bpe_reserve(&t->bpe, tables->tokens, tables->vocabulary.size, e) ||
                         read_tokens(t, &tokens) || read_merges(t, &merges)
                     ? -1
                     : 0;
    for (int i = 0; i < 2; i++) {
        buffer_free(&tokens.decoded[i]);
        buffer_free(&merges.decoded[i]);
    }
    return result;
}
