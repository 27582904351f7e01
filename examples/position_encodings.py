"""The position encodings and the mixers of the example models: one row of a table each.

A name is a row of ENCODINGS or `window-N`, followed by any of: `-novels` (trained and measured on novels), `-layers-N` (not 4), `-train-N` (on N inputs, default 128),
`-tokens-M` (on M million tokens), `-seed-S`. `encoding_of` reads it.
"""

import math
import re
from dataclasses import dataclass, field, replace

import torch

TRAIN_LENGTH = 128


@dataclass
class Encoding:
    """One row of the table: how a model knows about positions, and how long it is trained.

    `bias(t, h, H, **parameters)` returns the additive bias [H, len(t)] at the distances t [len(t)]
    for heads h [H, 1] counted from 1; `formula` is the same function in the language of
    doc/formula.md. `parameters` are learned, one number a head, and start at the value given;
    `positive` keeps them above zero (their logarithms are trained). `million` is the number of
    tokens to train on; 24 where the model learns positions slowly: from the segment's edge alone,
    or nearly, or from absolute rows. `mixers` are those of recurrences.py, block by block and from
    the first again; without any, all blocks are attention.
    """

    name: str
    window: int = 0
    position: dict = field(default_factory=lambda: {"kind": "none"})
    bias: object = None
    formula: str = ""
    parameters: dict = field(default_factory=dict)
    positive: bool = False
    million: int = 16
    train_length: int = TRAIN_LENGTH
    seed: int = 1
    layers: int = 0     # as many as the size has
    mixers: tuple = ()


def alibi(delta=0.0):
    """ALiBi with the slopes 2^-(8h/H + delta)."""
    return lambda t, h, H: -(2.0 ** -(8.0 * h / H + delta)) * t


def kerple_log(t, h, H, p, a):
    """KERPLE, logarithmic variant: -p ln(1 + a t)."""
    return -p * torch.log1p(a * t)


def kerple_log_held(p):
    """KERPLE, logarithmic variant, the same exponent p for all heads and a = 1, not learned: the series converges if p > 1."""
    return lambda t, h, H: -p * torch.log1p(t).expand(H, -1)


def kerple_power(t, h, H, p, a):
    """KERPLE, power variant: -a t^p."""
    return -a * torch.where(t > 0, t.clamp(min=1) ** p, torch.zeros_like(t))


def t5_bucket(t, most):
    """Index of the T5 bucket of each distance: 32 buckets, 16 of one distance each, then logarithmic up to `most`, causal."""
    far = 16 + (16 * torch.log(t.clamp(min=1).double() / 16) / math.log(most / 16)).floor().long()
    return torch.where(t < 16, t.long(), far.clamp(max=31))


def t5_used(most):
    """The buckets that some distance falls into: all 32 for most = 128, fewer for less."""
    return sorted(set(t5_bucket(torch.arange(most + 1, device="cpu"), most).tolist()))


def t5(most):
    """T5: one learned number a head and bucket."""
    used = t5_used(most)

    def bias(t, h, H, **w):
        table = torch.cat([w[f"w{i}"] for i in used], 1)        # [H, buckets]
        return table[:, torch.searchsorted(torch.tensor(used, device=t.device), t5_bucket(t, most))]
    return bias


def t5_formula(most):
    """The buckets as a formula: one comparison where the bucket changes."""
    bucket = t5_bucket(torch.arange(most + 1, device="cpu"), most).tolist()
    ends = [(t, bucket[t - 1]) for t in range(1, most + 1) if bucket[t] != bucket[t - 1]]
    return "".join(f"t<{t}?w{i}:" for t, i in ends) + f"w{bucket[-1]}"


def alibi_equal(s):
    """ALiBi with the slope 2^-s for every head."""
    return lambda t, h, H: -(2.0 ** -s) * t.expand(H, -1)


def sandwich(width):
    """Sandwich with dbar = width, i from 0: (sum_i cos(t / 10000^(2i/dbar)) - dbar/2) H / (8 h)."""
    def bias(t, h, H):
        half = width // 2
        angle = t.double()[:, None] / 10000.0 ** (torch.arange(half, dtype=torch.float64, device=t.device) / half)
        return ((angle.cos().sum(1) - half) / (8.0 * h.double() / H)).to(t.dtype)
    return bias


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


def rotary(base):
    return {"kind": "rotary", "base": base, "fraction": 1, "pairing": "half"}


def buckets(most):
    return {f"w{i}": 0.0 for i in t5_used(most)}


