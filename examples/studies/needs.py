"""What data/needed-tests.csv says (contexts.py), for the page on the context that targets need."""

import functools
import statistics

from contexts import ENOUGH, PERMUTATIONS, REPLICATES  # noqa: F401, for the page
from needed import CONTEXTS, EXAMPLES, PLACES, REAL, WHOLE, path_of, read_rows  # noqa: F401
from tables import holm, markdown, span
from validation import data, interval

CORPORA = {"sqlalchemy": "SQLAlchemy", "moby-dick": "*Moby-Dick*", "python-reference": "Python reference", "all": "all three"}
FIELDS = ("gradient 0.9", "gradient 0.5", "integrated 0.9", "attention 0.9")
KNOWN = ("loss", "frequency", "occurrence")
BY_RULE = ("needed", "partial", "difference", "explained", "within", "median", "enough")    # tests that depend on what counts as enough
RULES = [(rule, nats) for rule in ("stays", "first", "settles") for nats in ("0.1", "0.5")]
MANY = 0.05     # p below which a test is counted


@functools.cache
def rows():
    return {(r["test"], r["model"], r["corpus"], r["of"], r["rule"], r["nats"]): r for r in data("needed-tests")}


def need(test, model, corpus, of="", rule="stays", nats="0.1"):
    """A row of the table; None where it was not measured."""
    return rows().get((test, model, corpus, str(of), *((rule, nats) if test in BY_RULE else ("", ""))))


def three(*key, **how):
    """A value with its interval."""
    row = need(*key, **how)
    return row and tuple(float(row[k]) for k in ("value", "lo", "hi"))


def said(*key, digits=2, **how):
    """The same as text; a dash where it was not measured."""
    found = three(*key, **how)
    return interval(found, digits) if found else "-"


def said_less(*key):
    """The same of a row the other way round: of the other one less the gradient."""
    value, low, high = three(*key)
    return interval((-value, -high, -low), 2)


def pairs():
    """(model, corpus) of all that was measured, with `all` after the corpora of a model that has several."""
    return list(dict.fromkeys(key[1:3] for key in rows()))


def single():
    """The same without `all`."""
    return [p for p in pairs() if p[1] != "all"]


def together():
    """A pair a model: of all its corpora."""
    return [p for p in pairs() if p[1] == "all" or (p[0], "all") not in pairs()]


def of(models, chosen):
    return [p for p in chosen if p[0] in models]


def targets(model, corpus):
    return int(need("loss", model, corpus, WHOLE)["targets"])


def listed():
    return ", ".join(map(str, CONTEXTS[:-1])) + f" and {CONTEXTS[-1]}"


def within(model, corpus, nats="0.1", rule="stays", kind=""):
    """Share of targets that need no more than 96 tokens, in percent, with its interval."""
    found = three("within", model, corpus, kind, rule=rule, nats=nats)
    return found and tuple(100 * v for v in found)


def by_number(test, model, corpus, prefix=""):
    """Values with their intervals of the rows of a test that are of a number of tokens."""
    return {int(key[3][len(prefix):]): three(*key[:4]) for key in rows() if key[:3] == (test, model, corpus) and key[3].startswith(prefix) and key[3][len(prefix):].isdigit()}


def enough(model, corpus):
    return by_number("enough", model, corpus)


def octaves(model, corpus):
    """Of the gradient's share."""
    return by_number("octave", model, corpus, "gradient ")


def censored(model, corpus):
    """Percent of the targets that need the whole, or more than that."""
    return 100 * (1 - enough(model, corpus)[CONTEXTS[-2]][0])


@functools.cache
def quartiles(model, corpus, column):
    found = [int(r[column]) for r in read_rows(path_of(model)) if (r["model"], r["corpus"]) == (model, corpus)]
    return tuple(statistics.quantiles(found, n=4, method="inclusive"))


def others(model):
    """The models whose gradient was compared with a model's needs."""
    return [n for n in (EXAMPLES if model in EXAMPLES else REAL) if n != model]


def foreign(models, field):
    """(model, corpus, the field of another one) of every pair of models; field: with Q."""
    return [(m, c, f"gradient of {o}{field}") for m, c in of(models, together()) for o in others(m)]


@functools.cache
def chances(test, field):
    """p of a test by model and corpus, corrected by Holm's method for their number."""
    return dict(zip(single(), holm([float(need(test, *p, field)["p"]) for p in single()])))


def rejected(test, field):
    return [p for p, chance in chances(test, field).items() if chance < MANY]


def p_text(value):
    return f"{value:.4f}" if value < 0.01 else f"{value:.2f}"


def values(test, field, chosen, **how):
    """Values over models and corpora that have the field."""
    return [found[0] for p in chosen if (found := three(test, *p, field, **how))]


def spans(test, field, chosen, digits=2, **how):
    return span(values(test, field, chosen, **how), digits)


def above(test, field, chosen, **how):
    """Of which the whole interval lies above 0."""
    return [p for p in chosen if three(test, *p, field, **how)[1] > 0]


def below(test, field, chosen, **how):
    return [p for p in chosen if three(test, *p, field, **how)[2] < 0]


def named(chosen):
    """Models and texts in words."""
    parts = [f"`{m}`" if m in EXAMPLES else f"`{m}` on {CORPORA[c]}" for m, c in chosen]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def named_models(chosen):
    return " and ".join(f"`{m}`" for m, _ in chosen)


