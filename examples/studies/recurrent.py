"""What data/recurrent-*.csv say (measure.py), for the page on models whose blocks carry states. S: the models of examples/recurrent."""

from statistics import median

from tables import markdown, rank_correlation, signed
from validation import data, decay, interval, validated, validation_table

BESIDE = ("alibi", "rotary", "window-40")


def by_inputs(model):
    """The rows of data/recurrent-lengths.csv of a model by the number of inputs."""
    return {int(r["inputs"]): r for r in data("recurrent-lengths") if r["model"] == model}


def erf_at(model, inputs, q):
    return int(by_inputs(model)[inputs][f"erf_{q}"])


def distance_at(model, inputs):
    """The mean distance of the gradient in tokens, with half of its 95 % interval."""
    row = by_inputs(model)[inputs]
    return float(row["distance"]), 1.96 * float(row["distance_se"])


def recurrent_fields_table(models):
    """Loss and field of recurrent models and of some with attention."""
    return markdown(["model", "NLL at 16", "at L_tr", "at 2 L_tr", "at 4 L_tr", "at 16 L_tr", "extrapolates", "ERF(0.5)", "ERF(0.9)", "ERF(0.99)"],
                    [[f"`{m.name}`", f"{m.nll(16):.3f}", f"{m.nll():.3f}", *(signed(m.rise(k)) for k in (2, 4, 16)), "yes" if m.holds else "no", m.erf(0.5), m.erf(0.9), m.erf()]
                     for m in models])


def lengths_table(q):
    """ERF(q) by the number of inputs that are measured."""
    names = list(dict.fromkeys(r["model"] for r in data("recurrent-lengths")))
    inputs = list(by_inputs(names[0]))
    return markdown(["model", *map(str, inputs)], [[f"`{n}`", *(f"{by_inputs(n)[i][f'erf_{q}']} [{by_inputs(n)[i][f'erf_{q}_lo']}, {by_inputs(n)[i][f'erf_{q}_hi']}]" for i in inputs)] for n in names])


def distances_table():
    """The mean distance of the gradient by the number of inputs."""
    names = list(dict.fromkeys(r["model"] for r in data("recurrent-lengths")))
    inputs = list(by_inputs(names[0]))
    return markdown(["model", *map(str, inputs)], [[f"`{n}`", *("{:.1f} ± {:.1f}".format(*distance_at(n, i)) for i in inputs)] for n in names])


def decays_of(model):
    """Tokens over which the states of a model's heads fall to a hundredth, by layer."""
    found = {}
    for row in data("recurrent-heads"):
        if row["model"] == model:
            found.setdefault(int(row["layer"]), []).append(float(row["decay_tokens"]))
    return found


def heads_table():
    names = list(dict.fromkeys(r["model"] for r in data("recurrent-heads")))
    layers = sorted({layer for n in names for layer in decays_of(n)})
    return markdown(["model", *(f"layer {i}" for i in layers)],
                    [[f"`{n}`", *(", ".join(f"{t:.0f}" for t in sorted(decays_of(n)[i])) if i in decays_of(n) else "attention" for i in layers)] for n in names])


def slowest(model):
    """Tokens of the head that forgets last."""
    return max(t for heads in decays_of(model).values() for t in heads)


def recurrent_far_table():
    rows = data("recurrent-far")
    names, octaves = (list(dict.fromkeys(r[key] for r in rows)) for key in ("model", "last"))
    octaves = [last for last in octaves if int(last) >= 256]
    cells = {(r["model"], r["last"]): (float(r["change"]), 2.365 * float(r["change_se"])) for r in rows}    # Student, 7 degrees of freedom
    return markdown(["model", *(f"{int(last) // 2 + 1} to {last}" for last in octaves)], [[f"`{n}`", *(signed(cells[n, last]) for last in octaves)] for n in names])
