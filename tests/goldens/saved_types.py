#!/usr/bin/env python3
"""A folder exactly as save_pretrained leaves it, of every type that is read and that transformers has: `reach erf` against float64 autograd.

    python3 tests/goldens/saved_types.py --reach build/gcc/reach
    python3 tests/goldens/saved_types.py --type mixtral phimoe --keep /tmp/folders

The types are those that `reach families` lists. Each is tried with the configuration of every golden case of its family (family_cases.py), with other weights
and tokens, and the folder is written in both ways that the library has: with the names of published files, which is its default, and with those that it has in
memory. Nothing in a folder is edited. A type that holds a language model beside others is tried with that type's cases (outer_models.py), and its first case also in
shards, as pytorch_model.bin, and with a text_config that leaves out what is its class's default. Verdicts, a line each:

    exact      c within 1e-9 of transformers in float64, log p too
    refused    exit status 1 with one line that says why
    absent     transformers has no class of that name
    WRONG      anything else: the figure that is off, or what either program said

It ends with the counts of types and of folders, and exit status 1 if any is WRONG. Runs by hand, some minutes; keeps nothing. Needs PyTorch, transformers, h5py.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

import outer_models
from family_cases import FAMILY_CASES
from make_goldens import draw_tokens, generator, random_weight, stored_buffers
from random_configurations import measure
from transformers_oracle import model_of, oracle

ERROR = 1e-9
LENGTH = 60
FORMS = ("as published", "in memory", "in shards", "as a .bin", "as differences")


def types_read(reach):
    """The types of the first column of `reach families`, without those that are no model_type of transformers' kind."""
    lines = subprocess.run([reach, "families"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = lines[1:lines.index("refused by name")]
    return [row.split()[0] for row in rows if row.strip() and not row.startswith(("(our own)", "gpt_neox_megatron", "fairseq_transformer_lm", "nanogpt"))]


def cumulative(norms):
    """c of each segment: the share of the last tokens, added up."""
    share = norms / norms.sum(axis=1, keepdims=True)
    return np.cumsum(share[:, ::-1], axis=1)


def inner_type(name):
    """The type of the language model of a type that holds one beside others; None: it is one itself."""
    if name not in outer_models.CLASSES:
        return None
    config = transformers.AutoConfig.for_model(name)
    return config.get_text_config().model_type if config.get_text_config() is not config else None


def configurations(name):
    """[(label, arguments, stored type)] of a type: the golden cases of its family; other names by those of the first one."""
    inner = inner_type(name) or name
    inner = {"gpt-sw3": "gpt2", "qwen2_5_vl_text": "qwen2_vl_text", "qwen2_5_omni_text": "qwen2_vl_text"}.get(inner, inner)
    return [(case.name, case.config, case.stored) for case in FAMILY_CASES if case.family == inner]


def build(name, arguments):
    """The configuration and the model."""
    inner = inner_type(name)
    if not inner:
        return transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(name, **arguments))
    if name in ("blip-2", "instructblip", "instructblipvideo") and inner != "opt":
        raise ValueError(f"a {inner} in a {name}")
    text = transformers.AutoConfig.for_model(inner, **arguments)
    tied = {} if name in outer_models.IMAGES_REQUIRED else {"tie_word_embeddings": bool(getattr(text, "tie_word_embeddings", False))}
    return outer_models.build(outer_models.configuration(name, text.to_dict(), **tied))


def write_folder(name, arguments, stored, folder, form, rng):
    """The folder; returns the weights by their names in memory."""
    model = build(name, arguments)
    settings = model.config.get_text_config()
    state = {at: random_weight(at, tuple(value.shape), settings, rng).to(stored) for at, value in sorted([*model.named_parameters(), *stored_buffers(model)])}
    model.load_state_dict(state, strict=False)
    model.to(stored).save_pretrained(folder, save_original_format=form != "in memory", max_shard_size="10KB" if form == "in shards" else "1GB")
    if form == "as a .bin":
        outer_models.as_bin(folder)
    if form == "as differences":
        outer_models.only_differences(folder)
    return state


def whole_inner(folder, **settings):
    """The language model of a type whose code needs an image."""
    return outer_models.outer_model_of(folder, **settings).language_model


def truth(name, folder, state, stored, tokens):
    """The oracle's (norms, log p)."""
    if name in outer_models.IMAGES_REQUIRED:
        state = {at.removeprefix("language_model."): value for at, value in state.items() if at.startswith("language_model.")}
        return oracle(folder, state, stored, tokens, make=whole_inner)
    return oracle(folder, state, stored, tokens, make=outer_models.outer_model_of if inner_type(name) else model_of)


def judge(reach, name, label, arguments, stored, form, folder):
    rng = generator(f"saved {name} {label} {form == 'in memory'}")
    state = write_folder(name, arguments, stored, folder, form, rng)
    vocabulary = arguments.get("output_vocab_size") or arguments["vocab_size"]
    tokens = draw_tokens(rng, 2, min(LENGTH, 1 + arguments.get("n_positions", arguments.get("max_position_embeddings", LENGTH))), vocabulary)
    np.save(os.path.join(folder, "tokens.npy"), tokens)
    norms, logprobs = truth(name, folder, state, stored, tokens)
    found, found_logprobs, said = measure(reach, folder)
    if said:
        return ("WRONG" if said.startswith("CRASH") else "refused"), said.replace(folder, "MODEL")
    worst = np.abs(cumulative(found) - cumulative(norms)).max(), np.abs(found_logprobs - logprobs).max()
    return ("exact" if max(worst) <= ERROR else "WRONG"), f"c differs by {worst[0]:.1e}, log p by {worst[1]:.1e}"


def main():
    parser = argparse.ArgumentParser(description="folders of save_pretrained: reach against transformers")
    parser.add_argument("--reach", default="./reach", help="the program (default ./reach)")
    parser.add_argument("--type", nargs="+", metavar="TYPE", help="these types (default: all that are read)")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the folders there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    counts, of_type = collections.Counter(), {}
    for name in options.type or types_read(options.reach):
        if name not in CONFIG_MAPPING_NAMES:
            print(f"{name}: absent: transformers {transformers.__version__} has no such type", flush=True)
            of_type[name] = {"absent"}
            continue
        of_type[name] = set()
        for label, arguments, stored in configurations(name):
            first = inner_type(name) and not of_type[name]
            for form in FORMS[:None if first else 2]:
                with tempfile.TemporaryDirectory() as scratch:
                    folder = os.path.join(options.keep, f"{name}-{label}-{form}".replace(" ", "-")) if options.keep else scratch
                    os.makedirs(folder, exist_ok=True)
                    try:
                        verdict, said = judge(options.reach, name, label, arguments, stored, form, folder)
                    except Exception as problem:      # transformers, or a key that this script lacks
                        verdict, said = "WRONG", f"{type(problem).__name__}: {str(problem).strip()[:200]}"
                counts[verdict] += 1
                of_type[name].add(verdict)
                print(f"{name}, as {label}, {form}: {verdict}: {said}", flush=True)
        if not of_type[name]:
            of_type[name] = {"WRONG"}
            print(f"{name}: WRONG: no golden case has a configuration for it", flush=True)
    print(f"folders: {sum(counts.values())};", ", ".join(f"{verdict} {counts[verdict]}" for verdict in ("exact", "refused", "WRONG")))
    tried = [found for found in of_type.values() if found != {"absent"}]
    print(f"types: {len(of_type)}; not in transformers {len(of_type) - len(tried)}, tried {len(tried)}, all folders exact {sum(found == {'exact'} for found in tried)}, "
          f"some refused {sum('refused' in found for found in tried)}, some WRONG {sum('WRONG' in found for found in tried)}")
    return int(any("WRONG" in found for found in of_type.values()))


if __name__ == "__main__":
    sys.exit(main())
