/* Types of transformers and of published files, by their names. Sources of what is left out of a
 * text_config: huggingface/transformers, models/TYPE/configuration_TYPE.py. */
#include "model/outer.h"

#include "io/tensors/store.h"
#include "model/layout.h"

#include <stdio.h>
#include <string.h>

#define OF(name, language) .type = name, .inner = language
#define LEAVES_OUT(key, value) .leaves_out = key, .instead = value
static const struct outer outers[] = {
    {OF("apertus1p5", "apertus1p5_text")},
    {OF("aria", "aria_text")},
    {OF("aya_vision", "cohere2"), LEAVES_OUT("logit_scale", "1")},
    {OF("blip-2", "opt")},
    {OF("cohere2_vision", "cohere2"), LEAVES_OUT("logit_scale", "1")},
    {OF("deepseek_vl", "llama")},
    {OF("deepseek_vl_hybrid", "llama")},
    {OF("exaone4_5", "exaone4")},
    {OF("fast_vlm", "qwen2")},
    {OF("fuyu", "persimmon"), .flat = 1},
    {OF("gemma3", "gemma3_text"), LEAVES_OUT("final_logit_softcapping", "null")},
    {OF("gemma3n", "gemma3n_text")},
    {OF("gemma4", "gemma4_text")},
    {OF("gemma4_unified", "gemma4_unified_text")},
    {OF("glm46v", "glm4v_text"), .flat = 1},
    {OF("glm4v", "glm4v_text"), .flat = 1},
    {OF("glm4v_moe", "glm4v_moe_text")},
    {OF("glmasr", "llama")},
    {OF("glmga", "glm4v_text")},
    {OF("got_ocr2", "qwen2")},
    {OF("granite_speech", "granite"), LEAVES_OUT("logits_scaling", "1")},
    {OF("granite_speech_plus", "granite"), LEAVES_OUT("logits_scaling", "1")},
    {OF("hyperclovax_vision_v2", "hyperclovax")},
    {OF("idefics2", "mistral")},
    {OF("idefics3", "llama")},
    {OF("inkling2", "inkling2_text")},
    {OF("inkling2_loop", "inkling2_loop_text")},
    {OF("instructblip", "opt")},
    {OF("instructblipvideo", "opt")},
    {OF("internvl", "qwen2")},
    {OF("internvl_chat", "qwen2")},
    {OF("janus", "llama")},
    {OF("kimi_k25", "deepseek_v3"), .blocks = 1},
    {OF("kimi_vl", "deepseek_v3")},
    {OF("lfm2_vl", "lfm2")},
    {OF("lighton_ocr", "qwen3")},
    {OF("llama4", "llama4_text")},
    {OF("llava", "llama")},
    {OF("llava_next", "llama")},
    {OF("llava_next_video", "llama")},
    {OF("llava_onevision", "qwen2")},
    {OF("minimax_m3_vl", "minimax_m3_vl_text")},
    {OF("mistral3", "mistral")},
    {OF("moss_transcribe_diarize", "qwen3")},
    {OF("omniasr", "llama")},
    {OF("ovis2", "qwen2")},
    {OF("paligemma", "gemma"), LEAVES_OUT("use_bidirectional_attention", "null"),
     .about = "text is read as what follows the prefix of a paligemma, where a token sees only "
              "those before it"},
    {OF("pp_chart2table", "qwen2")},
    {OF("qwen2_5_omni", "qwen2_5_omni_text"), .within = "thinker"},
    {OF("qwen2_5_omni_thinker", "qwen2_5_omni_text")},
    {OF("qwen2_5_vl", "qwen2_5_vl_text"), .flat = 1},
    {OF("qwen2_audio", "qwen2")},
    {OF("qwen2_vl", "qwen2_vl_text"), .flat = 1},
    {OF("qwen3_5", "qwen3_5_text")},
    {OF("qwen3_5_moe", "qwen3_5_moe_text")},
    {OF("qwen3_asr", "qwen3")},
    {OF("qwen3_omni_moe", "qwen3_omni_moe_text"), .within = "thinker"},
    {OF("qwen3_vl", "qwen3_vl_text")},
    {OF("qwen3_vl_moe", "qwen3_vl_moe_text")},
    {OF("qwen4_exp", "qwen4_exp_text")},
    {OF("smolvlm", "llama")},
    {OF("step3p7", "step3p5")},
    {OF("video_llama_3", "qwen2")},
    {OF("video_llava", "llama")},
    {OF("vipllava", "llama")},
    {OF("voxtral", "llama")},
    {.type = NULL},
};

const struct outer *outer_at(int i)
{
    return outers[i].type ? &outers[i] : NULL;
}

/* A text_config may leave out what is its class's default; a configuration that stands alone never
 * does. Defaults that families have in any case are not repeated. */
