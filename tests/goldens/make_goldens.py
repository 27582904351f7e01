#!/usr/bin/env python3
"""Make the golden cases: tiny checkpoints with float64 gradients from independent oracles.

    python3 tests/goldens/make_goldens.py              every case with a checkpoint of its own
    python3 tests/goldens/make_goldens.py --examples   also the cases on trained example models
    python3 tests/goldens/make_goldens.py --only CASE  these cases, leaving the others
    python3 tests/goldens/make_goldens.py --check      compare the two oracles and reload the files, write nothing

Each case is a folder with a checkpoint, tokens.npy (int32 [S, L]), norm.npy (float64 [S, L-1], the raw
||g_m||_2) and logprob.npy (float64 [S]). g_m is the gradient of log p(token L | tokens 1..L-1) with
respect to the row that the token table gives for position m. See README.md.
"""

import argparse
import csv
import gzip
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from transformers.activations import XIELUActivation

import oracle
import outer_models
import trainers
from converters import CONVERTERS
from expected import draw_tokens, expected_of, generator, norms_of, write_expected
from family_cases import FAMILY_CASES
from recurrence_cases import settle_decays

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEMO_TEXT = os.path.join("examples", "text", "sqlalchemy.py.gz")
EXAMPLES = ("alibi", "rotary", "window-24", "window-40")
EXAMPLE_OFFSET, EXAMPLE_LENGTH = 250000, 512
ROUTERS, ROUTER_GAIN = (".mlp.gate.weight", ".mixer.gate.weight", ".mlp.gate.wg.weight", ".router.weight", ".router.proj.weight", ".ffn.router.layer.weight"), 1.5     # so that experts have weights far from equal, and no two nearly the same
ONE_MORE = ("gemma", "gemma2", "gemma3_text", "nemotron", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "recurrent_gemma", "vaultgemma")      # families that add 1 to stored norms
QK_GAIN = 2.0       # on weights of unit gain: scores with a standard deviation near 4, far from flat
NARROW = (torch.float32, torch.float16, torch.bfloat16)


# --- files ----------------------------------------------------------------------------------------

def fresh_folder(name):
    """An empty folder for the case."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def rows_by_token(model, table, stored):
    """A function that tells a model with tables of inputs by layer (Gemma 3n, 4) the tokens of rows [n, d]: they are constants of the derivative, so
    those of the nearest rows of its embedding."""
    module = next((one for name, one in model.named_modules() if name.endswith("embed_tokens_per_layer")), None)
    if module is None:
        return lambda rows: None
    found = {}
    scale = module.scalar_embed_scale if stored == torch.float32 else torch.tensor(module.scalar_embed_scale, dtype=stored).item()
    module.register_forward_hook(lambda module, given, result: scale * module.weight[found["ids"].where(found["ids"] < len(module.weight), 0)])

    def tell(rows):
        found["ids"] = torch.cdist(rows.detach(), table).argmin(1)[None]
    return tell


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


# --- transformers, widened to float64 -----------------------------------------------------------

class Widen(TorchFunctionMode):
    """Every request for float32, by argument or by .float(), gives float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()

        def wide(value):
            return torch.float64 if value is torch.float32 else value
        return function(*tree_map(wide, args), **tree_map(wide, kwargs or {}))


# models make one in the default type, bfloat16, drop it, and make the one they use
XIELUActivation.__init__.__defaults__ = tuple(torch.float64 if value is torch.bfloat16 else value for value in XIELUActivation.__init__.__defaults__)


