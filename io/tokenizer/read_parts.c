/* Normalizers, pre-tokenizers and post-processors of tokenizer.json. */
#include "io/tokenizer/parts.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* -- members -- */

json_t *member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

struct span text_of(const json_t *string)
{
    return (struct span){json_string_value(string), json_string_length(string)};
}

int member_flag(const json_t *object, const char *key, int fallback, int *out, struct error *e)
{
    const json_t *value = member(object, key);
    *out = value ? json_is_true(value) : fallback;
    return !value || json_is_boolean(value) ? 0 : fail(e, "%s is neither true nor false", key);
}

int member_text(const json_t *object, const char *key, struct span *out, struct error *e)
{
    const json_t *value = member(object, key);
    if (!json_is_string(value))
        return fail(e, "%s is missing or is not text", key);
    *out = text_of(value);
    return 0;
}

int read_part(struct tokenizer *t, const struct part_reader *readers, size_t count,
              const char *kind, const json_t *object, int depth, struct error *e)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!type)
        return fail(e, "a %s has no type", kind);
    if (depth > DEPTH_MAX)
        return fail(e, "%ss are nested more than %d deep", kind, DEPTH_MAX);
    for (size_t i = 0; i < count; i++)
        if (strcmp(readers[i].type, type) == 0)
            return readers[i].read(t, object, depth, e);
    return fail(e, "the %s %.60s is not supported", kind, type);
}

int read_parts(struct tokenizer *t, const struct part_reader *readers, size_t count,
               const char *kind, const json_t *list, int depth, struct error *e)
{
    size_t i;
    json_t *object;
    if (!json_is_array(list))
        return fail(e, "a sequence of %ss is not a list", kind);
    json_array_foreach(list, i, object) if (read_part(t, readers, count, kind, object, depth + 1,
                                                      e)) return -1;
    return 0;
}

/* The pattern of Replace and Split: {"String": ...} or {"Regex": ...}. */
static struct pattern *read_pattern(const json_t *object, struct error *e)
{
    const json_t *pattern = member(object, "pattern"), *literal = member(pattern, "String"),
                 *regex = member(pattern, "Regex");
    if (json_is_string(literal) && !regex)
        return pattern_literal(text_of(literal), e);
    if (json_is_string(regex) && !literal)
        return pattern_compile(text_of(regex), e);
    fail(e, "a pattern is neither a String nor a Regex");
    return NULL;
}

/* -- normalizers -- */

static struct normal_step *next_normal(struct tokenizer *t, enum normal_kind kind, struct error *e)
{
    if (t->normalizer.count == NORMAL_STEPS_MAX) {
        fail(e, "there are more than %d normalizers", NORMAL_STEPS_MAX);
        return NULL;
    }
    struct normal_step *s = &t->normalizer.step[t->normalizer.count++];
    s->kind = kind;
    return s;
}

static int read_form(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    static const struct {
        const char *type;
        enum normal_kind kind;
    } forms[] = {{"NFC", NORMAL_NFC},
                 {"NFD", NORMAL_NFD},
                 {"NFKC", NORMAL_NFKC},
                 {"NFKD", NORMAL_NFKD},
                 {"Lowercase", NORMAL_LOWERCASE}};
    const char *type = json_string_value(json_object_get(object, "type"));
    (void)depth;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (strcmp(type, forms[i].type) == 0)
            return next_normal(t, forms[i].kind, e) ? 0 : -1;
    return fail(e, "the normalizer %s is not supported", type);
}

static int read_prepend(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct span text = {0};
    struct normal_step *s = next_normal(t, NORMAL_PREPEND, e);
    (void)depth;
    return s && member_text(object, "prepend", &text, e) == 0
               ? buffer_add(&s->content, text.text, text.size, e)
               : -1;
}

static int read_replace(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct span text = {0};
    struct normal_step *s = next_normal(t, NORMAL_REPLACE, e);
    (void)depth;
    return s && (s->pattern = read_pattern(object, e)) &&
                   member_text(object, "content", &text, e) == 0
               ? buffer_add(&s->content, text.text, text.size, e)
               : -1;
}

static int read_strip(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct normal_step *s = next_normal(t, NORMAL_STRIP, e);
    (void)depth;
    return s && member_flag(object, "strip_left", 0, &s->left, e) == 0
               ? member_flag(object, "strip_right", 0, &s->right, e)
               : -1;
}

