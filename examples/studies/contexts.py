#!/usr/bin/env python3
"""Make data/needed-tests.csv of data/needed.csv and data/needed-examples.csv.gz (needed.py): does a field say how much context a target needs?

    python3 examples/studies/contexts.py

A row is one number with its 95 % interval, by the bootstrap over targets (percentiles of REPLICATES, the same draw for all numbers of a model and corpus), and for correlations p
by permutation of the targets. Corpus `all`: the mean over the corpora of a model, each weighted by its targets; drawn and permuted within them.

needed       rank correlation of the needed context with a field, or with what is known without one
partial      the same, with the ranks of the loss, of the token's frequency and of the distance of its last occurrence kept fixed
difference   the correlation with ERF(0.9) of the gradient less that with another field
octave       rank correlation over targets of the size of the change of the loss from n/2 to n inputs with the share of the field in that octave, the mean over the nine octaves;
             of the gradient also by octave
octave-partial, octave-difference   as above; of `fall`: less octave-help
octave-help  the same as octave, of the fall of the loss instead of the size of its change
octave-elsewhere   the same as octave, of the share in another octave than that of the change, the mean over all pairs
explained    share of the variance of log2 of the needed context that a line over log2 of a field explains, each target left out in turn
within       share of the targets, and of those of a kind, that need no more than 96 tokens; Wilson intervals
enough       the same by the number of tokens
median       of the needed context
loss         mean NLL given all inputs, and how far that given 96 is above it

Needs NumPy.
"""

import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from gates import write_csv  # noqa: E402
from needed import CONTEXTS, EXAMPLES, OCTAVES, REAL, WHOLE, path_of, read_rows  # noqa: E402

DATA = os.path.join(HERE, "data")
REPLICATES, PERMUTATIONS, SEED = 4000, 9999, 1
NATS, RULES = (0.1, 0.2, 0.5), ("stays", "first", "settles")
ENOUGH = 96
TITLES = ["test", "model", "corpus", "targets", "of", "rule", "nats", "value", "lo", "hi", "p"]


def needed(nll, rule, nats):
    """The shortest context of CONTEXTS, by target, of which nll [targets, contexts] is within nats of that of the longest. first: it is no more above it (`reach ppl --gain`);
    stays: nor at any longer one; settles: nor below."""
    import numpy as np
    above = nll - nll[:, -1:]
    bad = (np.abs(above) if rule == "settles" else above) > nats + 1e-9      # a decimal difference of exactly `nats` is within
    at = np.argmin(bad, axis=1) if rule == "first" else len(CONTEXTS) - np.argmax(bad[:, ::-1], axis=1)
    return np.array(CONTEXTS)[np.where(bad.any(axis=1), at, 0)]


def comparisons(x):
    """[targets, targets]: 1 where one is above another, 1/2 where they are equal. Times weights of the targets it gives their ranks among as many of each."""
    import numpy as np
    return np.asarray((x[:, None] > x) + 0.5 * (x[:, None] == x), float)


def correlations(columns, weight):
    """Correlation matrices [..., k, k] of the ranks of columns [k][targets], by column of weight [targets, draws]."""
    import numpy as np
    ranks = np.stack([comparisons(c) @ weight for c in columns])
    ranks = ranks - (ranks * weight).sum(1, keepdims=True) / weight.sum(0)
    product = np.einsum("atd,btd,td->dab", ranks, ranks, weight)
    size = np.sqrt(np.maximum(np.einsum("daa->da", product), 1e-30))
    return product / size[:, :, None] / size[:, None]


def partial(matrices):
    """The correlation of the first two with the others fixed."""
    import numpy as np
    inverse = np.linalg.pinv(matrices)
    return -inverse[:, 0, 1] / np.sqrt(np.maximum(inverse[:, 0, 0] * inverse[:, 1, 1], 1e-30))


