/* What the metadata and the tensors of a GGUF model say. */
#include "io/gguf/finish.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct gguf_tensor *model_numbers(const struct gguf_model *m, const char *name,
                                        const unsigned char **data)
{
    for (size_t s = 0; s < m->count; s++)
        for (size_t i = 0; i < m->shards[s].tensor_count; i++) {
            const struct gguf_tensor *t = &m->shards[s].tensors[i];
            if (gguf_is(t->name, name)) {
                *data = m->shards[s].bytes + t->offset;
                return t;
            }
        }
    return NULL;
}

const struct gguf_tensor *model_tensor(const struct gguf_model *m, const char *name)
{
    const unsigned char *data;
    return model_numbers(m, name, &data);
}

int model_has_any(const struct gguf_model *m, const json_t *config, const char *name)
{
    json_int_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    for (json_int_t l = 0; l < layers; l++) {
        char full[64];
        snprintf(full, sizeof full, "blk.%lld.%s", (long long)l, name);
        if (model_tensor(m, full))
            return 1;
    }
    return 0;
}

json_t *model_list(const struct gguf_model *m, const char *tensor, size_t count, struct error *e)
{
    const unsigned char *data;
    const struct gguf_tensor *t = model_numbers(m, tensor, &data);
    if (!t || t->rank != 1 || t->shape[0] != count || t->stored->kind != STORED_REAL) {
        fail(e, "%s: has no tensor '%s' of %zu floating-point numbers", model_path(m), tensor,
             count);
        return NULL;
    }
    json_t *list = json_array();
    for (size_t k = 0; k < count && list; k++)
        if (json_array_append_new(list, json_real(element_read(data, t->stored->type, k)))) {
            json_decref(list);
            list = NULL;
        }
    if (!list)
        fail(e, "%s: tensor '%s' holds what is not a number", model_path(m), tensor);
    return list;
}

const char *model_key(char out[GGUF_KEY_MAX], const struct gguf_model *m, const char *key)
{
    snprintf(out, GGUF_KEY_MAX, "%s.%s", m->architecture->name, key);
    return out;
}

const struct gguf_pair *model_pair(const struct gguf_model *m, const char *key)
{
    char full[GGUF_KEY_MAX];
    return gguf_find(&m->shards[0], model_key(full, m, key));
}

const char *model_path(const struct gguf_model *m)
{
    return m->shards[0].path;
}

json_t *model_scalar(const struct gguf_model *m, const struct gguf_pair *p, struct error *e)
{
    double first, other;
    int64_t whole;
    struct gguf_text text;
    json_t *value = NULL;
    if (gguf_string(p, &text) == 0)
        value = json_stringn(text.text, text.size);
    else if (p->count && p->type != GGUF_STRING && gguf_real(p, 0, &first) == 0) {
        for (uint64_t i = 1; i < p->count; i++)
            if (gguf_real(p, i, &other) || other != first) {
                fail(e,
                     "%s: %.*s differs between layers, which is not supported (expected one value "
                     "for all)",
                     model_path(m), (int)p->key.size, p->key.text);
                return NULL;
            }
        if (p->type == GGUF_BOOL)
            value = json_boolean(first != 0);
        else
            value = gguf_integer(p, 0, &whole) == 0 ? json_integer(whole) : json_real(first);
    }
    if (!value)
        fail(e,
             "%s: %.*s is not a value that can be used (expected a finite number, true or false, "
             "or text in UTF-8)",
             model_path(m), (int)p->key.size, p->key.text);
    return value;
}

int model_set(const struct gguf_model *m, json_t *config, const char *key, json_t *value,
              struct error *e)
{
    return json_object_set_new(config, key, value)
               ? fail(e, "%s: %s cannot be set (out of memory, or not a number)", model_path(m),
                      key)
               : 0;
}

int model_take_types(const struct gguf_model *m, json_t *config, const char *other, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "attention.head_count_kv");
    json_int_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    json_t *types = json_array();
    if (model_set(m, config, "layer_types", types, e))
        return -1;
    if (!p || !p->is_array || p->count != (uint64_t)layers)
        return fail(e, "%s: %s.attention.head_count_kv is not a list for %lld layers",
                    model_path(m), m->architecture->name, (long long)layers);
    for (json_int_t l = 0; l < layers; l++) {
        int64_t heads;
        if (gguf_integer(p, (uint64_t)l, &heads) ||
            json_array_append_new(types, json_string(heads ? "full_attention" : other)))
            return fail_memory(e, (double)layers, "layer_types");
    }
    return 0;
}

int model_number(const struct gguf_model *m, const char *key, double fallback, double *out,
                 struct error *e)
{
    const struct gguf_pair *p = model_pair(m, key);
    json_t *value;
    *out = fallback;
    if (!p)
        return 0;
    if (!(value = model_scalar(m, p, e)))
        return -1;
    int is_number = json_is_number(value);
    *out = is_number ? json_number_value(value) : 0;
    json_decref(value);
    return is_number
               ? 0
               : fail(e, "%s: %s.%s is not a number", model_path(m), m->architecture->name, key);
}

int model_whole(const struct gguf_model *m, const char *key, int64_t fallback, int64_t *out,
                struct error *e)
{
    double value;
    if (fallback < 1 && !model_pair(m, key))
        return fail(e, "%s: %s.%s is missing", model_path(m), m->architecture->name, key);
    if (model_number(m, key, (double)fallback, &value, e))
        return -1;
    if (!(value >= 1 && value <= 1 << 24) || value != floor(value))
        return fail(e, "%s: %s.%s is %g (expected a whole number from 1 to %d)", model_path(m),
                    m->architecture->name, key, value, 1 << 24);
    *out = (int64_t)value;
    return 0;
}

int model_expect(const struct gguf_model *m, const char *key, int64_t expected, struct error *e)
{
    int64_t value = expected;
    if (model_whole(m, key, expected, &value, e))
        return -1;
    return value == expected
               ? 0
               : fail(e, "%s: %s.%s is %lld, which is not supported here (expected %lld)",
                      model_path(m), m->architecture->name, key, (long long)value,
                      (long long)expected);
}

void model_assume(struct gguf_model *m, const char *format, ...)
{
    size_t at = strlen(m->assumed);
    va_list arguments;
    if (at)
        at += (size_t)snprintf(m->assumed + at, sizeof m->assumed - at, ", ");
    va_start(arguments, format);
    if (at < sizeof m->assumed)
        vsnprintf(m->assumed + at, sizeof m->assumed - at, format, arguments);
    va_end(arguments);
}