static int read_strip_accents(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    (void)object;
    (void)depth;
    return next_normal(t, NORMAL_ACCENTS, e) ? 0 : -1;
}

static int read_precompiled(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct span map = {0};
    struct normal_step *s = next_normal(t, NORMAL_MAP, e);
    (void)depth;
    if (!s || member_text(object, "precompiled_charsmap", &map, e))
        return -1;
    if (!(s->pieces = calloc(1, sizeof *s->pieces)))
        return fail_memory(e, sizeof *s->pieces, "a normalizer");
    return charsmap_read_base64(&s->pieces->map, map, e);
}

static int read_normal_sequence(struct tokenizer *t, const json_t *object, int depth,
                                struct error *e);

static const struct part_reader normalizers[] = {
    {"NFC", read_form},
    {"NFD", read_form},
    {"NFKC", read_form},
    {"NFKD", read_form},
    {"Lowercase", read_form},
    {"Prepend", read_prepend},
    {"Replace", read_replace},
    {"Strip", read_strip},
    {"StripAccents", read_strip_accents},
    {"Precompiled", read_precompiled},
    {"Sequence", read_normal_sequence},
};

static int read_normal_sequence(struct tokenizer *t, const json_t *object, int depth,
                                struct error *e)
{
    return read_parts(t, normalizers, COUNT(normalizers), "normalizer",
                      member(object, "normalizers"), depth, e);
}

int read_normalizer(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    return read_part(t, normalizers, COUNT(normalizers), "normalizer", object, depth, e);
}

/* -- pre-tokenizers -- */

static struct split_step *next_split(struct tokenizer *t, enum split_kind kind, struct error *e)
{
    if (t->splitter.count == SPLIT_STEPS_MAX) {
        fail(e, "there are more than %d pre-tokenizers", SPLIT_STEPS_MAX);
        return NULL;
    }
    struct split_step *s = &t->splitter.step[t->splitter.count++];
    s->kind = kind;
    return s;
}

static int add_pattern(struct tokenizer *t, const char *pcre, enum behavior behavior, int invert,
                       struct error *e)
{
    struct split_step *s = next_split(t, SPLIT_PATTERN, e);
    if (!s)
        return -1;
    s->behavior = behavior;
    s->invert = invert;
    return (s->pattern = pattern_own(pcre, e)) ? 0 : -1;
}

static int add_text(struct tokenizer *t, enum split_kind kind, struct span text, int first_only,
                    struct error *e)
{
    struct split_step *s = next_split(t, kind, e);
    if (!s)
        return -1;
    s->first_only = first_only;
    return buffer_add(&s->prefix, text.text, text.size, e);
}

/* A property is looked up only for characters beyond ASCII, which is faster: PCRE2 then also knows
 * the possible first bytes of a match. */
#define BEYOND_ASCII "[^\\x{0}-\\x{7F}]"

int add_byte_level(struct tokenizer *t, int prefix_space, int use_regex, struct error *e)
{
    static const char words[] = "'s|'t|'re|'ve|'m|'ll|'d| ?(?:[A-Za-z]++|" BEYOND_ASCII
                                "(?<=\\p{L}))+| ?(?:[0-9]++|" BEYOND_ASCII "(?<=\\p{N}))+| "
                                "?[^\\t-\\r\\x{85}\\p{Z}\\p{L}\\p{N}]+|[\\t-\\r\\x{85}\\p{Z}]+(?![^"
                                "\\t-\\r\\x{85}\\p{Z}])|[\\t-\\r\\x{85}\\p{Z}]+";
    for (int i = 0; i < t->splitter.count; i++) /* repeated spelling would grow without bounds */
        if (t->splitter.step[i].kind == SPLIT_BYTES)
            return fail(e, "a second ByteLevel is not supported");
    if ((prefix_space && add_text(t, SPLIT_PREFIX, (struct span){" ", 1}, 0, e)) ||
        (use_regex && add_pattern(t, words, BEHAVIOR_ISOLATED, 0, e)))
        return -1;
    return next_split(t, SPLIT_BYTES, e) ? 0 : -1;
}

static int read_byte_level(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    int prefix_space, use_regex;
    (void)depth;
    return member_flag(object, "add_prefix_space", 1, &prefix_space, e) ||
                   member_flag(object, "use_regex", 1, &use_regex, e)
               ? -1
               : add_byte_level(t, prefix_space, use_regex, e);
}

