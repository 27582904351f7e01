/* Patterns are matched to modules as in PEFT: the first that matches the regular expression
 * (.*\.)?(KEY)$ from the start of the module's name. */
#include "io/adapters/adapter_settings.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MAX = 1 << 20, MATCH_STEPS_MAX = 100000, MATCH_KIBIBYTES_MAX = 1024 };

/* Keys that do not affect the merged model: files, training, the origin of tensors, and the trained
 * modules, which the tensors show; also fan_in_fan_out, since the kind of module decides. */
static const char *const harmless[] = {"auto_mapping",
                                       "base_model_name_or_path",
                                       "bias",
                                       "eva_config",
                                       "exclude_modules",
                                       "fan_in_fan_out",
                                       "inference_mode",
                                       "layers_pattern",
                                       "layers_to_transform",
                                       "loftq_config",
                                       "lora_dropout",
                                       "megatron_core",
                                       "modules_to_save",
                                       "peft_version",
                                       "qalora_group_size",
                                       "revision",
                                       "runtime_config",
                                       "target_modules",
                                       "task_type"};

/* Prefixes of keys that leave the base's weights unchanged. */
static const char *const inits[] = {"gaussian", "eva", "orthogonal"};

static int is_listed(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return 1;
    return 0;
}

/* null, false, 0, "", [] and {}: false in Python. */
static int is_off(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && json_number_value(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           ((json_is_array(value) || json_is_object(value)) &&
            json_array_size(value) + json_object_size(value) == 0 && !json_not_finite(value));
}

static int check_keys(struct config *c, struct error *e)
{
    const char *key, *peft_type;
    json_t *value;
    if (config_string_or(c, "peft_type", "", &peft_type, e))
        return -1;
    if (strcmp(peft_type, "LORA"))
        return fail(e, "%s: peft_type '%.40s' is not supported (expected LORA)", config_path(c),
                    peft_type);
    value = json_object_get(config_root(c), "init_lora_weights");
    if (json_is_string(value) &&
        !is_listed(inits, sizeof inits / sizeof *inits, json_string_value(value)))
        return fail(
            e,
            "%s: init_lora_weights '%.40s' is not supported: it begins with other weights "
            "of the base model (expected the adapter as PEFT's save_pretrained writes it with "
            "path_initial_model_for_weight_conversion)",
            config_path(c), json_string_value(value));
    json_object_foreach(config_root(c), key, value)
    {
        if (!config_asked(c, key) && strcmp(key, "init_lora_weights") && !is_off(value) &&
            !is_listed(harmless, sizeof harmless / sizeof *harmless, key))
            return fail(e,
                        "%s: %.60s is not supported (expected it to be off: null, false or empty)",
                        config_path(c), key);
    }
    return 0;
}

/* -- patterns -- */

static int add_rule(struct adapter_rules *rules, struct config *c, const char *key, double value,
                    struct error *e)
{
    char *text;
    int problem;
    PCRE2_SIZE at;
    if (asprintf(&text, "(.*\\.)?(%s)$", key) < 0)
        return fail_memory(e, (double)strlen(key), "a pattern");
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &problem, &at, NULL);
    free(text);
    if (!code)
        return fail(e, "%s: the pattern '%.80s' of a module's name is not a regular expression",
                    config_path(c), key);
    rules->rule[rules->count++] = (struct adapter_rule){code, value};
    return 0;
}

static int read_rules(struct adapter_rules *rules, struct config *c, const char *name, int whole,
                      struct error *e)
{
    json_t *object = config_get(c, name), *value;
    const char *key;
    if (!object)
        return 0;
    if (!json_is_object(object))
        return fail(e, "%s: %s is not an object (expected names of modules with numbers)",
                    config_path(c), name);
    size_t count = json_object_size(object);
    if (!(rules->rule = calloc(count ? count : 1, sizeof *rules->rule)))
        return fail_memory(e, (double)count * sizeof *rules->rule, name);
    json_object_foreach(object, key, value)
    {
        double number = json_number_value(value);
        if (whole ? !json_is_integer(value) || number < 1 || number > RANK_MAX
                  : !json_is_number(value) || !isfinite(number))
            return fail(e, "%s: %s of '%.80s' is not a %s", config_path(c), name, key,
                        whole ? "whole number from 1 to 1048576" : "finite number");
        if (add_rule(rules, c, key, number, e))
            return -1;
    }
    return 0;
}

