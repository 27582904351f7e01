/* Every key that the library of these formats takes from config.json
 * (tests/goldens/config_keys.csv) is used, harmless or refused; others are named. */
#include "model/config_keys.h"
#include "model/layout.h"
#include "model/outer.h"
#include "tests/changed.h"
#include "tests/golden.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const char *const class_names[] = {[CONFIG_KEY_UNKNOWN] = "unknown",
                                          [CONFIG_KEY_USED] = "used",
                                          [CONFIG_KEY_HARMLESS] = "harmless",
                                          [CONFIG_KEY_REFUSED] = "refused"};
enum { FAMILIES_MOST = 160 };
#define OF_MINISTRAL3 \
    ", \"llama_4_scaling_beta\": 0.1, \"original_max_position_embeddings\": 16" /* which it needs \
                                                                                 */

/* The golden cases' decoders: what their readers asked for is what counts as used. */
static struct decoder **decoders;
static struct golden *cases;
static size_t case_count;

static int open_all(void **state)
{
    struct error e = {""};
    cases = goldens_open(&case_count);
    decoders = calloc(case_count + 1, sizeof *decoders);
    for (size_t i = 0; decoders && i < case_count; i++)
        if (!(decoders[i] = decoder_open(cases[i].checkpoint, &e))) {
            fprintf(stderr, "%s\n", e.text);
            return -1;
        }
    return case_count && decoders ? scratch_setup(state) : -1;
}

static int is_by_kind(const struct family *family)
{
    return family->layout && family->layout->rope.by_kind;
}

/* Where the keys of the language model lie in a golden's config.json. */
static const char *text_place(const struct decoder *d, const char *golden)
{
    if (!d->outer || strcmp(golden, "qwen2-vl") == 0 /* among the others */)
        return "";
    return d->outer->within ? "thinker_config.text_config." : "text_config.";
}

/* A case of the family with a rotary scaling, of both kinds of layers where they have settings of
 * their own. */
static struct decoder *open_scaled(const struct family *family, const char *scaling)
{
    struct error e = {""};
    struct decoder *d = NULL;
    if (family->layout && family->layout->rope.unscaled)
        return NULL;
    const char *name = is_by_kind(family) ? "rope_parameters" : "rope_scaling";
    char both[400], key[64];
    snprintf(both, sizeof both, "{\"full_attention\": %s, \"sliding_attention\": %s}", scaling,
             scaling);
    for (size_t i = 0; i < case_count && !d; i++) {
        int rotary = strcmp(decoders[i]->family, family->name) == 0 &&
                     config_asked(decoders[i]->config, "rope_scaling");
        int older = is_by_kind(family) && config_has(decoders[i]->config, "rope_scaling");
        snprintf(key, sizeof key, "%s%s", text_place(decoders[i], cases[i].name), name);
        if (rotary && !older && strcmp(cases[i].name, "llama-gqa") != 0 /* in shards */ &&
            !(d = decoder_open(changed(cases[i].name, key, is_by_kind(family) ? both : scaling),
                               &e)))
            fail_msg("%s", e.text);
    }
    return d;
}

static int close_all(void **state)
{
    for (size_t i = 0; decoders && i < case_count; i++)
        decoder_close(decoders[i]);
    free(decoders);
    goldens_free(cases, case_count);
    return scratch_teardown(state);
}

