/* The metadata of GGUF files, of models and of tokenizers: used, refused or named (goldens:
 * tests/goldens/gguf/make.py). */
#include "io/blocks.h"
#include "io/checkpoint/checkpoint.h"
#include "io/gguf/gguf.h"
#include "io/tokenizer/gguf_styles.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/tokens.h"
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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/gguf/"

/* -- metadata of models -- */

static void metadata_is_used_refused_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *golden, *from;
        size_t size;
        const char *to, *words;
    } rows[] = {
        {GOLDENS "llama-tied.gguf", TEXTS("llama", "lamda"),
         "general.architecture 'lamda' is not supported (supported: llama, qwen2"},
        {GOLDENS "llama-tied.gguf", TEXTS("general.architecture", "general.architectur_"),
         "general.architecture is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.block_count", "llama.block_coun_"),
         "llama.block_count is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.context_length", "llama.residual_scale"),
         "llama.residual_scale is 128, which is not supported (expected 0)"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.context_length", "llama.expert_countxx"), NULL},
        {GOLDENS "llama-tied.gguf", TEXTS("general.type", "zeneral.type"), NULL},
        {GOLDENS "mixtral.gguf", TEXTS("llama.expert_count", "llama.expert_coumt"),
         "llama.expert_used_count is 2, which is not supported (expected 0)"},
        {GOLDENS "olmoe-plain.gguf", TEXTS("olmoe.expert_used_count", "olmoe.expert_used_coumt"),
         "olmoe.expert_used_count is missing"},
        {GOLDENS "glm4-moe.gguf",
         TEXTS("expert_gating_func\4\0\0\0\2", "expert_gating_func\4\0\0\0\1"),
         "glm4moe.expert_gating_func is 1, which is not supported here (expected 2)"},
        {GOLDENS "mixtral.gguf",
         TEXTS("llama.expert_used_count\4\0\0\0\2", "llama.expert_used_count\4\0\0\0\7"),
         "num_experts_per_tok is 7 (expected a whole number from 1 to 6)"},
        {GOLDENS "gpt-oss.gguf",
         TEXTS("gpt-oss.expert_feed_forward_length\4\0\0\0\14",
               "gpt-oss.expert_feed_forward_length\4\0\0\0\15"),
         "gpt-oss.expert_feed_forward_length is 13, which is not supported here (expected 12)"},
        {GOLDENS "mixtral.gguf", TEXTS("blk.1.ffn_up_exps.weight", "blk.1.ffn_ux_exps.weight"),
         "blk.1.ffn_ux_exps.weight' has no place"},
        {GOLDENS "granitemoe-names.gguf",
         TEXTS("granitemoe.attention.scale", "granitemoe.attention.scald"),
         "granitemoe.attention.scale is missing"},
        {GOLDENS "granite-plain/attention.gguf",
         TEXTS("granite.expert_shared_feed_forward_length\4\0\0\0\14",
               "granite.expert_shared_feed_forward_length\4\0\0\0\15"),
         "granite.expert_shared_feed_forward_length is 13, which is not supported here (expected "
         "12)"},
        {GOLDENS "granite-plain/attention.gguf",
         TEXTS("rope.scaling.finetuned\7\0\0\0\1", "rope.scaling.finetuned\7\0\0\0\0"),
         "granite.rope.scaling.finetuned is not true, which is not supported"},
        {GOLDENS "granitemoeshared-plain/model.gguf",
         TEXTS("blk.0.ffn_gate_shexp.weight", "blk.7.ffn_gate_shexp.weight"),
         "blk.#.ffn_gate_shexp and its other half"},
        {GOLDENS "gpt2.gguf",
         TEXTS("gpt2.attention.head_count\4\0\0\0\4", "gpt2.attention.head_counu\4\0\0\0\4"),
         "gpt2.attention.head_count is missing"},
        {GOLDENS "bloom-4-heads.gguf",
         TEXTS("bloom.feed_forward_length\4\0\0\0\140", "bloom.feed_forward_length\4\0\0\0\141"),
         "bloom.feed_forward_length is 97, which is not supported here (expected 96)"},
        {GOLDENS "bloom-4-heads.gguf",
         TEXTS("bloom.attention.head_count_kv\4\0\0\0\4",
               "bloom.attention.head_count_kv\4\0\0\0\2"),
         "bloom.attention.head_count_kv is 2, which is not supported here (expected 4)"},
        {GOLDENS "llama-tied.gguf", TEXTS("\5\0\0\0\0\0\0\0model", "\5\0\0\0\0\0\0\0adapt"),
         "general.type is 'adapt' (expected model)"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.ffn_up.weight", "blk.1.ffn_ux.weight"),
         "tensor 'blk.1.ffn_ux.weight' has no place in a model of the architecture llama"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.ffn_up.weight", "blk.9.ffn_up.weight"),
         "mlp.up_proj.weight' is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("token_embd.weight", "token_embx.weight"),
         "has no matrix token_embd.weight"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.attn_q.weight", "blk.0.attn_q.weight"), "twice"},
        {GOLDENS "quantised/model.gguf", TEXTS("version\4\0\0\0\2\0\0", "version\4\0\0\0\1\0\0"),
         "general.quantization_version is 1 (expected 2)"},
        {GOLDENS "llama-rope-yarn.gguf", TEXTS("\4\0\0\0\0\0\0\0yarn", "\4\0\0\0\0\0\0\0worn"),
         "llama.rope.scaling.type 'worn' is not supported (supported: none, linear, yarn)"},
        {GOLDENS "phi3.gguf",
         TEXTS("phi3.attention.sliding_window\4\0\0\0\0\0\0\0",
               "phi3.attention.sliding_window\6\0\0\0\0\0\40\100"),
         "phi3.attention.sliding_window is 2.5 (expected a whole number from 1"},
        {GOLDENS "exaone4.gguf",
         TEXTS("exaone4.attention.sliding_window\4\0\0\0\15\0\0\0",
               "exaone4.attention.sliding_window\6\0\0\0\0\0\300\77"),
         "exaone4.attention.sliding_window is 1.5 (expected a whole number)"},
        {GOLDENS "olmo-clip/model.gguf",
         TEXTS("layer_norm_epsilon\6\0\0\0\254\305\47\67",
               "layer_norm_epsilon\6\0\0\0\254\305\47\70"),
         "olmo.attention.layer_norm_epsilon is 4e-05, which is not supported (expected 1e-05)"},
        {GOLDENS "gpt-bigcode.gguf",
         TEXTS("starcoder.attention.head_count_kv\4\0\0\0\1",
               "starcoder.attention.head_count_kv\4\0\0\0\4"),
         "starcoder.attention.head_count_kv is 4, which is not supported here (expected 1)"},
        {GOLDENS "glm4.gguf", TEXTS("glm4.attention.head_count_kv", "glm4.rope.dimension_sections"),
         "has glm4.rope.dimension_sections, which is not supported"},
        {GOLDENS "phi3-longrope/model.gguf",
         TEXTS("rope_factors_short.weight", "rope_factors_shorX.weight"),
         "has no tensor 'rope_factors_short.weight' of 4 floating-point numbers"},
        {GOLDENS "phi3-longrope/model.gguf",
         TEXTS("rope.scaling.original_context_length", "rope.scaling.original_context_lengtX"),
         "phi3.rope.scaling.original_context_length is missing"},
        {GOLDENS "ministral3-plain/model.gguf",
         TEXTS("\4\0\0\0\0\0\0\0yarn", "\4\0\0\0\0\0\0\0none"),
         "mistral3.rope.scaling has a factor on attention, which is supported only with the type"},
        {GOLDENS "lfm2-plain/model.gguf",
         TEXTS("lfm2.attention.head_count_kv\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\2",
               "lfm2.attention.head_count_kv\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\2"),
         "lfm2.attention.head_count_kv, entry 2 is not supported (expected one number from 1 to 4"},
        {GOLDENS "lfm2-plain/model.gguf",
         TEXTS("lfm2.attention.head_count_kv\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\2",
               "lfm2.attention.head_count_kv\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0"),
         "model.layers.1.conv.in_proj.weight' is missing"},
        {GOLDENS "lfm2-plain/model.gguf",
         TEXTS("lfm2.block_count\4\0\0\0\3", "lfm2.block_count\4\0\0\0\2"),
         "lfm2.attention.head_count_kv is not a list for 2 layers"},
        {GOLDENS "lfm2-plain/model.gguf",
         TEXTS("lfm2.attention.head_count_kv", "lfm2.attention.head_count_kX"),
         "lfm2.attention.head_count_kv is not a list for 3 layers"},
        {GOLDENS "lfm2-plain/model.gguf",
         TEXTS("lfm2.shortconv.l_cache\4\0\0\0\4", "lfm2.shortconv.l_cache\4\0\0\0\5"),
         "model.layers.0.conv.conv.weight"},
        {GOLDENS "lfm2moe-plain/model.gguf",
         TEXTS("expert_gating_func\4\0\0\0\2", "expert_gating_func\4\0\0\0\1"),
         "lfm2moe.expert_gating_func is 1, which is not supported here (expected 2)"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("blk.1.attn_v_b.weight", "blk.7.attn_v_b.weight"),
         "blk.*.attn_v_b do not make model.layers.1.self_attn.kv_b_proj.weight"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("deepseek2.attention.key_length\4\0\0\0\12",
               "deepseek2.attention.key_length\4\0\0\0\13"),
         "deepseek2.attention.key_length is 11, which is not supported here (expected 10)"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("deepseek2.attention.head_count_kv\4\0\0\0\1",
               "deepseek2.attention.head_count_kv\4\0\0\0\2"),
         "deepseek2.attention.head_count_kv is 2, which is not supported here (expected 1)"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("deepseek2.rope.dimension_count\4\0\0\0\4",
               "deepseek2.rope.dimension_count\4\0\0\0\50"),
         "deepseek2.attention.key_length is 10, which is not supported here (expected 46)"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_log_multipliex"),
         "deepseek2.rope.scaling has no yarn_log_multiplier, which is not supported with yarn"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("expert_gating_func\4\0\0\0\2", "expert_gating_func\4\0\0\0\1"),
         "deepseek2.expert_weights_norm is true, which is not supported with softmax"},
        {GOLDENS "deepseek2-sigma/model.gguf",
         TEXTS("expert_gating_func\4\0\0\0\2", "expert_gating_func\4\0\0\0\3"),
         "deepseek2.expert_gating_func is 3, which is not supported here (expected 1)"},
        {GOLDENS "deepseek2-older/model.gguf",
         TEXTS("deepseek2.attention.head_count_kv\4\0\0\0\2",
               "deepseek2.attention.head_count_kv\4\0\0\0\1"),
         "deepseek2.attention.head_count_kv is 1, which is not supported here (expected 2)"},
        {GOLDENS "deepseek2-older/model.gguf",
         TEXTS("deepseek2.attention.value_length", "deepseek2.attention.value_lengtX"),
         "deepseek2.attention.value_length is missing"},
        {GOLDENS "gemma4-keys/model.gguf", TEXTS("rope_freqs.weight", "rope_freqs.weighs"),
         "has no tensor 'rope_freqs.weight' of 4 floating-point numbers"},
        {GOLDENS "gemma4-keys/model.gguf",
         TEXTS("\0\0\200\77\0\0\200\77\312\362\111\161", "\0\0\200\77\0\0\0\100\312\362\111\161"),
         "rope_freqs.weight is not supported in gemma4 (expected numbers of 1, then of 1e30)"},
        {GOLDENS "gemma4-keys/model.gguf",
         TEXTS("gemma4.attention.key_length_swa", "gemma4.attention.key_length_swX"),
         "gemma4.attention.key_length_swa is missing"},
        {GOLDENS "gemma4-keys/model.gguf",
         TEXTS("gemma4.rope.dimension_count_swa\4\0\0\0\6",
               "gemma4.rope.dimension_count_swa\4\0\0\0\4"),
         "gemma4.rope.dimension_count_swa is 4, which is not supported here (expected 6)"},
        {GOLDENS "gemma4-keys/model.gguf",
         TEXTS("head_count_kv\11\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\2",
               "head_count_kv\11\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\3"),
         "gemma4.attention.head_count_kv is not a list of whole numbers from 1 to 2"},
        {GOLDENS "gemma4-experts/model.gguf",
         TEXTS("feed_forward_length\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\6\0\0\0\6\0\0\0\14",
               "feed_forward_length\11\0\0\0\5\0\0\0\3\0\0\0\0\0\0\0\6\0\0\0\6\0\0\0\15"),
         "gemma4.feed_forward_length, entry 3 is 13 (expected the same in all layers, or twice"},
        {GOLDENS "gemma4-experts/model.gguf",
         TEXTS("blk.1.ffn_gate_inp.scale", "blk.1.ffn_gate_inx.scale"),
         "blk.1.ffn_gate_inx.scale' has no place"},
        {GOLDENS "llama4-plain/model.gguf",
         TEXTS("\35\0\0\0\0\0\0\0llama4.attention.value_length\4\0\0\0\4\0\0\0",
               "\37\0\0\0\0\0\0\0llama4.attention.sliding_window\2\0\0\0\0\0"),
         "has llama4.attention.sliding_window, which is not supported"},
        {GOLDENS "rope-freqs/model.gguf", TEXTS("rope_freqs.weight", "rope_freqs.weighs"),
         "rope_freqs.weighs' has no place"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct decoder *d =
            decoder_open(changed_bytes(rows[i].golden, rows[i].from, rows[i].size, rows[i].to), &e);
        if (d && rows[i].words)
            fail_msg("%s -> %s: was accepted", rows[i].from, rows[i].to);
        if (!d && !rows[i].words)
            fail_msg("%s -> %s: %s", rows[i].from, rows[i].to, e.text);
        if (rows[i].words)
            assert_int_equal(check_message(rows[i].to, &e, rows[i].words), 0);
        else
            assert_string_equal(d->not_understood, rows[i].to);
        decoder_close(d);
    }
}

