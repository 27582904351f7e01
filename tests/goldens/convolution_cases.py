"""The cases of family_cases.py whose layers attend or convolve."""

import json
import os

from family_cases import BF16, LONG, FamilyCase, rope, tokens


def convolving(**changes):
    """A small LFM2."""
    return tokens(**{**dict(num_key_value_heads=2, intermediate_size=20, norm_eps=2e-3, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"],
                            rope_parameters=rope()), **changes})


def as_published(folder):
    """The keys of published files, which have older names beside their own."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config.update(full_attn_idxs=[2], block_ff_dim=config["intermediate_size"], intermediate_size=7, tie_embedding=config.pop("tie_word_embeddings"), block_dim=config["hidden_size"],
                  block_norm_eps=1e-5, block_use_swiglu=True, conv_dim=config["hidden_size"], conv_dim_out=config["hidden_size"], use_pos_enc=True, theta=1e6)
    del config["layer_types"]
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


CONVOLUTION_CASES = [
    FamilyCase("lfm2", "lfm2", convolving(conv_bias=True, block_multiple_of=6, block_ffn_dim_multiplier=1.3, tie_word_embeddings=False),
               "two convolutions of 3, with biases, and attention between them; norms of heads; the MLP 18 wide from 20, by its factor and multiple; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("lfm2-published", "lfm2", convolving(conv_L_cache=5, layer_types=["conv", "conv", "full_attention"], block_auto_adjust_ff_dim=False, num_attention_heads=2, num_key_value_heads=1),
               "convolutions of 5 below attention, by full_attn_idxs; tied head; keys as in published files; bf16 weights", length=LONG, stored=BF16, rewrite=as_published),
    FamilyCase("lfm2-short", "lfm2", convolving(conv_L_cache=4, block_multiple_of=3, layer_types=["conv", "conv", "conv"]),
               "three convolutions of 4 alone: exact zeros outside 10 tokens; bf16 weights", cone=10, length=LONG, segments=1, stored=BF16),
    FamilyCase("lfm2-moe", "lfm2_moe",
               convolving(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=6, num_dense_layers=1, routed_scaling_factor=1.7, conv_bias=True, tie_word_embeddings=False),
               "2 of 5 experts by sigma with a correction of the choice, normalised and scaled, in all layers but the first; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("lfm2-moe-plain", "lfm2_moe",
               convolving(num_experts=4, num_experts_per_tok=3, moe_intermediate_size=5, num_dense_layers=0, use_expert_bias=False, norm_topk_prob=False, layer_types=["full_attention", "conv", "conv"]),
               "3 of 4 experts, stacked, without correction, not normalised; tied head; bf16 weights", length=LONG, segments=1, stored=BF16, stacked=True),
]
