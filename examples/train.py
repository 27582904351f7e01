#!/usr/bin/env python3
"""Train small byte-level decoders that differ only in their position encoding.

Each row of ENCODINGS becomes one model: it is trained on the same batches, in
the same order, and exported in the layout of doc/checkpoint.md (bfloat16
safetensors and config.json), together with its loss curve (training.csv).

    python3 examples/train.py --corpus DIR --out examples/models
    python3 examples/train.py --corpus DIR --out DIR --size paper --device cuda --epochs 3 --only window-40 alibi

DIR/train/*.txt.gz is trained on; DIR/valid/*.txt.gz is only measured.
Needs PyTorch, NumPy and safetensors. See examples/README.md.
"""

import argparse
import csv
import glob
import gzip
import json
import math
import os
import re
import time
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, HIDDEN, MLP, VOCABULARY = 4, 4, 80, 320, 256
STEP_BYTES, TRAIN_LENGTH = 32 * 128, 128
PEAK_RATE, WARMUP, WEIGHT_DECAY, CLIP = 3e-3, 100, 0.05, 1.0
NORM_EPSILON = 1e-5

# --size puts these in place of the above: the size of the models of "Dissecting Transformer Length Extrapolation" (12 layers, 12 heads, 768, L_tr = 512)
SIZES = {
    "small": {},
    "paper": {"LAYERS": 12, "HEADS": 12, "HIDDEN": 768, "MLP": 3072, "STEP_BYTES": 64 * 512, "TRAIN_LENGTH": 512, "PEAK_RATE": 6e-4},
}


# --- position encodings -------------------------------------------------------------------------

@dataclass
class Encoding:
    """One row of the table: how a model knows about positions.

    `bias(t, h, H, **parameters)` returns the additive bias [H, len(t)] at the distances t [len(t)]
    for heads h [H, 1] counted from 1; `formula` is the same function in the language of
    doc/formula.md. `parameters` are learned, one number a head, and start at the value given;
    `positive` keeps them above zero (their logarithms are trained).
    """

    name: str
    window: int = 0
    position: dict = field(default_factory=lambda: {"kind": "none"})
    bias: object = None
    formula: str = ""
    parameters: dict = field(default_factory=dict)
    positive: bool = False
    train_length: int = TRAIN_LENGTH


def alibi(delta=0.0):
    """ALiBi with the slopes 2^-(8h/H + delta)."""
    return lambda t, h, H: -(2.0 ** -(8.0 * h / H + delta)) * t


def kerple_log(t, h, H, p, a):
    """KERPLE, logarithmic variant: -p ln(1 + a t)."""
    return -p * torch.log1p(a * t)


def kerple_power(t, h, H, p, a):
    """KERPLE, power variant: -a t^p."""
    return -a * torch.where(t > 0, t.clamp(min=1) ** p, torch.zeros_like(t))


def t5_bucket(t):
    """Index of the T5 bucket of each distance: 32 buckets, maximum distance 128, causal."""
    far = 16 + (16 * torch.log(t.clamp(min=1).double() / 16) / math.log(8)).floor().long()
    return torch.where(t < 16, t.long(), far.clamp(max=31))


def t5(t, h, H, **w):
    """T5: one learned number a head and bucket."""
    table = torch.cat([w[f"w{i}"] for i in range(32)], 1)        # [H, 32]
    return table[:, t5_bucket(t)]


def alibi_equal(s):
    """ALiBi with the slope 2^-s for every head."""
    return lambda t, h, H: -(2.0 ** -s) * t.expand(H, -1)


def sandwich(t, h, H):
    """Sandwich with dbar = 128, i from 0: (sum_i cos(t / 10000^(i/64)) - 64) H / (8 h)."""
    angle = t.double()[:, None] / 10000.0 ** (torch.arange(64, dtype=torch.float64) / 64)
    return ((angle.cos().sum(1) - 64) / (8.0 * h.double() / H)).to(t.dtype)


def smoothed_sandwich(t, h, H):
    """The log curve fitted to Sandwich: (-0.825 ln(1 + t) - 0.8) H / h."""
    return (-0.825 * torch.log1p(t) - 0.8) * 8 / (8.0 * h / H)


def type_1(t, h, H):
    """Type 1: -ln(1 + (k t)^2), k the ALiBi slope of the head."""
    return -torch.log1p((2.0 ** (-8.0 * h / H) * t) ** 2)


