#!/usr/bin/env python3
"""Checks the certificates of `reach trf --certificate FILE` (doc/certificate.md) in interval arithmetic of mpmath, without any code of reach.

usage: certificate.py [--quiet] FILE...

A formula is read and evaluated here, the first distances are added up here, and what the rule claims of all later ones is shown again by interval
arithmetic on [X, inf) where that settles it, else looked at in some hundred distances up to 2^1000. Prints what was proved, what only agrees and what is
refused; exits 1 if anything is refused.
"""
import re
import sys
from fractions import Fraction
from itertools import count

from mpmath import iv, mp, mpf, inf

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(20000) # fields have up to 10,000 digits

ADD_MAX, POINTS = 4000, [2 ** k + j for k in range(1, 64) for j in (0, 1, 5)] + [2 ** k for k in (80, 100, 200, 400, 1000)]
iv.prec = mp.prec = 128


class Refused(Exception):
    pass


class Unsure(Exception):
    """Intervals do not settle it."""


# ---- the language ----

TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(==|!=|<=|>=|.))")


class Reader:
    def __init__(self, text, presets, scope=()):
        self.tokens = [m.groups() for m in TOKEN.finditer(text.strip())]
        self.at, self.presets, self.scope = 0, presets, dict(scope)

    def peek(self):
        return next((x for x in self.tokens[self.at] if x), "") if self.at < len(self.tokens) else ""

    def take(self, *wanted):
        found = self.peek()
        if found and found in wanted:
            self.at += 1
            return found
        return None

    def need(self, wanted):
        if not self.take(wanted):
            raise ValueError(f"expected {wanted} at {self.peek()!r}")

    def choice(self):
        a = self.sum()
        op = self.take("==", "!=", "<=", ">=", "<", ">")
        if op:
            a = ("compare", op, a, self.sum())
        if self.take("?"):
            b = self.choice()
            self.need(":")
            return ("choose", a, b, self.choice())
        return a

    def sum(self):
        a = self.product()
        while op := self.take("+", "-"):
            b = self.product()
            a = ("add", a, b if op == "+" else ("neg", b))
        return a

    def product(self):
        a = self.unary()
        while op := self.take("*", "/"):
            b = self.unary()
            a = ("mul", a, b) if op == "*" else ("div", a, b)
        return a

    def unary(self):
        if self.take("-"):
            return ("neg", self.unary())
        a = self.value()
        return ("pow", a, self.unary()) if self.take("^") else a

    def arguments(self):
        args, named = [], {}
        if self.take("("):
            while not self.take(")"):
                if self.tokens[self.at][1] and self.tokens[self.at + 1:self.at + 2] == [(None, None, "=")]:
                    name = self.peek()
                    self.at += 2
                    named[name] = self.choice()
                else:
                    args.append(self.choice())
                self.take(",")
        return args, named

    def value(self):
        if self.take("("):
            a = self.choice()
            self.need(")")
            return a
        number, name, _ = self.tokens[self.at]
        self.at += 1
        if number:
            return ("number", Fraction(number))
        if name in self.scope:
            return self.scope[name]
        if name == "sum":
            self.need("(")
            index = self.peek()
            self.at += 1
            self.need(",")
            first = self.choice()
            self.need(",")
            last = self.choice()
            self.need(",")
            inner, self.scope = self.scope, {**self.scope, index: ("name", "sum " + index, None)}
            body = self.choice()
            self.scope = inner
            self.need(")")
            return ("sum", "sum " + index, first, last, body)
        if name in self.presets:
            args, named = self.arguments()
            scope = {}
            for i, parameter in enumerate(p for p in re.split(r",(?![^()]*\))", self.presets[name][0]) if p):
                key, _, default = parameter.partition("=")
                given = args[i] if i < len(args) else named.get(key)
                scope[key] = given or ("name", key, Reader(default, self.presets, scope).choice() if default else None)
            return Reader(self.presets[name][1], self.presets, scope).choice()
        if name in FUNCTIONS or name in ("min", "max", "pow"):
            args, _ = self.arguments()
            if name == "pow":
                return ("pow", *args)
            if name in FUNCTIONS:
                return ("call", name, args[0])
            a = args[0]
            for b in args[1:]:
                a = (name, a, b)
            return a
        return ("name", name, None)


# ---- values at one distance: Fraction (exact), interval, or one of the infinities ----

def ball(x):
    return iv.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def infinite(x):
    return isinstance(x, float)


def sign(x):
    if isinstance(x, (Fraction, float)):
        return (x > 0) - (x < 0)
    if x.a > 0 or x.b < 0:
        return 1 if x.a > 0 else -1
    raise Unsure


