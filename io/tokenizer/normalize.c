#include "io/tokenizer/normalize.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* -- Unicode forms -- */

/* Appends the normal form of a part of the text that neither joins what is before nor what is behind it. */
static int add_form(struct normal_step *s, struct span part, utf8proc_option_t options, struct error *e)
{
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)part.text;
    if (part.size > SIZE_MAX / 128)
        return fail_memory(e, (double)part.size * 128, "a normal form");
    utf8proc_ssize_t count = utf8proc_decompose(text, (utf8proc_ssize_t)part.size, s->characters, (utf8proc_ssize_t)s->character_room, options);
    /* one more, because the characters are made bytes in place, with a NUL behind them */
    if (count >= 0 && (size_t)count + 1 > s->character_room) {
        size_t room = 2 * ((size_t)count + 1);
        int32_t *grown = realloc(s->characters, room * sizeof *grown);
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a normal form");
        s->characters = grown;
        s->character_room = room;
        count = utf8proc_decompose(text, (utf8proc_ssize_t)part.size, s->characters, (utf8proc_ssize_t)room, options);
    }
    if (count >= 0)
        count = utf8proc_reencode(s->characters, count, options);
    if (count < 0)
        return fail(e, "the text cannot be normalized: %s", utf8proc_errmsg(count));
    return buffer_add(&s->made, s->characters, (size_t)count, e);
}

static size_t ascii_prefix(struct span s)
{
    size_t at = 0;
    for (uint64_t eight; s.size - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, s.text + at, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (at < s.size && (unsigned char)s.text[at] < 0x80)
        at++;
    return at;
}

/* ASCII is its own normal form, and nothing before it joins it; only its last character may be joined by what follows. */
static int normalize_form(struct normal_step *s, struct span text, utf8proc_option_t options, struct error *e)
{
    while (text.size) {
        size_t plain = ascii_prefix(text), other;
        if (plain == text.size)
            return buffer_add(&s->made, text.text, plain, e);
        if (plain)
            plain--;
        for (other = plain + 1; other < text.size && (unsigned char)text.text[other] >= 0x80; other++)
            ;
        if (buffer_add(&s->made, text.text, plain, e) || add_form(s, (struct span){text.text + plain, other - plain}, options, e))
            return -1;
        text.text += other;
        text.size -= other;
    }
    return 0;
}

/* -- the others -- */

/* Character by character, by the full mapping: U+0130 is the only one that becomes two. */
static int lower_case(struct normal_step *s, struct span text, struct error *e)
{
    for (size_t at = 0, size; at < text.size; at += size) {
        char lower[CHARACTER_BYTES_MAX];
        uint32_t c = character_at(text.text + at, &size);
        size_t bytes = character_write(lower, c == 0x130 ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
        if (buffer_add(&s->made, lower, bytes, e) || (c == 0x130 && buffer_add(&s->made, "\xCC\x87", 2, e)))
            return -1;
    }
    return 0;
}

static int replace(struct normal_step *s, struct span text, struct error *e)
{
    struct search search = {0};
    size_t done = 0, start, end;
    int found;
    while ((found = pattern_next(s->pattern, &search, text, &start, &end, e)) == 1) {
        if (buffer_add(&s->made, text.text + done, start - done, e) || buffer_add(&s->made, s->content.text, s->content.size, e))
            return -1;
        done = end;
    }
    return found < 0 ? -1 : buffer_add(&s->made, text.text + done, text.size - done, e);
}

static int prepend(struct normal_step *s, struct span text, struct error *e)
{
    return text.size && (buffer_add(&s->made, s->content.text, s->content.size, e) || buffer_add(&s->made, text.text, text.size, e)) ? -1 : 0;
}

static int run_step(struct normal_step *s, struct span text, struct error *e)
{
    const utf8proc_option_t composed = UTF8PROC_STABLE | UTF8PROC_COMPOSE, decomposed = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    s->made.size = 0;
    switch (s->kind) {
    case NORMAL_NFC: return normalize_form(s, text, composed, e);
    case NORMAL_NFD: return normalize_form(s, text, decomposed, e);
    case NORMAL_NFKC: return normalize_form(s, text, composed | UTF8PROC_COMPAT, e);
    case NORMAL_NFKD: return normalize_form(s, text, decomposed | UTF8PROC_COMPAT, e);
    case NORMAL_LOWERCASE: return lower_case(s, text, e);
    case NORMAL_PREPEND: return prepend(s, text, e);
    case NORMAL_REPLACE: return replace(s, text, e);
    }
    return -1;
}

int normalize(struct normalizer *n, struct span *out, struct span text, struct error *e)
{
    *out = text;
    for (int i = 0; i < n->count; i++) {
        if (run_step(&n->step[i], *out, e))
            return -1;
        *out = buffer_span(&n->step[i].made);
    }
    return 0;
}

void normalizer_free(struct normalizer *n)
{
    for (int i = 0; i < n->count; i++) {
        struct normal_step *s = &n->step[i];
        pattern_free(s->pattern);
        buffer_free(&s->content);
        buffer_free(&s->made);
        free(s->characters);
    }
    *n = (struct normalizer){0};
}
