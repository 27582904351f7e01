/* tokenizer.json, or the same in the metadata of a GGUF file. */
#include "io/tokenizer/parts.h"

#include "io/formats/json.h"
#include "io/tokenizer/gguf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tokenizer_read_vocabulary(struct tokenizer *t, json_t *vocabulary, struct error *e)
{
    void *at;
    if (!json_is_object(vocabulary))
        return fail(e, "the vocabulary is not an object");
    for (at = json_object_iter(vocabulary); at; at = json_object_iter_next(vocabulary, at)) {
        const char *token = json_object_iter_key(at);
        const json_t *id = json_object_iter_value(at);
        if (!json_is_integer(id))
            return fail(e, "the id of token '%.60s' is not a whole number", token);
        if (bpe_add_token(&t->bpe, (struct span){token, strlen(token)}, json_integer_value(id), e))
            return -1;
    }
    return 0;
}

static int read_merges(struct tokenizer *t, const json_t *merges, struct error *e)
{
    size_t i;
    const json_t *merge;
    json_array_foreach(merges, i, merge)
    {
        const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
        int result;
        if (json_is_string(merge))
            result = tokenizer_merge(t, text_of(merge), e);
        else if (json_array_size(merge) == 2 && json_is_string(left) && json_is_string(right))
            result = bpe_add_merge(&t->bpe, text_of(left), text_of(right), e);
        else
            result = fail(e, "merge %zu is neither a text nor two", i + 1);
        if (result)
            return -1;
    }
    return 0;
}

/* A number as read by the reference library, which is sometimes off in the last place: the digits,
 * as a whole number, over a power of ten. Ties between sums of scores depend on it. */
