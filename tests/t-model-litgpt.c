/* litgpt's folders: which settings are refused by name. The numbers are compared with litgpt's by
 * t-model-goldens (litgpt-*). */
#include "model/decoder.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/litgpt-"

/* The folder of a golden case with OLD in its settings replaced by NEW ("": added at the end). */
static void refused(const char *name, const char *old, const char *new, const char *words)
{
    char path[128], settings[4096], *at;
    size_t size;
    struct error e = {""};
    snprintf(path, sizeof path, GOLDENS "%s/lit_model.pth", name);
    unsigned char *weights = scratch_read(path, &size);
    scratch_write(scratch_folder, "lit_model.pth", weights, size);
    free(weights);
    snprintf(path, sizeof path, GOLDENS "%s/model_config.yaml", name);
    char *text = (char *)scratch_read(path, &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    at = *old ? strstr(text, old) : text + size;
    assert_non_null(at);
    snprintf(settings, sizeof settings, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    free(text);
    scratch_write(scratch_folder, "model_config.yaml", settings, strlen(settings));
    struct decoder *d = decoder_open(scratch_folder, &e);
    decoder_close(d);
    if (d)
        fail_msg("%s: was accepted", new);
    assert_int_equal(check_message(new, &e, words), 0);
}

static void test_refused(void **state)
{
    (void)state;
    refused("neox", "", "loops: 3\n",
            "model_config.yaml: loops is not supported|litgpt's settings");
    refused("neox", "latent_attention: null", "latent_attention: {q_lora_rank: 4}",
            "latent_attention is not supported");
    refused("neox", "norm_1: true", "norm_1: false", "parallel_residual is supported with norm_1");
    refused("neox", "norm_class_name: LayerNorm", "norm_class_name: GroupNorm", "norm_class_name");
    refused("neox", "padded_vocab_size: 40", "", "padded_vocab_size is missing");
    refused("phi", "rope_adjustments: null", "rope_adjustments: {factor: 2.0}",
            "rope_condense_ratio is not supported with rope_adjustments");
    refused("llama", "  original_max_seq_len: 32", "  beta_fast: 32",
            "rope_adjustments.beta_fast is not supported");
    refused("llama", "  original_max_seq_len: 32\n", "", "rope_adjustments lacks some of factor");
    refused("llama", "shared_attention_norm: false", "shared_attention_norm: true",
            "shared_attention_norm is not supported without parallel_residual");
    refused("gemma", "sliding_window_size: 9", "sliding_window_size: null",
            "rope_local_base_freq is not supported without sliding_window_size");
    refused("gemma", "rope_indices:\n- 1\n- 1", "rope_indices:\n- 1\n- 0",
            "rope_indices, entry 2 is not supported");
    refused("gemma", "sliding_window_indices:\n- 1", "sliding_window_indices:\n- 2",
            "sliding_window_indices, entry 1 is not supported");
    refused("experts", "n_shared_expert: null", "n_shared_expert: 1",
            "n_shared_expert is not supported");
    refused("experts", "routed_scaling_factor: 1.0", "routed_scaling_factor: 2.5",
            "routed_scaling_factor are not supported");
    refused("experts", "bias: false\nblock", "bias: true\nblock", "experts with biases");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
