"""What data/coverage.csv, data/controls.csv, data/crossed.csv and data/edges.csv say (measure.py), for the pages on intervals, on controls, on validation and on copied strings."""

import math
from statistics import median

from probed import LEAST
from tables import markdown, rank_correlation, signed
from validation import data, interval

METHODS = ("percentile", "bootstrap-t")
SEED_T = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}     # 97.5 % points by degrees of freedom
EDGE_T = 1.965      # 97.5 % point of Student's t with 511 degrees of freedom
CROSSED_T = 1.984   # with 99


# intervals

def quantities():
    return list(dict.fromkeys(r["quantity"] for r in data("coverage")))


def covered_models():
    return list(dict.fromkeys(r["model"] for r in data("coverage")))


def sizes():
    return sorted({int(r["segments"]) for r in data("coverage")})


def covers(quantity, segments, method="bootstrap-t"):
    """The part of the intervals that hold the true value, by model."""
    return {r["model"]: float(r["holds"]) for r in data("coverage") if (r["quantity"], r["segments"], r["method"]) == (quantity, str(segments), method)}


def average(values):
    values = list(values)
    return math.fsum(values) / len(values)


def width(quantity, segments, method="bootstrap-t"):
    """Median over the models of the median width, over the true value."""
    return median(float(r["width"]) / abs(float(r["true"])) for r in data("coverage") if (r["quantity"], r["segments"], r["method"]) == (quantity, str(segments), method))


FIELDS, GROWTH, DIFFERENCE = ("ERF(0.5)", "ERF(0.9)", "ERF(0.99)"), "growth of ERF(0.5)", "ERF(0.99) minus that of kerple-power"


def width_of_all(models, q):
    """Median width of a field's interval over the field, of the models that are not saturated."""
    return median((m.erf(q).hi - m.erf(q).lo) / m.erf(q).tokens for m in models.values() if not m.erf(q).saturated)


def percent(value, digits=0):
    return f"{100 * value:.{digits}f}"


def coverage_table():
    """A row a quantity and number of segments: mean and least over the models, in percent; the width of the method that is used."""
    rows = []
    for quantity in quantities():
        for n in sizes():
            if not covers(quantity, n):
                continue
            rows.append([quantity, n, *(f"{percent(average(c.values()))} ({percent(min(c.values()))})" for c in (covers(quantity, n, m) for m in METHODS)),
                         "" if quantity not in FIELDS else f"{percent(width(quantity, n))} %"])
    return markdown(["interval of", "segments", *METHODS, "width"], rows)


def with_two_seeds(models, repeats):
    """[(model, the same with another seed)]."""
    return [(models[n], repeats[f"{n}-seed-2"]) for n in models if f"{n}-seed-2" in repeats]


SEEDED = (("NLL at L_tr", "nats", lambda m: m.nll()), ("its rise at 2 L_tr", "nats", lambda m: m.rise(2)[0]), ("its rise at 4 L_tr", "nats", lambda m: m.rise(4)[0]),
          ("its rise at 16 L_tr", "nats", lambda m: m.rise(16)[0]), ("NLL at 16 L_tr", "nats", lambda m: m.nll(16 * m.trained)),
          ("ln ERF(0.5)", "", lambda m: math.log(m.erf(0.5).tokens)), ("ln ERF(0.99)", "", lambda m: math.log(m.erf().tokens)))


def spread_of_seeds(value, pairs):
    """Standard deviation of a value over seeds, pooled over the encodings, and half of the 95 % interval (Student, a degree of freedom an encoding) of a difference of two models."""
    deviation = math.sqrt(math.fsum((value(a) - value(b)) ** 2 / 2 for a, b in pairs) / len(pairs))
    return deviation, SEED_T[len(pairs)] * math.sqrt(2) * deviation


def spread_table(models, repeats, extrapolating):
    """A row a quantity: its spread over seeds, among the encodings whose two models both extrapolate, or all."""
    pairs = [(a, b) for a, b in with_two_seeds(models, repeats) if not extrapolating or (a.holds and b.holds)]
    return markdown(["quantity", "unit", "encodings", "standard deviation over seeds", "difference of two models: ±"],
                    [[title, unit, len(pairs), *(f"{x:.3f}" for x in spread_of_seeds(value, pairs))] for title, unit, value in SEEDED])


# controls

def control(model, name, group=""):
    """The row of data/controls.csv; None where there is none."""
    return next((r for r in data("controls") if (r["model"], r["control"], r["group"]) == (model, name, group)), None)


def controlled():
    return list(dict.fromkeys(r["model"] for r in data("controls")))


def field_cell(row, which):
    """A field with its interval."""
    if row is None:
        return "-"
    saturated = row["half_saturated" if which == "half" else "saturated"] == "1"
    return f"{'>= ' if saturated else ''}{row[which]} [{row[f'{which}_lo']}, {row[f'{which}_hi']}]"


def controls_table(columns, which="half"):
    """A row a model: the field under each (title, control, group)."""
    return markdown(["model", *(title for title, *_ in columns)], [[f"`{m}`", *(field_cell(control(m, *of), which) for _, *of in columns)] for m in controlled()])


