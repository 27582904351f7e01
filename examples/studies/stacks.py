"""What data/windows*.csv say (windows.py), for the page on stacks of windows; and what simple models of a stack predict.

A stack has D layers with windows of w keys. In each layer the gradient either stays at its token (the residual
stream) or moves back by 0 to w - 1 tokens, each as likely (attention that likes all keys alike).
"""

import math
import os
import re
from functools import cache

from gates import read_csv
from models import REPEATS
from tables import markdown, student_p
from validation import data, interval

QS = (0.5, 0.9, 0.99)
GRID_LENGTH = 512               # L_tr of the grid: no cone is longer
CELLS = [(w, d) for w in (16, 32, 64) for d in (2, 4, 8)] + [(16, 16)]
SEEDS = (3, 4)
XIAO = 1.5                  # windows


SIGNS = "random signs, G / D in each layer"


# --- what was measured --------------------------------------------------------------------------

class Stack:
    """A row of data/windows.csv. Fields and distances are numbers of tokens."""

    def __init__(self, row):
        self.row, self.name = row, row["model"]
        self.window, self.layers, self.trained, self.seed, self.step = (int(row[key]) for key in ("window", "layers", "trained", "seed", "step"))
        self.cell, self.cone = (self.window, self.layers), 1 + self.layers * (self.window - 1)
        self.distance = float(row["distance"])

    def erf(self, q):
        return int(self.row[f"erf_{q}"])

    def field(self, q):
        return "{} [{}, {}]".format(*(self.row[f"erf_{q}{end}"] for end in ("", "_lo", "_hi")))

    def windows(self, q):
        return self.erf(q) / self.window

    @property
    def gains(self):
        """The squared gain of each layer's values against the residual stream, from the weights; () where weights are not kept."""
        return tuple(float(g) for g in self.row.get("gains", "").split())

    @property
    def hops(self):
        """Mean distance in halves of w - 1 tokens, the mean move of attention that likes all keys alike: moves in all, from the first layer to the last."""
        return self.distance / ((self.window - 1) / 2)

    def number(self, key):
        return float(self.row[key])


def kept(name):
    """The row of a trained model whose weights are not kept, from its measured.csv; the mean distance from its curve, by a straight line between its points."""
    folder = os.path.join(REPEATS, name)
    window, layers = map(int, re.fullmatch(r"window-(\d+)-layers-(\d+)", name).groups())
    row = {"model": name, "window": window, "layers": layers, "trained": 128, "seed": 1, "step": read_csv(os.path.join(folder, "training.csv"))[-1]["step"]}
    for found in read_csv(os.path.join(folder, "measured.csv")):
        if found["threshold"]:
            row.update({f"erf_{found['threshold']}{end}": found[f"field{end}"] for end in ("", "_lo", "_hi")})
    points = [(0, 0.0), *((int(r["tokens"]), float(r["c"])) for r in read_csv(os.path.join(folder, "curve.csv")))]
    return {**row, "distance": math.fsum((c - c0) * (n0 + n - 1) / 2 for (n0, c0), (n, c) in zip(points, points[1:]))}


@cache
def stacks():
    return [Stack(row) for row in [*data("windows"), kept("window-64-layers-2")]]


def last_step(name):
    return max((s.step for s in stacks() if s.name == name), default=0)


def trained():
    """The trained models of the grid."""
    return [s for s in stacks() if s.trained == GRID_LENGTH and s.cell in CELLS and s.step and s.step == last_step(s.name)]


def untrained():
    """The models of the grid as drawn."""
    return [s for s in stacks() if s.trained == GRID_LENGTH and s.cell in CELLS and s.step == 0]


def deep():
    """Models as drawn that are deeper than those of the grid."""
    return [s for s in stacks() if s.trained == GRID_LENGTH and s.cell not in CELLS and s.step == 0]


def earlier():
    """Trained models whose cone lies within their L_tr of 128, and which show no segment's edge beyond training."""
    return [s for s in stacks() if s.trained != GRID_LENGTH and s.step and s.step == last_step(s.name) and s.cone <= s.trained]


def past_training():
    """Those whose cone is longer than L_tr."""
    return [s for s in stacks() if s.trained != GRID_LENGTH and s.step and s.step == last_step(s.name) and s.cone > s.trained]


