/* Names of tensors: as containers hold them, wrapped, aliases, a tied head alone. */
#include "kernels/shared.h"
#include "model/engine.h"
#include "model/family.h"
#include "model/rope.h"
#include "tests/changed.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Names that the library has in memory where its files have others: what is missing of them is
 * refused. */
static void test_names_in_memory(void **state)
{
    static const struct {
        const char *golden, *from, *to;
    } rows[] = {
        {"exaone-moe", "mlp.e_score_correction_bias", "mlp.gate.e_score_correction_bias"},
        {"hy-v3", "mlp.router.gate.", "mlp.gate."},
        {"hy-v3", "mlp.expert_bias", "mlp.e_score_correction_bias"},
        {"hy-v3", "mlp.shared_mlp.", "mlp.shared_experts."},
        {"minimax-m2", "block_sparse_moe.gate.", "mlp.gate."},
        {"minimax-m2", "block_sparse_moe.e_score_correction_bias", "mlp.e_score_correction_bias"},
        {"flint", "self_attn.softmax_offset", "self_attn.sinks"},
        {"ernie4-5-moe", "mlp.moe_statics.", "mlp.gate.moe_statics."},
        {"phimoe", "block_sparse_moe.gate.", "mlp.router."},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *folder = changed(rows[i].golden, "use_cache", "true");
        if (!rename_tensors(folder, rows[i].from, rows[i].to))
            fail_msg("%s has no %s", rows[i].golden, rows[i].from);
        struct decoder *d = decoder_open(folder, &e);
        if (!d)
            fail_msg("%s", e.text);
        decoder_close(d);
        rename_tensors(folder, rows[i].to, "mlp.nothing.");
        assert_null(decoder_open(folder, &e));
    }
}

/* Renames in turn, each part of a name once; ends with NULL. */
static const char *renamed(const char *golden, const char *const (*parts)[2])
{
    const char *folder = changed(golden, "use_cache", "true");
    for (; (*parts)[0]; parts++)
        if (!rename_tensors(folder, (*parts)[0], (*parts)[1]))
            fail_msg("%s has no %s", golden, (*parts)[0]);
    return folder;
}

/* Parts of names that training code puts there are taken away and told; a name that no family has
 * is told beside the one that is missing. */
static void test_wrapped_names(void **state)
{
    static const struct {
        const char *golden, *parts[4][2], *note;
    } rows[] = {
        {"llama-tied", {{"model.", "module.model."}}, "without the module. that all"},
        {"qwen2",
         {{"lm_head.", "model.lm_head."},
          {"model.", "model.model."},
          {"model.model.lm_head.", "model.lm_head."}},
         "without the model. that all"},
        {"llama-tied", {{"model.", "module.module.model."}}, "without the module. that all"},
        {"llama-tied",
         {{"model.", "_orig_mod.module._orig_mod.model."}},
         "without their part _orig_mod\n|without the module."},
        {"llama-tied",
         {{"self_attn.", "_fsdp_wrapped_module._checkpoint_wrapped_module.self_attn."}},
         "without their part _fsdp_wrapped_module\n|without their part _checkpoint_wrapped_module"},
        {"falcon-groups", {{"transformer.", "model.transformer."}}, "without the model. that all"},
        {"opt", {{"model.", "model.model."}}, "without the model. that all"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(renamed(rows[i].golden, rows[i].parts), &e);
        if (!d)
            fail_msg("row %zu: %s", i, e.text);
        char words[128];
        snprintf(words, sizeof words, "%s", rows[i].note);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
            if (!strstr(d->notes, word))
                fail_msg("row %zu: notes '%s' (expected '%s')", i, d->notes, word);
        decoder_close(d);
    }
    assert_null(
        decoder_open(renamed("llama-tied",
                             (const char *const[][2]){{"model.", "net.model."}, {NULL, NULL}}),
                     &e));
    assert_int_equal(
        check_message("net", &e,
                      "tensor 'embed_tokens.weight' is missing|first tensor there is 'net.model."),
        0);
    /* one name with the part and one without */
    assert_null(
        decoder_open(renamed("llama-tied", (const char *const[][2]){{"layers.0.input_layernorm.",
                                                                     "norm._orig_mod."},
                                                                    {NULL, NULL}}),
                     &e));
    assert_int_equal(check_message("twice", &e, "holds tensor model.norm.weight twice"), 0);
}

/* Keys of older EXAONE files win over those that transformers writes now, as its class has it; what
 * neither says is the class's.
 */
static void test_aliases(void **state)
{
    static const struct {
        const char *key, *value;
        double epsilon, base;
        enum activation activation;
    } rows[] = {
        {"use_cache", "true", 0.03, 5e5, ACTIVATION_GELU},
        {"layer_norm_epsilon", "0.25", 0.25, 5e5, ACTIVATION_GELU},
        {"activation_function", "\"silu\"", 0.03, 5e5, ACTIVATION_SILU},
        {"rms_norm_eps", "", 1e-5, 5e5, ACTIVATION_GELU},
        {"hidden_act", "", 0.03, 5e5, ACTIVATION_SILU},
        {"rope_parameters", "", 0.03, 5e5, ACTIVATION_GELU},
        {"rope_parameters.rope_theta", "700", 0.03, 700, ACTIVATION_GELU},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed("exaone-saved", rows[i].key, rows[i].value), &e);
        if (!d)
            fail_msg("%s = %s: %s", rows[i].key, rows[i].value, e.text);
        assert_true(d->final_norm.epsilon == rows[i].epsilon &&
                    d->blocks[0].mlp_norm.epsilon == rows[i].epsilon);
        assert_true(d->rotary[0].base == rows[i].base);
        assert_int_equal(d->blocks[0].activation, rows[i].activation);
        assert_string_equal(d->not_understood, "");
        decoder_close(d);
    }
    assert_null(decoder_open(changed("exaone-saved", "num_layers", "2"), &e));
    assert_int_equal(check_message("num_layers", &e,
                                   "tensor 'transformer.h.1.ln_1.weight' is missing"),
                     0);
}

/* Of two tensors that are tied the file may have the head's alone. */
static void test_tied_head_alone(void **state)
{
    static const struct {
        const char *golden, *parts[2][2];
    } rows[] = {
        {"llama-tied", {{"model.embed_tokens.", "lm_head."}}},
        {"gemma2", {{"model.embed_tokens.", "lm_head."}}},
        {"mpt", {{"wte.", "lm_head."}}},
        {"bloom-4-heads", {{"word_embeddings.", "lm_head."}}},
        {"falcon-groups", {{"transformer.word_embeddings.", "lm_head."}}},
        {"opt", {{"model.decoder.embed_tokens.", "lm_head."}}},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(renamed(rows[i].golden, rows[i].parts), &e);
        if (!d)
            fail_msg("%s: %s", rows[i].golden, e.text);
        assert_ptr_equal(d->embedding.data, d->head.weight.data);
        assert_int_equal(d->tied, 1);
        decoder_close(d);
    }
    const char *folder = renamed("llama-tied", rows[0].parts);
    change_again("tie_word_embeddings", "false");
    assert_null(decoder_open(folder, &e));
    assert_int_equal(check_message("untied", &e, "tensor 'model.embed_tokens.weight' is missing"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrapped_names),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_tied_head_alone),
        cmocka_unit_test(test_names_in_memory),
    };
    return cmocka_run_group_tests_name("families", tests, scratch_setup, scratch_teardown);
}