#define SIZES(vocabulary, hidden, inner, layers, heads, kv_heads, positions) \
    "{\"vocab_size\": " #vocabulary ", \"hidden_size\": " #hidden \
    ", \"intermediate_size\": " #inner ", \"num_hidden_layers\": " #layers \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv_heads \
    ", \"max_position_embeddings\": " #positions "}"
static const struct {
    const char *type, *values;
} left_out[] = {
    {"apertus1p5_text", SIZES(266752, 4096, 14336, 32, 32, 32, 65536)},
    {"aria_text", SIZES(32000, 4096, 4096, 32, 32, 32, 2048)},
    {"cohere2", SIZES(256000, 8192, 22528, 40, 64, 64, 8192)},
    {"exaone4", SIZES(102400, 4096, 16384, 32, 32, 32, 2048)},
    {"gemma", SIZES(256000, 3072, 24576, 28, 16, 16, 8192)},
    {"gemma2", SIZES(256000, 2304, 9216, 26, 8, 4, 8192)},
    {"gemma3_text", "{\"max_position_embeddings\": 131072}"},
    {"glm4v_text", SIZES(151552, 4096, 13696, 40, 32, 2, 32768)},
    {"glm4v_moe_text", SIZES(151424, 4096, 10944, 46, 96, 8, 65536)},
    {"granite", SIZES(32000, 4096, 11008, 32, 32, 32, 2048)},
    {"hyperclovax", SIZES(32000, 4096, 11008, 32, 32, 32, 2048)},
    {"llama", SIZES(32000, 4096, 11008, 32, 32, 32, 2048)},
    {"llama4_text", SIZES(202048, 5120, 8192, 48, 40, 8, 131072)},
    {"mistral", SIZES(32000, 4096, 14336, 32, 32, 8, 131072)},
    {"ministral3", SIZES(131072, 4096, 14336, 34, 32, 8, 262144)},
    {"opt", "{\"vocab_size\": 50272, \"hidden_size\": 768, \"ffn_dim\": 3072, "
            "\"num_hidden_layers\": 12, \"num_attention_heads\": 12, "
            "\"max_position_embeddings\": 2048}"},
    {"persimmon", "{\"vocab_size\": 262144, \"hidden_size\": 4096, \"intermediate_size\": 16384, "
                  "\"num_hidden_layers\": 36, \"num_attention_heads\": 64, "
                  "\"max_position_embeddings\": 16384}"},
    {"phi3", SIZES(32064, 3072, 8192, 32, 32, 32, 4096)},
    {"qwen2", SIZES(151936, 4096, 22016, 32, 32, 32, 32768)},
    {"qwen2_5_omni_text", SIZES(152064, 3584, 18944, 28, 28, 4, 32768)},
    {"qwen2_5_vl_text", SIZES(152064, 8192, 29568, 80, 64, 8, 32768)},
    {"qwen2_vl_text", SIZES(152064, 8192, 29568, 80, 64, 8, 32768)},
    {"qwen3", SIZES(151936, 4096, 22016, 32, 32, 32, 32768)},
    {"qwen3_vl_text", SIZES(151936, 4096, 22016, 32, 32, 32, 128000)},
    {"qwen3_vl_moe_text", SIZES(151936, 2048, 5632, 24, 16, 16, 128000)},
};

/* The member that describes the language model, in files of all kinds. */
static const char *const members[] = {"text_config", "llm_config", "language_config"};

/* Keys beside those of the language model in files that have them in one object. */
static const char *const beside[] = {"vision_config",
                                     "audio_config",
                                     "image_token_id",
                                     "video_token_id",
                                     "vision_start_token_id",
                                     "vision_end_token_id",
                                     "vision_token_id",
                                     "image_start_token_id",
                                     "image_end_token_id",
                                     "video_start_token_id",
                                     "video_end_token_id",
                                     "image_token_index",
                                     "image_size",
                                     "patch_size",
                                     "num_channels"};

static const struct outer *find_outer(const struct config *c)
{
    const char *type = json_string_value(json_object_get(config_root(c), "model_type"));
    for (int i = 0; type && outers[i].type; i++)
        if (strcmp(outers[i].type, type) == 0)
            return &outers[i];
    return NULL;
}

/* A copy of what describes the language model; NULL: there is nothing. */
static json_t *describe_text(const struct outer *o, json_t *root)
{
    char key[64] = "";
    json_t *copy;
    if (o->within)
        snprintf(key, sizeof key, "%s_config", o->within);
    if (*key)
        root = json_object_get(root, key);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_is_object(json_object_get(root, members[i])))
            return json_deep_copy(json_object_get(root, members[i]));
    copy = o->flat ? json_deep_copy(root) : NULL;
    for (size_t i = 0; copy && i < sizeof beside / sizeof *beside; i++)
        json_object_del(copy, beside[i]);
    if (copy)
        json_object_del(copy, "model_type");
    return copy;
}

