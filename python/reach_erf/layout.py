"""The checkpoint layout of doc/checkpoint.md: the keys of config.json and the names and shapes of the tensors."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Mapping, Tuple

from .errors import refuse

Rule = Tuple[Callable[[Any, Dict[str, Any]], bool], str]  # whether a value is right in a configuration; what is expected


def _real(low: float, high: float) -> Rule:
    return lambda v, c: type(v) in (int, float) and low <= v <= high, f"a number from {low:g} to {high:g}"


def _whole(low: int, high: int) -> Rule:
    return lambda v, c: type(v) is int and low <= v <= high, f"a whole number from {low} to {high}"


def _one_of(*names: str) -> Rule:
    return lambda v, c: v in names, ", ".join(names)


def _is_formula(value: Any, config: dict[str, Any]) -> bool:
    given = value if isinstance(value, dict) else {"formula": value}
    if not isinstance(given.get("formula"), str) or not isinstance(given.get("set", {}), dict) or set(given) - {"formula", "set"}:
        return False
    return all(len(one) == config.get("heads") and all(map(_is_number, one)) if isinstance(one, list) else _is_number(one)
               for one in given.get("set", {}).values())


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_window(value: Any, config: dict[str, Any]) -> bool:
    widths = value if isinstance(value, list) else [value]
    return all(_WIDTH[0](width, config) for width in widths) and (widths is not value or len(value) == config.get("layers"))


def _are_biases(value: Any, config: dict[str, Any]) -> bool:
    given = value if isinstance(value, dict) else dict.fromkeys(BIASES, value)
    return all(name in BIASES and type(on) is bool for name, on in given.items())


BIASES = ("norm", "qkv", "output", "mlp", "head")
REQUIRED = ("vocabulary", "hidden", "layers", "heads", "mlp")
POSITIONS: dict[str, dict[str, Rule]] = {
    "none": {}, "sinusoidal": {}, "learned": {"length": _whole(1, 1 << 30)},
    "rotary": {"base": _real(1e-6, 1e12), "fraction": _real(0, 1), "pairing": _one_of("half", "interleaved")},
}
_WIDTH = _whole(0, 1 << 30)
_FORMULA: Rule = _is_formula, 'a formula as text, or {"formula": text, "set": {name: number, or a list with one for each head}}'
_TRUTH: Rule = lambda v, c: type(v) is bool, "True or False"
RULES: dict[str, Rule] = {
    "format": _one_of("reach-checkpoint/1"), "vocabulary": _whole(1, 1 << 26), "hidden": _whole(1, 1 << 20),
    "layers": _whole(1, 10000), "heads": _whole(1, 1 << 16), "kv_heads": _whole(1, 1 << 16), "head_size": _whole(1, 256),
    "mlp": _whole(1, 1 << 24), "activation": _one_of("gelu", "gelu_tanh", "quick_gelu", "relu", "silu"), "gated": _TRUTH,
    "norm": _one_of("layernorm", "rmsnorm"), "norm_epsilon": _real(0, 1), "residual": _one_of("sequential", "parallel"),
    "biases": (_are_biases, f"True, False, or either for any of {', '.join(BIASES)}"), "tied_head": _TRUTH,
    "embedding_scale": _real(-1e6, 1e6), "attention_scale": _real(-1e6, 1e6), "soft_cap": _real(0, 1e6),
    "position": (lambda v, c: isinstance(v, dict) and v.get("kind") in list(POSITIONS),
                 f"an object whose kind is {', '.join(POSITIONS)}"),
    "position_bias": _FORMULA, "position_multiplier": _FORMULA, "key_bias": _FORMULA,
    "window": (_is_window, "a number of keys, 0 for none, or a list with one for each layer"),
    "bos": _whole(0, (1 << 26) - 1), "train_length": _whole(1, 1 << 30),
}


def _plain(value: Any) -> Any:
    """The value with arrays as lists and numbers as Python's own, as JSON wants them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _check(given: dict[str, Any], rules: Mapping[str, Rule], config: dict[str, Any], where: str = "") -> list[str]:
    """What is wrong with the keys of an object."""
    found = [f"{where}{key} is no key of the layout (expected {', '.join(rules) or 'none'})" for key in given if key not in rules]
    return found + [f"{where}{key} {value!r} cannot be expressed (expected {rules[key][1]})"
                    for key, value in given.items() if key in rules and not rules[key][0](value, config)]


def read_config(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration as it is written. Raises ReachError that names everything the layout cannot express."""
    c = {"format": "reach-checkpoint/1", **_plain(given)}
    found = [f"{key} is missing" for key in REQUIRED if key not in c] + _check(c, RULES, c)
    position = c.get("position", {"kind": "none"})
    if RULES["position"][0](position, c):
        members = {key: value for key, value in position.items() if key != "kind"}
        found += _check(members, POSITIONS[position["kind"]], c, f"position ({position['kind']}): ")
        if position["kind"] == "learned" and "length" not in members:
            found.append("position (learned): length is missing (expected the number of rows of position.weight)")
    if not found:
        heads, hidden = c["heads"], c["hidden"]
        if "head_size" not in c and (hidden % heads or hidden // heads > 256):
            found.append(f"hidden {hidden} over heads {heads} is no head size from 1 to 256 (give head_size)")
        if heads % c.get("kv_heads", heads):
            found.append(f"heads {heads} is not a multiple of kv_heads {c['kv_heads']}")
        if c.get("bos", 0) >= c["vocabulary"]:
            found.append(f"bos {c['bos']} is outside the vocabulary of {c['vocabulary']}")
    refuse("the configuration", found)
    return c


def parameters(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every parameter that a checkpoint of this configuration has."""
    c = read_config(config)
    hidden, heads, head_size = c["hidden"], c["heads"], c.get("head_size", c["hidden"] // c["heads"])
    given = c.get("biases", True)
    biased = {name: given and name != "head" if isinstance(given, bool) else given.get(name, False) for name in BIASES}
    shapes: dict[str, tuple[int, ...]] = {}

    def add(stem: str, kind: str, out: int, *columns: int) -> None:
        shapes[stem + ".weight"] = (out, *columns)
        if biased.get(kind):
            shapes[stem + ".bias"] = (out,)

    add("embedding", "", c["vocabulary"], hidden)
    if c.get("position", {}).get("kind") == "learned":
        add("position", "", c["position"]["length"], hidden)
    for n in range(c["layers"]):
        add(f"layers.{n}.attention_norm", "norm", hidden)
        for name, count in (("query", heads), ("key", c.get("kv_heads", heads)), ("value", c.get("kv_heads", heads))):
            add(f"layers.{n}.attention.{name}", "qkv", count * head_size, hidden)
        add(f"layers.{n}.attention.output", "output", hidden, heads * head_size)
        add(f"layers.{n}.mlp_norm", "norm", hidden)
        for name in ("up", "gate") if c.get("gated", False) else ("up",):
            add(f"layers.{n}.mlp.{name}", "mlp", c["mlp"], hidden)
        add(f"layers.{n}.mlp.down", "mlp", hidden, c["mlp"])
    add("final_norm", "norm", hidden)
    if not c.get("tied_head", True):
        shapes["head.weight"] = (c["vocabulary"], hidden)
    if biased["head"]:
        shapes["head.bias"] = (c["vocabulary"],)
    return shapes
