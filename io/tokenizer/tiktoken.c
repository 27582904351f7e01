/* Vocabularies of tiktoken: a line for each token, with its bytes in base64 and its rank, which is
 * its id. How text is split and which special tokens follow is in the code of a class. Source:
 * openai/tiktoken 0.14, src/lib.rs; meta-llama/llama-models, models/llama3/tokenizer.py;
 * moonshotai/Kimi-K2-Instruct, tokenization_kimi.py; Qwen/Qwen-7B, tokenization_qwen.py.
 *
 * The first and the last cut texts of 400,000 characters, and words of 25,000, for the sake of the
 * library; here they are not cut. */
#include "io/tokenizer/gguf_styles.h"
#include "io/tokenizer/parts.h"

#include "io/formats/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS_BYTES_MAX = 32 << 20,
    TOKEN_BYTES_MAX = 1023, /* the work grows with the square of it */
    LINE_BYTES = 16, /* about, and */
    LINE_MERGES = 3,
    NAME_BYTES = 64
};

static const struct known_class {
    const char *name; /* of the class; NULL: Meta's Llama 3 */
    const char *style; /* how text is split and normalized: gguf_styles.h */
    const char *bos;
    int adds_bos;
    int count; /* special tokens, which follow the ranks */
    const char *const *special; /* names of the first ones, ended by NULL */
    const char *reserved; /* how the others begin; then come their place less `shift`, and |> */
    int shift;
    int in_settings; /* names are in added_tokens_decoder, and the others have their ids */
} classes[] = {
    {.style = " llama3 ",
     .bos = "<|begin_of_text|>",
     .adds_bos = 1,
     .count = 256,
     .special = (const char *const[]){"<|begin_of_text|>", "<|end_of_text|>",
                                      "<|reserved_special_token_0|>",
                                      "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>",
                                      "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>",
                                      "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>",
                                      NULL},
     .reserved = "<|reserved_special_token_",
     .shift = 10},
    {.name = "TikTokenTokenizer",
     .style = " kimi-k2 ",
     .bos = "[BOS]",
     .count = 256,
     .special = (const char *const[]){NULL},
     .reserved = "<|reserved_token_",
     .in_settings = 1},
    {.name = "QWenTokenizer",
     .style = " qwen2 ",
     .count = 208,
     .special = (const char *const[]){"<|endoftext|>", "<|im_start|>", "<|im_end|>", NULL},
     .reserved = "<|extra_",
     .shift = 3},
};

/* -- lines -- */

static struct span next_line(const char **at, const char *end)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *stop = newline ? newline : end;
    struct span line = {*at, (size_t)(stop - *at)};
    line.size -= line.size && line.text[line.size - 1] == '\r';
    *at = newline ? newline + 1 : end;
    return line;
}

/* The token of a line, in base64, and its rank; -1: it has another form. */
static int split_line(struct span line, struct span *token, int64_t *rank)
{
    const char *blank = memchr(line.text, ' ', line.size), *end = line.text + line.size;
    *rank = 0;
    if (!blank || end == blank + 1 || end - blank > 12)
        return -1;
    *token = (struct span){line.text, (size_t)(blank - line.text)};
    for (const char *at = blank + 1; at < end; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        *rank = 10 * *rank + (*at - '0');
    }
    return token->size % 4 ? -1 : 0;
}

int tiktoken_recognize(struct span text)
{
    const char *at = text.text;
    struct span line = next_line(&at, text.text + text.size), token;
    struct buffer bytes = {0};
    struct error none;
    int64_t rank;
    int found = line.size < 2 * TOKEN_BYTES_MAX && split_line(line, &token, &rank) == 0 &&
                token.size && base64_read(&bytes, token, &none) == 0;
    buffer_free(&bytes);
    return found;
}