# in the order in which a queue trains them: the first eight are what `make demo` measures
ENCODINGS = [
    Encoding("rotary", position=rotary(10000)),
    Encoding("alibi", bias=alibi(0), formula="alibi(delta=0)"),
    Encoding("window-40", window=40, million=24),
    Encoding("window-64", window=64, million=24),
    Encoding("window-24", window=24, million=24),
    Encoding("sinusoidal", position={"kind": "sinusoidal"}, million=24),
    Encoding("kerple-log", bias=kerple_log, formula="kerple_log", parameters={"p": 1.0, "a": 1.0}, positive=True),
    Encoding("sandwich", bias=sandwich(128), formula="sandwich"),

    Encoding("t5", bias=t5(128), formula="t5", parameters=buckets(128)),
    Encoding("none", million=24),
    Encoding("alibi-plus-4", bias=alibi(4), formula="alibi(delta=4)"),
    Encoding("alibi-minus-3", bias=alibi(-3), formula="alibi(delta=-3)"),
    Encoding("window-96", window=96, million=24),
    Encoding("window-16", window=16, million=24),
    Encoding("window-32", window=32, million=24),
    Encoding("window-48", window=48, million=24),
    Encoding("alibi-equal-4", bias=alibi_equal(4), formula="alibi_equal(4)"),
    Encoding("alibi-equal-0", bias=alibi_equal(0), formula="alibi_equal(0)"),
    Encoding("alibi-equal-8", bias=alibi_equal(8), formula="alibi_equal(8)"),
    Encoding("type1", bias=type_1, formula="type1"),
    Encoding("type2", bias=type_2, formula="type2"),
    Encoding("divergent-a", bias=divergent_a, formula="divergent_a"),
    Encoding("divergent-b", bias=divergent_b, formula="divergent_b"),
    Encoding("kerple-power", bias=kerple_power, formula="kerple_power", parameters={"p": 1.0, "a": 0.1}, positive=True),
    Encoding("kerple-log-0.9", bias=kerple_log_held(0.9), formula="kerple_log(p=0.9,a=1)"),
    Encoding("kerple-log-1.1", bias=kerple_log_held(1.1), formula="kerple_log(p=1.1,a=1)"),
    Encoding("smoothed-sandwich", bias=smoothed_sandwich, formula="smoothed_sandwich"),
    Encoding("learned", position={"kind": "learned", "length": 512}, million=24),
    Encoding("rotary-base-500000", position=rotary(500000)),
    Encoding("t5-most-32", bias=t5(32), formula=t5_formula(32), parameters=buckets(32)),

    Encoding("mamba2", mixers=("mamba2",)),
    Encoding("mamba2-attention", mixers=("mamba2", "mamba2", "attention", "mamba2")),
    Encoding("gated-deltanet", mixers=("gated-deltanet",)),
    Encoding("lightning", mixers=("lightning",)),
]

# trained again: with the length that covers the field ([A], section 5.2), where the jump of sinusoidal goes ([A], figure 7), half as many steps
# again, with two layers, and with other seeds
FIXED = "window-64-train-224 sinusoidal-train-256".split()
LONGER = "rotary-tokens-24 alibi-tokens-24 window-40-tokens-36 sandwich-tokens-24 kerple-log-tokens-24 t5-tokens-24 sinusoidal-tokens-36".split()
SEEDED = "rotary alibi window-40 sinusoidal kerple-log sandwich t5".split()
SHALLOW = [f"{name}-layers-2" for name in "alibi window-64 rotary".split()]
NOVELS = [f"{name}-novels" for name in "rotary alibi window-40 sandwich sinusoidal".split()]     # another --corpus: not in the queue
QUEUE = [encoding.name for encoding in ENCODINGS] + FIXED + LONGER + SHALLOW + [f"{name}-seed-2" for name in SEEDED]


def encoding_of(name):
    """The encoding that a name stands for, with its training length, tokens and seed; None if there is no such."""
    parts = re.fullmatch(r"(.+?)(?:-novels)?(?:-layers-(\d+))?(?:-train-(\d+))?(?:-tokens-(\d+))?(?:-seed-(\d+))?", name)
    base, layers, length, million, seed = parts.groups() if parts else (name, None, None, None, None)
    table = {encoding.name: encoding for encoding in ENCODINGS}
    window = re.fullmatch(r"window-([1-9]\d*)", base)
    row = table.get(base) or (Encoding(base, window=int(window[1]), million=24) if window else None)
    given = {"layers": layers, "train_length": length, "million": million, "seed": seed}
    return row and replace(row, name=name, **{key: int(value) for key, value in given.items() if value})
