#include "io/tokenizer/chat.h"

#include "io/formats/json.h"
#include "io/order.h"
#include "io/tokenizer/source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATE_BYTES_MAX = 4 << 20, TEMPLATES_MAX = 64 };

#define FOLDER "additional_chat_templates"
#define ENDING ".jinja"

static int add(struct chat_text **list, size_t *count, const char *name, const char *text,
               size_t size, struct error *e)
{
    struct chat_text *grown = reallocarray(*list, *count + 1, sizeof *grown);
    if (!grown)
        return fail_memory(e, (double)size, "a chat template");
    *list = grown;
    grown[*count] = (struct chat_text){strdup(name), text ? strndup(text, size) : NULL};
    (*count)++;
    if (!grown[*count - 1].name || (text && !grown[*count - 1].text))
        return fail_memory(e, (double)size, "a chat template");
    return (!text || (utf8_sound((struct span){text, size}) == size && !memchr(text, 0, size))) &&
                   utf8_sound((struct span){name, strlen(name)}) == strlen(name)
               ? 0
               : fail(e, "the chat template or token %.60s is not UTF-8, or has a NUL", name);
}

static int add_template(struct chat *c, const char *name, const char *text, size_t size,
                        struct error *e)
{
    return c->template_count < TEMPLATES_MAX
               ? add(&c->template, &c->template_count, name, text, size, e)
               : fail(e, "there are more than %d chat templates", TEMPLATES_MAX);
}

/* ---- files ---- */

static int add_file(struct chat *c, struct watch *w, const char *model, const char *file,
                    const char *name, struct error *e)
{
    struct source s;
    struct error inner;
    int result = source_read(&s, w, model, file, TEMPLATE_BYTES_MAX, e);
    if (result == 0 && s.text && add_template(c, name, s.text, s.size, &inner))
        result = tokenizer_name_file(s.path, &inner, e);
    source_free(&s);
    return result;
}

static int is_template(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), end = strlen(ENDING);
    return length > end && strcmp(entry->d_name + length - end, ENDING) == 0;
}

/* NAME.jinja in the folder of templates. */
static int add_folder(struct chat *c, struct watch *w, const char *model, struct error *e)
{
    struct dirent **found = NULL;
    char *path = source_path(model, FOLDER, e);
    int count = path ? scandir(path, &found, is_template, alphasort) : -1, result = path ? 0 : -1;
    for (int i = 0; i < count; i++) {
        char *file, *name = found[i]->d_name;
        if (result == 0 && asprintf(&file, "%s/%s", FOLDER, name) < 0)
            result = fail_memory(e, sizeof FOLDER, "a path");
        else if (result == 0) {
            name[strlen(name) - strlen(ENDING)] = 0;
            result = add_file(c, w, model, file, name, e);
            free(file);
        }
        free(found[i]);
    }
    free(found);
    free(path);
    return result;
}

/* chat_template of tokenizer_config.json: a text, or a list of named ones. */
static int add_setting(struct chat *c, const json_t *value, struct error *e)
{
    int result = 0;
    if (json_is_string(value))
        return add_template(c, "default", json_string_value(value), json_string_length(value), e);
    if (value && !json_is_array(value))
        return fail(e, "chat_template is neither a text nor a list");
    for (size_t i = 0; i < json_array_size(value) && result == 0; i++) {
        const json_t *one = json_array_get(value, i), *name = member(one, "name"),
                     *text = member(one, "template");
        result = json_is_string(name) && json_is_string(text)
                     ? add_template(c, json_string_value(name), json_string_value(text),
                                    json_string_length(text), e)
                     : fail(e, "chat_template %zu has no name and template", i + 1);
    }
    return result;
}

static int add_token(struct chat *c, const char *name, const json_t *value, struct error *e)
{
    const json_t *content = json_is_object(value) ? member(value, "content") : value;
    return json_is_string(content) || !value || json_is_null(value)
               ? add(&c->token, &c->token_count, name, json_string_value(content),
                     json_string_length(content), e)
               : 0;
}

