"""The example models in PyTorch, and how they are written in the layout of doc/checkpoint.md."""

import json
import math
import os
from dataclasses import dataclass

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

NORM_EPSILON = 1e-5
BLOCKS_FROM = 512       # training length from which a window is attended to in blocks


@dataclass
class Shape:
    """Sizes of a model and of its training."""

    layers: int = 4
    heads: int = 4
    hidden: int = 96
    mlp: int = 192
    vocabulary: int = 1024
    step_tokens: int = 16 * 128
    peak_rate: float = 3e-3


# the size of the models of "Dissecting Transformer Length Extrapolation": 12 layers, 12 heads, 768
SHAPES = {"small": Shape(), "paper": Shape(layers=12, heads=12, hidden=768, mlp=3072, step_tokens=64 * 512, peak_rate=6e-4)}


def sinusoidal_rows(length, hidden, dtype):
    """Absolute rows [length, hidden]: sin(m / 10000^(2i/d)) at 2i, cos of the same at 2i + 1."""
    m = torch.arange(length, dtype=torch.float64)[:, None]
    angle = m / 10000.0 ** (torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :hidden].to(dtype)


class Product(torch.autograd.Function):
    """x w^T + b on a processor by oneDNN: for these shapes 2.4 times as fast on an AMD processor as what PyTorch takes by itself."""

    @staticmethod
    def forward(context, x, w, b):
        context.save_for_backward(x, w)
        context.biased = b is not None
        return torch.ops.mkldnn._linear_pointwise(x, w, b, "none", [], "")

    @staticmethod
    def backward(context, g):
        x, w = context.saved_tensors
        rows, inputs = g.flatten(0, -2), x.flatten(0, -2)
        return (torch.ops.mkldnn._linear_pointwise(g, w.t(), None, "none", [], ""),
                torch.ops.mkldnn._linear_pointwise(rows.t(), inputs.t(), None, "none", [], ""),
                rows.sum(0) if context.biased else None)


def product(x, w, b=None):
    """x [..., in] times w [out, in], plus b: by oneDNN where PyTorch has it, for float32 on a processor."""
    own = torch.backends.mkldnn.is_available() and x.dtype == torch.float32 and not x.is_cuda
    return Product.apply(x, w, b) if own else F.linear(x, w, b)


class Linear(nn.Linear):
    def forward(self, x):
        return product(x, self.weight, self.bias)


def two_blocks(x, size):
    """x [B, L, d] cut into blocks of `size`, each after the one before it: [B, L / size, 2 size, d]; the first after zeros."""
    blocks = x.unflatten(1, (-1, size))
    return torch.cat([F.pad(blocks[:, :-1], (0, 0, 0, 0, 1, 0)), blocks], 2)


def attend_dense(q, k, v, mask):
    """q, k, v [B, H, L, d], mask [H, L, L] or [1, L, L] additive -> [B, H, L, d]."""
    batch, heads, length, _ = q.shape
    scores = torch.baddbmm(mask.expand(batch, heads, length, length).flatten(0, 1), q.flatten(0, 1),
                           k.flatten(0, 1).transpose(1, 2), alpha=q.shape[-1] ** -0.5)
    return (scores.softmax(-1) @ v.flatten(0, 1)).view_as(v)


