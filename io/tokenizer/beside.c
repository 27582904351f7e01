/* The files beside a tokenizer: tokenizer_config.json, added_tokens.json, special_tokens_map.json,
 * and the model's type, of config.json, or of Meta's params.json without it. Source:
 * huggingface/transformers 5.24, tokenization_utils_base.py
 * (_from_pretrained) and tokenization_utils_tokenizers.py. */
#include "io/tokenizer/parts.h"

#include "io/formats/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Keys that name a token each, and lists of more. */
static const char *const named[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};
static const char *const lists[] = {"extra_special_tokens", "additional_special_tokens"};

const json_t *content_of(const json_t *token)
{
    const json_t *content = json_is_object(token) ? member(token, "content") : token;
    return json_is_string(content) ? content : NULL;
}

/* -- joining the files -- */

/* AutoTokenizer's choice if no class is named. */
static const char *class_of_type(const char *type)
{
    static const struct {
        const char *types, *name; /* blanks around each */
    } classes[] = {{" qwen2 qwen3 qwen2_moe qwen3_moe ", "Qwen2Tokenizer"},
                   {" gpt_neox mpt olmo olmoe ", "GPTNeoXTokenizer"},
                   {" gpt_neox_japanese ", "GPTNeoXJapaneseTokenizer"},
                   {" openai-gpt ", "OpenAIGPTTokenizer"},
                   {" ctrl ", "CTRLTokenizer"},
                   {" biogpt ", "BioGptTokenizer"}};
    char wanted[64];
    if (snprintf(wanted, sizeof wanted, " %s ", type) < (int)sizeof wanted)
        for (size_t i = 0; i < COUNT(classes); i++)
            if (strstr(classes[i].types, wanted))
                return classes[i].name;
    return NULL;
}

/* 1 for types whose tokenizer.model transformers reads itself, whatever class is named. */
static int is_read_alone(const char *type)
{
    static const char types[] = " mistral phi3 ministral internlm3 ministral3 hyperclovax "
                                "internlm2 mixtral phimoe minimax_m2 "
                                "ernie4_5 ernie4_5_moe persimmon stablelm nemotron granite ";
    char wanted[64];
    return snprintf(wanted, sizeof wanted, " %s ", type) < (int)sizeof wanted &&
           strstr(types, wanted);
}