def halves(name, group="", which="half"):
    """ERF(0.5) under a control, by model."""
    return {m: int(r[which]) for m in controlled() if (r := control(m, name, group))}


def agreement(name, group="", which="half", base="as measured"):
    """Rank correlation over the models of a field under a control with the field as it is measured."""
    now, before = halves(name, group, which), halves(base, "", which)
    return rank_correlation([before[m] for m in now], list(now.values()))


def disjoint(model, first, second, which="half"):
    """Whether the intervals of two rows, each (control, group), have nothing in common."""
    a, b = control(model, *first), control(model, *second)
    return int(a[f"{which}_hi"]) < int(b[f"{which}_lo"]) or int(b[f"{which}_hi"]) < int(a[f"{which}_lo"])


def factor(model, which):
    """How far random weights change a field, up or down."""
    a, b = halves("as measured", "", which)[model], halves("random weights", "", which)[model]
    return max(a, b) / min(a, b)


def near(model, name, group=""):
    r = control(model, name, group)
    return r and tuple(float(r[k]) for k in ("near", "near_lo", "near_hi"))


def near_table(name, groups):
    """A row a model: the last column of the data, of each group."""
    return markdown(["model", *groups], [[f"`{m}`", *(interval(found) if (found := near(m, name, g)) else "-" for g in groups)] for m in controlled()])


# the gradients of other models

def crossed_models():
    return list(dict.fromkeys(r["model"] for r in data("crossed")))


def crossed_with(model):
    """(rank correlation with the model's own gradient, with that of each other model, [how much more its own has, with half its interval])."""
    rows = [r for r in data("crossed") if r["model"] == model]
    others = [r for r in rows if r["gradient_of"] != model]
    own = next((float(r["correlation"]), CROSSED_T * float(r["correlation_se"])) for r in rows if r["gradient_of"] == model)
    return own, [float(r["correlation"]) for r in others], [(float(r["own_more"]), CROSSED_T * float(r["own_more_se"])) for r in others]


def crossed_pairs():
    """How much more each model's own gradient says than that of each other, with half of the interval."""
    return [pair for m in crossed_models() for pair in crossed_with(m)[2]]


def crossed_table():
    rows = []
    for m in crossed_models():
        own, others, more = crossed_with(m)
        least = min(more)
        rows.append([f"`{m}`", f"{own[0]:.2f} ± {own[1]:.2f}", f"{min(others):.2f} to {max(others):.2f}", signed(least, 2), f"{sum(d - half > 0 for d, half in more)} of {len(more)}"])
    return markdown(["loss of", "own gradient", "other models' gradients", "own minus the best other", "others it beats"], rows)


def strangers(models):
    """Correlations over k of ln size of one model with ln gradient of another, of all pairs: their median and the median of those with a model's own."""
    def correlation(a, b):
        theirs = {r["tokens"]: r["gradient"] for r in b.rows["replaced"]}
        points = [(math.log(theirs[r["tokens"]]), math.log(r["size"])) for r in a.rows["replaced"] if r["tokens"] in theirs and theirs[r["tokens"]] > 1e-3 and r["size"] > 1e-3]
        if len(points) < 6:
            return None
        mx, my = (average(c) for c in zip(*points))
        sxx, syy, sxy = (math.fsum((p[i] - m) * (p[j] - k) for p in points) for i, m, j, k in ((0, mx, 0, mx), (1, my, 1, my), (0, mx, 1, my)))
        return sxy / math.sqrt(sxx * syy)
    pairs = [c for a in models.values() for b in models.values() if a is not b and (c := correlation(a, b)) is not None]
    return median(pairs), median(a.elasticity()[1] for a in models.values())


# strings around a window

def edges_of(model):
    """Gains by distance, with half of their intervals."""
    return {int(r["distance"]): (float(r["gain"]), EDGE_T * float(r["gain_se"])) for r in data("edges") if r["model"] == model}


def edge_models():
    return list(dict.fromkeys(r["model"] for r in data("edges")))


def at_edge(name):
    """By how much the gain falls from the last distance within the window to the next."""
    found = edges_of(name)
    window = min(found) + 8     # the first distance is w - 8
    return found[window][0] - found[window + 1][0]


def recalls_beyond(model):
    """Distances beyond the window, less the window, at which the whole interval of the gain lies above LEAST."""
    return [d - model.window for d, (gain, half) in edges_of(model.name).items() if d > model.window and gain - half > LEAST]


def edges_table(models):
    """A row a model: gains by the distance less the window."""
    chosen = sorted((models[n] for n in edge_models()), key=lambda m: (m.window, m.name))
    steps = sorted({d - m.window for m in chosen for d in edges_of(m.name)})
    return markdown(["model", *("D = w" if s == 0 else f"w {'+' if s > 0 else '-'} {abs(s)}" for s in steps)],
                    [[f"`{m.name}`", *(signed(found, 2) if (found := edges_of(m.name).get(m.window + s)) else "-" for s in steps)] for m in chosen])


def edge_gains():
    return [pair for n in edge_models() for pair in edges_of(n).values() if pair != (0, 0)]