def combine(op, a, b):
    if a != a or b != b:
        return float("nan")
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b if op == "add" else a * b
    if infinite(a) or infinite(b):
        if op == "mul":
            return float("inf") * s if (s := sign(a) * sign(b)) else float("nan")
        return a + b if infinite(a) and infinite(b) else a if infinite(a) else b
    if Fraction(0) in (a, b) and op == "mul":
        return Fraction(0)
    return ball(a) + ball(b) if op == "add" else ball(a) * ball(b)


def power(a, b):
    if a != a or b != b:
        return float("nan")
    if b == 0 or a == 1:
        return Fraction(1)
    if sign(a) == 0:
        return Fraction(0) if sign(b) > 0 else float("inf")
    whole = isinstance(b, Fraction) and b.denominator == 1
    if sign(a) < 0:
        if not whole:
            if not isinstance(b, Fraction) and not infinite(b):
                raise Unsure
            return float("nan")
        return combine("mul", power(combine("mul", a, Fraction(-1)), b), Fraction(-1 if b % 2 else 1))
    if infinite(a) or infinite(b):
        up = sign(b) if infinite(a) else sign(combine("add", a, Fraction(-1))) * sign(b)
        return float("inf") if up > 0 else Fraction(0) if up < 0 else Fraction(1)
    if isinstance(a, Fraction) and whole and abs(b) * max(a.numerator.bit_length(), a.denominator.bit_length()) < 4000:
        return a ** int(b)
    if isinstance(a, Fraction) and b == Fraction(1, 2) and a.denominator == 1 and int(mp.sqrt(a.numerator)) ** 2 == a:
        return Fraction(int(mp.sqrt(a.numerator)))
    return iv.exp(ball(b) * iv.log(ball(a)))


