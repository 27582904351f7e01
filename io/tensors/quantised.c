#include "io/tensors/quantised.h"

#include "io/tensors/quantised_parts.h"

#include <string.h>

static const struct method {
    const char *name;
    int (*read)(struct join *j);
    int (*join)(struct join *j);
    const char *end, *named; /* the end of the codes' names, and what takes its place; or NULL */
    enum { AS_STORED, OUT_IN, IN_OUT } order; /* of all matrices, whatever the model's layers are */
} methods[] = {
    {"fp8", NULL, quantised_join_fp8, NULL, NULL, AS_STORED},
    {"bitsandbytes", NULL, quantised_join_bitsandbytes, NULL, NULL, OUT_IN},
    {"mxfp4", NULL, quantised_join_mxfp4, "_blocks", "", AS_STORED},
    {"compressed-tensors", quantised_read_compressed, quantised_join_compressed, "_packed", "",
     AS_STORED},
    {"gptq", quantised_read_gptq, quantised_join_gptq, ".qweight", ".weight", IN_OUT},
    {"awq", quantised_read_awq, quantised_join_awq, ".qweight", ".weight", IN_OUT},
};

static const struct method *find_method(struct config *c)
{
    const json_t *section = json_object_get(config_root(c), "quantization_config");
    const char *method = json_string_value(json_object_get(section, "quant_method"));
    for (size_t i = 0; method && i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i].name) == 0)
            return &methods[i];
    return NULL;
}

const char *quantised_method(struct config *c)
{
    const struct method *method = find_method(c);
    return method ? method->name : NULL;
}

int quantised_refuse(struct config *c, struct error *e)
{
    const json_t *section = json_object_get(config_root(c), "quantization_config");
    const char *method = json_string_value(json_object_get(section, "quant_method"));
    if (!section || json_is_null(section) ||
        (json_is_object(section) && json_object_size(section) == 0) || quantised_method(c))
        return 0;
    if (method && strcmp(method, "torchao") == 0)
        return fail(e,
                    "%s: quantization_config is not supported: torchao stores objects of its own "
                    "classes, not plain tensors (expected a folder with the weights before they "
                    "were quantised)",
                    config_path(c));
    return fail(e,
                "%s: quantization_config is not supported%s%.40s%s (expected quant_method 'fp8', "
                "'mxfp4', 'bitsandbytes', 'compressed-tensors', 'gptq', 'awq', or null; a "
                "folder with the weights before they were quantised can be read)",
                config_path(c), method ? ": its quant_method is '" : "", method ? method : "",
                method ? "'" : "");
}

/* Scales of activations, and of keys and values in caches: numbers that runtimes round by. */
static int is_of_activations(const char *name)
{
    static const char *const ends[] = {".input_scale",       ".output_scale", ".input_zero_point",
                                       ".output_zero_point", ".q_scale",      ".k_scale",
                                       ".v_scale",           ".q_zero_point", ".k_zero_point",
                                       ".v_zero_point"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(name, ends[i]))
            return 1;
    return 0;
}

/* Layers of the class Conv1D store their matrices as [in, out], all others as [out, in]. */
static int is_turned(const struct method *method, struct config *c)
{
    const char *model = json_string_value(json_object_get(config_root(c), "model_type"));
    int is_conv1d = model && (strcmp(model, "gpt2") == 0 || strcmp(model, "openai-gpt") == 0);
    return method->order == OUT_IN ? is_conv1d : method->order == IN_OUT && !is_conv1d;
}

static void turn(struct tensor *t)
{
    size_t rows = t->shape[0];
    t->shape[0] = t->shape[1], t->shape[1] = rows;
    t->stride[0] = 1, t->stride[1] = t->shape[0];
}

/* Tensors or types that only quantised matrices have, left without a matrix. */
static int refuse_orphan(const struct tensor *t, int method, struct config *c, struct error *e)
{
    static const char *const ends[] = {".absmax",
                                       ".quant_map",
                                       ".nested_absmax",
                                       ".nested_quant_map",
                                       ".SCB",
                                       ".weight_format",
                                       "_scale_inv",
                                       ".quant_state.bitsandbytes__nf4",
                                       ".activation_scale",
                                       "_scales",
                                       ".quant_state.bitsandbytes__fp4",
                                       ".weight_scale",
                                       ".weight_zero_point",
                                       ".weight_shape",
                                       ".weight_packed",
                                       ".weight_g_idx",
                                       ".weight_global_scale",
                                       ".qweight",
                                       ".qzeros",
                                       ".scales",
                                       ".g_idx"};
    if (t->stored->kind == STORED_CODES && !method)
        return quantised_refuse(c, e) ? -1
                                      : fail(e,
                                             "%s: tensor %s is stored as %s, which is not "
                                             "supported (expected F64, F32, F16 or BF16)",
                                             part_path(t), t->name, t->stored->name);
    for (size_t i = 0; method && i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(t->name, ends[i]))
            return fail(e, "%s: tensor %s has no quantised matrix that it belongs to", part_path(t),
                        t->name);
    if (t->stored->kind == STORED_CODES ||
        (method && t->integer && text_ends_with(t->name, ".weight")))
        return fail(e, "%s: tensor %s is stored as %s without scales beside it", part_path(t),
                    t->name, t->stored->name);
    return 0;
}

/* Gives the matrices of codes their names as in models that are not quantised. */
static void name_matrices(struct tensors *t, const struct method *method)
{
    for (size_t i = 0; i < tensors_count(t); i++) {
        struct tensor *one = tensors_at(t, i);
        if (one->integer || !element_is_scaled(one->type) ||
            !text_ends_with(one->name, method->end))
            continue;
        char *end = (char *)one->name + strlen(one->name) - strlen(method->end);
        memcpy(end, method->named, strlen(method->named) + 1);
    }
    store_sort(t);
}

static int join_all(struct join *j, const struct method *method, size_t *found)
{
    int turned = is_turned(method, j->config);
    size_t count = tensors_count(j->tensors);
    (void)config_get(j->config, "quantization_config.quant_method"); /* understood from now on */
    j->made = store_memory(j->tensors, count * sizeof *j->made, "the table of quantised tensors",
                           j->e);
    if (!j->made || (method->read && method->read(j)))
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct tensor *one = j->matrix = tensors_at(j->tensors, i);
        j->bytes = one->bytes;
        int result = one->companion ? 1 : method->join(j);
        if (result < 0)
            return -1;
        if (result == 0 && turned && one->rank == 2)
            turn(one);
        if (result && is_of_activations(one->name))
            one->companion = 1;
        *found += result == 0;
    }
    return 0;
}

int quantised_join(struct tensors *t, struct config *c, struct error *e)
{
    const struct method *method = find_method(c);
    struct join j = {.tensors = t, .config = c, .e = e};
    size_t count = tensors_count(t), found = 0;
    if (method && join_all(&j, method, &found))
        return -1;
    if (method && method->end)
        name_matrices(t, method);
    for (size_t i = 0; i < count; i++)
        if (!tensors_at(t, i)->companion && refuse_orphan(tensors_at(t, i), method != NULL, c, e))
            return -1;
    if (method && !found)
        return fail(e, "%s: quantization_config says %s, but no tensor is quantised so",
                    config_path(c), method->name);
    store_drop_companions(t);
    return 0;
}
