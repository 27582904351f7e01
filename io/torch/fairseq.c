#include "io/torch/fairseq.h"

#include "io/torch/pickle_json.h"

int fairseq_recognize(const struct torch_file *f)
{
    const struct pickle_value *root = f->pickle.root;
    if (root->kind != PICKLE_DICT || !pickle_get(root, "model"))
        return 0;
    int trained = pickle_get(root, "optimizer_history") || pickle_get(root, "extra_state") ||
                  pickle_get(root, "last_optimizer_state");
    return pickle_get(root, "cfg") != NULL || (pickle_get(root, "args") != NULL && trained);
}

int fairseq_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                 struct config **own, struct error *e)
{
    const struct pickle_value *model = pickle_get(f->pickle.root, "model"),
                              *cfg = pickle_get(f->pickle.root, "cfg"),
                              *arguments = pickle_get(cfg, "model");
    char text[160];
    if (!arguments)
        return fail(e,
                    "%s: holds no cfg[\"model\"], so that the position encoding is unknown (the "
                    "weights do not tell it)",
                    file->path);
    if (pickle_is_object(arguments, "argparse", "Namespace"))
        arguments = arguments->object.state;
    if (!arguments || arguments->kind != PICKLE_DICT)
        return fail(e, "%s: cfg[\"model\"] is %s (expected the arguments of the model)", file->path,
                    arguments ? pickle_describe(arguments, text) : "empty");
    if (model->kind != PICKLE_DICT)
        return fail(e, "%s: model is %s (expected a dict of tensors)", file->path,
                    pickle_describe(model, text));
    json_t *object = pickle_to_json(arguments, file->path, "cfg[\"model\"]", e);
    if (!object)
        return -1;
    if (json_object_set_new(object, "model_type", json_string("fairseq_transformer_lm"))) {
        json_decref(object);
        return fail_memory(e, 32, file->path);
    }
    *own = config_from_json(file->path, object, e);
    return *own ? torch_add_tensors(t, file, f, model, "", e) : -1;
}
