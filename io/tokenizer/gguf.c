#include "io/tokenizer/gguf.h"

#include "io/tokenizer/gguf_styles.h"
#include "io/tokenizer/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_BYTES_MAX = 1 << 16,
    TOKEN_NORMAL = PIECE_NORMAL,
    TOKEN_UNKNOWN = PIECE_UNKNOWN,
    TOKEN_CONTROL = PIECE_CONTROL,
    TOKEN_USER = PIECE_USER,
    TOKEN_UNUSED = PIECE_UNUSED
};

/* As gguf_integer_or and gguf_string_or_none, but messages do not name the file. */
static int integer_or(const struct gguf *g, const char *key, int64_t high, int64_t fallback,
                      int64_t *out, struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    *out = fallback;
    if (p && (p->is_array || gguf_integer(p, 0, out) || *out < 0 || *out > high))
        return fail(e, "%s is not a whole number from 0 to %lld", key, (long long)high);
    return 0;
}

static int string_or_none(const struct gguf *g, const char *key, struct gguf_text *out,
                          struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    *out = (struct gguf_text){NULL, 0};
    return p && gguf_string(p, out) ? fail(e, "%s is not a text", key) : 0;
}

/* -- tokens -- */

/* The array of texts of that key. */
static const struct gguf_pair *texts(const struct gguf *g, const char *key, struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    if (p && p->is_array && p->type == GGUF_STRING)
        return p;
    fail(e, "%s is missing, or is not a list of strings", key);
    return NULL;
}

static int check_token(struct gguf_text token, uint64_t id, struct error *e)
{
    if (token.size >= TOKEN_BYTES_MAX || memchr(token.text, '\0', token.size))
        return fail(e, "token %llu of the tokenizer has a NUL in it, or %zu bytes",
                    (unsigned long long)id, token.size);
    return utf8_sound((struct span){token.text, token.size}) == token.size
               ? 0
               : fail(e, "token %llu of the tokenizer is not UTF-8", (unsigned long long)id);
}

/* The tokens one after the other. */
struct token_list {
    const struct gguf_pair *tokens, *kinds;
    const unsigned char *at;
    uint64_t next;
};

static int open_tokens(struct token_list *l, const struct gguf *g, struct error *e)
{
    *l = (struct token_list){.tokens = texts(g, "tokenizer.ggml.tokens", e),
                             .kinds = gguf_find(g, "tokenizer.ggml.token_type")};
    if (!l->tokens)
        return -1;
    if (l->kinds && (!l->kinds->is_array || l->kinds->count != l->tokens->count))
        return fail(e, "tokenizer.ggml.token_type is not one number for each of %llu tokens",
                    (unsigned long long)l->tokens->count);
    l->at = l->tokens->value;
    return 0;
}

/* 1: a token, with valid text (unused ones: any text, since they are never found); 0: no more. */
static int next_token(struct token_list *l, struct gguf_text *token, int64_t *kind, struct error *e)
{
    if (l->next == l->tokens->count)
        return 0;
    *token = gguf_next(&l->at);
    *kind = TOKEN_NORMAL;
    if (l->kinds && gguf_integer(l->kinds, l->next, kind))
        return fail(e, "tokenizer.ggml.token_type is not one number for each token");
    if (*kind != TOKEN_UNUSED && check_token(*token, l->next, e))
        return -1;
    l->next++;
    return 1;
}

/* With `newlines` also several of these, which such files list among the others. */
static int is_added(struct gguf_text token, int64_t kind, int newlines)
{
    size_t count = 0;
    while (newlines && count < token.size && token.text[count] == '\n')
        count++;
    return token.size && (kind == TOKEN_CONTROL || kind == TOKEN_USER || kind == TOKEN_UNKNOWN ||
                          (count == token.size && count > 1));
}

static json_t *make_added(const char *text, int64_t kind, uint64_t id)
{
    return json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content", text,
                     "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special",
                     kind != TOKEN_USER && kind != TOKEN_NORMAL);
}

