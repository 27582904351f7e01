"""Write a random checkpoint whose layers are recurrences, for benchmarks: the time does not depend on the values.

    python3 bench/recurrent_checkpoint.py FOLDER mamba2|deltanet LAYERS

mamba2: the shape of Mamba-2 130M (24 layers of 768 wide, 24 heads with states of 128 x 64). deltanet: layers of Qwen 3.5 as wide, all of
them gated delta rules (12 heads with states of 128 x 128, two to a key) with an MLP of 2048.
"""
import sys

import torch
from transformers import Mamba2Config, Mamba2ForCausalLM
from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig

WIDTH, VOCABULARY = 768, 50288


def main():
    folder, kind, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(1)
    common = dict(hidden_size=WIDTH, num_hidden_layers=layers, vocab_size=VOCABULARY, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, pad_token_id=None)
    if kind == "mamba2":
        model = Mamba2ForCausalLM(Mamba2Config(num_heads=24, head_dim=64, state_size=128, n_groups=1, **common))
    else:
        model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(intermediate_size=2048, num_attention_heads=12, num_key_value_heads=12, head_dim=64, layer_types=layers * ["linear_attention"],
                                                     linear_num_key_heads=6, linear_num_value_heads=12, linear_key_head_dim=128, linear_value_head_dim=128, **common))
    model.save_pretrained(folder)


main()
