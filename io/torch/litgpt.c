#include "io/torch/litgpt.h"

#include "io/system/file.h"
#include "io/torch/torch.h"
#include "io/torch/yaml.h"

#include <stdlib.h>

enum { SETTINGS_BYTES_MAX = 1 << 20 };

int litgpt_recognize(const char *folder)
{
    return path_exists(folder, "lit_model.pth") && path_exists(folder, "model_config.yaml");
}

static struct config *read_settings(struct tensors *t, const char *folder, struct error *e)
{
    size_t size;
    char *path = path_join(folder, "model_config.yaml", e),
         *text = path && store_watch(t, path, e) == 0
                     ? file_read_whole(path, SETTINGS_BYTES_MAX, &size, e)
                     : NULL;
    json_t *root = text ? yaml_load_memory(path, text, size, e) : NULL;
    struct config *c = NULL;
    if (root && json_object_set_new(root, "model_type", json_string("litgpt"))) {
        fail_memory(e, 32, path);
        json_decref(root);
    } else if (root) {
        c = config_from_json(path, root, e);
    }
    free(text);
    free(path);
    return c;
}

int litgpt_read(struct tensors *t, const char *folder, struct config **own, struct error *e)
{
    struct torch_file f;
    char *path = path_join(folder, "lit_model.pth", e);
    const struct mapped *file = path ? store_map(t, path, e) : NULL;
    int result = -1;
    free(path);
    if (file && torch_open_memory(&f, file->path, file->bytes, file->size, e) == 0) {
        result = torch_read(t, file, &f, e) || store_finish(t, e) ? -1 : 0;
        torch_close(&f);
    }
    if (result == 0)
        result = (*own = read_settings(t, folder, e)) ? 0 : -1;
    return result;
}
