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
PLANNED = 2 * len(CELLS)        # two seeds
XIAO, ALPHA = 1.5, 0.95         # windows; what the residual stream keeps of a token in each layer
SIGNS = "random signs, G / D in each layer"


# --- what was measured --------------------------------------------------------------------------

class Stack:
    """A row of data/windows.csv. Fields and distances are numbers of tokens."""

    def __init__(self, row):
        self.row, self.name = row, row["model"]
        self.window, self.layers, self.trained, self.seed, self.step = (int(row[key]) for key in ("window", "layers", "trained", "seed", "step"))
        self.cell, self.cone = (self.window, self.layers), 1 + self.layers * (self.window - 1)
        self.distance = float(row["distance"])
        self.gains = tuple(float(g) for g in row.get("gains", "").split())      # squared, of each layer's values against the residual stream; () where weights are not kept

    def erf(self, q):
        return int(self.row[f"erf_{q}"])

    def field(self, q):
        return "{} [{}, {}]".format(*(self.row[f"erf_{q}{end}"] for end in ("", "_lo", "_hi")))

    def windows(self, q):
        return self.erf(q) / self.window

    @property
    def rest(self):
        """The sum of the gains of all layers but the first."""
        return math.fsum(self.gains[1:])

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


@cache
def last_step(name):
    return max((s.step for s in stacks() if s.name == name), default=0)


def ends(grid):
    """Trained models, of the grid or the earlier ones."""
    return [s for s in stacks() if (s.trained == GRID_LENGTH) == grid and s.step and s.step == last_step(s.name)]


def trained():
    """The trained models of the grid."""
    return [s for s in ends(True) if s.cell in CELLS]


def untrained():
    """The models of the grid as drawn."""
    return [s for s in stacks() if s.trained == GRID_LENGTH and s.cell in CELLS and s.step == 0]


def deep():
    """Models as drawn that are deeper than those of the grid."""
    return [s for s in stacks() if s.trained == GRID_LENGTH and s.cell not in CELLS and s.step == 0]


def earlier():
    """Trained models whose cone lies within their L_tr of 128, and which show no segment's edge beyond training."""
    return [s for s in ends(False) if s.cone <= s.trained]


def weighed():
    """Those of the earlier models whose weights are kept."""
    return [s for s in earlier() if s.gains]


def at_step(step):
    """Checkpoints of the grid's trainings that have ended."""
    names = {s.name for s in trained()}
    return [s for s in stacks() if s.name in names and s.step == step]


def half_way():
    """{name: (the checkpoint nearest to half of the training, the last)} of the grid."""
    return {s.name: (min((m for m in stacks() if m.name == s.name and 0 < m.step < s.step), key=lambda m: abs(m.step - s.step / 2)), s) for s in trained()}


def cells_of(chosen):
    """{(window, layers): its models}, in the order of CELLS."""
    return {cell: here for cell in CELLS if (here := [s for s in chosen if s.cell == cell])}


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
        """A number with nearly the least error: fields are whole tokens, so the error has steps, and a coarse search can miss a narrow one."""
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
    Prediction("exponential, 0.05 left after a window", lambda w, d, q, c: w * math.log(1 - q) / math.log(1 - ALPHA)),
    Prediction("the cone, D (w - 1) + 1", lambda w, d, q, c: d * (w - 1) + 1),
    Prediction("walk without residual stream", lambda w, d, q, c: field_in(random_walk(w, d, 1.0), q)),
    Prediction("c w", lambda w, d, q, c: c * w, (0.1, 20), True),
    Prediction("c w D^(1/2)", lambda w, d, q, c: c * w * math.sqrt(d), (0.1, 20), True),
    Prediction("walk, h moves in all", lambda w, d, q, h: field_in(random_walk(w, d, min(h / d, 1.0)), q), (0.1, 16)),
    Prediction(SIGNS, lambda w, d, q, g: field_in(signs_with(w, (g / d,) * d), q), (0.01, 500)),
]


def prediction(name):
    return next(p for p in PREDICTIONS if p.name == name)


def by_cell(chosen, of):
    """{(window, layers): the geometric mean over seeds}."""
    found = {}
    for s in chosen:
        found.setdefault(s.cell, []).append(math.log(of(s)))
    return {cell: math.exp(mean(values)) for cell, values in found.items()}


def points_of(chosen, qs=QS):
    """(window, layers, q, ERF(q)) of each cell."""
    return [(*cell, q, tokens) for q in qs for cell, tokens in by_cell(chosen, lambda s: s.erf(q)).items()]


