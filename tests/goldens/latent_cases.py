"""The cases of families with latents (family_cases.py adds them to its own)."""

import json
import os

import torch
from safetensors.torch import load_file, save_file

from family_cases import BF16, LONG, FamilyCase, rope, tokens


def latent(**changes):
    """Sizes of small models with latents: keys of 4 + 2, values of 3."""
    return tokens(**{**dict(hidden_size=12, num_attention_heads=2, num_key_value_heads=2, intermediate_size=10, kv_lora_rank=6, q_lora_rank=5, qk_nope_head_dim=4, qk_rope_head_dim=2, v_head_dim=3,
                            rms_norm_eps=2e-2, tie_word_embeddings=False, rope_parameters=rope()), **changes})


def routed(**changes):
    """The same with experts in layer 1."""
    return latent(**{**dict(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=6, n_shared_experts=1, first_k_dense_replace=1), **changes})


def yarn(theta=50.0, **settings):
    return rope("yarn", theta, **{**dict(factor=4.0, original_max_position_embeddings=24, beta_fast=6.0, beta_slow=0.5), **settings})


def renamed(**keys):
    """Keys of config.json as published files have them; None: without that key."""
    def rewrite(folder):
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            config = json.load(file)
        config = {key: value for key, value in {**config, **keys}.items() if key not in keys or value is not None}
        with open(path, "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
    return rewrite


def published_rope(**settings):
    """rope_theta at the top, and rope_scaling."""
    return {"rope_parameters": None, "rope_theta": 50, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24, "beta_fast": 6, "beta_slow": 0.5, **settings}}


def without_correction(model):
    for name, value in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            value.zero_()


def as_released_axk1(folder):
    """Files without corrections, with a norm that layer 0 does not use, and the number of layers without experts as older files say it."""
    path = os.path.join(folder, "model.safetensors")
    tensors = {name: value for name, value in load_file(path).items() if not name.endswith("e_score_correction_bias")}
    tensors["model.layers.0.post_mlp_layernorm.weight"] = torch.full((12,), 3.0, dtype=BF16)
    save_file(tensors, path, metadata={"format": "pt"})
    renamed(mlp_layer_types=None, first_k_dense_replace=1, moe_layer_freq=1)(folder)


def listed(**changes):
    """Experts in layer 1, by a list."""
    return {key: value for key, value in routed(**{**dict(mlp_layer_types=["dense", "sparse"]), **changes}).items() if key != "first_k_dense_replace"}