static const struct family *family_named(const char *name)
{
    const struct family *f;
    for (int i = 0; (f = family_at(i)); i++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* Used if any case of the family asks for it. */
static enum config_key class_of(const struct family *family, struct decoder *const scaled[2],
                                const char *key)
{
    enum config_key found = CONFIG_KEY_UNKNOWN;
    char other[96];
    if (scaled[0] && is_by_kind(family) && strncmp(key, "rope_scaling.", 13) == 0) {
        snprintf(other, sizeof other, "rope_parameters.full_attention.%s", key + 13);
        key = other;
    } else if (scaled[0] && !is_by_kind(family) &&
               strncmp(key, "rope_parameters.", 16) == 0) { /* one object by two names */
        snprintf(other, sizeof other, "rope_scaling.%s", key + 16);
        key = other;
    }
    for (int i = 0; i < 2 && scaled[i]; i++)
        if (config_key_class(family, scaled[i]->config, key) == CONFIG_KEY_USED)
            return CONFIG_KEY_USED;
    for (size_t i = 0; i < case_count; i++)
        if (strcmp(decoders[i]->family, family->name) == 0) {
            enum config_key class = config_key_class(family, decoders[i]->config, key);
            if (class == CONFIG_KEY_USED || found == CONFIG_KEY_UNKNOWN)
                found = class;
        }
    return found;
}

/* Keys whose null the library takes although it is not their default, or is not a field of the
 * class. Without a fraction of a head the whole of it is turned, so null is absence of the fraction
 * where its default is 1. */
static int is_other_null(const char *family, const char *key, const char *standard)
{
    static const char *const sized[] = {"ernie4_5", "internlm3", "iquestcoder", "seed_oss"};
    static const char *const keys[] = {
        "attention_chunk_size",
        "attn_logit_softcapping",
        "dim_model_base",
        "final_logit_softcapping",
        "mamba_d_ssm",
        "num_experts_per_tok", /* with which the library cannot run */
        "num_key_value_heads",
        "q_lora_rank",
        "scale_depth",
        "sliding_window",
        "sliding_window_pattern",
        "bos_token_id",
        "ffn_config.moe_normalize_expert_weights",
        "rope_scaling"};
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return 1;
    if (strcmp(family, "exaone") == 0 &&
        strcmp(key, "intermediate_size") == 0) /* of its code before transformers had it */
        return 1;
    if (strcmp(standard, "alias of layers_block_type") == 0) /* whose default is null */
        return 1;
    for (size_t i = 0; strcmp(key, "head_dim") == 0 && i < LENGTH(sized); i++)
        if (strcmp(sized[i], family) == 0)
            return 1;
    return (strncmp(key, "rope_", 5) == 0 && strchr(key, '.')) ||
           (strcmp(key, "partial_rotary_factor") == 0 && strcmp(standard, "1.0") == 0);
}

static void test_table(void **state)
{
    static const char *const no_classes[] = {"baichuan",        "internlm2", "llama_meta",
                                             "minicpm",         "mamba_ssm", "mamba_ssm1",
                                             "minimax_text_01", "nanogpt"};
    size_t size, rows = 0, wrong = 0, seen[FAMILIES_MOST] = {0};
    char *text = (char *)scratch_read("tests/goldens/config_keys.csv", &size), *line, *end = text;
    struct decoder *scaled[2] = {NULL, NULL};
    (void)state;
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = 0;
    for (line = strtok_r(text, "\n", &end); line; line = strtok_r(NULL, "\n", &end), rows++) {
        char *key = strchr(line, ','), *value = key ? strchr(key + 1, ',') : NULL,
             *class = value ? strrchr(value + 1, ',') : NULL;
        if (!class)
            fail_msg("'%s' is not a row", line);
        *key++ = *value++ = *class ++ = 0;
        const struct family *family = family_named(line);
        if (!rows)
            continue;
        if (!family)
            fail_msg("family %s", line);
        for (int i = 0; i < FAMILIES_MOST && family_at(i); i++)
            if (family_at(i) == family && seen[i]++ == 0) {
                decoder_close(scaled[0]), decoder_close(scaled[1]);
                int unscaled = family->layout &&
                               (family->layout->rope.only_longrope || family->layout->rope.mscales);
                scaled[0] =
                    open_scaled(family,
                                unscaled ? "{\"type\": \"default\"}"
                                         : "{\"type\": \"yarn\", \"factor\": 2" OF_MINISTRAL3 "}");
                scaled[1] =
                    unscaled ? NULL
                             : open_scaled(
                                   family,
                                   "{\"type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, "
                                   "\"high_freq_factor\": 4" OF_MINISTRAL3 "}");
            }
        enum config_key found = class_of(family, scaled, key);
        if (found == CONFIG_KEY_UNKNOWN || strcmp(class_names[found], class) != 0) {
            fprintf(stderr, "%s,%s: is %s, the table says %s\n", line, key, class_names[found],
                    class);
            wrong++;
        }
        if (found == CONFIG_KEY_USED && *value &&
            config_key_nullable(family, key) != (strcmp(value, "None") == 0) &&
            !is_other_null(family->name, key, value)) {
            fprintf(stderr, "%s,%s: null is %staken for absence, the default is %s\n", line, key,
                    config_key_nullable(family, key) ? "" : "not ", value);
            wrong++;
        }
    }
    for (int i = 0; family_at(i); i++) {
        assert_true(i < FAMILIES_MOST);
        int no_class = 0; /* in the library */
        for (size_t j = 0; j < LENGTH(no_classes); j++)
            no_class |= strcmp(family_at(i)->name, no_classes[j]) == 0;
        if (family_at(i)->harmless && !no_class && seen[i] < 50)
            fail_msg("%s has %zu keys", family_at(i)->name, seen[i]);
    }
    free(text);
    decoder_close(scaled[0]), decoder_close(scaled[1]);
    if (wrong)
        fail_msg("%zu of %zu rows", wrong, rows - 1);
}

/* Nothing is named of the golden cases, which have the keys of published files. */
static void test_nothing_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++)
        if (*decoders[i]->not_understood)
            fail_msg("%s: not understood: %s", cases[i].name, decoders[i]->not_understood);
}

