#include "io/tokenizer/gguf_styles.h"

#include "io/tokenizer/parts.h"

#include <stdio.h>
#include <string.h>

/* Source: ggml-org/llama.cpp, src/llama-vocab.cpp, and the tokenizer.json of the models with these
 * names, which count where the two differ. */

#define LLAMA3 PATTERN_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" PATTERN_REST
#define QWEN35 \
    PATTERN_CONTRACTIONS \
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" \
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* Words that end before a capital, or are capitals. */
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(upper, lower, end) \
    "[^\\r\\n\\p{L}\\p{N}]?" upper "*" lower "+" end "|" \
    "[^\\r\\n\\p{L}\\p{N}]?" upper "+" lower "*" end "|"
#define CASED_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define TEKKEN CASED(UPPER, LOWER, "") "\\p{N}" CASED_REST
#define GPT4O CASED(UPPER, LOWER, PATTERN_CONTRACTIONS "?") "\\p{N}{1,3}" CASED_REST
/* Chinese characters are words apart. */
#define NOT_HAN(letters) "(?:(?!\\p{Han})" letters ")"
#define KIMI \
    "\\p{Han}+|" CASED(NOT_HAN(UPPER), NOT_HAN(LOWER), \
                       PATTERN_CONTRACTIONS "?") "\\p{N}{1,3}|" PATTERN_REST
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define BLOOM " ?[^(\\s|[.,!?…。，、।۔،])]+"
#define DIGITS_3 "[0-9][0-9][0-9]"
#define LINE_END "[\\r\\n]"
#define DEEPSEEK_EAST "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"
/* Letters with case, as that model lists them. */
#define DEEPSEEK_LETTERS \
    "\\s?[A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf" \
    "\\u01c4-\\u0293\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386" \
    "\\u0388-\\u038a\\u038c\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f" \
    "\\u0531-\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf" \
    "\\u1d00-\\u1d2b\\u1d6b-\\u1d77\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45" \
    "\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4" \
    "\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb" \
    "\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115" \
    "\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134\\u2139\\u213c-\\u213f" \
    "\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2" \
    "\\u2cf3\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e" \
    "\\uab70-\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a" \
    "\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}" \
    "\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}]+"
#define DEEPSEEK_MARKS "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+"
#define DEEPSEEK_V3 \
    "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
    " ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Steps: a pattern whose matches are separate words, or one of these. */
static const char bytes[] = "bytes", words[] = "words", digit[] = "digit", digits[] = "digits",
                  punctuation[] = "punctuation";

static const struct gguf_style styles[] = {
    {.names = " gpt-2 phi-2 jais exaone4 ", .steps = {words}},
    {.names = " mpt olmo ", .steps = {words}, .composes = 1},
    {.names = " llama3 llama-v3 llama-bpe lfm2 falcon-h1 pixtral ",
     .steps = {LLAMA3, bytes},
     .ignore_merges = 1,
     .adds_bos = 1},
    {.names = " dbrx smaug-bpe glm4 chatglm-bpe ", .steps = {LLAMA3, bytes}},
    {.names = " qwen2 ", .steps = {PATTERN_QWEN2, bytes}, .composes = 1},
    {.names = " qwen35 ", .steps = {QWEN35, bytes}, .composes = 1},
    {.names = " stablelm2 deepseek-r1-qwen ", .steps = {PATTERN_QWEN2, bytes}},
    {.names = " smollm starcoder refact codeshell ", .steps = {digit, words}},
    {.names = " command-r ", .steps = {digit, words}, .composes = 1},
    {.names = " falcon ", .steps = {punctuation, words, digits, DIGITS_3}},
    {.names = " bloom gpt3-finnish poro-chat ", .steps = {BLOOM, bytes}},
    {.names = " tekken ", .steps = {TEKKEN, bytes}, .ignore_merges = 1, .adds_bos = 1},
    {.names = " gpt-4o llama4 ", .steps = {GPT4O, bytes}},
    {.names = " kimi-k2 ", .steps = {KIMI, bytes}, .ignore_merges = 1},
    {.names = " deepseek-llm ",
     .steps = {LINE_END, DEEPSEEK_LETTERS, DEEPSEEK_MARKS, "\\s+$", DEEPSEEK_EAST, digit, bytes}},
    {.names = " deepseek-coder ",
     .steps = {LINE_END, "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_EAST, digit, bytes}},
    {.names = " deepseek-v3 ",
     .steps = {"\\p{N}{1,3}", "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", DEEPSEEK_V3,
               bytes}},
    {.names = " gemma4 ", .pieces = 1},
    {.names = " default ",
     .steps = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", DIGITS_3, bytes}},
};
enum { STYLES = sizeof styles / sizeof *styles };

const struct gguf_style *gguf_style(const char *wanted)
{
    for (int i = 0; i < STYLES; i++)
        if (strstr(styles[i].names, wanted))
            return &styles[i];
    return NULL;
}

const struct gguf_style *gguf_find_style(const struct gguf *g, struct gguf_text model,
                                         struct error *e)
{
    char wanted[64], known[512] = "";
    const struct gguf_pair *p = gguf_find(g, "tokenizer.ggml.pre");
    struct gguf_text pre = {NULL, 0};
    if (p && gguf_string(p, &pre)) {
        fail(e, "tokenizer.ggml.pre is not a text");
        return NULL;
    }
    if (gguf_is(model, "gemma4"))
        pre = model;
    int named = pre.text &&
                snprintf(wanted, sizeof wanted, " %.*s ", (int)(pre.size < 64 ? pre.size : 64),
                         pre.text) < 64 &&
                pre.size && !memchr(pre.text, ' ', pre.size);
    const struct gguf_style *found = named ? gguf_style(wanted) : NULL;
    if (found)
        return found;
    for (int i = 0; i < STYLES; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s",
                 styles[i].names + (i > 0));
    known[strlen(known) - 1] = '\0';
    if (pre.text)
        fail(e, "tokenizer.ggml.pre '%.*s' is not supported (supported:%s)",
             pre.size < 60 ? (int)pre.size : 60, pre.text, known);
    else
        fail(e,
             "has no tokenizer.ggml.pre, which says how text is split (expected one of:%s; or "
             "--tokens FILE)",
             known);
    return NULL;
}

static json_t *byte_level(int use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 1, "use_regex", use_regex);
}

static json_t *make_step(const char *step)
{
    if (step == words || step == bytes)
        return byte_level(step == words);
    if (step == digit || step == digits)
        return json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", step == digit);
    if (step == punctuation)
        return json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Contiguous");
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", step,
                     "behavior", "Isolated", "invert", 0);
}

json_t *gguf_make_splitter(const struct gguf_style *style)
{
    if (!style->steps[0])
        return json_null();
    json_t *steps = json_array();
    int failed = !steps;
    for (int i = 0; i < GGUF_STEPS_MAX && style->steps[i] && !failed; i++)
        failed = json_array_append_new(steps, make_step(style->steps[i]));
    if (failed) {
        json_decref(steps);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}