def middle():
    """{name: (the checkpoint nearest to half of the training, the last)} of the trained models of the grid that have both."""
    found = {}
    for last in trained():
        before = [s for s in stacks() if s.name == last.name and 0 < s.step < last.step]
        if before:
            found[last.name] = (min(before, key=lambda s: abs(s.step - last.step / 2)), last)
    return found


def cells_of(chosen):
    """{(window, layers): its models}, in the order of CELLS."""
    return {cell: here for cell in CELLS if (here := [s for s in chosen if s.cell == cell])}


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def spread(chosen, of):
    """The greatest ratio of two seeds of a cell, and the number of cells with two."""
    ratios = [max(map(of, here)) / min(map(of, here)) for here in cells_of(chosen).values() if len(here) > 1]
    return (max(ratios), len(ratios)) if ratios else None


def steps_table(chosen):
    """ERF(0.9) in windows by step of the training, mean over seeds, a row a cell."""
    steps = sorted({s.step for s in stacks() if s.name in {c.name for c in chosen}})
    rows = []
    for (w, d), here in cells_of(chosen).items():
        found = {step: [s.windows(0.9) for s in stacks() if s.step == step and s.name in {c.name for c in here}] for step in steps}
        rows.append([w, d, *(f"{mean(v):.2f}" if v else "-" for v in found.values())])
    return markdown(["window", "layers", *(f"step {step}" for step in steps)], rows)


def left_after(chosen, cell, windows):
    """The share of the gradient beyond that many windows, mean over seeds."""
    names = {(s.name, str(s.step)) for s in chosen if s.cell == cell}
    return mean(1 - float(r["c"]) for r in data("windows-shares") if (r["model"], r["step"]) in names and int(r["tokens"]) == windows * cell[0])


def depth_field(layers, q, chosen=untrained):
    """ERF(q) in windows, mean over the models with so many layers."""
    return mean(s.windows(q) for s in chosen() if s.layers == layers)


def complete():
    """Whether so many of the trained models are in that powers can be told."""
    return len(cells_of(trained())) >= 6 and len({s.layers for s in trained()}) > 2


def cell_text(here, text):
    return "; ".join(text(s) for s in here)


def fields_grid(chosen):
    """A row a cell: fields with their intervals over segments, seeds apart."""
    return markdown(["window", "layers", "cone", "seeds", *(f"ERF({q})" for q in QS), "in windows: at 0.5", "at 0.9", "at 0.99", "mean distance", "moves"],
                    [[w, d, here[0].cone, ", ".join(str(s.seed) for s in here), *(cell_text(here, lambda s, q=q: s.field(q)) for q in QS),
                      *(f"{mean(s.windows(q) for s in here):.2f}" for q in QS), cell_text(here, lambda s: f"{s.distance:.1f} ± {1.96 * s.number('distance_se'):.1f}"),
                      f"{mean(s.hops for s in here):.2f}"] for (w, d), here in cells_of(chosen).items()])


def earlier_table(chosen):
    return markdown(["model", "layers", "cone", "L_tr", *(f"ERF({q})" for q in QS), "in windows: at 0.5", "at 0.9", "at 0.99", "moves"],
                    [[f"`{s.name}`", s.layers, s.cone, s.trained, *(s.field(q) for q in QS), *(f"{s.windows(q):.2f}" for q in QS), f"{s.hops:.2f}"] for s in chosen])


def learning_table(chosen):
    return markdown(["window", "layers", "seeds", "NLL at 16", "at 128", "at 512", "gain from 16 to 512", "attention: 0.5 within", "0.9 within"],
                    [[w, d, ", ".join(str(s.seed) for s in here), *(cell_text(here, lambda s, c=c: f"{s.number(f'nll_{c}'):.3f}") for c in (16, 128, 512)),
                      cell_text(here, lambda s: f"{s.number('gain'):.3f} ± {1.96 * s.number('gain_se'):.3f}"), *(f"{mean(s.number(f'attended_{q}') for s in here):.1f}" for q in (0.5, 0.9))]
                     for (w, d), here in cells_of(chosen).items()])


