"""What data/recurrent-*.csv say (measure.py), for the page on models whose blocks carry states. S: the models of examples/recurrent."""

import math
import re

from distances import STUDENT
from tables import markdown, rank_correlation, signed
from validation import data, decay, interval

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
    return markdown(["model", *(f"{int(last) // 2 + 1} to {last}" for last in octaves)], [[f"`{n}`", *(signed(far_change(n, last)) for last in octaves)] for n in names])


def far_changes(model):
    """The changes of the loss by octaves of the position, the first beyond L_tr first."""
    return [float(r["change"]) for r in data("recurrent-far") if r["model"] == model]


def far_change(model, last):
    """The change in the octave that ends at that position, with half of its 95 % interval."""
    row = next(r for r in data("recurrent-far") if r["model"] == model and r["last"] == str(last))
    return float(row["change"]), STUDENT[7] * float(row["change_se"])


def far_ends():
    """The last positions of the octaves beyond L_tr."""
    return sorted({last for r in data("recurrent-far") if (last := int(r["last"])) >= 256})


def shows_increase(model, last):
    """Whether the whole interval of the change in an octave is above 0."""
    change, half = far_change(model, last)
    return change - half > 0


def slowest_loss(model):
    """What the slowest head's state loses from one token to the next, as a part of it."""
    return 1 - math.exp(math.log(0.01) / slowest(model))


def falls_by(model):
    """What the share of one input loses from one token to the next beyond L_tr, by the exponential fitted there."""
    return 1 - math.exp(-float(decay(model, "exponential", 128, "recurrent-decay")["value"]))


def interval3(row):
    return interval((row["value"], row["lo"], row["hi"]))


def growth_of(model):
    """The exponent of growth of ERF(0.5) with its interval."""
    row = next(r for r in data("recurrent-growth") if r["model"] == model)
    return tuple(float(row[f"growth{end}"]) for end in ("", "_lo", "_hi"))


# the rule of registered.md, that of [A], and the second of rules.md
PREDICTORS = {
    "x <= 0.4": lambda m: growth_of(m.name)[0] <= 0.4,
    "ERF(0.99) <= L_tr": lambda m: m.erf(0.99).tokens <= m.trained,
    "ERF(0.5) <= 0.35 L_tr": lambda m: m.erf(0.5).tokens <= 0.35 * m.trained,
}


def prediction_table(states, models):
    """What rules say of each model, and what its loss does."""
    chosen = [*states.values(), *(models[n] for n in BESIDE)]
    return markdown(["model", "x", "at 16 L_tr", "extrapolates", *PREDICTORS],
                    [[f"`{m.name}`", interval(growth_of(m.name)), signed(m.rise(16)), "yes" if m.holds else "no", *("yes" if says(m) else "no" for says in PREDICTORS.values())] for m in chosen])


def right(states, rule):
    """The models of which a rule is right."""
    return [n for n, m in states.items() if PREDICTORS[rule](m) == m.holds]


def rank_of_growth(states):
    """The rank correlation of x and the rise at 16 L_tr."""
    return rank_correlation([growth_of(n)[0] for n in states], [m.rise(16)[0] for m in states.values()])


def share_unforgotten(model, times=16, trained=128):
    """Heads of a model whose state keeps more than a hundredth over so many times L_tr."""
    return sum(t > times * trained for heads in decays_of(model).values() for t in heads)


def by_training(states, repeats):
    """mamba2 by the length that it was trained on."""
    found = {m.trained: m for m in [*repeats.values(), *states.values()] if re.fullmatch(r"mamba2(-train-\d+)?", m.name) and by_inputs(m.name)}
    return dict(sorted(found.items()))


def trained_table(states, repeats):
    return markdown(["L_tr", "NLL at L_tr", "at 2 L_tr", "at 4 L_tr", "at 16 L_tr", "extrapolates", "ERF(0.5)", "ERF(0.9)", "ERF(0.99)", "ERF(0.99) / L_tr", "mean distance", "slowest head"],
                    [[length, f"{m.nll():.3f}", *(signed(m.rise(k)) for k in (2, 4, 16)), "yes" if m.holds else "no", *(erf_at(m.name, 4096, q) for q in ("0.5", "0.9", "0.99")),
                      f"{erf_at(m.name, 4096, '0.99') / length:.1f}", "{:.1f} ± {:.1f}".format(*distance_at(m.name, 4096)), f"{slowest(m.name):.0f}"] for length, m in by_training(states, repeats).items()])


def lengths_trained(states, repeats):
    """Whether mamba2 was measured as trained on several lengths."""
    return len(by_training(states, repeats)) > 2


def widening(states, repeats, shorter, longer):
    """How many times as long ERF(0.99) and the mean distance are with longer training segments."""
    a, b = (by_training(states, repeats)[length].name for length in (shorter, longer))
    return erf_at(b, 4096, "0.99") / erf_at(a, 4096, "0.99"), distance_at(b, 4096)[0] / distance_at(a, 4096)[0]
