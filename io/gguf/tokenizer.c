#include "io/gguf/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 5, TOKEN_BYTES_MAX = 1 << 16, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_USER = 4, TOKEN_UNUSED = 5 };

/* -- how text is split, by tokenizer.ggml.pre --
 *
 * Source: ggml-org/llama.cpp, src/llama-vocab.cpp, and the tokenizer.json of the models that the names stand for. */

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST
#define QWEN2 CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST
#define TEKKEN \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|" \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" \
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define BLOOM " ?[^(\\s|[.,!?…。，、।۔،])]+"
#define DIGITS_3 "[0-9][0-9][0-9]"

/* Steps: a pattern whose matches are words of their own, or one of these. */
static const char bytes[] = "bytes", words[] = "words", digit[] = "digit", digits[] = "digits", punctuation[] = "punctuation";

static const struct style {
    const char *names; /* blanks around each */
    const char *steps[STEPS_MAX];
    int composes; /* text becomes NFC first, which the models' own tokenizers do */
    int ignore_merges; /* a word that is a token is that token */
    int adds_bos; /* unless the file says otherwise */
} styles[] = {
    {.names = " gpt-2 phi-2 jais exaone4 ", .steps = {words}},
    {.names = " mpt olmo ", .steps = {words}, .composes = 1},
    {.names = " llama3 llama-v3 llama-bpe ", .steps = {LLAMA3, bytes}, .ignore_merges = 1, .adds_bos = 1},
    {.names = " dbrx smaug-bpe ", .steps = {LLAMA3, bytes}},
    {.names = " qwen2 ", .steps = {QWEN2, bytes}, .composes = 1},
    {.names = " stablelm2 deepseek-r1-qwen ", .steps = {QWEN2, bytes}},
    {.names = " smollm starcoder refact codeshell ", .steps = {digit, words}},
    {.names = " falcon ", .steps = {punctuation, words, digits, DIGITS_3}},
    {.names = " bloom gpt3-finnish poro-chat ", .steps = {BLOOM, bytes}},
    {.names = " tekken ", .steps = {TEKKEN, bytes}, .ignore_merges = 1, .adds_bos = 1},
    {.names = " default ", .steps = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", DIGITS_3, bytes}},
};
enum { STYLES = sizeof styles / sizeof *styles };

static const struct style *find_style(const struct gguf *g, struct error *e)
{
    char wanted[64], known[512] = "";
    struct gguf_text pre;
    if (gguf_string_or_none(g, "tokenizer.ggml.pre", &pre, e))
        return NULL;
    int named = pre.text && snprintf(wanted, sizeof wanted, " %.*s ", (int)(pre.size < 64 ? pre.size : 64), pre.text) < 64 &&
                pre.size && !memchr(pre.text, ' ', pre.size);
    for (int i = 0; i < STYLES; i++) {
        if (named && strstr(styles[i].names, wanted))
            return &styles[i];
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s", styles[i].names + (i > 0));
    }
    known[strlen(known) - 1] = '\0';
    if (pre.text)
        fail(e, "%s: tokenizer.ggml.pre '%.*s' is not supported (supported:%s)", g->path, pre.size < 60 ? (int)pre.size : 60,
             pre.text, known);
    else
        fail(e, "%s: has no tokenizer.ggml.pre, which says how text is split (expected one of:%s; or --tokens FILE)", g->path,
             known);
    return NULL;
}

static json_t *byte_level(int use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1, "use_regex",
                     use_regex);
}

static json_t *make_step(const char *step)
{
    if (step == words || step == bytes)
        return byte_level(step == words);
    if (step == digit || step == digits)
        return json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", step == digit);
    if (step == punctuation)
        return json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Contiguous");
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", step, "behavior", "Isolated", "invert", 0);
}

static json_t *make_splitter(const struct style *style)
{
    json_t *steps = json_array();
    int failed = !steps;
    for (int i = 0; i < STEPS_MAX && style->steps[i] && !failed; i++)
        failed = json_array_append_new(steps, make_step(style->steps[i]));
    if (failed) {
        json_decref(steps);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}

/* -- tokens -- */

/* The array of texts of that key. */
static const struct gguf_pair *texts(const struct gguf *g, const char *key, struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    if (p && p->is_array && p->type == GGUF_STRING)
        return p;
    fail(e, "%s: %s is missing, or no list of texts", g->path, key);
    return NULL;
}

static int add_token(json_t *vocabulary, json_t *added, struct gguf_text token, int64_t type, uint64_t id, const struct gguf *g,
                     struct error *e)
{
    char *text = token.size < TOKEN_BYTES_MAX && !memchr(token.text, '\0', token.size) ? strndup(token.text, token.size) : NULL;
    int result = -1;
    if (!text)
        return fail(e, "%s: token %llu of the tokenizer has a NUL in it, or %zu bytes", g->path, (unsigned long long)id,
                    token.size);
    if (json_object_get(vocabulary, text))
        fail(e, "%s: the token '%.60s' of the tokenizer is there twice", g->path, text);
    else if (json_object_set_new(vocabulary, text, json_integer((json_int_t)id)))
        fail(e, "%s: token %llu of the tokenizer is not UTF-8", g->path, (unsigned long long)id);
    else
        result = 0;
    if (result == 0 && token.size && (type == TOKEN_CONTROL || type == TOKEN_USER || type == TOKEN_UNKNOWN))
        result = json_array_append_new(added, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content",
                                                        text, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                                                        "special", type != TOKEN_USER))
                     ? fail_memory(e, (double)token.size, "a token")
                     : 0;
    free(text);
    return result;
}