# --- what simple models predict -----------------------------------------------------------------

@cache
def moves(window, layers):
    """[k][t]: the probability of t tokens after k moves, each of 0 to window - 1 tokens and each as likely, k = 0 to `layers`."""
    found = [[1.0] + [0.0] * (layers * (window - 1))]
    for _ in range(layers):
        now, total = [], 0.0
        for t, x in enumerate(found[-1]):
            total += x - (found[-1][t - window] if t >= window else 0.0)
            now.append(max(total, 0.0) / window)
        found.append(now)
    return found


@cache
def random_walk(window, layers, p):
    """Gradients that add as probabilities do: each layer moves with probability p and stays with 1 - p. The share of each distance."""
    weights = [math.comb(layers, k) * p ** k * (1 - p) ** (layers - k) for k in range(layers + 1)]
    return [math.fsum(w * x for w, x in zip(weights, column)) for column in zip(*moves(window, layers))]


@cache
def signs_with(window, gains):
    """Gradients of paths through different sets of layers are unrelated, so that squares add: E |g_t|^2 = sum over k of e_k P_k(t)^2, where P_k is the distance after k moves and e_k the sum
    over all sets of k layers of the product of their gains: of a layer's values against the residual stream, squared. The share of each distance."""
    weights = [1.0] + [0.0] * len(gains)
    for g in gains:
        for k in range(len(gains), 0, -1):
            weights[k] += g * weights[k - 1]
    norms = [math.sqrt(math.fsum(w * x * x for w, x in zip(weights, column))) for column in zip(*moves(window, len(gains)))]
    total = math.fsum(norms)
    return [x / total for x in norms]


def random_signs(window, layers, g):
    """The same with one gain for all layers."""
    return signs_with(window, (g,) * layers)


def field_in(shares, q):
    """ERF(q) of shares that add to 1: the least number of most recent tokens with more than q of them."""
    so_far = 0.0
    for t, x in enumerate(shares):
        so_far += x
        if so_far > q * (1 + 1e-12):
            return t + 1
    return len(shares)


def walk_errors():
    """By how much the walk's mean and variance differ from D p (w - 1) / 2 and D (p (w^2 - 1) / 12 + p (1 - p) (w - 1)^2 / 4), the greatest relative error over the grid."""
    worst = 0.0
    for w, d in CELLS:
        for p in (0.1, 0.5, 1.0):
            shares = random_walk(w, d, p)
            m = math.fsum(t * x for t, x in enumerate(shares))
            v = math.fsum((t - m) ** 2 * x for t, x in enumerate(shares))
            worst = max(worst, abs(m / (d * p * (w - 1) / 2) - 1), abs(v / (d * (p * (w * w - 1) / 12 + p * (1 - p) * (w - 1) ** 2 / 4)) - 1))
    return worst


class Prediction:
    """A field by window, depth and q, with at most one number that is fitted."""

    def __init__(self, name, field, start=None, each_q=False):
        self.name, self.of, self.start, self.each_q = name, field, start, each_q    # start: (least, greatest) of the number; each_q: one number for each q

    def error(self, points, number):
        """Mean squared logarithm of predicted over measured."""
        return mean(math.log(self.of(w, d, q, number) / tokens) ** 2 for w, d, q, tokens in points)

    def fit(self, points):
        """The number with the least error, within 1 %: fields are whole tokens, so the error has steps."""
        if self.start is None:
            return None
        least, greatest = self.start
        for step in (1.15, 1.01):
            tried = [least * step ** i for i in range(1 + math.floor(math.log(greatest / least) / math.log(step)))]
            best = min(tried, key=lambda number: self.error(points, number))
            least, greatest = max(self.start[0], best / step), min(self.start[1], best * step)
        return best


