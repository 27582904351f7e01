#include "io/tokenizer/normalize.h"

#include "io/element.h"
#include "io/tokenizer/pieces.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum {
    EXPANSION_FREE = 1 << 10
}; /* bytes added to every text before its growth is measured, for prefixes of short ones */

/* -- Unicode forms -- */

/* The library of published tokenizers knows Unicode 9. These characters were added later, with a
 * decomposition or a combining class that it does not know: it neither changes them nor composes
 * across them. Found by comparing its four forms of every character with those of Unicode 18. */
static const struct range {
    uint32_t first, last;
} later[] = {
    {0x558, 0x558},     {0x58B, 0x58C},     {0x5C8, 0x5C9},     {0x7FD, 0x7FD},
    {0x897, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1AF0},
    {0x1DF6, 0x1DFA},   {0x209D, 0x209F},   {0x32FF, 0x32FF},   {0xA7F1, 0xA7F4},
    {0xA82C, 0xA82C},   {0xAB69, 0xAB69},   {0x105C9, 0x105C9}, {0x105E4, 0x105E4},
    {0x10781, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BF}, {0x10D24, 0x10D27},
    {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10ECB, 0x10ECF}, {0x10EF0, 0x10EFB},
    {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070},
    {0x1133B, 0x1133B}, {0x11383, 0x11383}, {0x11385, 0x11385}, {0x1138E, 0x1138E},
    {0x11391, 0x11391}, {0x113C5, 0x113C5}, {0x113C7, 0x113C8}, {0x113CE, 0x113D0},
    {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11938, 0x11938}, {0x1193D, 0x1193E},
    {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47},
    {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97},
    {0x11F41, 0x11F42}, {0x16121, 0x16128}, {0x1612F, 0x1612F}, {0x16D68, 0x16D6A},
    {0x16FF0, 0x16FF1}, {0x1B123, 0x1B126}, {0x1CCD6, 0x1CCF9}, {0x1D127, 0x1D128},
    {0x1D250, 0x1D252}, {0x1D25B, 0x1D25C}, {0x1D25F, 0x1D25F}, {0x1D280, 0x1D281},
    {0x1D6A6, 0x1D6A6}, {0x1DF95, 0x1DF95}, {0x1DFCD, 0x1DFFF}, {0x1E030, 0x1E06D},
    {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF},
    {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6},
    {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9},
};

/* Marks added later; other characters in these ranges are not marks. Found by comparing its
 * StripAccents with the marks of Unicode 17. */
static const struct range later_marks[] = {
    {0x5C8, 0x5C9},     {0x7FD, 0x7FD},     {0x897, 0x8D3},     {0x9FE, 0x9FE},
    {0xAFA, 0xAFF},     {0xB53, 0xB55},     {0xC04, 0xC3C},     {0xCF3, 0xD00},
    {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},
    {0x1715, 0x1715},   {0x180F, 0x180F},   {0x1ABF, 0x1AF0},   {0x1CF7, 0x1CF7},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10D27},
    {0x10D69, 0x10D6D}, {0x10EAB, 0x10EFF}, {0x10F46, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x113B8, 0x113E2}, {0x1145E, 0x1145E},
    {0x1182C, 0x1183A}, {0x11930, 0x11943}, {0x119D1, 0x11A99}, {0x11B60, 0x11B67},
    {0x11D31, 0x11D47}, {0x11D8A, 0x11D97}, {0x11DF0, 0x11DF0}, {0x11EF3, 0x11F5A},
    {0x13440, 0x13455}, {0x1611E, 0x1612F}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87},
    {0x16FE4, 0x16FF1}, {0x1CF00, 0x1CF46}, {0x1D127, 0x1D128}, {0x1D250, 0x1D281},
    {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2EF}, {0x1E4EC, 0x1E4EF},
    {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6F5},
};

static int is_in(uint32_t character, const struct range *ranges, size_t count)
{
    size_t low = 0, high = count;
    if (character < ranges[0].first)
        return 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > ranges[middle].last)
            low = middle + 1;
        else if (character < ranges[middle].first)
            high = middle;
        else
            return 1;
    }
    return 0;
}

