/* Latent attention (DeepSeek's) in GGUF: keys and values of every head from one latent. */
#include "io/gguf/finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files since 2025 say the sizes of keys and values as absorbed, with one head for both, and those
 * of the model beside them; older ones the latter alone. */
static int take_latent_sizes(const struct gguf_model *m, json_t *config, struct error *e)
{
    const int absorbed = model_pair(m, "attention.key_length_mla") != NULL;
    int64_t rank, turned, key, value;
    if (model_whole(m, "attention.kv_lora_rank", 0, &rank, e) ||
        model_whole(m, "rope.dimension_count", 0, &turned, e) ||
        model_whole(m, absorbed ? "attention.key_length_mla" : "attention.key_length", 0, &key,
                    e) ||
        model_whole(m, absorbed ? "attention.value_length_mla" : "attention.value_length", 0,
                    &value, e) ||
        model_expect(m, "attention.head_count_kv", absorbed ? 1 : m->heads, e) ||
        (absorbed && (model_expect(m, "attention.key_length", rank + turned, e) ||
                      model_expect(m, "attention.value_length", rank, e))))
        return -1;
    if (turned >= key)
        return fail(e, "%s: %s.rope.dimension_count is %lld (expected less than the key's %lld)",
                    model_path(m), m->architecture->name, (long long)turned, (long long)key);
    if (!model_pair(m, "attention.q_lora_rank") &&
        model_set(m, config, "q_lora_rank", json_null(), e))
        return -1;
    return model_set(m, config, "num_key_value_heads", json_integer(m->heads), e) ||
                   model_set(m, config, "qk_nope_head_dim", json_integer(key - turned), e) ||
                   model_set(m, config, "qk_rope_head_dim", json_integer(turned), e) ||
                   model_set(m, config, "v_head_dim", json_integer(value), e)
               ? -1
               : 0;
}

/* The multiplier is a tenth of mscale_all_dim here, and mscale is the same. */
static int take_latent_scaling(const struct gguf_model *m, json_t *config, struct error *e)
{
    double tenth;
    if (model_take_scaling(m, config, e) ||
        model_number(m, "rope.scaling.yarn_log_multiplier", 0, &tenth, e))
        return -1;
    json_t *scaling = json_object_get(config, "rope_scaling");
    const char *type = json_string_value(json_object_get(scaling, "rope_type"));
    if (!type || strcmp(type, "yarn"))
        return 0;
    if (tenth == 0 || json_object_get(scaling, "attention_factor"))
        return fail(e,
                    "%s: %s.rope.scaling %s, which is not supported with yarn (expected "
                    "yarn_log_multiplier and no other factor)",
                    model_path(m), m->architecture->name,
                    tenth == 0 ? "has no yarn_log_multiplier" : "has a factor on attention");
    const double all = (float)(tenth / 0.1);
    return model_set(m, scaling, "mscale", json_real(all), e) ||
                   model_set(m, scaling, "mscale_all_dim", json_real(all), e)
               ? -1
               : 0;
}

/* Files before the keys of groups: of models with 256 experts 4 of 8 groups are chosen, as in
 * DeepSeek V3; others have one. */
static int take_groups(struct gguf_model *m, json_t *config, int by_sigma, struct error *e)
{
    const int large = by_sigma &&
                      json_integer_value(json_object_get(config, "n_routed_experts")) == 256;
    if (!model_pair(m, "expert_group_count")) {
        model_assume(m, large ? "4 of 8 groups of experts" : "one group of experts");
        if (model_set(m, config, "n_group", json_integer(large ? 8 : 1), e) ||
            model_set(m, config, "topk_group", json_integer(large ? 4 : 1), e))
            return -1;
    }
    const int grouped = json_integer_value(json_object_get(config, "n_group")) > 1;
    return by_sigma ? 0
                    : model_set(m, config, "topk_method",
                                json_string(grouped ? "group_limited_greedy" : "greedy"), e);
}

/* With experts by sigma it is a DeepSeek V3, by softmax a DeepSeek V2, whose weights of experts are
 * not normalised. */
int finish_deepseek2(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "expert_weights_norm");
    int64_t gating;
    double normalised = 0;
    if (model_whole(m, "expert_gating_func", GATING_SOFTMAX, &gating, e))
        return -1;
    const int by_sigma = gating == GATING_SIGMOID;
    if (!by_sigma && model_expect(m, "expert_gating_func", GATING_SOFTMAX, e))
        return -1;
    if (p && gguf_real(p, 0, &normalised))
        return fail(e, "%s: %s.expert_weights_norm is neither true nor false", model_path(m),
                    m->architecture->name);
    if (!by_sigma && normalised != 0)
        return fail(e,
                    "%s: %s.expert_weights_norm is true, which is not supported with softmax "
                    "(expected false)",
                    model_path(m), m->architecture->name);
    if (by_sigma && (model_set(m, config, "model_type", json_string("deepseek_v3"), e) ||
                     model_set(m, config, "norm_topk_prob", json_boolean(normalised != 0), e)))
        return -1;
    return take_groups(m, config, by_sigma, e) || take_latent_sizes(m, config, e) ||
                   take_latent_scaling(m, config, e)
               ? -1
               : 0;
}

static int refuse_parts(const struct gguf_model *m, const char *name, struct error *e)
{
    return fail(e,
                "%s: the tensors blk.*.attn_k_b and blk.*.attn_v_b do not make %s (expected "
                "[heads, latent, key] and [heads, value, latent])",
                model_path(m), name);
}

int gguf_join_latents(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                      const struct gguf_tensor *k, const unsigned char *keys, long block,
                      struct error *e)
{
    char name[64];
    const unsigned char *values = NULL;
    snprintf(name, sizeof name, "blk.%ld.attn_v_b.weight", block);
    const struct gguf_tensor *v = model_numbers(m, name, &values);
    if (!v || k->rank != 3 || v->rank != 3 || k->shape[0] != v->shape[0] ||
        k->shape[1] != v->shape[2] || k->stored->kind == STORED_INTEGER ||
        v->stored->kind == STORED_INTEGER)
        return refuse_parts(m, out->name, e);
    const size_t heads = k->shape[0], rank = k->shape[1], own = k->shape[2], value = v->shape[1];
    if (store_shape(out, stored_type_of(ELEMENT_F32), 2, (size_t[]){heads * (own + value), rank},
                    m->shards[0].path, e))
        return -1;
    float *memory = store_memory(t, out->bytes, out->name, e), *row = malloc(own * sizeof *row);
    if (!memory || !row) {
        free(row);
        return memory ? fail_memory(e, (double)own * sizeof *row, out->name) : -1;
    }
    for (size_t h = 0; h < heads; h++) {
        float *rows = memory + h * (own + value) * rank;
        for (size_t j = 0; j < rank; j++) {
            element_run_f32(row, keys, k->stored->type, (h * rank + j) * own, own);
            for (size_t i = 0; i < own; i++)
                rows[i * rank + j] = row[i];
        }
        element_run_f32(rows + own * rank, values, v->stored->type, h * value * rank, value * rank);
    }
    free(row);
    out->data = memory;
    return 0;
}
