#!/usr/bin/env python3
"""The share of a public registry of models in use whose architecture the program reads.

    pip download --no-deps transformer_lens==4.3.0
    python3 tests/goldens/registry_share.py transformer_lens-4.3.0-py3-none-any.whl --reach build/gcc/reach

The package TransformerLens has a list of models of the Hugging Face hub with at least 500 downloads a month, each with the name of
its architecture (the class that config.json names). A model counts as read if that class is transformers' class for causal language
models of a type that `reach families` lists as read, or the class of such a type beside images (gemma3), or the published name of a
type whose code is not in transformers. What a folder's other options are, which may be refused, is not looked at. Printed are the
share of the whole list and that of causal language models alone: without classes for translation, masks, images, sound and diffusion.
"""

import argparse
import collections
import json
import subprocess
import sys
import zipfile

from transformers import __version__
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

LIST = "transformer_lens/tools/model_registry/data/supported_models.json"
# classes that transformers does not have, or spells otherwise
PUBLISHED = {"MPTForCausalLM": "mpt", "MiniCPMForCausalLM": "minicpm", "InternLM2ForCausalLM": "internlm2", "ExaoneForCausalLM": "exaone",
             "BaiChuanForCausalLM": "baichuan", "BaichuanForCausalLM": "baichuan", "PhiMoEForCausalLM": "phimoe"}
OTHER_TASKS = ("ForConditionalGeneration", "ForMaskedLM", "MTModel", "T5WithLMHeadModel", "Classification", "ForCTC", "ViTModel", "HubertModel", "BloomModel")
DIFFUSION = ("BD3LM", "DreamModel", "GiddForDiffusionLM", "LLaDA2MoeModelLM", "LLaDAModelLM", "LLaDAForCausalLM")


def read_types(reach):
    """The types that the program lists as read."""
    lines = subprocess.run([reach, "families"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0] for line in lines[1:lines.index("refused by name")] if line.strip()}


def read_classes(types):
    """The classes of models of these types."""
    found = {name for name, of in PUBLISHED.items() if of in types}
    for mapping in (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES):
        for kind, names in mapping.items():
            found |= set(names if isinstance(names, (list, tuple)) else (names,)) if kind in types else set()
    return found


def is_causal(name):
    """Whether a class is one of causal language models, by its name."""
    return name not in DIFFUSION and not any(part in name for part in OTHER_TASKS)


def tell(title, counts, classes):
    """Print the share of the classes, and the most frequent of the others."""
    total, read = sum(counts.values()), sum(count for name, count in counts.items() if name in classes)
    print(f"{title}: {read} of {total} models, {100 * read / total:.1f} %; {sum(name in classes for name in counts)} of {len(counts)} architectures")
    print("    not read:", ", ".join(f"{name} {count}" for name, count in counts.most_common() if name not in classes))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", help="the package, as pip download leaves it")
    parser.add_argument("--reach", default="./reach", help="the program (default ./reach)")
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as wheel:
        registry = json.loads(wheel.read(LIST))
    counts = collections.Counter(model["architecture_id"] for model in registry["models"])
    classes = read_classes(read_types(options.reach))
    print(f"{options.wheel.rsplit('/', 1)[-1]}: list of {registry['generated_at']}; classes of transformers {__version__}")
    tell("all", counts, classes)
    tell("causal language models", collections.Counter({name: count for name, count in counts.items() if is_causal(name)}), classes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