@cache
def fitted(name, chosen, q=None):
    """The number of a prediction, fitted to all q, or to one."""
    p = prediction(name)
    return p.fit(points_of(chosen(), (q,) if p.each_q and q else QS))


def off_by(name, chosen, q, source=None):
    """The typical factor by which a prediction is off at q: exp of the root of the mean squared logarithm, over cells. source: the models that its number was fitted to, if others."""
    return math.exp(math.sqrt(prediction(name).error(points_of(chosen(), (q,)), fitted(name, source or chosen, q))))


def from_weights(s, q):
    """ERF(q) of a stack as random signs with the gains of its own weights predict it."""
    return field_in(signs_with(s.window, s.gains), q)


def off_from_weights(chosen, q):
    """The typical factor by which that is off."""
    return math.exp(math.sqrt(mean(math.log(tokens / by_cell(chosen(), lambda s: from_weights(s, q))[w, d]) ** 2 for w, d, _, tokens in points_of(chosen(), (q,)))))


def longer_from_weights(q):
    """The geometric mean of those fields over the measured ones, over trained models."""
    return math.exp(mean(math.log(from_weights(s, q) / s.erf(q)) for s in trained()))


def stack(window, layers, seed=3):
    """That trained model of the grid."""
    return next(s for s in trained() if (*s.cell, s.seed) == (window, layers, seed))


def shared_out(s, layers, q):
    """ERF(q) of a deeper stack, if its layers after the first had the same gain together as those of a stack have, in equal parts."""
    return field_in(signs_with(s.window, s.gains[:1] + (s.rest / (layers - 1),) * (layers - 1)), q)


def predictions_table():
    """How far off predictions are: of models as drawn, and trained, with numbers fitted to them, and with those of the earlier models."""
    def number(p, source):
        return "none" if p.start is None else ", ".join(f"{fitted(p.name, source, q):.2f}" for q in (QS if p.each_q else QS[:1]))
    def off(p, chosen, source=None):
        return ", ".join(f"{off_by(p.name, chosen, q, source):.2f}" for q in QS)
    qs = ", ".join(map(str, QS))
    rows = [[p.name, number(p, untrained), off(p, untrained), number(p, trained), off(p, trained), *((number(p, earlier), off(p, trained, earlier)) if p.start else ("-", "-"))] for p in PREDICTIONS]
    weights = [cell for chosen in (untrained, trained) for cell in ("none", ", ".join(f"{off_from_weights(chosen, q):.2f}" for q in QS))]
    return markdown(["prediction", "as drawn: fitted", f"off by at {qs}", "trained: fitted", f"off by at {qs}", "fitted to earlier models", f"off by at {qs}"],
                    rows + [["random signs, gains from the weights", *weights, "-", "-"]])


def expected_table():
    """What predictions said of the cells of the grid with the numbers of the earlier models, and what came."""
    names = (SIGNS, "walk, h moves in all", "c w D^(1/2)")
    measured = {q: by_cell(trained(), lambda s: s.erf(q)) for q in QS}
    return markdown(["window", "layers", *names, "measured"],
                    [[w, d, *(", ".join(str(round(prediction(n).of(w, d, q, fitted(n, earlier, q)))) for q in QS) for n in names),
                      ", ".join(f"{measured[q][w, d]:.0f}" for q in QS) if (w, d) in measured[0.5] else "-"] for w, d in CELLS])


# --- tables of what was measured ----------------------------------------------------------------

def cells_of(chosen):
    """{(window, layers): its models}, in the order of CELLS."""
    return {cell: here for cell in CELLS if (here := [s for s in chosen if s.cell == cell])}


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def depth_field(layers, q, chosen=untrained):
    """ERF(q) in windows, mean over the models with so many layers."""
    return mean(s.windows(q) for s in chosen() if s.layers == layers)


def depths(chosen):
    return sorted({s.layers for s in chosen})


def in_words(q):
    """Fields of trained models in windows by depth, mean over windows and seeds."""
    return listed(f"{depth_field(d, q, trained):.2f}" for d in depths(trained()))


def listed(values):
    *most, last = map(str, values)
    return f"{', '.join(most)} and {last}"


