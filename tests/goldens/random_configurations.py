#!/usr/bin/env python3
"""Random configurations of the families that transformers runs too: `reach erf` against transformers in float64.

    python3 tests/goldens/random_configurations.py --reach build/gcc/reach --count 500
    python3 tests/goldens/random_configurations.py --family qwen2 mpt --seed 7 --only 12 --keep /tmp/case

Each configuration is a config.json as people write them: sizes, options away from their defaults, older and newer spellings, keys left
out, null, unknown keys. transformers reads it, and what transformers makes of it is the truth; half of them stay as save_pretrained
writes them afterwards. Weights are random. Verdicts:

    exact      log p within 1e-9, every norm ||d log p / d e_m|| within 1e-7 of the largest
    refused    exit status 1 with one line that says why
    fails      transformers itself does not read or run it, or gives what is not finite
    WRONG      anything else

It ends with the counts, and exit status 1 if any is WRONG. Runs by hand, not in `make check`; needs PyTorch, transformers, h5py.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

import outer_models
import random_convolutions
import random_dense
import random_latents
import random_mixtures
import random_recurrences
import random_scans
from family_cases import as_baichuan, as_baichuan2_13b, as_exaone, as_internlm2
from make_goldens import random_weight, stored_buffers
from recurrence_cases import settle_decays
from random_settings import Draw
from transformers_oracle import model_of, oracle

FAMILIES = ("apertus", "apertus1p5_text", "arcee", "aria_text", "axk1", "baichuan", "baichuan2", "bailing_hybrid", "bamba", "biogpt", "bloom", "cohere", "cohere2", "ctrl", "cwm", "dbrx", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5_moe", "exaone", "exaone4", "exaone_moe", "falcon", "falcon_h1", "falcon_mamba", "flex_olmo", "flint", "gemma2",
            "gemma3_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text", "glm4", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "glm4v_moe_text", "glm4v_text", "gpt2", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite_swa", "granitemoe", "granitemoe_swa", "granitemoehybrid",
            "granitemoeshared", "hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "hyperclovax", "internlm2", "internlm3", "iquestcoder", "jais2", "jamba", "kimi_linear", "lara_mini", "lfm2", "lfm2_moe", "llama", "llama4_text", "mamba", "mamba2", "mellum", "minicpm3", "minimax", "minimax_m2",
            "ministral", "ministral3", "mistral", "mistral4", "mixtral", "mpt", "nanochat", "nemotron", "nemotron_h", "olmo", "olmo2", "olmo3", "olmo_hybrid", "olmoe", "openai-gpt", "opt", "persimmon",
            "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen2_vl_text", "qwen3", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe", "qwen3_next", "qwen3_omni_moe_text", "qwen3_vl_moe_text", "qwen3_vl_text", "recurrent_gemma", "rwkv", "sarvam_mla", "sarvam_moe", "seed_oss", "smollm3", "solar_open", "stablelm", "vaultgemma", "xglm", "youtu", "zamba", "zamba2")
# families whose code is not in transformers: a Llama with their mathematics, and what writes it in their names
FROM_LLAMA = {"baichuan": (None, as_baichuan({"architectures": ["BaiChuanForCausalLM"]}, True)),
              "baichuan2": (as_baichuan2_13b, as_baichuan({"architectures": ["BaichuanForCausalLM"], "model_max_length": 128, "z_loss_weight": 0}, False)),
              "exaone": (None, as_exaone), "internlm2": (None, as_internlm2)}
# language models that lie in a checkpoint with others: the types of such
OUTER = {"qwen2_vl_text": ("qwen2_vl", "qwen2_5_vl"), "qwen3_vl_text": ("qwen3_vl",), "qwen3_vl_moe_text": ("qwen3_vl_moe",), "qwen3_omni_moe_text": ("qwen3_omni_moe_thinker",),
         "glm4v_text": ("glm4v", "glm46v"), "glm4v_moe_text": ("glm4v_moe",)}
QK_GAIN = 1.5       # on top of that of random_weight: 3 in all
LOGP_ERROR, NORM_ERROR = 1e-9, 1e-7
DRAWS = {**vars(random_convolutions), **vars(random_dense), **vars(random_latents), **vars(random_mixtures), **vars(random_recurrences), **vars(random_scans)}     # draw_FAMILY


# --- drawing a configuration --------------------------------------------------------------------

# what published files have beside the keys that matter
PUBLISHED = {
    "bloom": {"attention_softmax_in_fp32": True, "masked_softmax_fusion": True, "skip_bias_add": True, "skip_bias_add_qkv": False, "bias_dropout_fusion": True,
              "unk_token_id": 0, "offset_alibi": 100, "seq_length": 2048},
    "falcon": {"apply_residual_connection_post_layernorm": False, "auto_map": {"AutoConfig": "configuration_falcon.FalconConfig"}, "hidden_dropout": 0.0},
    "gemma2": {"cache_implementation": "hybrid", "hidden_act": "gelu_pytorch_tanh", "attention_dropout": 0.0},
    "gpt2": {"n_ctx": 64, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "summary_activation": None,
             "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True},
    "gpt_neox": {"classifier_dropout": 0.1, "hidden_dropout": 0.0},
    "gptj": {"rotary": True, "scale_attn_weights": True, "gradient_checkpointing": False, "tokenizer_class": "GPT2Tokenizer",
             "task_specific_params": {"text-generation": {"temperature": 1.0}}},
    "llama": {"pretraining_tp": 1, "max_sequence_length": 2048, "attention_dropout": 0.0},
    "mistral": {"attention_dropout": 0.0},
    "mpt": {"embedding_fraction": 1.0, "emb_pdrop": 0, "resid_pdrop": 0, "init_device": "cpu", "learned_pos_emb": True, "no_bias": True, "verbose": 0,
            "init_config": {"name": "kaiming_normal_", "init_nonlinearity": "relu"}, "tokenizer_name": "EleutherAI/gpt-neox-20b"},
    "opt": {"prefix": "</s>", "activation_dropout": 0.0, "layerdrop": 0.0, "init_std": 0.02},
    "phi": {"embd_pdrop": 0.0, "resid_pdrop": 0.1, "attention_dropout": 0.0},
    "qwen2": {"use_mrope": False, "attention_dropout": 0.0},
    "qwen3": {"attention_dropout": 0.0},
}
MODEL_KEYS = {"gpt2": "n_layer", "openai-gpt": "n_layer", "ctrl": "n_layer", "gptj": "n_layer", "bloom": "n_layer", "mpt": "n_layers", "dbrx": "n_layers", "xglm": "num_layers"}
ALIASES = {"gpt2": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings"},
           "gptj": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings"},
           "mpt": {"d_model": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers"},
           "bloom": {"n_layer": "num_hidden_layers"}}


def draw_configuration(d, family, length):
    """A config.json as an object."""
    layers, drawn = d.whole(1, 3), {}
    while max(drawn.get(key, 0) for key in ("hidden_size", "n_embd", "n_embed", "d_model")) < 4:      # a layer norm of two values leaves no gradient
        drawn = DRAWS["draw_" + family.replace("-", "_")](d, layers, length)
    config = {"model_type": "llama" if family in FROM_LLAMA else family, "vocab_size": d.whole(11, 60), MODEL_KEYS.get(family, "num_hidden_layers"): layers, **drawn}
    if d.chance(0.1):
        for name, other in ALIASES.get(family, {}).items():
            if name in config:
                config[other] = config.pop(name)
    if d.chance(0.2):
        config = {**PUBLISHED.get(family, {}), **config}
    config.setdefault("bos_token_id", d.pick(0, 1, None))
    config.setdefault("eos_token_id", d.pick(0, 2, None, [1, 2]))
    d.put(config, "pad_token_id", 0.3, 0, None)
    if family in ("aria_text", "glm4", "smollm3", "phi3", "ministral3", "olmo", "olmo2", "olmo3", "olmo_hybrid", "olmoe", "cohere", "cohere2", "flex_olmo", "exaone_moe", "kimi_linear", "bailing_hybrid") and d.chance(0.95):        # a large id by default
        config.setdefault("pad_token_id", 0)
    if family == "cwm":
        config["bos_token_id"] = config.get("bos_token_id") or 0
    d.put(config, "use_cache", 0.3, True, False)
    d.put(config, "torch_dtype", 0.3, "float32", "bfloat16")
    d.put(config, "attention_dropout", 0.1, 0.1, 0.0)
    d.put(config, "initializer_range", 0.3, 0.02)
    d.put(config, "_name_or_path", 0.1, "somewhere/model")
    d.put(config, "is_causal", 0.02, True, False)
    d.put(config, "is_decoder", 0.05, True)
    d.put(config, "architectures", 0.2, [], ["SomeForCausalLM"])
    d.put(config, "an_unknown_key", 0.05, 1, None, {"a": [1]}, 10 ** 30, float("inf"))
    if d.chance(0.04):
        key = d.pick(*[key for key in config if key not in ("model_type", "vocab_size")])
        config[key] = None
    return wrapped(d, config, d.pick(*OUTER[family])) if family in OUTER else config


def wrapped(d, config, outer):
    """The configuration as that of the language model in one of type `outer`."""
    config["model_type"] = {"qwen2_5_vl": "qwen2_5_vl_text"}.get(outer, config["model_type"])
    if outer.startswith("qwen2") and d.chance(0.3):
        return {**config, "model_type": outer}      # among the other keys
    tied = {"tie_word_embeddings": config.pop("tie_word_embeddings")} if "tie_word_embeddings" in config and d.chance(0.7) else {}
    return {"model_type": outer, **tied, "text_config": config, "image_token_id": 1}


# --- writing a case -----------------------------------------------------------------------------

def random_state(model, stored, rng):
    """Values of every parameter (a tied one once), rounded to the stored type."""
    state = {}
    for name, parameter in sorted([*model.named_parameters(), *stored_buffers(model)]):
        value = random_weight(name, tuple(parameter.shape), model.config.get_text_config(), rng)
        if value.dim() == 2 and re.search(r"(q_proj|q_b_proj|k_proj|c_attn|Wqkv|query_key_value)\.weight$", name):
            value = value * QK_GAIN
        state[name] = value.to(stored)
    return state


def maker(family):
    """What makes the model of a folder."""
    return outer_models.outer_model_of if family in OUTER else model_of


def write_case(d, family, folder, length):
    """Config, weights and tokens; returns (config, state, stored type, tokens)."""
    config = draw_configuration(d, family, length)
    as_drawn, stored = d.chance(0.6) and family not in FROM_LLAMA, d.pick(torch.float32, torch.float32, torch.bfloat16, torch.float16)
    bare = family in ("gpt2", "bloom", "mpt", "gptj", "falcon") and d.chance(0.2)
    path, vocabulary = os.path.join(folder, "config.json"), config.get("output_vocab_size") or config.get("text_config", config)["vocab_size"]
    tokens = d.rng.integers(0, vocabulary, (2, length)).astype(np.int32)
    np.save(os.path.join(folder, "tokens.npy"), tokens)
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
    model = maker(family)(folder, dtype=torch.float32)
    state = random_state(model, stored, d.rng)
    model.load_state_dict(state, strict=False)
    settle_decays(model)
    model.to(stored).save_pretrained(folder, save_original_format=family not in OUTER or d.chance(0.6))
    if as_drawn:
        with open(path, "w") as file:
            json.dump(config, file, indent=1)
    if bare:        # names as in older published files
        file = os.path.join(folder, "model.safetensors")
        save_file({name.removeprefix("transformer."): value for name, value in load_file(file).items()}, file, metadata={"format": "pt"})
    return config, state, stored, tokens


# --- reach --------------------------------------------------------------------------------------

def measure(reach, folder):
    """(norms, log p, None) of reach, or (None, None, what it said)."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    command = [reach, "erf", "m=" + folder, "--tokens", os.path.join(folder, "tokens.npy"), "--dtype", "f64", "--threads", "1", "--bootstrap", "0",
               "--format", "svg", "--quiet", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    said = "\n".join(line for line in done.stderr.strip().splitlines() if "not understood: " not in line)
    if done.returncode:
        return None, None, said if done.returncode == 1 and said and "\n" not in said else f"CRASH: exit status {done.returncode}: {said}"
    with h5py.File(os.path.join(out, "erf.h5")) as file:
        return file["models/m/norm"][...], file["models/m/logprob"][...], None