/* The tokens found in the text, and with `vocabulary` all of them. */
static int list_tokens(json_t *vocabulary, json_t *added, const struct gguf *g, int newlines,
                       struct error *e)
{
    struct token_list l;
    struct gguf_text token;
    int64_t kind;
    int more;
    if (open_tokens(&l, g, e))
        return -1;
    while ((more = next_token(&l, &token, &kind, e)) == 1) {
        const uint64_t id = l.next - 1;
        if (kind == TOKEN_UNUSED)
            continue;
        char *text = strndup(token.text, token.size);
        int failed = !text;
        if (text && vocabulary && json_object_get(vocabulary, text))
            failed = fail(e, "token '%.60s' is listed twice", text);
        else if (text && ((vocabulary &&
                           json_object_set_new(vocabulary, text, json_integer((json_int_t)id))) ||
                          (is_added(token, kind, newlines) &&
                           json_array_append_new(added, make_added(text, kind, id)))))
            failed = 1;
        free(text);
        if (failed)
            return failed < 0 ? -1 : fail_memory(e, (double)token.size, "a token");
    }
    return more;
}

static int list_merges(json_t *merges, const struct gguf *g, struct error *e)
{
    const struct gguf_pair *p = texts(g, "tokenizer.ggml.merges", e);
    const unsigned char *at = p ? p->value : NULL;
    for (uint64_t i = 0; p && i < p->count; i++) {
        struct gguf_text merge = gguf_next(&at);
        if (json_array_append_new(merges, json_stringn(merge.text, merge.size)))
            return fail(e, "merge %llu of the tokenizer is not UTF-8", (unsigned long long)i + 1);
    }
    return p ? 0 : -1;
}

int gguf_is_pieces(const struct gguf *g)
{
    const struct gguf_pair *p = gguf_find(g, "tokenizer.ggml.model");
    struct gguf_text model;
    return p && gguf_string(p, &model) == 0 && (gguf_is(model, "llama") || gguf_is(model, "t5"));
}

/* With scores there are about as many as tokens. */
size_t gguf_merge_count(const struct gguf *g)
{
    const struct gguf_pair *p = gguf_find(g, gguf_is_pieces(g) ? "tokenizer.ggml.tokens"
                                                               : "tokenizer.ggml.merges");
    return p && p->is_array ? (size_t)p->count : 0;
}

int gguf_read_tables(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    struct token_list l;
    struct gguf_text token;
    int64_t kind;
    int more;
    if (open_tokens(&l, g, e) || bpe_reserve(&t->bpe, l.tokens->count, 8 * l.tokens->count, e))
        return -1;
    while ((more = next_token(&l, &token, &kind, e)) == 1)
        if (kind != TOKEN_UNUSED &&
            bpe_add_token(&t->bpe, (struct span){token.text, token.size}, (int64_t)l.next - 1, e))
            return -1;
    const struct gguf_pair *p = more ? NULL : texts(g, "tokenizer.ggml.merges", e);
    const unsigned char *at = p ? p->value : NULL;
    for (uint64_t i = 0; p && i < p->count; i++) {
        struct gguf_text merge = gguf_next(&at);
        if (utf8_sound((struct span){merge.text, merge.size}) != merge.size)
            return fail(e, "merge %llu of the tokenizer is not UTF-8", (unsigned long long)i + 1);
        if (tokenizer_merge(t, (struct span){merge.text, merge.size}, e))
            return -1;
    }
    return p ? 0 : -1;
}

/* -- tokens with a role -- */

/* The id of the token that the key names, or -1, and its text. */
static int find_named(const struct gguf *g, const char *key, int64_t *id, struct gguf_text *text,
                      struct error *e)
{
    const struct gguf_pair *tokens = texts(g, "tokenizer.ggml.tokens", e);
    if (!tokens || integer_or(g, key, UINT32_MAX, -1, id, e))
        return -1;
    *id = *id == UINT32_MAX ? -1 : *id;
    if (*id < 0)
        return 0;
    if ((uint64_t)*id >= tokens->count)
        return fail(e, "%s is %lld (expected less than %llu)", key, (long long)*id,
                    (unsigned long long)tokens->count);
    const unsigned char *at = tokens->value;
    for (int64_t i = 0; i < *id; i++)
        (void)gguf_next(&at);
    *text = gguf_next(&at);
    return 0;
}

static int find_bos(const struct gguf *g, int64_t *bos, struct gguf_text *text, struct error *e)
{
    return find_named(g, "tokenizer.ggml.bos_token_id", bos, text, e);
}

