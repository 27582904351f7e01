"""The cases of family_cases.py whose layers are recurrences, all or some."""

import json
import os

from family_cases import BF16, LONG, FamilyCase, tokens


def mamba2(**changes):
    """A small Mamba-2."""
    config = tokens(**{**dict(hidden_size=12, num_hidden_layers=2, num_heads=4, head_dim=6, n_groups=2, state_size=5, conv_kernel=3, expand=2, layer_norm_epsilon=2e-3), **changes})
    del config["num_attention_heads"], config["max_position_embeddings"]
    return config


def bare_infinity(folder):
    """The limits as Python's json writes them."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config["time_step_limit"] = [0.0, float("inf")]
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


RECURRENCE_CASES = [
    FamilyCase("mamba2", "mamba2", mamba2(use_bias=True, time_step_limit=(0.3, 1.2), hidden_act="gelu"),
               "norms of 2 groups behind the gate, clamped steps, biases of all projections; bf16 weights", length=LONG, stored=BF16),
    FamilyCase("mamba2-published", "mamba2", mamba2(num_heads=3, head_dim=8, n_groups=1, use_conv_bias=False, conv_kernel=4, state_size=4, tie_word_embeddings=True, num_hidden_layers=3),
               "one group, no biases, a tied head; the limit as bare Infinity; bf16 weights", length=LONG, stored=BF16, rewrite=bare_infinity),
]
