"""Tables and sentences' numbers for the pages. NLL in nats a token; intervals are 95 %."""

import math
import os
import re
from math import comb
from statistics import NormalDist

import models  # noqa: F401, makes gates found
from predictors import RULES, SEEN, area, outcome
from gates import RISE

FAMILIES = {
    "windows": ("windows", lambda m: m.window),
    "shifted": ("ALiBi, shifted slopes", lambda m: m.name == "alibi" or m.name.startswith(("alibi-plus-", "alibi-minus-"))),
    "equal": ("ALiBi, equal slopes", lambda m: m.name.startswith("alibi-equal-")),
    "absolute": ("absolute, rotary, none", lambda m: m.name.startswith(("rotary", "sinusoidal", "learned")) or m.name == "none"),
    "learned": ("KERPLE, T5", lambda m: m.name.startswith(("kerple", "t5"))),
    "biases": ("other biases", lambda m: "position_bias" in m.config and not m.name.startswith(("alibi", "kerple", "t5"))),
}


def family(models, key):
    """The models of a family, in the order of their names' numbers."""
    chosen = [m for m in models.values() if FAMILIES[key][1](m)]
    if key == "shifted":
        return sorted(chosen, key=lambda m: int(m.name.replace("alibi", "").replace("-plus-", "+").replace("-minus-", "-") or 0))
    return sorted(chosen, key=lambda m: (m.window or 0, m.name))


def signed(pair, digits=3):
    """A difference with half its interval."""
    return "no positions" if pair is None else f"{pair[0]:+.{digits}f} ± {pair[1]:.{digits}f}"


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def fields_table(chosen):
    """Field and loss of some models."""
    cone = any(m.window for m in chosen)
    titles = ["model", *(["cone"] if cone else []), "ERF(0.5)", "ERF(0.99)", "NLL at L_tr", "at 2 L_tr", "at 4 L_tr", "at 16 L_tr", "extrapolates"]
    return markdown(titles, [[f"`{m.name}`", *([m.cone or "none"] if cone else []), m.erf(0.5), m.erf(0.99), f"{m.nll():.3f}", *(signed(m.rise(k)) for k in (2, 4, 16)),
                              "yes" if m.holds else "no"] for m in chosen])


def theory_table(models):
    """What biases alone say, beside what was measured."""
    chosen = [m for m in models.values() if m.kernel]
    return markdown(["model", "sum of exp(b)", "within L_tr: one layer", "all layers", "measured", "ERF(0.99)", "extrapolates"],
                    [[f"`{m.name}`", m.verdict, *(f"{sum(k[:m.trained]) / sum(k):.2f}" for k in (m.kernel, m.convolved)), f"{m.share(m.trained):.2f}", m.erf(), "yes" if m.holds else "no"]
                     for m in chosen])


def with_kernel(models):
    return [m for m in models.values() if m.kernel]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    for i in order:
        same = [j for j, k in enumerate(order) if values[k] == values[i]]
        out[i] = sum(same) / len(same)
    return out


def rank_correlation(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((p - mx) * (q - my) for p, q in zip(x, y)) / math.sqrt(sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y))


def holm(values):
    """P-values corrected by Holm's method for their number, in the same order."""
    out, greatest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        greatest = out[i] = max(greatest, min(1.0, (len(values) - rank) * values[i]))
    return out


def differences(models):
    """All rises of all models, with half of their 95 % intervals."""
    return [(d, half) for m in models.values() for _, d, half in m.rises()]


def student_p(t, degrees):
    """Two-sided p of Student's t, by Simpson's rule on its density from 0 to |t|."""
    def density(x):
        return math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi) * (1 + x * x / degrees) ** (-(degrees + 1) / 2)
    n, end = 2000, min(abs(t), 200.0)
    return max(0.0, 1 - 2 * end / (3 * n) * math.fsum(density(end * i / n) * (1 if i in (0, n) else 4 if i % 2 else 2) for i in range(n + 1)))


