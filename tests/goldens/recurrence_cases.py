"""The cases of family_cases.py whose layers are recurrences, all or some."""

import json
import os

import torch
from safetensors.torch import load_file, save_file

from family_cases import BF16, LONG, FamilyCase, as_folder_of, rope, tokens


def without(key, config):
    return {name: value for name, value in config.items() if name != key}


def mamba2(**changes):
    """A small Mamba-2."""
    config = tokens(**{**dict(hidden_size=12, num_hidden_layers=2, num_heads=4, head_dim=6, n_groups=2, state_size=5, conv_kernel=3, expand=2, layer_norm_epsilon=2e-3), **changes})
    del config["num_attention_heads"], config["max_position_embeddings"]
    return config


def as_mamba_ssm(folder):
    """A Mamba-2 as its authors' package writes it."""
    def tie(tensors, at, config):
        tensors["lm_head.weight"] = tensors["backbone.embeddings.weight"].clone()
    keys = ("d_state", "state_size"), ("d_conv", "conv_kernel"), ("expand", "expand"), ("headdim", "head_dim"), ("ngroups", "n_groups"), ("bias", "use_bias")
    as_folder_of(folder, {"embeddings.": "embedding."},
                 lambda config: dict(d_model=config["hidden_size"], d_intermediate=0, n_layer=config["num_hidden_layers"], vocab_size=config["vocab_size"] - 5, pad_vocab_size_multiple=8,
                                     ssm_cfg={"layer": "Mamba2", "chunk_size": 64, "d_ssm": None, "dt_limit": [0.3, 1.2], **{new: config[old] for new, old in keys}},
                                     attn_layer_idx=[], attn_cfg={}, rms_norm=True, residual_in_fp32=True, fused_add_norm=True, tie_embeddings=True),
                 (), tie)
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump({key: config[key] for key in ("d_model", "d_intermediate", "n_layer", "vocab_size", "ssm_cfg", "attn_layer_idx", "attn_cfg", "rms_norm", "residual_in_fp32", "fused_add_norm",
                                                "pad_vocab_size_multiple", "tie_embeddings")}, file, indent=1)
        file.write("\n")


def delta(**changes):
    """A small Qwen with the delta rule in two of three layers."""
    return tokens(**{**dict(num_hidden_layers=3, num_key_value_heads=2, head_dim=8, intermediate_size=20, rms_norm_eps=2e-3, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
                            linear_value_head_dim=5, linear_conv_kernel_dim=3, layer_types=["linear_attention", "full_attention", "linear_attention"],
                            rope_parameters=rope(partial_rotary_factor=0.5)), **changes})


def falcon_h1(**changes):
    """A small Falcon-H1."""
    return tokens(**{**dict(vocab_size=40, hidden_size=12, num_key_value_heads=2, head_dim=4, intermediate_size=10, rms_norm_eps=2e-3, rope_parameters=rope(), mamba_d_ssm=20, mamba_n_heads=4, mamba_d_head=5,
                            mamba_n_groups=2, mamba_d_state=3, mamba_d_conv=3, mamba_expand=2, embedding_multiplier=2.5, lm_head_multiplier=0.8, attention_in_multiplier=1.3,
                            attention_out_multiplier=0.7, key_multiplier=0.6, ssm_in_multiplier=1.4, ssm_out_multiplier=0.9, ssm_multipliers=[1.2, 0.8, 1.5, 0.7, 1.1], mlp_multipliers=[1.3, 0.6]),
                     **changes})


def olmo(**changes):
    """A small OLMo with the delta rule in one of two layers."""
    return tokens(**{**dict(num_hidden_layers=2, num_key_value_heads=2, intermediate_size=12, rms_norm_eps=2e-3, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
                            linear_value_head_dim=5, linear_conv_kernel_dim=3, layer_types=["full_attention", "linear_attention"], rope_parameters=rope()), **changes})


def zamba2(*kinds, **changes):
    """A small Zamba2."""
    return tokens(**{**dict(vocab_size=40, hidden_size=6, num_hidden_layers=len(kinds), layers_block_type=list(kinds), num_attention_heads=2, intermediate_size=5, rms_norm_eps=0.3, adapter_rank=2,
                            n_mamba_heads=2, mamba_ngroups=2, mamba_d_state=3, mamba_d_conv=3, mamba_expand=2, num_mem_blocks=2, time_step_min=0.3), **changes})