/* Tokens that are unused have no text that could be found; their ids stay free. */
static int add_tokens(json_t *vocabulary, json_t *added, const struct gguf *g, struct error *e)
{
    const struct gguf_pair *tokens = texts(g, "tokenizer.ggml.tokens", e), *kinds = gguf_find(g, "tokenizer.ggml.token_type");
    if (!tokens)
        return -1;
    if (kinds && (!kinds->is_array || kinds->count != tokens->count))
        return fail(e, "%s: tokenizer.ggml.token_type is not one number for each of %llu tokens", g->path,
                    (unsigned long long)tokens->count);
    const unsigned char *at = tokens->value;
    for (uint64_t i = 0; i < tokens->count; i++) {
        struct gguf_text token = gguf_next(&at);
        int64_t kind = 1;
        if (kinds && gguf_integer(kinds, i, &kind))
            return fail(e, "%s: tokenizer.ggml.token_type is not one number for each token", g->path);
        if (kind != TOKEN_UNUSED && add_token(vocabulary, added, token, kind, i, g, e))
            return -1;
    }
    return 0;
}

static int add_merges(json_t *merges, const struct gguf *g, struct error *e)
{
    const struct gguf_pair *p = texts(g, "tokenizer.ggml.merges", e);
    const unsigned char *at = p ? p->value : NULL;
    for (uint64_t i = 0; p && i < p->count; i++) {
        struct gguf_text merge = gguf_next(&at);
        if (json_array_append_new(merges, json_stringn(merge.text, merge.size)))
            return fail(e, "%s: merge %llu of the tokenizer is not UTF-8", g->path, (unsigned long long)i + 1);
    }
    return p ? 0 : -1;
}

/* -- the beginning of a text -- */

static json_t *make_settings(const struct gguf *g, const struct style *style, struct error *e)
{
    const struct gguf_pair *tokens = texts(g, "tokenizer.ggml.tokens", e);
    int64_t bos, adds;
    if (!tokens || gguf_integer_or(g, "tokenizer.ggml.bos_token_id", 0, UINT32_MAX, -1, &bos, e) ||
        gguf_integer_or(g, "tokenizer.ggml.add_bos_token", 0, 1, style->adds_bos, &adds, e))
        return NULL;
    json_t *settings = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast", "add_bos_token", (int)adds);
    if (bos < 0 || bos == UINT32_MAX)
        return settings;
    if ((uint64_t)bos >= tokens->count) {
        fail(e, "%s: tokenizer.ggml.bos_token_id is %lld (expected less than %llu)", g->path, (long long)bos,
             (unsigned long long)tokens->count);
        json_decref(settings);
        return NULL;
    }
    const unsigned char *at = tokens->value;
    for (int64_t i = 0; i < bos; i++)
        (void)gguf_next(&at);
    struct gguf_text token = gguf_next(&at);
    if (json_object_set_new(settings, "bos_token", json_stringn(token.text, token.size))) {
        fail(e, "%s: the beginning-of-text token is not UTF-8", g->path);
        json_decref(settings);
        return NULL;
    }
    return settings;
}

/* Settings that change the text, which these tokenizers do not have. */
static int check_flags(const struct gguf *g, struct error *e)
{
    static const char *const keys[] = {"tokenizer.ggml.add_space_prefix", "tokenizer.ggml.remove_extra_whitespaces"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t on;
        if (gguf_integer_or(g, keys[i], 0, 1, 0, &on, e))
            return -1;
        if (on)
            return fail(e, "%s: %s is not supported (expected false)", g->path, keys[i]);
    }
    return 0;
}

int gguf_tokenizer(json_t **json, json_t **settings, const struct gguf *g, struct error *e)
{
    struct gguf_text model;
    const struct style *style;
    *json = *settings = NULL;
    if (gguf_string_or_none(g, "tokenizer.ggml.model", &model, e))
        return -1;
    if (!model.text || gguf_is(model, "none") || gguf_is(model, "no_vocab"))
        return 0;
    if (!gguf_is(model, "gpt2"))
        return fail(
            e,
            "%s: tokenizer.ggml.model '%.*s' is not supported (supported: gpt2, byte pair encoding over bytes; or --tokens "
            "FILE)",
            g->path, model.size < 60 ? (int)model.size : 60, model.text);
    if (!(style = find_style(g, e)) || check_flags(g, e) || !(*settings = make_settings(g, style, e)))
        return -1;
    json_t *vocabulary = json_object(), *merges = json_array(), *added = json_array(), *splitter = make_splitter(style),
           *normalizer = style->composes ? json_pack("{s:s}", "type", "NFC") : json_null();
    if (add_tokens(vocabulary, added, g, e) == 0 && add_merges(merges, g, e) == 0) {
        *json = json_pack("{s:s, s:O, s:O, s:O, s:n, s:{s:s, s:b, s:b, s:b, s:O, s:O}}", "version", "1.0", "added_tokens", added,
                          "normalizer", normalizer, "pre_tokenizer", splitter, "post_processor", "model", "type", "BPE",
                          "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", style->ignore_merges, "vocab", vocabulary, "merges",
                          merges);
        if (!*json)
            fail_memory(e, (double)g->size, "the tokenizer");
    }
    json_decref(vocabulary);
    json_decref(merges);
    json_decref(added);
    json_decref(splitter);
    json_decref(normalizer);
    if (*json)
        return 0;
    json_decref(*settings);
    *settings = NULL;
    return -1;
}