def unlike_zero(pairs, half_of=1.96, degrees=None):
    """How many of these differences differ from 0 at 0.05, each by itself, and all together by Holm's method. half_of: half an interval in standard errors. p is normal, for differences
    of thousands of targets, or Student's."""
    def p(d, half):
        t = half_of * abs(d) / half if half else 0.0
        return math.erfc(t / math.sqrt(2)) if degrees is None else student_p(t, degrees)
    values = [p(d, half) for d, half in pairs]
    return sum(p < 0.05 for p in values), sum(p < 0.05 for p in holm(values))


def many_tests(pairs, **how):
    """A sentence: how many of these differences are told from 0, and how many when their number is corrected for."""
    one, all_of_them = unlike_zero(pairs, **how)
    return f"Of {len(pairs)} differences {one} have an interval without 0; with Holm's correction for their number, {all_of_them} differ from 0 at 0.05."


def at_once(number):
    """By how much a 95 % interval must be widened for `number` of them to hold together (Bonferroni, normal)."""
    return NormalDist().inv_cdf(1 - 0.025 / number) / 1.96


def undecided_at_once(models):
    """Models said not to extrapolate, of which intervals that hold for all models and contexts at once would not say it."""
    wider = at_once(len(differences(models)))
    return [m for m in models.values() if not m.holds and all(d - wider * half <= RISE * m.nll() for _, d, half in m.rises())]


def chance(right, wrong, rate):
    """Probability of so many right answers or more where each is right with that probability."""
    n = right + wrong
    return math.fsum(comb(n, k) * rate ** k * (1 - rate) ** (n - k) for k in range(right, n + 1)) if n else 1.0


def base_rate(rule, chosen):
    """(models of the more frequent verdict, all) of those of which the rule has a say: what one would be right for who says the same of each."""
    asked = [m for m in chosen if rule.says(m) is not None]
    holding = sum(m.holds for m in asked)
    return max(holding, len(asked) - holding), len(asked)


def seen_table(models):
    """Every rule on the models that were known when it was written down."""
    chosen = [m for m in models.values() if m.name in SEEN]
    return markdown(["rule", "right", "wrong", "no say", "area under the curve"], [[rule.name, *outcome(rule, chosen), f"{area(rule, chosen):.2f}"] for rule in RULES])


def names(chosen):
    """Names in a sentence."""
    words = [f"`{m.name}`" for m in chosen]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def surprising(models):
    """Windows whose cone is longer than L_tr, but whose field is not."""
    return [m for m in family(models, "windows") if m.erf().tokens <= m.trained < m.cone]


def beyond(models):
    """Windows whose field passes L_tr, its interval included."""
    return [m for m in family(models, "windows") if m.erf().lo > m.trained]