def rewritten(change):
    """What changes config.json."""
    def rewrite(folder):
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            config = json.load(file)
        change(config)
        with open(path, "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
    return rewrite


def published_bamba(config):
    """What config.json leaves to defaults: the size of heads, and the half that is rotated, whatever the top level says."""
    config.update(mamba_d_head="auto", rope_theta=config.pop("rope_parameters")["rope_theta"], partial_rotary_factor=0.25, attn_rotary_emb=4, use_mamba_kernels=True)


def bamba(**changes):
    """A small Bamba, whose second layer attends."""
    return tokens(**{**dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, intermediate_size=14, rms_norm_eps=2e-3, attn_layer_indices=[1], mamba_n_heads=4,
                            mamba_n_groups=2, mamba_d_state=5, mamba_d_conv=3, rope_parameters=rope()), **changes})


def granite(**changes):
    """A small Granite 4, whose second layer attends."""
    config = bamba(layer_types=["linear_attention", "full_attention"], shared_intermediate_size=7, intermediate_size=5, num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0,
                   residual_multiplier=0.6, attention_multiplier=0.4, logits_scaling=1.7, **changes)
    return without("attn_layer_indices", config)


def nemotron_h(*kinds, **changes):
    """A small Nemotron-H."""
    config = tokens(**{**dict(hidden_size=12, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=14, layer_norm_epsilon=2e-3, layers_block_type=list(kinds), mamba_num_heads=4,
                              mamba_head_dim=6, n_groups=2, ssm_state_size=5, conv_kernel=3), **changes})
    return without("num_hidden_layers", config)


def patterned(config):
    """As older files have it."""
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
    kinds = config.pop("layers_block_type")
    config.update(hybrid_override_pattern="".join(letters[kind] for kind in kinds), num_hidden_layers=len(kinds), mamba_n_groups=config.pop("n_groups"), mamba_dt_min=config.pop("time_step_min"),
                  attention_head_dim=config["head_dim"], norm_eps=1e-5, rms_norm_eps=1e-5, num_query_groups=2, time_step_rank=256, rope_theta=10000, partial_rotary_factor=1.0)


def minimax(**changes):
    """A small MiniMax, whose middle layer attends."""
    return tokens(**{**dict(vocab_size=40, hidden_size=12, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, head_dim=4, intermediate_size=6, rms_norm_eps=2e-3, num_local_experts=3,
                            num_experts_per_tok=2, layer_types=["linear_attention", "full_attention", "linear_attention"], block_size=5, full_attn_alpha_factor=1.7, full_attn_beta_factor=0.6,
                            linear_attn_alpha_factor=0.8, linear_attn_beta_factor=1.4, mlp_alpha_factor=2.5, mlp_beta_factor=-0.7, rope_parameters=rope()), **changes})


def settle_decays(model):
    """Makes MiniMax's tables of decays those of its slopes, in the type that these have."""
    for module in model.modules():
        if hasattr(module, "decay_factors"):
            module.query_decay, module.key_decay, module.diagonal_decay = module.decay_factors(module.slope_rate)


def published_slopes(model):
    """The decays of MiniMax's published code: ALiBi's slopes as Press et al. made them, for 3 heads those of 2 and the first of 4, times 1 - i / (n - 1) + 1e-5 in layer i of n."""
    layers = model.model.layers
    for i, layer in enumerate(layers):
        if hasattr(layer.self_attn, "slope_rate"):
            slopes = torch.tensor([2.0 ** -4, 2.0 ** -8, 2.0 ** -2], dtype=torch.float64)
            layer.self_attn.slope_rate = (slopes * (1 - i / (len(layers) - 1) + 1e-5))[:, None, None]
    settle_decays(model)


def as_minimax_text_01(folder):
    """A MiniMax in the keys of the published folder, without tables of decays."""
    factors = {"full_attn": "full_attention", "linear_attn": "linear_attention", "mlp": "mlp"}
    gone = ("layer_types", "block_size", "rope_parameters", *(f"{name}_{part}_factor" for name in factors for part in ("alpha", "beta")))
    as_folder_of(folder, {}, lambda config: dict(
        model_type="minimax_text_01", architectures=["MiniMaxText01ForCausalLM"], auto_map={"AutoConfig": "configuration_minimax_text_01.MiniMaxText01Config"}, postnorm=True,
        attn_type_list=[int(kind == "full_attention") for kind in config["layer_types"]], rope_theta=config["rope_parameters"]["rope_theta"], rotary_dim=config["head_dim"],
        shared_intermediate_size=0, shared_moe_mode="sigmoid", **{f"layernorm_{new}_{part}": config[f"{old}_{part}_factor"] for old, new in factors.items() for part in ("alpha", "beta")}), gone)
    path = os.path.join(folder, "model.safetensors")
    save_file({name: value for name, value in load_file(path).items() if not name.endswith(("slope_rate", "_decay"))}, path, metadata={"format": "pt"})