def contexts_table():
    return markdown(["model", "text", "targets", "NLL, 512 inputs", "at 96, minus that", "median of n, 0.1", "% within 96, 0.1 nats", "0.2 nats", "0.5 nats", "first, 0.1 nats"],
                    [[f"`{m}`", CORPORA[c], targets(m, c), said("loss", m, c, WHOLE), said("loss", m, c, f"{ENOUGH} less {WHOLE}"), said("median", m, c, digits=0),
                      *(interval(within(m, c, nats), 0) for nats in ("0.1", "0.2", "0.5")), interval(within(m, c, rule="first"), 0)] for m, c in pairs()])


def kinds():
    return sorted({key[3] for key in rows() if key[0] == "within" and key[3]})


def kinds_table():
    return markdown(["model", *kinds()], [[f"`{m}`", *(f"{interval(within(m, c, kind=k), 0)} of {need('within', m, c, k)['targets']}" for k in kinds())] for m, c in together()])


def kinds_overlap():
    """Whether in every model the intervals of all kinds have a number in common."""
    return all(max(within(m, c, kind=k)[1] for k in kinds()) <= min(within(m, c, kind=k)[2] for k in kinds()) for m, c in together())


def fields_table():
    def quarter(m, c, column):
        return "{1:.0f} ({0:.0f} to {2:.0f})".format(*quartiles(m, c, column))
    return markdown(["model", "text", "ERF(0.9)", "ERF(0.5)", "attention, 0.9", "% with n = 512"],
                    [[f"`{m}`", CORPORA[c], *(quarter(m, c, f) for f in ("gradient_most", "gradient_half", "attention_most")), f"{censored(m, c):.0f}"] for m, c in single()])


def correlations_table():
    p = chances("needed", "gradient 0.9")
    return markdown(["model", "text", "targets", "gradient, 0.9", "p", "gradient, 0.5", "integrated, 0.9", "attention, 0.9"],
                    [[f"`{m}`", CORPORA[c], targets(m, c), said("needed", m, c, FIELDS[0]), p_text(p[m, c]) if (m, c) in p else "-", *(said("needed", m, c, f) for f in FIELDS[1:])] for m, c in pairs()])


def known_table():
    return markdown(["model", "text", "loss", "frequency", "last occurrence", "gradient, 0.9, those fixed", "gradient, 0.5, those fixed", "attention, 0.9, those fixed"],
                    [[f"`{m}`", CORPORA[c], *(said("needed", m, c, k) for k in KNOWN), *(said("partial", m, c, f) for f in ("gradient 0.9", "gradient 0.5", "attention 0.9"))] for m, c in pairs()])


def rules_table():
    return markdown(["model", "field", *(f"{rule}, {nats}" for rule, nats in RULES)],
                    [[f"`{m}`", f"ERF({q})", *(said("needed", m, c, f"gradient {q}", rule=rule, nats=nats) for rule, nats in RULES)] for m, c in together() for q in (0.9, 0.5)])


def worth_table():
    return markdown(["model", "text", "ERF(0.9)", "ERF(0.5)"], [[f"`{m}`", CORPORA[c], *(said("explained", m, c, f"gradient {q}") for q in (0.9, 0.5))] for m, c in together()])


def octaves_table():
    p = chances("octave", "gradient")
    return markdown(["model", "text", "gradient", "p", "loss, frequency, last occurrence fixed", "the fall alone", "share elsewhere", "integrated", "attention"],
                    [[f"`{m}`", CORPORA[c], said("octave", m, c, "gradient"), p_text(p[m, c]) if (m, c) in p else "-",
                      *(said(f"octave-{what}", m, c, "gradient") for what in ("partial", "help", "elsewhere")), *(said("octave", m, c, f) for f in ("integrated", "attention"))] for m, c in pairs()])


def others_table():
    return markdown(["needs of", "gradient of", "correlation with ERF(0.9)", "own less that", "within octaves", "own less that"],
                    [[f"`{m}`", f"`{o}`", said("needed", m, c, f"gradient of {o} 0.9"), said("difference", m, c, f"gradient of {o} 0.9"), said("octave", m, c, f"gradient of {o}"),
                      said("octave-difference", m, c, f"gradient of {o}")] for m, c in together() for o in others(m)])


def all_octaves():
    """Correlations of the size of the change of the loss with the gradient's share, of every model and octave, with their intervals."""
    return [found for p in together() for found in octaves(*p).values()]


def half_higher():
    """In how many models and texts ERF(0.5) has a higher correlation than ERF(0.9)."""
    return sum(three("needed", *p, "gradient 0.5")[0] > three("needed", *p, "gradient 0.9")[0] for p in single())


def middle(column):
    """The least and the greatest quartile over the texts of the real models, in words."""
    found = [quartiles(*p, column) for p in of(REAL, single())]
    return f"{min(q[0] for q in found):.0f} and {max(q[2] for q in found):.0f}"


def uniform(q):
    """ERF(q) of equal norms, without that of the first input."""
    return int(q * (WHOLE - 1)) + 1


def by_rules(field):
    return [v for rule, nats in RULES for v in values("needed", field, together(), rule=rule, nats=nats)]


def own_better(models):
    """In how many pairs of models the interval of own less other, within octaves, lies above 0; and how many pairs there are."""
    found = [three("octave-difference", *f) for f in foreign(models, "")]
    return sum(f[1] > 0 for f in found), len(found)


def own_higher():
    """For ERF(0.9): pairs of models in which the interval of own less other lies above 0, in which it lies below, and all."""
    found = [three("difference", *f) for f in foreign((*EXAMPLES, *REAL), " 0.9")]
    return sum(f[1] > 0 for f in found), sum(f[2] < 0 for f in found), len(found)


def widths(test, field, chosen):
    return [found[2] - found[1] for p in chosen for found in [three(test, *p, field)]]
