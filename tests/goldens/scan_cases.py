"""The cases of family_cases.py whose layers are scans, all or some, or time mixing."""

import json
import os

from family_cases import BF16, LONG, FamilyCase, as_folder_of, rope, tokens


def mamba(**changes):
    """A small Mamba."""
    config = tokens(**{**dict(hidden_size=12, num_hidden_layers=2, state_size=5, conv_kernel=3, expand=2, time_step_rank=3, layer_norm_epsilon=2e-3), **changes})
    del config["num_attention_heads"], config["max_position_embeddings"]
    return config


def jamba(**changes):
    """A small Jamba, whose second layer attends."""
    return tokens(**{**dict(hidden_size=12, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, intermediate_size=7, rms_norm_eps=2e-3, attn_layer_period=3, attn_layer_offset=1,
                            expert_layer_period=2, expert_layer_offset=0, num_experts=4, num_experts_per_tok=2, mamba_d_state=3, mamba_d_conv=3, mamba_dt_rank=2), **changes})


def rwkv(**changes):
    """A small RWKV-4."""
    config = tokens(**{**dict(hidden_size=8, num_hidden_layers=3, attention_hidden_size=10, intermediate_size=11, layer_norm_epsilon=2e-3, rescale_every=2), **changes})
    del config["num_attention_heads"], config["max_position_embeddings"]
    return config


def older_names(folder):
    """Names of tensors, and config.json, as older files have them."""
    as_folder_of(folder, {"embeddings.": "embedding."},
                 lambda config: {**{key: value for key, value in config.items() if key not in ("use_associative_scan", "use_mambapy")}, "time_step_rank": "auto", "torch_dtype": "float32"}, (), None)


def as_mamba_ssm(folder):
    """As its authors' package writes it."""
    keys = ("d_state", "state_size"), ("d_conv", "conv_kernel"), ("expand", "expand"), ("dt_rank", "time_step_rank"), ("bias", "use_bias")
    as_folder_of(folder, {"embeddings.": "embedding."},
                 lambda config: dict(d_model=config["hidden_size"], n_layer=config["num_hidden_layers"], vocab_size=config["vocab_size"] - 5, pad_vocab_size_multiple=8,
                                     ssm_cfg={new: config[old] for new, old in keys}, rms_norm=True, residual_in_fp32=True, fused_add_norm=True),
                 (), lambda tensors, at, config: tensors.update({"lm_head.weight": tensors["backbone.embeddings.weight"].clone()}))
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump({key: config[key] for key in ("d_model", "n_layer", "vocab_size", "ssm_cfg", "rms_norm", "residual_in_fp32", "fused_add_norm", "pad_vocab_size_multiple")}, file, indent=1)
        file.write("\n")


def griffin(**changes):
    """A small RecurrentGemma, whose second layer attends."""
    return tokens(**{**dict(vocab_size=40, hidden_size=8, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, intermediate_size=11, rms_norm_eps=2e-3, lru_width=6,
                            block_types=["recurrent", "attention"], attention_window_size=7, conv1d_width=3, rope_parameters=rope(partial_rotary_factor=0.5)), **changes})


def zamba(*kinds, **changes):
    """A small Zamba."""
    return tokens(**{**dict(vocab_size=40, hidden_size=6, num_hidden_layers=len(kinds), layers_block_type=list(kinds), num_attention_heads=2, num_key_value_heads=2, intermediate_size=5, rms_norm_eps=0.3,
                            n_mamba_heads=2, mamba_d_state=3, mamba_d_conv=3, mamba_expand=2, mamba_dt_rank=2, tie_word_embeddings=True), **changes})


def as_published_griffin(folder):
    """config.json with the keys of the published one."""
    as_folder_of(folder, {}, lambda config: dict(_block_types=config["block_types"], embeddings_scale_by_sqrt_dim=True, final_w_init_variance_scale=0.1, head_dim=4, rope_theta=700.0,
                                                 partial_rotary_factor=0.5, rope_scaling={"type": "default"}, torch_dtype="float32"), ("rope_parameters", "dtype"))


SCAN_CASES = [
    FamilyCase("mamba", "mamba", mamba(use_bias=True, hidden_act="gelu"), "scans of 24 channels with 5 states each, biases of all projections; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("mamba-older", "mamba", mamba(hidden_size=20, expand=1, time_step_rank="auto", use_conv_bias=False, conv_kernel=4, state_size=4, tie_word_embeddings=True, num_hidden_layers=3),
               "no biases, a tied head, older names; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=older_names),
    FamilyCase("falcon-mamba", "falcon_mamba", mamba(mixer_rms_eps=0.01, expand=16, intermediate_size=32), "norms without weights of what steps, B and C are made of; a width of its own; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("jamba", "jamba", jamba(mamba_proj_bias=True, hidden_act="gelu"),
               "scans in the first and last of three layers, attention without positions in the other; 2 of 4 experts in the first and last; norms of what steps, B and C are made of; biases; bf16 weights",
               length=LONG, stored=BF16),
    FamilyCase("jamba-plain", "jamba", jamba(num_hidden_layers=2, attn_layer_period=2, num_experts=1, num_experts_per_tok=1, mamba_conv_bias=False, mamba_d_conv=4, mamba_expand=1, num_key_value_heads=2,
                                             tie_word_embeddings=True),
               "attention last; no experts, no biases, a tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("mamba-ssm1", "mamba", mamba(vocab_size=48, hidden_size=8, num_hidden_layers=1, use_bias=True, layer_norm_epsilon=1e-5, tie_word_embeddings=True),
               "keys and names of the authors' package, a vocabulary filled up from 43, a tied head that is stored; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=as_mamba_ssm),
    FamilyCase("recurrent-gemma", "recurrent_gemma", griffin(logits_soft_cap=2.5, attention_bias=True, hidden_activation="gelu", tie_word_embeddings=True),
               "linear recurrent units of 6 channels in the first and last of three layers, attention with a window in the other, half of each head turned; capped logits, biases, a tied head; bf16 weights",
               length=LONG, stored=BF16),
    FamilyCase("recurrent-gemma-published", "recurrent_gemma", griffin(num_hidden_layers=2, block_types=["attention", "recurrent"], lru_width=None, conv1d_width=4),
               "one window below a linear recurrent unit, keys as published; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=as_published_griffin),
    FamilyCase("zamba", "zamba", zamba("hybrid", "linear_attention", "hybrid", mamba_proj_bias=True, hidden_mamba_act="gelu"),
               "scans of two heads of 6 channels each, one transformer before two of them that reads the embeddings too; biases of projections; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("zamba-apart", "zamba", zamba("mamba", "hybrid", "hybrid", n_mamba_heads=3, num_key_value_heads=1, mamba_conv_bias=False, mamba_dt_rank="auto", hidden_act="silu", tie_word_embeddings=False),
               "not tied, so that each hybrid layer has a transformer of its own; grouped heads, older names of kinds; bf16 weights", length=LONG, segments=1, stored=BF16),
    # the first of a family is what config_keys.py runs, with a cache, for which both widths must be one
    FamilyCase("rwkv-plain", "rwkv", rwkv(num_hidden_layers=2, attention_hidden_size=None, intermediate_size=None, rescale_every=0, tie_word_embeddings=True),
               "time mixing as wide as the model, a tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("rwkv", "rwkv", rwkv(), "time mixing of 10 channels and channel mixing, the residual stream halved after two of three layers; bf16 weights", length=LONG, stored=BF16),
]