/* *value of the first rule that matches the module, if any. */
static int apply_rules(double *value, const struct adapter_rules *rules, const char *module,
                       struct error *e)
{
    pcre2_match_data *data = rules->count ? pcre2_match_data_create(1, NULL) : NULL;
    pcre2_match_context *limits = rules->count ? pcre2_match_context_create(NULL) : NULL;
    int found = 0;
    if (rules->count && (!data || !limits)) {
        found = fail_memory(e, 0, "matching names of modules");
        goto end;
    }
    for (size_t i = 0; i < rules->count && !found; i++) {
        pcre2_set_match_limit(limits, MATCH_STEPS_MAX);
        pcre2_set_heap_limit(limits, MATCH_KIBIBYTES_MAX);
        int rc = pcre2_match(rules->rule[i].pattern, (PCRE2_SPTR)module, strlen(module), 0,
                             PCRE2_ANCHORED, data, limits);
        if (rc >= 0) {
            *value = rules->rule[i].value;
            found = 1;
        } else if (rc != PCRE2_ERROR_NOMATCH) {
            found = fail(e, "a pattern for the name %.80s of a module takes too much work", module);
        }
    }
end:
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    return found < 0 ? -1 : 0;
}

/* -- settings -- */

int adapter_settings_read(struct adapter_settings *out, struct config *c, struct error *e)
{
    json_t *tokens = config_get(c, "trainable_token_indices");

    *out = (struct adapter_settings){.config = c, .has_tokens = tokens && !is_off(tokens)};
    return config_int_or(c, "r", 1, RANK_MAX, 8, &out->rank, e) ||
                   config_real_or(c, "lora_alpha", -1e30, 1e30, 8, &out->alpha, e) ||
                   config_bool_or(c, "use_rslora", 0, &out->root, e) ||
                   config_bool_or(c, "lora_bias", 0, &out->has_bias, e) ||
                   config_bool_or(c, "use_dora", 0, &out->has_magnitudes, e) ||
                   (out->has_magnitudes && out->has_bias &&
                    fail(e, "%s: has both use_dora and lora_bias (expected one of them)",
                         config_path(c))) ||
                   read_rules(&out->ranks, c, "rank_pattern", 1, e) ||
                   read_rules(&out->alphas, c, "alpha_pattern", 0, e) || check_keys(c, e)
               ? -1
               : 0;
}

static void free_rules(struct adapter_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        pcre2_code_free(rules->rule[i].pattern);
    free(rules->rule);
}

void adapter_settings_free(struct adapter_settings *s)
{
    free_rules(&s->ranks);
    free_rules(&s->alphas);
    *s = (struct adapter_settings){0};
}

int adapter_settings_of(long *rank, double *scale, const struct adapter_settings *s,
                        const char *module, struct error *e)
{
    double r = (double)s->rank, alpha = s->alpha;
    if (apply_rules(&r, &s->ranks, module, e) || apply_rules(&alpha, &s->alphas, module, e))
        return -1;
    *rank = (long)r;
    *scale = alpha / (s->root ? sqrt(r) : r);
    return 0;
}

/* 1: the pattern is the module's name, or its end after a dot, as PEFT compares them. */
static int names_module(const char *pattern, const char *module)
{
    size_t length = strlen(module), end = strlen(pattern);
    return length >= end && strcmp(module + length - end, pattern) == 0 &&
           (length == end || module[length - end - 1] == '.');
}

int adapter_settings_tokens(size_t **index, size_t *count, const struct adapter_settings *s,
                            const char *module, struct error *e)
{
    json_t *list = json_object_get(config_root(s->config), "trainable_token_indices"), *value;
    const char *key;
    size_t i;
    *index = NULL;
    if (json_is_object(list)) {
        json_t *found = NULL;
        json_object_foreach(list, key, value)
        {
            if (names_module(key, module))
                found = value;
        }
        list = found;
    }
    if (!json_is_array(list))
        return fail(e, "%s: trainable_token_indices has no list for %.200s, whose rows are there",
                    config_path(s->config), module);
    *count = json_array_size(list);
    if (!(*index = calloc(*count + 1, sizeof **index)))
        return fail_memory(e, (double)*count * sizeof **index, "token ids");
    json_array_foreach(list, i, value)
    {
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return fail(e, "%s: entry %zu of trainable_token_indices is not a token id",
                        config_path(s->config), i + 1);
        (*index)[i] = (size_t)json_integer_value(value);
    }
    return 0;
}
