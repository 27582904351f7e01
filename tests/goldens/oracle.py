"""A plain float64 decoder for checkpoints in the layout of doc/checkpoint.md.

Written from that document alone, in PyTorch, with no attention to speed: every
score matrix is built in full and autograd makes the gradients. It shares no
code with the C program and serves as its oracle.
"""

import json
import math
import os
import re

import torch
from safetensors.torch import load_file

DTYPE = torch.float64

CONFIG_DEFAULTS = {
    "kv_heads": None, "head_size": None, "activation": "gelu", "gated": False, "norm": "layernorm",
    "norm_epsilon": 1e-5, "residual": "sequential", "biases": True, "tied_head": True, "embedding_scale": 1.0,
    "attention_scale": None, "soft_cap": 0.0, "position": {"kind": "none"}, "position_bias": None,
    "position_multiplier": None, "key_bias": None, "window": 0, "train_length": None,
}
CONFIG_REQUIRED = ("format", "vocabulary", "hidden", "layers", "heads", "mlp")


# --- bias formulas: b(t) for head h of H; t [1, n] or a matrix, h [H, 1], all float64 ------------

def alibi_slope(h, H, delta=0.0):
    """Slope of head h, counted from 1: 2^-(8h/H + delta)."""
    return 2.0 ** -(8.0 * h / H + delta)


def sandwich(t, h, H, dbar=128.0, first=0.0):
    """(sum of cos(t / 10000^(2i/dbar)) for i = first .. first + dbar/2 - 1, minus dbar/2) / h', h' = 8h/H."""
    half = int(dbar) // 2
    total = sum(torch.cos(t / 10000.0 ** (2.0 * (i + first) / dbar)) for i in range(half))
    return (total - half) / (8.0 * h / H)


def smoothed_sandwich(t, h, H):
    """(-0.825 ln(1 + t) - 0.8) 8 / h'."""
    return (-0.825 * torch.log1p(t) - 0.8) * 8.0 / (8.0 * h / H)


def t5(t, h, H, **w):
    """One number per head and bucket: 32 buckets, causal, maximum distance 128."""
    far = 16 + torch.floor(16 * torch.log(t.clamp(min=16) / 16) / math.log(8))
    bucket = torch.where(t < 16, t, far.clamp(max=31)).long()
    table = torch.stack([w[f"w{i}"].expand(H, 1)[:, 0] for i in range(32)], 1)      # [H, 32]
    return table[:, bucket[0]]


def divergent_b(t, h, H):
    """-(ln(3 + k t) + ln ln(3 + k t)), k the ALiBi slope."""
    x = torch.log(3 + alibi_slope(h, H) * t)
    return -(x + torch.log(x))


def power(t, p):
    """t^p with 0^p = 0 for the exponents p > 0 in use."""
    return torch.where(t > 0, t.clamp(min=1) ** p, torch.zeros_like(t))


PRESETS = {
    "none": lambda t, h, H: 0 * t * h,
    "alibi": lambda t, h, H, delta=0.0: -alibi_slope(h, H, delta) * t,
    "alibi_equal": lambda t, h, H, s: -(2.0 ** -s) * t + 0 * h,
    "window": lambda t, h, H, w: torch.where(t < w, 0.0, -math.inf) + 0 * h,
    "kerple_log": lambda t, h, H, p, a: -p * torch.log1p(a * t),
    "kerple_power": lambda t, h, H, p, a: -a * power(t, p),
    "sandwich": sandwich,
    "smoothed_sandwich": smoothed_sandwich,
    "t5": t5,
    "type1": lambda t, h, H: -torch.log1p((alibi_slope(h, H) * t) ** 2),
    "type2": lambda t, h, H: -torch.log(3 + alibi_slope(h, H) * t) ** 2,
    "divergent_a": lambda t, h, H: -torch.log1p(alibi_slope(h, H) * t),
    "divergent_b": divergent_b,
}

# Formulas that are not presets, written out here a second time by hand.
WRITTEN = {
    "-ln(1+t)": lambda t, h, H: -torch.log1p(t) + 0 * h,
    "-ln(1+t)/h": lambda t, h, H: -torch.log1p(t) / h,
    "1/(1+t/(4*h))": lambda t, h, H: 1 / (1 + t / (4 * h)),
    "exp(-b*t^q)": lambda t, h, H, b, q: torch.exp(-b * power(t, q)),
    "sin(t/h)*h-t/40": lambda t, h, H: torch.sin(t / h) * h - t / 40,
    "t<12?-t/(2*h):-inf": lambda t, h, H: torch.where(t < 12, -t / (2 * h), -math.inf),
}