/* What a file does not say, and what is taken for it: as the decoder has it, told in a note. */
static void assumptions_are_told(void **state)
{
    (void)state;
#define NO_BASE(name) TEXTS(name ".rope.freq_base", name ".rope.freq_basX")
    static const struct {
        const char *golden, *from;
        size_t size;
        const char *to, *assumed;
        double base;
        long window; /* of the second layer; -1: not looked at */
    } rows[] = {
        {GOLDENS "falcon-queries.gguf", NO_BASE("falcon"), "rotary base 10000", 10000, 0},
        {GOLDENS "phi.gguf", NO_BASE("phi2"), "rotary base 10000", 10000, 0},
        {GOLDENS "gemma.gguf", NO_BASE("gemma"), "rotary base 10000", 10000, 0},
        {GOLDENS "gpt-neox-parallel.gguf", NO_BASE("gptneox"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmo2.gguf", NO_BASE("olmo2"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmoe-plain.gguf", NO_BASE("olmoe"),
         "rotary base 10000, weights of the chosen experts not normalised", 10000, 0},
        {GOLDENS "granitemoe-names.gguf", NO_BASE("granitemoe"), "rotary base 10000", 10000, 0},
        {GOLDENS "cohere.gguf", NO_BASE("command-r"), "rotary base 500000", 500000, 0},
        {GOLDENS "cohere2-plain/model.gguf", NO_BASE("cohere2"),
         "rotary base 10000, windows in all layers but every 4th", 10000, -1},
        {GOLDENS "llama-tied.gguf", NO_BASE("llama"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "mixtral.gguf", NO_BASE("llama"), "rotary base 1000000, no windows", 1000000, 0},
        {GOLDENS "qwen2.gguf", NO_BASE("qwen2"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "phi3.gguf", NO_BASE("phi3"), "rotary base 10000", 10000, -1},
        {GOLDENS "qwen3-moe.gguf", NO_BASE("qwen3moe"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "starcoder2.gguf", NO_BASE("starcoder2"), "rotary base 10000, no windows", 10000,
         0},
        {GOLDENS "gpt-oss.gguf", NO_BASE("gpt-oss"),
         "rotary base 150000, windows in every other layer", 150000, -1},
        {GOLDENS "gemma2-plain/model.gguf", NO_BASE("gemma2"),
         "rotary base 10000, windows in every other layer, scores over the", 10000, 0},
        {GOLDENS "gemma2-plain/model.gguf",
         TEXTS("gemma2.attention.sliding_window", "gemma2.attention.sliding_windoX"),
         "windows of 4096, windows in every other layer", -1, 0},
        {GOLDENS "gemma3-plain/model.gguf", NO_BASE("gemma3"),
         "rotary base 1000000, rotary base 10000 in windows, windows in all layers but every 6th, "
         "scores over the root of",
         1000000, -1},
        {GOLDENS "qwen2.gguf", TEXTS("qwen2.rope.freq_base", "qwen2.rope.freq_base"), "no windows",
         -1, 0},
        {GOLDENS "gpt2.gguf", TEXTS("gpt2.block_count", "gpt2.block_count"), "", -1, 0},
        {GOLDENS "granite-tied.gguf", NO_BASE("granite"), "rotary base 10000", 10000, 0},
        {GOLDENS "smollm3-four/model.gguf", NO_BASE("smollm3"),
         "rotary base 2000000, no rotation in every 4th layer", 2000000, 0},
        {GOLDENS "arcee.gguf", NO_BASE("arcee"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmo-clip/model.gguf", NO_BASE("olmo"), "rotary base 10000", 10000, 0},
        {GOLDENS "seed-oss.gguf", NO_BASE("seed_oss"), "rotary base 10000", 10000, 0},
        {GOLDENS "stablelm.gguf", NO_BASE("stablelm"), "rotary base 10000", 10000, 0},
        {GOLDENS "exaone4.gguf", NO_BASE("exaone4"), "rotary base 10000", 10000, 0},
        {GOLDENS "exaone4.gguf",
         TEXTS("exaone4.attention.sliding_window\4\0\0\0\15",
               "exaone4.attention.sliding_window\4\0\0\0\0"),
         "no windows", 700, 0},
        {GOLDENS "exaone4.gguf",
         TEXTS("exaone4.attention.sliding_window_pattern",
               "exaone4.attention.sliding_window_patterX"),
         "windows in all layers but every 4th", 700, 13},
        {GOLDENS "glm4.gguf", NO_BASE("glm4"), "rotary base 10000", 10000, 0},
        {GOLDENS "hunyuan-v1-dense.gguf", NO_BASE("hunyuan-dense"), "rotary base 10000", 10000, 0},
        {GOLDENS "ministral3-plain/model.gguf", NO_BASE("mistral3"), "rotary base 10000", 10000, 0},
        {GOLDENS "jais2-plain/model.gguf", NO_BASE("jais2"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmo3.gguf", NO_BASE("olmo2"), "rotary base 10000", 10000, 0},
        {GOLDENS "dots1-plain/model.gguf", NO_BASE("dots1"), "rotary base 10000, no windows", 10000,
         0},
        {GOLDENS "deepseek2-older/model.gguf", NO_BASE("deepseek2"), "rotary base 10000", 10000, 0},
        {GOLDENS "deepseek2-older/model.gguf",
         TEXTS("deepseek2.expert_group_count", "deepseek2.expert_group_counX"),
         "one group of experts", 50, 0},
        {GOLDENS "lfm2-plain/model.gguf", NO_BASE("lfm2"), "rotary base 1000000", 1000000, 0},
        {GOLDENS "lfm2moe-plain/model.gguf",
         TEXTS("lfm2moe.expert_weights_norm", "lfm2moe.expert_weights_norX"),
         "weights of the chosen experts normalised", 700, 0},
        {GOLDENS "gemma3n-plain/model.gguf", NO_BASE("gemma3n"), "rotary base 1000000", 1000000, 0},
        {GOLDENS "gemma3n-plain/model.gguf",
         TEXTS("gemma3n.activation_sparsity_scale", "gemma3n.activation_sparsity_scalX"),
         "5 % of gates left in the first 10 layers", 700, 0},
        {GOLDENS "gemma4-experts/model.gguf",
         TEXTS("gemma4.rope.freq_base_swa", "gemma4.rope.freq_base_swX"),
         "rotary base 10000 in windows", 700, 7},
        {GOLDENS "llama4-plain/model.gguf", NO_BASE("llama4"),
         "rotary base 500000, chunks of 8192 in turned layers, every 4th not turned, its queries "
         "growing, norms of queries and keys",
         500000, 0},
        {GOLDENS "bloom-4-heads.gguf", TEXTS("bloom.block_count", "bloom.block_count"), "", -1, 0},
        {GOLDENS "mpt-bias-max.gguf", TEXTS("mpt.block_count", "mpt.block_count"), "", -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct decoder *d =
            decoder_open(changed_bytes(rows[i].golden, rows[i].from, rows[i].size, rows[i].to), &e);
        if (!d)
            fail_msg("%s, %s: %s", rows[i].golden, rows[i].to, e.text);
        const char *assumed = tensors_assumed(d->tensors);
        if (strncmp(assumed, rows[i].assumed, strlen(rows[i].assumed)) != 0 ||
            (!*rows[i].assumed && *assumed))
            fail_msg("%s: assumed '%s' (expected '%s')", rows[i].golden, assumed, rows[i].assumed);
        if (rows[i].base > 0 && d->rotary[0].base != rows[i].base)
            fail_msg("%s: base %g (expected %g)", rows[i].golden, d->rotary[0].base, rows[i].base);
        if (rows[i].window >= 0 && d->layers > 1)
            assert_int_equal(d->blocks[1].score.window, rows[i].window);
        if (strstr(assumed, "windows of 4096"))
            assert_int_equal(d->blocks[0].score.window, 4096);
        decoder_close(d);
    }
}

/* Gemma 2's norm weights lie in the file with 1 added, and count as they lie there, whatever their
 * last bits. */
static void norms_are_as_stored(void **state)
{
    (void)state;
    struct error e = {""};
    struct gguf g;
    size_t size;
    unsigned char *bytes = scratch_read(GOLDENS "gemma2-plain/model.gguf", &size);
    const float small[2] = {0.1f, 1.75f};
    assert_int_equal(gguf_parse(&g, "gemma2", bytes, size, &e), 0);
    for (size_t i = 0; i < g.tensor_count; i++)
        if (gguf_is(g.tensors[i].name, "output_norm.weight"))
            memcpy(bytes + g.tensors[i].offset, small, sizeof small);
    gguf_free(&g);
    struct decoder *d = decoder_open(scratch_write(scratch_folder, "norm.gguf", bytes, size), &e);
    if (!d)
        fail_msg("%s", e.text);
    const view *norm = &d->final_norm.scale;
    for (size_t i = 0; i < 2; i++)
        assert_true(element_read(norm->data, norm->type, i) + norm->offset == (double)small[i]);
    decoder_close(d);
    free(bytes);
}

/* -- tokenizers -- */

static const struct {
    const char *file, *ids;
} tokenizers[] = {{"gpt2", "tests/goldens/tokenizer/gpt2.npy"},
                  {"llama-bpe", "tests/goldens/tokenizer/llama3.npy"},
                  {"qwen2", GOLDENS "tokenizer/qwen2.npy"},
                  {"smollm", "tests/goldens/tokenizer/starcoder.npy"},
                  {"falcon", "tests/goldens/tokenizer/falcon.npy"},
                  {"bloom", "tests/goldens/tokenizer/bloom.npy"},
                  {"default", GOLDENS "tokenizer/default.npy"},
                  {"tekken", GOLDENS "tokenizer/tekken.npy"},
                  {"gpt-4o", "tests/goldens/tokenizer/cased.npy"},
                  {"kimi-k2", GOLDENS "tokenizer/kimi-k2.npy"},
                  {"command-r", GOLDENS "tokenizer/command-r.npy"},
                  {"chatglm-bpe", GOLDENS "tokenizer/chatglm-bpe.npy"},
                  {"qwen35", GOLDENS "tokenizer/qwen35.npy"},
                  {"deepseek-llm", GOLDENS "tokenizer/deepseek-llm.npy"},
                  {"deepseek-coder", GOLDENS "tokenizer/deepseek-coder.npy"},
                  {"deepseek-v3", GOLDENS "tokenizer/deepseek-v3.npy"},
                  {"gemma4", "tests/goldens/tokenizer/gemma.npy"}};

static void ids_are_those_of_tokenizers(void **state)
{
    (void)state;
    size_t size;
    unsigned char *text = scratch_read("tests/goldens/tokenizer/text.bin", &size);
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++) {
        char path[256];
        struct error e = {""};
        struct tokenizer *t;
        struct tokens want;
        struct ids ids = {0};
        snprintf(path, sizeof path, GOLDENS "tokenizer/%s.gguf", tokenizers[i].file);
        if (tokenizer_open(&t, path, &e) || !t ||
            tokens_read_files(&want, &tokenizers[i].ids, 1, &e) ||
            tokenizer_encode(t, &ids, text, size, &e))
            fail_msg("%s: %s", path, e.text);
        for (size_t k = 0; k < ids.count && k < want.total; k++)
            if (ids.id[k] != want.ids[k])
                fail_msg("%s: token %zu is %d (expected %d)", path, k, ids.id[k], want.ids[k]);
        assert_int_equal(ids.count, want.total);
        int is_llama = strcmp(tokenizers[i].file, "llama-bpe") == 0,
            is_gemma = strcmp(tokenizers[i].file, "gemma4") == 0;
        assert_int_equal(tokenizer_bos(t), is_gemma ? 2
                                           : is_llama || strcmp(tokenizers[i].file, "gpt2") == 0
                                               ? 0
                                               : -1);
        assert_int_equal(tokenizer_adds_bos(t),
                         is_llama || is_gemma); /* tekken says that it does not */
        free(ids.id);
        tokens_free(&want);
        tokenizer_close(t);
    }
    free(text);
}

/* Falcon H1 and Pixtral (and Nemotron) split as Llama 3. */
static void llama_3_has_other_names(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokenizer *t;
    struct tokens want;
    struct ids ids = {0};
    size_t size;
    const char *const expected = "tests/goldens/tokenizer/llama3.npy";
    unsigned char *text = scratch_read("tests/goldens/tokenizer/text.bin", &size);
    assert_true(gguf_style(" pixtral ") == gguf_style(" llama-bpe ") &&
                gguf_style(" falcon-h1 ") == gguf_style(" llama-bpe "));
    if (tokenizer_open(&t,
                       changed_bytes(GOLDENS "tokenizer/llama-bpe.gguf",
                                     TEXTS("\11\0\0\0\0\0\0\0llama-bpe",
                                           "\11\0\0\0\0\0\0\0falcon-h1")),
                       &e) ||
        tokens_read_files(&want, &expected, 1, &e) || tokenizer_encode(t, &ids, text, size, &e))
        fail_msg("%s", e.text);
    assert_int_equal(ids.count, want.total);
    for (size_t k = 0; k < ids.count; k++)
        assert_int_equal(ids.id[k], want.ids[k]);
    assert_int_equal(tokenizer_adds_bos(t), 1);
    free(ids.id);
    free(text);
    tokens_free(&want);
    tokenizer_close(t);
}

static void tokenizers_that_are_not_known_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        size_t size;
        const char *to, *words;
    } rows[] = {
        {TEXTS("\5\0\0\0\0\0\0\0gpt-2", "\5\0\0\0\0\0\0\0gpt-9"),
         "tokenizer.ggml.pre 'gpt-9' is not supported (supported: gpt-2 phi-2"},
        {TEXTS("\4\0\0\0\0\0\0\0gpt2", "\4\0\0\0\0\0\0\0bert"),
         "tokenizer.ggml.model 'bert' is not supported (supported: gpt2"},
        {TEXTS("tokenizer.ggml.pre", "tokenizer.ggml.prx"),
         "has no tokenizer.ggml.pre, which says how text is split"},
        {TEXTS("tokenizer.ggml.merges", "tokenizer.ggml.merged"),
         "tokenizer.ggml.merges is missing, or is not a list of strings"},
        {TEXTS("tokenizer.ggml.tokens", "tokenizer.ggml.tokeny"),
         "tokenizer.ggml.tokens is missing"},
        {TEXTS("tokenizer.ggml.bos_token_id\4\0\0\0\0\0",
               "tokenizer.ggml.bos_token_id\4\0\0\0\377\377"),
         "tokenizer.ggml.bos_token_id is 65535 (expected less than 500)"},
        {TEXTS("\2\0\0\0\0\0\0\0th", "\2\0\0\0\0\0\0\0qq"), "is not a token"},
        {TEXTS("\2\0\0\0\0\0\0\0th", "\2\0\0\0\0\0\0\0in"), "is listed twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct tokenizer *t;
        if (tokenizer_open(&t,
                           changed_bytes(GOLDENS "tokenizer/gpt2.gguf", rows[i].from, rows[i].size,
                                         rows[i].to),
                           &e) == 0)
            fail_msg("row %zu: was accepted", i);
        assert_null(t);
        assert_int_equal(check_message(rows[i].words, &e, rows[i].words), 0);
    }
    /* no tokenizer in it: one beside it, or none */
    struct error e = {""}, refused;
    struct tokenizer *t;
    char *json, *settings;
    assert_int_equal(tokenizer_open(&t, GOLDENS "qwen2.gguf", &e), 0);
    assert_null(t);
    assert_int_equal(tokenizer_text(&json, &settings, &refused, GOLDENS "qwen2.gguf", &e), 0);
    assert_true(!json && !settings && !*refused.text);
    const char *other = changed_bytes(GOLDENS "tokenizer/gpt2.gguf",
                                      TEXTS("\5\0\0\0\0\0\0\0gpt-2", "\5\0\0\0\0\0\0\0gpt-9"));
    assert_int_equal(tokenizer_text(&json, &settings, &refused, other, &e), 0);
    assert_true(!json && !settings);
    assert_int_equal(check_message("refused", &refused, "gpt-9"), 0);
    assert_int_equal(tokenizer_text(&json, &settings, &refused,
                                    "tests/goldens/tokenizer/pieces/bpe-bytes.gguf", &e),
                     0);
    assert_true(!json && !settings);
    assert_int_equal(check_message("refused", &refused,
                                   "tokenizer.ggml.model 'llama' is a SentencePiece model, which "
                                   "only the GGUF file holds"),
                     0);
}

/* bpe-bytes.gguf with the types of its tokens 0 and 2, and unknown_token_id, where that is not
 * negative. */
static const char *with_types(unsigned char first, unsigned char third, int unknown)
{
    enum { FIXED = 24 };
    static const char types[] = "tokenizer.ggml.token_type",
                      name[] = "tokenizer.ggml.unknown_token_id";
    size_t size, extra = 0;
    unsigned char *bytes = scratch_read("tests/goldens/tokenizer/pieces/bpe-bytes.gguf", &size),
                  pair[8 + sizeof name - 1 + 8] = {0};
    unsigned char *at = memmem(bytes, size, types, sizeof types - 1), *whole;
    assert_non_null(at);
    at += sizeof types - 1 + 4 + 4 + 8; /* the kind of value, that of its elements, their number */
    assert_true(at[0] == 2 && at[8] == 3);
    at[0] = first;
    at[8] = third;
    if (unknown >= 0) {
        extra = sizeof pair;
        bytes[16]++; /* pairs */
        pair[0] = sizeof name - 1;
        memcpy(pair + 8, name, sizeof name - 1);
        pair[8 + sizeof name - 1] = 4; /* 32 bits */
        pair[8 + sizeof name - 1 + 4] = (unsigned char)unknown;
    }
    whole = malloc(size + extra);
    assert_non_null(whole);
    memcpy(whole, bytes, FIXED);
    memcpy(whole + FIXED, pair, extra);
    memcpy(whole + FIXED + extra, bytes + FIXED, size - FIXED);
    const char *path = scratch_write(scratch_folder, "types.gguf", whole, size + extra);
    free(whole);
    free(bytes);
    return path;
}

/* Padding of the type UNKNOWN, as in llama.cpp's own vocabulary of Phi-3, beside the token that is
 * the unknown one, of whatever type. */
static void padding_may_be_unknown(void **state)
{
    (void)state;
    static const struct {
        unsigned char first, third;
        int unknown;
    } cases[] = {{2, 3, -1}, {2, 2, -1}, {2, 2, 0}, {3, 2, 0}, {3, 3, 0}};
    static const char text[] = "Call me Ishmael. Some years ago \xE4\xB8\xAD\0";
    struct ids want = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t;
        struct ids ids = {0};
        if (tokenizer_open(&t, with_types(cases[i].first, cases[i].third, cases[i].unknown), &e) ||
            !t || tokenizer_encode(t, &ids, text, sizeof text - 1, &e))
            fail_msg("case %zu: %s", i, e.text);
        if (!want.count)
            want = ids;
        assert_true(ids.count > 10);
        assert_int_equal(ids.count, want.count);
        assert_memory_equal(ids.id, want.id, ids.count * sizeof *ids.id);
        if (ids.id != want.id)
            free(ids.id);
        tokenizer_close(t);
    }
    free(want.id);
}

/* As files for other programs, which read back the same. */
static void become_files(const char *file)
{
    static const char text[] = "Call me Ishmael.<|begin_of_text|> 12345  \n\n!";
    struct error e = {""}, refused;
    char *json, *settings;
    struct tokenizer *t = NULL, *back;
    struct ids a = {0}, b = {0};
    if (tokenizer_text(&json, &settings, &refused, file, &e) || !json || !settings ||
        tokenizer_open(&t, file, &e))
        fail_msg("%s%s", e.text, refused.text);
    const struct source config = {"settings", settings, strlen(settings)};
    if (!(back = tokenizer_parse((struct source){"json", json, strlen(json)}, &config, &e)))
        fail_msg("%s", e.text);
    assert_int_equal(tokenizer_encode(t, &a, text, sizeof text - 1, &e), 0);
    assert_int_equal(tokenizer_encode(back, &b, text, sizeof text - 1, &e), 0);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.id, b.id, a.count * sizeof *a.id);
    assert_int_equal(tokenizer_bos(back), tokenizer_bos(t));
    assert_int_equal(tokenizer_adds_bos(back), 1);
    tokenizer_close(t);
    tokenizer_close(back);
    free(json);
    free(settings);
    free(a.id);
    free(b.id);
}

static void tokenizers_become_files(void **state)
{
    (void)state;
    become_files(GOLDENS "tokenizer/llama-bpe.gguf");
    become_files(GOLDENS "tokenizer/gemma4.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_used_refused_or_named),
        cmocka_unit_test(norms_are_as_stored),
        cmocka_unit_test(assumptions_are_told),
        cmocka_unit_test(ids_are_those_of_tokenizers),
        cmocka_unit_test(llama_3_has_other_names),
        cmocka_unit_test(tokenizers_that_are_not_known_are_refused),
        cmocka_unit_test(padding_may_be_unknown),
        cmocka_unit_test(tokenizers_become_files),
    };
    return cmocka_run_group_tests_name("gguf-metadata", tests, scratch_setup, scratch_teardown);
}
