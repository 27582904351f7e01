"""Small models of types that hold a language model beside others (model/outer.c), as transformers makes them: the language model real, of the others one small matrix each.

What is left of an image's or sound's part has names, so that whoever reads the folder has to leave it out; text never reaches it.
"""

import json
import os
import re

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.auto import modeling_auto

CLASSES = {kind: names if isinstance(names, str) else names[0] for mapping in (modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES, modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)
           for kind, names in mapping.items()}
SIGLIP = dict(model_type="siglip_vision_model", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
OTHER_PARTS = {kind: {"vision_config": SIGLIP} for kind in ("aya_vision", "fast_vlm")}      # where those of the class's defaults cannot be made
OTHER_PARTS["apertus1p5"] = {"image_token_offset": 50, "audio_token_offset": 56, "vision_config": {"codebook_size": 6}, "audio_config": {"model_type": "wavtokenizer_encoder", "codebook_size": 8}}
IMAGES_REQUIRED = ("blip-2", "instructblip", "instructblipvideo", "llama4")      # their language model, which is a whole one, is run by itself


def configuration(outer, text, **changes):
    """A configuration of type `outer` whose language model is described by `text`, with its model_type."""
    parts = {"hidden_size": text["hidden_size"], "vocab_size": text["vocab_size"]} if outer == "ovis2" else OTHER_PARTS.get(outer, {})
    return transformers.AutoConfig.for_model(outer, text_config=text, **{**parts, **changes})


class Stub(torch.nn.Linear):
    """What is left of another part."""

    device = torch.device("cpu")

    def __init__(self, dtype):
        super().__init__(2, 2, dtype=dtype)


def inner_of(module):
    """The language model in a model that transformers made, or None: (owner, name of the member)."""
    for owner in (getattr(module, "model", None), module):
        for name in ("language_model", "text_model"):
            if isinstance(getattr(owner, name, None), torch.nn.Module):
                return owner, name
    raise ValueError(f"{type(module).__name__} has no language model that is known here")


def build(config, **settings):
    """The model of a configuration. Its other parts are Linear(2, 2) in place of what the class makes."""
    cls = getattr(transformers, CLASSES[config.model_type])
    with torch.device("meta"):
        model = cls._from_config(config, **settings)
    owner, name = inner_of(model)
    inner = getattr(owner, name)
    real = type(inner)._from_config(inner.config, **settings)
    setattr(owner, name, real)
    dtype = next(real.parameters()).dtype
    for holder in {id(one): one for one in (model, getattr(model, "model", model))}.values():
        for child_name, child in list(holder.named_children()):
            if child is real or child is getattr(model, "model", None):
                continue
            if child_name == "lm_head":
                setattr(holder, child_name, torch.nn.Linear(child.in_features, child.out_features, bias=child.bias is not None, dtype=dtype))
            else:
                setattr(holder, child_name, Stub(dtype))
        for own, parameter in list(holder.named_parameters(recurse=False)):
            setattr(holder, own, torch.nn.Parameter(torch.ones(2, dtype=dtype)))
        for own, _ in list(holder.named_buffers(recurse=False)):
            setattr(holder, own, torch.ones(2, dtype=dtype))
    model.tie_weights()
    return model.eval()


def outer_model_of(folder, **settings):
    """The model of a folder."""
    return build(transformers.AutoConfig.from_pretrained(folder), attn_implementation="eager", experts_implementation="eager", **settings)


def edit_config(folder, change):
    """config.json as the function leaves it."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config = change(config) or config
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def only_differences(folder):
    """text_config without what its class has by default, as releases of transformers before 5 write it."""
    def change(config):
        text = config["text_config"]
        default = json.loads(transformers.AutoConfig.for_model(text["model_type"]).to_json_string(use_diff=False))
        config["text_config"] = {key: value for key, value in text.items() if key == "model_type" or key not in default or default[key] != value}
    edit_config(folder, change)


def flat(folder):
    """The keys of the language model among the others, as older files of Qwen2-VL have them."""
    def change(config):
        text = config.pop("text_config")
        return {**{key: value for key, value in text.items() if key != "model_type"}, **config}
    edit_config(folder, change)


def rename(folder, pairs):
    """Names of tensors by (pattern, text in its place)."""
    path, tensors = os.path.join(folder, "model.safetensors"), {}
    for name, value in load_file(path).items():
        for pattern, other in pairs:
            name = re.sub(pattern, other, name)
        tensors[name] = value
    save_file(tensors, path, metadata={"format": "pt"})


def as_bin(folder):
    """model.safetensors as pytorch_model.bin."""
    path = os.path.join(folder, "model.safetensors")
    torch.save(load_file(path), os.path.join(folder, "pytorch_model.bin"))
    os.remove(path)