def evaluate_formula(entry, t, heads):
    """Values [heads, len(t)] of a config entry: a string, or {"formula": ..., "set": {...}}."""
    text, given = (entry, {}) if isinstance(entry, str) else (entry["formula"], entry.get("set", {}))
    values = {name: torch.tensor(value, dtype=DTYPE).reshape(-1, 1) for name, value in given.items()}
    text = text.replace(" ", "")
    function = WRITTEN.get(text)
    if function is None:
        name, arguments = re.fullmatch(r"(\w+)(?:\((.*)\))?", text).groups()
        function = PRESETS[name]
        for argument in (arguments or "").split(","):
            if argument:
                key, number = argument.split("=")
                values[key] = float(number)
    h = torch.arange(1, heads + 1, dtype=DTYPE)[:, None]
    row = function(t[None, :], h, heads, **values)
    return row.expand(heads, len(t))


# --- decoder ------------------------------------------------------------------------------------

ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": torch.relu,
    "silu": lambda x: x * torch.sigmoid(x),
}


def read_config(text):
    """config.json with the defaults filled in; an unknown or missing key is an error."""
    given = json.loads(text)
    for key in CONFIG_REQUIRED:
        if key not in given:
            raise KeyError(f"config.json: {key} is missing")
    for key in given:
        if key not in CONFIG_REQUIRED and key not in CONFIG_DEFAULTS:
            raise KeyError(f"config.json: unknown key {key}")
    config = {**CONFIG_DEFAULTS, **given}
    assert config["format"] == "reach-checkpoint/1"
    config["kv_heads"] = config["kv_heads"] or config["heads"]
    config["head_size"] = config["head_size"] or config["hidden"] // config["heads"]
    if config["attention_scale"] is None:
        config["attention_scale"] = config["head_size"] ** -0.5
    parts = ("norm", "qkv", "output", "mlp", "head")
    if isinstance(config["biases"], bool):
        config["biases"] = {part: config["biases"] and part != "head" for part in parts}
    else:
        config["biases"] = {part: config["biases"].get(part, False) for part in parts}
    if not isinstance(config["window"], list):
        config["window"] = [config["window"]] * config["layers"]
    return config


def tensor_shapes(config):
    """Name -> shape of every tensor that the layout asks for."""
    c, biases, shapes = config, config["biases"], {}
    d, inner, kv = c["hidden"], c["heads"] * c["head_size"], c["kv_heads"] * c["head_size"]

    def norm(name):
        shapes[name + ".weight"] = (d,)
        if biases["norm"]:
            shapes[name + ".bias"] = (d,)

    def linear(name, rows, columns, part):
        shapes[name + ".weight"] = (rows, columns)
        if biases[part]:
            shapes[name + ".bias"] = (rows,)

    shapes["embedding.weight"] = (c["vocabulary"], d)
    if c["position"]["kind"] == "learned":
        shapes["position.weight"] = (c["position"]["length"], d)
    for n in range(c["layers"]):
        at = f"layers.{n}."
        norm(at + "attention_norm")
        linear(at + "attention.query", inner, d, "qkv")
        linear(at + "attention.key", kv, d, "qkv")
        linear(at + "attention.value", kv, d, "qkv")
        linear(at + "attention.output", d, inner, "output")
        norm(at + "mlp_norm")
        linear(at + "mlp.up", c["mlp"], d, "mlp")
        if c["gated"]:
            linear(at + "mlp.gate", c["mlp"], d, "mlp")
        linear(at + "mlp.down", d, c["mlp"], "mlp")
    norm("final_norm")
    if not c["tied_head"]:
        shapes["head.weight"] = (c["vocabulary"], d)
    if biases["head"]:
        shapes["head.bias"] = (c["vocabulary"],)
    return shapes


