#!/usr/bin/env python3
"""Least-squares goldens, by mpmath at 40 digits: normal equations for linear forms, a root of the derivative for the inner coefficient of the others.

data.csv: points with noise. expected.csv: for each case the form, its data (a formula of the bias language, or rows of data.csv), and each
coefficient with its standard error. Needs mpmath and numpy: python3 make.py
"""
import csv

import mpmath as mp
import numpy as np

mp.mp.dps = 40
log, exp = mp.log, mp.exp


def sandwich(first):
    def y(t):
        return (mp.fsum(mp.cos(t / mp.mpf(10000) ** (mp.mpf(2 * i) / 128)) for i in range(first, first + 64)) - 64) / 8
    return y


def solve(columns, y):
    """Coefficients, diagonal of (X'X)^-1, residuals."""
    n = len(columns)
    a = mp.matrix(n, n)
    r = mp.matrix(n, 1)
    for i in range(n):
        r[i] = mp.fdot(columns[i], y)
        for j in range(n):
            a[i, j] = mp.fdot(columns[i], columns[j])
    inverse = a ** -1
    b = inverse * r
    residual = [y[k] - mp.fsum(b[i] * columns[i][k] for i in range(n)) for k in range(len(y))]
    return [b[i] for i in range(n)], [inverse[i, i] for i in range(n)], residual


def summary(values, diagonal, residual, y):
    rss = mp.fdot(residual, residual)
    mean = mp.fsum(y) / len(y)
    total = mp.fsum((v - mean) ** 2 for v in y)
    s2 = rss / (len(y) - len(values))
    return values, [mp.sqrt(s2 * d) for d in diagonal], 1 - rss / total


def linear(terms, offset=None):
    def fit(t, y):
        shifted = [v - offset(x) for x, v in zip(t, y)] if offset else y
        values, diagonal, residual = solve([[f(x) for x in t] for f in terms], shifted)
        return summary(values, diagonal, residual, y)
    return fit


def inner(terms, derivative, start, order):
    """terms(x, c): columns for the inner coefficient c; derivative(x, values, c) by c. order: where c stands among the coefficients."""
    def fit(t, y):
        def at(c):
            columns = [[f(x, c) for x in t] for f in terms]
            values, _, residual = solve(columns, y)
            slope = mp.fsum(r * derivative(x, values, c) for x, r in zip(t, residual))
            return slope, values, residual, columns
        c = mp.findroot(lambda v: at(v)[0], start, solver="anderson", tol=1e-50, maxsteps=200)
        _, values, residual, columns = at(c)
        columns.append([derivative(x, values, c) for x in t])
        _, diagonal, _ = solve(columns, y)
        all_values = values[:order] + [c] + values[order:]
        all_diagonal = diagonal[:order] + [diagonal[-1]] + diagonal[order:-1]
        return summary(all_values, all_diagonal, residual, y)
    return fit


log_form = linear([lambda x: mp.mpf(1), lambda x: log(1 + x)])
random = np.random.default_rng(20230711)


def noisy(f, first, last, size):
    return [(t, float(f(t) + size * random.standard_normal())) for t in range(first, last + 1)]


# name, form, coefficients, fit, formula of the data (None: noisy points), its value, first, last, points
cases = []
for i in (0, 1):
    for points in (50, 8192):
        cases.append((f"sandwich-{i}-{points}", "a + b*ln(1+t)", "ab", log_form, f"sandwich(first={i})", sandwich(i), 0, points - 1, None))