static json_t *make_settings(const struct gguf *g, const struct gguf_style *style, struct error *e)
{
    int64_t bos, adds;
    struct gguf_text token;
    if (find_bos(g, &bos, &token, e) ||
        integer_or(g, "tokenizer.ggml.add_bos_token", 1, style->adds_bos, &adds, e))
        return NULL;
    json_t *settings = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                                 "add_bos_token", (int)adds);
    if (bos >= 0 &&
        json_object_set_new(settings, "bos_token", json_stringn(token.text, token.size))) {
        fail(e, "the beginning-of-text token is not UTF-8");
        json_decref(settings);
        return NULL;
    }
    return settings;
}

/* Settings that change the text, which these tokenizers do not have. */
static int check_flags(const struct gguf *g, struct error *e)
{
    static const char *const keys[] = {"tokenizer.ggml.add_space_prefix",
                                       "tokenizer.ggml.remove_extra_whitespaces"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t on;
        if (integer_or(g, keys[i], 1, 0, &on, e))
            return -1;
        if (on)
            return fail(e, "%s is not supported (expected false)", keys[i]);
    }
    return 0;
}

/* -- models of SentencePiece: tokens with scores -- */

/* The scores, and the numbers of the map that normalizes text, which are bytes. */
static int read_pieces(struct pieces *p, const struct gguf *g, struct buffer *map, struct error *e)
{
    const struct gguf_pair *scores = gguf_find(g, "tokenizer.ggml.scores"),
                           *normal = gguf_find(g, "tokenizer.ggml.precompiled_charsmap");
    struct token_list l;
    struct gguf_text token;
    int64_t kind;
    int more;
    if (open_tokens(&l, g, e))
        return -1;
    if (!scores || !scores->is_array || scores->count != l.tokens->count || !l.kinds)
        return fail(e, "%s is not one number for each of %llu tokens",
                    l.kinds ? "tokenizer.ggml.scores" : "tokenizer.ggml.token_type",
                    (unsigned long long)l.tokens->count);
    while ((more = next_token(&l, &token, &kind, e)) == 1) {
        double score;
        if (gguf_real(scores, l.next - 1, &score) || kind < PIECE_NORMAL || kind > PIECE_BYTE)
            return fail(e, "token %llu of the tokenizer has no score, or is of an unknown type",
                        (unsigned long long)l.next - 1);
        if (pieces_add(
                p, (struct piece){{token.text, token.size}, (float)score, (enum piece_type)kind},
                e))
            return -1;
        p->byte_fallback |= kind == PIECE_BYTE;
    }
    for (uint64_t i = 0; more == 0 && normal && i < normal->count; i++) {
        int64_t byte;
        if (gguf_integer(normal, i, &byte) || byte < -128 || byte > 255)
            return fail(e, "tokenizer.ggml.precompiled_charsmap is not a list of bytes");
        if (buffer_add(map, &(char){(char)byte}, 1, e))
            return -1;
    }
    p->charsmap = buffer_span(map);
    return more;
}

/* The named token, of any type: in Gemma's files none has the type UNKNOWN, in Phi-3's the padding
 * has. Without a name llama.cpp's choice, if there are several. The others are only found in the
 * text. */
static int mark_unknown(struct pieces *p, const struct gguf *g, struct error *e)
{
    int64_t id;
    size_t count = 0, known = p->is_unigram ? 2 : 0;
    if (integer_or(g, "tokenizer.ggml.unknown_token_id", INT32_MAX, -1, &id, e))
        return -1;
    for (size_t i = 0; i < p->count; i++)
        count += p->piece[i].type == PIECE_UNKNOWN;
    if (id < 0 && count > 1 && known < p->count && p->piece[known].type == PIECE_UNKNOWN)
        id = (int64_t)known;
    if (id < 0 || id >= (int64_t)p->count)
        return 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->piece[i].type == PIECE_UNKNOWN)
            p->piece[i].type = PIECE_CONTROL;
    p->piece[id].type = PIECE_UNKNOWN;
    return 0;
}

int gguf_read_pieces(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    struct gguf_text model, token;
    struct buffer map = {0};
    int64_t bos, adds, prefix, one_space;
    if (string_or_none(g, "tokenizer.ggml.model", &model, e))
        return -1;
    const int is_unigram = gguf_is(model, "t5");
    struct pieces p = {.is_unigram = is_unigram, .marks = 1, .controls = 1};
    int result =
        find_bos(g, &bos, &token, e) ||
                integer_or(g, "tokenizer.ggml.add_bos_token", 1, !is_unigram, &adds, e) ||
                integer_or(g, "tokenizer.ggml.add_space_prefix", 1, !is_unigram, &prefix, e) ||
                integer_or(g, "tokenizer.ggml.remove_extra_whitespaces", 1, 0, &one_space, e) ||
                read_pieces(&p, g, &map, e) || mark_unknown(&p, g, e)
            ? -1
            : 0;
    if (result == 0) {
        p.prefix = (int)prefix;
        p.one_space = (int)one_space;
        t->bos = (int)bos;
        t->adds_bos = (int)adds;
        result = tokenizer_add_pieces(t, &p, e);
    }
    buffer_free(&map);
    free(p.piece);
    return result;
}

