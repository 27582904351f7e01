"""What data/copies.csv and data/protocols.csv say (measure.py), for the pages on copied strings and on protocols."""

import math

from tables import markdown, rank_correlation, signed
from validation import data

LEAST = 0.1     # nats: a gain that counts
T = 1.979       # 97.5 % point of Student's t with 127 degrees of freedom: 128 rows


def copies_of(model, inputs):
    """The gains of a model at so many inputs, each with half of its 95 % interval, by distance; {} where there are none."""
    return {int(r["distance"]): (float(r["gain"]), T * float(r["gain_se"])) for r in data("copies") if r["model"] == model and r["inputs"] == str(inputs)}


def copied():
    """The models of data/copies.csv."""
    return list(dict.fromkeys(r["model"] for r in data("copies")))


def gains():
    """All gains of data/copies.csv but those that no input could reach, each with half of its interval."""
    return [pair for n in copied() for inputs in (128, 512) for pair in copies_of(n, inputs).values() if pair != (0, 0)]


def protocol_differences():
    return [pair for n in protocol_models() for name in ("sliding", "cached") if (pair := protocol_change(n, name))]


def farthest(model, inputs=512):
    """The largest distance tried at which the whole interval of the gain lies above LEAST; 0 where none does."""
    return max((d for d, (gain, half) in copies_of(model, inputs).items() if gain - half > LEAST), default=0)


def recall_and_field(models, q, chosen=lambda model: True):
    """Rank correlation of that distance with ERF(q), over the models chosen."""
    asked = [models[n] for n in copied() if copies_of(n, 512) and chosen(models[n])]
    return rank_correlation([farthest(m.name) for m in asked], [m.erf(q).tokens for m in asked])


def copies_table(models, inputs):
    chosen = [models[n] for n in copied() if copies_of(n, inputs) and n in models]
    distances = sorted({d for m in chosen for d in copies_of(m.name, inputs)})
    return markdown(["model", "cone", "ERF(0.5)", "ERF(0.99)", *(f"D = {d}" for d in distances)],
                    [[f"`{m.name}`", m.cone or "none", m.erf(0.5), m.erf(0.99), *("0" if copies_of(m.name, inputs)[d] == (0, 0) else signed(copies_of(m.name, inputs)[d], 2) for d in distances)]
                     for m in sorted(chosen, key=lambda m: m.erf(0.5).tokens)])


def outside(model):
    """Gains at distances from which no input reaches the last prediction: the copy's nearest token is D - 1 before the last input, and the cone holds `cone` inputs."""
    return [gain for inputs in (128, 512) for d, (gain, _) in copies_of(model.name, inputs).items() if model.cone and d - 1 >= model.cone]


def protocol(model, name):
    """A row of data/protocols.csv; None where the model has none."""
    return next((r for r in data("protocols") if (r["model"], r["protocol"]) == (model, name)), None)


def protocol_change(model, name):
    """The paired change of NLL from blocks, with half of its 95 % interval."""
    row = protocol(model, name)
    return row and (float(row["change"]), 1.96 * float(row["change_se"]))


def lower(model, name):
    """Whether the loss is below that of blocks, the whole interval of the change."""
    found = protocol_change(model, name)
    return bool(found) and sum(found) < 0


def apart(model):
    """NLL with a cache less that of sliding windows."""
    return float(protocol(model, "cached")["nll"]) - float(protocol(model, "sliding")["nll"])


def near_sliding():
    """Models without windows of their own whose loss with a cache is that of sliding windows, within 1 %."""
    return [n for n in protocol_models() if not n.startswith("window-") and protocol(n, "cached") and abs(apart(n)) < 0.01 * float(protocol(n, "sliding")["nll"])]


def between_protocols():
    """Models whose loss with a cache is below that of blocks, and not that of sliding windows."""
    return [n for n in protocol_models() if not n.startswith("window-") and lower(n, "cached") and n not in near_sliding()]


def past_least(model, inputs=128):
    """By how much the NLL at that many inputs is above its least at that many or fewer."""
    return model.at[inputs]["nll"] - min(at["nll"] for context, at in model.at.items() if context <= inputs)


def seconds_ratio(models, name="sliding"):
    """Processor time of a protocol over that of blocks, of the models that have both: least, most and mean."""
    found = [float(protocol(m, name)["seconds"]) / float(protocol(m, "nonoverlapping")["seconds"]) for m in models if protocol(m, name)]
    return min(found), max(found), math.fsum(found) / len(found)


def protocols_table(models):
    names = [n for n in dict.fromkeys(r["model"] for r in data("protocols")) if n in models]
    rows = []
    for n in names:
        rows.append([f"`{n}`", *(signed(models[n].rise(k)) for k in (2, 16)), f"{float(protocol(n, 'nonoverlapping')['nll']):.3f}", signed(protocol_change(n, "sliding")),
                     signed(protocol_change(n, "cached")) if protocol(n, "cached") else "no positions"])
    return markdown(["model", "at 2 L_tr, last tokens", "at 16 L_tr", "blocks of 128", "sliding", "cached"], rows)


def costed():
    return data("costs")


def cost_of(*models):
    """Processor time of the fields of models, over that of the first of data/costs.csv."""
    return [float(r["ratio"]) for r in costed() if r["model"] in models]


def costs_table():
    return markdown(["model", "seconds per segment", "to `none`", "least to most", "memory, MB"],
                    [[f"`{r['model']}`", f"{float(r['seconds']):.4f}", f"{float(r['ratio']):.2f}", f"{float(r['ratio_least']):.2f} to {float(r['ratio_most']):.2f}", f"{float(r['memory']):.0f}"] for r in costed()])


def protocol_models():
    return list(dict.fromkeys(r["model"] for r in data("protocols")))