def call(name, x):
    if x != x or (infinite(x) and name in ("sin", "cos")):
        return float("nan")
    if name in ("ln", "log"):
        if infinite(x) or sign(x) <= 0:
            return float("nan") if sign(x) < 0 else float("-inf") if sign(x) == 0 else x
        return Fraction(0) if x == 1 else iv.log(ball(x))
    if name == "sqrt":
        return power(x, Fraction(1, 2)) if sign(x) >= 0 else float("nan")
    if name == "exp":
        if infinite(x):
            return x if x > 0 else Fraction(0)
        return Fraction(1) if x == 0 else iv.exp(ball(x))
    if name == "abs":
        return combine("mul", x, Fraction(sign(x))) if sign(x) else x
    if name == "floor":
        if isinstance(x, Fraction):
            return Fraction(x.numerator // x.denominator)
        if infinite(x):
            return x
        lo, hi = mp.floor(mpf(x.a)), mp.floor(mpf(x.b))
        if lo != hi:
            raise Unsure
        return Fraction(int(lo))
    return Fraction(0 if name == "sin" else 1) if x == 0 else getattr(iv, name)(ball(x))


FUNCTIONS = ("ln", "log", "exp", "sqrt", "abs", "floor", "sin", "cos")


def differ(a, b):
    """Sign of a - b; equal infinities are equal."""
    if infinite(a) and infinite(b):
        return (a > b) - (a < b)
    return sign(combine("add", a, combine("mul", b, Fraction(-1))))


def ratio_of_logarithms(n, m, env):
    """(c ln x) / ln y as a fraction, where x^q = y^p for small p and q; else None."""
    factor = Fraction(1)
    if n[0] == "mul" and n[1][0] == "number":
        factor, n = n[1][1], n[2]
    if any(x[0] != "call" or x[1] not in ("ln", "log") for x in (n, m)):
        return None
    x, y = value(n[2], env), value(m[2], env)
    if not (isinstance(x, Fraction) and isinstance(y, Fraction) and x > 0 and y > 0 and x != 1 and y != 1):
        return None
    size = (iv.log(ball(x)) / iv.log(ball(y))).mid
    for q in range(1, 17):
        p = int(mp.nint(mpf(size) * q))
        if abs(p) < 2000 and abs(size * q - p) < 1e-9 and x ** q == y ** p:
            return factor * Fraction(p, q)
    return None


def value(n, env):
    kind = n[0]
    if kind == "number":
        return n[1]
    if kind == "name":
        return env[n[1]] if n[1] in env else value(n[2], env)
    if kind in ("add", "mul"):
        return combine(kind, value(n[1], env), value(n[2], env))
    if kind == "neg":
        return combine("mul", value(n[1], env), Fraction(-1))
    if kind == "div":
        a, b = value(n[1], env), value(n[2], env)
        ratio = ratio_of_logarithms(n[1], n[2], env)
        if ratio is not None:
            return ratio
        if infinite(b):
            return float("nan") if infinite(a) or b != b else Fraction(0) if a == a else a
        if sign(b) == 0:
            return float("nan") if a != a or sign(a) == 0 else float("inf") * sign(a)
        return combine("mul", a, 1 / b)
    if kind == "pow":
        return power(value(n[1], env), value(n[2], env))
    if kind == "call":
        return call(n[1], value(n[2], env))
    if kind == "sum" and value(n[3], env) > 10000:
        raise Unsure
    if kind == "sum":
        total, first, last = Fraction(0), value(n[2], env), value(n[3], env)
        for i in range(int(first), int(last) + 1):
            total = combine("add", total, value(n[4], {**env, n[1]: Fraction(i)}))
        return total
    a = value(n[2] if kind == "compare" else n[1], env)
    if kind == "choose":
        return a if a != a else value(n[2] if sign(a) else n[3], env)
    b = value(n[3] if kind == "compare" else n[2], env)
    if a != a or b != b:
        return float("nan")
    d = differ(a, b)
    if kind in ("min", "max"):
        return a if (d < 0) == (kind == "min") else b
    return Fraction(int({"<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0, "==": d == 0, "!=": d != 0}[n[1]]))


# ---- on [X, inf): value, value at X, x u', x u'/u ----

def make(lo, hi):
    if not lo <= hi: # numbers beyond all digits
        raise Unsure
    return iv.mpf([lo, hi])


def text(x):
    return "-inf" if infinite(x) else f"[{mp.nstr(lo(x), 20)}, {mp.nstr(hi(x), 20)}]"


def lo(x):
    return mpf(x.a)


def hi(x):
    return mpf(x.b)


def times(a, b):
    ends = [iv.mpf(0) if x == 0 or y == 0 else iv.mpf(x) * iv.mpf(y) for x in (lo(a), hi(a)) for y in (lo(b), hi(b))]
    return make(min(map(lo, ends)), max(map(hi, ends)))


def over(a, b):
    if lo(b) <= 0 <= hi(b):
        raise Unsure
    ends = [iv.mpf(0) if abs(x) == inf else 1 / iv.mpf(x) for x in (lo(b), hi(b))]
    return times(a, make(min(map(lo, ends)), max(map(hi, ends))))


def meet(a, b):
    return make(max(lo(a), lo(b)), min(hi(a), hi(b)))


def hull(*xs):
    return make(min(map(lo, xs)), max(map(hi, xs)))


ZERO = iv.mpf(0)
ALL = make(-inf, inf)


class Range:
    def __init__(self, v, s, r, e, family=False):
        if e is None:
            e = over(r, v) if lo(v) > 0 or hi(v) < 0 else ALL
        self.v, self.s, self.e, self.family = v, s, e, family
        self.r = meet(r, times(v, e)) if e is not ALL else r
        if lo(self.r) >= 0:
            self.v = meet(self.v, make(lo(s), inf))
        if hi(self.r) <= 0:
            self.v = meet(self.v, make(-inf, hi(s)))
        if hi(e) <= 0:
            self.v = meet(self.v, hull(ZERO, s))


def add_ranges(u):
    v, s, r, e = (sum((getattr(x, k) for x in u[1:]), getattr(u[0], k)) for k in "vsre")
    e, family = None, any(x.family for x in u)
    if all(lo(x.s) >= 0 and lo(x.v) >= 0 for x in u) or all(hi(x.s) <= 0 and hi(x.v) <= 0 for x in u):
        e = hull(*(x.e for x in u))
    for top in u:
        rest = [x for x in u if x is not top]
        if lo(top.s) <= 0 <= hi(top.s) or any(not hi(x.e) <= lo(top.e) for x in rest):
            continue
        ratios = [hull(ZERO, over(x.s, top.s)) for x in rest]
        scale = sum(ratios, iv.mpf(1))
        if lo(scale) > 0:
            found = over(sum((times(q, x.e) for q, x in zip(ratios, rest)), top.e), scale)
            e = found if e is None else meet(e, found)
            v = meet(v, times(top.v, scale))
    return Range(v, s, r, e, family)


def terms(n, weight=1):
    if n[0] == "add":
        return terms(n[1], weight) + terms(n[2], weight)
    if n[0] == "neg":
        return terms(n[1], -weight)
    return [n if weight == 1 else ("mul", ("number", Fraction(weight)), n)]


def depends(n):
    return any(depends(x) for x in n if isinstance(x, tuple)) or n[:2] == ("name", "t")


def product(a, b):
    return Range(times(a.v, b.v), times(a.s, b.s), times(a.r, b.v) + times(b.r, a.v), a.e + b.e, a.family or b.family)


def raised(a, p):
    """a > 0 to the power of an interval without t."""
    if not lo(a.s) > 0 or not lo(a.v) >= 0:
        raise Unsure
    at = lambda x: ZERO if x == 0 else make(inf, inf) if x == inf else iv.exp(p * iv.log(iv.mpf(x)))
    inverse = lambda x: {0: make(inf, inf), inf: ZERO}.get(x, None) or at(x)
    end = inverse if hi(p) < 0 else at
    if lo(p) <= 0 <= hi(p):
        raise Unsure
    return Range(hull(end(lo(a.v)), end(hi(a.v))), hull(end(lo(a.s)), end(hi(a.s))), ALL, times(p, a.e), a.family)


def steady(lowest, highest):
    x = make(lowest, highest)
    return Range(x, x, ZERO, ZERO, True)


def reach_of(n, env, X):
    """Bounds of a node on [X, inf); raises Unsure where there are none."""
    kind = n[0]
    if not depends(n):
        c = value(n, env)
        if infinite(c):
            raise Unsure
        return Range(ball(c), ball(c), ZERO, ZERO)
    if kind == "name" and n[1] == "t":
        return Range(make(lo(ball(X)), inf), ball(X), make(lo(ball(X)), inf), iv.mpf(1))
    if kind in ("add", "neg"):
        return add_ranges([reach_of(x, env, X) for x in terms(n)]) if len(terms(n)) > 1 else reach_of(("mul", ("number", Fraction(-1)), n[1]), env, X)
    if kind == "mul":
        return product(reach_of(n[1], env, X), reach_of(n[2], env, X))
    if kind == "div":
        below = reach_of(n[2], env, X)
        if hi(below.v) < 0:
            return reach_of(("neg", ("div", n[1], ("neg", n[2]))), env, X)
        return product(reach_of(n[1], env, X), raised(below, iv.mpf(-1)))
    if kind == "pow":
        if not depends(n[2]):
            p, base = value(n[2], env), reach_of(n[1], env, X)
            if p == 2:
                return product(base, base)
            return raised(base, ball(p))
        return reach_of(("call", "exp", ("mul", n[2], ("call", "ln", n[1]))), env, X)
    if kind == "choose":
        c = reach_of(n[1], env, X)
        if lo(c.v) > 0 or hi(c.v) <= 0:
            return reach_of(n[2] if lo(c.v) > 0 else n[3], env, X)
        raise Unsure
    if kind == "compare":
        d = reach_of(("add", n[2], ("neg", n[3])), env, X).v
        known = {"<": (hi(d) < 0, lo(d) >= 0), ">": (lo(d) > 0, hi(d) <= 0), "<=": (hi(d) <= 0, lo(d) > 0), ">=": (lo(d) >= 0, hi(d) < 0),
                 "==": (False, lo(d) > 0 or hi(d) < 0), "!=": (lo(d) > 0 or hi(d) < 0, False)}[n[1]]
        x = iv.mpf(1) if known[0] else ZERO if known[1] else None
        return steady(0, 1) if x is None else Range(x, x, ZERO, ZERO)
    if kind in ("min", "max"):
        d = reach_of(("add", n[1], ("neg", n[2])), env, X).v
        if hi(d) <= 0 or lo(d) >= 0:
            return reach_of(n[1] if (hi(d) <= 0) == (kind == "min") else n[2], env, X)
        raise Unsure
    if kind == "sum":
        raise Unsure
    a = reach_of(n[2], env, X)
    if n[1] in ("ln", "log"):
        if not lo(a.s) > 0 or not lo(a.v) >= 0 or lo(a.v) == 0 and hi(a.v) == inf:
            raise Unsure
        ends = make(-inf if lo(a.v) == 0 else lo(iv.log(iv.mpf(lo(a.v)))), inf if hi(a.v) == inf else hi(iv.log(iv.mpf(hi(a.v)))))
        return Range(ends, iv.log(a.s), a.e, None, a.family)
    if n[1] == "exp":
        ends = make(0 if lo(a.v) < -1e9 else lo(iv.exp(iv.mpf(lo(a.v)))), inf if hi(a.v) > 1e9 else hi(iv.exp(iv.mpf(hi(a.v)))))
        return Range(ends, iv.exp(a.s), ALL, a.r, a.family)
    if n[1] == "sqrt":
        return raised(a, iv.mpf(1) / 2)
    if n[1] == "abs" and (lo(a.v) >= 0 or hi(a.v) <= 0):
        return a if lo(a.v) >= 0 else product(a, Range(iv.mpf(-1), iv.mpf(-1), ZERO, ZERO))
    if n[1] in ("sin", "cos"):
        return steady(-1, 1)
    if n[1] == "floor":
        return add_ranges([a, steady(-1, 0)])
    raise Unsure


# ---- what a rule claims ----

def number(text):
    if "^" in text:
        base, exponent = text.split("^")
        return Fraction(int(base)) ** int(exponent)
    return Fraction(int(text))


def decimal(word):
    """Its ball; a fraction with 10^(10^8) below the line would take all memory."""
    digits, _, exponent = word.partition("e")
    return ball(Fraction(word)) if abs(int(exponent or 0)) < 5000 else ball(Fraction(digits)) * iv.mpf(10) ** int(exponent)


def bounds(words):
    least, most = (mpf(w) if "inf" in w else end(decimal(w)) for w, end in zip(words, (lo, hi)))
    if not least <= most:
        raise Refused(f"no interval: {words[0]} {words[1]}")
    return make(least, most)


def levels(t):
    """ln of t, ln t, ln ln t, ..., as far as they are."""
    x, out = ball(t), []
    while lo(x) > 0 and len(out) < 5:
        x = iv.log(x)
        out.append(x)
    return out


class Growth:
    """f(t) is exp(rest) t^a0 (ln t)^a1 ..., and perhaps exp(weight y^power), y the logarithm of that number."""

    def __init__(self, words):
        self.a, self.rest, self.stretched = [Fraction(w) for w in words[:5]], bounds(words[6:8]), 0
        self.converges = next((a < -1 for a in self.a if a != -1), False)
        if len(words) > 8:
            self.stretched, self.weight, self.power = int(words[9]), bounds(words[10:12]), Fraction(words[12])
            if words[8] != "stretch" or not 0 < self.stretched < 5 or not hi(self.weight) < 0 < self.power:
                raise Refused("a factor that decides nothing")
            self.converges = all(a == -1 for a in self.a[:self.stretched])

    def exponent(self, t):
        logs = levels(t)
        if any(self.a[len(logs):]):
            raise Unsure
        stretch = ZERO
        if self.stretched:
            if len(logs) < self.stretched or not lo(logs[self.stretched - 1]) > 0:
                raise Unsure
            stretch = self.weight * iv.exp(ball(self.power) * iv.log(logs[self.stretched - 1]))
        return sum((ball(a) * x for a, x in zip(self.a, logs)), stretch)

    def tail(self, t):
        """Sum of exp(exponent) from t on: between the integral and that with the first term."""
        if self.stretched:
            raise Unsure
        k = next(i for i, a in enumerate(self.a) if a != -1)
        logs, weight = levels(t), iv.mpf(1)
        elasticity = ball(self.a[k]) + 1
        mass = elasticity * logs[k]
        for i in range(k + 1, 5):
            if self.a[i]:
                for j in range(k + 1, i + 1):
                    weight = iv.mpf(1)
                    for m in range(k + 1, j + 1):
                        weight = weight / logs[m - 1]
                elasticity = elasticity + hull(ZERO, ball(self.a[i]) * weight)
                mass = mass + ball(self.a[i]) * logs[i]
        if not hi(elasticity) < 0:
            raise Unsure
        whole = iv.exp(mass) / -elasticity
        sums = make(lo(whole), hi(whole + iv.exp(self.exponent(t))))
        return make(0 if lo(self.rest) == -inf else lo(iv.exp(iv.mpf(lo(self.rest))) * sums), hi(iv.exp(iv.mpf(hi(self.rest))) * sums))


def convex(s, y, start):
    """At least the integral of (x/start)^-s from y on, and so the sum of what is at x = y + 1/2, y + 3/2, ..."""
    return hi(iv.exp(-s * iv.log(y / start)) * y / (s - 1)) if lo(s) > 1 and lo(y) > 0 else inf


class Rule:
    def __init__(self, words):
        self.name, self.X, self.residues = words[0], number(words[2]), {}

    def is_convergent(self):
        if self.name in ("4.4", "4.5"):
            return hi(self.rate) < -1 if self.name == "4.4" else not lo(self.rate) >= -1
        if self.name == "4.3":
            return hasattr(self, "slope") and hi(self.slope) < 0
        if self.name == "4.10":
            return all(g is None or g.converges for g in self.residues.values())
        return self.name == "4.2" or self.growth.converges

    def envelope(self, t):
        """ln f(t) lies within."""
        if self.name == "4.3":
            return self.constant + self.slope * ball(t) if hasattr(self, "slope") else ALL
        if self.name in ("4.4", "4.5"):
            along = iv.log(ball(t) / ball(self.X))
            low = -inf if lo(self.start) == -inf or lo(self.rate) == -inf and t > self.X else \
                lo(iv.mpf(lo(self.start)) + (times(iv.mpf(max(lo(self.rate), -mpf(10) ** 9)), along) if t > self.X else 0))
            return make(low, hi(iv.mpf(hi(self.start)) + times(iv.mpf(hi(self.rate)), along)) if hi(self.start) < inf and hi(self.rate) < inf else inf)
        g, n = self.growth_of(t)
        return ALL if g is None else g.exponent(n) + g.rest

    def growth_of(self, t):
        if self.name == "4.2":
            return None, t
        if self.name != "4.10":
            return self.growth, t
        return self.residues[int(t % self.period)], Fraction(t // self.period)

    def tail(self, t, b=None):
        """Sum of f from t >= X on; b: ln f(t), where the rule holds from t on for it."""
        if self.name == "4.2":
            return ZERO
        if self.name == "4.3":
            return iv.exp(self.constant + self.slope * ball(t)) / (1 - iv.exp(self.slope))
        if self.name == "4.4":
            start, s, n = b if b is not None else self.envelope(t), -self.rate, ball(t)
            upper = iv.exp(iv.mpf(hi(start))) * min(hi(1 + n / (iv.mpf(lo(s)) - 1)), convex(iv.mpf(lo(s)), n - iv.mpf(1) / 2, n))
            first = ZERO if lo(start) == -inf else iv.exp(iv.mpf(lo(start)))
            lower = first if hi(s) == inf else first * (iv.mpf(1) / 2 + n / (iv.mpf(hi(s)) - 1))
            return make(lo(lower), hi(upper))
        if self.name == "4.7":
            return self.growth.tail(t)
        total = ZERO
        for r, g in self.residues.items():
            total = total + (g.tail(max(Fraction(1), Fraction(-((r - t) // self.period)))) if g else ZERO)
        return total


class Certificate:
    def __init__(self, lines):
        presets, self.env, self.rules, self.partial, self.fields, self.tails = {}, {}, [], [], [], []
        self.notes, self.count = [], 0
        for line in lines:
            key, _, rest = line.partition(" ")
            words = rest.split()
            if key == "formula":
                self.text = rest
            elif key == "preset":
                name, parameters, body = re.match(r"(\w+)\(([^ ]*)\) (.*)", rest).groups()
                presets[name] = (parameters, body)
            elif key == "set":
                self.env[words[0]] = Fraction(float.fromhex(words[1])) if "0x" in words[1] else Fraction(words[1])
            elif key == "at":
                self.env.update({words[i]: Fraction(words[i + 1]) for i in range(0, len(words), 2)})
            elif key == "verdict":
                self.verdict = rest
            elif key == "shift":
                self.shift = int(rest)
            elif key == "rule":
                self.rules.append(Rule(words))
            elif key in ("slope", "constant", "rate", "start"):
                setattr(self.rules[-1], key, bounds(words))
            elif key == "growth":
                self.rules[-1].growth = Growth(words)
            elif key == "period":
                self.rules[-1].period = int(rest)
            elif key == "residue":
                self.rules[-1].residues[int(words[0])] = Growth(words[2:]) if words[1] == "growth" else None
            elif key == "partial":
                self.partial.append((int(words[0]), bounds(words[1:])))
            elif key == "tail":
                self.tails.append((number(words[0]), bounds(words[1:])))
            elif key == "sum":
                self.sum = bounds(words)
            elif key == "field" and words[3] != "log10":
                self.fields.append((Fraction(words[0]), words[2], int(words[3]), None if words[4] == "inf" else int(words[4])))
            elif key == "field":
                self.notes.append("a field as logarithms, not looked at")
            else:
                raise Refused(f"unknown line: {line[:60]}")
        self.env.update(pi=iv.pi, inf=float("inf"))
        self.tree = Reader(self.text, presets).choice()
        self.terms, self.sums = [], [ZERO]

    def b(self, t):
        """The bias less the shift: an interval, or -inf."""
        for prec in (128, 512, 128 + 3 * int(t).bit_length()):
            iv.prec = mp.prec = prec
            self.env["pi"] = iv.pi
            try:
                x = value(self.tree, {**self.env, "t": Fraction(t)})
                break
            except Unsure:
                if prec != 128 and prec >= 128 + 3 * int(t).bit_length():
                    raise
            finally:
                iv.prec = mp.prec = 128
                self.env["pi"] = iv.pi
        if infinite(x) and x != float("-inf"):
            if self.verdict == "undecided": # it says of no value that it is one
                raise Unsure
            raise Refused(f"b({t}) is {x}")
        return x if infinite(x) else ball(x - self.shift if isinstance(x, Fraction) else x - iv.mpf(self.shift))

    def below(self, j):
        """Sum over t < j."""
        if j > ADD_MAX:
            raise Unsure
        while len(self.sums) <= j:
            x = self.b(len(self.sums) - 1)
            self.sums.append(self.sums[-1] + (ZERO if infinite(x) else iv.exp(x)))
        return self.sums[j]

    def proves(self, rule):
        """Shows the claim again on all of [X, inf). Returns whether it could."""
        try:
            if rule.name in ("4.2", "4.3") and "slope" not in rule.__dict__:
                n = self.tree
                while n[0] == "choose" and n[1][0] == "compare":
                    c = reach_of(n[1], self.env, rule.X).v
                    if lo(c) != hi(c):
                        return False
                    n = n[2] if lo(c) else n[3]
                return not depends(n) and infinite(value(n, self.env)) == (rule.name == "4.2")
            x = reach_of(self.tree, self.env, rule.X)
        except (Unsure, TypeError, ZeroDivisionError, ValueError, OverflowError):
            return False
        rule.family = x.family
        if rule.name in ("4.4", "4.5"):
            least, most = (rule.rate, x.r), (rule.start, x.s - iv.mpf(self.shift))
            return all(lo(a) <= lo(b) + (inf if rule.name == "4.4" and lo(a) == -inf else 0) and hi(b) <= hi(a) or self.loosely(a, b) for a, b in (least, most))
        if rule.name == "4.3": # linear: the rate over x, as x u' = m x
            return False
        return False

    @staticmethod
    def loosely(a, b):
        """Rounding of the last place aside."""
        slack = mpf(10) ** -14
        return lo(b) >= lo(a) - slack * (1 + abs(lo(a))) and hi(b) <= hi(a) + slack * (1 + abs(hi(a)))

    def linear(self, n):
        """(c, m) with n = c + m t, or None."""
        if not depends(n):
            return ball(value(n, self.env)), ZERO
        if n[:2] == ("name", "t"):
            return ZERO, iv.mpf(1)
        if n[0] in ("add", "neg", "mul", "div"):
            parts = [self.linear(x) for x in n[1:]]
            if None in parts:
                return None
            if n[0] == "add":
                return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
            if n[0] == "neg":
                return -parts[0][0], -parts[0][1]
            for k, (c, m) in enumerate(parts):
                if not depends(n[1 + k]) and (n[0] == "mul" or k == 1):
                    o, p = parts[1 - k]
                    return (o * c, p * c) if n[0] == "mul" else (o / c, p / c)
        if n[0] == "choose":
            c = reach_of(n[1], self.env, self.from_here)
            return self.linear(n[2] if lo(c.v) > 0 else n[3]) if lo(c.v) > 0 or hi(c.v) <= 0 else None
        return None

    def check_rule(self, rule):
        if rule.is_convergent() != (self.verdict == "converges"):
            raise Refused(f"rule {rule.name} with these numbers does not show that it {self.verdict}")
        if rule.name == "4.5" and lo(rule.start) == -inf or rule.name == "4.7" and (lo if self.verdict == "diverges" else hi)(
                rule.growth.rest) in (inf, -inf):
            raise Refused("the bound that decides is infinite")
        proved = self.proves(rule)
        if rule.name == "4.3" and "slope" in rule.__dict__:
            self.from_here = rule.X
            try:
                found = self.linear(self.tree)
            except (Unsure, TypeError):
                found = None
            proved = found is not None and self.loosely(rule.slope, found[1]) and self.loosely(rule.constant, found[0] - self.shift)
        looked = 0
        near = [int(rule.X) + k for k in range(40)] + [int(rule.X) + p for p in POINTS]
        for j in near:
            t = Fraction(j)
            try:
                b = self.b(t)
                iv.prec = mp.prec = 192
                claimed = rule.envelope(t)
            except (Unsure, OverflowError, MemoryError):
                continue
            finally:
                iv.prec = mp.prec = 128
            zero = rule.name == "4.2" or rule.name == "4.10" and rule.growth_of(t)[0] is None
            looked += 1
            if infinite(b) != zero and (zero or lo(claimed) > -inf) or not infinite(b) and (hi(b) < lo(claimed) or lo(b) > hi(claimed)):
                raise Refused(f"rule {rule.name}: ln f({j if j < 10 ** 20 else '...'}) = {text(b)} is not within {text(claimed)}")
        if not proved and not looked:
            raise Unsure
        self.notes.append(f"rule {rule.name} from {rule.X if rule.X < 10 ** 9 else '10^9 or more'} " + ("proved" if proved else f"at {looked} distances"))
        return proved

    def check(self):
        """proved, agrees or undecided; raises Refused."""
        levels_of_trust = {"proved": 0, "agrees": 0}

        def settle(known):
            levels_of_trust["proved" if known else "agrees"] += 1

        for n, claimed in self.partial:
            own = self.below(n) * iv.exp(iv.mpf(self.shift))
            if hi(own) < lo(claimed) or lo(own) > hi(claimed):
                raise Refused(f"the sum of the first {n} terms is {text(own)}, not within {text(claimed)}")
            settle(lo(claimed) <= lo(own) and hi(own) <= hi(claimed) or self.loosely(claimed, own))
        if self.verdict == "undecided":
            return levels_of_trust
        if not self.rules:
            raise Refused("a verdict without a rule")
        for rule in self.rules:
            settle(self.check_rule(rule))
        rule, mass = self.rules[-1], None
        if self.verdict == "converges":
            N = int(max(rule.X, 1 if rule.name == "4.10" else 0))
            try:
                tail = rule.tail(Fraction(N))
                mass = self.below(N) + tail
            except (Unsure, IndexError):
                self.notes.append("the sum is not looked at: the rule begins too far out")
            for at, claimed in self.tails:
                try:
                    own = rule.tail(at)
                except (Unsure, IndexError):
                    continue
                if hi(own) < lo(claimed) or lo(own) > hi(claimed):
                    raise Refused(f"the sum from {at} on is {text(own)}, not within {text(claimed)}")
                settle(self.loosely(claimed, own))
            if mass is not None:
                own = mass * iv.exp(iv.mpf(self.shift))
                if hi(own) < lo(self.sum) or lo(own) > hi(self.sum):
                    raise Refused(f"B is {text(own)}, not within {text(self.sum)}")
                settle(self.loosely(self.sum, own))
        for epsilon, length, least, most in self.fields:
            settle(self.check_field(rule, mass, epsilon, length, least, most))
        return levels_of_trust

    def more(self, rule, mass, epsilon, j):
        """Whether the sum below j is more than 1 - epsilon of the mass: 1, -1, or 0 where it is not known."""
        try:
            own = self.below(j) - (1 - ball(epsilon)) * mass
        except Unsure:
            try:
                b = None if rule.name != "4.4" or getattr(rule, "family", True) else self.b(j)
                own = ball(epsilon) * mass - rule.tail(Fraction(j), b)
            except (Unsure, IndexError, OverflowError):
                return 0
        return 1 if lo(own) > 0 else -1 if hi(own) <= 0 else 0

    def check_field(self, rule, mass, epsilon, length, least, most):
        if length != "inf":
            try:
                mass = self.below(int(length))
            except Unsure:
                mass = None
        if mass is None:
            return False
        before = self.more(rule, mass, epsilon, least - 1) if least > 1 else -1
        behind = self.more(rule, mass, epsilon, most) if most is not None else 1
        if before > 0 or behind < 0:
            raise Refused(f"the field for {epsilon} is not in {least}..{most}")
        return before < 0 and behind > 0


def read(path):
    lines = open(path).read().split("\n")
    if not lines[0].startswith("reach-certificate 1"):
        raise SystemExit(f"{path}: no certificate")
    block = []
    for line in lines[1:]:
        if line == "end":
            yield block
            block = []
        elif line:
            block.append(line)
    if block:
        raise SystemExit(f"{path}: cut short")


def main(arguments):
    quiet, totals, bad, whole, n = "--quiet" in arguments, {"proved": 0, "agrees": 0}, 0, 0, 0
    for path in (a for a in arguments if a != "--quiet"):
        for block in read(path):
            n += 1
            c = None
            try:
                try:
                    c = Certificate(block)
                except (KeyError, IndexError, ValueError, AttributeError) as e:
                    raise Refused(f"not to be read: {e!r}")
                found = c.check()
                for k, v in found.items():
                    totals[k] += v
                whole += found["agrees"] == 0
                line = f"{c.text[:70]}: {c.verdict}; {found['proved']} lines proved, {found['agrees']} agree; {'; '.join(c.notes)}"
            except Refused as e:
                bad += 1
                line = f"{c.text[:70] if c else block[0][:70]}: REFUSED: {e}"
            except (Unsure, OverflowError): # numbers beyond all digits
                line = f"{c.text[:70]}: not settled by intervals"
            if not quiet or "REFUSED" in line:
                print(line, flush=True)
    print(f"{n} certificates: {bad} refused, {whole} proved whole; {totals['proved']} lines proved, {totals['agrees']} agree")
    return 1 if bad or not n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
