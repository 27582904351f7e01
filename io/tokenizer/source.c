#include "io/tokenizer/source.h"

#include "io/formats/json.h"
#include "io/system/file.h"
#include "io/tensors/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_BYTES_MAX = 64 << 20 };

char *source_path(const char *model, const char *name, struct error *e)
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

int source_read(struct source *out, struct watch *w, const char *model, const char *name,
                size_t limit, struct error *e)
{
    char *path = source_path(model, name, e);
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

void source_free(struct source *s)
{
    free((char *)s->path);
    free((char *)s->text);
}

int source_read_settings(json_t **joined, char **name, struct watch *w, const char *model,
                         struct error *e)
{
    struct beside b = {0};
    *joined = NULL;
    *name = NULL;
    if (source_read(&b.settings, w, model, "tokenizer_config.json", SETTINGS_BYTES_MAX, e) == 0 &&
        source_read(&b.added, w, model, "added_tokens.json", SETTINGS_BYTES_MAX, e) == 0 &&
        source_read(&b.special, w, model, "special_tokens_map.json", SETTINGS_BYTES_MAX, e) == 0 &&
        source_read(&b.config, w, model, "config.json", SETTINGS_BYTES_MAX, e) == 0 &&
        (b.config.text ||
         source_read(&b.params, w, model, "params.json", SETTINGS_BYTES_MAX, e) == 0) &&
        (*joined = settings_join(&b, e))) {
        struct source *first = b.settings.text ? &b.settings
                               : b.config.text ? &b.config
                               : b.params.text ? &b.params
                                               : &b.settings;
        *name = (char *)first->path;
        first->path = NULL;
    }
    source_free(&b.settings);
    source_free(&b.added);
    source_free(&b.special);
    source_free(&b.config);
    source_free(&b.params);
    return *joined ? 0 : -1;
}

int source_is_gguf(const char *model)
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

int source_map_gguf(struct gguf *g, struct tensors **t, const char *model, struct error *e)
{
    *g = (struct gguf){0};
    *t = store_create(model, e);
    const struct mapped *file = *t ? store_map(*t, model, e) : NULL;
    return file ? gguf_parse(g, model, file->bytes, file->size, e) : -1;
}