/* -- byte pair encoding -- */

/* What comes before the split: NFC, or blanks as pieces of SentencePiece have them. */
static json_t *make_normalizer(const struct gguf_style *style)
{
    if (style->pieces)
        return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", " ",
                         "content", "\u2581");
    return style->composes ? json_pack("{s:s}", "type", "NFC") : json_null();
}

/* The model without its tables. */
static json_t *make_model(const struct gguf *g, const struct gguf_style *style, struct error *e)
{
    int64_t id = -1;
    struct gguf_text token;
    json_t *model = json_pack("{s:s, s:b, s:b, s:b}", "type", "BPE", "fuse_unk", style->pieces,
                              "byte_fallback", style->pieces, "ignore_merges",
                              style->ignore_merges);
    if (!model)
        fail_memory(e, 64, "the tokenizer");
    else if (!style->pieces ||
             (find_named(g, "tokenizer.ggml.unknown_token_id", &id, &token, e) == 0 &&
              (id < 0 ||
               json_object_set_new(model, "unk_token", json_stringn(token.text, token.size)) == 0)))
        return model;
    else if (id >= 0)
        fail(e, "the unknown token is not UTF-8");
    json_decref(model);
    return NULL;
}

static json_t *make_json(const struct gguf *g, const struct gguf_style *style, int whole,
                         struct error *e)
{
    json_t *vocabulary = json_object(), *merges = json_array(), *added = json_array(),
           *splitter = gguf_make_splitter(style), *normalizer = make_normalizer(style),
           *model = make_model(g, style, e), *json = NULL;
    if (model && list_tokens(whole ? vocabulary : NULL, added, g, style->pieces, e) == 0 &&
        (!whole || list_merges(merges, g, e) == 0)) {
        json = json_pack("{s:s, s:O, s:O, s:O, s:n, s:O}", "version", "1.0", "added_tokens", added,
                         "normalizer", normalizer, "pre_tokenizer", splitter, "post_processor",
                         "model", model);
        if (!json || json_object_set(model, "vocab", vocabulary) ||
            json_object_set(model, "merges", merges)) {
            fail_memory(e, (double)g->size, "the tokenizer");
            json_decref(json);
            json = NULL;
        }
    }
    json_decref(vocabulary);
    json_decref(merges);
    json_decref(added);
    json_decref(splitter);
    json_decref(normalizer);
    json_decref(model);
    return json;
}

int gguf_tokenizer(json_t **json, json_t **settings, const struct gguf *g, int whole,
                   struct error *e)
{
    struct gguf_text model;
    struct error inner = {""};
    const struct gguf_style *style;
    *json = *settings = NULL;
    if (string_or_none(g, "tokenizer.ggml.model", &model, &inner) == 0) {
        if (!model.text || gguf_is(model, "none") || gguf_is(model, "no_vocab"))
            return 0;
        if (gguf_is_pieces(g))
            fail(&inner,
                 "tokenizer.ggml.model '%.*s' is a SentencePiece model, which only the GGUF file "
                 "holds (give that file "
                 "where text is read, or put the model's tokenizer.json or tokenizer.model into "
                 "the folder)",
                 (int)model.size, model.text);
        else if (!gguf_is(model, "gpt2") && !gguf_is(model, "gemma4"))
            fail(&inner,
                 "tokenizer.ggml.model '%.*s' is not supported (supported: gpt2 and gemma4, byte "
                 "pair encoding over bytes and over characters; llama and t5, models of "
                 "SentencePiece; or --tokens FILE)",
                 model.size < 60 ? (int)model.size : 60, model.text);
        else if ((style = gguf_find_style(g, model, &inner)) && check_flags(g, &inner) == 0 &&
                 (*settings = make_settings(g, style, &inner)) &&
                 (*json = make_json(g, style, whole, &inner)))
            return 0;
    }
    json_decref(*settings);
    *settings = NULL;
    return fail(e, "%s: %s", g->path, inner.text);
}
