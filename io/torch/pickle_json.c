#include "io/torch/pickle_json.h"

#include <math.h>
#include <string.h>

enum { NESTING_MAX = 16, BYTES_MAX = 4 << 20, VALUE_BYTES = 32 };

/* Values shared in a pickle become copies in JSON: both depth and size are bounded. */
struct converter {
    const char *path, *what;
    size_t left; /* bytes, each value counted as VALUE_BYTES and its text */
    struct error *e;
};

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
            fail(c->e, "%s: a field of %s has no name in text, or one that is too long", c->path,
                 c->what);
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
        fail(c->e, "%s: %s is nested too deeply, or too large", c->path, c->what);
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
        fail(c->e, "%s: a field of %s is not UTF-8", c->path, c->what);
    return value;
}

json_t *pickle_to_json(const struct pickle_value *dict, const char *path, const char *what,
                       struct error *e)
{
    struct converter c = {path, what, BYTES_MAX, e};
    return convert_dict(&c, dict, 0);
}
