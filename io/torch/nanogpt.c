#include "io/torch/nanogpt.h"

#include "io/torch/pickle_json.h"

int nanogpt_recognize(const struct torch_file *f)
{
    const struct pickle_value *sizes = pickle_get(f->pickle.root, "model_args"),
                              *model = pickle_get(f->pickle.root, "model");
    return sizes && sizes->kind == PICKLE_DICT && pickle_get(sizes, "n_embd") && model &&
           model->kind == PICKLE_DICT;
}

int nanogpt_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                 struct config **own, struct error *e)
{
    json_t *sizes = pickle_to_json(pickle_get(f->pickle.root, "model_args"), file->path,
                                   "model_args", e);
    if (!sizes)
        return -1;
    if (json_object_set_new(sizes, "model_type", json_string("nanogpt"))) {
        json_decref(sizes);
        return fail_memory(e, 32, file->path);
    }
    *own = config_from_json(file->path, sizes, e);
    return *own ? torch_add_tensors(t, file, f, pickle_get(f->pickle.root, "model"), "", e) : -1;
}
