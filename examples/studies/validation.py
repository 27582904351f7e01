"""What data/validation.csv and data/decay.csv say (measure.py), for the page on whether the field is real."""

import math
import os

from gates import read_csv
from tables import markdown

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
REAL_SEGMENTS = 40
TOLERANCES = (0.5, 0.2, 0.1)    # nats
# biases with heads of several reaches: neither windows nor slopes that are shifted or equal
LOGS = ("alibi", "kerple-log", "kerple-log-0.9", "kerple-log-1.1", "kerple-power", "sandwich", "smoothed-sandwich", "t5", "t5-most-32", "type1", "type2", "divergent-a", "divergent-b")


def data(stage):
    """The rows of data/STAGE.csv; none before it is measured."""
    path = os.path.join(DATA, f"{stage}.csv")
    return read_csv(path) if os.path.exists(path) else []


class Validated:
    """A model's losses with other inputs, beside its gradient. Tokens are counted back from the target."""

    def __init__(self, rows):
        self.name, self.tests = rows[0]["model"], int(rows[0]["tests"])
        self.rows = {kind: [{k: float(v) for k, v in row.items() if k not in ("model", "change") and v} for row in rows if row["change"] == kind]
                     for kind in ("truncated", "replaced", "single")}
        self.correlation, self.octaves = (tuple(float(rows[0][f"{key}{end}"]) for end in ("", "_lo", "_hi")) for key in ("correlation", "octaves"))

    def enough(self, nats):
        """The least tokens kept from which on the loss moves by no more in the mean, and the share of the gradient that they have; None: not even the most that were tried."""
        found = None
        for row in reversed(self.rows["replaced"]):
            if row["size"] > nats:
                break
            found = row
        return found and (int(found["tokens"]), 1 - found["gradient"])

    def elasticity(self):
        """The slope of ln size over ln gradient, and their correlation, over the numbers of tokens kept at which both are above 0.001."""
        points = [(math.log(r["gradient"]), math.log(r["size"])) for r in self.rows["replaced"] if r["gradient"] > 1e-3 and r["size"] > 1e-3]
        n, (mx, my) = len(points), (math.fsum(c) / len(points) for c in zip(*points))
        sxx, syy, sxy = (math.fsum((p[a] - m) * (p[b] - k) for p in points) for a, m, b, k in ((0, mx, 0, mx), (1, my, 1, my), (0, mx, 1, my)))
        return sxy / sxx, sxy / math.sqrt(sxx * syy)


def validated(stage="validation"):
    """Every model of data/STAGE.csv, by name."""
    models = {}
    for row in data(stage):
        models.setdefault(row["model"], []).append(row)
    return {name: Validated(rows) for name, rows in models.items()}


def restless(models):
    """Names of the models that other text before any number of tokens that was tried moves by more than 0.2 nats."""
    return [name for name, m in models.items() if m.enough(0.2) is None]


def down(value):
    """Two digits, rounded down: what stands before "or more"."""
    return f"{math.floor(100 * value) / 100:.2f}"


def interval(three, digits=2):
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*three, d=digits)


def validation_table(models):
    titles = ["model", *(f"k for {t} nats" for t in TOLERANCES), *(f"q there, {t}" for t in TOLERANCES), "single inputs", "within octaves", "size over gradient: slope", "correlation"]
    rows = []
    for m in models.values():
        found = [m.enough(t) for t in TOLERANCES]
        slope, r = m.elasticity()
        rows.append([f"`{m.name}`", *(f[0] if f else "> 362" for f in found), *(f"{f[1]:.2f}" if f else "-" for f in found), interval(m.correlation), interval(m.octaves), f"{slope:.2f}", f"{r:.3f}"])
    return markdown(titles, rows)


def decay(model, form, first, stage="decay"):
    """The row of a model's fit, its numbers as such; None where there is none."""
    row = next((r for r in data(stage) if (r["model"], r["form"], r["first"]) == (model, form, str(first))), None)
    return row and {k: float(row[k]) for k in ("value", "lo", "hi", "r2")}


def decay_table(stage="decay"):
    def cells(model, first):
        power, exponential = decay(model, "power law", first, stage), decay(model, "exponential", first, stage)
        return [interval((power["value"], power["lo"], power["hi"])), f"{power['r2']:.3f}", f"{exponential['r2']:.3f}"] if power else ["-"] * 3
    names = list(dict.fromkeys(row["model"] for row in data(stage)))
    return markdown(["model", "exponent, 1 to 127", "R^2", "of an exponential", "exponent, 128 to 511", "R^2", "of an exponential"], [[f"`{n}`", *cells(n, 1), *cells(n, 128)] for n in names])