/* Adds a token in the byte alphabet. */
static int add_line(struct bpe *b, struct span line, size_t number, struct buffer work[2],
                    int64_t *rank, struct error *e)
{
    struct span token;
    int result;
    if (split_line(line, &token, rank))
        return fail(e, "line %zu is not a token in base64, a blank and a rank", number);
    if (token.size > TOKEN_BYTES_MAX / 3 * 4)
        return fail(e, "line %zu has a token of %zu bytes (expected at most %d)", number,
                    token.size / 4 * 3, TOKEN_BYTES_MAX);
    work[0].size = work[1].size = 0;
    if ((result = base64_read(&work[0], token, e)) != 0)
        return result < 0 ? -1 : fail(e, "line %zu has a token that is not base64", number);
    if (work[0].size == 0)
        return fail(e, "line %zu has an empty token", number);
    if (buffer_reserve(&work[1], 2 * work[0].size, e))
        return -1;
    for (size_t i = 0; i < work[0].size; i++)
        work[1].size += character_write(work[1].text + work[1].size,
                                        byte_character((unsigned char)work[0].text[i]));
    return bpe_add_token(b, buffer_span(&work[1]), *rank, e);
}

/* Every byte is a token, and every rank from 0 on belongs to one. */
static int check_ranks(const struct bpe *b, int64_t highest, struct error *e)
{
    const size_t count = b->vocabulary.count;
    for (int i = 0; i < 256; i++) {
        char text[CHARACTER_BYTES_MAX];
        size_t size = character_write(text, byte_character((unsigned char)i));
        if (map_find(&b->vocabulary, text, size) == MAP_ABSENT)
            return fail(e, "has no token for the byte 0x%02X (expected one for each of the 256)",
                        (unsigned)i);
    }
    return (uint64_t)highest < count
               ? 0
               : fail(e, "has the rank %lld with %zu tokens (expected each rank from 0 to %zu)",
                      (long long)highest, count, count - 1);
}

static int read_ranks(struct tokenizer *t, struct span text, struct error *e)
{
    struct buffer work[2] = {{0}, {0}};
    int64_t rank, highest = -1;
    size_t number = 0;
    int result = bpe_reserve(&t->bpe, text.size / LINE_BYTES, text.size, e);
    for (const char *at = text.text, *end = at + text.size; at < end && result == 0;) {
        struct span line = next_line(&at, end);
        number++;
        if (line.size == 0)
            continue;
        result = add_line(&t->bpe, line, number, work, &rank, e);
        highest = rank > highest ? rank : highest;
    }
    if (result == 0)
        result = check_ranks(&t->bpe, highest, e) || bpe_add_ranks(&t->bpe, e) ? -1 : 0;
    buffer_free(&work[0]);
    buffer_free(&work[1]);
    return result;
}

/* -- the class -- */

static const struct known_class *find_class(const char *path, const json_t *settings,
                                            struct error *e)
{
    const char *name = json_string_value(member(settings, "tokenizer_class")),
               *type = json_string_value(member(settings, "model_type"));
    const size_t length = strlen(path), end = strlen("qwen.tiktoken");
    if (!name && length >= end && strcmp(path + length - end, "qwen.tiktoken") == 0)
        name = "QWenTokenizer";
    for (size_t i = 0; name && i < sizeof classes / sizeof *classes; i++)
        if (classes[i].name && strcmp(classes[i].name, name) == 0)
            return &classes[i];
    if (!name && type && (strcmp(type, "llama") == 0 || strcmp(type, "llama_meta") == 0))
        return &classes[0];
    fail(e,
         "is a vocabulary of tiktoken, which does not say how text is split, and %s%.60s%s "
         "(expected %sTikTokenTokenizer or QWenTokenizer in tokenizer_config.json, or params.json "
         "or config.json of Llama 3; or a tokenizer.json, which save_pretrained of transformers "
         "writes; or --tokens FILE)",
         name ? "the class " : "no file beside it does", name ? name : "",
         name ? " is not known" : "", name ? "" : "the class ");
    return NULL;
}

/* That of the model has room for just the special tokens. */
static int check_size(const struct known_class *c, const json_t *settings, size_t ranks,
                      struct error *e)
{
    const json_int_t size = json_integer_value(member(settings, "vocab_size")),
                     expected = (json_int_t)ranks + c->count;
    return c->name || size == expected
               ? 0
               : fail(e,
                      "is a vocabulary of tiktoken with %zu ranks, and the vocab_size of the model "
                      "is %lld (expected %lld, as of Llama 3; or a tokenizer.json; or --tokens "
                      "FILE)",
                      ranks, (long long)size, (long long)expected);
}

