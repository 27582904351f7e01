"""What data/lengths.csv, against.csv, blocks.csv and attended.csv say (measure.py): rules and fields at several lengths, and tables and figures of [A] and [B] as they measure them."""

from functools import cache

from models import INPUTS, Field
from gates import RISE  # models makes it found
from predictors import RULES, SEEN, area, outcome
from tables import base_rate, chance, holm, markdown, rank_correlation, signed, student_p, with_kernel
from validation import data

LENGTHS = (512, INPUTS, 2048)
QUANTILES = (0.5, 0.9, 0.99)


class At:
    """A model whose field was measured at another number of inputs than INPUTS; all else is the model's."""

    def __init__(self, model, row):
        self.model, self.inputs = model, int(row["inputs"])
        self.fields = {q: Field({"field": row[k], "field_lo": row[f"{k}_lo"], "field_hi": row[f"{k}_hi"], "saturated": row["saturated"] if q == 0.99 else "0"})
                       for q, k in ((0.5, "half"), (0.99, "field"))}
        self.within = float(row["share"])

    def __getattr__(self, name):
        return getattr(self.model, name)

    def erf(self, q=0.99):
        return self.fields[q]

    def share(self, tokens):
        assert tokens == self.model.trained
        return self.within

    @property
    def convolved(self):
        return self.model.convolved_at(self.inputs)


@cache
def rows_at():
    return {(r["model"], int(r["inputs"])): r for r in data("lengths")}


def at(model, inputs):
    """The model as measured at that many inputs; None where it has no such positions or was not measured."""
    if inputs == INPUTS:
        return model if model.curve[-1][0] == INPUTS else None
    row = rows_at().get((model.name, inputs))
    return row and At(model, row)


def segments_at(name, inputs):
    return int(rows_at()[name, inputs]["segments"])


def cannot_fail(model):
    """Whether no input beyond L_tr reaches the prediction: a window whose cone lies within L_tr."""
    return model.cone is not None and model.cone <= model.trained


def exempt(model):
    """Whether [A], section 6.2, exempts this kind from ERF(0.99) <= L_tr: Sandwich, KERPLE, T5."""
    return any(kind in model.name for kind in ("sandwich", "kerple", "t5"))


def counted(models, inputs=INPUTS):
    """The models that a rule is tried on: measured after it was made, able to fail, with that many positions."""
    return [found for m in models.values() if m.name not in SEEN and not cannot_fail(m) and (found := at(m, inputs))]


def holds_by_points(model):
    """Whether it extrapolates if each rise counts as measured, without its interval."""
    return all(d <= RISE * model.nll() for _, d, _ in model.rises())


def by_bounds_alone(models):
    """Models that extrapolate by the lower bounds of the rises, and not by the rises themselves."""
    return [m for m in counted(models) if m.holds and not holds_by_points(m)]


def right_by_points(rule, chosen):
    said = [(rule.says(m), holds_by_points(m)) for m in chosen]
    return sum(s is not None and s == h for s, h in said), sum(s is not None for s, _ in said)


def of(right, wrong, *_):
    return f"{right} of {right + wrong}"


def rules_at(models):
    """Every rule at three lengths, on the models counted there."""
    here = counted(models)
    said, rates = [outcome(rule, here) for rule in RULES], [base_rate(rule, here) for rule in RULES]
    alone = [chance(right, wrong, frequent / number) for (right, wrong, _), (frequent, number) in zip(said, rates)]
    return markdown(["rule", *(f"right at {n} inputs" for n in LENGTHS), f"by point estimates, {INPUTS}", "base rate", "p", "of five rules", "area under the curve"],
                    [[rule.name, *(of(*outcome(rule, counted(models, n))) for n in LENGTHS), "{} of {}".format(*right_by_points(rule, here)), f"{frequent} of {number}", f"{p:.2g}", f"{q:.2g}",
                      f"{area(rule, here):.2f}"] for rule, (frequent, number), p, q in zip(RULES, rates, alone, holm(alone))])


def right_at(models, number, inputs=INPUTS):
    """In words: how many of the models counted at that length a rule is right for."""
    return of(*outcome(RULES[number], counted(models, inputs)))