/* Adds what the description does not have. */
static int fill(json_t *text, const struct outer *o, const json_t *root)
{
    static const char *const kept[] = {"quantization_config", "torch_dtype", "dtype"};
    int bad = 0;
    if (!json_is_string(json_object_get(text, "model_type")))
        bad |= json_object_set_new(text, "model_type", json_string(o->inner));
    const char *type = json_string_value(json_object_get(text, "model_type"));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_t *value = json_object_get(root, kept[i]);
        if (value && (i == 0 || !json_object_get(text, kept[i])))
            bad |= json_object_set(text, kept[i], value);
    }
    /* either may say so: releases before 5 of the library had it in the inner one */
    json_t *tied = json_object_get(root, "tie_word_embeddings");
    if (tied && !json_is_true(json_object_get(text, "tie_word_embeddings")))
        bad |= json_object_set(text, "tie_word_embeddings", tied);
    if (o->leaves_out)
        bad |= json_object_set_new(text, o->leaves_out,
                                   json_loads(o->instead, JSON_DECODE_ANY, NULL));
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        json_t *values = type && strcmp(left_out[i].type, type) == 0
                             ? json_loads(left_out[i].values, 0, NULL)
                             : NULL;
        bad |= values && json_object_update_missing(text, values);
        json_decref(values);
    }
    return bad;
}

int outer_enter(struct decoder *d, struct error *e)
{
    const struct outer *o = find_outer(d->config);
    if (!o)
        return 0;
    json_t *text = describe_text(o, config_root(d->config));
    if (!text)
        return fail(e,
                    "%s: model_type '%s' without a text_config (expected an object that describes "
                    "its language model)",
                    config_path(d->config), o->type);
    const json_t *left = o->leaves_out ? json_object_get(text, o->leaves_out) : NULL;
    if (o->about)
        family_note(d, "%s", o->about);
    else if (left && !json_is_null(left))
        family_note(d, "%s has no effect in a %s checkpoint, whose code leaves it out",
                    o->leaves_out, o->type);
    if (fill(text, o, config_root(d->config))) {
        json_decref(text);
        return fail_memory(e, 1024, "a configuration");
    }
    struct config *inner = config_from_json(config_path(d->config), text, e);
    if (!inner)
        return -1;
    config_close(d->config);
    d->config = inner, d->outer = o;
    return 0;
}

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* 1 if the name is that of the head. */
static int is_head(const char *name, const struct family *family)
{
    const struct names *names = family->layout ? &family->layout->names : NULL;
    const char *heads[] = {"lm_head", names ? names->head : NULL, names ? names->older_head : NULL};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (heads[i] && begins(name, heads[i]) && name[strlen(heads[i])] == '.')
            return 1;
    return 0;
}

/* The beginning of the names of the language model, the first that a tensor has; NULL: its own. */
static const char *find_place(struct tensors *t)
{
    static const char *const places[] = {"model.language_model.", "model.text_model.",
                                         "language_model.", "llm.", "language."};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t i = 0; i < tensors_count(t); i++)
            if (begins(tensors_at(t, i)->name, places[p]))
                return places[p];
    return NULL;
}

/* Cuts what names of the part WITHIN begin with; the others are beside it. */
static void enter_part(struct tensors *t, const char *within)
{
    size_t length = strlen(within);
    for (size_t i = 0; i < tensors_count(t); i++) {
        struct tensor *one = tensors_at(t, i);
        if (begins(one->name, within) && one->name[length] == '.')
            store_rename(one, one->name + length + 1);
        else
            one->beside = 1;
    }
}

int outer_rename(struct decoder *d, const struct family *family, struct error *e)
{
    struct tensors *t = d->tensors;
    if (!d->outer || tensors_supposed(t))
        return 0;
    if (d->outer->within)
        enter_part(t, d->outer->within);
    const char *place = find_place(t), *own = family->layout ? family->layout->names.prefix : "";
    /* in a place below `model.` a bare model lies, without the name of its own beginning */
    int bare = place && begins(place, "model.");
    for (size_t i = 0; i < tensors_count(t); i++) {
        struct tensor *one = tensors_at(t, i);
        char name[1100];
        if (place && begins(one->name, place)) {
            const char *rest = one->name + strlen(place);
            snprintf(name, sizeof name, "%s%s",
                     bare && !begins(rest, own) && !is_head(rest, family) ? own : "", rest);
            if (d->outer->blocks && begins(name + strlen(own), "blocks."))
                memcpy(name + strlen(own), "layers", 6);
            store_rename(one, name);
        } else if (!is_head(one->name, family) && (place || !begins(one->name, own)))
            one->beside = 1;
    }
    return store_finish(t, e);
}
