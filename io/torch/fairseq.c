#include "io/torch/fairseq.h"

#include <math.h>
#include <string.h>

enum { NESTING_MAX = 16, BYTES_MAX = 4 << 20, VALUE_BYTES = 32 };

/* Values shared in a pickle become copies in JSON: both depth and size are bounded. */
struct converter {
    const char *path;
    size_t left; /* bytes, each value counted as VALUE_BYTES and its text */
    struct error *e;
};

int fairseq_recognize(const struct torch_file *f)
{
    const struct pickle_value *root = f->pickle.root;
    if (root->kind != PICKLE_DICT || !pickle_get(root, "model"))
        return 0;
    int trained = pickle_get(root, "optimizer_history") || pickle_get(root, "extra_state") ||
                  pickle_get(root, "last_optimizer_state");
    return pickle_get(root, "cfg") != NULL || (pickle_get(root, "args") != NULL && trained);
}

/* -1 if a value with `text` bytes of text exceeds what is left. */
static int spend(struct converter *c, size_t text)
{
    if (c->left < VALUE_BYTES || c->left - VALUE_BYTES < text)
        return -1;
    c->left -= VALUE_BYTES + text;
    return 0;
}

static json_t *convert(struct converter *c, const struct pickle_value *v, int depth);

static json_t *convert_items(struct converter *c, const struct pickle_value *v, int depth)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < v->items.count; i++) {
        json_t *item = convert(c, v->items.item[i], depth + 1);
        if (!item || json_array_append_new(list, item)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *convert_dict(struct converter *c, const struct pickle_value *v, int depth)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < v->items.count; i += 2) {
        const struct pickle_value *key = v->items.item[i];
        json_t *value = NULL, *name = key->kind == PICKLE_TEXT && spend(c, key->text.size) == 0
                                          ? json_stringn(key->text.bytes, key->text.size)
                                          : NULL;
        if (!name || strlen(json_string_value(name)) != key->text.size)
            fail(c->e, "%s: a field of cfg[\"model\"] has no name in text, or one that is too long",
                 c->path);
        else
            value = convert(c, v->items.item[i + 1], depth + 1);
        int failed = !value || json_object_set_new(object, json_string_value(name), value);
        json_decref(name);
        if (failed) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *convert(struct converter *c, const struct pickle_value *v, int depth)
{
    char text[160];
    json_t *value = NULL;
    if (depth > NESTING_MAX || spend(c, v->kind == PICKLE_TEXT ? v->text.size : 0)) {
        fail(c->e, "%s: cfg[\"model\"] is nested too deeply, or too large", c->path);
        return NULL;
    }
    switch (v->kind) {
    case PICKLE_NONE: value = json_null(); break;
    case PICKLE_BOOL: value = json_boolean(v->integer); break;
    case PICKLE_INTEGER: value = json_integer(v->integer); break;
    case PICKLE_REAL:
        value = isfinite(v->real) ? json_real(v->real)
                                  : json_string(isnan(v->real) ? "nan"
                                                : v->real > 0  ? "inf"
                                                               : "-inf");
        break;
    case PICKLE_TEXT: value = json_stringn(v->text.bytes, v->text.size); break;
    case PICKLE_TUPLE:
    case PICKLE_LIST: return convert_items(c, v, depth);
    case PICKLE_DICT: return convert_dict(c, v, depth);
    default: value = json_sprintf("<%s>", pickle_describe(v, text));
    }
    if (!value)
        fail(c->e, "%s: a field of cfg[\"model\"] is not UTF-8", c->path);
    return value;
}

int fairseq_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                 struct config **own, struct error *e)
{
    const struct pickle_value *model = pickle_get(f->pickle.root, "model"),
                              *cfg = pickle_get(f->pickle.root, "cfg"),
                              *arguments = pickle_get(cfg, "model");
    struct converter c = {file->path, BYTES_MAX, e};
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
    json_t *object = convert_dict(&c, arguments, 0);
    if (!object)
        return -1;
    if (json_object_set_new(object, "model_type", json_string("fairseq_transformer_lm"))) {
        json_decref(object);
        return fail_memory(e, 32, file->path);
    }
    *own = config_from_json(file->path, object, e);
    return *own ? torch_add_tensors(t, file, f, model, "", e) : -1;
}
