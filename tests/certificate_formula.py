"""The formula of a certificate: its text to a tree, and the value of a tree at one distance.

A value is a Fraction (exact), an interval of mpmath, or one of the infinities. Sets the precision of mpmath, 128 bits.
"""
import re
import sys
from fractions import Fraction

from mpmath import iv, mp, mpf

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(20000) # fields have up to 10,000 digits

iv.prec = mp.prec = 128


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