/* The name of the special token in place `i` after the ranks, whose id is `id`. */
static struct span name_special(char text[NAME_BYTES], const struct known_class *c,
                                const json_t *settings, int i, size_t id)
{
    char key[24];
    int named = 0;
    while (c->special[named])
        named++;
    if (i < named)
        return (struct span){c->special[i], strlen(c->special[i])};
    snprintf(key, sizeof key, "%zu", id);
    const json_t *given = c->in_settings
                              ? content_of(member(member(settings, "added_tokens_decoder"), key))
                              : NULL;
    if (given)
        return text_of(given);
    int size = snprintf(text, NAME_BYTES, "%s%zu|>", c->reserved,
                        c->in_settings ? id : (size_t)(i - c->shift));
    return (struct span){text, (size_t)size};
}

static int add_special(struct tokenizer *t, const struct known_class *c, const json_t *settings,
                       int in_normal, struct error *e)
{
    const size_t ranks = t->bpe.vocabulary.count;
    for (int i = 0; i < c->count; i++) {
        char text[NAME_BYTES];
        const struct added_token token = {.id = (int32_t)ranks + i};
        struct span name = name_special(text, c, settings, i, ranks + (size_t)i);
        if (name.size && tokenizer_add(t, name, token, in_normal, e))
            return -1;
    }
    t->next_added = (int64_t)ranks + c->count;
    if (c->bos && !member(settings, "bos_token"))
        t->bos = tokenizer_find(t, (struct span){c->bos, strlen(c->bos)});
    t->adds_bos = c->adds_bos;
    return 0;
}

static int read_style(struct tokenizer *t, const struct gguf_style *style, struct error *e)
{
    json_t *form = json_pack("{s:s}", "type", "NFC"), *splitter = gguf_make_splitter(style);
    int result = !form || !splitter ? fail_memory(e, 1024, "a tokenizer")
                 : (style->composes && read_normalizer(t, form, 0, e)) ||
                         read_splitter(t, splitter, 0, e)
                     ? -1
                     : 0;
    json_decref(form);
    json_decref(splitter);
    return result;
}

/* A class that composes text does so before it finds special tokens in it. */
static int read_all(struct tokenizer *t, struct source ranks, const json_t *settings,
                    struct error *e)
{
    const struct known_class *c = find_class(ranks.path, settings, e);
    const struct gguf_style *style = c ? gguf_style(c->style) : NULL;
    return !style || read_ranks(t, (struct span){ranks.text, ranks.size}, e) ||
                   check_size(c, settings, t->bpe.vocabulary.count, e) || read_style(t, style, e) ||
                   add_special(t, c, settings, style->composes, e)
               ? -1
               : 0;
}

struct tokenizer *tokenizer_parse_ranks(struct source ranks, const struct source *settings,
                                        struct error *e)
{
    struct error inner = {""};
    struct tokenizer *t = NULL;
    json_t *other = settings ? json_parse_lenient(settings->path, "the file", settings->text,
                                                  settings->size, e)
                             : json_object();
    int result = other ? 0 : -1;
    if (other && ranks.size > RANKS_BYTES_MAX)
        result = fail(e, "%s: has %zu bytes (expected at most %d)", ranks.path, ranks.size,
                      RANKS_BYTES_MAX);
    else if (other && (!(t = tokenizer_create(LINE_MERGES * ranks.size / LINE_BYTES, &inner)) ||
                       read_all(t, ranks, other, &inner)))
        result = tokenizer_name_file(ranks.path, &inner, e);
    else if (other && read_settings(t, other, &inner))
        result = tokenizer_name_file(settings ? settings->path : ranks.path, &inner, e);
    json_decref(other);
    if (result == 0) {
        t->bpe.ignore_merges = 1; /* a word that is a token is that token */
        tokenizer_finish(t);
        return t;
    }
    tokenizer_close(t);
    return NULL;
}
