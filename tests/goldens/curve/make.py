"""Writes cases.txt: norms and what they reduce to, by a plain numpy reading of the definitions ([A] section 5.1), whole matrices and all.

    python3 tests/goldens/curve/make.py > tests/goldens/curve/cases.txt

Sums run in the order the definitions give, one addition after another, so that receptive fields and the bootstrap agree to the last token even
where a curve meets its threshold exactly.
"""
import numpy as np

MASK = (1 << 64) - 1
LEAST = 5       # segments of an interval


def split_mix(seed, count, first=0):
    """Elements first..first+count of the stream: SplitMix64 seeded with `seed`."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


assert list(map(int, split_mix(1234567, 3))) == [6457827717110365317, 3203168211198807973, 9817491932198370423]  # the published test vector


def from_right(rows):
    """Running sums from the last column to the first, unscaled."""
    return np.cumsum(rows[..., ::-1], axis=-1)[..., ::-1]


def scaled(c):
    return c / c[..., :1]


def erf(c, q):
    """L-1 - m* + 1 in the paper's counting from 1: n - m* counting from 0, m* the largest index with c > q."""
    return len(c) - int(np.nonzero(c > q)[0].max())


def order_statistic(values, percent):
    """Inverse empirical CDF, `percent` a rational number of hundredths in thousandths: 25 -> 2.5 %."""
    values = sorted(values)
    return values[-(-percent * len(values) // 1000) - 1]


def generated(seed, segments, positions):
    u = (split_mix(seed, segments * positions) >> np.uint64(11)).astype(float) * 2.0 ** -53
    u = u.reshape(segments, positions)
    return (u * u) * (u * u) / (1.0 + np.arange(positions - 1, -1, -1.0))


def in_order(rows):
    """The sum of the rows, one addition after another."""
    sums = np.zeros(rows.shape[1])
    for row in rows:
        sums = sums + row
    return sums


def bootstrap_t(whole, c, random):
    """The curve of a replicate: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 12.5. For the mean c of n segments with the standard error se, and a
    mean c* of n drawn ones with its own standard error se*, Z* = (c* - c) / se* (12.20), and the ends of the interval are c - Z* se at the quantiles of Z* (12.22).

    A variance that is only rounding counts as none: then Z* se is 0 if c does not vary, and infinite if c alone does. A cumulative share is at most 1, and as great as that of
    fewer tokens."""
    used = len(whole)
    times = np.bincount([int(u) * used >> 64 for u in random], minlength=used).astype(float)
    d = whole - in_order(whole) / used
    variance, shift = in_order(d * d) / used, in_order(times[:, None] * d) / used
    own = in_order(times[:, None] * (d * d)) / used - shift * shift
    drawn = np.repeat(d, times.astype(int), axis=0)
    assert np.allclose(drawn.var(axis=0), own, rtol=0, atol=1e-12) and np.allclose(drawn.mean(axis=0), shift, rtol=0, atol=1e-12)
    curve = np.empty(len(c))
    for m in range(len(c)):
        if variance[m] <= 1e-24 or max(own[m], shift[m] ** 2) <= 1e-10 * variance[m]:
            curve[m] = c[m]
        elif own[m] <= 1e-10 * variance[m]:
            curve[m] = 0 if shift[m] > 0 else 1
        else:
            z, se = shift[m] / np.sqrt(own[m] / used), np.sqrt(variance[m] / used)
            curve[m] = c[m] - shift[m] * np.sqrt(variance[m] / own[m])
            assert abs(curve[m] - (c[m] - z * se)) <= 1e-9 * (1 + abs(curve[m]))
    return np.maximum.accumulate(np.clip(curve, 0, 1)[::-1])[::-1]


def floats(values):
    return " ".join("nan" if np.isnan(v) else "inf" if v == np.inf else "-inf" if v == -np.inf else repr(float(v)) for v in values)


def case(name, norm, logprob, thresholds, sink, replicates, seed, generator=None, shown=None):
    norm, logprob = np.asarray(norm, float), np.asarray(logprob, float)
    segments, n = norm.shape
    print("case", name, segments, n, sink, replicates, seed)
    print("thresholds", floats(thresholds))
    if generator is None:
        for row in norm:
            print("norm", floats(row))
    else:
        print("generate", generator)
    print("logprob", floats(logprob))
    total = np.array([np.nan if not np.all(np.isfinite(r)) or np.any(r < 0) else from_right(r)[0] for r in norm])
    use = np.isfinite(logprob) & (total > 0)
    print("status", " ".join("1" if u else "2" for u in use))
    if not use.any():
        print("end none")
        return
    share = norm[use] / total[use][:, None]
    used = len(share)
    replicates = replicates if used >= LEAST else 0
    s = np.zeros(n)
    for row in share:
        s = s + row
    s = s / used
    c = scaled(from_right(s))

    whole = scaled(from_right(share))
    curves = np.array([bootstrap_t(whole, c, split_mix(seed, used, b * used)) for b in range(replicates)])
    lo = np.array([order_statistic(curves[:, m], 25) for m in range(n)]) if replicates else c
    hi = np.array([order_statistic(curves[:, m], 975) for m in range(n)]) if replicates else c
    for m in shown if shown is not None else range(n):
        print("at", m, floats([s[m], c[m], lo[m], hi[m]]))

    sink_share = 0.0
    for v in s[:sink]:
        sink_share += v
    mean_logprob = 0.0
    for v in logprob[use]:
        mean_logprob += v
    mean_logprob /= used
    print("summary", floats([sink_share, mean_logprob, np.exp(-mean_logprob)]))

    rest = share.copy()
    rest[:, :sink] = 0
    rest_total = from_right(rest)[:, 0]
    rest = rest[rest_total > 0] / rest_total[rest_total > 0][:, None]
    rest_sum = np.zeros(n)
    for row in rest:
        rest_sum = rest_sum + row
    for q in thresholds:
        single = [erf(c_i, q) for c_i in whole]
        again = [erf(curve, q) for curve in curves]
        e = erf(c, q)
        print("row", e, order_statistic(again, 25) if again else e, order_statistic(again, 975) if again else e, int(e == n), order_statistic(single, 100),
              order_statistic(single, 500), order_statistic(single, 900), erf(scaled(from_right(rest_sum)), q) if len(rest) else 0)
        print("replicates", *again[:12])
    print("end")


nan, inf = float("nan"), float("inf")
print("# made by make.py; see there")
case("one-segment", [[1, 2, 3, 4, 5, 6.5]], [-1.25], [0.5, 0.9, 0.99], 4, 20, 7)
case("exact-ties", [[1, 1, 1, 1], [3, 3, 3, 3], [0.5, 0.5, 0.5, 0.5]] * 2, [-1, -2, -4] * 2, [0.25, 0.5, 0.75, 0.9], 1, 50, 0)
case("half-ties", [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 2, 2], [1, 0, 1, 0]] * 2, [-1, -2, -4, -0.5] * 2, [0.25, 0.5, 0.75], 1, 40, 3)
case("excluded", [[1, 2, 3], [nan, 1, 1], [1, inf, 1], [0, 0, 0], [4, 5, 6], [1, -1, 1], [7, 1, 2], [1, 1, 1], [1, 1, 1], [2, 9, 1], [3, 1, 1]],
     [-1, -1, -1, -1, -2.5, -1, -3, nan, -inf, -1, -1], [0.5, 0.99], 1, 33, 123456789012345)
case("none-usable", [[0, 0], [nan, 1]], [-1, -1], [0.5], 4, 10, 0)
case("sink", [[9, 8, 7, 6, 1, 1, 1, 1, 1, 5], [20, 0, 0, 0, 0, 0, 0, 1, 2, 3], [5, 5, 5, 5, 0, 0, 0, 0, 0, 0], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]] * 2,
     [-1, -0.5, -0.25, -2] * 2, [0.5, 0.9, 0.95, 0.99, 0.999], 4, 101, MASK)
