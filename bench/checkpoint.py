"""Write a random checkpoint of a shape that transformers makes, for benchmarks: the time does not depend on the values.

    python3 bench/checkpoint.py FOLDER moe|mamba2|deltanet LAYERS

All are 768 wide and float32. moe: Mixtral's layers, 12 heads with 4 for keys and values, and 8 experts of 1024 of which each row takes 2. mamba2: the shape of Mamba-2
130M (24 layers, 24 heads with states of 128 x 64). deltanet: layers of Qwen 3.5, all of them gated delta rules (12 heads with states of
128 x 128, two to a key) with an MLP of 2048.
"""
import sys

import torch
from transformers import Mamba2Config, Mamba2ForCausalLM, MixtralConfig, MixtralForCausalLM
from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig

WIDTH, VOCABULARY = 768, 50288


def model(kind, layers):
    common = dict(hidden_size=WIDTH, num_hidden_layers=layers, vocab_size=VOCABULARY, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, pad_token_id=None)
    if kind == "moe":
        return MixtralForCausalLM(MixtralConfig(intermediate_size=1024, num_attention_heads=12, num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, **common))
    if kind == "mamba2":
        return Mamba2ForCausalLM(Mamba2Config(num_heads=24, head_dim=64, state_size=128, n_groups=1, **common))
    return Qwen3_5ForCausalLM(Qwen3_5TextConfig(intermediate_size=2048, num_attention_heads=12, num_key_value_heads=12, head_dim=64, layer_types=layers * ["linear_attention"],
                                                linear_num_key_heads=6, linear_num_value_heads=12, linear_key_head_dim=128, linear_value_head_dim=128, **common))


def main():
    folder, kind, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(1)
    model(kind, layers).save_pretrained(folder)


main()
