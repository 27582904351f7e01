#include "model/config_keys.h"

#include "io/tensors/quantised.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_SHOWN = 64 };

/* Keys of every configuration class that change no number of a causal language model: about files,
 * training, other tasks and generation. Their complete list is tests/goldens/config_keys.csv; those
 * below that are not in it are from files of older versions. */
static const char *const harmless[] = {
    /* files and types */
    "_name_or_path", "architectures", "auto_map", "dtype", "model_type", "name_or_path",
    "tokenizer_class", "torch_dtype", "transformers_version",
    /* how it is run and what it returns */
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash",
    "_experts_implementation", "attn_implementation", "chunk_size_feed_forward",
    "experts_implementation", "output_attentions", "output_hidden_states", "return_dict",
    "tie_last_hidden_states", "torchscript", "use_bfloat16", "use_cache", "use_return_dict",
    "output_cross_attentions",
    /* training, and other tasks than the next token */
    "attention_dropout", "attn_pdrop", "classifier_dropout", "embd_pdrop", "finetuning_task",
    "gradient_checkpointing", "hidden_dropout", "id2label", "initializer_range", "is_decoder",
    "label2id", "num_labels", "problem_type", "resid_pdrop", "task_specific_params",
    "tie_encoder_decoder", "vision_aspect_ratio", "vision_feature_layer",
    "vision_feature_select_strategy",
    /* read only by other kinds of layers and position scalings, and keys of caches */
    "attention_chunk_size", "kv_sharing_modes", "layer_types", "mlp_layer_types", "mtp_layer_types",
    "num_heads", "original_max_position_embeddings", "sliding_window",
    /* tokens that no layer reads */
    "decoder_start_token_id", "eos_token_id", "pad_token_id", "prefix", "sep_token_id",
    "unk_token_id",
    /* generation */
    "assistant_confidence_threshold", "assistant_lookbehind", "bad_words_ids",
    "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "num_beam_groups", "num_beams", "num_return_sequences",
    "output_scores", "remove_invalid_values", "repetition_penalty", "return_dict_in_generate",
    "suppress_tokens", "target_lookbehind", "temperature", "tf_legacy_loss", "top_k", "top_p",
    "typical_p", NULL};

/* The members of rope_parameters and rope_scaling. Those of a scaling other than the named one are
 * ignored, and so are those of the unused object. */
static const char *const rope[] = {"alpha",
                                   "attention_factor",
                                   "beta_fast",
                                   "beta_slow",
                                   "factor",
                                   "high_freq_factor",
                                   "long_factor",
                                   "llama_4_scaling_beta",
                                   "low_freq_factor",
                                   "max_position_embeddings",
                                   "mrope_interleaved",
                                   "mrope_section",
                                   "mscale",
                                   "mscale_all_dim",
                                   "original_max_position_embeddings",
                                   "partial_rotary_factor",
                                   "rope_theta",
                                   "rope_type",
                                   "short_factor",
                                   "truncate",
                                   "type",
                                   NULL};

/* The members of quantization_config: the tensors show how they are stored, and the rest is about
 * making or running such a model. */
