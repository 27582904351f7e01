"""Rules that say beforehand whether a model extrapolates.

Written down, thresholds included, when the eight models of SEEN had been measured and no other: what they say of those eight is a fit,
what they say of every later model is a test. A rule maps a model to True, False, or None where it has no say; a score orders models.
"""

from dataclasses import dataclass
from typing import Callable

SEEN = ("rotary", "alibi", "window-40", "window-64", "window-24", "sinusoidal", "kerple-log", "sandwich")


@dataclass
class Rule:
    """`score(model)`: the smaller, the likelier it extrapolates; the rule says yes up to `most`."""

    name: str
    score: Callable
    most: float

    def says(self, model):
        score = self.score(model)
        return None if score is None else score <= self.most


RULES = [
    Rule("ERF(0.99) <= L_tr", lambda m: m.erf(0.99).tokens / m.trained, 1),
    Rule("ERF(0.5) <= 0.35 L_tr", lambda m: m.erf(0.5).tokens / m.trained, 0.35),
    Rule("half of the summed gradient norm lies within L_tr", lambda m: 1 - m.share(m.trained), 0.5),
    Rule("0.3 of the convolved kernel lies within L_tr", lambda m: m.convolved and 1 - sum(m.convolved[:m.trained]) / sum(m.convolved), 0.7),
    Rule("the sum of exp(b) converges", lambda m: m.verdict and {"converges": 0, "undecided": 1, "diverges": 2}[m.verdict], 0),
]


def outcome(rule, models):
    """(right, wrong, without a say) of a rule."""
    said = [(rule.says(m), m.holds) for m in models]
    return sum(s is not None and s == h for s, h in said), sum(s is not None and s != h for s, h in said), sum(s is None for s, _ in said)


def area(rule, models):
    """Probability that the rule's score puts a model that extrapolates before one that does not, a tie counting half; None without both kinds."""
    yes = [s for m in models if m.holds and (s := rule.score(m)) is not None]
    no = [s for m in models if not m.holds and (s := rule.score(m)) is not None]
    return sum((a < b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no)) if yes and no else None