static int read_behavior(const json_t *object, enum behavior *out, struct error *e)
{
    static const char *const names[] = {[BEHAVIOR_REMOVED] = "Removed",
                                        [BEHAVIOR_ISOLATED] = "Isolated",
                                        [BEHAVIOR_CONTIGUOUS] = "Contiguous",
                                        [BEHAVIOR_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
                                        [BEHAVIOR_MERGED_WITH_NEXT] = "MergedWithNext"};
    struct span name = {0};
    if (member_text(object, "behavior", &name, e))
        return -1;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name.text, names[i]) == 0) {
            *out = (enum behavior)i;
            return 0;
        }
    return fail(e, "the behavior %.60s is not supported", name.text);
}

static int read_split(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct split_step *s = next_split(t, SPLIT_PATTERN, e);
    (void)depth;
    if (!s || read_behavior(object, &s->behavior, e) ||
        member_flag(object, "invert", 0, &s->invert, e))
        return -1;
    return (s->pattern = read_pattern(object, e)) ? 0 : -1;
}

/* Blanks become a mark, which starts a word. */
static int read_metaspace(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    struct span mark = {0}, scheme = {"always", 6};
    int split, prefix;
    size_t size;
    (void)depth;
    if (member_text(object, "replacement", &mark, e) ||
        member_flag(object, "split", 1, &split, e) ||
        member_flag(object, "add_prefix_space", 1, &prefix, e))
        return -1;
    if (member(object, "prepend_scheme") && member_text(object, "prepend_scheme", &scheme, e))
        return -1;
    if (mark.size == 0 || (character_at(mark.text, &size), size != mark.size))
        return fail(e, "the replacement of Metaspace is not one character");
    int first = strcmp(scheme.text, "first") == 0, never = strcmp(scheme.text, "never") == 0;
    if (!first && !never && strcmp(scheme.text, "always"))
        return fail(e, "the prepend_scheme %.60s is not supported", scheme.text);
    if (!prefix && !never && member(object, "prepend_scheme"))
        return fail(e, "Metaspace has no prefix by add_prefix_space, and one by prepend_scheme");
    if (add_text(t, SPLIT_SPACES, mark, 0, e) ||
        (prefix && !never && add_text(t, SPLIT_PREFIX, mark, first, e)))
        return -1;
    if (!split)
        return 0;
    struct split_step *s = next_split(t, SPLIT_PATTERN, e);
    if (!s)
        return -1;
    s->behavior = BEHAVIOR_MERGED_WITH_NEXT;
    return (s->pattern = pattern_literal(mark, e)) ? 0 : -1;
}

static int read_digits(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    int individual;
    (void)depth;
    return member_flag(object, "individual_digits", 0, &individual, e)
               ? -1
               : add_pattern(t, "[0-9]|" BEYOND_ASCII "(?<=\\p{N})",
                             individual ? BEHAVIOR_ISOLATED : BEHAVIOR_CONTIGUOUS, 0, e);
}

/* ASCII's marks and symbols and Unicode's punctuation, without punctuation added after Unicode 8,
 * which the reference library uses; two characters have since been removed. */
static int read_punctuation(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    static const char marks[] = "[!-/"
                                ":-@\\[-`{-~\\p{P}\\x{166D}\\x{111C9}](?<![\\x{61D}\\x{9FD}\\x{A76}"
                                "\\x{C77}\\x{C84}\\x{1B4E}-\\x{1B4F}\\x{1B7D}-\\x{1B7F}"
                                "\\x{2E43}-\\x{2E4F}\\x{2E52}-\\x{2E5D}\\x{10D6E}\\x{10EAD}\\x{"
                                "10F55}-\\x{10F59}\\x{10F86}-\\x{10F89}\\x{113D4}-\\x{"
                                "113D5}\\x{113D7}-\\x{113D8}\\x{1144B}-\\x{1144F}\\x{1145A}-\\x{"
                                "1145B}\\x{1145D}\\x{11660}-\\x{1166C}\\x{116B9}\\x{1183B}"
                                "\\x{11944}-\\x{11946}\\x{119E2}\\x{11A3F}-\\x{11A46}\\x{11A9A}-"
                                "\\x{11A9C}\\x{11A9E}-\\x{11AA2}\\x{11B00}-\\x{11B09}\\x{"
                                "11BE1}\\x{11C41}-\\x{11C45}\\x{11C70}-\\x{11C71}\\x{11EF7}-\\x{"
                                "11EF8}\\x{11F43}-\\x{11F4F}\\x{11FFF}\\x{12FF1}-\\x{"
                                "12FF2}\\x{16D6D}-\\x{16D6F}\\x{16E97}-\\x{16E9A}\\x{16FE2}\\x{"
                                "1E5FF}\\x{1E95E}-\\x{1E95F}])";
    enum behavior behavior = BEHAVIOR_ISOLATED;
    (void)depth;
    if (member(object, "behavior") && read_behavior(object, &behavior, e))
        return -1;
    return add_pattern(t, marks, behavior, 0, e);
}