class Cell:
    """The targets of a model and corpus, with one draw of them: the first column of `weight` is the sample itself."""

    def __init__(self, rows, others):
        import numpy as np
        self.rows, self.n = rows, len(rows)
        self.nll = np.array([[float(r[f"nll_{c}"]) for c in CONTEXTS] for r in rows])
        random = np.random.default_rng(SEED)
        self.weight = np.concatenate([np.ones((self.n, 1)), random.multinomial(self.n, np.ones(self.n) / self.n, REPLICATES).T], axis=1)
        self.orders = np.stack([random.permutation(self.n) for _ in range(PERMUTATIONS)])
        self.fields = {f: self.of_field(rows, f) for f in ("gradient", "integrated", "attention") if f"{f}_half" in rows[0]}
        self.fields |= {f"gradient of {name}": self.of_field(other, "gradient") for name, other in others.items()}
        self.known = {"loss": self.nll[:, -1], "frequency": -np.array([float(r["count"]) for r in rows]), "occurrence": np.array([float(r["repeat"]) or math.inf for r in rows])}

    @staticmethod
    def of_field(rows, field):
        import numpy as np
        return {"half": np.array([float(r[f"{field}_half"]) for r in rows]), "most": np.array([float(r[f"{field}_most"]) for r in rows]),
                "shares": np.array([[float(r[f"{field}_{o}"]) for o in OCTAVES] for r in rows])}

    @property
    def predictors(self):
        return {f"{f} {q}": of[part] for f, of in self.fields.items() for part, q in (("most", 0.9), ("half", 0.5))} | self.known

    def needed(self, x, rule="stays", nats=0.1):
        """Correlations of the needed context with x: of the sample and of the draws; of the permutations."""
        import numpy as np
        y = needed(self.nll, rule, nats).astype(float)
        a, b = (r - r.mean() for r in (comparisons(x).sum(1), comparisons(y).sum(1)))
        return correlations([x, y], self.weight)[:, 0, 1], b[self.orders] @ a / max(math.sqrt((a @ a) * (b @ b)), 1e-30)

    def needed_partial(self, x):
        y = needed(self.nll, "stays", 0.1).astype(float)
        return partial(correlations([x, y, *self.known.values()], self.weight)), None

    @property
    def changes(self):
        """Of the loss, by octave [9][targets]: the fall from n/2 to n inputs."""
        import numpy as np
        return -np.diff(self.nll[:, [CONTEXTS.index(o) for o in OCTAVES]], axis=1).T

    def octave(self, shares, given=()):
        """Correlations of the size of the change of the loss with a share, by octave: of the sample and of the draws; the mean over octaves, of the permutations."""
        import numpy as np
        found, chance = [], []
        for x, y in zip(shares[:, 1:].T, np.abs(self.changes)):
            matrices = correlations([x, y, *given], self.weight)
            found.append(partial(matrices) if given else matrices[:, 0, 1])
            a, b = (r - r.mean() for r in (comparisons(x).sum(1), comparisons(y).sum(1)))
            chance.append(b[self.orders] @ a / max(math.sqrt((a @ a) * (b @ b)), 1e-30))
        return np.array(found), np.mean(chance, axis=0)

    def octave_help(self, shares):
        """The mean over octaves of the correlations of the fall of the loss with a share."""
        import numpy as np
        return np.mean([correlations([x, y], self.weight)[:, 0, 1] for x, y in zip(shares[:, 1:].T, self.changes)], axis=0), None

    def octave_elsewhere(self, shares):
        """The mean of the correlations of the size of the change of the loss over an octave with the share in another."""
        import numpy as np
        sizes = np.abs(self.changes)
        ranks = [[comparisons(x) @ self.weight for x in columns] for columns in (shares[:, 1:].T, sizes)]
        unit = [[(c := r - (r * self.weight).sum(0) / self.n) / np.sqrt(np.maximum((c * c * self.weight).sum(0), 1e-30)) for r in one] for one in ranks]
        total = np.sum(unit[0], axis=0) * np.sum(unit[1], axis=0) - sum(a * b for a, b in zip(*unit))
        return (total * self.weight).sum(0) / (len(sizes) * (len(sizes) - 1)), None

    def explained(self, field):
        """By target: squared errors of log2 of the needed context, each left out, by the mean and by a line over log2 of a field."""
        import numpy as np
        x, y = np.log2(self.predictors[field]), np.log2(needed(self.nll, "stays", 0.1).astype(float))
        x, n = x - x.mean(), self.n
        slope = x @ y / (x @ x)
        return ((y - y.mean()) * n / (n - 1)) ** 2, ((y - y.mean() - slope * x) / (1 - 1 / n - x * x / (x @ x))) ** 2


def wilson(count, n):
    z, p = 1.96, count / n
    middle, half = (p + z * z / 2 / n) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    return p, max(0.0, middle - half), min(1.0, middle + half)


def of_draws(found, chance=None):
    """value, lo, hi, p of a number of the sample (first) and of the draws."""
    import numpy as np
    low, high = np.quantile(found[1:], (0.025, 0.975))
    p = "" if chance is None else f"{(1 + (np.abs(chance) >= abs(found[0]) - 1e-12).sum()) / (1 + len(chance)):.4f}"
    return [f"{v:.4f}" for v in (found[0], low, high)] + [p]


