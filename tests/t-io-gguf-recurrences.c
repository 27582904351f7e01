/* GGUF files whose layers are recurrences, all or some (goldens:
 * tests/goldens/gguf/make_recurrences.py). */
#include "model/decoder.h"
#include "tests/changed.h"
#include "tests/expected.h"
#include "tests/measured.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/gguf/"

static void models_are_those_of_transformers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "qwen3next-plain",  "qwen3next-older",    "granitehybrid-experts", "granitehybrid-dense",
        "mamba2-plain",     "mamba2-tied",        "falcon-h1-norm",        "falcon-h1-plain",
        "nemotron-h-plain", "nemotron-h-experts", "qwen35-plain",          "qwen35moe-plain",
        "mamba-plain",      "mamba-normed",       "jamba-experts",         "jamba-plain"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128], folder[128];
        snprintf(folder, sizeof folder, GOLDENS "%s", names[i]);
        snprintf(path, sizeof path, GOLDENS "%s/model.gguf", names[i]);
        measure_golden(path, folder, "f64", 1e-9, 1e-9);
        measure_golden(path, folder, "f32", 2e-5, 1e-5);
    }
}

static void metadata_is_used_refused_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *golden, *from;
        size_t size;
        const char *to, *words;
    } rows[] = {
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("blk.0.ssm_out.weight", "blk.0.attn_gate.bias"),
         "'blk.0.attn_gate.bias' has no place"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("blk.0.attn_gate.weight", "blk.7.attn_gate.weight"),
         "blk.#.attn_qkv and its other half do not make "
         "model.layers.0.linear_attn.in_proj_qkvz.weight"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("blk.1.post_attention_norm.weight", "blk.1.post_attention_norm.weighX"),
         "blk.1.post_attention_norm.weighX' has no place"},
        {GOLDENS "qwen3next-plain/model.gguf", TEXTS("blk.0.ssm_a", "blk.0.ssm_x"),
         "blk.0.ssm_x' has no place"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("ssm.inner_size\4\0\0\0\10", "ssm.inner_size\4\0\0\0\11"),
         "qwen3next.ssm.inner_size is 9, with 4 heads in 2 groups (expected multiples)"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("ssm.state_size\4\0\0\0\3", "ssm.state_size\4\0\0\0\4"),
         "blk.#.attn_qkv and its other half do not make"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("qwen3next.block_count\4\0\0\0\3\0", "qwen3next.block_count\4\0\0\0\3\377"),
         "qwen3next.block_count is 65283 (expected at most 10000)"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("\41\0\0\0\0\0\0\0qwen3next.full_attention_interval\4\0\0\0\2\0\0\0",
               "\44\0\0\0\0\0\0\0qwen3next.attention.recurrent_layers\7\0\0\0\1"),
         "attention.recurrent_layers is not a list for 3 layers"},
        {GOLDENS "qwen3next-plain/model.gguf",
         TEXTS("rope.dimension_count", "nextn_predict_layers"),
         "qwen3next.nextn_predict_layers is 4 (expected less than the 3 blocks)"},
        {GOLDENS "granitehybrid-dense/model.gguf",
         TEXTS("rope.scaling.finetuned\7\0\0\0\0", "rope.scaling.finetuned\7\0\0\0\1"),
         "granitehybrid.rope.scaling.finetuned is not false, which is not supported"},
        {GOLDENS "granitehybrid-dense/model.gguf",
         TEXTS("blk.0.ffn_gate.weight", "blk.7.ffn_gate.weight"),
         "blk.#.ffn_gate and its other half"},
        {GOLDENS "granitehybrid-dense/model.gguf",
         TEXTS("blk.0.ffn_gate.weight", "blk.0.ffn_gote.weight"),
         "blk.0.ffn_gote.weight' has no place"},
        {GOLDENS "granitehybrid-dense/model.gguf",
         TEXTS("blk.0.ffn_gate.weight", "blk.0.ffn_down.weight"),
         "blk.0.ffn_up.weight' has no place"},
        {GOLDENS "granitehybrid-experts/model.gguf",
         TEXTS("granitehybrid.attention.scale", "granitehybrid.attention.scald"),
         "granitehybrid.attention.scale is missing"},
        {GOLDENS "granitehybrid-experts/model.gguf",
         TEXTS("head_count_kv\11\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\1",
               "head_count_kv\11\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\1"),
         "model.layers.0.self_attn.q_proj.weight' is missing"},
        {GOLDENS "mamba2-plain/model.gguf",
         TEXTS("ssm.inner_size\4\0\0\0\20", "ssm.inner_size\4\0\0\0\14"),
         "mamba2.ssm.inner_size is 12 (expected a multiple of the width, 8)"},
        {GOLDENS "mamba2-plain/model.gguf", TEXTS("mamba2.ssm.inner_size", "mamba2.ssm.inner_sizX"),
         "mamba2.ssm.inner_size is missing"},
        {GOLDENS "falcon-h1-plain/model.gguf", TEXTS("output.weight", "output.weighs"),
         "has no output.weight, which is not supported in the architecture falcon-h1"},
        {GOLDENS "falcon-h1-plain/model.gguf", TEXTS("blk.0.ffn_norm", "blk.0.ffn_norn"),
         "blk.0.ffn_norn' has no place"},
        {GOLDENS "falcon-h1-plain/model.gguf", TEXTS("blk.0.ssm_d", "blk.0.ssm_a"),
         "tensor 'blk.0.ssm_a' holds 0.818359 (expected decays: numbers below 0)"},
        {GOLDENS "nemotron-h-plain/model.gguf",
         TEXTS("feed_forward_length\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\5",
               "feed_forward_length\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6"),
         "nemotron_h.feed_forward_length, entry 4 is 6 (expected 0 in layers with attention, and"},
        {GOLDENS "nemotron-h-plain/model.gguf",
         TEXTS("feed_forward_length\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\5",
               "feed_forward_length\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\5\0\0\0\5"),
         "nemotron_h.feed_forward_length, entry 3 is 5 (expected 0 in layers with attention, and"},
        {GOLDENS "nemotron-h-plain/model.gguf",
         TEXTS("nemotron_h.feed_forward_length", "nemotron_h.feed_forward_lengtX"),
         "nemotron_h.feed_forward_length is not a list of whole numbers for 4 blocks"},
        {GOLDENS "nemotron-h-experts/model.gguf",
         TEXTS("blk.0.ffn_gate_inp.weight", "blk.7.ffn_gate_inp.weight"),
         "blk.7.ffn_gate_inp.weight' has no place"},
        {GOLDENS "nemotron-h-experts/model.gguf",
         TEXTS("blk.0.ffn_up_exps.weight", "blk.0.ffn_ux_exps.weight"),
         "blk.0.ffn_ux_exps.weight' has no place"},
        {GOLDENS "qwen35-plain/model.gguf",
         TEXTS("ssm.state_size\4\0\0\0\3", "ssm.state_size\4\0\0\0\4"),
         "linear_attn.conv1d.weight has another shape than that of 6 heads of 2 numbers"},
        {GOLDENS "mamba-plain/model.gguf",
         TEXTS("ssm.inner_size\4\0\0\0\20", "ssm.inner_size\4\0\0\0\14"),
         "mamba.ssm.inner_size is 12 (expected a multiple of the width, 8)"},
        {GOLDENS "mamba-plain/model.gguf",
         TEXTS("ssm.state_size\4\0\0\0\3", "ssm.state_size\4\0\0\0\2"),
         "backbone.layers.0.mixer.x_proj.weight' has shape"},
        {GOLDENS "mamba-plain/model.gguf",
         TEXTS("mamba.block_count\4\0\0\0\2\0", "mamba.block_count\4\0\0\0\2\377"),
         "mamba.block_count is 65282 (expected at most 10000)"},
        {GOLDENS "mamba-plain/model.gguf",
         TEXTS("mamba.block_count\4\0\0\0\2\0", "mamba.block_count\4\0\0\0\1\0"),
         "blk.1.ssm_a' has no place"},
        {GOLDENS "mamba-plain/model.gguf", TEXTS("blk.0.ssm_x.weight", "blk.0.ssm_y.weight"),
         "blk.0.ssm_y.weight' has no place"},
        {GOLDENS "mamba-plain/model.gguf", TEXTS("blk.0.ssm_d", "blk.0.ssm_a"),
         "(expected decays: numbers below 0)"},
        {GOLDENS "mamba-normed/model.gguf",
         TEXTS("ssm.dt_b_c_rms\7\0\0\0\1", "ssm.dt_b_c_rms\0\0\0\0\2"),
         "mamba.ssm.dt_b_c_rms is neither true nor false"},
        {GOLDENS "jamba-experts/model.gguf",
         TEXTS("head_count_kv\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\0",
               "head_count_kv\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0\1"),
         "layer 3 lacks attention, which is not supported (expected those from layer 1 on, every "
         "1)"},
        {GOLDENS "jamba-experts/model.gguf",
         TEXTS("blk.3.ffn_gate_inp.weight", "blk.7.ffn_gate_inp.weight"),
         "blk.7.ffn_gate_inp.weight' has no place"},
        {GOLDENS "jamba-experts/model.gguf",
         TEXTS("jamba.expert_count\4\0\0\0\3", "jamba.expert_count\4\0\0\0\0"),
         "num_experts is 0 (expected"},
        {GOLDENS "jamba-plain/model.gguf",
         TEXTS("jamba.attention.head_count_kv", "jamba.attention.head_count_kX"),
         "jamba.attention.head_count_kv is not a list for 2 layers"},
        {GOLDENS "qwen35-plain/model.gguf", TEXTS("blk.0.ssm_beta.weight", "blk.0.ssm_betx.weight"),
         "blk.0.ssm_betx.weight' has no place"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct decoder *d =
            decoder_open(changed_bytes(rows[i].golden, rows[i].from, rows[i].size, rows[i].to), &e);
        if (d)
            fail_msg("%s -> %s: was accepted", rows[i].from, rows[i].to);
        assert_int_equal(check_message(rows[i].to, &e, rows[i].words), 0);
    }
}

/* Blocks that predict further tokens, whatever their tensors are called. */
static void further_blocks_are_left_out(void **state)
{
    (void)state;
    struct error e = {""};
    const char *one = changed_bytes(GOLDENS "qwen3next-plain/model.gguf",
                                    TEXTS("rope.dimension_count\4\0\0\0\4",
                                          "nextn_predict_layers\4\0\0\0\1"));
    struct decoder *d = decoder_open(one, &e);
    if (!d)
        fail_msg("%s", e.text);
    assert_int_equal(d->layers, 2);
    decoder_close(d);
    d = decoder_open(changed_bytes(one, TEXTS("blk.2.attn_norm.weight", "blk.2.nextn.any.weight")),
                     &e);
    if (!d)
        fail_msg("%s", e.text);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_those_of_transformers),
        cmocka_unit_test(metadata_is_used_refused_or_named),
        cmocka_unit_test(further_blocks_are_left_out),
    };
    return cmocka_run_group_tests_name("gguf-recurrences", tests, scratch_setup, scratch_teardown);
}