class Decoder:
    """A checkpoint in float64: logits of the last position, from token rows."""

    def __init__(self, config, tensors):
        self.config = config
        self.tensors = {name: value.to(DTYPE) for name, value in tensors.items()}
        shapes = tensor_shapes(config)
        found = {name: tuple(value.shape) for name, value in tensors.items()}
        if found != shapes:
            raise ValueError(f"tensors differ from the layout: {set(found.items()) ^ set(shapes.items())}")

    @classmethod
    def read(cls, folder):
        """Read config.json and model.safetensors."""
        with open(os.path.join(folder, "config.json")) as file:
            config = read_config(file.read())
        return cls(config, load_file(os.path.join(folder, "model.safetensors")))

    def rows(self, tokens):
        """Rows of the token table [n, hidden]."""
        return self.tensors["embedding.weight"][tokens]

    def linear(self, x, name):
        y = x @ self.tensors[name + ".weight"].T
        bias = self.tensors.get(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, x, name):
        if self.config["norm"] == "layernorm":
            x = x - x.mean(-1, keepdim=True)
        y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.config["norm_epsilon"])
        y = y * self.tensors[name + ".weight"]
        bias = self.tensors.get(name + ".bias")
        return y if bias is None else y + bias

    def absolute(self, n):
        """Position rows [n, hidden] to add to the scaled token rows, or 0."""
        kind, d = self.config["position"]["kind"], self.config["hidden"]
        if kind == "learned":
            return self.tensors["position.weight"][:n]
        if kind != "sinusoidal":
            return 0
        rows, m = torch.zeros(n, d, dtype=DTYPE), torch.arange(n, dtype=DTYPE)
        for i in range(d):
            angle = m / 10000.0 ** ((i // 2 * 2) / d)
            rows[:, i] = torch.cos(angle) if i % 2 else torch.sin(angle)
        return rows

    def rotate(self, x):
        """Rotary embedding of x [heads, n, head size], or x itself."""
        place = self.config["position"]
        if place["kind"] != "rotary":
            return x
        r = int(math.floor(place.get("fraction", 1) * self.config["head_size"])) // 2 * 2
        m, y = torch.arange(x.shape[1], dtype=DTYPE), x.clone()
        for i in range(r // 2):
            first, second = (i, i + r // 2) if place.get("pairing", "half") == "half" else (2 * i, 2 * i + 1)
            angle = m * float(place.get("base", 10000)) ** (-2.0 * i / r)
            a, b = x[..., first], x[..., second]
            y[..., first] = a * torch.cos(angle) - b * torch.sin(angle)
            y[..., second] = b * torch.cos(angle) + a * torch.sin(angle)
        return y

    def scores(self, q, k, layer):
        """Scores [H, n, n]: scale, soft cap, multiplier, bias, key bias, then window and causal mask."""
        c, n = self.config, q.shape[1]
        positions = torch.arange(n, dtype=DTYPE)
        t = torch.arange(n)[:, None] - torch.arange(n)[None, :]      # [query, key]
        by_distance = t.clamp(min=0)
        z = c["attention_scale"] * (q @ k.transpose(1, 2))
        if c["soft_cap"]:
            z = c["soft_cap"] * torch.tanh(z / c["soft_cap"])
        if c["position_multiplier"] is not None:
            z = z * evaluate_formula(c["position_multiplier"], positions, c["heads"])[:, by_distance]
        if c["position_bias"] is not None:
            z = z + evaluate_formula(c["position_bias"], positions, c["heads"])[:, by_distance]
        if c["key_bias"] is not None:
            z = z + evaluate_formula(c["key_bias"], positions, c["heads"])[:, None, :]
        seen = t >= 0
        if c["window"][layer]:
            seen = seen & (t < c["window"][layer])
        return z.masked_fill(~seen, -math.inf)

    def attention(self, x, layer):
        """Attention sublayer on normed x [n, hidden]."""
        c, at = self.config, f"layers.{layer}.attention."
        n, size = x.shape[0], c["head_size"]
        q = self.linear(x, at + "query").view(n, c["heads"], size).transpose(0, 1)
        k = self.linear(x, at + "key").view(n, c["kv_heads"], size).transpose(0, 1)
        v = self.linear(x, at + "value").view(n, c["kv_heads"], size).transpose(0, 1)
        q, k = self.rotate(q), self.rotate(k)
        shared = [h * c["kv_heads"] // c["heads"] for h in range(c["heads"])]
        probability = torch.softmax(self.scores(q, k[shared], layer), -1)
        y = (probability @ v[shared]).transpose(0, 1).reshape(n, c["heads"] * size)
        return self.linear(y, at + "output")

    def mlp(self, x, layer):
        """MLP sublayer on normed x."""
        at, act = f"layers.{layer}.mlp.", ACTIVATIONS[self.config["activation"]]
        up = self.linear(x, at + "up")
        inner = act(self.linear(x, at + "gate")) * up if self.config["gated"] else act(up)
        return self.linear(inner, at + "down")

    def log_probability(self, rows, target):
        """log p of the token `target` after the token rows [n, hidden]."""
        c = self.config
        x = c["embedding_scale"] * rows + self.absolute(rows.shape[0])
        for n in range(c["layers"]):
            at = f"layers.{n}."
            y = self.attention(self.norm(x, at + "attention_norm"), n)
            if c["residual"] == "parallel":
                x = x + y + self.mlp(self.norm(x, at + "mlp_norm"), n)
            else:
                x = x + y
                x = x + self.mlp(self.norm(x, at + "mlp_norm"), n)
        x = self.norm(x[-1:], "final_norm")
        logits = self.linear(x, "head") if not c["tied_head"] else x @ self.tensors["embedding.weight"].T
        if c["tied_head"] and c["biases"]["head"]:
            logits = logits + self.tensors["head.bias"]
        return torch.log_softmax(logits[0], -1)[target]