static int is_named(const json_t *settings, const char *text)
{
    for (size_t i = 0; i < COUNT(named); i++) {
        const json_t *content = content_of(member(settings, named[i]));
        if (content && strcmp(json_string_value(content), text) == 0)
            return 1;
    }
    for (size_t k = 0; k < COUNT(lists); k++) {
        const json_t *list = member(settings, lists[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *content = content_of(json_array_get(list, i));
            if (content && strcmp(json_string_value(content), text) == 0)
                return 1;
        }
    }
    return 0;
}

/* added_tokens.json, which has the ids of texts, as added_tokens_decoder. */
static json_t *decoder_of(json_t *added, const json_t *settings, const char *path, struct error *e)
{
    json_t *decoder = json_object();
    for (void *at = json_object_iter(added); at; at = json_object_iter_next(added, at)) {
        const char *text = json_object_iter_key(at);
        const json_t *id = json_object_iter_value(at);
        const int special = is_named(settings, text);
        char key[32];
        if (!json_is_integer(id) || json_integer_value(id) < 0) {
            fail(e, "%s: the id of '%.60s' is not a whole number", path, text);
            json_decref(decoder);
            return NULL;
        }
        snprintf(key, sizeof key, "%lld", (long long)json_integer_value(id));
        json_object_set_new(decoder, key,
                            json_pack("{s:s, s:b, s:b}", "content", text, "special", special,
                                      "normalized", !special));
    }
    return decoder;
}

static json_t *parse(const struct source *s, struct error *e)
{
    return json_parse_lenient(s->path, "the file", s->text, s->size, e);
}

/* The class, whether every part of a text gets SentencePiece's leading blank ("legacy"), and the
 * type and size of the model, which tell what a vocabulary of tiktoken is. */
static void take_type(json_t *settings, const struct source *config, int is_meta)
{
    struct error none; /* the model's reader reports what is wrong with it */
    json_t *root = config->text ? json_parse_lenient(config->path, "the file", config->text,
                                                     config->size, &none)
                                : NULL,
           *size = member(root, "vocab_size");
    const char *type = is_meta ? "llama_meta" : json_string_value(member(root, "model_type")),
               *own = json_string_value(member(root, "tokenizer_class")),
               *name = json_string_value(member(settings, "tokenizer_class"));
    if (!name && (name = own ? own : type ? class_of_type(type) : NULL))
        json_object_set_new(settings, "tokenizer_class", json_string(name));
    if (!json_object_get(settings, "legacy"))
        json_object_set_new(settings, "legacy",
                            json_boolean((type && is_read_alone(type)) || !name ||
                                         strncmp(name, "LlamaTokenizer", 14) != 0));
    json_object_set_new(settings, "model_type", type ? json_string(type) : json_null());
    json_object_set(settings, "vocab_size", size ? size : json_null());
    json_decref(root);
}

json_t *settings_join(const struct beside *b, struct error *e)
{
    json_t *settings = b->settings.text ? parse(&b->settings, e) : json_object(), *map = NULL,
           *added = NULL, *decoder;
    int failed = !settings;
    if (settings && !json_object_get(settings, "added_tokens_decoder")) {
        if (b->special.text)
            failed = !(map = parse(&b->special, e)) || json_object_update(settings, map);
        if (!failed && b->added.text) {
            failed = !(added = parse(&b->added, e)) ||
                     !(decoder = decoder_of(added, settings, b->added.path, e));
            failed = failed || json_object_set_new(settings, "added_tokens_decoder", decoder);
        }
    }
    if (failed) {
        json_decref(settings);
        settings = NULL;
    } else {
        take_type(settings, b->config.text ? &b->config : &b->params,
                  !b->config.text && b->params.text);
    }
    json_decref(map);
    json_decref(added);
    return settings;
}

/* -- reading them -- */

int read_added_flags(const json_t *object, struct added_token *token, int *is_normalized,
                     struct error *e)
{
    int special;
    return member_flag(object, "special", 0, &special, e) ||
                   member_flag(object, "single_word", 0, &token->single_word, e) ||
                   member_flag(object, "lstrip", 0, &token->strip_left, e) ||
                   member_flag(object, "rstrip", 0, &token->strip_right, e) ||
                   member_flag(object, "normalized", !special, is_normalized, e)
               ? -1
               : 0;
}

/* Adds a token, given as text or object, with `id` if not in the vocabulary, -1: the next. */
static int add_token(struct tokenizer *t, const json_t *value, int64_t id, struct error *e)
{
    const json_t *content = content_of(value);
    struct added_token token = {0};
    int is_normalized = 0;
    if (!content)
        return fail(e, "a token is neither a text nor an object with content");
    const struct span text = text_of(content);
    if (json_is_object(value) && read_added_flags(value, &token, &is_normalized, e))
        return -1;
    if (text.size == 0 || map_find(&t->added, text.text, text.size) != MAP_ABSENT)
        return 0;
    int32_t known = map_find(&t->bpe.vocabulary, text.text, text.size);
    if (known == MAP_ABSENT && id >= 0 && id != t->next_added && t->numbers_added)
        return fail(e,
                    "the added token '%.60s' has the id %lld (expected %lld: it is not in "
                    "tokenizer.json, and follows the tokens there)",
                    text.text, (long long)id, (long long)t->next_added);
    if (id >= INT32_MAX || t->next_added >= INT32_MAX)
        return fail(e, "the added token '%.60s' has no id", text.text);
    if (known == MAP_ABSENT) {
        token.id = (int32_t)(id >= 0 ? id : t->next_added);
        t->next_added = token.id >= t->next_added ? (int64_t)token.id + 1 : t->next_added;
    } else {
        token.id = id >= 0 ? (int32_t)id : known;
    }
    /* SentencePiece's changes of a text do not apply to its tokens */
    return tokenizer_add(t, text, token, is_normalized && !t->pieces, e);
}

struct numbered {
    long id;
    const json_t *token;
};

static int by_id(const void *a, const void *b)
{
    long x = ((const struct numbered *)a)->id, y = ((const struct numbered *)b)->id;
    return (x > y) - (x < y);
}

/* `added_tokens_decoder`: ids to tokens. */
static int add_decoder(struct tokenizer *t, json_t *decoder, struct error *e)
{
    size_t count = 0;
    int result = 0;
    if (!json_is_object(decoder))
        return fail(e, "added_tokens_decoder is not an object");
    struct numbered *list = calloc(json_object_size(decoder) + 1, sizeof *list);
    if (!list)
        return fail_memory(e, (double)json_object_size(decoder) * sizeof *list, "added tokens");
    for (void *at = json_object_iter(decoder); at && result == 0;
         at = json_object_iter_next(decoder, at)) {
        const char *key = json_object_iter_key(at);
        char *end;
        errno = 0;
        list[count] = (struct numbered){strtol(key, &end, 10), json_object_iter_value(at)};
        if (errno || *end || end == key || list[count].id < 0 || list[count].id >= INT32_MAX)
            result = fail(e, "added_tokens_decoder has the key '%.60s' (expected ids)", key);
        count++;
    }
    qsort(list, count, sizeof *list, by_id);
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_token(t, list[i].token, list[i].id, e);
    free(list);
    return result;
}

static int add_list(struct tokenizer *t, json_t *list, struct error *e)
{
    int result = 0;
    for (size_t i = 0; i < json_array_size(list) && result == 0; i++)
        result = add_token(t, json_array_get(list, i), -1, e);
    for (void *at = json_object_iter(list); at && result == 0; at = json_object_iter_next(list, at))
        result = add_token(t, json_object_iter_value(at), -1, e); /* names to tokens */
    return result;
}

int read_settings(struct tokenizer *t, json_t *settings, struct error *e)
{
    json_t *decoder = member(settings, "added_tokens_decoder");
    if ((decoder && add_decoder(t, decoder, e)) ||
        read_bos(t, settings, e)) /* before ids not in files */
        return -1;
    for (size_t i = 0; i < COUNT(named); i++) {
        const json_t *token = member(settings, named[i]);
        if (token && !content_of(token))
            return fail(e, "%s is neither a text nor an object with content", named[i]);
        if (token && add_token(t, token, -1, e))
            return -1;
    }
    for (size_t i = 0; i < COUNT(lists); i++)
        if (add_list(t, member(settings, lists[i]), e))
            return -1;
    return 0;
}

int read_bos(struct tokenizer *t, const json_t *settings, struct error *e)
{
    const json_t *token = member(settings, "bos_token"), *content = content_of(token);
    if (token && !content)
        return fail(e, "bos_token is neither a text nor an object with content");
    if (content) {
        int id = tokenizer_find(t, text_of(content));
        t->bos = id >= 0 ? id : t->bos;
    }
    return member_flag(settings, "add_bos_token", t->adds_bos, &t->adds_bos, e);
}

/* -- vocab.json and merges.txt -- */

/* Only the class determines how text is split and normalized. */
static const struct style {
    const char *name;
    const char *pattern; /* NULL: GPT-2's */
    int composes; /* text becomes NFC */
    int no_bos; /* no beginning-of-text token unless one is named */
} styles[] = {{.name = "GPT2Tokenizer"},
              {.name = "CodeGenTokenizer"},
              {.name = "GPTNeoXTokenizer", .composes = 1},
              {.name = "Qwen2Tokenizer", .pattern = PATTERN_QWEN2, .composes = 1, .no_bos = 1}};

static const struct style *find_style(const json_t *settings, struct error *e)
{
    const char *name = json_string_value(member(settings, "tokenizer_class"));
    if (!name)
        return styles;
    size_t length = strlen(name);
    length -= length > 4 && strcmp(name + length - 4, "Fast") == 0 ? 4 : 0;
    for (size_t i = 0; i < COUNT(styles); i++)
        if (strlen(styles[i].name) == length && strncmp(styles[i].name, name, length) == 0)
            return &styles[i];
    fail(e,
         "the class %.60s is not read from vocab.json and merges.txt (expected GPT2Tokenizer, "
         "CodeGenTokenizer, GPTNeoXTokenizer "
         "or "
         "Qwen2Tokenizer; or a tokenizer.json, which save_pretrained of transformers writes for "
         "most classes; or --tokens FILE)",
         name);
    return NULL;
}

static int read_style(struct tokenizer *t, const struct style *style, int prefix_space,
                      struct error *e)
{
    json_t *form = json_pack("{s:s}", "type", "NFC"),
           *split = style->pattern
                        ? json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b}]}", "type",
                                    "Sequence", "pretokenizers", "type", "Split", "pattern",
                                    "Regex", style->pattern, "behavior", "Isolated", "invert", 0,
                                    "type", "ByteLevel", "add_prefix_space", prefix_space,
                                    "use_regex", 0)
                        : NULL;
    int result = style->composes ? read_normalizer(t, form, 0, e) : 0;
    if (result == 0)
        result = split ? read_splitter(t, split, 0, e) : add_byte_level(t, prefix_space, 1, e);
    json_decref(form);
    json_decref(split);
    return result;
}

int read_class(struct tokenizer *t, json_t *settings, struct error *e)
{
    const char end_of_text[] = "<|endoftext|>";
    const struct style *style = find_style(settings, e);
    int prefix_space = 0;
    if (!style || member_flag(settings, "add_prefix_space", 0, &prefix_space, e) ||
        read_style(t, style, prefix_space, e))
        return -1;
    if (settings && read_settings(t, settings, e))
        return -1;
    /* these classes' token if the settings name none */
    const struct span content = {end_of_text, sizeof end_of_text - 1};
    const struct added_token token = {
        .id = map_find(&t->bpe.vocabulary, content.text, content.size)};
    if (token.id == MAP_ABSENT)
        return 0;
    if (t->bos < 0 && !style->no_bos && !json_object_get(settings, "bos_token"))
        t->bos = token.id;
    if (map_find(&t->added, content.text, content.size) != MAP_ABSENT ||
        (json_object_get(settings, "unk_token") && json_object_get(settings, "eos_token") &&
         json_object_get(settings, "bos_token")))
        return 0;
    return tokenizer_add(t, content, token, 0, e);
}