def type_2(t, h, H):
    """Type 2: -ln(3 + k t)^2."""
    return -torch.log(3 + 2.0 ** (-8.0 * h / H) * t) ** 2


def divergent_a(t, h, H):
    """-ln(1 + k t): its series diverges."""
    return -torch.log1p(2.0 ** (-8.0 * h / H) * t)


def divergent_b(t, h, H):
    """-(ln(3 + k t) + ln ln(3 + k t)): its series diverges, by one logarithm less."""
    y = torch.log(3 + 2.0 ** (-8.0 * h / H) * t)
    return -(y + torch.log(y))


ROTARY = {"kind": "rotary", "base": 10000, "fraction": 1, "pairing": "half"}

ENCODINGS = [
    Encoding("window-8", window=8),
    Encoding("window-128", window=128),
    Encoding("sinusoidal", position={"kind": "sinusoidal"}),
    Encoding("alibi", bias=alibi(0), formula="alibi(delta=0)"),
    Encoding("rotary", position=ROTARY),
    Encoding("window-32", window=32),
    Encoding("window-16", window=16),
    Encoding("window-64", window=64),
    Encoding("none"),
    Encoding("learned", position={"kind": "learned", "length": 2048}),
    Encoding("type1", bias=type_1, formula="type1"),
    Encoding("type2", bias=type_2, formula="type2"),
    Encoding("divergent-a", bias=divergent_a, formula="divergent_a"),
    Encoding("divergent-b", bias=divergent_b, formula="divergent_b"),
    Encoding("alibi-minus-3", bias=alibi(-3), formula="alibi(delta=-3)"),
    Encoding("alibi-plus-2", bias=alibi(2), formula="alibi(delta=2)"),
    Encoding("alibi-plus-4", bias=alibi(4), formula="alibi(delta=4)"),
    Encoding("alibi-plus-6", bias=alibi(6), formula="alibi(delta=6)"),
    Encoding("alibi-plus-8", bias=alibi(8), formula="alibi(delta=8)"),
    Encoding("kerple-log", bias=kerple_log, formula="kerple_log", parameters={"p": 1.0, "a": 1.0}, positive=True),
    Encoding("kerple-power", bias=kerple_power, formula="kerple_power", parameters={"p": 1.0, "a": 0.1}, positive=True),
    Encoding("t5", bias=t5, formula="t5", parameters={f"w{i}": 0.0 for i in range(32)}),
    Encoding("sandwich", bias=sandwich, formula="sandwich"),
    Encoding("smoothed-sandwich", bias=smoothed_sandwich, formula="smoothed_sandwich"),
    Encoding("alibi-equal-0", bias=alibi_equal(0), formula="alibi_equal(0)"),
    Encoding("alibi-equal-2", bias=alibi_equal(2), formula="alibi_equal(2)"),
    Encoding("alibi-equal-4", bias=alibi_equal(4), formula="alibi_equal(4)"),
    Encoding("alibi-equal-6", bias=alibi_equal(6), formula="alibi_equal(6)"),
    Encoding("alibi-equal-8", bias=alibi_equal(8), formula="alibi_equal(8)"),
    # [A] section 5.2: trained again at a length that covers the field; and where the jump of sinusoidal goes (figure 7)
    Encoding("window-64-train-256", window=64, train_length=256),
    Encoding("sinusoidal-train-256", position={"kind": "sinusoidal"}, train_length=256),
    Encoding("alibi-plus-6-train-1024", bias=alibi(6), formula="alibi(delta=6)", train_length=1024),
]


# --- model --------------------------------------------------------------------------------------

def sinusoidal_rows(length, hidden, dtype):
    """Absolute rows [length, hidden]: sin(m / 10000^(2i/d)) at 2i, cos of the same at 2i + 1."""
    m = torch.arange(length, dtype=torch.float64)[:, None]
    angle = m / 10000.0 ** (torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :hidden].to(dtype)