/* Rust's \w and \s, as in added_add. */
static int read_whitespace(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    (void)object;
    (void)depth;
    return add_pattern(t,
                       "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|[^\\p{Alphabetic}"
                       "\\p{M}\\p{Nd}\\p{Pc}\\x{200C}"
                       "\\x{200D}\\t-\\r\\x{85}\\p{Z}]+",
                       BEHAVIOR_REMOVED, 1, e);
}

static int read_whitespace_split(struct tokenizer *t, const json_t *object, int depth,
                                 struct error *e)
{
    (void)object;
    (void)depth;
    return add_pattern(t, "[\\t-\\r\\x{85}\\p{Z}]", BEHAVIOR_REMOVED, 0, e);
}

static int read_split_sequence(struct tokenizer *t, const json_t *object, int depth,
                               struct error *e);

static const struct part_reader splitters[] = {
    {"ByteLevel", read_byte_level},
    {"Split", read_split},
    {"Metaspace", read_metaspace},
    {"Digits", read_digits},
    {"Punctuation", read_punctuation},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
    {"Sequence", read_split_sequence},
};

static int read_split_sequence(struct tokenizer *t, const json_t *object, int depth,
                               struct error *e)
{
    return read_parts(t, splitters, COUNT(splitters), "pre-tokenizer",
                      member(object, "pretokenizers"), depth, e);
}

int read_splitter(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    return read_part(t, splitters, COUNT(splitters), "pre-tokenizer", object, depth, e);
}

/* -- post-processors: only tokens before the text matter here -- */

static int read_nothing(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    (void)t;
    (void)object;
    (void)depth;
    (void)e;
    return 0;
}

/* The ids of a special token of the template. */
static int read_special(struct tokenizer *t, const json_t *object, const json_t *special,
                        struct error *e)
{
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *described = json_object_get(json_object_get(object, "special_tokens"),
                                              name ? name : "");
    const json_t *ids = json_object_get(described, "ids"), *id = json_array_get(ids, 0);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= INT32_MAX)
        return fail(e, "the special token %.60s of the post-processor has no id",
                    name ? name : "(without a name)");
    if (json_array_size(ids) > 1 || t->adds_bos)
        return fail(e, "the post-processor puts more than one token before a text");
    t->bos = (int)json_integer_value(id);
    t->adds_bos = 1;
    return 0;
}

static int read_template(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    const json_t *single = member(object, "single"), *piece, *special;
    size_t i;
    (void)depth;
    if (!json_is_array(single))
        return fail(e, "TemplateProcessing has no list named single");
    json_array_foreach(single, i, piece)
    {
        if ((special = json_object_get(piece, "SpecialToken"))) {
            if (read_special(t, object, special, e))
                return -1;
        } else if (json_object_get(piece, "Sequence")) {
            break;
        } else {
            return fail(
                e,
                "the template of the post-processor holds neither a SpecialToken nor a Sequence");
        }
    }
    return 0;
}

static int read_post_sequence(struct tokenizer *t, const json_t *object, int depth,
                              struct error *e);

static const struct part_reader post_processors[] = {{"ByteLevel", read_nothing},
                                                     {"TemplateProcessing", read_template},
                                                     {"Sequence", read_post_sequence}};

static int read_post_sequence(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    return read_parts(t, post_processors, COUNT(post_processors), "post-processor",
                      member(object, "processors"), depth, e);
}

int read_post_processor(struct tokenizer *t, const json_t *object, int depth, struct error *e)
{
    return read_part(t, post_processors, COUNT(post_processors), "post-processor", object, depth,
                     e);
}