static const char *const quantisation[] = {"_load_in_4bit",
                                           "_load_in_8bit",
                                           "act_group_aware",
                                           "activation_scheme",
                                           "backend",
                                           "batch_size",
                                           "block_name_to_quantize",
                                           "bnb_4bit_compute_dtype",
                                           "bnb_4bit_quant_storage",
                                           "bnb_4bit_quant_type",
                                           "bnb_4bit_use_double_quant",
                                           "cache_block_outputs",
                                           "cache_examples_on_gpu",
                                           "damp_auto_increment",
                                           "damp_percent",
                                           "dataset",
                                           "dequantize",
                                           "desc_act",
                                           "disable_exllama",
                                           "do_fuse",
                                           "exllama_config",
                                           "expert_dtype",
                                           "fmt",
                                           "fuse_max_seq_len",
                                           "global_compression_ratio",
                                           "ignore",
                                           "ignored_layers",
                                           "kv_cache_scheme",
                                           "llm_int8_enable_fp32_cpu_offload",
                                           "llm_int8_has_fp16_weight",
                                           "llm_int8_skip_modules",
                                           "llm_int8_threshold",
                                           "lm_head",
                                           "load_in_4bit",
                                           "load_in_8bit",
                                           "max_input_length",
                                           "meta",
                                           "model_file_base_name",
                                           "model_name_or_path",
                                           "model_seqlen",
                                           "module_name_preceding_first_block",
                                           "modules_in_block_to_quantize",
                                           "modules_to_convert",
                                           "modules_to_fuse",
                                           "modules_to_not_convert",
                                           "moe_sparsity_config",
                                           "mse",
                                           "offload_to_disk",
                                           "pack_dtype",
                                           "pad_token_id",
                                           "quantizer",
                                           "static_groups",
                                           "sym",
                                           "tokenizer",
                                           "true_sequential",
                                           "use_cuda_fp16",
                                           "use_exllama",
                                           "version",
                                           NULL};
static const char quantisation_root[] = "quantization_config",
                  quantisation_member[] = "quantization_config.";

/* Keys that make another model, each with its one neutral value in JSON. */
static const struct {
    const char *key, *only;
} refused[] = {{"add_cross_attention", "false"},
               {"compression_config", "null"},
               {"cross_attention_hidden_size", "null"},
               {"decoder", "null"},
               {"fusion_config", "null"},
               {"generator", "null"},
               {"is_causal", "true"},
               {"is_encoder_decoder", "false"},
               {"per_layer_config", "null"},
               {"pruned_heads", "{}"},
               {"text_config", "null"},
               {"transformers_weights", "null"}};
enum { REFUSED = sizeof refused / sizeof refused[0] };

/* Keys for which null means absence; more are in the families' tables. */
static const char *const nullable[] = {"attn_logit_softcapping",
                                       "bos_token_id",
                                       "final_logit_softcapping",
                                       "layer_types",
                                       "n_embed",
                                       "n_inner",
                                       "quantization_config.scale_fmt",
                                       "quantization_config.weight_block_size",
                                       "rope_parameters",
                                       "rope_scaling",
                                       "sliding_window",
                                       "word_embed_proj_dim",
                                       NULL};
static const char *const nullable_rope[] = {"attention_factor", "beta_fast",         "beta_slow",
                                            "factor",           "full_attention",    "mscale",
                                            "mscale_all_dim",   "sliding_attention", NULL};

static int is_listed(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (strcmp(*list, key) == 0)
            return 1;
    return 0;
}

/* The member's name in a key below rope_parameters or rope_scaling, or below their settings for a
 * kind of layers; else NULL. */
static const char *rope_member(const char *key)
{
    static const char *const roots[] = {"rope_parameters.full_attention.",
                                        "rope_parameters.sliding_attention.", "rope_parameters.",
                                        "rope_scaling."};
    for (int i = 0; i < 4; i++)
        if (strncmp(key, roots[i], strlen(roots[i])) == 0)
            return key + strlen(roots[i]);
    return NULL;
}

enum config_key config_key_class(const struct family *family, const struct config *c,
                                 const char *key)
{
    const char *member = rope_member(key), *dot = strchr(key, '.');
    size_t below = sizeof quantisation_member - 1;
    for (int i = 0; i < REFUSED; i++)
        if (strcmp(key, refused[i].key) == 0 && !is_listed(family->nullable, key))
            return CONFIG_KEY_REFUSED;
    if (strcmp(key, quantisation_root) == 0 && !config_asked(c, key))
        return CONFIG_KEY_REFUSED;
    if (strncmp(key, quantisation_member, below) == 0 && is_listed(quantisation, key + below))
        return CONFIG_KEY_HARMLESS;
    if (config_asked(c, key))
        return CONFIG_KEY_USED;
    if (is_listed(family->harmless, key) ||
        (member ? is_listed(rope, member) : is_listed(harmless, dot ? dot + 1 : key)))
        return CONFIG_KEY_HARMLESS;
    return CONFIG_KEY_UNKNOWN;
}

