#!/usr/bin/env python3
"""Golden values for tests/t-analyze-series.c: TRF, sums and verdicts computed with mpmath, independently of the C code.

Writes cases.tsv beside this file. Columns, separated by tabs:
  formula  set (NAME=VALUE, separated by blanks, or -)  head  heads  length (inf: the series)  layers  epsilon  verdict  trf (- if none)  sum
  (30 digits; - if it diverges or layers > 1)

A tail sum over t >= j is Euler's formula with an integral by mpmath (a special function where there is one, else tanh-sinh quadrature in ln t),
at 80 to 260 digits; every TRF is accepted only if both neighbours of the threshold miss it by more than 1e-50 of the sum, or if the sums are rational.
Run time: about ten minutes. Versions: Python 3.11, mpmath 1.3.0.
"""
import os
import random
import sys
from fractions import Fraction

from mpmath import mp, mpf, mpc, bernoulli, factorial, quad, taylor, exp, log, cos, zeta, gammainc, erfc, sqrt, pi, inf, coth, floor

mp.dps = 110
HERE = os.path.dirname(os.path.abspath(__file__))
EPS = ["0.5", "0.1", "0.01", "1e-4", "1e-6", "1e-12"]
rows = []


class Series:
    """f on t >= start (smooth), with head[t] for t < start."""

    def __init__(self, f, head=(), integral=None, tail=None):
        self.f, self.head, self.closed, self.closed_tail = f, list(head), integral, tail
        self.start = len(self.head)
        self.first = max(self.start, 200)
        self.points = [self.f(mpf(t)) for t in range(self.start, self.first)]
        self.base = self.tail_smooth(self.first)
        self.B = sum(self.head, mpf(0)) + sum(self.points, mpf(0)) + self.base

    def integral(self, a):
        """From a to infinity. Without a closed form: t = e^u, Gauss-Legendre on panels of width 1/2 that are kept."""
        if self.closed:
            return self.closed(a)
        g = lambda v: self.f(exp(v)) * exp(v)
        u = log(a)
        if not hasattr(self, "panels"):
            self.panels, end = [], u
            while True:
                piece = quad(g, [end, end + mpf(1) / 2], method="gauss-legendre")
                self.panels.append((end, piece))
                end += mpf(1) / 2
                if piece < mpf(10) ** -75 * self.panels[0][1]:
                    break
                assert end < 1000, "too slow a tail for panels: give its integral"
            self.end, rest, self.beyond = end, mpf(0), []
            for _, piece in reversed(self.panels):
                self.beyond.append(rest)
                rest += piece
            self.beyond.reverse()
        i = int(floor((u - self.panels[0][0]) * 2))
        if i >= len(self.panels):
            return mpf(0)
        return quad(g, [u, self.panels[i][0] + mpf(1) / 2], method="gauss-legendre") + self.beyond[i]

    def tail_smooth(self, j):
        """Sum over t >= j, j >= 200: 16 corrections leave less than 1e-60 of f(j)."""
        j = mpf(j)
        if self.closed_tail:
            return self.closed_tail(j)
        n = 34
        c = taylor_at(self.f, j, n)
        total = self.integral(j) + c[0] / 2
        for k in range(1, n // 2):
            total -= bernoulli(2 * k) / (2 * k) * c[2 * k - 1]
        return total

    def tail(self, j):
        if j >= self.first:
            return self.tail_smooth(j)
        t = self.base
        values = self.head + self.points
        return t + sum(values[j:], mpf(0))

    def trf(self, eps):
        target = mpf(eps) * self.B if "e" not in eps else mpf(eps) * self.B
        lo, hi = 0, 1
        while self.tail(hi) >= target:
            lo, hi = hi, hi * 4
            if hi > 10 ** 320:
                return None
        while hi - lo > 1:
            m = (lo + hi) // 2
            # geometric steps first
            if hi > 8 * (lo + 1):
                m = int(floor(sqrt(mpf(lo + 1) * hi)))
            if self.tail(m) < target:
                hi = m
            else:
                lo = m
        a, b = (self.tail(lo) if lo else self.B) - target, target - self.tail(hi)
        assert min(a, b) > mpf(10) ** ((25 - mp.dps) if self.closed_tail else -50) * self.B, ("margin", a, b)
        return hi


ROOTS = {}


def taylor_at(f, x, n):
    """Taylor coefficients by Cauchy's integral on a circle of radius x / 3 (trapezoid rule: exponentially accurate)."""
    m, r = 160, x / 3
    if mp.dps not in ROOTS:
        ROOTS[mp.dps] = [mp.expjpi(mpf(2 * k) / m) for k in range(m)]
    roots = ROOTS[mp.dps]
    values = [mpc(f(x + r * roots[k])) for k in range(m // 2 + 1)]
    out = []
    for order in range(n):
        s = values[0].real + values[m // 2].real * (-1) ** order
        for k in range(1, m // 2):
            w = roots[-k * order % m]
            s += 2 * (values[k].real * w.real - values[k].imag * w.imag)
        out.append(s / m / r ** order)
    return out


def digits(x):
    return mp.nstr(x, 30)


def emit(formula, sets, head, heads, length, layers, eps, verdict, trf, total):
    rows.append("\t".join([formula, sets or "-", str(head), str(heads), str(length), str(layers), eps, verdict,
                           "-" if trf is None else str(trf), "-" if total is None else digits(total)]))


def emit_series(formula, s, sets="", head=1, heads=8, epsilons=EPS):
    for eps in epsilons:
        try:
            trf = s.trf(eps)
        except AssertionError as e:
            print("skipped", formula, sets, eps, e)
            continue
        if trf is not None:
            emit(formula, sets, head, heads, "inf", 1, eps, "converges", trf, s.B)
    print(formula, sets, head, "done", len(rows), flush=True)


def geometric(m):
    """TRF of exp(-m t): the least j with exp(-m j) < eps."""
    def trf(eps):
        x = -log(mpf(eps)) / m
        j = int(floor(x)) + 1
        assert min(x - (j - 1), j - x) > mpf(10) ** -50
        return j
    return trf, 1 / (1 - exp(-m))


def emit_geometric(formula, m, sets="", head=1, heads=8, epsilons=EPS):
    trf, total = geometric(m)
    for eps in epsilons:
        emit(formula, sets, head, heads, "inf", 1, eps, "converges", trf(eps), total)


def finite(values, eps):
    """Least j with sum of the first j above (1 - eps) of all; exact if the values are Fractions."""
    exact = isinstance(values[0], Fraction)
    target = (1 - Fraction(eps)) * sum(values) if exact else (1 - mpf(eps)) * sum(values, mpf(0))
    s = Fraction(0) if exact else mpf(0)
    for j, v in enumerate(values, 1):
        s += v
        if not exact:
            assert abs(s - target) > mpf(10) ** -40 * target
        if s > target:
            return j
    raise AssertionError


def emit_finite(formula, values, eps, verdict, sets="", head=1, heads=8):
    total = sum(values) if isinstance(values[0], Fraction) else sum(values, mpf(0))
    total = mpf(total.numerator) / total.denominator if isinstance(total, Fraction) else total
    emit(formula, sets, head, heads, len(values), 1, eps, verdict, finite(values, eps), total)


def depth(values, layers, eps):
    """R-fold convolution of the normalised kernel; values: f(t), t < n, and the sum of all."""
    f, total = values
    n = len(f)
    p = [v / total for v in f]
    power = [mpf(1)] + [mpf(0)] * (n - 1)
    for _ in range(layers):
        power = [sum((power[i] * p[k - i] for i in range(k + 1)), mpf(0)) for k in range(n)]
    s, target = mpf(0), 1 - mpf(eps)
    for j in range(1, n + 1):
        s += power[j - 1]
        assert abs(s - target) > mpf(10) ** -30
        if s > target:
            return j
    raise AssertionError("too short")


def D(text):
    """An exact decimal."""
    return mpf(Fraction(text).numerator) / Fraction(text).denominator


def presets():
    for heads in (8, 12):
        for h in range(1, heads + 1):
            emit_geometric("alibi", mpf(2) ** (-mpf(8 * h) / heads), head=h, heads=heads, epsilons=["0.5", "0.01", "1e-12"])
    for delta in range(-3, 9):
        emit_geometric("alibi", mpf(2) ** (-mpf(8 * 3) / 8 - delta), sets="delta=%d" % delta, head=3, epsilons=["0.01", "1e-6"])
    for h in range(1, 13):
        slope = mpf(2) ** -h if h <= 8 else mpf(2) ** (-mpf(8 * (2 * (h - 8) - 1)) / 16)
        emit_geometric("alibi_press", slope, head=h, heads=12, epsilons=["0.01"])
    for s in range(0, 9):
        emit_geometric("alibi_equal", mpf(2) ** -s, sets="s=%d" % s, epsilons=["0.1", "0.01"])
    for h in range(1, 9):
        emit_geometric("retention", -log(1 - mpf(2) ** -(4 + h)), head=h, epsilons=["0.1", "0.01", "1e-6"])
    for h in (1, 32, 64):
        for factor in ("1.00001", "0.5", "1e-5"):
            emit_geometric("lightning", D(factor) * mpf(2) ** (-mpf(8 * h) / 64), sets="factor=" + factor, head=h, heads=64, epsilons=["0.01", "1e-6"])
    for w in (1, 2, 40, 80, 100, 120, 160, 320, 1000000):
        for eps in ("0.5", "0.1", "0.01", "0.025", "1e-6"):
            j = int((1 - Fraction(eps)) * w) + 1
            emit("window", "w=%d" % w, 1, 8, "inf", 1, eps, "converges", j, mpf(w))
    for p in ("1.01", "1.05", "1.1", "1.5", "2", "3.25"):
        for a in ("0.1", "1", "10") if p != "1.01" else ("1",):
            mp.dps = 260 if p == "1.01" else 110
            P, A = D(p), D(a)
            s = Series(lambda t: (1 + A * t) ** -P, tail=lambda j: A ** -P * zeta(P, j + 1 / A))
            emit_series("kerple_log", s, "p=%s a=%s" % (p, a), epsilons=["0.5", "0.01", "1e-6"])
    mp.dps = 110
    for p in ("0.1", "0.5", "1.5", "2"):
        for a in ("0.01", "0.1", "1"):
            P, A = D(p), D(a)
            s = Series(lambda t: exp(-A * t ** P), integral=lambda x: gammainc(1 / P, A * x ** P) / (P * A ** (1 / P)), head=[mpf(1)])
            emit_series("kerple_power", s, "p=%s a=%s" % (p, a), epsilons=["0.5", "0.01", "1e-6"])
    for h in range(1, 9):
        k = mpf(2) ** -h
        s = Series(lambda t: 1 / (1 + (k * t) ** 2), integral=lambda x: mp.atan(1 / (k * x)) / k)
        assert abs(s.B - (pi / k * coth(pi / k) + 1) / 2) < mpf(10) ** -50
        emit_series("type1", s, head=h, epsilons=["0.5", "0.01", "1e-6", "1e-12"])
        s = Series(lambda t: exp(-log(3 + k * t) ** 2), integral=lambda x: sqrt(pi) / 2 * exp(mpf(1) / 4) * erfc(log(3 + k * x) - mpf(1) / 2) / k)
        emit_series("type2", s, head=h, epsilons=["0.5", "0.01", "1e-6", "1e-12"])
    s = Series(lambda t: 1 / (1 + t ** 2), integral=lambda x: mp.atan(1 / x))
    emit_series("type1", s, "k=1", epsilons=EPS)
    s = Series(lambda t: exp(-log(3 + t) ** 2), integral=lambda x: sqrt(pi) / 2 * exp(mpf(1) / 4) * erfc(log(3 + x) - mpf(1) / 2))
    emit_series("type2", s, "k=1", epsilons=EPS)
    for h in range(1, 9):
        p = mpf(825) / 1000 * 8 / h
        if h < 7:
            s = Series(lambda t: exp(-mpf("0.8") * 8 / h) * (1 + t) ** -p, integral=lambda x: exp(-mpf("0.8") * 8 / h) * (1 + x) ** (1 - p) / (p - 1))
            emit_series("smoothed_sandwich", s, head=h, epsilons=["0.5", "0.01", "1e-6"])
        else:
            emit_finite("smoothed_sandwich", [exp((-mpf("0.825") * log(1 + mpf(t)) - mpf("0.8")) * 8 / h) for t in range(1000)], "0.01", "diverges",
                        head=h)
    for p in ("0.5", "0.999", "1"):
        emit_finite("kerple_log", [(1 + mpf(t)) ** -D(p) for t in range(2000)], "0.01", "diverges", "p=%s a=1" % p)
    for h in (1, 8):
        k = mpf(2) ** -h
        emit_finite("divergent_a", [1 / (1 + k * t) for t in range(1500)], "0.01", "diverges", head=h)
        emit_finite("divergent_b", [1 / ((3 + k * t) * log(3 + k * t)) for t in range(1500)], "0.01", "diverges", head=h)
    for n in (1, 2, 100, 512):
        emit_finite("none", [Fraction(1)] * n, "0.01", "diverges")
    weights = [mpf(3 - i) / 7 for i in range(32)]
    starts = list(range(16)) + [19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    starts = list(range(17)) + starts[16:]
    bucket = lambda t: max(i for i in range(32) if t >= starts[i])
    # decimals, so that the values are the ones the formula gets
    texts = ["%d.%d" % (1 - i // 9, i % 9) if i < 9 else "-%d.%d" % (i // 9, i % 9) for i in range(32)]
    for n in (100, 2048):
        emit_finite("t5", [exp(D(texts[bucket(t)])) for t in range(n)], "0.01", "diverges", " ".join("w%d=%s" % (i, x) for i, x in enumerate(texts)))
    mp.dps = 50
    for h, dbar, first, n in ((8, 128, 0, 512), (8, 128, 0, 2048), (8, 128, 0, 8192), (1, 128, 0, 600), (4, 64, 1, 1000)):
        freq = [mpf(10000) ** (-mpf(2 * i) / dbar) for i in range(first, first + dbar // 2)]
        values = [exp((sum((cos(t * w) for w in freq), mpf(0)) - mpf(dbar) / 2) / h) for t in range(n)]
        for eps in ("0.5", "0.01"):
            emit_finite("sandwich", values, eps, "diverges", "dbar=%d first=%d" % (dbar, first), head=h)
    mp.dps = 110


def bertrand():
    for q, c in (("2", "2"), ("1.5", "3"), ("3", "2.5")):
        Q, C = D(q), D(c)
        s = Series(lambda t: 1 / ((C + t) * log(C + t) ** Q), integral=lambda x: log(C + x) ** (1 - Q) / (Q - 1))
        emit_series("-ln(%s+t)-%s*ln(ln(%s+t))" % (c, q, c), s, epsilons=["0.5", "0.1", "0.01"])
    s = Series(lambda t: 1 / ((20 + t) * log(20 + t) * log(log(20 + t)) ** 3), integral=lambda x: log(log(20 + x)) ** -2 / 2)
    emit_series("-ln(20+t)-ln(ln(20+t))-3*ln(ln(ln(20+t)))", s, epsilons=["0.5", "0.3"])
    s = Series(lambda t: exp(-t ** mpf("0.1")), integral=lambda x: gammainc(mpf(10), x ** mpf("0.1")) * 10, head=[mpf(1)])
    emit_series("-t^0.1", s, epsilons=EPS)


def shapes():
    """Random formulas of families with known verdicts; every tail is integrated numerically or is a sum of known ones."""
    mp.dps = 80
    rng = random.Random(1)
    pick = lambda *a: rng.choice(a)
    for i in range(110):
        kind = i % 11
        p, a, q, c = pick("1.2", "1.5", "2", "2.75", "4"), pick("0.05", "0.5", "1", "3"), pick("0.3", "0.5", "0.7"), pick("0.05", "0.3", "1")
        w, k = pick(3, 17, 64), pick("0.01", "0.2", "1", "5")
        P, A, Q, C, K = D(p), D(a), D(q), D(c), D(k)
        eps = [pick("0.5", "0.1", "0.03"), pick("0.01", "0.001", "1e-5"), pick("1e-4", "1e-7", "1e-9")]
        try:
            if kind == 0:
                f, s = "-%s*ln(1+%s*t)-%s*t^%s" % (p, a, c, q), Series(lambda t: (1 + A * t) ** -P * exp(-C * t ** Q), head=[mpf(1)])
            elif kind == 1:
                f, s = "-%s*ln(%s+t+t^0.5)" % (p, a), Series(lambda t: (A + t + sqrt(t)) ** -P, head=[A ** -P])
            elif kind == 2:
                f = "t<%d?%s:-%s*ln(1+%s*t)" % (w, c, p, a)
                s = Series(lambda t: (1 + A * t) ** -P, head=[exp(C)] * w, integral=lambda x: (1 + A * x) ** (1 - P) / (A * (P - 1)))
            elif kind == 3:
                f, s = "-%s*ln(1+(%s*t)^2)" % (p, k), Series(lambda t: (1 + (K * t) ** 2) ** -P)
            elif kind == 4:
                f = "-%s*ln(3+%s*t)^2" % (c, k)
                s = Series(lambda t: exp(-C * log(3 + K * t) ** 2), integral=lambda x: sqrt(pi / C) / 2 * exp(1 / (4 * C)) *
                           erfc(sqrt(C) * (log(3 + K * x) - 1 / (2 * C))) / K)
                eps = ["0.5", "0.1", "0.01"]
            elif kind == 5:
                f, s = "-%s*t^%s+1/(1+t)" % (c, q), Series(lambda t: exp(-C * t ** Q + 1 / (1 + t)), head=[exp(mpf(1))])
            elif kind == 6:
                f, s = "-%s*ln(1+t)+%s*cos(1/(1+%s*t))" % (p, c, a), Series(lambda t: (1 + t) ** -P * exp(C * cos(1 / (1 + A * t))))
            elif kind == 7:
                f = "min(-%s*ln(1+t),%s-3*ln(1+t))" % (p if p != "4" else "2", c)
                P = P if p != "4" else mpf(2)
                g = lambda t: min(-P * log(1 + t), C - 3 * log(1 + t))
                s = Series(lambda t: exp(C) * (1 + t) ** -3, head=[exp(g(mpf(t))) for t in range(100)],
                           integral=lambda x: exp(C) * (1 + x) ** -2 / 2)
                assert C - 3 * log(mpf(101)) < -P * log(mpf(101))
            elif kind == 8:
                f = "-abs(t-%d)*%s" % (w, c)
                s = Series(lambda t: exp(-C * (t - w)), head=[exp(-C * abs(t - w)) for t in range(w)], integral=lambda x: exp(-C * (x - w)) / C)
            elif kind == 9:
                f, s = "ln(exp(-%s*t)+(1+%s*t)^-%s)" % (c, a, p), Series(lambda t: exp(-C * t) + (1 + A * t) ** -P,
                                                                        integral=lambda x: exp(-C * x) / C + (1 + A * x) ** (1 - P) / (A * (P - 1)))
            else:
                f = "window(%d)-%s*ln(1+t)" % (w * 7, c)
                values = [exp(-C * log(1 + mpf(t))) for t in range(w * 7)]
                for x in eps:
                    emit(f, "", 1, 8, "inf", 1, x, "converges", finite(values, x), sum(values, mpf(0)))
                continue
        except AssertionError:
            print("not usable", kind)
            continue
        emit_series(f, s, epsilons=eps)


def near_ties():
    """eps within 1e-35 of 1 - S(j)/B: below it the TRF is j + 1, above it j."""
    mp.dps = 80
    P = D("1.05")
    # t = w^-20 makes the integrand of the first one smooth down to w = 0
    slow = lambda x: 20 * quad(lambda w: (1 + w ** 10 + w ** 20) ** -P, [x ** -D("0.05") * i / 8 for i in range(9)])
    for f, s, j in (("-1.05*ln(1+t+t^0.5)", Series(lambda t: (1 + t + sqrt(t)) ** -P, head=[mpf(1)], integral=slow), 7),
                    ("-1.5*ln(1+t)+1/(1+t)", Series(lambda t: (1 + t) ** -mpf("1.5") * exp(1 / (1 + t))), 1000),
                    ("-0.3*t^0.5", Series(lambda t: exp(-D("0.3") * sqrt(t)), head=[mpf(1)],
                                          integral=lambda x: 2 * gammainc(mpf(2), D("0.3") * sqrt(x)) / D("0.3") ** 2), 40)):
        e = s.tail(j) / s.B
        scaled = int(floor(e * mpf(10) ** 35))
        for eps, expected in (("0.%035d" % scaled, j + 1), ("0.%035d" % (scaled + 1), j)):
            assert s.trf(eps) == expected
            emit(f, "", 1, 8, "inf", 1, eps, "converges", expected, s.B)


def binomial(m, layers, eps):
    """Of exp(-m t): the sum of the distances has the negative binomial distribution."""
    q, k = exp(-mpf(m)), 0
    p, total = (1 - q) ** layers, mpf(0)
    while True:
        total, k = total + p, k + 1
        if total > 1 - mpf(eps):
            return k
        p *= q * (k + layers - 1) / k


def depths():
    mp.dps = 60
    half = [exp(-mpf(t) / 2) for t in range(120)]
    for layers in (2, 5, 12):
        emit("-0.5*t", "", 1, 8, "inf", layers, "0.01", "converges", depth((half, 1 / (1 - exp(-mpf(1) / 2))), layers, "0.01"), None)
    emit("-0.5*t", "", 1, 8, 30, 4, "0.01", "converges", depth((half[:30] + [mpf(0)] * 60, sum(half[:30], mpf(0))), 4, "0.01"), None)
    k1 = [1 / (1 + mpf(t) ** 2) for t in range(260)]
    for layers in (2, 3):
        emit("type1", "k=1", 1, 8, "inf", layers, "0.05", "converges", depth((k1, (pi * coth(pi) + 1) / 2), layers, "0.05"), None)
    for w, layers, eps in ((10, 3, "0.1"), (40, 4, "0.01"), (2, 7, "0.03")):
        emit("window", "w=%d" % w, 1, 8, "inf", layers, eps, "converges", depth(([mpf(1)] * w + [mpf(0)] * (w * layers), mpf(w)), layers, eps), None)
    log2 = [(1 + mpf(t)) ** -2 for t in range(400)]
    emit("kerple_log", "p=2 a=1", 1, 8, "inf", 2, "0.01", "converges", depth((log2, zeta(2)), 2, "0.01"), None)
    flat = [mpf(1)] * 50 + [mpf(0)] * 100
    emit("none", "", 1, 8, 50, 2, "0.1", "diverges", depth((flat, mpf(50)), 2, "0.1"), None)
    for m, layers, eps in (("0.1", 1000, "0.01"), ("0.1", 10000, "0.01"), ("0.01", 1000, "0.01"), ("0.01", 12, "1e-30")):
        emit("-%s*t" % m, "", 1, 8, "inf", layers, eps, "converges", binomial(m, layers, eps), None)


if __name__ == "__main__":
    for part in (presets, bertrand, shapes, near_ties, depths):
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part()
    if len(sys.argv) < 2:
        with open(os.path.join(HERE, "cases.tsv"), "w") as f:
            f.write("# formula\tset\thead\theads\tlength\tlayers\tepsilon\tverdict\ttrf\tsum\n")
            f.write("\n".join(rows) + "\n")
    print(len(rows), "cases")