class RefuseNarrow(TorchDispatchMode):
    """Fail if any operation yields a tensor narrower than float64; but for a lone number in bfloat16, in which RecurrentGemma makes its factor of embeddings whatever the model's type."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.dtype in NARROW and not (value.dtype is torch.bfloat16 and value.dim() == 0):
                raise AssertionError(f"{function} gave a {value.dtype}")
        return result


def is_conv1d(name, config):
    """Whether a matrix is stored [in, out]."""
    return config.model_type == "gpt2" and any(part in name for part in ("c_attn", "c_proj", "c_fc"))


def fused_queries_and_keys(name, value, config):
    """Views of `value` that hold the query and key part of a projection, head size first; none for other matrices."""
    heads = getattr(config, "num_attention_heads", 0)
    if name.endswith(("q_proj.weight", "k_proj.weight", "q_b_proj.weight")):
        return [value]
    if name.endswith("kv_b_proj.weight"):                    # rows [H, key, value]
        return [value.reshape(heads, -1, value.shape[1])[:, :config.qk_nope_head_dim]]
    if name.endswith("kv_a_proj_with_mqa.weight"):           # the part of keys behind the latent
        return [value[config.kv_lora_rank:]]
    if name.endswith("c_attn.weight") and is_conv1d(name, config):      # [d, 3d]: Q | K | V
        return [value[:, :2 * value.shape[0]]]
    if name.endswith("qkv_proj.weight") and config.model_type == "codegen":     # rows [4, q v k, quarter of the heads]
        parts = value.reshape(4, 3, -1, value.shape[1])
        return [parts[:, 0], parts[:, 2]]
    if name.endswith("qkv_proj.weight"):                     # rows Q | K | V
        return [value[:-config.num_key_value_heads * (value.shape[1] // heads)]]
    if name.endswith("Wqkv.weight"):                         # rows Q | K | V
        shared = config.attn_config.kv_n_heads if config.model_type == "dbrx" else heads
        return [value[:-shared * (value.shape[1] // heads)]]
    if not name.endswith(("query_key_value.weight", "c_attn.weight")):
        return []
    size = config.hidden_size // heads
    if getattr(config, "new_decoder_architecture", False):   # rows [groups, queries of a group + 2, head size]
        return [value.reshape(config.num_kv_heads, heads // config.num_kv_heads + 2, size, -1)[:, :-1]]
    if getattr(config, "multi_query", False):                # rows [H queries + 2, head size]
        return [value[:-size]]
    return [value.reshape(heads, 3, size, -1)[:, :2]]        # rows [H, 3, head size]


def random_weight(name, shape, config, rng):
    """float32 values of one parameter: norms near 1 (stored less 1 where the family adds it), biases near 0, matrices of unit gain."""
    value = rng.standard_normal(shape)
    is_norm = len(shape) == 1 or re.search(r"(q_norm|k_norm)\.weight$", name)
    if name.endswith("sinks"):
        value *= 2
    elif name.endswith("A_log"):         # decays from fast to slow
        value = value - 2
    elif name.endswith("recurrent_param"):
        value = 1.5 * value - 4
    elif name.endswith("slope_rate"):
        value = np.exp(value - 2)
    elif name.endswith("time_decay"):
        value = value - 1.5
    elif name.endswith("time_first"):
        pass
    elif "time_mix_" in name:
        value = 0.5 + 0.4 * value
    elif name.endswith("bias"):
        value *= 0.2
    elif name.endswith(("act_fn.alpha_p", "act_fn.alpha_n")):
        pass
    elif name.endswith("act_fn.beta"):
        value = 0.5 + 0.2 * value
    elif name.endswith("act_fn.eps"):
        value = -0.05 * np.abs(value)
    elif is_norm:
        value = (0 if config.get_text_config().model_type in ONE_MORE and not name.endswith("linear_attn.norm.weight") else 1) + 0.3 * value
    elif any(part in name for part in ("wte", "wpe", "embed", "lm_head", "output_projection")):
        value *= 0.4
    else:
        value /= np.sqrt(shape[0] if is_conv1d(name, config) else shape[-1])
        if name.endswith(ROUTERS):
            value *= ROUTER_GAIN
        for part in fused_queries_and_keys(name, value, config):
            part *= QK_GAIN
    return torch.from_numpy(np.asarray(value, dtype=np.float32))


def stored_buffers(model):
    """Buffers that files have and that change the model."""
    return [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(("e_score_correction_bias", "expert_bias", "act_fn.beta", "act_fn.eps", ".layer_scalar", ".slope_rate"))]


def random_state(model, case, rng):
    """Values of every parameter (a tied one once), rounded to the stored type."""
    state = {name: random_weight(name, tuple(parameter.shape), model.config.get_text_config(), rng).to(case.stored)
             for name, parameter in sorted([*model.named_parameters(), *stored_buffers(model)]) if case.decays or not name.endswith(".slope_rate")}
    return {name: value * getattr(case, "gain", 1.0) if name.endswith("experts.gate_up_proj") else value for name, value in state.items()}


def published_names(case, state, config):
    """Tensor names and extra buffers as older published files have them."""
    n = config.max_position_embeddings if case.family in ("gpt2", "gpt_neox") else 0
    lower = torch.tril(torch.ones(n, n)).reshape(1, 1, n, n)
    if case.family in ("gpt2", "bloom", "mpt", "gptj", "falcon"):
        state = {name.removeprefix("transformer."): value for name, value in state.items()}
    for layer in range(config.num_hidden_layers):
        if case.family == "gpt2":
            state[f"h.{layer}.attn.bias"] = lower.clone()
        if case.family == "gpt_neox":
            at = f"gpt_neox.layers.{layer}.attention."
            r = int(config.hidden_size // config.num_attention_heads * config.rope_parameters["partial_rotary_factor"])
            theta = config.rope_parameters["rope_theta"]
            state[at + "bias"] = lower.bool()
            state[at + "masked_bias"] = torch.tensor(-1e9)
            state[at + "rotary_emb.inv_freq"] = 1.0 / theta ** (torch.arange(0, r, 2, dtype=torch.float32) / r)
    return state


def published_config(written):
    """The keys of older published configs: torch_dtype, rope_theta, rotary_pct, rope_scaling."""
    config = {key: value for key, value in written.items() if key not in ("dtype", "rope_parameters", "layer_types")}
    config["torch_dtype"] = written["dtype"]
    rope = written.get("rope_parameters")
    if rope and written["model_type"] == "gpt_neox":
        config["rotary_emb_base"], config["rotary_pct"] = rope["rope_theta"], rope["partial_rotary_factor"]
    elif rope:
        config["rope_theta"] = rope["rope_theta"]
        if "partial_rotary_factor" in rope:
            config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        extra = {key: value for key, value in rope.items() if key not in ("rope_type", "rope_theta")}
        config["rope_scaling"] = {"type": rope["rope_type"], **extra} if extra else None
    return config


def write_family_checkpoint(case, folder, rng):
    """Save the random model in the case's style."""
    from transformers import AutoConfig, AutoModelForCausalLM
    config = AutoConfig.for_model(case.family, **case.config)
    if case.outer:
        model = outer_models.build(outer_models.configuration(case.outer, config.to_dict(), tie_word_embeddings=bool(case.config.get("tie_word_embeddings"))))
    else:
        model = AutoModelForCausalLM.from_config(config)
    state = random_state(model, case, rng)
    model.load_state_dict(state, strict=False)
    settle_decays(model)
    model.to(case.stored).save_pretrained(folder, max_shard_size=case.shard_size, save_original_format=not case.stacked)
    extra = os.path.join(folder, "generation_config.json")
    if os.path.exists(extra):
        os.remove(extra)
    if case.published or case.written:
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            written = json.load(file)
        write_json(path, {**(published_config(written) if case.published else written), **case.written})
    if case.published:
        names = published_names(case, load_file(os.path.join(folder, "model.safetensors")), config)
        save_file(names, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    return state


class FamilyOracle:
    """A transformers model in float64 with its token rows replaced by a leaf."""

    def __init__(self, case, folder, state):
        from transformers import AutoConfig, AutoModelForCausalLM
        torch.set_default_dtype(torch.float64)
        try:
            with Widen(), RefuseNarrow():
                config = AutoConfig.from_pretrained(folder)
                config.dtype = torch.float64        # some modules ask for it
                make = outer_models.build if case.outer else AutoModelForCausalLM.from_config
                model = make(config, attn_implementation=case.attention, experts_implementation="eager", dtype=torch.float64)
        finally:
            torch.set_default_dtype(torch.float32)
        missing, unexpected = model.load_state_dict({name: value.double() for name, value in state.items()}, strict=False)
        tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - {name for name, _ in model.named_parameters()}
        if not case.decays:
            missing = [name for name in missing if not name.endswith(".slope_rate")]
        missing = [name for name in missing if not name.endswith(("query_decay", "key_decay", "diagonal_decay"))]
        assert not unexpected and set(missing) <= tied, (missing, unexpected)
        self.model = model.eval().requires_grad_(False)
        settle_decays(model)
        if case.oracle:
            with Widen():
                case.oracle(model)
        self.table = model.get_input_embeddings().weight.detach().clone()
        self.rows = None
        scale = self.embedding_scale(case)
        model.get_input_embeddings().register_forward_hook(lambda module, given, result: scale * self.rows[None])
        if case.family == "falcon":
            self.widen_falcon_alibi(case)
        self.by_token = rows_by_token(self.model, self.table, case.stored)
        if case.family == "mpt":
            self.apply_bias_max(config)
        if case.family == "phimoe":
            self.apply_length(case)
        for value in (*model.parameters(), *(buffer for name, buffer in model.named_buffers() if not name.endswith("normalizer"))):
            assert value.dtype not in NARROW

    def embedding_scale(self, case):
        """The factor inside the embedding module, which Gemma rounds to the type of the stored weights."""
        embedding = self.model.get_input_embeddings()
        scale = getattr(embedding, "scalar_embed_scale", None)
        if scale is None:
            return getattr(embedding, "embed_scale", 1.0)
        return scale if case.stored == torch.float32 else torch.tensor(scale, dtype=case.stored).item()

    @staticmethod
    def widen_falcon_alibi(case):
        """Falcon makes its biases in bfloat16, whatever the model's type: keep that, then widen."""
        from transformers.models.falcon import modeling_falcon
        original = getattr(modeling_falcon.build_alibi_tensor, "original", modeling_falcon.build_alibi_tensor)
        table = original(torch.ones(1, case.length - 1, dtype=torch.long), case.config["num_attention_heads"], torch.bfloat16).double()

        def widened(mask, heads, dtype):
            return table
        widened.original = original
        modeling_falcon.build_alibi_tensor = widened

    def apply_bias_max(self, config):
        """transformers leaves out alibi_bias_max, which its function and the training code have."""
        from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
        most = config.attn_config.alibi_bias_max
        self.model.transformer.build_mpt_alibi_tensor = lambda heads, length, device=None: build_mpt_alibi_tensor(heads, length, most, device)

    def apply_length(self, case):
        """transformers 5 makes longrope's frequencies without the length of the segment, so always of the short factors; its version 4
        and the published code have the long ones beyond the original length."""
        rotary = self.model.model.rotary_emb
        if rotary.rope_type == "longrope":
            plain = rotary.rope_init_fn
            rotary.rope_init_fn = lambda config: plain(config, seq_len=case.length - 1)

    def log_probability(self, rows, target):
        """log p of `target` after the token rows [n, d]; the ids fed in are ignored by the hook."""
        self.rows = rows
        self.by_token(rows)
        torch.set_default_dtype(torch.float64)
        try:
            with Widen(), RefuseNarrow():
                ids = torch.zeros(1, rows.shape[0], dtype=torch.int64)
                logits = self.model(input_ids=ids, use_cache=False).logits[0, -1]
                return torch.log_softmax(logits, -1)[target]
        finally:
            torch.set_default_dtype(torch.float32)


def make_family_case(case):
    """Write one transformers case; returns its row of cases.csv."""
    rng, folder = generator(case.name), fresh_folder(case.name)
    state = write_family_checkpoint(case, folder, rng)
    model = FamilyOracle(case, folder, state)
    tokens = draw_tokens(rng, case.segments, case.length, case.config.get("output_vocab_size") or case.config["vocab_size"])
    norm, logprob = expected_of(model.log_probability, model.table, tokens, case.cone, rng, case.name)
    if case.rewrite:
        case.rewrite(folder)
    write_expected(folder, tokens, norm, logprob)
    family = {"nanogpt": "nanogpt", "meta": "llama_meta"}.get(case.name.split("-")[0], case.family)
    return describe(case.name, family, case.notes, os.path.join("tests/goldens", case.name, case.file).rstrip("/"), norm)


# --- our own layout -----------------------------------------------------------------------------

@dataclass
class OwnCase:
    """A checkpoint in the layout of doc/checkpoint.md; `config` holds what differs from BASE."""

    name: str
    config: dict
    notes: str
    cone: int = 10 ** 9
    length: int = 48
    segments: int = 2
    stored: torch.dtype = torch.float32


BASE = {"format": "reach-checkpoint/1", "vocabulary": 97, "hidden": 24, "layers": 2, "heads": 4, "mlp": 32}
T5_WEIGHTS = {f"w{i}": [round(float(x), 4) for x in row]
              for i, row in enumerate(generator("t5 weights").normal(0, 1.5, (32, 4)))}

OWN_CASES = [
    OwnCase("own-alibi", {"position_bias": "alibi(delta=0)", "layers": 3, "train_length": 32},
            "alibi(delta=0); every default"),
    OwnCase("own-window", {"window": 8, "layers": 3, "norm_epsilon": 1e-3},
            "window 8 in 3 layers: exact zeros outside 22 tokens", cone=22, length=56),
    OwnCase("own-window-list", {"window": [4, 9, 6], "layers": 3, "position_bias": "alibi_equal(s=4)"},
            "a window for each layer: exact zeros outside 17 tokens; alibi_equal(s=4)", cone=17),
    OwnCase("own-window-list-open", {"window": [6, 0, 3], "layers": 3, "position_bias": "divergent_b"},
            "windows 6, none, 3; divergent_b; bf16 weights", stored=torch.bfloat16),
    OwnCase("own-sinusoidal", {"position": {"kind": "sinusoidal"}, "embedding_scale": 4.5},
            "sinusoidal rows; embedding_scale 4.5"),
    OwnCase("own-learned", {"position": {"kind": "learned", "length": 64}, "activation": "gelu_tanh"},
            "learned rows; gelu_tanh", length=65),
    OwnCase("own-rotary-half", {"position": {"kind": "rotary", "base": 10000, "fraction": 1, "pairing": "half"}, "head_size": 8},
            "rotary, pairs (i, i + r/2), whole head; head_size 8 with 6 = d/H"),
    OwnCase("own-rotary-interleaved",
            {"position": {"kind": "rotary", "base": 500, "fraction": 0.5, "pairing": "interleaved"}, "head_size": 12, "kv_heads": 2},
            "rotary, pairs (2i, 2i + 1), half of the head, base 500; 2 kv heads", stored=torch.bfloat16),
    OwnCase("own-rotary-odd-fraction",
            {"position": {"kind": "rotary", "base": 2000, "fraction": 0.75}, "head_size": 10, "kv_heads": 1, "heads": 3},
            "fraction 0.75 of 10 is 7, made even: 6; one kv head for 3; pairing by default"),
    OwnCase("own-kerple-log",
            {"position_bias": {"formula": "kerple_log", "set": {"p": [0.5, 1.0, 1.5, 2.25], "a": [1.0, 0.125, 3.5, 0.75]}},
             "activation": "quick_gelu", "hidden": 16},
            "kerple_log with p and a for each head; quick_gelu; f64 weights", stored=torch.float64),
    OwnCase("own-kerple-power",
            {"position_bias": {"formula": "kerple_power", "set": {"p": [0.5, 1.0, 1.75, 2.0], "a": [0.5, 0.25, 0.0625, 0.01]}},
             "position_multiplier": {"formula": "exp(-b*t^q)", "set": {"b": [0.01, 0.1, 0.3, 0.05], "q": [1.0, 0.5, 0.25, 1.5]}}},
            "kerple_power and a multiplier exp(-b*t^q), parameters for each head"),
    OwnCase("own-t5", {"position_bias": {"formula": "t5", "set": T5_WEIGHTS}, "activation": "relu"},
            "32 T5 buckets for each head, distances beyond 128; relu", length=150),
    OwnCase("own-sandwich", {"position_bias": "sandwich(dbar=16)", "attention_scale": 0.7},
            "sandwich(dbar=16), i from 0; attention_scale 0.7", length=70),
    OwnCase("own-smoothed-sandwich", {"position_bias": "smoothed_sandwich", "norm": "rmsnorm", "activation": "silu"},
            "smoothed_sandwich; rmsnorm with a bias; silu without gate"),
    OwnCase("own-type1", {"position_bias": "type1", "heads": 6, "head_size": 5},
            "type1; 6 heads of size 5 in hidden 24"),
    OwnCase("own-type2", {"position_bias": "type2", "residual": "parallel"}, "type2; parallel residual with two norms",
            stored=torch.float16),
    OwnCase("own-formula", {"position_bias": "-ln(1+t)/h"}, "-ln(1+t)/h, no preset", segments=3),
    OwnCase("own-formula-cut", {"position_bias": "t < 12 ? -t/(2*h) : -inf", "layers": 2},
            "t < 12 ? -t/(2*h) : -inf: exact zeros outside 23 tokens", cone=23),
    OwnCase("own-preset-window", {"position_bias": "window(w=10)", "window": [7, 0]},
            "window(w=10) as a bias, and window 7 in one layer: exact zeros outside 16 tokens", cone=16),
    OwnCase("own-multiplier", {"position_multiplier": "1/(1+t/(4*h))", "position_bias": "alibi(delta=-1)"},
            "multiplier 1/(1+t/(4*h)) before the bias alibi(delta=-1)"),
    OwnCase("own-key-bias", {"key_bias": "sin(t/h)*h - t/40", "position_bias": "divergent_a"},
            "key_bias sin(t/h)*h - t/40 at the key's position; divergent_a"),
    OwnCase("own-soft-cap", {"soft_cap": 3.0, "position": {"kind": "rotary"}},
            "soft_cap 3; rotary with the default base, fraction and pairing"),
    OwnCase("own-soft-cap-multiplier", {"soft_cap": 4.0, "position_multiplier": "1/(1+t/(4*h))", "key_bias": "sin(t/h)*h - t/40",
                                        "position_bias": "alibi(delta=0)", "window": 30, "layers": 2},
            "order: scale, soft cap, multiplier, bias, key bias, window"),
    OwnCase("own-gated",
            {"activation": "silu", "gated": True, "norm": "rmsnorm", "norm_epsilon": 1e-3, "residual": "parallel", "kv_heads": 2,
             "tied_head": False, "biases": {"head": True}, "position": {"kind": "rotary", "base": 1000, "fraction": 0.5}, "head_size": 8},
            "gated silu; rmsnorm without bias; parallel residual; 2 kv heads; untied head with a bias"),
    OwnCase("own-biases-partial",
            {"biases": {"norm": True, "qkv": True, "output": False}, "position_bias": "alibi(delta=-2)", "tied_head": False,
             "gated": True, "activation": "gelu"},
            "biases in norms and qkv only; untied head; gated gelu"),
    OwnCase("own-head-size-1", {"heads": 6, "head_size": 1, "kv_heads": 3, "position_bias": "alibi(delta=0)", "mlp": 29},
            "heads of size 1; 6 query heads on 3 kv heads; mlp 29"),
]


def random_own_tensors(config, rng, stored):
    """Random tensors of the layout: norms near 1, biases near 0, matrices of unit gain."""
    tensors = {}
    for name, shape in sorted(oracle.tensor_shapes(config).items()):
        value = rng.standard_normal(shape)
        if name.endswith(".bias"):
            value *= 0.2
        elif "norm" in name:
            value = 1 + 0.3 * value
        elif name in ("embedding.weight", "position.weight", "head.weight"):
            value *= 0.4
        else:
            value /= np.sqrt(shape[1])
            if ".query." in name or ".key." in name:
                value *= QK_GAIN
        tensors[name] = torch.from_numpy(value).to(torch.float32 if stored != torch.float64 else stored).to(stored)
    return tensors


def make_own_case(case):
    """Write one case of our layout; returns its row of cases.csv."""
    rng, folder = generator(case.name), fresh_folder(case.name)
    write_json(os.path.join(folder, "config.json"), {**BASE, **case.config})
    with open(os.path.join(folder, "config.json")) as file:
        config = oracle.read_config(file.read())
    save_file(random_own_tensors(config, rng, case.stored), os.path.join(folder, "model.safetensors"))
    model = oracle.Decoder.read(folder)
    tokens = draw_tokens(rng, case.segments, case.length, config["vocabulary"])
    norm, logprob = expected_of(model.log_probability, model.tensors["embedding.weight"], tokens, case.cone, rng, case.name)
    write_expected(folder, tokens, norm, logprob)
    return describe(case.name, "reach", case.notes, f"tests/goldens/{case.name}", norm)


# --- training checkpoints -----------------------------------------------------------------------

def make_trainer_case(case, maker):
    """Write one case of trainers.py; returns its row of cases.csv."""
    rng, folder = generator(case.name), fresh_folder(case.name)
    config, tensors = maker.full_config(case), trainers.random_tensors(case, maker, rng, QK_GAIN)
    write_json(os.path.join(folder, "config.json"), config)
    save_file(tensors, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json")) as file:
        model = maker(json.load(file), load_file(os.path.join(folder, "model.safetensors")))
    tokens = maker.first_token + draw_tokens(rng, case.segments, case.length, case.vocabulary - maker.first_token)
    norm, logprob = expected_of(model.log_probability, model.table, tokens, 10 ** 9, rng, case.name)
    write_expected(folder, tokens, norm, logprob)
    return describe(case.name, maker.family, case.notes, f"tests/goldens/{case.name}", norm)


# --- trained examples ---------------------------------------------------------------------------

def demo_tokens(folder):
    """One segment of the demo text by the model's own tokenizer, int32 [1, 512]."""
    from tokenizers import Tokenizer
    with gzip.open(os.path.join(ROOT, DEMO_TEXT), "rt", encoding="utf-8", newline="") as file:
        text = file.read(EXAMPLE_OFFSET + 16 * EXAMPLE_LENGTH)[EXAMPLE_OFFSET:]
    return np.array(Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode(text).ids[:EXAMPLE_LENGTH], dtype=np.int32)[None]


def make_example_case(name):
    """Write the expected values of a trained example model; its checkpoint stays where it is."""
    rng, folder = generator("example " + name), fresh_folder("example-" + name)
    model = oracle.Decoder.read(os.path.join(ROOT, "examples", "models", name))
    window, layers, tokens = model.config["window"], model.config["layers"], demo_tokens(os.path.join(ROOT, "examples", "models", name))
    cone = 1 + sum(w - 1 for w in window) if all(window) else 10 ** 9
    norm, logprob = expected_of(model.log_probability, model.tensors["embedding.weight"], tokens, cone, rng, name)
    check_against_training_code(name, model, tokens, norm, logprob)
    write_expected(folder, tokens, norm, logprob)
    notes = f"trained example, {layers} layers, one segment of the demo text"
    return describe("example-" + name, "reach", notes, f"examples/models/{name}", norm)


def check_against_training_code(name, model, tokens, norm, logprob):
    """The model code of examples/, in float64, must give the same values."""
    sys.path.insert(0, os.path.join(ROOT, "examples"))
    import decoder as training
    from position_encodings import encoding_of
    other = training.Decoder(encoding_of(name), training.SHAPES["small"]).double().requires_grad_(False)
    names = training.export_tensors(other)
    assert set(names) == set(model.tensors)
    other.embedding.weight.copy_(model.tensors["embedding.weight"])
    for part in ("weight", "bias"):
        getattr(other.final_norm, part).copy_(model.tensors[f"final_norm.{part}"])
        for n, block in enumerate(other.layers):
            at = f"layers.{n}."
            joined = [model.tensors[f"{at}attention.{which}.{part}"] for which in ("query", "key", "value")]
            getattr(block.query_key_value, part).copy_(torch.cat(joined))
            for module, where in ((block.attention_norm, "attention_norm"), (block.output, "attention.output"),
                                  (block.mlp_norm, "mlp_norm"), (block.up, "mlp.up"), (block.down, "mlp.down")):
                getattr(module, part).copy_(model.tensors[f"{at}{where}.{part}"])
    ids = torch.from_numpy(tokens[0].astype(np.int64))
    again, value, _ = norms_of(lambda rows, target: torch.log_softmax(other.forward_rows(rows[None])[0, -1], -1)[target],
                               other.embedding.weight[ids[:-1]], ids[-1])
    assert abs(value - logprob[0]) < 1e-10 and np.allclose(again.numpy(), norm[0], rtol=1e-8, atol=1e-14)


# --- comparing the two oracles ------------------------------------------------------------------

def convertible(case):
    """Whether our layout can express the case."""
    scaled = case.config.get("rope_parameters", {}).get("rope_type", "default") != "default"
    other = case.config.get("scale_attn_by_inverse_layer_idx") or not case.config.get("scale_attn_weights", True) or case.config.get("attention_bias") is False
    return case.family in CONVERTERS and not scaled and not other


def compare_oracles():
    """Run the transformers models through oracle.py and compare with the stored goldens."""
    from transformers import AutoConfig, AutoModelForCausalLM
    for case in filter(convertible, FAMILY_CASES):
        config = AutoConfig.for_model(case.family, **case.config)
        state = random_state(AutoModelForCausalLM.from_config(config), case, generator(case.name))
        own, tensors = CONVERTERS[case.family](config, state)
        own = oracle.read_config(json.dumps({"format": "reach-checkpoint/1", **own}))
        model, folder = oracle.Decoder(own, tensors), os.path.join(HERE, case.name)
        tokens = np.load(os.path.join(folder, "tokens.npy"))
        norm, logprob = expected_of(model.log_probability, model.tensors["embedding.weight"], tokens, case.cone,
                                    generator("check"), case.name)
        stored_norm, stored_logprob = (np.load(os.path.join(folder, name)) for name in ("norm.npy", "logprob.npy"))
        error = np.abs(norm - stored_norm).max() / stored_norm.max()
        print(f"{case.name}: oracles differ by {error:.1e} in the norms, {np.abs(logprob - stored_logprob).max():.1e} in log p")
        assert error < 1e-11 and np.abs(logprob - stored_logprob).max() < 1e-11


def compare_files():
    """Load each written family case as transformers loads it, in float32: log p must agree with the golden."""
    from transformers import AutoModelForCausalLM
    for case in (case for case in FAMILY_CASES if case.reload):
        folder = os.path.join(HERE, case.name)
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=case.attention, dtype=torch.float32).eval()
        tokens = torch.from_numpy(np.load(os.path.join(folder, "tokens.npy")).astype(np.int64))
        with torch.no_grad():
            logits = model(input_ids=tokens[:, :-1], use_cache=False).logits[:, -1]
        logprob = torch.log_softmax(logits, -1).gather(1, tokens[:, -1:])[:, 0].numpy()
        error = np.abs(logprob - np.load(os.path.join(folder, "logprob.npy"))).max()
        print(f"{case.name}: log p of the files in float32 differs by {error:.1e}")
        assert error < 1e-4


# --- table of cases -----------------------------------------------------------------------------

def describe(name, family, notes, checkpoint, norm):
    """Print a line for people; return the row of cases.csv."""
    shares = norm / norm.sum(1, keepdims=True)
    print(f"{name}: norms {norm[norm > 0].min():.1e} to {norm.max():.1e}, largest share {shares.max():.2f}")
    return {"case": name, "family": family, "notes": notes, "checkpoint": checkpoint,
            "segments": norm.shape[0], "length": norm.shape[1] + 1}


def write_cases(rows, kept):
    """cases.csv: `rows`, in place of the old ones of the same case; other old rows stay where kept(case)."""
    path = os.path.join(HERE, "cases.csv")
    table = {}
    if os.path.exists(path):
        with open(path) as file:
            table = {row["case"]: row for row in csv.DictReader(file) if kept(row["case"])}
    table.update({row["case"]: row for row in rows})
    places = {name: n for n, name in enumerate(all_cases())}
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["case", "family", "notes", "checkpoint", "segments", "length"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(table.values(), key=lambda row: places.get(row["case"], len(places))))


def all_cases():
    """Name of a case -> function that makes it and returns its row of cases.csv."""
    makers = {case.name: (lambda case=case: make_family_case(case)) for case in FAMILY_CASES}
    makers.update({case.name: (lambda case=case: make_own_case(case)) for case in OWN_CASES})
    for maker, cases in ((trainers.Megatron, trainers.MEGATRON_CASES), (trainers.Fairseq, trainers.FAIRSEQ_CASES)):
        makers.update({case.name: (lambda case=case, maker=maker: make_trainer_case(case, maker)) for case in cases})
    makers.update({"example-" + name: (lambda name=name: make_example_case(name)) for name in EXAMPLES})
    return makers


def main():
    parser = argparse.ArgumentParser(description="make the golden cases")
    parser.add_argument("--examples", action="store_true", help="also the cases on trained example models")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="make these cases and leave the others")
    parser.add_argument("--check", action="store_true", help="compare the two oracles and reload the files, write nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.check:
        compare_oracles()
        compare_files()
        return
    makers = all_cases()
    names = options.only or [name for name in makers if options.examples or not name.startswith("example-")]
    unknown = [name for name in names if name not in makers]
    if unknown:
        parser.error(f"unknown case {unknown[0]}")
    rows = [makers[name]() for name in names]
    write_cases(rows, (lambda case: True) if options.only else (lambda case: case.startswith(("example-", "litgpt-"))))


if __name__ == "__main__":
    main()