def doublings(q):
    """By how much ERF(q) in windows of a trained stack grows from D to 2 D layers and from 2 D to 4 D, of one window and seed, each the mean over all that are measured."""
    found = {(*s.cell, s.seed): s.windows(q) for s in trained()}
    three = [(found[w, d, seed], found[w, 2 * d, seed], found[w, 4 * d, seed]) for w, d, seed in found if {(w, 2 * d, seed), (w, 4 * d, seed)} <= set(found)]
    return mean(b - a for a, b, _ in three), mean(c - b for _, b, c in three)


def loss_orders(growing, fixed, order):
    """Whether the losses of each window or depth (`fixed`) and seed are in an order along the other."""
    groups = {}
    for s in sorted(trained(), key=growing):
        groups.setdefault((fixed(s), s.seed), []).append(s.number("nll_512"))
    return all(order(a, b) for losses in groups.values() for a, b in zip(losses, losses[1:]))


def deeper_is_better():
    return loss_orders(lambda s: s.layers, lambda s: s.window, lambda a, b: a > b)


def narrower_is_better():
    return loss_orders(lambda s: s.window, lambda s: s.layers, lambda a, b: a < b)


def widest(chosen):
    """The greatest distance of an interval's end from its field, as a share of the field, of those of more than one token."""
    ends = [(abs(int(s.row[f"erf_{q}_{end}"]) - s.erf(q)), s.erf(q)) for s in chosen for q in QS for end in ("lo", "hi")]
    return max(off / field for off, field in ends if off > 1)


def left_after(cell, windows):
    """The share of the gradient of a cell as drawn beyond that many windows, mean over seeds."""
    names = {s.name for s in untrained() if s.cell == cell}
    return mean(1 - float(r["c"]) for r in data("windows-shares") if r["model"] in names and r["step"] == "0" and int(r["tokens"]) == windows * cell[0])


def spread(chosen, of):
    """The greatest ratio of two seeds of a cell, None where there is one seed alone."""
    return max((max(map(of, here)) / min(map(of, here)) for here in cells_of(chosen).values() if len(here) > 1), default=None)


def each(here, text):
    return "; ".join(map(text, here))


def stack_table(chosen):
    """A row a cell: fields with their intervals over segments, seeds apart; gains, and the fields that they predict."""
    return markdown(["window", "layers", "cone", "seeds", *(f"ERF({q})" for q in QS), "in windows", "gain of layer 1", "of the others", "ERF from the gains"],
                    [[w, d, here[0].cone, each(here, lambda s: str(s.seed)), *(each(here, lambda s: s.field(q)) for q in QS), ", ".join(f"{mean(s.windows(q) for s in here):.2f}" for q in QS),
                      each(here, lambda s: f"{s.gains[0]:.2f}"), each(here, lambda s: f"{s.rest:.2f}"), each(here, lambda s: ", ".join(str(from_weights(s, q)) for q in QS))]
                     for (w, d), here in cells_of(chosen).items()])


def drawn_table():
    """Models as drawn by depth: fields in windows, from the least to the greatest over windows and seeds, beside those that the gains of their weights predict."""
    def ends_of(values):
        return " to ".join(dict.fromkeys(f"{f(values):.2f}" for f in (min, max)))
    rows = []
    for d in depths(untrained() + deep()):
        here = [s for s in untrained() + deep() if s.layers == d]
        rows.append([d, ", ".join(map(str, sorted({s.window for s in here}))), len(here), *(ends_of([s.windows(q) for s in here]) for q in QS), ends_of([math.fsum(s.gains) for s in here]),
                     *(ends_of([from_weights(s, q) / s.window for s in here]) for q in QS)])
    return markdown(["layers", "windows", "models", *(f"ERF({q}) / w" for q in QS), "sum of gains", *(f"from them: {q}" for q in QS)], rows)


def earlier_table():
    return markdown(["model", "layers", "cone", "L_tr", *(f"ERF({q})" for q in QS), "in windows"],
                    [[f"`{s.name}`", s.layers, s.cone, s.trained, *(s.field(q) for q in QS), ", ".join(f"{s.windows(q):.2f}" for q in QS)] for s in earlier()])


def learning_table(chosen):
    return markdown(["window", "layers", "seeds", "NLL at 16", "at 512", "gain from 16 to 512", "attention: 0.5 within", "0.9 within"],
                    [[w, d, each(here, lambda s: str(s.seed)), *(each(here, lambda s: f"{s.number(f'nll_{c}'):.3f}") for c in (16, 512)),
                      each(here, lambda s: f"{s.number('gain'):.3f} ± {1.96 * s.number('gain_se'):.3f}"), *(f"{mean(s.number(f'attended_{q}') for s in here):.1f}" for q in (0.5, 0.9))]
                     for (w, d), here in cells_of(chosen).items()])