def attend_blocks(q, k, v, mask):
    """The same for a window: queries in blocks of s see the keys of their block and of the one before; mask [L / s, s, 2 s]."""
    batch, heads, length, _ = q.shape
    size = mask.shape[1]
    k, v = two_blocks(k.flatten(0, 1), size).flatten(0, 1), two_blocks(v.flatten(0, 1), size).flatten(0, 1)
    scores = torch.baddbmm(mask.expand(batch * heads, *mask.shape).flatten(0, 1), q.reshape(-1, size, q.shape[-1]),
                           k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
    return (scores.softmax(-1) @ v).view(q.shape)


class Block(nn.Module):
    """Pre-norm block: x += attention(norm(x)); x += mlp(norm(x))."""

    def __init__(self, shape):
        super().__init__()
        hidden = shape.hidden
        self.heads = shape.heads
        self.attention_norm = nn.LayerNorm(hidden, NORM_EPSILON)
        self.query_key_value = Linear(hidden, 3 * hidden)
        self.output = Linear(hidden, hidden)
        self.mlp_norm = nn.LayerNorm(hidden, NORM_EPSILON)
        self.up = Linear(hidden, shape.mlp)
        self.down = Linear(shape.mlp, hidden)

    def forward(self, x, mask, rotate):
        """x [B, L, hidden]; mask of Decoder.constants, additive; rotate: applied to q and k."""
        batch, length, _ = x.shape
        joined = self.query_key_value(self.attention_norm(x))
        q, k, v = joined.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if rotate is not None:
            q, k = rotate(q), rotate(k)
        if x.is_cuda:
            with torch.autocast("cuda", enabled=False):
                y = F.scaled_dot_product_attention(*(part.to(mask.dtype) for part in (q, k, v)), attn_mask=mask[None])
        else:
            y = (attend_dense if mask.shape[-1] == length else attend_blocks)(q, k, v, mask)
        x = x + self.output(y.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x))))


class Decoder(nn.Module):
    """Decoder with a tied head and the position encoding of one table row."""

    def __init__(self, encoding, shape):
        super().__init__()
        self.encoding, self.shape = encoding, shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.final_norm = nn.LayerNorm(shape.hidden, NORM_EPSILON)
        self.initialise()
        if encoding.position["kind"] == "learned":
            self.position = nn.Embedding(encoding.position["length"], shape.hidden)
            nn.init.normal_(self.position.weight, std=0.02)
        self.bias_parameters = nn.ParameterDict({
            name: nn.Parameter(torch.full((shape.heads, 1), math.log(value) if encoding.positive else value))
            for name, value in encoding.parameters.items()})
        self.cache = {}

    def initialise(self):
        """Normal weights of variance 1 / (3 fan in), zero biases; output layers start smaller."""
        nn.init.normal_(self.embedding.weight, std=0.1)
        for block in self.layers:
            for linear in (block.query_key_value, block.output, block.up, block.down):
                nn.init.normal_(linear.weight, std=(3 * linear.in_features) ** -0.5)
                nn.init.zeros_(linear.bias)
            for linear in (block.output, block.down):
                linear.weight.data /= math.sqrt(2 * self.shape.layers)

    def bias_values(self):
        """The learned parameters of the bias as used: [H, 1] each."""
        return {name: value.exp() if self.encoding.positive else value
                for name, value in self.bias_parameters.items()}

    def mask(self, length, dtype):
        """Additive mask: the bias at distance t = i - j, -inf outside window and future."""
        t = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        window = self.encoding.window or length
        allowed = (t >= 0) & (t < window)
        if self.encoding.bias is None:
            row = torch.zeros(1, length, dtype=dtype)
        else:
            count = self.shape.heads
            heads = torch.arange(1, count + 1, dtype=dtype)[:, None]
            row = self.encoding.bias(torch.arange(length, dtype=dtype), heads, count, **self.bias_values())
        return row[:, t.clamp(min=0)].masked_fill(~allowed, -math.inf)

    def block_of(self, length):
        """Queries in a block of attend_blocks at this length; 0: the whole mask. A short segment gains nothing, and the bits of a training change."""
        encoding = self.encoding
        size = max(encoding.window, 32)
        blocks = encoding.window and encoding.bias is None and encoding.train_length >= BLOCKS_FROM
        return size if blocks and length % size == 0 and length >= 4 * size else 0

    def block_mask(self, length, size, dtype):
        """The mask of attend_blocks [length / size, size, 2 size]: the window, and nothing before the first block."""
        t = torch.arange(size)[:, None] - torch.arange(-size, size)[None, :]
        allowed = ((t >= 0) & (t < self.encoding.window)).repeat(length // size, 1, 1)
        allowed[0, :, :size] = False
        return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, -math.inf)

    def rotation(self, length, dtype):
        """Function that rotates [B, H, L, head size], dimension i paired with i + r/2."""
        place = self.encoding.position
        if place["kind"] != "rotary":
            return None
        half = self.shape.hidden // self.shape.heads // 2
        m = torch.arange(length, dtype=torch.float64)[:, None]
        angle = m * place["base"] ** (-torch.arange(half, dtype=torch.float64) / half)
        cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)

        def rotate(x):
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        return rotate

    def constants(self, length, dtype):
        """Rows, mask and rotation for one length, kept unless the bias is being learned."""
        key = (length, dtype)
        if key not in self.cache or self.bias_parameters:
            sinusoidal = self.encoding.position["kind"] == "sinusoidal"
            rows = sinusoidal_rows(length, self.shape.hidden, dtype) if sinusoidal else None
            on_cpu = self.embedding.weight.device.type == "cpu"
            size = self.block_of(length) if on_cpu else 0
            mask = self.block_mask(length, size, dtype) if size else self.mask(length, dtype)
            if mask.is_cuda and self.encoding.bias is None:  # 0 and -inf are exact; a bias would not be
                mask = mask.bfloat16()
            self.cache[key] = rows, mask, self.rotation(length, dtype)
        return self.cache[key]

    def forward(self, tokens):
        """tokens [B, L] -> logits [B, L, vocabulary]."""
        return self.forward_rows(self.embedding(tokens))

    def forward_rows(self, rows):
        """Token rows [B, L, hidden] -> logits; the entry point for gradients of the input."""
        absolute, mask, rotate = self.constants(rows.shape[1], rows.dtype)
        x = rows
        if absolute is not None:
            x = x + absolute
        if self.encoding.position["kind"] == "learned":
            x = x + self.position.weight[:rows.shape[1]]
        for block in self.layers:
            x = block(x, mask, rotate)
        return product(self.final_norm(x), self.embedding.weight)