def judge(reach, d, family, folder):
    """(verdict, what there is to say, config.json as it was read)."""
    length, config = d.whole(12, 24), None
    try:
        config, state, stored, tokens = write_case(d, family, folder, length)
        change, rewrite = FROM_LLAMA.get(family, (None, None))
        norm, logprob = oracle(folder, state, stored, tokens, change, maker(family))
        if rewrite:
            rewrite(folder)
    except Exception as problem:       # whatever it is, there is nothing to compare with
        return "fails", f"{type(problem).__name__}: {str(problem).strip()[:150]}", config
    with open(os.path.join(folder, "config.json")) as file:
        written = json.load(file)
    found_norm, found_logprob, said = measure(reach, folder)
    if said:
        return "WRONG" if said.startswith("CRASH") else "refused", said.replace(folder + "/", "").replace(folder, "MODEL"), written
    logprob_error, norm_error = np.abs(found_logprob - logprob).max(), (np.abs(found_norm - norm).max(1) / norm.max(1)).max()
    exact = bool(logprob_error <= LOGP_ERROR and norm_error <= NORM_ERROR)
    return "exact" if exact else "WRONG", f"log p differs by {logprob_error:.1e}, norms by {norm_error:.1e}", written


# --- the run ------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description="random configurations: reach against transformers")
    parser.add_argument("--reach", default="./reach", help="the program (default ./reach)")
    parser.add_argument("--count", type=int, default=500, help="configurations in all (default 500)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES, metavar="FAMILY", help="these families (default: all)")
    parser.add_argument("--only", type=int, metavar="N", help="of each family only configuration N, from 0")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the folders of what is not exact in FOLDER")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each configuration")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    families, counts, groups = list(options.family), collections.Counter(), collections.defaultdict(list)
    numbers = [options.only] if options.only is not None else range(-(-options.count // len(families)))
    cases = [(family, number) for number in numbers for family in families][:None if options.only is not None else options.count]
    with contextlib.ExitStack() as files:
        log = files.enter_context(open(options.log, "w")) if options.log else None
        for family, number in cases:
            with tempfile.TemporaryDirectory() as folder:
                verdict, said, config = judge(options.reach, Draw(options.seed, family, number), family, folder)
                if options.keep and verdict != "exact":
                    shutil.copytree(folder, os.path.join(options.keep, f"{family}-{options.seed}-{number}"), dirs_exist_ok=True)
            counts[verdict] += 1
            counts[family, verdict] += 1
            if verdict != "exact":
                groups[verdict, re.sub(r"-?\d[\d.e+-]*", "N", said)].append(f"{family} {number}")
            if verdict == "WRONG" or options.only is not None:
                print(f"{family}, seed {options.seed}, number {number}: {verdict}: {said}\n    {json.dumps(config)}", flush=True)
            if log:
                log.write(json.dumps({"family": family, "seed": options.seed, "number": number, "verdict": verdict, "said": said, "config": config}) + "\n")
                log.flush()
    for (verdict, said), where in sorted(groups.items()):
        print(f"{verdict} {len(where):4} times, as {where[0]}: {said}")
    verdicts = ("exact", "refused", "fails", "WRONG")
    for family in families:
        print(f"{family:9}", *(f"{verdict} {counts[family, verdict]:4}" for verdict in verdicts))
    print(f"{'all':9}", *(f"{verdict} {counts[verdict]:4}" for verdict in verdicts))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