int config_key_nullable(const struct family *family, const char *key)
{
    const char *member = rope_member(key);
    return is_listed(family->nullable, key) ||
           is_listed(member ? nullable_rope : nullable, member ? member : key);
}

/* 1 if the value is the one in JSON, or equivalent: in Python null and {} are false. */
static int is_only(const json_t *value, const char *only)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    int same = text && (strcmp(text, only) == 0 ||
                        (strcmp(only, "true") != 0 &&
                         (strcmp(text, "null") == 0 || strcmp(text, "{}") == 0)));
    free(text);
    return same;
}

int config_keys_refuse(const struct decoder *d, const struct family *family, struct error *e)
{
    const char *config = config_path(d->config), *slash = strrchr(config, '/');
    char *adapter;
    if (!family->harmless)
        return 0;
    if (quantised_refuse(d->config, e))
        return -1;
    for (int i = 0; i < REFUSED; i++) {
        const json_t *value = json_object_get(config_root(d->config), refused[i].key);
        int same = !value || is_only(value, refused[i].only) ||
                   is_listed(family->nullable, refused[i].key); /* the family reads it */
        if (!same)
            return fail(e, "%s: %s%s is not supported (expected %s)", config, refused[i].key,
                        json_is_true(value)    ? " true"
                        : json_is_false(value) ? " false"
                                               : "",
                        strcmp(refused[i].only, "{}") == 0 ? "none" : refused[i].only);
    }
    if (asprintf(&adapter, "%.*sadapter_config.json", slash ? (int)(slash + 1 - config) : 0,
                 config) < 0)
        return fail_memory(e, (double)strlen(config), "a path");
    int there = access(adapter, F_OK) == 0;
    if (there)
        fail(e,
             "%s: an adapter beside the model is not applied (expected one model; merge the "
             "adapter into it, or take the file "
             "away)",
             adapter);
    free(adapter);
    return there ? -1 : 0;
}

/* Appends a key in a form to show and store: printable ASCII, of bounded length. */
static void add_unknown(struct decoder *d, const char *key)
{
    size_t at = strlen(d->not_understood), room = sizeof d->not_understood;
    char shown[KEY_SHOWN];
    snprintf(shown, sizeof shown, "%.*s", KEY_SHOWN - 1, key);
    for (char *p = shown; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            *p = '?';
    if (at + strlen(shown) + sizeof ", ..., " < room)
        snprintf(d->not_understood + at, room - at, "%s%s", at ? ", " : "", shown);
    else if (at < 4 || strcmp(d->not_understood + at - 3, "...") != 0)
        snprintf(d->not_understood + at, room - at, ", ...");
}

static int check_object(struct decoder *d, const struct family *family, json_t *object,
                        const char *above, struct error *e)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char key[2 * KEY_SHOWN];
        int length = snprintf(key, sizeof key, "%s%s%s", above, *above ? "." : "", name);
        /* a name with a dot is not a path; one longer than all known names is unknown */
        enum config_key class = strchr(name, '.') || length >= (int)sizeof key
                                    ? CONFIG_KEY_UNKNOWN
                                    : config_key_class(family, d->config, key);
        if (class == CONFIG_KEY_USED && json_is_null(value) && !config_key_nullable(family, key))
            return fail(e, "%s: %s is null (expected a value)", config_path(d->config), key);
        if (class == CONFIG_KEY_USED && json_is_object(value) && (!*above || rope_member(key)) &&
            check_object(d, family, value, key, e))
            return -1;
        if (class == CONFIG_KEY_UNKNOWN && !json_is_null(value))
            add_unknown(d, key);
    }
    return 0;
}

int config_keys_check(struct decoder *d, const struct family *family, struct error *e)
{
    return family->harmless ? check_object(d, family, config_root(d->config), "", e) : 0;
}
