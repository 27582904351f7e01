"""What data/far.csv and data/averaging.csv say (measure.py), for the page on texts far longer than L_tr."""

from tables import markdown, signed
from validation import data

STUDENT = {7: 2.365, 11: 2.201}     # 97.5 % points by degrees of freedom
BIASES = ("sandwich", "kerple-log", "t5", "alibi")
BLOCKS = (16, 64)    # tokens that stay together
MOVED = ("in another order", *(f"blocks of {size} in another order" for size in BLOCKS))
KINDS = ("cut off", "of another place", *MOVED)


def far_count():
    """Texts that were read."""
    return int(data("far")[0]["texts"])


def far_of(model):
    """The change of a model's NLL with half of its 95 % interval, by the last position of an octave; {} where it was not measured."""
    return {int(r["last"]): (float(r["change"]), STUDENT[int(r["texts"]) - 1] * float(r["change_se"])) for r in data("far") if r["model"] == model}


def far_models():
    return list(dict.fromkeys(r["model"] for r in data("far")))


def far_differences():
    """All of data/far.csv, each with half of its interval; and how they are tested."""
    return [pair for n in far_models() for pair in far_of(n).values()], {"half_of": STUDENT[far_count() - 1], "degrees": far_count() - 1}


def far_table(models):
    octaves = [last for last in far_of(far_models()[0]) if last >= 256]
    return markdown(["model", "sum of exp(b)", *(f"{last // 2 + 1} to {last}" for last in octaves)],
                    [[f"`{n}`", models[n].verdict, *(signed(far_of(n)[last]) for last in octaves)] for n in far_models() if n in models])


def last_of(model):
    """The change in the last octave, with half of its interval."""
    found = far_of(model)
    return found[max(found)]


def grows(model):
    """Whether the change of each octave is above that of the one before."""
    found = [far_of(model)[last][0] for last in sorted(far_of(model))]
    return all(a < b for a, b in zip(found, found[1:]))


def gets_worse(model):
    """Whether the loss of the last octave is above that of the octave from L_tr to 2 L_tr by more than both intervals."""
    found = far_of(model)
    first, last = found[256], found[max(found)]
    return last[0] - last[1] > first[0] + first[1]


def averaging_of(model):
    """Changes of a model's NLL with halves of their 95 % intervals, by what became of the far tokens."""
    return {r["far"]: (float(r["change"]), 1.96 * float(r["change_se"])) for r in data("averaging") if r["model"] == model}


def spared_of(model):
    """By how much the NLL stays below that with tokens of another place, by what became of the far tokens, with half of its interval."""
    return {r["far"]: (float(r["below"]), 1.96 * float(r["below_se"])) for r in data("averaging") if r["model"] == model and r["far"] in MOVED}


def spared_table(models):
    return markdown(["model", "one by one", *(f"blocks of {size}" for size in BLOCKS)], [[f"`{n}`", *(signed(spared_of(n)[kind]) for kind in MOVED)] for n in averaging_models() if n in models])


def and_list(values):
    """Numbers in words of a sentence: 4, 16 and 64."""
    return ", ".join(map(str, values[:-1])) + f" and {values[-1]}"


def averaging_models():
    return list(dict.fromkeys(r["model"] for r in data("averaging")))


def gain_of_far(models):
    """What cutting far tokens off costs the models with biases that extrapolate: least and most."""
    found = [averaging_of(n)["cut off"][0] for n in BIASES if models[n].holds]
    return f"{min(found):.2f}", f"{max(found):.2f}"


def averaging_table(models):
    chosen = [n for n in averaging_models() if n in models]
    return markdown(["model", "far tokens " + KINDS[0], *(k.replace(" in another order", "") if k.startswith("blocks") else k for k in KINDS[1:]), "extrapolates"],
                    [[f"`{n}`", *(signed(averaging_of(n)[kind]) for kind in KINDS), "yes" if models[n].holds else "no"] for n in chosen])


def dtype_change(model, dtype, context):
    """The change of a model's NLL from biases in double, with half of its 95 % interval."""
    row = next(r for r in data("dtypes") if (r["model"], r["dtype"], r["context"]) == (model, dtype, str(context)))
    return float(row["change"]), 1.96 * float(row["change_se"])


def dtypes_table(models):
    rows = data("dtypes")
    contexts = list(dict.fromkeys(int(r["context"]) for r in rows))
    pairs = [p for p in dict.fromkeys((r["model"], r["dtype"]) for r in rows) if p[0] in models and p[1] != "double"]
    return markdown(["model", "biases in", *(f"at {c}" for c in contexts)], [[f"`{n}`", d, *(signed(dtype_change(n, d, c)) for c in contexts)] for n, d in pairs])


def dtyped():
    return list(dict.fromkeys(r["model"] for r in data("dtypes")))


def dtype_reach():
    """The farthest from 0 that an interval of a change goes."""
    return max(abs(change) + half for r in data("dtypes") for change, half in [dtype_change(r["model"], r["dtype"], r["context"])])