static double score_of(const json_t *number)
{
    char text[40], power[16], *at;
    const double exact = json_number_value(number);
    uint64_t digits = 0;
    int exponent = 0;
    for (int places = 15; places <= 17; places++) { /* the shortest text, as written in the file */
        snprintf(text, sizeof text, "%.*e", places - 1, exact);
        if (strtod(text, NULL) == exact)
            break;
    }
    for (at = text + (*text == '-'); *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits = 10 * digits + (uint64_t)(*at - '0');
    exponent = *at == 'e' ? atoi(at + 1) - (int)(at - text - (*text == '-')) + 2 : 0;
    for (; digits && digits % 10 == 0; digits /= 10)
        exponent++;
    if (digits == 0 || exponent >= 0 || exponent < -300)
        return exact;
    snprintf(power, sizeof power, "1e%d", -exponent);
    const double value = (double)digits / strtod(power, NULL);
    return *text == '-' ? -value : value;
}

/* Unigram: a list of tokens, each with its score; their ids are their places in the list. */
static int read_unigram(struct tokenizer *t, const json_t *model, struct error *e)
{
    const json_t *vocabulary = member(model, "vocab"), *unknown = member(model, "unk_id"), *pair;
    size_t count = json_array_size(vocabulary), i;
    struct unigram *u = &t->unigram;
    double least = HUGE_VAL;
    if (!json_is_array(vocabulary))
        return fail(e, "the vocabulary of Unigram is not a list");
    if (bpe_reserve(&t->bpe, count, 8 * count, e) || unigram_start(u, count, 8 * count, e) ||
        member_flag(model, "byte_fallback", 0, &u->byte_fallback, e))
        return -1;
    json_array_foreach(vocabulary, i, pair)
    {
        const json_t *text = json_array_get(pair, 0), *number = json_array_get(pair, 1);
        double score = score_of(number);
        if (json_array_size(pair) != 2 || !json_is_string(text) || !json_is_number(number))
            return fail(e, "token %zu is not a text and a score", i);
        if (bpe_add_token(&t->bpe, text_of(text), (int64_t)i, e) ||
            (json_string_length(text) && unigram_add(u, text_of(text), (int32_t)i, score, e)))
            return -1;
        least = score < least ? score : least;
    }
    u->unknown_score = least - 10;
    if (unknown && (!json_is_integer(unknown) || json_integer_value(unknown) < 0 ||
                    (size_t)json_integer_value(unknown) >= count))
        return fail(e, "unk_id is not a token (expected 0 to %zu)", count - 1);
    u->unknown = unknown ? (int32_t)json_integer_value(unknown) : UNIGRAM_NONE;
    return 0;
}

static int read_bpe(struct tokenizer *t, const json_t *model, const struct tables *tables,
                    struct error *e)
{
    static const char *const refused[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *unknown = member(model, "unk_token"), *dropout = member(model, "dropout");
    struct bpe *b = &t->bpe;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (member(model, refused[i]) && json_string_length(member(model, refused[i])) != 0)
            return fail(e, "the model's %s is not supported", refused[i]);
    if (dropout && (!json_is_number(dropout) || json_number_value(dropout) != 0))
        return fail(e, "the model's dropout is not supported");
    if (member_flag(model, "fuse_unk", 0, &b->fuse_unknown, e) ||
        member_flag(model, "byte_fallback", 0, &b->byte_fallback, e) ||
        member_flag(model, "ignore_merges", 0, &b->ignore_merges, e))
        return -1;
    if (tables && tables->gguf ? gguf_read_tables(t, tables->gguf, e)
        : tables               ? tables_read(t, tables, e)
                               : tokenizer_read_vocabulary(t, member(model, "vocab"), e) ||
                       read_merges(t, member(model, "merges"), e))
        return -1;
    if (unknown && !json_is_string(unknown))
        return fail(e, "unk_token is not text");
    if (unknown) {
        b->unknown = map_find(&b->vocabulary, json_string_value(unknown),
                              json_string_length(unknown));
        b->unknown = b->unknown == MAP_ABSENT ? BPE_MISSING : b->unknown;
    }
    return 0;
}

/* One of `added_tokens`. In the reference library a token that is not in the vocabulary gets the
 * next id after it, whatever the file says; a file with another id is ambiguous. */
static int read_added(struct tokenizer *t, const json_t *object, int64_t *next, struct error *e)
{
    const json_t *id = member(object, "id");
    struct added_token token = {0};
    struct span content = {0};
    int is_normalized;
    if (member_text(object, "content", &content, e) ||
        read_added_flags(object, &token, &is_normalized, e))
        return -1;
    if (content.size == 0)
        return 0;
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= INT32_MAX)
        return fail(e, "the added token '%.60s' has no id", content.text);
    token.id = (int32_t)json_integer_value(id);
    if (map_find(&t->added, content.text, content.size) != MAP_ABSENT)
        return fail(e, "the added token '%.60s' is listed twice", content.text);
    if (map_find(&t->bpe.vocabulary, content.text, content.size) == MAP_ABSENT &&
        (*next)++ != token.id)
        return fail(e,
                    "the added token '%.60s' has the id %d (expected %lld: ids of added tokens "
                    "follow the vocabulary in their order)",
                    content.text, token.id, (long long)*next - 1);
    return tokenizer_add(t, content, token, is_normalized, e);
}

static int is_unigram(const json_t *model)
{
    const char *type = json_string_value(member(model, "type"));
    return type && strcmp(type, "Unigram") == 0;
}

/* An unsupported model is refused by its name, or for what it lacks. */
static int check_model(const json_t *model, struct error *e)
{
    const char *type = json_string_value(member(model, "type"));
    if (type && strcmp(type, "BPE") && strcmp(type, "Unigram"))
        return fail(e, "the model %.60s is not supported (expected BPE or Unigram)", type);
    if (!is_unigram(model) && !json_is_array(member(model, "merges")))
        return fail(
            e, "has no model with a list of merges (expected byte pair encoding, or type Unigram)");
    return 0;
}

static int read_tokenizer(struct tokenizer *t, const json_t *root, const struct tables *tables,
                          struct error *e)
{
    const json_t *model = member(root, "model"), *part, *added = member(root, "added_tokens");
    int64_t next;
    size_t i;
    if ((is_unigram(model) ? read_unigram(t, model, e) : read_bpe(t, model, tables, e)) ||
        ((part = member(root, "normalizer")) && read_normalizer(t, part, 0, e)) ||
        ((part = member(root, "pre_tokenizer")) && read_splitter(t, part, 0, e)) ||
        ((part = member(root, "post_processor")) && read_post_processor(t, part, 0, e)))
        return -1;
    if (added && !json_is_array(added))
        return fail(e, "added_tokens is not a list");
    next = (int64_t)t->bpe.vocabulary.count;
    json_array_foreach(added, i, part) if (read_added(t, part, &next, e)) return -1;
    t->next_added = next;
    t->numbers_added = 1;
    tokenizer_finish(t);
    return 0;
}

/* The tokenizer from a parsed tokenizer.json and, unless NULL, tokenizer_config.json. `tables`: the
 * contents of its vocab and merges; NULL: they are in `root`. */
static struct tokenizer *make(const char *path, const json_t *root, const struct tables *tables,
                              const char *settings_path, json_t *settings, struct error *e)
{
    struct error inner = {""};
    struct tokenizer *t = NULL;
    const json_t *merges = member(member(root, "model"), "merges");
    if (check_model(member(root, "model"), &inner) ||
        !(t = tokenizer_create(tables ? tables->merge_count : json_array_size(merges), &inner)) ||
        read_tokenizer(t, root, tables, &inner))
        tokenizer_name_file(path, &inner, e);
    else if (settings && (tables && tables->gguf ? read_bos(t, settings, &inner)
                                                 : read_settings(t, settings, &inner)))
        tokenizer_name_file(settings_path, &inner, e);
    else
        return t;
    tokenizer_close(t);
    return NULL;
}

/* The same with large tables read from the text; NULL if Jansson must read it, or report an
 * error. */
static struct tokenizer *make_quickly(struct source json, const char *settings_path,
                                      json_t *settings)
{
    struct span text = {json.text, json.size};
    struct buffer rest = {0};
    struct tables tables;
    struct error why;
    struct tokenizer *t = NULL;
    json_t *root = NULL;
    if (tables_find(&tables, text) && tables_rest(&rest, &tables, text, &why) == 0 &&
        (root = json_parse_lenient(json.path, "the file", rest.text, rest.size, &why)))
        t = make(json.path, root, &tables, settings_path, settings, &why);
    json_decref(root);
    buffer_free(&rest);
    return t;
}

struct tokenizer *tokenizer_parse(struct source json, const struct source *settings,
                                  struct error *e)
{
    const char *settings_path = settings ? settings->path : NULL;
    json_t *root = NULL, *other = NULL;
    struct error why;
    struct tokenizer *t = NULL;
    if (settings)
        other = json_parse_lenient(settings->path, "the file", settings->text, settings->size,
                                   &why);
    if (!settings || other)
        t = make_quickly(json, settings_path, other);
    if (!t && (root = json_parse_lenient(json.path, "the file", json.text, json.size, e))) {
        if (settings && !other)
            fail(e, "%s", why.text);
        else
            t = make(json.path, root, NULL, settings_path, other, e);
    }
    json_decref(root);
    json_decref(other);
    return t;
}

static struct tokenizer *make_from_pieces(const struct gguf *g, struct error *e)
{
    struct error inner = {""};
    struct tokenizer *t = tokenizer_create(gguf_merge_count(g), &inner);
    if (t && gguf_read_pieces(t, g, &inner) == 0)
        return t;
    tokenizer_name_file(g->path, &inner, e);
    tokenizer_close(t);
    return NULL;
}

int tokenizer_from_gguf(struct tokenizer **out, const struct gguf *g, struct error *e)
{
    const struct tables tables = {.gguf = g, .merge_count = gguf_merge_count(g)};
    json_t *root, *settings;
    *out = NULL;
    if (gguf_is_pieces(g))
        return (*out = make_from_pieces(g, e)) ? 0 : -1;
    if (gguf_tokenizer(&root, &settings, g, 0, e))
        return -1;
    if (!root)
        return 0;
    *out = make(g->path, root, &tables, g->path, settings, e);
    json_decref(root);
    json_decref(settings);
    return *out ? 0 : -1;
}