LATENT_CASES = [
    FamilyCase("deepseek-v2", "deepseek_v2",
               routed(n_routed_experts=3, n_shared_experts=2, routed_scaling_factor=2.5, norm_topk_prob=True, topk_method="greedy", attention_bias=True, mlp_bias=True,
                      rope_parameters=yarn(mscale=0.707, mscale_all_dim=0.4)),
               "latents of keys, values and queries, neighbours turned by yarn with mscale and mscale_all_dim; 2 of 3 experts by softmax, scaled, beside 2 shared ones; layer 0 without; biases; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("deepseek-v2-groups", "deepseek_v2",
               routed(q_lora_rank=None, n_routed_experts=6, n_group=3, topk_group=2, topk_method="group_limited_greedy", first_k_dense_replace=0, v_head_dim=8, tie_word_embeddings=True,
                      rope_parameters=yarn(mscale=1.0, mscale_all_dim=1.0)),
               "queries without a latent; values wider than keys; 2 of 6 experts in 2 of 3 groups by their largest; rope_scaling and rope_theta at the top; tied head; bf16 weights",
               length=LONG, segments=1, stored=BF16, rewrite=renamed(**published_rope(mscale=1.0, mscale_all_dim=1.0), scoring_func="softmax", moe_layer_freq=1, aux_loss_alpha=0.001, seq_aux=True)),
    FamilyCase("deepseek-v3", "deepseek_v3",
               routed(n_routed_experts=6, n_group=3, topk_group=2, routed_scaling_factor=2.5, n_shared_experts=2, attention_bias=True, rope_parameters=yarn(mscale=1.0, mscale_all_dim=0.7), max_position_embeddings=96),
               "2 of 6 experts in 2 of 3 groups by sigma, corrected, normalised and scaled, beside 2 shared ones; layer 0 without; neighbours turned by yarn with mscale_all_dim; biases; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("deepseek-v3-halves", "deepseek_v3",
               routed(num_hidden_layers=1, q_lora_rank=None, first_k_dense_replace=0, n_routed_experts=4, n_group=1, topk_group=1, norm_topk_prob=False, routed_scaling_factor=0.7, rope_interleave=False, qk_rope_head_dim=4,
                      tie_word_embeddings=True),
               "queries without a latent, halves turned; 2 of 4 experts, corrected, not normalised, scaled; experts stacked; tied head; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True),
    FamilyCase("kimi-k2", "deepseek_v3",
               routed(n_group=1, topk_group=1, routed_scaling_factor=2.827, rope_parameters=yarn(factor=4.0, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)),
               "a DeepSeek V3 under the name and with the keys of Kimi K2; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=renamed(model_type="kimi_k2", architectures=["DeepseekV3ForCausalLM"], auto_map={"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, aux_loss_alpha=0.001, ep_size=1, moe_layer_freq=1,
                               scoring_func="sigmoid", seq_aux=True, topk_method="noaux_tc", pretraining_tp=1, num_nextn_predict_layers=0, num_mtp_layers=None, qk_head_dim=None, head_dim=None, rope_interleave=None,
                               **published_rope(beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0))),
    FamilyCase("glm4-moe-lite", "glm4_moe_lite",
               {key: value for key, value in routed(v_head_dim=6, mlp_layer_types=["sparse", "dense"], n_group=2, topk_group=1, routed_scaling_factor=1.8, attention_bias=True).items() if key != "first_k_dense_replace"},
               "values as wide as keys; 2 of 4 experts in 1 of 2 groups, in layer 0 alone, by mlp_layer_types; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("minicpm3", "minicpm3",
               latent(qk_rope_head_dim=4, scale_emb=5.3, scale_depth=0.9, dim_model_base=5, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                      rope_parameters=rope("longrope", 300.0, short_factor=[1.0, 1.5], long_factor=[1.0, 2.5], original_max_position_embeddings=128)),
               "halves turned; longrope's short factors; factors on embeddings, branches and logits; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16, reload=False),
    FamilyCase("minicpm3-plain", "minicpm3",
               latent(num_hidden_layers=1, q_lora_rank=None, v_head_dim=None, scale_depth=None, dim_model_base=None, scale_emb=1),
               "queries without a latent; v_head_dim, scale_depth and dim_model_base null; bf16 weights", length=LONG, segments=1, stored=BF16, written={"scale_depth": None, "dim_model_base": None, "v_head_dim": None}),
    FamilyCase("mistral4", "mistral4",
               routed(n_routed_experts=6, n_group=3, topk_group=2, routed_scaling_factor=1.5, attention_bias=True,
                      rope_parameters=yarn(mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.3, partial_rotary_factor=1 / 3)),
               "2 of 6 experts in 2 of 3 groups by the sums of two of their softmax, normalised and scaled; layer 0 without; queries that grow with their position; yarn with mscale_all_dim; biases; bf16 weights",
               length=LONG, segments=1, stored=BF16),
    FamilyCase("sarvam-mla", "sarvam_mla",
               routed(q_lora_rank=None, n_group=1, topk_group=1, routed_scaling_factor=2.5, first_k_dense_replace=0, num_hidden_layers=1, rope_parameters=yarn(mscale=1.0, mscale_all_dim=1.0)),
               "the keys of older files: num_experts, num_shared_experts, deepseek_yarn, another head_dim; bf16 weights", length=LONG, segments=1, stored=BF16,
               rewrite=renamed(n_routed_experts=None, num_experts=4, n_shared_experts=None, num_shared_experts=1, head_dim=8, q_head_dim=6, qk_head_dim=None, **published_rope(type="deepseek_yarn", mscale=1.0, mscale_all_dim=1.0))),
    FamilyCase("axk1", "axk1", listed(n_routed_experts=6, n_group=3, topk_group=2, routed_scaling_factor=2.5, attention_bias=True, rope_parameters=yarn(mscale=1.0, mscale_all_dim=0.7)),
               "2 of 6 experts in 2 of 3 groups, corrected, normalised and scaled, and a norm after them; yarn with mscale_all_dim; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("axk1-released", "axk1", listed(n_group=1, topk_group=1, rope_interleave=False),
               "as released files are: no corrections, and in layer 0 a norm without use; halves turned; bf16 weights", length=LONG, segments=1, stored=BF16, oracle=without_correction, rewrite=as_released_axk1),
    FamilyCase("deepseek-v32", "deepseek_v32",
               listed(n_routed_experts=6, n_group=3, topk_group=2, attention_bias=True, index_topk=97, index_head_dim=4, index_n_heads=2, rope_parameters=yarn(mscale=1.0, mscale_all_dim=1.0)),
               "an indexer that has 97 of 97 keys to choose; 2 of 6 experts in 2 of 3 groups; neighbours turned; biases; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("glm-moe-dsa", "glm_moe_dsa",
               routed(v_head_dim=6, n_group=1, topk_group=1, index_topk=128, index_head_dim=4, index_n_heads=2, indexer_types=["full", "shared"], tie_word_embeddings=True),
               "an indexer in layer 0 alone; values as wide as keys; 2 of 4 experts; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
    FamilyCase("youtu", "youtu", latent(attention_bias=True, rope_interleave=False, tie_word_embeddings=True, rope_parameters=rope("linear", 300.0, factor=2.0, mscale_all_dim=0.8)),
               "no experts; halves turned; linear scaling with mscale_all_dim; biases; tied head; bf16 weights", length=LONG, segments=1, stored=BF16),
]