case("all-sink", [[1, 2], [3, 4]], [-1, -2], [0.5, 0.99], 4, 10, 5)
case("window", [[0, 0, 0, 0, 0, 1, 2, 4], [0, 0, 0, 0, 0, 3, 2, 8]] * 3, [-1, -2] * 3, [0.5, 0.9, 0.999], 4, 10, 5)
case("no-bootstrap", [[5, 1, 2], [1, 0, 1]], [-1, -2], [0.5, 0.9], 1, 0, 5)
case("too-few", [[5, 1, 2], [1, 0, 1], [1, 2, 3], [1, 1, 9], [nan, 1, 1]], [-1, -2, -3, -4, -5], [0.5, 0.9], 1, 20, 5)
case("just-enough", [[5, 1, 2], [1, 0, 1], [1, 2, 3], [1, 1, 9], [4, 1, 1]], [-1, -2, -3, -4, -5], [0.5, 0.9], 1, 20, 5)
case("huge-and-tiny", [[1e300, 2e300, 5e300], [1e-300, 2e-300, 1e-300], [1e-20, 1, 1e-9]] * 2, [-1, -2, -700] * 2, [0.5, 0.9], 1, 25, 11)
case("generated", generated(99, 37, 301), -10 * (split_mix(5, 37) >> np.uint64(11)).astype(float) * 2.0 ** -53, [0.5, 0.9, 0.95, 0.99, 0.999], 4, 203, 42,
     generator=99, shown=[0, 1, 2, 7, 8, 43, 44, 45, 46, 100, 150, 290, 299, 300])