def wrong_at(models, number, inputs):
    """Those that a rule is wrong about."""
    return [m for m in counted(models, inputs) if RULES[number].says(m) not in (None, m.holds)]


def undecided_by(models, inputs):
    """Those whose interval of ERF(0.5) holds the threshold of the second rule."""
    return [m for m in counted(models, inputs) if m.erf(0.5).lo <= RULES[1].most * m.trained < m.erf(0.5).hi]


def right_with(models, number, most):
    """How many of the counted models a rule would be right for with another threshold."""
    return sum((RULES[number].score(m) <= most) == m.holds for m in counted(models))


def at_lengths_table(models):
    """Fields and shares at three lengths, a row a model without windows in every layer."""
    def cells(m, show):
        return [show(found) if (found := at(m, n)) else "no positions" for n in LENGTHS]
    return markdown(["model", *(f"ERF(0.5) at {n}" for n in LENGTHS), *(f"ERF(0.99) at {n}" for n in LENGTHS), *(f"within L_tr, of {n}" for n in LENGTHS), "extrapolates"],
                    [[f"`{m.name}`", *cells(m, lambda x: x.erf(0.5)), *cells(m, lambda x: x.erf()), *cells(m, lambda x: f"{x.share(m.trained):.2f}"), "yes" if m.holds else "no"]
                     for m in models.values() if not m.window])


def within(models, name, inputs):
    """The share of the summed gradient norm within the last L_tr of that many inputs, in percent."""
    return f"{100 * at(models[name], inputs).share(models[name].trained):.0f}"


def halves(models, name):
    """ERF(0.5) by number of inputs, as far as measured."""
    found = {INPUTS: models[name].erf(0.5), **{n: At(models[name], r).erf(0.5) for (model, n), r in rows_at().items() if model == name}}
    return dict(sorted(found.items()))


def halves_said(models, name):
    """The same in words."""
    found = halves(models, name)
    *first, last = map(str, found.values())
    *where, end = map(str, found)
    return f"{', '.join(first)} and {last} tokens at {', '.join(where)} and {end} inputs"


def half_at(models, name):
    return {n: field.tokens for n, field in halves(models, name).items()}


# ---- [A], table 3 ----

RIVAL_T = 1.969     # 97.5 % point of Student's t with 255 degrees of freedom: 256 targets


def rival(name, inputs):
    """(NLL, difference from Sandwich's, half of its 95 % interval)."""
    row = next(r for r in data("against") if (r["model"], r["inputs"]) == (name, str(inputs)))
    return float(row["nll"]), float(row["from_sandwich"]), RIVAL_T * float(row["from_sandwich_se"])


def rivals():
    return list(dict.fromkeys(r["model"] for r in data("against")))


def rivals_at():
    return sorted({int(r["inputs"]) for r in data("against")})


def rival_targets():
    return int(data("against")[0]["targets"])


def rival_differences():
    return [rival(n, c)[1:] for n in rivals() if n != "sandwich" for c in rivals_at()]


def corrected_rivals():
    """The encodings and inputs whose difference from Sandwich Holm's correction leaves at 0.05."""
    asked = [(n, c) for n in rivals() if n != "sandwich" for c in rivals_at()]
    return {pair for pair, p in zip(asked, holm([student_p(RIVAL_T * d / half, 255) for d, half in rival_differences()])) if p < 0.05}


def rivals_table():
    """NLL of Sandwich, and what others have less or more, with a sign where the interval holds no 0."""
    def cell(n, c):
        nll, d, half = rival(n, c)
        return f"{nll:.3f}" if n == "sandwich" else signed((d, half)) + (" †" if d - half > 0 else " *" if d + half < 0 else "")
    return markdown(["inputs", *(f"`{n}`" for n in rivals())], [[c, *(cell(n, c) for n in rivals())] for c in rivals_at()])


def worse(name, inputs):
    """Whether the whole interval of the difference from Sandwich is above 0."""
    _, d, half = rival(name, inputs)
    return d - half > 0