def steps_table(chosen):
    """ERF(0.9) in windows by step of the training, and the gain of all layers but the first, mean over seeds, a row a cell."""
    steps = [step for step in sorted({s.step for s in stacks() if s.name in {c.name for c in chosen}}) if step not in (32, 126, 497)]
    found = {step: cells_of(at_step(step)) for step in steps}
    return markdown(["window", "layers", *(f"step {step}" for step in steps)],
                    [[w, d, *(f"{mean(s.windows(0.9) for s in found[step][w, d]):.2f} ({mean(s.rest for s in found[step][w, d]):.2f})" for step in steps)] for w, d in cells_of(chosen)])


# --- powers of window and depth -----------------------------------------------------------------

def quantile_t(degrees):
    """Student's t of 95 %, two-sided, by bisection."""
    a, b = 0.0, 200.0
    while b - a > 1e-6:
        x = (a + b) / 2
        a, b = (x, b) if student_p(x, degrees) > 0.05 else (a, x)
    return (a + b) / 2


def powers(chosen, of):
    """ln of(stack) = constant + alpha ln w + beta ln D by least squares over cells: alpha and beta as (estimate, lo, hi), 95 % by Student's t on the residuals."""
    cells = by_cell(chosen, of)
    columns = [[math.log(w) for w, _ in cells], [math.log(d) for _, d in cells], [math.log(v) for v in cells.values()]]
    a, b, y = ([x - mean(column) for x in column] for column in columns)
    def dot(u, v):
        return math.fsum(s * t for s, t in zip(u, v))
    det = dot(a, a) * dot(b, b) - dot(a, b) ** 2
    alpha = (dot(b, b) * dot(a, y) - dot(a, b) * dot(b, y)) / det
    beta = (dot(a, a) * dot(b, y) - dot(a, b) * dot(a, y)) / det
    degrees = len(cells) - 3
    rest = math.fsum((z - alpha * s - beta * t) ** 2 for s, t, z in zip(a, b, y)) / degrees
    half = [quantile_t(degrees) * math.sqrt(rest * dot(u, u) / det) for u in (b, a)]
    return tuple((x, x - h, x + h) for x, h in zip((alpha, beta), half))


def field_powers(chosen, q):
    return powers(chosen, lambda s: s.erf(q))


def local_powers(q, layers):
    """The power of the depth from that many layers to twice as many, trained, for each window."""
    fields = by_cell(trained(), lambda s: s.erf(q))
    return [math.log2(fields[w, 2 * d] / fields[w, d]) for w, d in fields if d == layers and (w, 2 * d) in fields]


def powers_table():
    """Powers of window and depth: as drawn, trained, and early in the training."""
    columns = (("as drawn", untrained()), ("trained", trained()), ("step 250", at_step(250)))
    measures = [*((f"ERF({q})", lambda s, q=q: s.erf(q)) for q in QS), ("mean distance", lambda s: s.distance)]
    return markdown(["", *(f"{title}: {what}" for title, _ in columns for what in ("window", "depth"))],
                    [[title, *(interval(power) for _, chosen in columns for power in powers(chosen, of))] for title, of in measures])


# --- a real model -------------------------------------------------------------------------------

def real_row(change, inputs):
    """Its field at the embeddings."""
    return next(r for r in data("windows-real") if (r["change"], r["inputs"], r["layer"]) == (change, str(inputs), "0"))


def real_erf(change, inputs, q):
    return int(real_row(change, inputs)[f"erf_{q}"])


def real_table():
    """Intervals of fields only of six segments or more: of fewer a bootstrap says nothing."""
    rows = []
    for r in data("windows-real"):
        if r["layer"] == "0":
            few, half = int(r["segments"]) < 6, quantile_t(int(r["segments"]) - 1) * float(r["distance_se"])
            rows.append([r["change"], r["inputs"], r["segments"], *(r[f"erf_{q}"] if few else "{} [{}, {}]".format(*(r[f"erf_{q}{end}"] for end in ("", "_lo", "_hi"))) for q in QS),
                         f"{float(r['distance']):.0f} ± {half:.0f}", f"{float(r['first']):.3f}"])
    return markdown(["windows", "inputs", "segments", *(f"ERF({q})" for q in QS), "mean distance", "share of the first input"], rows)


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