def real_fields_table():
    """Fields of the real models at 512 inputs, a row a model."""
    rows = {}
    for r in data("real-field"):
        rows.setdefault(r["model"], {})[r["threshold"]] = f"{'>= ' if r['saturated'] == '1' else ''}{r['erf']} [{r['erf_lo']}, {r['erf_hi']}]"
    return markdown(["model", *(f"ERF({q})" for q in ("0.5", "0.9", "0.95", "0.99"))], [[f"`{n}`", *(of[q] for q in ("0.5", "0.9", "0.95", "0.99"))] for n, of in rows.items()])


def real_decay():
    """A sentence on the real models, once they are measured: like the biases near, and a floor farther off."""
    near, far = ({r["model"]: decay(r["model"], "power law", first, "real-decay") for r in data("real-decay")} for first in (1, 128))
    if not near:
        return ""
    if not all(0.5 < row["value"] < 1 for row in near.values()) or not all(abs(row["value"]) < 0.3 and row["lo"] < 0.05 for row in far.values()):
        raise ValueError("the real models decay otherwise than the sentence says")
    slopes = " and ".join("{:.2f}".format(row["value"]) for row in near.values())
    floors = " and ".join(interval((row["value"], row["lo"], row["hi"])) for row in far.values())
    return f"The two real models have exponents of {slopes} up to 127. From 128 on they are nearly flat ({floors}), like a power law with a constant. "


def exponents(first, names=None):
    """Exponents of the power laws, by model."""
    return {r["model"]: float(r["value"]) for r in data("decay") if r["form"] == "power law" and r["first"] == str(first) and (names is None or r["model"] in names)}


def changes_of(model):
    """Rows of data/changes.csv of a model: by change, then by context."""
    found = {}
    for row in data("changes"):
        if row["model"] == model:
            found.setdefault(row["change"], {})[int(row["context"])] = row
    return found


def nats(row):
    """A paired change of NLL with half of its 95 % interval."""
    return float(row["change_of_nll"]), 1.96 * float(row["change_se"])


def change_differences():
    """All changes of data/changes.csv that are none by definition, with half of their intervals."""
    return [pair for row in data("changes") if row["change"] != "as trained" and (pair := nats(row)) != (0, 0)]


def changes_table(model):
    rows = []
    for title, at in changes_of(model).items():
        field = at[max(at)]
        rows.append([title, *(f"{float(at[c]['nll']):.3f}" if title == "as trained" else "{:+.3f} ± {:.3f}".format(*nats(at[c])) for c in sorted(at)),
                     f"{field['half']} [{field['half_lo']}, {field['half_hi']}]", f"{'>= ' if field['saturated'] == '1' else ''}{field['field']} [{field['field_lo']}, {field['field_hi']}]"])
    return markdown(["encoding", *(f"NLL at {c}" for c in sorted(at)), "ERF(0.5) at 512", "ERF(0.99)"], rows)


def nll_at(model, change, context):
    return float(changes_of(model)[change][context]["nll"])


def judged_changes():
    """(whether its NLL stays within 2 % of that at L_tr, what ERF(0.5) <= 0.35 L_tr says of that, its name with both) of each model and change."""
    found = []
    for model in dict.fromkeys(row["model"] for row in data("changes")):
        for title, at in changes_of(model).items():
            nll, half = [float(at[c]["nll"]) for c in sorted(at)], int(at[max(at)]["half"])
            found.append((max(nll[1:]) <= 1.02 * nll[0], half <= 0.35 * 128, f"`{model}`, {title} (ERF(0.5) {half}, {nll[0]:.2f} to {nll[-1]:.2f})"))
    return found


def rule_of_changes(right):
    """Changes for which ERF(0.5) <= 0.35 L_tr says rightly, or wrongly, whether the NLL rises beyond L_tr by more than 2 %."""
    return [name for holds, says, name in judged_changes() if (holds == says) == right]


def constant_of_changes():
    """How many of them the best constant prediction is right for."""
    holding = sum(holds for holds, *_ in judged_changes())
    return max(holding, len(judged_changes()) - holding)