def better(name, inputs):
    _, d, half = rival(name, inputs)
    return d + half < 0


# ---- [B], tables 4 to 6 ----

STUDENT = 2.093     # 97.5 % point with 19 degrees of freedom


def block(name, size):
    """The change of NLL from blocks of L_tr, with half of its 95 % interval."""
    row = next(r for r in data("blocks") if (r["model"], r["block"]) == (name, str(size)))
    return float(row["change"]), STUDENT * float(row["change_se"])


def blocked():
    return list(dict.fromkeys(r["model"] for r in data("blocks")))


def blocks_of():
    return sorted({int(r["block"]) for r in data("blocks")})


def blocks_targets():
    return int(data("blocks")[0]["targets"])


def blocks_table():
    """NLL in blocks of L_tr, and its change in longer ones."""
    first = {r["model"]: float(r["nll"]) for r in data("blocks") if r["block"] == str(blocks_of()[0])}
    return markdown(["block", *(f"`{n}`" for n in blocked())], [[size, *(f"{first[n]:.3f}" if size == blocks_of()[0] else signed(block(n, size)) for n in blocked())] for size in blocks_of()])


def holding():
    """Those whose loss in the longest blocks is below that in blocks of L_tr, the whole interval, and falls most of the way: within 0.01 nats of the least."""
    return [n for n in blocked() if sum(block(n, blocks_of()[-1])) < 0 and block(n, blocks_of()[-1])[0] < block(n, best_block(n))[0] + 0.01]


def best_block(name):
    """The block with the least NLL."""
    return min(blocks_of(), key=lambda size: block(name, size)[0])


# ---- [B], figures 5 and 6 ----

def attended(name, epsilon, head="all"):
    """The window that holds more than 1 - epsilon of the attention, in tokens."""
    return next(float(r["attention_erf"]) for r in data("attended") if (r["model"], r["head"]) == (name, str(head)) and abs(float(r["epsilon"]) - epsilon) < 1e-9)


def epsilons():
    return sorted({float(r["epsilon"]) for r in data("attended")})


def head_pairs(models, epsilon, windows):
    """(field of the bias, field of the attention) of every head, the means over the layers."""
    return [(float(r["trf"]), float(r["attention_erf"])) for r in data("attended") if r["head"] != "all" and abs(float(r["epsilon"]) - epsilon) < 1e-9 and r["model"] in models
            and (windows or not models[r["model"]].window)]


def biased(models, windows=True):
    """Models with a kernel; without those that have windows, if asked."""
    return [m for m in with_kernel(models) if windows or not m.window]


def correlation(models, what, q, windows=True):
    """Rank correlation of a field of the formula with a measured one: "heads" and "attention" compare one layer with attention, by heads and by models; "one" and "all" compare one layer
    and all with the gradient."""
    if what == "heads":
        return rank_correlation(*zip(*head_pairs(models, 1 - q, windows)))
    chosen = biased(models, windows)
    layers = 4 if what == "all" else 1
    return rank_correlation([m.field_of_formula(q, layers) for m in chosen], [attended(m.name, 1 - q) if what == "attention" else m.erf(q).tokens for m in chosen])


def correlations_table(models):
    kinds = {"heads": "one layer, attention, each head", "attention": "one layer, attention, each model", "one": "one layer, gradient", "all": "four layers, gradient"}
    return markdown(["formula and measured", *(f"at {q}{more}" for q in QUANTILES for more in ("", ", no windows"))],
                    [[title, *(f"{correlation(models, what, q, windows):.2f}" for q in QUANTILES for windows in (True, False))] for what, title in kinds.items()])


def formula_table(models):
    """Fields of the formula, of one layer and of all, beside those of attention and of the gradient."""
    return markdown(["model", *(f"{what}({q})" for q in QUANTILES for what in ("one layer ", "attention ", "all layers ", "ERF"))],
                    [[f"`{m.name}`", *(cell for q in QUANTILES for cell in (m.field_of_formula(q, 1), f"{attended(m.name, 1 - q):.0f}", m.field_of_formula(q, m.config["layers"]), m.erf(q).tokens))]
                     for m in with_kernel(models)])