class Block(nn.Module):
    """Pre-norm block: x += attention(norm(x)); x += mlp(norm(x))."""

    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(HIDDEN, NORM_EPSILON)
        self.query_key_value = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.output = nn.Linear(HIDDEN, HIDDEN)
        self.mlp_norm = nn.LayerNorm(HIDDEN, NORM_EPSILON)
        self.up = nn.Linear(HIDDEN, MLP)
        self.down = nn.Linear(MLP, HIDDEN)

    def forward(self, x, mask, rotate):
        """x [B, L, hidden]; mask [H, L, L] or [L, L] additive; rotate: applied to q and k."""
        batch, length, _ = x.shape
        joined = self.query_key_value(self.attention_norm(x))
        q, k, v = joined.view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if rotate is not None:
            q, k = rotate(q), rotate(k)
        if x.is_cuda:
            with torch.autocast("cuda", enabled=False):
                y = F.scaled_dot_product_attention(*(part.to(mask.dtype) for part in (q, k, v)), attn_mask=mask[None])
        else:
            scores = torch.baddbmm(mask.expand(batch, HEADS, length, length).flatten(0, 1), q.flatten(0, 1),
                                   k.flatten(0, 1).transpose(1, 2), alpha=q.shape[-1] ** -0.5)
            y = (scores.softmax(-1) @ v.flatten(0, 1)).view_as(v)
        x = x + self.output(y.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x))))


