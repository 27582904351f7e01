/* Models that are described without their weights, for estimates. */
#include "io/system/file.h"
#include "run/models.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE "shape:"

int model_is_described(const char *model)
{
    return strncmp(model, SHAPE, strlen(SHAPE)) == 0 ||
           strcmp(path_base(model), "config.json") == 0;
}

/* A part of a shape, and its key in Llama's configuration. */
static const struct part {
    const char *name, *key;
    long most;
    int needed;
} parts[] = {{"layers", "num_hidden_layers", 10000, 1},
             {"hidden", "hidden_size", 1 << 20, 1},
             {"heads", "num_attention_heads", 1 << 16, 1},
             {"kv_heads", "num_key_value_heads", 1 << 16, 0},
             {"head_size", "head_dim", 256, 0},
             {"mlp", "intermediate_size", 1 << 24, 0},
             {"vocabulary", "vocab_size", 1 << 26, 0},
             {"positions", "max_position_embeddings", 1 << 30, 0},
             {"tied", "tie_word_embeddings", 1, 0},
             {"dtype", "torch_dtype", 0, 0}};
enum { PARTS = sizeof parts / sizeof *parts };

static int set_dtype(json_t *object, const char *model, const char *value, struct error *e)
{
    const char *name = strcmp(value, "f32") == 0    ? "float32"
                       : strcmp(value, "f16") == 0  ? "float16"
                       : strcmp(value, "bf16") == 0 ? "bfloat16"
                                                    : NULL;

    return name ? json_object_set_new(object, "torch_dtype", json_string(name))
                : fail(e, "%s: dtype %s is not valid (expected f32, f16 or bf16)", model, value);
}

static int set_part(json_t *object, const char *model, char *text, struct error *e)
{
    char *value = strchr(text, '='), *end;
    const struct part *p = parts;
    long number;

    if (value)
        *value++ = 0;
    while (p < parts + PARTS && strcmp(p->name, text) != 0)
        p++;
    if (!value || p == parts + PARTS)
        return fail(e,
                    "%s: \"%s\" is not valid (expected layers=N,hidden=N,heads=N and kv_heads, "
                    "head_size, mlp, vocabulary, positions, tied or dtype)",
                    model, text);
    if (json_object_get(object, p->key))
        return fail(e, "%s: %s is given twice (expected once)", model, text);
    if (!p->most)
        return set_dtype(object, model, value, e);
    errno = 0;
    number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < (p->most == 1 ? 0 : 1) || number > p->most)
        return fail(e, "%s: %s %s is not valid (expected a whole number of at most %ld)", model,
                    text, value, p->most);
    return json_object_set_new(object, p->key,
                               p->most == 1 ? json_boolean(number) : json_integer(number));
}

static int set_shape(json_t *object, const char *model, char *text, struct error *e)
{
    char *rest = text, *part;
    long hidden;

    while ((part = strsep(&rest, ",")))
        if (set_part(object, model, part, e))
            return -1;
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].needed && !json_object_get(object, parts[i].key))
            return fail(e, "%s: has no %s (expected layers=N,hidden=N,heads=N)", model,
                        parts[i].name);
    hidden = (long)json_integer_value(json_object_get(object, "hidden_size"));
    if (!json_object_get(object, "intermediate_size"))
        json_object_set_new(object, "intermediate_size", json_integer(4 * hidden));
    if (!json_object_get(object, "vocab_size"))
        json_object_set_new(object, "vocab_size", json_integer(32000));
    return json_object_set_new(object, "model_type", json_string("llama"));
}

static struct config *shape_config(const char *model, struct error *e)
{
    char *text = strdup(model + strlen(SHAPE));
    json_t *object = json_object();
    int rc = text && object ? set_shape(object, model, text, e)
                            : fail_memory(e, 1024, "a configuration");

    free(text);
    if (rc == 0)
        return config_from_json(model, object, e);
    json_decref(object);
    return NULL;
}

struct decoder *model_describe(const char *model, struct error *e)
{
    struct config *config = strncmp(model, SHAPE, strlen(SHAPE)) == 0 ? shape_config(model, e)
                                                                      : config_open(model, e);

    return config ? decoder_suppose(model, config, e) : NULL;
}
