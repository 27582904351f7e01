"""Decoders as others write them: plain functions of a state_dict whose names and layouts are not those of doc/checkpoint.md.

The arithmetic is restated from the document in float64, with whole score matrices, and gradients are autograd's.
"""

import math
from dataclasses import dataclass, field

import torch

DTYPE = torch.float64
ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "silu": lambda x: x * torch.sigmoid(x),
    "relu": torch.relu,
}


@dataclass
class Theirs:
    """A decoder: its options and its state_dict."""

    fused: str = "no"  # q, k, v apart; or "blocks": rows [Q | K | V]; "heads": rows [H][q, k, v]; "conv": [in, out], columns
    vocabulary: int = 50
    width: int = 24
    layers: int = 2
    heads: int = 4
    kv_heads: int = 4
    size: int = 6
    mlp: int = 40
    rms: bool = False
    epsilon: float = 1e-5
    activation: str = "gelu"
    gated: bool = False
    parallel: bool = False
    position: str = "none"
    length: int = 0  # rows of learned positions
    base: float = 10000.0
    rotated: int = 0  # dimensions of a head that are rotated
    interleaved: bool = False
    bias: object = None  # t [L], h [H, 1] -> [H, L]
    windows: tuple = ()
    soft_cap: float = 0.0
    scale: float = 0.0
    embedding_scale: float = 1.0
    tied: bool = True
    biases: bool = True
    head_bias: bool = False
    seed: int = 0
    state: dict = field(default_factory=dict)

    def __post_init__(self):
        made = torch.Generator().manual_seed(self.seed)

        def normal(*shape, std=1.0, mean=0.0):
            return torch.randn(*shape, generator=made, dtype=DTYPE) * std + mean

        def linear(name, out, inside, std=1.0, biased=self.biases):
            self.state[name + ".weight"] = normal(out, inside, std=std * inside ** -0.5)
            if biased:
                self.state[name + ".bias"] = normal(out, std=0.3)

        def norm(name):
            self.state[name + ".weight"] = normal(self.width, std=0.2, mean=1)
            if self.biases:
                self.state[name + ".bias"] = normal(self.width, std=0.2)

        inner, kv = self.heads * self.size, self.kv_heads * self.size
        self.state["tok.weight"] = normal(self.vocabulary, self.width)
        if self.position == "learned":
            self.state["pos.weight"] = normal(self.length, self.width, std=0.5)
        for n in range(self.layers):
            at = f"h.{n}."
            norm(at + "n1")
            norm(at + "n2")
            if self.fused == "no":
                for name, out in (("q", inner), ("k", kv), ("v", kv)):
                    linear(at + name, out, self.width, 2.0)
            else:
                linear(at + "qkv", inner + 2 * kv, self.width, 2.0)
            linear(at + "o", self.width, inner)
            linear(at + "fc", (2 if self.gated else 1) * self.mlp, self.width)
            linear(at + "proj", self.width, self.mlp)
            if self.fused == "conv":
                for name in ("qkv", "o", "fc", "proj"):
                    self.state[at + name + ".weight"] = self.state[at + name + ".weight"].T.contiguous()
        norm("nf")
        if not self.tied:
            linear("lm", self.vocabulary, self.width, biased=False)
        if self.head_bias:
            self.state["lm.bias"] = normal(self.vocabulary)

    def _linear(self, x, name):
        weight = self.state[name + ".weight"].to(DTYPE)
        y = x @ (weight if self.fused == "conv" else weight.T)
        return y + self.state[name + ".bias"].to(DTYPE) if name + ".bias" in self.state else y

    def _norm(self, x, name):
        if not self.rms:
            x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + self.epsilon).sqrt() * self.state[name + ".weight"].to(DTYPE)
        return x + self.state[name + ".bias"].to(DTYPE) if name + ".bias" in self.state else x

    def _heads(self, x, at):
        """q, k, v [heads, L, size] each."""
        if self.fused == "no":
            return [self._linear(x, at + name).unflatten(-1, (-1, self.size)).transpose(0, 1) for name in "qkv"]
        joined = self._linear(x, at + "qkv")
        if self.fused == "heads":
            return list(joined.unflatten(-1, (self.heads, 3, self.size)).permute(2, 1, 0, 3))
        parts = joined.split([self.heads * self.size, self.kv_heads * self.size, self.kv_heads * self.size], -1)
        return [part.unflatten(-1, (-1, self.size)).transpose(0, 1) for part in parts]

    def _rotate(self, x):
        half = self.rotated // 2
        angle = torch.arange(x.shape[1], dtype=DTYPE)[:, None] * self.base ** (-torch.arange(half, dtype=DTYPE) / half)
        if self.interleaved:
            a, b = x[..., 0:self.rotated:2], x[..., 1:self.rotated:2]
        else:
            a, b = x[..., :half], x[..., half:self.rotated]
        a, b = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
        turned = torch.stack([a, b], -1).flatten(-2) if self.interleaved else torch.cat([a, b], -1)
        return torch.cat([turned, x[..., self.rotated:]], -1)

    def _attention(self, x, at, layer):
        q, k, v = self._heads(x, at)
        if self.rotated:
            q, k = self._rotate(q), self._rotate(k)
        k, v = (part.repeat_interleave(self.heads // self.kv_heads, 0) for part in (k, v))
        z = q @ k.transpose(1, 2) * (self.scale or self.size ** -0.5)
        z = self.soft_cap * torch.tanh(z / self.soft_cap) if self.soft_cap else z
        i = torch.arange(len(x))
        t = i[:, None] - i[None, :]
        if self.bias:
            heads = torch.arange(1, self.heads + 1, dtype=DTYPE)[:, None]
            z = z + self.bias(i.to(DTYPE), heads)[:, t.clamp(min=0)]
        window = self.windows[layer] if self.windows else 0
        z = z.masked_fill((t < 0) | (t >= (window or len(x))), -math.inf)
        return self._linear((z.softmax(-1) @ v).transpose(0, 1).flatten(1), at + "o")

    def _mlp(self, x, at):
        up = self._linear(x, at + "fc")
        act = ACTIVATIONS[self.activation]
        if self.gated:
            gate, up = up.split(self.mlp, -1)
            return self._linear(act(gate) * up, at + "proj")
        return self._linear(act(up), at + "proj")

    def logits(self, rows, head):
        """Token rows [L, width] -> logits [L, vocabulary]."""
        x = rows * self.embedding_scale
        if self.position == "learned":
            x = x + self.state["pos.weight"][:len(x)].to(DTYPE)
        if self.position == "sinusoidal":
            power = torch.arange(0, self.width, 2, dtype=DTYPE) / self.width
            angle = torch.arange(len(x), dtype=DTYPE)[:, None] / 10000.0 ** power
            x = x + torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        for n in range(self.layers):
            at = f"h.{n}."
            if self.parallel:
                x = x + self._attention(self._norm(x, at + "n1"), at, n) + self._mlp(self._norm(x, at + "n2"), at)
            else:
                x = x + self._attention(self._norm(x, at + "n1"), at, n)
                x = x + self._mlp(self._norm(x, at + "n2"), at)
        logits = self._norm(x, "nf") @ head.T
        return logits + self.state["lm.bias"].to(DTYPE) if self.head_bias else logits

    def forward(self, ids):
        """Token ids [1, L] -> logits [1, L, vocabulary]."""
        table = self.state["tok.weight"].to(DTYPE)
        return self.logits(table[ids[0]], table if self.tied else self.state["lm.weight"].to(DTYPE))[None]

    def gradient(self, ids):
        """ids [L] -> norms [L-1] of the gradient of log p of the last token with respect to the token rows, and log p."""
        table = self.state["tok.weight"].to(DTYPE)
        rows = table[ids[:-1]].clone().requires_grad_()
        head = table if self.tied else self.state["lm.weight"].to(DTYPE)
        logp = self.logits(rows, head)[-1].log_softmax(-1)[ids[-1]]
        logp.backward()
        return rows.grad.norm(dim=1).numpy(), logp.item()
