/* The tokenizer of a model, from the files in its folder or the GGUF file itself. */
#include "io/tokenizer/parts.h"

#include "io/formats/json.h"
#include "io/system/file.h"
#include "io/system/watch.h"
#include "io/tensors/store.h"
#include "io/tokenizer/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 256 << 20, SETTINGS_BYTES_MAX = 64 << 20 };

/* -- files -- */

/* FOLDER/NAME of a model: in it, or beside it when it is a file. NULL with *e: out of memory. */
static char *path_in(const char *model, const char *name, struct error *e)
{
    struct stat st;
    const char *base = path_base(model);
    char *path;
    int is_folder = stat(model, &st) != 0 || S_ISDIR(st.st_mode);
    int written = is_folder ? asprintf(&path, "%s/%s", model, name)
                            : asprintf(&path, "%.*s%s", (int)(base - model), model, name);
    if (written >= 0)
        return path;
    fail_memory(e, (double)strlen(model), name);
    return NULL;
}

/* The file beside the model, or text NULL if it does not exist. Caller frees path and text. */
static int read_source(struct source *out, struct watch *w, const char *model, const char *name,
                       size_t limit, struct error *e)
{
    char *path = path_in(model, name, e);
    *out = (struct source){.path = path};
    if (!path)
        return -1;
    if (access(path, F_OK) != 0)
        return 0;
    return watch_open(w, path, &out->size, e) >= 0 &&
                   (out->text = file_read_whole(path, limit, &out->size, e))
               ? 0
               : -1;
}

static void free_source(struct source *s)
{
    free((char *)s->path);
    free((char *)s->text);
}

/* 1 if MODEL is a file that begins like GGUF. */
static int is_gguf(const char *model)
{
    char magic[4] = "";
    size_t size;
    struct stat st;
    int descriptor = stat(model, &st) == 0 && S_ISREG(st.st_mode)
                         ? file_open_regular(model, &size, NULL)
                         : -1;
    int same = descriptor >= 0 && size >= sizeof magic &&
               file_read_at(descriptor, model, magic, sizeof magic, 0, NULL) == 0 &&
               memcmp(magic, GGUF_MAGIC, sizeof magic) == 0;
    if (descriptor >= 0)
        close(descriptor);
    return same;
}

/* The head of the GGUF file MODEL, in *t; caller closes both, also after a failure. */
static int map_gguf(struct gguf *g, struct tensors **t, const char *model, struct error *e)
{
    *g = (struct gguf){0};
    *t = store_create(model, e);
    const struct mapped *file = *t ? store_map(*t, model, e) : NULL;
    return file ? gguf_parse(g, model, file->bytes, file->size, e) : -1;
}

static int open_gguf(struct tokenizer **out, const char *model, struct error *e)
{
    struct gguf g;
    struct tensors *t;
    int result = map_gguf(&g, &t, model, e) || tokenizer_from_gguf(out, &g, e) ? -1 : 0;
    if (result == 0 && (result = tensors_unchanged(t, e))) {
        tokenizer_close(*out);
        *out = NULL;
    }
    gguf_free(&g);
    tensors_close(t);
    return result;
}

int tokenizer_text(char **json, char **settings, struct error *refused, const char *model,
                   struct error *e)
{
    json_t *root = NULL, *other = NULL;
    struct gguf g;
    struct tensors *t;
    *json = *settings = NULL;
    *refused = (struct error){""};
    if (!is_gguf(model))
        return 0;
    int result = map_gguf(&g, &t, model, e);
    if (result == 0 && gguf_tokenizer(&root, &other, &g, 1, refused) == 0 && root) {
        *json = json_dumps(root, JSON_INDENT(1));
        *settings = json_dumps(other, JSON_INDENT(1));
        result = *json && *settings ? tensors_unchanged(t, e)
                                    : fail_memory(e, (double)g.size, "the tokenizer");
    }
    json_decref(root);
    json_decref(other);
    gguf_free(&g);
    tensors_close(t);
    return result;
}

/* The files beside the tokenizer as one text, like tokenizer_config.json; text NULL: none. */
static int read_beside(struct source *out, struct watch *w, const char *path, struct error *e)
{
    struct beside b = {0};
    json_t *joined = NULL;
    int result = -1;
    *out = (struct source){0};
    if (read_source(&b.settings, w, path, "tokenizer_config.json", SETTINGS_BYTES_MAX, e) ||
        read_source(&b.added, w, path, "added_tokens.json", SETTINGS_BYTES_MAX, e) ||
        read_source(&b.special, w, path, "special_tokens_map.json", SETTINGS_BYTES_MAX, e) ||
        read_source(&b.config, w, path, "config.json", SETTINGS_BYTES_MAX, e) ||
        !(joined = settings_join(&b, e)))
        goto end;
    char *text = json_dumps(joined, 0);
    struct source *first = b.settings.text || !b.config.text ? &b.settings
                                                             : &b.config; /* for messages */
    *out = (struct source){.path = first->path, .text = text, .size = text ? strlen(text) : 0};
    first->path = NULL;
    result = text ? 0 : fail_memory(e, (double)b.settings.size, path);
end:
    json_decref(joined);
    free_source(&b.settings);
    free_source(&b.added);
    free_source(&b.special);
    free_source(&b.config);
    return result;
}

/* The tokenizer from the first existing file; *out NULL: none exists. */
static int open_first(struct tokenizer **out, struct source parts[4], struct watch *w,
                      const char *path, struct error *e)
{
    struct source *json = &parts[0], *vocabulary = &parts[1], *merges = &parts[2],
                  *model = &parts[3], settings = {0};
    if (read_source(json, w, path, "tokenizer.json", FILE_BYTES_MAX, e) ||
        (!json->text && (read_source(vocabulary, w, path, "vocab.json", FILE_BYTES_MAX, e) ||
                         read_source(merges, w, path, "merges.txt", FILE_BYTES_MAX, e))))
        return -1;
    const int two = vocabulary->text && merges->text;
    if (!json->text && !two && read_source(model, w, path, "tokenizer.model", FILE_BYTES_MAX, e))
        return -1;
    if (!json->text && !two && !model->text)
        return 0;
    if (read_beside(&settings, w, path, e) == 0)
        *out = json->text ? tokenizer_parse(*json, &settings, e)
               : two      ? tokenizer_parse_merges(*vocabulary, *merges, &settings, e)
                          : tokenizer_parse_pieces(*model, &settings, e);
    free_source(&settings);
    return *out ? 0 : -1;
}

int tokenizer_open(struct tokenizer **out, const char *path, struct error *e)
{
    struct source parts[4] = {0};
    struct watch w = {0};
    *out = NULL;
    if (is_gguf(path) && (open_gguf(out, path, e) || *out))
        return *out ? 0 : -1;
    int result = open_first(out, parts, &w, path, e);
    if (result == 0 && watch_check(&w, e)) { /* the files of two tokenizers would be mixed up */
        tokenizer_close(*out);
        *out = NULL;
        result = -1;
    }
    watch_close(&w);
    for (int i = 0; i < 4; i++)
        free_source(&parts[i]);
    return result;
}