def make_config(model):
    """config.json of doc/checkpoint.md."""
    encoding, shape = model.encoding, model.shape
    config = {
        "format": "reach-checkpoint/1", "vocabulary": shape.vocabulary, "hidden": shape.hidden,
        "layers": shape.layers, "heads": shape.heads, "mlp": shape.mlp, "activation": "gelu",
        "norm": "layernorm", "norm_epsilon": NORM_EPSILON, "residual": "sequential",
        "biases": True, "tied_head": True, "position": encoding.position,
    }
    if encoding.formula:
        config["position_bias"] = encoding.formula
    if encoding.parameters:
        values = {name: value.flatten().tolist() for name, value in model.bias_values().items()}
        config["position_bias"] = {"formula": encoding.formula, "set": values}
    if encoding.window:
        config["window"] = encoding.window
    config["train_length"] = encoding.train_length
    return config


def export_tensors(model):
    """Tensors under the names of doc/checkpoint.md, in float32."""
    tensors = {"embedding.weight": model.embedding.weight}
    if model.encoding.position["kind"] == "learned":
        tensors["position.weight"] = model.position.weight
    for n, block in enumerate(model.layers):
        modules = {"attention_norm": block.attention_norm, "attention.output": block.output,
                   "mlp_norm": block.mlp_norm, "mlp.up": block.up, "mlp.down": block.down}
        for part in ("weight", "bias"):
            for name, module in modules.items():
                tensors[f"layers.{n}.{name}.{part}"] = getattr(module, part)
            joined = getattr(block.query_key_value, part).chunk(3)
            for name, value in zip(("query", "key", "value"), joined):
                tensors[f"layers.{n}.attention.{name}.{part}"] = value
    tensors["final_norm.weight"] = model.final_norm.weight
    tensors["final_norm.bias"] = model.final_norm.bias
    return {name: value.detach().clone() for name, value in tensors.items()}


@torch.no_grad()
def round_to_bfloat16(model):
    """Round every stored weight to bfloat16, so that the model equals what is written."""
    for name, value in model.named_parameters():
        if not name.startswith("bias_parameters"):
            value.copy_(value.bfloat16())


def write_checkpoint(model, folder):
    """Write config.json and model.safetensors; the model is already rounded."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(make_config(model), file, indent=2)
        file.write("\n")
    tensors = {name: value.bfloat16() for name, value in export_tensors(model).items()}
    path = os.path.join(folder, "model.safetensors")
    save_file(tensors, path)
    os.chmod(path, 0o644)


