#!/usr/bin/env python3
"""The keys that transformers takes from config.json for each family, so that no key is passed over.

    python3 tests/goldens/config_keys.py             write config_keys.csv
    python3 tests/goldens/config_keys.py --compare   what the installed transformers has otherwise, new types of models too; exit 1 if anything
    python3 tests/goldens/config_keys.py --coverage build/gcc/reach
                                                     of the installed library's causal language models, how many that program reads, refuses with a
                                                     reason, or does not know
    python3 tests/goldens/config_keys.py --try       change every harmless key and compare the logits; exit 1 if any differ

A row is a family, a key, its default in the library ("" where it has none) and its class in model/config_keys.c: used,
harmless or refused. The class is kept from the file when it is written again; a key that is new to it gets "new",
which tests/t-model-config-keys.c does not accept. The keys of a family are

- the fields of its configuration class and of the classes above it, other names that it gives them, and what it takes
  out of the arguments that are no fields;
- what the library asks a configuration for while it loads a small model and runs it;
- members of rope_parameters, rope_scaling (the same object's older name) and attn_config.
"""

import argparse
import ast
import csv
import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedConfig, __version__
from transformers.modeling_rope_utils import RopeParameters
from transformers.models.auto.modeling_auto import (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES,
                                                    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES)
from transformers.utils import logging

import outer_models
from family_cases import FAMILY_CASES

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "config_keys.csv")
TYPES = os.path.join(os.path.dirname(TABLE), "model_types.txt")      # of causal language models, as of the table
FAMILIES = sorted({case.family for case in FAMILY_CASES})
OUTER = {case.family: case.outer for case in FAMILY_CASES if case.outer}     # of the language models of checkpoints that also have others
ROPE = ("rope_scaling", "rope_theta", "partial_rotary_factor", "rotary_emb_base", "rotary_pct")


def small_config(family):
    """The arguments of the family's first golden case, without its rotary settings: they are what keys are tried beside."""
    case = next(case for case in FAMILY_CASES if case.family == family)
    return {key: value for key, value in case.config.items() if case.outer or key not in ("rope_parameters", *ROPE)}


def make_model(config, **settings):
    """The model of a family's configuration, in one that holds it if it is never alone."""
    if config.model_type in OUTER:
        return outer_models.build(outer_models.configuration(OUTER[config.model_type], config.to_dict()), experts_implementation="eager", **settings)
    return AutoModelForCausalLM.from_config(config, experts_implementation="eager", **settings)