/* Appends the normal form of a part that does not combine with the text around it. */
static int add_form(struct normal_step *s, struct span part, utf8proc_option_t options,
                    struct error *e)
{
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)part.text;
    if (part.size > SIZE_MAX / 128)
        return fail_memory(e, (double)part.size * 128, "a normal form");
    utf8proc_ssize_t count = utf8proc_decompose(text, (utf8proc_ssize_t)part.size, s->characters,
                                                (utf8proc_ssize_t)s->character_room, options);
    /* one more, because the characters are converted to bytes in place, with a NUL at the end */
    if (count >= 0 && (size_t)count + 1 > s->character_room) {
        size_t room = 2 * ((size_t)count + 1);
        int32_t *grown = realloc(s->characters, room * sizeof *grown);
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a normal form");
        s->characters = grown;
        s->character_room = room;
        count = utf8proc_decompose(text, (utf8proc_ssize_t)part.size, s->characters,
                                   (utf8proc_ssize_t)room, options);
    }
    if (count >= 0)
        count = utf8proc_reencode(s->characters, count, options);
    if (count < 0)
        return fail(e, "the text cannot be normalized: %s", utf8proc_errmsg(count));
    return buffer_add(&s->made, s->characters, (size_t)count, e);
}

/* The same for text that may contain characters to keep unchanged. */
static int add_forms(struct normal_step *s, struct span part, utf8proc_option_t options,
                     struct error *e)
{
    size_t start = 0, size;
    for (size_t at = 0; at < part.size; at += size)
        if (is_in(character_at(part.text + at, &size), later, COUNT(later))) {
            if ((start < at &&
                 add_form(s, (struct span){part.text + start, at - start}, options, e)) ||
                buffer_add(&s->made, part.text + at, size, e))
                return -1;
            start = at + size;
        }
    return start < part.size
               ? add_form(s, (struct span){part.text + start, part.size - start}, options, e)
               : 0;
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

/* ASCII is its own normal form, and does not combine with the text before; only its last character
 * may combine with what follows. */
static int normalize_form(struct normal_step *s, struct span text, utf8proc_option_t options,
                          struct error *e)
{
    while (text.size) {
        size_t plain = ascii_prefix(text), other;
        if (plain == text.size)
            return buffer_add(&s->made, text.text, plain, e);
        if (plain)
            plain--;
        for (other = plain + 1; other < text.size && (unsigned char)text.text[other] >= 0x80;
             other++)
            ;
        if (buffer_add(&s->made, text.text, plain, e) ||
            add_forms(s, (struct span){text.text + plain, other - plain}, options, e))
            return -1;
        text.text += other;
        text.size -= other;
    }
    return 0;
}

/* -- the others -- */

/* Character by character, with the full mapping: U+0130 is the only one that becomes two. */
static int lower_case(struct normal_step *s, struct span text, struct error *e)
{
    for (size_t at = 0, size; at < text.size; at += size) {
        char lower[CHARACTER_BYTES_MAX];
        uint32_t c = character_at(text.text + at, &size);
        size_t bytes =
            character_write(lower,
                            c == 0x130 ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
        if (buffer_add(&s->made, lower, bytes, e) ||
            (c == 0x130 && buffer_add(&s->made, "\xCC\x87", 2, e)))
            return -1;
    }
    return 0;
}

static int check_growth(const struct normal_step *s, struct error *e)
{
    return s->made.size <= s->limit
               ? 0
               : fail(e, "the normalizers make more than %d times its bytes of a text",
                      EXPANSION_MAX);
}

static int replace(struct normal_step *s, struct span text, struct error *e)
{
    struct search search = {0};
    size_t done = 0, start, end;
    int found;
    while ((found = pattern_next(s->pattern, &search, text, &start, &end, e)) == 1) {
        if (buffer_add(&s->made, text.text + done, start - done, e) ||
            buffer_add(&s->made, s->content.text, s->content.size, e) || check_growth(s, e))
            return -1;
        done = end;
    }
    return found < 0 ? -1 : buffer_add(&s->made, text.text + done, text.size - done, e);
}

static int prepend(struct normal_step *s, struct span text, struct error *e)
{
    return text.size && (buffer_add(&s->made, s->content.text, s->content.size, e) ||
                         buffer_add(&s->made, text.text, text.size, e))
               ? -1
               : 0;
}

/* Two characters are no longer marks. */
static int is_mark(uint32_t c)
{
    if (c < 0x300 || is_in(c, later_marks, COUNT(later_marks)))
        return 0;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return c == 0x1CF2 || c == 0x1CF3 || category == UTF8PROC_CATEGORY_MN ||
           category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

/* Rust's white space. */
static int is_space(uint32_t c)
{
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

static int strip(struct normal_step *s, struct span text, struct error *e)
{
    size_t start = 0, end = text.size, size;
    while (s->left && start < end && is_space(character_at(text.text + start, &size)))
        start += size;
    while (s->right && start < end) {
        size_t last = end - 1;
        while (((unsigned char)text.text[last] & 0xC0) == 0x80)
            last--;
        if (!is_space(character_at(text.text + last, &size)))
            break;
        end = last;
    }
    return buffer_add(&s->made, text.text + start, end - start, e);
}

static int strip_accents(struct normal_step *s, struct span text, struct error *e)
{
    for (size_t at = 0, size; at < text.size; at += size)
        if (!is_mark(character_at(text.text + at, &size)) &&
            buffer_add(&s->made, text.text + at, size, e))
            return -1;
    return 0;
}

/* The map of a SentencePiece model as applied by the `tokenizers` library: to clusters of less than
 * six bytes, which become the form of their shortest beginning in the map, and to the single
 * characters of other clusters. */
static int map_clusters(struct normal_step *s, struct span text, struct error *e)
{
    const struct charsmap *m = &s->pieces->map;
    struct span normal;
    for (size_t at = 0, size, bytes; at < text.size; at += bytes) {
        utf8proc_int32_t state = 0;
        uint32_t before = character_at(text.text + at, &size), next;
        for (bytes = size; at + bytes < text.size; bytes += size, before = next) {
            next = character_at(text.text + at + bytes, &size);
            if (before >= ' ' && before < 0x7F && next >= ' ' && next < 0x7F)
                break; /* the usual case */
            if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)next,
                                                 &state))
                break;
        }
        if (bytes < 6 && charsmap_shortest(m, (struct span){text.text + at, bytes}, &normal)) {
            if (buffer_add(&s->made, normal.text, normal.size, e) || check_growth(s, e))
                return -1;
            continue;
        }
        for (size_t i = at; i < at + bytes; i += size) {
            character_at(text.text + i, &size);
            if (!charsmap_shortest(m, (struct span){text.text + i, size}, &normal))
                normal = (struct span){text.text + i, size};
            if (buffer_add(&s->made, normal.text, normal.size, e) || check_growth(s, e))
                return -1;
        }
    }
    return 0;
}

static int run_step(struct normal_step *s, struct span text, struct error *e)
{
    const utf8proc_option_t composed = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
                            decomposed = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    s->made.size = 0;
    switch (s->kind) {
    case NORMAL_NFC: return normalize_form(s, text, composed, e);
    case NORMAL_NFD: return normalize_form(s, text, decomposed, e);
    case NORMAL_NFKC: return normalize_form(s, text, composed | UTF8PROC_COMPAT, e);
    case NORMAL_NFKD: return normalize_form(s, text, decomposed | UTF8PROC_COMPAT, e);
    case NORMAL_LOWERCASE: return lower_case(s, text, e);
    case NORMAL_PREPEND: return prepend(s, text, e);
    case NORMAL_REPLACE: return replace(s, text, e);
    case NORMAL_STRIP: return strip(s, text, e);
    case NORMAL_ACCENTS: return strip_accents(s, text, e);
    case NORMAL_MAP: return map_clusters(s, text, e);
    case NORMAL_PIECES: return piece_normalize(s->pieces, &s->made, text, s->limit, e);
    }
    return -1;
}

int normalize(struct normalizer *n, struct span *out, struct span text, struct error *e)
{
    size_t limit;
    if (size_add(&limit, text.size, EXPANSION_FREE) || size_multiply(&limit, limit, EXPANSION_MAX))
        return fail_memory(e, (double)text.size * EXPANSION_MAX, "a normal form");
    *out = text;
    for (int i = 0; i < n->count; i++) {
        struct normal_step *s = &n->step[i];
        s->limit = limit;
        if (run_step(s, *out, e) || check_growth(s, e))
            return -1;
        *out = buffer_span(&s->made);
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
        if (s->pieces)
            piece_normalizer_free(s->pieces);
        free(s->pieces);
    }
    *n = (struct normalizer){0};
}