PREDICTIONS = [
    Prediction("1.5 windows", lambda w, d, q, c: XIAO * w),
    Prediction("the cone, D (w - 1) + 1", lambda w, d, q, c: d * (w - 1) + 1),
    Prediction("walk without residual stream", lambda w, d, q, c: field_in(random_walk(w, d, 1.0), q)),
    Prediction("c w", lambda w, d, q, c: c * w, (0.1, 20), True),
    Prediction("c w D^(1/2)", lambda w, d, q, c: c * w * math.sqrt(d), (0.1, 20), True),
    Prediction("c w D", lambda w, d, q, c: c * w * d, (0.02, 20), True),
    Prediction("walk, p in each layer", lambda w, d, q, p: field_in(random_walk(w, d, min(p, 1.0)), q), (0.01, 1)),
    Prediction("walk, h moves in all", lambda w, d, q, h: field_in(random_walk(w, d, min(h / d, 1.0)), q), (0.1, 16)),
    Prediction("random signs, g in each layer", lambda w, d, q, g: field_in(random_signs(w, d, g), q), (0.005, 50)),
    Prediction("random signs, G / D in each layer", lambda w, d, q, g: field_in(random_signs(w, d, g / d), q), (0.01, 500)),
]


def prediction(name):
    return next(p for p in PREDICTIONS if p.name == name)


def points_of(chosen, qs=QS):
    """(window, layers, q, the geometric mean of ERF(q) over seeds) of each cell."""
    return [(*here[0].cell, q, math.exp(mean(math.log(s.erf(q)) for s in here))) for here in grouped(chosen) for q in qs]


def grouped(chosen):
    by_cell = {}
    for s in chosen:
        by_cell.setdefault(s.cell, []).append(s)
    return list(by_cell.values())


@cache
def fitted(name, chosen, q=None):
    """The number of a prediction, fitted to all q, or to one."""
    return prediction(name).fit(points_of(chosen(), QS if q is None else (q,)))


def off_by(name, chosen, q):
    """The typical factor by which a prediction is off at q: exp of the root of the mean squared logarithm, over cells."""
    p = prediction(name)
    return math.exp(math.sqrt(p.error(points_of(chosen(), (q,)), fitted(name, chosen, q if p.each_q else None))))


def off_by_deeper(name, chosen, q, shallow=4):
    """The same over the cells with more layers than `shallow`, with a number fitted to the others."""
    p = prediction(name)
    near, far = ([s for s in chosen() if (s.layers <= shallow) == side] for side in (True, False))
    number = p.fit(points_of(near, (q,) if p.each_q else QS))
    return math.exp(math.sqrt(p.error(points_of(far, (q,)), number))) if far else None


def number_text(name, chosen):
    p = prediction(name)
    if p.start is None:
        return "none"
    return ", ".join(f"{fitted(name, chosen, q):.2f}" for q in QS) if p.each_q else f"{fitted(name, chosen):.2f}"


def from_weights(s, q):
    """ERF(q) of a stack as random signs with the gains of its own weights predict it."""
    return field_in(signs_with(s.window, s.gains), q)


def off_from_weights(chosen, q):
    """The typical factor by which that is off."""
    return math.exp(math.sqrt(mean(math.log(from_weights(s, q) / s.erf(q)) ** 2 for s in chosen() if s.gains)))


def gain_table(chosen):
    """The sum of the layers' gains, and fields as predicted from them beside those measured."""
    return markdown(["window", "layers", "sum of gains", *(f"ERF({q}), predicted" for q in QS), *(f"measured, {q}" for q in QS)],
                    [[w, d, cell_text(here, lambda s: f"{math.fsum(s.gains):.2f}"), *(cell_text(here, lambda s, q=q: str(from_weights(s, q))) for q in QS),
                      *(cell_text(here, lambda s, q=q: str(s.erf(q))) for q in QS)] for (w, d), here in cells_of(chosen).items()])


def deep_table():
    """Fields of deeper stacks in windows, beside those predicted with the number of the grid and with the gains of their own weights."""
    number = fitted(SIGNS, untrained)
    return markdown(["window", "layers", *(f"ERF({q})" for q in QS), *(f"{name} {q}" for name in ("in windows:", "with the grid's G:", "with its gains:") for q in QS)],
                    [[s.window, s.layers, *(s.field(q) for q in QS), *(f"{s.windows(q):.2f}" for q in QS),
                      *(f"{prediction(SIGNS).of(s.window, s.layers, q, number) / s.window:.2f}" for q in QS), *(f"{from_weights(s, q) / s.window:.2f}" for q in QS)] for s in deep()])