def literal(text):
    """The default that stands in the source, as text; "" for an expression."""
    try:
        return repr(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return ""


def field_defaults(cls):
    """{field: default} of a configuration class and those above it."""
    found = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = repr(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = repr(field.default_factory())
        else:
            found[field.name] = ""
    return found


def taken_arguments(cls):
    """{key: default} that the class takes from arguments which are no fields of it."""
    functions = [vars(one)["__post_init__"] for one in cls.__mro__ if "__post_init__" in vars(one)]
    functions += [cls.convert_rope_params_to_dict, cls.standardize_rope_params]
    rotary, found = hasattr(cls, "rope_parameters"), {}
    for function in functions:
        source = inspect.getsource(function)
        for key, _, default in re.findall(r'kwargs\.(?:pop|get|setdefault)\(\s*"(\w+)"(,\s*([^()\n]+)\))?', source):
            if rotary or key not in ROPE:
                found.setdefault(key, literal(default) if default else "")
        for key in re.findall(r'(?:hasattr|getattr)\(self, "(original_\w+)"', source):
            if rotary:
                found.setdefault(key, "")
    return found


def asked_names(family):
    """Names that the library asks the configuration for while it loads a model and runs it."""
    asked = set()
    cls, original = type(AutoConfig.for_model(family)), PreTrainedConfig.__getattribute__

    def recording(self, name):
        if type(self) is cls:
            asked.add(name)
        return original(self, name)
    with tempfile.TemporaryDirectory() as folder:
        make_model(AutoConfig.for_model(family, **small_config(family))).save_pretrained(folder)
        PreTrainedConfig.__getattribute__ = recording
        try:
            model = (outer_models.outer_model_of(folder) if family in OUTER else AutoModelForCausalLM.from_pretrained(folder, experts_implementation="eager")).eval()
            with torch.no_grad():
                model(input_ids=torch.arange(8)[None])
        finally:
            PreTrainedConfig.__getattribute__ = original
    # what is not a key: methods and constants of the class, and what it keeps for itself
    return {name for name in asked if not name.startswith("_") and name not in dir(PreTrainedConfig) and not is_computed(cls, name)}


def is_computed(cls, name):
    """A property of the class, which no file can set, or a function."""
    found = inspect.getattr_static(cls, name, None)
    return isinstance(found, property) and found.fset is None or isinstance(found, staticmethod)


def rope_roots(cls):
    """The objects that rotary settings stand in."""
    by_kind = "full_attention" in (cls().rope_parameters or {})
    return ("rope_parameters.full_attention", "rope_parameters.sliding_attention", "rope_scaling") if by_kind else ("rope_parameters", "rope_scaling")


def keys_of(family):
    """{key: default} of a family."""
    cls = type(AutoConfig.for_model(family))
    rotary = hasattr(cls, "rope_parameters")
    found = {key: "" for key in asked_names(family) if rotary or not key.startswith("rope_")}
    found |= {key: "" for key in GenerationConfig._get_default_generation_params()}
    found |= taken_arguments(cls)
    found |= {key: f"alias of {name}" for key, name in cls.attribute_map.items()}
    found |= field_defaults(cls)
    found["model_type"] = repr(family)
    found["quantization_config"] = ""
    if rotary:
        for root in rope_roots(cls):
            found |= {f"{root}.{key}": "" for key in (*RopeParameters.__annotations__, "type")}
    for name, inner in cls.sub_configs.items():
        found |= {f"{name}.{key}": default for key, default in field_defaults(inner).items()}
    return found


def read_table():
    """{(family, key): (default, class)} of the committed table."""
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, newline="") as file:
        return {(row["family"], row["key"]): (row["default"], row["class"]) for row in csv.DictReader(file)}


def current_table(old):
    """The same of the installed library."""
    return {(family, key): (default, old.get((family, key), ("", "new"))[1])
            for family in FAMILIES for key, default in sorted(keys_of(family).items())}


def known_types():
    """The types of the committed list."""
    if not os.path.exists(TYPES):
        return set()
    with open(TYPES) as file:
        return set(file.read().split())


def compare_types():
    """Print types of models that are new or gone; 1 if there are any."""
    old, new = known_types(), set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    for name in sorted(old ^ new):
        print(f"{'+' if name in new else '-'} type {name}" + (": read it (a row of model/families), or say why not (model/catalogue.c)" if name in new else ""))
    return int(old != new)


def decoder_alone(name):
    """Whether the type's class for causal language models runs without an encoder and is made for nothing but the next token: it has no sibling that fills masks or
    goes from one sequence to another."""
    others = {**MODEL_FOR_MASKED_LM_MAPPING_NAMES, **MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, **MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES}
    return name not in others


def coverage(reach):
    """Print how many types the program reads, refuses with a reason, or does not know, and those that are new to the list."""
    lines = subprocess.run([reach, "families"], capture_output=True, text=True, check=True).stdout.splitlines()
    at = lines.index("refused by name:")
    read, refused = ({line.split()[0] for line in some if line.strip()} for some in (lines[1:at], lines[at + 1:]))
    print(f"transformers {__version__}")
    for title, types in (("causal language models", set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)),
                         ("of them without those that also fill masks or translate", {name for name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if decoder_alone(name)})):
        unknown = types - read - refused
        print(f"{title}: {len(types)}; read {len(types & read)}, refused with a reason {len(types & refused)}, not known {len(unknown)}")
    print("not known:", ", ".join(sorted(unknown)))
    return compare_types()


