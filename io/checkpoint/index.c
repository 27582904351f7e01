#include "io/checkpoint/index.h"

#include "io/formats/json.h"
#include "io/order.h"
#include "io/system/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_BYTES_MAX = 100000000 };

static int check_shard_name(const char *name, const char *path, struct error *e)
{
    if (*name == '\0' || strcmp(name, ".") == 0 || strchr(name, '/') || strchr(name, '\\') ||
        strstr(name, ".."))
        return fail(e,
                    "%s: '%.200s' is not the name of a shard (expected a file beside the index, "
                    "without / \\ or ..)",
                    path, name);
    return 0;
}

/* Reads every file named in weight_map, in order of name, each once. */
static int read_shards(struct tensors *t, const json_t *map, const char *path,
                       int (*read)(struct tensors *, const char *, struct error *), struct error *e)
{
    size_t count = json_object_size(map), at = 0;
    const char **names = calloc(count, sizeof *names);
    char *shard = NULL;
    if (!names)
        return fail_memory(e, (double)count * sizeof *names, "the names of the shards");
    int result = -1;
    const char *tensor;
    json_t *file;
    json_object_foreach((json_t *)map, tensor, file)
    {
        if (!json_is_string(file)) {
            fail(e, "%s: the shard of tensor %.200s is not text", path, tensor);
            goto end;
        }
        names[at] = json_string_value(file);
        if (check_shard_name(names[at++], path, e))
            goto end;
    }
    qsort(names, count, sizeof *names, order_texts);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        free(shard);
        if (asprintf(&shard, "%.*s%s", (int)(path_base(path) - path), path, names[i]) < 0) {
            shard = NULL;
            fail_memory(e, (double)strlen(path), "a path");
            goto end;
        }
        if (read(t, shard, e))
            goto end;
    }
    result = 0;
end:
    free(shard);
    free(names);
    return result;
}

int index_read(struct tensors *t, const char *path,
               int (*read)(struct tensors *, const char *, struct error *), struct error *e)
{
    size_t size;
    char *text = store_watch(t, path, e) ? NULL : file_read_whole(path, INDEX_BYTES_MAX, &size, e);
    if (!text)
        return -1;
    json_t *root = json_parse_lenient(path, "the index", text, size, e);
    free(text);
    if (!root)
        return -1;
    int result = -1;
    const json_t *map = json_object_get(root, "weight_map");
    const char *name;
    json_t *file;
    if (!json_is_object(map) || json_object_size(map) == 0) {
        fail(e,
             "%s: weight_map is missing or empty (expected an object: tensor names with shard "
             "files)",
             path);
        goto end;
    }
    if (read_shards(t, map, path, read, e) || store_finish(t, e))
        goto end;
    json_object_foreach((json_t *)map, name, file)
    {
        const struct tensor *tensor = tensors_find_any(t, name);
        if (!tensor || strcmp(path_base(store_file(tensor)->path), json_string_value(file))) {
            fail(e, "%s: tensor %.200s is not in its shard %.200s", path, name,
                 json_string_value(file));
            goto end;
        }
    }
    const json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
    if (json_is_number(total) && json_number_value(total) >= 0 && json_number_value(total) < 0x1p63)
        store_state(t, json_is_integer(total) ? (size_t)json_integer_value(total)
                                              : (size_t)json_number_value(total));
    result = 0;
end:
    json_decref(root);
    return result;
}