static void test_unknown(void **state)
{
    static const struct {
        const char *golden, *key, *value, *named;
    } rows[] = {
        {"llama-tied", "colour", "\"red\"", "colour"},
        {"llama-tied", "colour", "null", ""},
        {"llama-tied", "colour", "{\"a\": 1, \"b\": 2}", "colour"},
        {"llama-tied", "residual_multiplier", "0.5", "residual_multiplier"},
        {"llama-rope-yarn", "rope_parameters.colour", "3", "rope_parameters.colour"},
        {"mpt", "attn_config.colour", "true", "attn_config.colour"},
        {"gpt2-unscaled", "rope_theta", "500", "rope_theta"},
        {"gpt2-unscaled", "col\\u001b[31mour\\u00e4", "true", "col?[31mour??"},
        {"neox-none", "colour", "true", ""}, /* arguments of a training program: not looked at */
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char key[64];
        json_t *name = NULL;
        snprintf(key, sizeof key, "\"%s\"", rows[i].key);
        name = json_loads(key, JSON_DECODE_ANY, NULL);
        struct decoder *d =
            decoder_open(changed(rows[i].golden, json_string_value(name), rows[i].value), &e);
        json_decref(name);
        if (!d)
            fail_msg("%s, %s: %s", rows[i].golden, rows[i].key, e.text);
        if (strcmp(d->not_understood, rows[i].named) != 0)
            fail_msg("%s, %s = %s: not understood: '%s', expected '%s'", rows[i].golden,
                     rows[i].key, rows[i].value, d->not_understood, rows[i].named);
        decoder_close(d);
    }
}

/* Names are cut, and so is the list of them. */
static void test_many(void **state)
{
    struct error e;
    char key[300] = "", text[32];
    (void)state;
    memset(key, 'k', sizeof key - 1);
    changed("llama-tied", key, "1");
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "unknown%d", i);
        change_again(text, "1");
    }
    struct decoder *d = decoder_open(scratch_folder, &e);
    assert_non_null(d);
    size_t length = strlen(d->not_understood);
    assert_true(length > 900 && length < sizeof d->not_understood);
    assert_memory_equal(d->not_understood, key, 63);
    assert_memory_equal(d->not_understood + 63, ", unknown0", 10);
    assert_string_equal(d->not_understood + length - 5, ", ...");
    assert_null(strstr(d->not_understood, ", ..., "));
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_nothing_unknown),
                                       cmocka_unit_test(test_unknown), cmocka_unit_test(test_many)};
    return cmocka_run_group_tests_name("config keys", tests, open_all, close_all);
}
