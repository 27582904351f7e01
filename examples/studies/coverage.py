"""A stage of measure.py: how often the interval of a field, its growth or a difference holds the true one, by the number of segments.

The segments of an example stand for all texts: their field is the true one, and samples of N of them, drawn with replacement, are what somebody measured. Each sample gets
the interval of `reach erf` (by the functions of python/reach_erf, which tests hold to the program's), and for comparison that by percentiles."""

import os

from gates import SEGMENTS, TEXT
from probes import MODELS, run

COVERED = ("alibi", "rotary", "window-40", "t5", "kerple-log", "none")
AGAINST = "kerple-power"                # of differences
INPUTS, SIZES, TRIALS, REPLICATES = 512, (8, 16, 32, 64, 128, 2, 3, 4, 5, 6), 400, 600     # the smallest last: they were added, and the samples of the others stay
FEW_SIZES, FEW_TRIALS = (16, 64, 3, 4, 5), 200  # of growth and of differences, which need the curve at every token
THRESHOLDS = (0.5, 0.9, 0.99)
METHODS = ("percentile", "bootstrap-t")


def fields(options, name):
    """The fields of a model at 127, 255 and 512 inputs: shares [segments, positions], the last input first."""
    from reach_erf import open_result
    folder = os.path.join(options.work, "coverage-runs", name)
    if not os.path.exists(os.path.join(folder, "erf.h5")):
        run(options, "erf", os.path.join(MODELS, name), "--text", TEXT, "--length", INPUTS + 1, "--segments", SEGMENTS, "--growth", "--bootstrap", 0, "-o", folder, "--device", "cpu", "--quiet", "--resume")
    model = next(iter(open_result(folder).values()))
    return [(one.target - 1, one.shares()[:, ::-1]) for one in sorted(model.fields, key=lambda one: one.target)]


class Grid:
    """Cumulative shares [segments, points] of the last tokens, at some numbers of tokens: all, or six an octave, and each of the true fields with the one before it."""

    def __init__(self, inputs, shares, thin=True):
        import numpy as np
        whole = np.cumsum(shares, axis=1)
        whole /= whole[:, -1:]
        mean = whole.mean(axis=0)
        self.inputs, self.true = inputs, [int(np.argmax(mean > q)) + 1 for q in THRESHOLDS]
        self.tokens = np.arange(1, inputs + 1) if not thin else np.array(sorted({inputs, *(n for k in range(120) if (n := round(2 ** (k / 6))) < inputs), *(t for k in self.true for t in (k, max(k - 1, 1)))}))
        self.cumulative = whole[:, self.tokens - 1]

    def field(self, curves, q):
        """The first number of tokens with more than q, of each curve [curves, points]."""
        return self.tokens[(curves > q).argmax(axis=1)]


def samples(grid, rows, weight):
    """ERFs of the replicates of the segments `rows`, [thresholds, replicates], for percentiles and for bootstrap-t."""
    import numpy as np
    from reach_erf.results import _studentized
    own = grid.cumulative[rows]
    curves = weight @ own, _studentized(weight, own[:, ::-1], own.mean(axis=0)[::-1])[:, ::-1]
    return [np.array([grid.field(one, q) for q in THRESHOLDS]) for one in curves]


def ends(values):
    from reach_erf.results import _quantile
    return float(_quantile(values, 0.025)), float(_quantile(values, 0.975))


def intervals(plain, studentized):
    return {"percentile": ends(plain), "bootstrap-t": ends(studentized)}


def slopes(lengths, of):
    """The exponent of growth over the lengths, of fields [lengths, any]."""
    import numpy as np
    x = np.log([g.inputs for g in lengths])
    x = x - x.mean()
    return x @ np.log(np.array(of, float)) / (x @ x)


def trials(name, sizes, count, quantities, true):
    """A row a quantity, number of segments and method: how many of the trials' intervals hold the true value, lie above it and below it, and their median width. quantities:
    (grids, what gives each quantity from the ERFs of the replicates of all grids)."""
    import numpy as np
    from reach_erf.results import _draw
    grids, parts = quantities
    random = np.random.default_rng(1)
    for size in sizes:
        found = {(what, method): [] for what in parts for method in METHODS}
        for trial in range(count):
            rows = random.integers(0, len(grids[0].cumulative), size)
            drawn = _draw(trial, REPLICATES, size)
            weight = np.bincount((drawn + size * np.arange(REPLICATES)[:, None]).ravel(), minlength=size * REPLICATES).reshape(REPLICATES, size) / size
            by_grid = [samples(g, rows, weight) for g in grids]
            for what, of in parts.items():
                for k, method in enumerate(METHODS):
                    found[what, method].append(ends(of([one[k] for one in by_grid])))
        for (what, method), pairs in found.items():
            low, high = np.array(pairs).T
            yield [name, what, f"{true[what]:.6g}", size, method, count,
                   *(f"{float(np.mean(x)):.3f}" for x in ((low <= true[what]) & (true[what] <= high), low > true[what], high < true[what])), f"{float(np.median(high - low)):.4g}"]


def coverage(options, name):
    measured, last = fields(options, name), len(THRESHOLDS) - 1
    thin, every = Grid(*measured[-1]), [Grid(*f, thin=False) for f in (*measured, fields(options, AGAINST)[-1])]
    growth, difference = "growth of ERF(0.5)", f"ERF(0.99) minus that of {AGAINST}"
    true = {**{f"ERF({q})": thin.true[i] for i, q in enumerate(THRESHOLDS)},
            growth: float(slopes(every[:-1], [g.true[0] for g in every[:-1]])), difference: every[-2].true[last] - every[-1].true[last]}
    alone = {f"ERF({q})": lambda found, i=i: found[0][i] for i, q in enumerate(THRESHOLDS)}
    together = {growth: lambda found: slopes(every[:-1], [one[0] for one in found[:-1]]), difference: lambda found: found[-2][last] - found[-1][last]}
    return [["model", "quantity", "true", "segments", "method", "trials", "holds", "too_high", "too_low", "width"],
            *trials(name, SIZES, TRIALS, ([thin], alone), true), *trials(name, FEW_SIZES, FEW_TRIALS, (every, together), true)]