def tests(cells):
    """Rows of a model: cells by corpus."""
    n = sum(c.n for c in cells)

    def mean(of):
        return tuple(None if parts[0] is None else sum(c.n * p for c, p in zip(cells, parts)) / n for parts in zip(*map(of, cells)))

    names = list(cells[0].predictors)
    found = {}
    for name in names:
        yield ["needed", n, name, "stays", 0.1, *of_draws(*(found.setdefault(name, mean(lambda c: c.needed(c.predictors[name])))))]
    for name in ("gradient 0.9", "gradient 0.5", "loss"):
        for rule in RULES:
            for nats in (0.1, 0.5):
                if (rule, nats) != ("stays", 0.1):
                    yield ["needed", n, name, rule, nats, *of_draws(*mean(lambda c: c.needed(c.predictors[name], rule, nats)))]
    for name in ("gradient 0.9", "gradient 0.5", "attention 0.9"):
        yield ["partial", n, name, "stays", 0.1, *of_draws(mean(lambda c: c.needed_partial(c.predictors[name]))[0])]
    for name in names:
        if name == "gradient 0.5" or name.endswith("0.9") and name != "gradient 0.9":
            yield ["difference", n, name, "stays", 0.1, *of_draws(found["gradient 0.9"][0] - found[name][0])]
    octaves = {f: mean(lambda c: c.octave(c.fields[f]["shares"])) for f in cells[0].fields}
    for field, (by_octave, chance) in octaves.items():
        yield ["octave", n, field, "", "", *of_draws(by_octave.mean(0), chance)]
        if field != "gradient":
            yield ["octave-difference", n, field, "", "", *of_draws((octaves["gradient"][0] - by_octave).mean(0))]
    for octave, one in zip(OCTAVES[1:], octaves["gradient"][0]):
        yield ["octave", n, f"gradient {octave}", "", "", *of_draws(one)]
    for test, of in (("octave-partial", lambda c, x: (c.octave(x, [*c.known.values()])[0].mean(0), None)), ("octave-help", Cell.octave_help), ("octave-elsewhere", Cell.octave_elsewhere)):
        draws = mean(lambda c: of(c, c.fields["gradient"]["shares"]))[0]
        yield [test, n, "gradient", "", "", *of_draws(draws)]
        if test == "octave-help":
            yield ["octave-difference", n, "fall", "", "", *of_draws(octaves["gradient"][0].mean(0) - draws)]


def summaries(cells):
    """Rows without a test: how much context is needed."""
    import numpy as np
    n = sum(c.n for c in cells)
    for field in ("gradient 0.9", "gradient 0.5"):
        errors = [[(c.weight * e[:, None]).sum(0) for e in c.explained(field)] for c in cells]
        yield ["explained", n, field, "stays", 0.1, *of_draws(1 - sum(e[1] for e in errors) / sum(e[0] for e in errors))]
    kinds = np.array([r["kind"] for c in cells for r in c.rows])
    need = {(rule, nats): np.concatenate([needed(c.nll, rule, nats) for c in cells]) for rule in RULES for nats in NATS}
    for (rule, nats), kind in [(key, "") for key in need] + [(("stays", 0.1), kind) for kind in sorted(set(kinds))]:
        use = need[rule, nats][kinds == kind] if kind else need[rule, nats]
        yield ["within", len(use), kind, rule, nats, *(f"{v:.4f}" for v in wilson(int((use <= ENOUGH).sum()), len(use))), ""]
    need = need["stays", 0.1]
    drawn = np.sort(need[np.random.default_rng(SEED).integers(0, n, (REPLICATES, n))], axis=1)[:, (n - 1) // 2]
    yield ["median", n, "", "stays", 0.1, int(np.sort(need)[(n - 1) // 2]), *(int(v) for v in np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")), ""]
    for context in CONTEXTS:
        yield ["enough", n, context, "stays", 0.1, *(f"{v:.4f}" for v in wilson(int((need <= context).sum()), n)), ""]
    nll = np.concatenate([c.nll for c in cells])
    for of, values in ((WHOLE, nll[:, -1]), (f"{ENOUGH} less {WHOLE}", nll[:, CONTEXTS.index(ENOUGH)] - nll[:, -1])):
        half = 1.96 * values.std(ddof=1) / math.sqrt(n)
        yield ["loss", n, of, "", "", *(f"{v:.4f}" for v in (values.mean(), values.mean() - half, values.mean() + half)), ""]


def main():
    table = [TITLES]
    for group in (EXAMPLES, tuple(REAL)):
        rows = {}
        for name in group:
            for r in read_rows(path_of(name)):
                rows.setdefault(r["corpus"], {}).setdefault(int(r["target"]), {})[r["model"]] = r
        cells = {}
        for corpus, targets in rows.items():
            both = [by for _, by in sorted(targets.items()) if all(name in by for name in group)]     # measured of every model
            for name in group:
                if both:
                    cells.setdefault(name, {})[corpus] = Cell([by[name] for by in both], {other: [by[other] for by in both] for other in group if other != name})
        for name, by in cells.items():
            for corpus, chosen in [*((corpus, [cell]) for corpus, cell in by.items()), *([("all", list(by.values()))] if len(by) > 1 else [])]:
                table += [[r[0], name, corpus, *r[1:]] for r in (*tests(chosen), *summaries(chosen))]
                print(name, corpus, sum(c.n for c in chosen), flush=True)
    write_csv(os.path.join(DATA, "needed-tests.csv"), [__doc__.split("\n")[0].replace("Make data/needed-tests.csv of", "made by examples/studies/contexts.py of"),
              "value, with its 95 % interval; what the tests are: contexts.py"], table)


if __name__ == "__main__":
    main()
