"""What was measured of the example models, and what their biases alone say."""

import csv
import math
import os
import subprocess
import sys
import tempfile
from functools import cached_property
from operator import mul

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from gates import LENGTH, Measured, read_csv  # noqa: E402

MODELS, REPEATS = (os.path.join(ROOT, "examples", folder) for folder in ("models", "repeats"))
INPUTS = LENGTH - 1


class Field:
    """ERF(q) in tokens with its 95 % interval; saturated: all inputs are needed."""

    def __init__(self, row):
        self.tokens, self.lo, self.hi, self.saturated = int(row["field"]), int(row["field_lo"]), int(row["field_hi"]), row["saturated"] == "1"

    def __str__(self):
        return f">= {self.tokens}" if self.saturated else f"{self.tokens} [{self.lo}, {self.hi}]"


class Model(Measured):
    """A model with its measured.csv and curve.csv. Fields and contexts are numbers of tokens; losses are NLL in nats a token."""

    def __init__(self, folder, reach):
        super().__init__(folder)
        self.reach, self.folder = reach, folder
        self.kernels, self.convolutions = {}, {}    # by number of inputs
        rows = read_csv(os.path.join(self.folder, "measured.csv"))
        self.fields = {float(row["threshold"]): Field(row) for row in rows if row["threshold"]}
        self.curve = [(int(row["tokens"]), float(row["c"]), float(row["c_lo"]), float(row["c_hi"])) for row in read_csv(os.path.join(self.folder, "curve.csv"))]

    @property
    def window(self):
        """Keys that a layer sees; None without a window."""
        return self.config["window"] if isinstance(self.config.get("window"), int) and self.config["window"] else None

    @property
    def cone(self):
        """Inputs that the last prediction can depend on through windows in every layer."""
        return 1 + self.config["layers"] * (self.window - 1) if self.window else None

    def nll(self, context=None):
        return self.at[context or self.trained]["nll"]

    def rise(self, multiple):
        """Difference of NLL at that multiple of L_tr to that at L_tr, paired by target, and half of its 95 % interval; None where it has no such positions."""
        return next(((d, half) for k, d, half in self.rises() if k == multiple), None)

    @property
    def holds(self):
        """Whether it extrapolates: no interval of a rise lies wholly above 2 % of the NLL at L_tr."""
        return self.extrapolates() == "yes"

    def erf(self, q=0.99):
        return self.fields[q]

    def share(self, tokens):
        """Share of the gradient of the most recent `tokens` inputs: the last point of the curve within them."""
        return max((row for row in self.curve if row[0] <= tokens), default=(0, 0.0, 0.0, 0.0))[1]

    def kernel_at(self, inputs):
        """exp(b(t)) over its sum for t = 0 to inputs-1, the mean over heads: what a query that likes all keys alike takes from each distance. None where positions
        are not a bias by distance."""
        if inputs in self.kernels:
            return self.kernels[inputs]
        if self.window:
            return [1 / self.window if t < self.window else 0.0 for t in range(inputs)]
        if "position_bias" not in self.config:
            return None
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([self.reach, "bias", self.folder, "--length", str(inputs), "-o", scratch, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            heads = {}
            with open(os.path.join(scratch, "bias.csv"), newline="") as file:
                for row in csv.DictReader(line for line in file if not line.startswith("#")):
                    heads.setdefault(row["head"], [0.0] * inputs)[int(row["distance"])] = math.exp(float(row["bias"]))
        sums = [math.fsum(h) for h in heads.values()]
        self.kernels[inputs] = [sum(h[t] / total for h, total in zip(heads.values(), sums)) / len(heads) for t in range(inputs)]
        return self.kernels[inputs]

    def convolved_at(self, inputs):
        """The kernel convolved with itself once for each layer but the first: where the layers' steps together lead."""
        if (one := self.kernel_at(inputs)) is None:
            return None
        if inputs not in self.convolutions:
            now = one
            for _ in range(self.config["layers"] - 1):
                now = [math.fsum(map(mul, now[:t + 1], one[t::-1])) for t in range(inputs)]
            self.convolutions[inputs] = now
        return self.convolutions[inputs]

    @property
    def kernel(self):
        return self.kernel_at(INPUTS)

    @property
    def convolved(self):
        return self.convolved_at(INPUTS)

    def field_of_formula(self, q, layers):
        """The least number of most recent tokens with more than q of the kernel, of one layer or of all: what ERF(q) would be if gradients went by the bias alone."""
        kernel, so_far = self.convolved if layers > 1 else self.kernel, 0.0
        total = math.fsum(kernel)
        for t, weight in enumerate(kernel):
            so_far += weight
            if so_far > q * total * (1 + 1e-12):    # half of a window is no more than half
                return t + 1
        return len(kernel)

    @cached_property
    def verdict(self):
        """converges, diverges or undecided: the sum of exp(b(t)) over all distances, for all heads; None where there is no bias."""
        if self.window:
            return "converges"
        if "position_bias" not in self.config:
            return None
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([self.reach, "trf", self.folder, "-o", scratch, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            said = {row["verdict"] for row in read_csv(os.path.join(scratch, "trf.csv"))}
        return said.pop() if len(said) == 1 else "diverges" if "diverges" in said else "undecided"


def read_folder(folder, reach):
    """All models of a folder that have been measured, by name."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {n: Model(os.path.join(folder, n), reach) for n in names if all(os.path.exists(os.path.join(folder, n, f)) for f in ("measured.csv", "curve.csv"))}


def read_models(reach):
    """The models whose weights are kept, by name."""
    return read_folder(MODELS, reach)


def read_repeats(reach):
    """Those of which only the results are: other seeds, more steps, another length."""
    return read_folder(REPEATS, reach)