cases += [
    ("alibi", "a + b*t", "ab", linear([lambda x: mp.mpf(1), lambda x: x]), "-sqrt(t)/4", lambda t: -mp.sqrt(t) / 4, 3, 300, None),
    ("noisy-log", "a + b*ln(1+t)", "ab", log_form, None, None, 0, 0, noisy(lambda t: 1 - 0.7 * np.log(1 + t), 0, 79, 0.2)),
    ("offset", "b*ln(1+t) - 1.5 + a", "ba", linear([lambda x: log(1 + x), lambda x: mp.mpf(1)], lambda x: mp.mpf("-1.5")), None, None, 0, 0,
     noisy(lambda t: -2 - 0.3 * np.log(1 + t), 0, 59, 0.1)),
    ("no-constant", "b*ln(1+t)", "b", linear([lambda x: log(1 + x)]), None, None, 0, 0, noisy(lambda t: -0.9 * np.log(1 + t), 1, 60, 0.3)),
    ("four-terms", "a + b*t + c*t^2 + g*sqrt(t)", "abcg", linear([lambda x: mp.mpf(1), lambda x: x, lambda x: x * x, lambda x: mp.sqrt(x)]), None, None, 0, 0,
     noisy(lambda t: 3 - 0.2 * t + 0.004 * t * t - np.sqrt(t), 0, 99, 0.5)),
    ("branches", "t < 20 ? a : b + c*t", "abc",
     linear([lambda x: mp.mpf(x < 20), lambda x: mp.mpf(x >= 20), lambda x: x * (x >= 20)]), None, None, 0, 0,
     noisy(lambda t: 1.0 if t < 20 else 2 - 0.1 * t, 0, 49, 0.2)),
    ("inner-log", "a + b*ln(1+c*t)", "abc",
     inner([lambda x, c: mp.mpf(1), lambda x, c: log(1 + c * x)], lambda x, v, c: v[1] * x / (1 + c * x), (0.1, 3), 2), None, None, 0, 0,
     noisy(lambda t: 0.5 - 0.8 * np.log(1 + 0.5 * t), 0, 119, 0.05)),
    ("inner-exp", "a + b*exp(-c*t)", "abc",
     inner([lambda x, c: mp.mpf(1), lambda x, c: exp(-c * x)], lambda x, v, c: -v[1] * x * exp(-c * x), (0.01, 0.3), 2), None, None, 0, 0,
     noisy(lambda t: -2 + 3 * np.exp(-t / 20), 0, 99, 0.1)),
    ("inner-power", "a*(1+t)^-p", "ap",
     inner([lambda x, c: (1 + x) ** -c], lambda x, v, c: -v[0] * log(1 + x) * (1 + x) ** -c, (0.3, 3), 1), None, None, 0, 0,
     noisy(lambda t: 2 / (1 + t), 0, 69, 0.02)),
    ("inner-negative", "a + b*ln(1+c*t)", "abc",
     inner([lambda x, c: mp.mpf(1), lambda x, c: log(1 + c * x)], lambda x, v, c: v[1] * x / (1 + c * x), (-0.0111, -0.005), 2), None, None, 0, 0,
     noisy(lambda t: 0.5 + 0.8 * np.log(1 - 0.01 * t), 0, 89, 0.01)),
]

with open("data.csv", "w", newline="") as d, open("expected.csv", "w", newline="") as e:
    points_out = csv.writer(d, lineterminator="\n")
    expected_out = csv.writer(e, lineterminator="\n")
    points_out.writerow(["case", "t", "y"])
    expected_out.writerow(["case", "form", "formula", "first", "last", "coefficient", "value", "error", "r2"])
    for name, form, names, fit, formula, value, first, last, points in cases:
        if points is None:
            t = [mp.mpf(k) for k in range(first, last + 1)]
            y = [value(x) for x in t]
        else:
            for k, v in points:
                points_out.writerow([name, k, repr(v)])
            t = [mp.mpf(k) for k, _ in points]
            y = [mp.mpf(v) for _, v in points]
        values, errors, r2 = fit(t, y)
        for c, v, s in zip(names, values, errors):
            expected_out.writerow([name, form, formula or "", first, last, c, mp.nstr(v, 17), mp.nstr(s, 17), mp.nstr(r2, 17)])
