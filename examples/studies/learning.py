"""What data/learned/NAME-decay.csv say (learned.py): the decay of the gradient during training."""

from judged import REGISTERED, rows_of
from tables import markdown
from validation import interval


def decays(run):
    return rows_of(run, "-decay")


def trainings():
    """The runs whose decay is measured from the first checkpoint to the last."""
    return [run for run in REGISTERED if decays(run) and decays(run)[0]["step"] == 0 and decays(run)[-1]["step"] == rows_of(run, "-training")[-1]["step"]]


def lasting(run, holds):
    """The first checkpoint's step from which on something holds to the end; None: not even there."""
    found = None
    for row in reversed(decays(run)):
        if not holds(row):
            break
        found = int(row["step"])
    return found


def gain(row):
    """What the inputs before the last 16 are worth at L_tr, in nats."""
    return row["nll_16"] - row["nll_128"]


def gained(run, share):
    """The first step from which on context is worth at least that share of what it is worth at the end."""
    return lasting(run, lambda row: gain(row) >= share * gain(decays(run)[-1]))


def gone(run, share, key="exponent"):
    """The first step from which on a value has gone at least that share of its way from the weights as drawn to the last step."""
    first, last = decays(run)[0][key], decays(run)[-1][key]
    return lasting(run, lambda row: (row[key] - first) / (last - first) >= share)


def decay_first(run, key="exponent"):
    """Whether a value has gone each share of its way, a tenth to nine tenths, before the gain has that share of its last."""
    return all(gone(run, k / 10, key) < gained(run, k / 10) for k in range(1, 10))


def decaying(run):
    """The first step from which on the interval of the exponent lies above 0."""
    return lasting(run, lambda row: row["exponent_lo"] > 0)


def steepest(run):
    return max(decays(run), key=lambda row: row["exponent"])


def runs_with(*encodings):
    return [run for run in trainings() if run.rsplit("-seed-")[0] in encodings]


def at_end(key, *encodings):
    return [decays(run)[-1][key] for run in runs_with(*encodings)]


def as_drawn(key, *encodings):
    return [decays(run)[0][key] for run in runs_with(*encodings)]


def seeds_differ(value):
    """The largest difference of a value between the two seeds of an encoding at one step."""
    pairs = [(decays(a), decays(b)) for a, b in zip(trainings(), trainings()[1:]) if a.rsplit("-seed-")[0] == b.rsplit("-seed-")[0]]
    return max(abs(value(x) - value(y)) for a, b in pairs for x, y in zip(a, b))


def last_step(encoding):
    return int(decays(runs_with(encoding)[0])[-1]["step"])


def steps(found):
    """Steps in a sentence."""
    return " or ".join(map(str, sorted(set(found))))


def early(most=0.1):
    """The last step up to which the gain of every training is below that, in nats."""
    return min(max(int(row["step"]) for row in decays(run) if all(gain(r) < most for r in decays(run) if r["step"] <= row["step"])) for run in trainings())


def early_gain():
    """The largest gain of a training until then, as a share of its last."""
    return max(gain(row) / gain(decays(run)[-1]) for run in trainings() for row in decays(run) if row["step"] <= early())


def gains_of_more():
    """Gains of 1000 targets less those of the 4000 of judged checkpoints, where both are measured."""
    return [gain(row) - gain(judged) for run in trainings() for row in decays(run) for judged in rows_of(run) if judged["step"] == row["step"]]


def spacing():
    """The largest factor between the steps of neighbouring checkpoints."""
    return max(b["step"] / a["step"] for run in trainings() for a, b in zip(decays(run)[1:], decays(run)[2:]))


def early_changes():
    """How far the exponent of each training moves from its value as drawn until then."""
    return [max(abs(row["exponent"] - decays(run)[0]["exponent"]) for row in decays(run) if row["step"] <= early()) for run in trainings()]


def learning_table():
    """Each training: the exponent as drawn, where it is largest, and at the end; and when it, if it begins without a decay, and the gain from context have come half of the way."""
    rows = []
    for run in trainings():
        first, last, top = decays(run)[0], decays(run)[-1], steepest(run)
        rows.append([f"`{run}`", *(interval(tuple(row[f"exponent{end}"] for end in ("", "_lo", "_hi"))) for row in (first, top)), int(top["step"]),
                     interval(tuple(last[f"exponent{end}"] for end in ("", "_lo", "_hi"))), gone(run, 0.5) if first["exponent"] < 0 else "-", f"{gain(last):.2f}", gained(run, 0.5)])
    return markdown(["run", "exponent as drawn", "largest", "at step", "last", "half of the way from step", "last gain, nats", "half of it from step"], rows)


def forms_table():
    """The decay at the end of each training by three forms."""
    rows = []
    for run in trainings():
        last = decays(run)[-1]
        rows.append([f"`{run}`", *(f"{last[key]:.3f}" for key in ("r2_exponential", "r2_power", "r2_floor")),
                     *(interval(tuple(last[f"{key}{end}"] for end in ("", "_lo", "_hi"))) for key in ("exponent_over_floor", "floor"))])
    return markdown(["run", "R^2: exponential", "power law", "power law and floor", "its exponent", "its floor"], rows)