def by_channel(**changes):
    """What small models with decays by channel share: attention by latents in the second of two layers, and experts there."""
    return tokens(**{**dict(vocab_size=40, hidden_size=10, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, intermediate_size=8, kv_lora_rank=5, qk_nope_head_dim=4, qk_rope_head_dim=2,
                            v_head_dim=3, rms_norm_eps=2e-3, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=5, n_shared_experts=1,
                            layer_types=["linear_attention", "full_attention"], mlp_layer_types=["dense", "sparse"]), **changes})


def released_kimi(folder):
    """Layers as released files number them, from 1, and the MLP of the layer without experts by its own name."""
    as_folder_of(folder, {"layers.0.block_sparse_moe.": "layers.0.mlp."},
                 lambda config: dict(linear_attn_config=dict(kda_layers=[1], full_attn_layers=[2], head_dim=config["linear_head_dim"], num_heads=config["linear_num_heads"],
                                                             short_conv_kernel_size=config["linear_conv_kernel_dim"]),
                                     first_k_dense_replace=1, head_dim=5, mla_use_nope=True, moe_layer_freq=1, moe_router_activation_func="sigmoid", num_nextn_predict_layers=0, rope_scaling=None,
                                     rope_theta=10000.0, use_grouped_topk=True),
                 ("layer_types", "mlp_layer_types", "linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim", "qk_head_dim"))


