#include "io/tensors/quantised.h"

#include "io/tensors/quantised_parts.h"

#include <string.h>

const char *quantised_method(struct config *c)
{
    static const char *const methods[] = {"fp8", "bitsandbytes", "mxfp4"};
    const json_t *section = json_object_get(config_root(c), "quantization_config");
    const char *method = json_string_value(json_object_get(section, "quant_method"));
    for (int i = 0; method && i < 3; i++)
        if (strcmp(method, methods[i]) == 0)
            return methods[i];
    return NULL;
}

int quantised_refuse(struct config *c, struct error *e)
{
    const json_t *section = json_object_get(config_root(c), "quantization_config");
    const char *method = json_string_value(json_object_get(section, "quant_method"));
    if (!section || json_is_null(section) ||
        (json_is_object(section) && json_object_size(section) == 0) || quantised_method(c))
        return 0;
    return fail(e,
                "%s: quantization_config is not supported%s%.40s%s (expected quant_method 'fp8', "
                "'mxfp4', 'bitsandbytes', or null; a "
                "folder with the weights before they were quantised can be read)",
                config_path(c), method ? ": its quant_method is '" : "", method ? method : "",
                method ? "'" : "");
}

static const char mxfp4_codes[] = "_blocks"; /* after the name of the matrices */

/* If the tensor is a quantised matrix, joins it with its parts; 1 if it is not. */
static int join_one(struct join *j, struct tensor *t, const char *method)
{
    size_t length = strlen(t->name);
    struct tensor *state;
    j->matrix = t;
    j->bytes = t->bytes;
    if (strcmp(method, "fp8") == 0)
        return part_is(t, "F8_E4M3") ? quantised_join_fp8(j) : 1;
    if (strcmp(method, "mxfp4") == 0)
        return text_ends_with(t->name, mxfp4_codes) ? quantised_join_mxfp4(j, mxfp4_codes) : 1;
    if ((state = part_beside(j, t->name, length, ".quant_state.bitsandbytes__nf4")))
        return quantised_join_4bit(j, state, ELEMENT_NF4);
    if ((state = part_beside(j, t->name, length, ".quant_state.bitsandbytes__fp4")))
        return quantised_join_4bit(j, state, ELEMENT_FP4);
    return part_is(t, "I8") && text_ends_with(t->name, ".weight") &&
                   part_beside(j, t->name, length - 6, "SCB")
               ? quantised_join_int8(j)
               : 1;
}

/* GPT-2's Conv1D stores its matrices as [in, out], but bitsandbytes as [out, in]. */
static void turn(struct tensor *t)
{
    size_t rows = t->shape[0];
    t->shape[0] = t->shape[1], t->shape[1] = rows;
    t->stride[0] = 1, t->stride[1] = t->shape[0];
}

/* Tensors or types that only quantised matrices have, left without a matrix. */
static int refuse_orphan(const struct tensor *t, const char *method, struct config *c,
                         struct error *e)
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
                                       ".quant_state.bitsandbytes__fp4"};
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

int quantised_join(struct tensors *t, struct config *c, struct error *e)
{
    const char *method = quantised_method(c),
               *model = json_string_value(json_object_get(config_root(c), "model_type"));
    int turned = method && strcmp(method, "bitsandbytes") == 0 && model &&
                 strcmp(model, "gpt2") == 0;
    struct join j = {.tensors = t, .config = c, .e = e};
    if (method)
        (void)config_get(c, "quantization_config.quant_method"); /* understood from now on */
    size_t count = tensors_count(t), found = 0;
    if (method &&
        !(j.made = store_memory(t, count * sizeof *j.made, "the table of quantised tensors", e)))
        return -1;
    for (size_t i = 0; method && i < count; i++) {
        struct tensor *one = tensors_at(t, i);
        int result = one->companion ? 1 : join_one(&j, one, method);
        if (result < 0)
            return -1;
        if (result == 0 && turned && one->rank == 2)
            turn(one);
        found += result == 0;
    }
    for (size_t i = 0; i < count; i++)
        if (!tensors_at(t, i)->companion && refuse_orphan(tensors_at(t, i), method, c, e))
            return -1;
    if (method && !found)
        return fail(e, "%s: quantization_config says %s, but no tensor is quantised so",
                    config_path(c), method);
    store_drop_companions(t);
    store_cut_names(t, ELEMENT_E2M1, strlen(mxfp4_codes));
    return 0;
}