def count(number, noun):
    """A number with its noun: 1 model, 2 models."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def verb(chosen, one, several):
    return one if len(chosen) == 1 else several


def later_models(models):
    return [m for m in models.values() if m.name not in SEEN]


def jump(model):
    """The first and last of those inputs, numbered from 1, at which the curve is steepest, the last 128 left out."""
    far = [point for point in model.curve if point[0] >= 128]
    near, farther = max(zip(far, far[1:]), key=lambda pair: (pair[1][1] - pair[0][1]) / (pair[1][0] - pair[0][0]))
    return far[-1][0] - farther[0] + 1, far[-1][0] - near[0]


def seeded(models, repeats):
    """[model, the same with other seeds...] of each encoding that has such."""
    groups = [[m, *(r for n, r in sorted(repeats.items()) if re.fullmatch(re.escape(m.name) + r"-seed-\d+", n))] for m in models.values()]
    return [group for group in groups if len(group) > 1]


def seeds_table(models, repeats):
    """Field and loss of every seed, a row an encoding."""
    def cells(group, show):
        return ", ".join(show(m) for m in group)
    return markdown(["model", "ERF(0.5) by seed", "ERF(0.99)", "NLL at L_tr", "at 2 L_tr", "at 16 L_tr", "extrapolates"],
                    [[f"`{g[0].name}`", cells(g, lambda m: str(m.erf(0.5).tokens)), cells(g, lambda m: str(m.erf())), cells(g, lambda m: f"{m.nll():.3f}"),
                      *(cells(g, lambda m: f"{m.rise(k)[0]:+.3f}") for k in (2, 16)), cells(g, lambda m: "yes" if m.holds else "no")]
                     for g in seeded(models, repeats)])


def seed_spread(models, repeats):
    """The largest difference of NLL at L_tr between two seeds of one encoding."""
    return max(max(m.nll() for m in g) - min(m.nll() for m in g) for g in seeded(models, repeats))


def said_alike(groups, first):
    """A sentence: whether the others of each group extrapolate where its first does, which is that of `first`."""
    other = [(g[0], m) for g in groups for m in g[1:]]
    differ = [m for one, m in other if m.holds != one.holds]
    if not differ:
        return f"{'The other extrapolates or fails' if len(other) == 1 else 'Both others extrapolate or fail' if len(other) == 2 else f'All {len(other)} others extrapolate or fail'} as {first} does."
    return f"Of {len(other)} others {len(other) - len(differ)} extrapolate or fail as {first} does; not so {names(differ)}."


def on_novels(models, repeats):
    """[model, the same trained on novels] of each encoding that has such."""
    return [[m, repeats[f"{m.name}-novels"]] for m in models.values() if f"{m.name}-novels" in repeats]


def longer(models, repeats):
    """[model, the same with half as many steps again] of each encoding that has such."""
    return [[m, r] for m in models.values() for n, r in sorted(repeats.items()) if re.fullmatch(re.escape(m.name) + r"-tokens-\d+", n)]


def longer_table(models, repeats):
    """Loss and field of both, a row an encoding."""
    return markdown(["model", "NLL at L_tr", "falls by", "ERF(0.5)", "ERF(0.99)", "at 2 L_tr", "at 16 L_tr", "extrapolates"],
                    [[f"`{a.name}`", f"{a.nll():.3f}, {b.nll():.3f}", f"{100 * (a.nll() - b.nll()) / a.nll():.1f} %", *(f"{a.erf(q)}, {b.erf(q)}" for q in (0.5, 0.99)),
                      *(f"{a.rise(k)[0]:+.3f}, {b.rise(k)[0]:+.3f}" for k in (2, 16)), ", ".join("yes" if m.holds else "no" for m in (a, b))] for a, b in longer(models, repeats)])


def shallow(models, repeats):
    """[model, the same with two layers] of each encoding that has such."""
    return [[m, repeats[f"{m.name}-layers-2"]] for m in models.values() if f"{m.name}-layers-2" in repeats]


def depth_table(models, repeats):
    """Field and loss with four layers and with two, a row each."""
    return markdown(["model", "layers", "cone", "ERF(0.5)", "ERF(0.99)", "NLL at L_tr", "at 2 L_tr", "at 4 L_tr", "at 16 L_tr", "extrapolates"],
                    [[f"`{pair[0].name}`", m.config["layers"], m.cone or "none", m.erf(0.5), m.erf(), f"{m.nll():.3f}", *(signed(m.rise(k)) for k in (2, 4, 16)), "yes" if m.holds else "no"]
                     for pair in shallow(models, repeats) for m in pair])


def span(values, digits=3):
    """The least and the greatest in a sentence, or the one number that they are."""
    ends = [f"{f(values):.{digits}f}" for f in (min, max)]
    return " to ".join(dict.fromkeys(ends))


def novels_table(models, repeats):
    """Field and loss on source code and on novels, a row each."""
    return markdown(["model", "trained on", "ERF(0.5)", "ERF(0.99)", "NLL at L_tr", "at 2 L_tr", "at 4 L_tr", "at 16 L_tr", "extrapolates"],
                    [[f"`{pair[0].name}`", what, m.erf(0.5), m.erf(), f"{m.nll():.3f}", *(signed(m.rise(k)) for k in (2, 4, 16)), "yes" if m.holds else "no"]
                     for pair in on_novels(models, repeats) for what, m in zip(("source code", "novels"), pair)])


def by_rule(groups, number):
    """(right, wrong, without a say) of a rule on all but the first of each group."""
    return outcome(RULES[number], [m for g in groups for m in g[1:]])


def millions(model):
    """Weights of a model, in millions: two bytes each."""
    return f"{os.path.getsize(os.path.join(model.folder, 'model.safetensors')) / 2e6:.1f}"


def names_of(verdicts):
    return " and ".join(sorted(verdicts))