def predictions_table(chosen):
    deeper = any(s.layers > 4 for s in chosen()) and any(s.layers <= 4 for s in chosen())
    return markdown(["prediction", "fitted", *(f"off by at {q}" for q in QS), *((f"8 and 16 layers from 2 and 4, at {q}" for q in QS) if deeper else ())],
                    [[p.name, number_text(p.name, chosen), *(f"{off_by(p.name, chosen, q):.2f}" for q in QS), *((f"{off_by_deeper(p.name, chosen, q):.2f}" for q in QS) if deeper else ())]
                     for p in PREDICTIONS]
                    + [["random signs, gains from the weights", "none", *(f"{off_from_weights(chosen, q):.2f}" for q in QS), *(["-"] * 3 if deeper else ())]])


def horizon(name, number, q, window=64, layers=64):
    """The field in windows that a prediction gives to a deep stack."""
    return prediction(name).of(window, layers, q, number) / window


def best_of(chosen, qs=QS, fitted_numbers=True):
    """The prediction with the least typical factor over all q."""
    return min((p.name for p in PREDICTIONS if fitted_numbers or p.start is None), key=lambda name: sum(math.log(off_by(name, chosen, q)) ** 2 for q in qs))


def carried_over(name, source, chosen, q):
    """The typical factor at q of a prediction whose number was fitted to other models."""
    p = prediction(name)
    number = fitted(name, source, q if p.each_q else None)
    return math.exp(math.sqrt(p.error(points_of(chosen(), (q,)), number)))


def carried_table(source, chosen):
    """Predictions with numbers from one set of models, on another."""
    return markdown(["prediction", "number", *(f"off by at {q}" for q in QS)],
                    [[p.name, number_text(p.name, source), *(f"{carried_over(p.name, source, chosen, q):.2f}" for q in QS)] for p in PREDICTIONS])


def expected_table(source, names):
    """What predictions say of the cells of the grid, with numbers from other models: ERF at each q."""
    return markdown(["window", "layers", *(f"{n}: {', '.join(map(str, QS))}" for n in names)],
                    [[w, d, *(", ".join(str(round(prediction(n).of(w, d, q, fitted(n, source, q if prediction(n).each_q else None)))) for q in QS) for n in names)] for w, d in CELLS])


# --- powers of window and depth -----------------------------------------------------------------

def quantile_t(degrees, level=0.975):
    """Student's t by bisection."""
    a, b = 0.0, 200.0
    while b - a > 1e-6:
        x = (a + b) / 2
        a, b = (x, b) if student_p(x, degrees) > 2 * (1 - level) else (a, x)
    return (a + b) / 2


def solve(matrix, right):
    """Gauss-Jordan of a small matrix with several right sides."""
    rows = [list(a) + list(b) for a, b in zip(matrix, right)]
    n = len(rows)
    for i in range(n):
        k = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[k] = rows[k], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i])]
    return [row[n:] for row in rows]


def powers(values):
    """ln value = ln a + alpha ln w + beta ln D by least squares over cells, values: {(w, D): value}. Each as (estimate, lo, hi), 95 % by Student's t on the residuals over cells."""
    xs = [(1.0, math.log(w), math.log(d)) for w, d in values]
    ys = [math.log(v) for v in values.values()]
    gram = [[math.fsum(x[i] * x[j] for x in xs) for j in range(3)] for i in range(3)]
    inverse = solve(gram, [[float(i == j) for j in range(3)] for i in range(3)])
    moment = [math.fsum(x[i] * y for x, y in zip(xs, ys)) for i in range(3)]
    best = [math.fsum(a * b for a, b in zip(row, moment)) for row in inverse]
    degrees = len(xs) - 3
    rest = math.fsum((y - math.fsum(a * b for a, b in zip(best, x))) ** 2 for x, y in zip(xs, ys))
    half = [quantile_t(degrees) * math.sqrt(rest / degrees * inverse[i][i]) if degrees else math.inf for i in range(3)]
    return tuple((b, b - h, b + h) for b, h in zip(best, half))


def measured_powers(chosen, of):
    return powers({here[0].cell: math.exp(mean(math.log(of(s)) for s in here)) for here in grouped(chosen)})


