#!/usr/bin/env python3
"""Make the golden cases litgpt-*: files that litgpt wrote, and its own results in float64.

    python3 tests/goldens/make_litgpt.py

Ran with litgpt 0.5.13 and torch 2.15. litgpt-llama is rewritten to the rows and names that litgpt had before 0.5.4; the
inverse, qkv_reassemble, is litgpt's.
"""
import os

import torch
from litgpt.model import GPT, Config
from litgpt.scripts.convert_hf_checkpoint import qkv_reassemble
from litgpt.utils import incremental_save, save_config
from pathlib import Path

from expected import draw_tokens, expected_of, generator, write_expected
from make_goldens import RefuseNarrow, Widen, describe, fresh_folder, write_cases

BASE = dict(n_layer=2, n_embd=16, n_head=4, vocab_size=37, padded_vocab_size=40, block_size=128)
GATED = dict(norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", intermediate_size=20, bias=False, parallel_residual=False, rotary_percentage=1.0)
CASES = {
    "neox": (dict(n_head=2, rotary_percentage=0.5, norm_eps=2e-4), "parallel branches, biases, half of each head turned; saved piece by piece, with numbers as keys of storages"),
    "phi": (dict(n_head=2, n_query_groups=1, shared_attention_norm=True, lm_head_bias=True, gelu_approximate="tanh", rotary_percentage=0.5, rope_interleave=True, rope_condense_ratio=3,
                 rope_base=90), "one norm for both branches, a head with biases, one key and value, neighbours turned together, positions divided by 3"),
    "llama": ({**GATED, **dict(attn_bias=True, n_query_groups=2, head_size=6, rope_base=50,
                               rope_adjustments=dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=32))},
              "grouped heads of 6, biases of queries, keys and values; rope_adjustments; names and rows from before 0.5.4"),
    "gemma": ({**GATED, **dict(name="Gemma-3-small", n_layer=3, mlp_class_name="GemmaMLP", gelu_approximate="tanh", n_query_groups=2, sliding_window_size=9, sliding_window_indices=[1, 1, 0],
                               post_attention_norm=True, post_mlp_norm=True, attention_scores_scalar=10, scale_embeddings=True, norm_qk=True, rope_base=3000, rope_local_base_freq=90,
                               rope_indices=[1, 1, 0], rope_adjustments=dict(factor=4.0), attention_logit_softcapping=3.0, final_logit_softcapping=4.0)},
              "(1+w) norms by its name, four of them and those of heads; windows of 9 turned with a base of their own; soft caps 3 and 4; scale 10^-1/2"),
    "olmo": ({**GATED, **dict(norm_qk=True, norm_qk_type="olmo2", norm_1=False, norm_2=False, post_attention_norm=True, post_mlp_norm=True)},
             "norms after the branches only, and of all heads as one"),
    "experts": ({**GATED, **dict(mlp_class_name="LLaMAMoE", n_expert=4, n_expert_per_token=2, n_query_groups=2)}, "2 of 4 experts, by the softmax of their scores"),
}


def ungrouped(value, config):
    """The rows that qkv_reassemble puts together, as they were."""
    order = qkv_reassemble(torch.arange(value.shape[0]), config)
    out = torch.empty_like(value)
    out[order] = value
    return out


def write_model(folder, name, config, state):
    save_config(config, Path(folder))
    path = os.path.join(folder, "lit_model.pth")
    if name == "neox":
        with incremental_save(path) as saver:
            saver.save({key: saver.store_early(value) for key, value in state.items()})
    elif name == "llama":
        torch.save({"model": {key.replace("attn.qkv", "attn.attn"): ungrouped(value, config) if "attn.qkv" in key else value for key, value in state.items()}}, path)
    else:
        torch.save(state, path)


def make(name, settings, notes):
    case = "litgpt-" + name
    rng, folder, config = generator(case), fresh_folder(case), Config(**{**BASE, **settings})
    state = GPT(config).to(torch.bfloat16).state_dict()
    for key, value in state.items():
        scale, shift = (0.4, 0) if value.dim() > 1 else (0.3, 0 if key.endswith("bias") or "Gemma" in config.name else 1)
        value.copy_(torch.from_numpy(rng.normal(shift, scale, tuple(value.shape))))
    write_model(folder, name, config, state)
    torch.set_default_dtype(torch.float64)
    with Widen():
        model = GPT(config).double()
    model.load_state_dict({key: value.double() for key, value in state.items()})

    def log_probability(rows, target):
        hook = model.transformer.wte.register_forward_hook(lambda module, inputs, output: rows[None])
        try:
            with Widen(), RefuseNarrow():
                return torch.log_softmax(model(torch.zeros(1, rows.shape[0], dtype=torch.int64))[0, -1], -1)[target]
        finally:
            hook.remove()

    tokens = draw_tokens(rng, 2, 48, config.vocab_size)
    norm, logprob = expected_of(log_probability, model.transformer.wte.weight.detach(), tokens, 10 ** 9, rng, case)
    torch.set_default_dtype(torch.float32)
    write_expected(folder, tokens, norm, logprob)
    return describe(case, "litgpt", notes, os.path.join("tests/goldens", case), norm)


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_cases([make(name, *case) for name, case in CASES.items()], lambda case: True)