MTP = dict(mamba_ssm_dtype="float32", mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False)
RECURRENCE_CASES = [
    FamilyCase("minimax", "minimax", minimax(hidden_act="gelu"),
               "fixed decays of other slopes than the formula's in two of three layers, in blocks of 5; attention; sums of norms with factors; 2 of 3 experts; bf16 weights", length=LONG, stored=BF16, reload=False),
    FamilyCase("minimax-window", "minimax", minimax(layer_types=None, num_hidden_layers=2, num_attention_heads=2, head_dim=None, num_key_value_heads=2, sliding_window=7, mlp_alpha_factor=1, mlp_beta_factor=1,
                                                    tie_word_embeddings=True),
               "attention with a window first, then fixed decays; two heads; a tied head; stacked names; bf16 weights", length=LONG, segments=1, stored=BF16, reload=False, stacked=True),
    FamilyCase("minimax-text-01", "minimax", minimax(num_hidden_layers=4, layer_types=["linear_attention"] * 2 + ["full_attention", "linear_attention"]),
               "keys of the published folder, slopes by its formula; bf16 weights", length=LONG, segments=1, stored=BF16, decays=False, oracle=published_slopes, reload=False, rewrite=as_minimax_text_01),
    FamilyCase("lara-mini", "lara_mini", without("intermediate_size", delta(num_hidden_layers=4, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=5, shared_expert_intermediate_size=6, sliding_window=9,
                                                                              attention_bias=True, layer_types=["linear_attention", "sliding_attention", "full_attention", "linear_attention"],
                                                                              rope_parameters=rope())),
               "the delta rule in two of four layers, its matrices in one; a window whose layer is turned, and attention without positions; 2 of 4 experts beside a shared one; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("nemotron-h", "nemotron_h", nemotron_h("linear_attention", "moe", "full_attention", "mlp", use_bias=True, mlp_bias=True, time_step_min=0.4, mamba_hidden_act="gelu", n_routed_experts=6,
                                                      num_experts_per_tok=2, n_group=3, topk_group=2, routed_scaling_factor=1.7, moe_intermediate_size=5, moe_shared_expert_intermediate_size=4),
               "layers of one part: Mamba-2, 2 of 6 experts in 3 groups beside a shared one, attention without positions, an MLP; biases, clamped steps; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("nemotron-h-published", "nemotron_h", nemotron_h("mlp", "linear_attention", "full_attention", "linear_attention", n_groups=1, use_conv_bias=False, num_key_value_heads=2, mlp_hidden_act="silu",
                                                                time_step_min=0.2),
               "an MLP first, a Mamba-2 last; no experts; names of keys as in older files; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=rewritten(patterned)),
    FamilyCase("nemotron-h-latent", "nemotron_h", nemotron_h("moe", "linear_attention", mlp_bias=True, hidden_size=8, n_routed_experts=4, moe_latent_size=11, moe_intermediate_size=5,
                                                             moe_shared_expert_intermediate_size=3, mamba_num_heads=2, mamba_head_dim=4),
               "2 of 4 experts in a latent space wider than the model, with biases, beside a shared one; stacked names; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True),
    FamilyCase("granitemoehybrid", "granitemoehybrid", granite(mamba_proj_bias=True, attention_bias=True, time_step_limit=(0.3, 1.2), hidden_act="gelu", position_embedding_type="rope"),
               "Mamba-2 in the first of two layers, attention with whole heads rotated in the other, 2 of 4 experts beside the MLP, multipliers, biases, clamped steps; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("granitemoehybrid-dense", "granitemoehybrid", {**granite(mamba_conv_bias=False, mamba_n_groups=1, num_key_value_heads=None, tie_word_embeddings=True), "num_local_experts": 0},
               "no experts; no positions; one group, no biases, a tied head; older names of kinds; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(layer_types=["mamba", "attention"], init_method="mup", normalization_function="rmsnorm"))),
    FamilyCase("bamba", "bamba", bamba(head_dim=8, mamba_proj_bias=True, attention_bias=True, mlp_bias=True, time_step_limit=(0.3, 1.2), hidden_act="gelu"),
               "Mamba-2 in the first of two layers, attention with half of each head rotated in the other, biases everywhere, clamped steps; bf16 weights", length=LONG, stored=BF16, rewrite=rewritten(published_bamba)),
    FamilyCase("bamba-plain", "bamba", bamba(num_hidden_layers=3, attn_layer_indices=[0, 7], mamba_n_heads=3, mamba_expand=1, mamba_n_groups=1, mamba_conv_bias=False, mamba_d_conv=4, num_attention_heads=3,
                                             num_key_value_heads=None, rope_parameters=rope(partial_rotary_factor=1.0), tie_word_embeddings=True),
               "attention first, with whole heads rotated; one group, no biases, a tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("qwen3-next", "qwen3_next", delta(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=6, shared_expert_intermediate_size=7, mlp_only_layers=[1], attention_bias=True),
               "the delta rule, two heads to a key; attention whose output is gated, half of each head rotated, biases; 2 of 5 experts beside a shared one; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("qwen3-next-last", "qwen3_next", delta(num_hidden_layers=4, layer_types=None, linear_num_key_heads=3, linear_num_value_heads=3, num_experts=3, num_experts_per_tok=1, norm_topk_prob=False,
                                                      decoder_sparse_step=2, moe_intermediate_size=5, shared_expert_intermediate_size=4, hidden_act="gelu", tie_word_embeddings=True),
               "attention in the last of four layers, experts in every other; not normalised; tied head; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(use_sliding_window=False))),
    FamilyCase("qwen3-5", "qwen3_5_text", delta(linear_num_key_heads=4, linear_key_head_dim=5, linear_value_head_dim=6),
               "its parts in matrices of their own; an MLP in every layer; keys of published files; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(attn_output_gate=True, output_gate_type="swish", mlp_only_layers=[], **MTP))),
    FamilyCase("qwen3-5-moe", "qwen3_5_moe_text", without("intermediate_size", delta(num_experts=4, num_experts_per_tok=3, moe_intermediate_size=5, shared_expert_intermediate_size=6)),
               "3 of 4 experts beside a shared one in every layer; keys of published files; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(attn_output_gate=True, **MTP))),
    FamilyCase("olmo-hybrid", "olmo_hybrid", olmo(attention_bias=True),
               "the delta rule with steps up to 2, two heads to a key, each part with matrices of its own, norms before the branches; attention with norms after them, turned, biases; bf16 weights",
               length=LONG, stored=BF16),
    FamilyCase("olmo-hybrid-unturned", "olmo_hybrid", olmo(layer_types=None, linear_num_key_heads=None, linear_num_value_heads=None, linear_key_head_dim=None, linear_value_head_dim=None,
                                                           num_key_value_heads=None, linear_allow_neg_eigval=False, hidden_act="gelu", rope_parameters=rope(theta=None), tie_word_embeddings=True),
               "no positions, steps up to 1, sizes left to the defaults, names as in memory, a tied head; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True,
               rewrite=rewritten(lambda config: config.update(linear_use_gate=True))),
    FamilyCase("falcon-h1", "falcon_h1", falcon_h1(mamba_proj_bias=True, projectors_bias=True, attention_bias=True, mlp_bias=True, mamba_rms_norm=True, time_step_limit=(0.3, 1.2)),
               "attention beside Mamba-2 in every layer, every factor, norms of 2 groups before the gate, clamped steps, biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("falcon-h1-after", "falcon_h1", falcon_h1(mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_conv_bias=False, hidden_act="gelu", tie_word_embeddings=True, num_hidden_layers=1),
               "norms after the gate, a tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("falcon-h1-plain", "falcon_h1", without("ssm_multipliers", without("mlp_multipliers", falcon_h1(mamba_d_ssm=None, mamba_d_head="auto", mamba_n_groups=1, num_key_value_heads=4))),
               "no norm of the output, the width by mamba_expand; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(mamba_use_mlp=True, mlp_expansion_factor=8))),
    FamilyCase("zamba2", "zamba2", zamba2("hybrid", "hybrid", "hybrid", vocab_size=32, mamba_ngroups=1, use_mem_rope=True, use_shared_attention_adapter=True, add_bias_linear=True, rope_parameters=rope()),
               "two transformers in turn before three Mamba-2s that read the embeddings too, rotated, with adapters of queries, keys, values and MLPs; biases, clamped steps; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("zamba2-apart", "zamba2", zamba2("linear_attention", "hybrid", "linear_attention", "hybrid", num_mem_blocks=1, num_attention_heads=4, num_key_value_heads=2, hidden_act="silu",
                                                    time_step_min=0.001, tie_word_embeddings=False),
               "not tied, so that each hybrid layer has a transformer of its own; no positions, grouped heads, adapters only of MLPs; older names of kinds; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=rewritten(lambda config: config.update(layers_block_type=["mamba", "hybrid", "mamba", "hybrid"]))),
    FamilyCase("mamba2", "mamba2", mamba2(use_bias=True, time_step_limit=(0.3, 1.2), hidden_act="gelu"),
               "norms of 2 groups behind the gate, clamped steps, biases of all projections; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("mamba-ssm", "mamba2", mamba2(vocab_size=48, hidden_size=8, num_heads=4, head_dim=4, state_size=3, use_bias=True, time_step_limit=(0.3, 1.2), layer_norm_epsilon=1e-5,
                                             tie_word_embeddings=True, num_hidden_layers=1),
               "keys and names of the authors' package, a vocabulary filled up from 43, a tied head that is stored; clamped steps; bf16 weights", length=LONG, segments=1, stored=BF16, rewrite=as_mamba_ssm),
    FamilyCase("mamba2-published", "mamba2", mamba2(num_heads=3, head_dim=8, n_groups=1, use_conv_bias=False, conv_kernel=4, state_size=4, tie_word_embeddings=True, num_hidden_layers=3),
               "one group, no biases, a tied head; the limit as bare Infinity; bf16 weights", length=LONG, stored=BF16, rewrite=rewritten(lambda config: config.update(time_step_limit=[0.0, float("inf")], intermediate_size=24, norm_before_gate=True, rms_norm=True, time_step_init_scheme="random", time_step_scale=1.0))),
    FamilyCase("kimi-linear", "kimi_linear", by_channel(linear_head_dim=6, linear_num_heads=3, linear_conv_kernel_dim=3, q_lora_rank=4, n_group=2, topk_group=1, routed_scaling_factor=1.7, attention_bias=True),
               "the delta rule with decays by channel in layer 1, by way of fewer numbers; attention by latents without positions in layer 2, beside 2 of 4 experts in a group of 2; the keys and names of released files; bf16 weights",
               length=LONG, segments=1, stored=BF16, rewrite=released_kimi),
    FamilyCase("kimi-linear-last", "kimi_linear", by_channel(linear_head_dim=5, linear_num_heads=2, layer_types=["full_attention", "linear_attention"], norm_topk_prob=False, tie_word_embeddings=True),
               "decays by channel in the last layer, with experts that are not normalised; a tied head; as the library saves it; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("bailing-hybrid", "bailing_hybrid", by_channel(head_dim=6, short_conv_kernel_size=3, kda_lower_bound=-0.4, n_group=2, topk_group=1, rope_parameters=rope()),
               "decays by channel above a bound in layer 1; attention by latents in layer 2, neighbours turned, each head's output gated; 2 of 4 experts in a group of 2; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("bailing-hybrid-unbounded", "bailing_hybrid", by_channel(head_dim=4, q_lora_rank=4, kda_safe_gate=False, n_group=1, topk_group=1, layer_types=["full_attention", "linear_attention"],
                                                                        rope_parameters=rope()),
               "decays by channel without a bound in the last layer; latents of queries; bf16 weights", length=LONG, segments=1, stored=BF16),
]