def predicted_powers(name, chosen, q):
    """The powers that a prediction has on the same cells."""
    p = prediction(name)
    return powers({here[0].cell: p.of(*here[0].cell, q, fitted(name, chosen, q if p.each_q else None)) for here in grouped(chosen())})


def powers_table(chosen):
    """Powers of window and depth of each field and of the mean distance, all seeds and each alone, beside those of predictions on the same cells."""
    measures = [*((f"ERF({q})", lambda s, q=q: s.erf(q)) for q in QS), ("mean distance", lambda s: s.distance)]
    seeds = sorted({s.seed for s in chosen()})
    alone = [seed for seed in seeds if len(seeds) > 1 and len({s.cell for s in chosen() if s.seed == seed}) > 4]
    rows = []
    for title, of in measures:
        _, alpha, beta = measured_powers(chosen(), of)
        apart = [measured_powers([s for s in chosen() if s.seed == seed], of) for seed in alone]
        rows.append([title, interval(alpha), interval(beta), "; ".join(f"{a[1][0]:.2f}, {a[2][0]:.2f}" for a in apart) or "-"])
    return markdown(["", "power of the window", "power of the depth", f"seeds {' and '.join(map(str, alone))} alone" if alone else "each seed alone"], rows)


def short(three):
    return "{:.2f} [{:.2f}, {:.2f}]".format(*three)


# --- a real model -------------------------------------------------------------------------------

def real_row(change, inputs, layer=0):
    return next((r for r in data("windows-real") if (r["change"], r["inputs"], r["layer"]) == (change, str(inputs), str(layer))), None)


def real_changes():
    return list(dict.fromkeys(r["change"] for r in data("windows-real")))


def real_inputs():
    return sorted({int(r["inputs"]) for r in data("windows-real")})


def real_field(change, inputs, q, layer=0):
    """ERF(q), with its interval if there are six segments or more: of fewer a bootstrap says nothing."""
    row = real_row(change, inputs, layer)
    return row[f"erf_{q}"] if int(row["segments"]) < 6 else "{} [{}, {}]".format(*(row[f"erf_{q}{end}"] for end in ("", "_lo", "_hi")))


def real_erf(change, inputs, q, layer=0):
    return int(real_row(change, inputs, layer)[f"erf_{q}"])


def real_table():
    rows = [r for r in data("windows-real") if r["layer"] == "0"]
    return markdown(["windows", "inputs", "segments", *(f"ERF({q})" for q in QS), "mean distance", "share of the first input"],
                    [[r["change"], r["inputs"], r["segments"], *(real_field(r["change"], r["inputs"], q) for q in QS), f"{float(r['distance']):.0f} ± {quantile_t(int(r['segments']) - 1) * float(r['distance_se']):.0f}", f"{float(r['first']):.3f}"]
                     for r in rows])


def real_layers_table(inputs, q):
    changes = [c for c in real_changes() if real_row(c, inputs)]
    layers = sorted({int(r["layer"]) for r in data("windows-real") if r["inputs"] == str(inputs)})
    return markdown(["at the input of layer", *map(str, (layer + 1 for layer in layers))],
                    [[c, *(real_erf(c, inputs, q, layer) for layer in layers)] for c in changes])


def real_loss_table():
    rows = data("windows-losses")
    changes, ends = (list(dict.fromkeys(r[key] for r in rows)) for key in ("change", "to"))
    by = {(r["change"], r["to"]): r for r in rows}
    first = {r["to"]: r["from"] for r in rows}
    half = quantile_t(int(rows[0]["blocks"]) - 1)
    return markdown(["windows", *(f"{first[e]} to {e}" for e in ends)],
                    [[c, *((f"{float(by[c, e]['nll']):.3f}" if c == changes[0] else f"{float(by[c, e]['rise']):+.3f} ± {half * float(by[c, e]['rise_se']):.3f}") for e in ends)] for c in changes])


def real_rise(change, last):
    """What a change adds to the loss of the octave of inputs that ends there, with half of its interval."""
    row = next(r for r in data("windows-losses") if (r["change"], r["to"]) == (change, str(last)))
    return float(row["rise"]), quantile_t(int(row["blocks"]) - 1) * float(row["rise_se"])