/* The names that every tokenizer has; classes other than these have tokens of their own. */
static int add_tokens(struct chat *c, json_t *settings, struct error *e)
{
    static const char *const named[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    static const char classes[] = " PreTrainedTokenizerFast TokenizersBackend ", end[] = "_token";
    const char *class = json_string_value(member(settings, "tokenizer_class"));
    json_t *more = member(settings, "extra_special_tokens");
    char wanted[64];
    int is_plain = class && snprintf(wanted, sizeof wanted, " %s ", class) < (int)sizeof wanted &&
                   strstr(classes, wanted),
        result = 0;
    for (void *at = json_object_iter(settings); at && result == 0;
         at = json_object_iter_next(settings, at)) {
        const char *name = json_object_iter_key(at);
        size_t length = strlen(name);
        if (length >= sizeof end && strcmp(name + length + 1 - sizeof end, end) == 0)
            result = add_token(c, name, json_object_iter_value(at), e);
    }
    for (size_t i = 0; i < sizeof named / sizeof *named && is_plain && result == 0; i++)
        if (!json_object_get(settings, named[i]))
            result = add_token(c, named[i], NULL, e);
    for (void *at = json_object_iter(more); at && result == 0; at = json_object_iter_next(more, at))
        result = add_token(c, json_object_iter_key(at), json_object_iter_value(at), e);
    return result;
}

static int read_files(struct chat *c, const char *path, struct error *e)
{
    struct watch w = {0};
    json_t *settings;
    char *name;
    struct error inner;
    int result = source_read_settings(&settings, &name, &w, path, e);
    if (result == 0 &&
        (add_file(c, &w, path, "chat_template" ENDING, "default", e) || add_folder(c, &w, path, e)))
        result = -1;
    else if (result == 0 &&
             ((!c->template_count && add_setting(c, member(settings, "chat_template"), &inner)) ||
              add_tokens(c, settings, &inner)))
        result = tokenizer_name_file(name, &inner, e);
    if (result == 0)
        result = watch_check(&w, e);
    json_decref(settings);
    free(name);
    watch_close(&w);
    return result;
}

/* ---- GGUF ---- */

static int add_gguf_token(struct chat *c, const struct gguf *g, const char *name, const char *key,
                          struct error *e)
{
    const struct gguf_pair *tokens = gguf_find(g, "tokenizer.ggml.tokens"),
                           *named = gguf_find(g, key);
    const unsigned char *at;
    struct gguf_text text = {NULL, 0};
    int64_t id = UINT32_MAX; /* none, as in a file */
    if (named && (named->is_array || gguf_integer(named, 0, &id) || id < 0))
        return fail(e, "%s is not the id of a token", key);
    if (tokens && tokens->is_array && tokens->type == GGUF_STRING && (uint64_t)id < tokens->count) {
        at = tokens->value;
        for (int64_t i = 0; i <= id; i++)
            text = gguf_next(&at);
    }
    return add(&c->token, &c->token_count, name, text.text, text.size, e);
}

static int add_gguf(struct chat *c, const struct gguf *g, struct error *e)
{
    static const char prefix[] = "tokenizer.chat_template";
    static const char *const tokens[][2] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                                            {"eos_token", "tokenizer.ggml.eos_token_id"},
                                            {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                            {"pad_token", "tokenizer.ggml.padding_token_id"}};
    int result = 0;
    for (size_t i = 0; i < g->pair_count && result == 0; i++) {
        struct gguf_text key = g->pairs[i].key, text;
        char name[64];
        int after = (int)key.size - (int)(sizeof prefix - 1);
        if (after < 0 || memcmp(key.text, prefix, sizeof prefix - 1) != 0 ||
            gguf_string(&g->pairs[i], &text) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", after ? after - 1 : 0, key.text + sizeof prefix);
        if (after == 0 || key.text[sizeof prefix - 1] == '.')
            result = add_template(c, after ? name : "default", text.text, text.size, e);
    }
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens && result == 0; i++)
        result = add_gguf_token(c, g, tokens[i][0], tokens[i][1], e);
    return result;
}

static int read_gguf(struct chat *c, const char *path, struct error *e)
{
    struct gguf g;
    struct tensors *t;
    struct error inner;
    int result = source_map_gguf(&g, &t, path, e);
    if (result == 0 && add_gguf(c, &g, &inner))
        result = tokenizer_name_file(path, &inner, e);
    if (result == 0)
        result = tensors_unchanged(t, e);
    gguf_free(&g);
    tensors_close(t);
    return result;
}

int chat_read(struct chat *out, const char *path, struct error *e)
{
    *out = (struct chat){0};
    if ((source_is_gguf(path) ? read_gguf : read_files)(out, path, e) == 0)
        return 0;
    chat_free(out);
    return -1;
}

static void free_list(struct chat_text *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].text);
    }
    free(list);
}

void chat_free(struct chat *c)
{
    free_list(c->template, c->template_count);
    free_list(c->token, c->token_count);
    *c = (struct chat){0};
}