def write_table(table):
    with open(TABLE, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("family", "key", "default", "class"))
        writer.writerows((*at, *table[at]) for at in sorted(table))
    with open(TYPES, "w") as file:
        file.write("\n".join(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)) + "\n")


def compare(old, new):
    """Print the differences; 1 if there are any."""
    for at in sorted(old.keys() | new.keys()):
        before, now = old.get(at), new.get(at)
        if before is None:
            print(f"+ {at[0]},{at[1]}: default {now[0]}")
        elif now is None:
            print(f"- {at[0]},{at[1]}")
        elif before[0] != now[0]:
            print(f"  {at[0]},{at[1]}: default {before[0]}, now {now[0]}")
    return int(any(old.get(at, ("",))[0] != new.get(at, (None,))[0] or at not in old for at in old.keys() | new.keys()))


# --- do harmless keys change nothing? -------------------------------------------------------------

def other_values(default):
    """Values to try in place of a default, the likeliest first."""
    value = ast.literal_eval(default) if default and not default.startswith("alias") else None
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 3, value + 1]
    if isinstance(value, float):
        return [value + 0.25]
    if isinstance(value, str):
        return ["float64" if "float" in value else "other"]
    return [True, 3, 0.5, "float64", "other", [0], {"0": "a"}]


def logits_of(config, state):
    """Logits of the model with these keys in config.json, in float64."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        settings = AutoConfig.from_pretrained(folder)
    model = make_model(settings, dtype=torch.float64).eval()
    model.load_state_dict(state, strict=False)
    with torch.no_grad():
        result = model(input_ids=torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]]), return_dict=True)
    return result.logits


def changed_config(base, key, value):
    """A copy of the keys with one set, below an object where it has a dot."""
    config = json.loads(json.dumps(base))
    if key.startswith("rope_scaling."):      # which takes the place of rope_parameters, that some classes fill with a scaling
        config.setdefault("rope_scaling", config.pop("rope_parameters", None) or {})
    at = config
    *above, last = key.split(".")
    for name in above:
        at[name] = at.get(name) or {}
        at = at[name]
    at[last] = value
    return config


def try_family(family, keys):
    """Change each key; returns those that changed the logits."""
    torch.manual_seed(1)
    base = json.loads(AutoConfig.for_model(family, **small_config(family)).to_json_string(use_diff=False))
    base = {key: value for key, value in base.items() if value is not None}
    model = make_model(AutoConfig.for_model(family, **small_config(family)), dtype=torch.float64)
    state = {name: value + 0.3 * torch.randn_like(value) for name, value in model.state_dict().items()}
    expected, changed, refused = logits_of(base, state), [], []
    for key, default in keys:
        for value in other_values(default):
            try:
                same = torch.allclose(logits_of(changed_config(base, key, value), state), expected, rtol=0, atol=1e-6)     # other code, same sums
            except Exception:       # the class takes no such value
                continue
            if not same:
                changed.append(f"{family},{key} = {value}")
            break
        else:
            refused.append(key)
    print(f"{family}: {len(keys) - len(refused)} of {len(keys)} harmless keys tried, {len(changed)} of them changed the logits; "
          f"no value of these was taken: {', '.join(refused) or 'none'}")
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compare", action="store_true", help="print what the installed transformers has otherwise")
    parser.add_argument("--coverage", metavar="REACH", help="count the types of models that this program reads, refuses and does not know")
    parser.add_argument("--try", dest="attempt", action="store_true", help="change harmless keys and compare the logits")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.set_verbosity_error()
    if options.coverage:
        return coverage(options.coverage)
    old = read_table()
    if options.attempt:
        torch.set_default_dtype(torch.float64)
        changed = []
        for family in FAMILIES:
            changed += try_family(family, [(key, default) for (one, key), (default, kind) in sorted(old.items())
                                           if one == family and kind == "harmless" and key != "model_type"])
        print("\n".join(changed))
        return int(bool(changed))
    new = current_table(old)
    if options.compare:
        print(f"transformers {__version__}")
        return compare(old, new) | compare_types()
    write_table(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