class Decoder(nn.Module):
    """Byte-level decoder with a tied head and the position encoding of one table row."""

    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.final_norm = nn.LayerNorm(HIDDEN, NORM_EPSILON)
        self.initialise()
        if encoding.position["kind"] == "learned":
            self.position = nn.Embedding(encoding.position["length"], HIDDEN)
            nn.init.normal_(self.position.weight, std=0.02)
        self.bias_parameters = nn.ParameterDict({
            name: nn.Parameter(torch.full((HEADS, 1), math.log(value) if encoding.positive else value))
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
                linear.weight.data /= math.sqrt(2 * LAYERS)

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
            heads = torch.arange(1, HEADS + 1, dtype=dtype)[:, None]
            row = self.encoding.bias(torch.arange(length, dtype=dtype), heads, HEADS, **self.bias_values())
        return row[:, t.clamp(min=0)].masked_fill(~allowed, -math.inf)

    def rotation(self, length, dtype):
        """Function that rotates [B, H, L, head size], dimension i paired with i + r/2."""
        place = self.encoding.position
        if place["kind"] != "rotary":
            return None
        half = HIDDEN // HEADS // 2
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
            rows = sinusoidal_rows(length, HIDDEN, dtype) if sinusoidal else None
            mask = self.mask(length, dtype)
            if mask.is_cuda and self.encoding.bias is None:  # 0 and -inf are exact; a bias would not be
                mask = mask.bfloat16()
            self.cache[key] = rows, mask, self.rotation(length, dtype)
        return self.cache[key]

    def forward(self, tokens):
        """tokens [B, L] -> logits [B, L, 256]."""
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
        return F.linear(self.final_norm(x), self.embedding.weight)


# --- training -----------------------------------------------------------------------------------

def read_split(corpus, split):
    """The bytes of DIR/split/*.txt.gz, files in the order of their names."""
    paths = sorted(glob.glob(os.path.join(corpus, split, "*.txt.gz")))
    if not paths:
        raise SystemExit(f"train.py: no {split}/*.txt.gz in the corpus folder")
    data = b"".join(gzip.open(path).read() for path in paths)
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def gather_segments(data, starts, length):
    """Segments [len(starts), length + 1] of the text as token indices."""
    return data[starts[:, None] + torch.arange(length + 1)].long()


def loss_of(model, segments):
    """Mean cross-entropy, in nats a byte, of every next byte of the segments."""
    with torch.autocast("cuda", torch.bfloat16, enabled=segments.is_cuda):
        logits = model(segments[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), segments[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, data, length, count=512):
    """Loss on `count` evenly spaced segments with `length` inputs each."""
    starts = torch.arange(count) * ((len(data) - length - 1) // count)
    parts = [loss_of(model, gather_segments(data, part, length)) for part in starts.split(max(1, STEP_BYTES // length))]
    return torch.stack(parts).mean().item()


def rate_at(step, steps):
    """Learning rate: linear warm-up, then a half cosine down to 2 % of the peak."""
    if step < WARMUP:
        return PEAK_RATE * (step + 1) / WARMUP
    progress = (step - WARMUP) / max(1, steps - WARMUP)
    return PEAK_RATE * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimiser(model):
    """AdamW; matrices decay, vectors and the parameters of the bias do not."""
    learned = {id(p) for p in model.bias_parameters.values()}
    decayed = [p for p in model.parameters() if p.dim() > 1 and id(p) not in learned]
    plain = [p for p in model.parameters() if p.dim() <= 1 or id(p) in learned]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.98), fused=True)


def train(encoding, data, steps, seed):
    """Train one model; returns it with a list of (step, mean loss since the last entry)."""
    torch.manual_seed(seed)
    model = Decoder(encoding)
    optimiser = make_optimiser(model)
    batches = torch.Generator().manual_seed(seed)
    length, curve, recent = encoding.train_length, [], []
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, steps)
        starts = torch.randint(len(data) - length - 1, (STEP_BYTES // length,), generator=batches, device="cpu").to(data.device)
        loss = loss_of(model, gather_segments(data, starts, length))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        recent.append(loss.item())
        if (step + 1) % 20 == 0 or step + 1 == steps:
            curve.append((step + 1, sum(recent) / len(recent)))
            recent = []
            print(f"{encoding.name}: step {step + 1} of {steps}, loss {curve[-1][1]:.4f}", flush=True)
    return model, curve


# --- export -------------------------------------------------------------------------------------

def make_config(model):
    """config.json of doc/checkpoint.md."""
    encoding = model.encoding
    config = {
        "format": "reach-checkpoint/1", "vocabulary": VOCABULARY, "hidden": HIDDEN,
        "layers": LAYERS, "heads": HEADS, "mlp": MLP, "activation": "gelu",
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


def write_curve(folder, curve, remarks):
    """Write training.csv: remarks, then step and loss."""
    with open(os.path.join(folder, "training.csv"), "w", newline="") as file:
        for remark in remarks:
            file.write(f"# {remark}\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["step", "loss"])
        rows.writerows((step, f"{loss:.5f}") for step, loss in curve)


def run(encoding, splits, options):
    """Train, measure, round, measure again and write one model."""
    start = time.time()
    model, curve = train(encoding, splits["train"], options.steps, options.seed)
    seconds = time.time() - start
    model.eval()
    length = encoding.train_length
    unrounded = evaluate(model, splits["valid"], length)
    round_to_bfloat16(model)
    valid = {n: evaluate(model, splits["valid"], n * length, 512 // n) for n in (1, 4)}
    folder = os.path.join(options.out, encoding.name)
    write_checkpoint(model, folder)
    remarks = [
        f"training of {encoding.name}: {options.steps} steps of {STEP_BYTES // length} x {length} bytes, seed {options.seed}",
        "loss: nats a byte, mean since the row before; the last is the final training loss",
        f"valid loss at {length} inputs: {valid[1]:.5f} (before rounding to bfloat16: {unrounded:.5f})",
        f"valid loss at {4 * length} inputs: {valid[4]:.5f}",
    ]
    write_curve(folder, curve, remarks)
    print(f"{encoding.name}: {seconds:.0f} s, train {curve[-1][1]:.4f}, valid {valid[1]:.4f} "
          f"(unrounded {unrounded:.4f}), at {4 * length} inputs {valid[4]:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="train the example models")
    parser.add_argument("--corpus", required=True, metavar="DIR", help="folder with train/*.txt.gz and valid/*.txt.gz")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the model folders go")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of ENCODINGS rows, or window-N; default: all rows")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--epochs", type=float, help="in place of --steps: times that the training text is read")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: matrix products in bfloat16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    globals().update(SIZES[options.size])
    table = {encoding.name: encoding for encoding in ENCODINGS}
    names = options.only or list(table)
    for name in names:
        window = re.fullmatch(r"window-([1-9]\d*)", name)
        if name not in table and not window:
            parser.error(f"unknown model {name} (known: window-N, {', '.join(table)})")
        if name not in table:
            table[name] = Encoding(name, window=int(window[1]))
    torch.set_num_threads(options.threads)
    torch.set_default_device(options.device)
    splits = {split: read_split(options.corpus, split).to(options.device) for split in ("train", "valid")}
    if options.epochs:
        options.steps = round(options.epochs * len(splits["train"]) / STEP_BYTES)
    for name in names:
        encoding = table[name]
        if encoding.train_length == Encoding.train_length:  # not a length of its own
            encoding = replace(encoding, train_length=TRAIN_LENGTH)
        run(encoding, splits, options)


if __name__ == "__main__":
    main()
