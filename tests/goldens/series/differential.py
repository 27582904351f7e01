#!/usr/bin/env python3
"""Random formulas rich in infinities, cancellations and jumps: `reach trf` against sums by mpmath at 60 digits.

usage: differential.py REACH [COUNT [SEED]]

For each formula the field of the first LENGTH distances must be the one that brute force finds (or an interval around it), what is refused must be
refused for a distance that has no value, and a verdict must not be given where a value is none. Formulas that 60 digits cannot settle (a number that
may be exactly 0) are only checked for being refused nowhere for sure. Prints what disagrees; exits 1 if anything does. tests/t-analyze-series-differential.c
does the same with bounds in double, at fewer distances and far more formulas.
"""
import random
import re
import subprocess
import sys
from fractions import Fraction

from mpmath import mp, mpf, isnan, isinf

mp.dps = 60
LENGTH, EPSILONS = 400, ("0.01", "0.3")
INF, NAN, TINY = mpf("inf"), mpf("nan"), mpf(10) ** -40
LEAVES = ("t t t t 1 2 3 0.5 0.1 7 0 pi inf -inf (t-5) (0-t) ln(t) ln(t-3) sqrt(t-4) 1/t floor(t/3) sin(t) ln(1+t) (-2*ln(1+t)) (-t/9) "
          "(sqrt(2)*sqrt(3)-sqrt(6)) (1+cos(pi)) (exp(ln(2))-2) sin(pi)").split()
UNARY = "ln(%s) exp(%s) sin(%s) cos(%s) abs(%s) floor(%s) sqrt(%s) -(%s) (%s)^2 (%s)^-1 (%s)^0.5 0*(%s) (-2*(%s))^-1".split()
BINARY = ("(%s)+(%s) (%s)-(%s) (%s)*(%s) (%s)/(%s) min(%s,%s) max(%s,%s) ((%s)<(%s)) ((%s)<=(%s)) ((%s)==(%s)) (%s)^(%s) (t<30?(%s):(%s)) "
          "(t==4?(%s):(%s)) ((%s)>-inf?(%s):0) (2*(%s)-(%s))").split()


class Unsure(Exception):
    pass


def formula(depth):
    kind = random.random()
    if depth == 0 or kind < 0.1:
        return random.choice(LEAVES)
    if kind < 0.4:
        return random.choice(UNARY) % formula(depth - 1)
    return random.choice(BINARY) % (formula(depth - 1), formula(depth - 1))


# ---- the language: a tree of closures, each t -> a Fraction (exact) or an mpf ----

def sure(x):
    """A number whose sign is certain."""
    if isinstance(x, mpf) and not isinf(x) and abs(x) < TINY:
        raise Unsure
    return x


def real(x):
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def nan(*values):
    return any(isinstance(v, mpf) and isnan(v) for v in values)


def exact(*values):
    return all(isinstance(v, Fraction) for v in values)


def add(a, b):
    return a + b if exact(a, b) else real(a) + real(b)


def mul(a, b):
    if exact(a, b):
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, mpf) and isinf(x):
            sure(y)
    if any(exact(x) and x == 0 for x in (a, b)) and not nan(a, b) and not isinf(real(a)) and not isinf(real(b)):
        return Fraction(0)
    return real(a) * real(b)


def div(a, b):
    if nan(a, b):
        return NAN
    if sure(b) == 0:
        return NAN if sure(a) == 0 else INF if a > 0 else -INF
    if isinf(real(b)):
        return NAN if isinf(real(a)) else Fraction(0)
    return a / b if exact(a, b) else real(a) / real(b)


def power(a, b):
    if nan(a, b):
        return NAN
    whole = not isinf(real(b)) and (b.denominator == 1 if exact(b) else None)
    if whole is None and abs(b - mp.nint(b)) < TINY:
        raise Unsure
    if b == 0:
        return Fraction(1)
    if sure(a) < 0 and not whole:
        return NAN
    sure(b)
    if a == 0:
        return Fraction(0) if b > 0 else INF
    if isinf(real(b)):
        if a == 1:
            return Fraction(1)
        if not exact(a) and abs(a - 1) < TINY:
            raise Unsure
        return INF if (a > 1) == (b > 0) else Fraction(0)
    if isinf(real(a)):
        return Fraction(0) if b < 0 else a if a > 0 or b % 2 else INF
    if abs(real(b) * mp.log(abs(real(a)))) > 10 ** 5:
        raise Unsure
    if exact(a) and whole and abs(b) < 64:
        return a ** int(b)
    return real(a) ** (int(b) if whole else real(b))


def compare(op, a, b):
    if nan(a, b):
        return NAN
    if isinf(real(a)) or isinf(real(b)):
        d = (real(a) > real(b)) - (real(a) < real(b))
    else:
        d = sure(add(a, mul(Fraction(-1), b)))
    return Fraction(int({"<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0, "==": d == 0, "!=": d != 0}[op]))


def call(name, a, b=None):
    if nan(a) or (b is not None and nan(b)):
        return NAN
    if name in ("min", "max"):
        return a if (real(a) < real(b)) == (name == "min") else b
    if name == "exp":
        if abs(real(a)) > 10 ** 5 and not isinf(real(a)):
            raise Unsure
        return Fraction(1) if exact(a) and a == 0 else mp.exp(real(a))
    if name in ("ln", "sqrt"):
        if sure(a) < 0:
            return NAN
        if a == 0:
            return -INF if name == "ln" else Fraction(0)
        return mp.log(real(a)) if name == "ln" else power(a, Fraction(1, 2))
    if name == "abs":
        return abs(a)
    if isinf(real(a)):
        return a if name == "floor" else NAN
    if name == "floor":
        if not exact(a) and abs(a - mp.nint(a)) < TINY:
            raise Unsure
        return Fraction(int(mp.floor(a))) if not exact(a) else Fraction(a.numerator // a.denominator)
    if abs(real(a)) > 10 ** 20:
        raise Unsure
    return mp.sin(real(a)) if name == "sin" else mp.cos(real(a))


class Parser:
    def __init__(self, text):
        self.tokens, self.at = re.findall(r"[0-9.]+|[a-z]+|[<>=!]=|.", text), 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted):
        if self.peek() in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def choice(self):
        c = self.comparison()
        if not self.take("?"):
            return c
        a = self.choice()
        self.take(":")
        b = self.choice()

        def value(t):
            v = c(t)
            return NAN if nan(v) else a(t) if sure(v) != 0 else b(t)
        return value

    def comparison(self):
        a = self.terms()
        op = self.take("<", "<=", ">", ">=", "==", "!=")
        if not op:
            return a
        b = self.terms()
        return lambda t: compare(op, a(t), b(t))

    def chain(self, part, rules):
        a = part()
        while op := self.take(*rules):
            a = (lambda a, b, rule: lambda t: rule(a(t), b(t)))(a, part(), rules[op])
        return a

    def terms(self):
        return self.chain(self.product, {"+": add, "-": lambda a, b: add(a, mul(Fraction(-1), b))})

    def product(self):
        return self.chain(self.unary, {"*": mul, "/": div})

    def unary(self):
        if self.take("-"):
            a = self.unary()
            return lambda t: mul(Fraction(-1), a(t))
        a = self.value()
        if not self.take("^"):
            return a
        b = self.unary()
        return lambda t: power(a(t), b(t))

    def value(self):
        token = self.peek()
        self.at += 1
        if token == "(":
            a = self.choice()
            self.take(")")
            return a
        if token == "t":
            return lambda t: t
        if token in ("pi", "inf"):
            return lambda t: +mp.pi if token == "pi" else INF
        if token[0].isdigit():
            return lambda t: Fraction(token)
        self.take("(")
        a, b = self.choice(), None
        if self.take(","):
            b = self.choice()
        self.take(")")
        return lambda t: call(token, a(t), b(t)) if b else call(token, a(t))


# ---- comparing ----

def field(values, epsilon):
    """Least and greatest j that rounding allows, by brute force."""
    f = [mpf(0) if isinf(real(v)) else mp.exp(real(v)) for v in values]
    total, target, s = sum(f), None, mpf(0)
    target = (1 - mpf(epsilon)) * total
    lo = hi = None
    for j, x in enumerate(f, 1):
        s += x
        if lo is None and s > target * (1 - mpf(10) ** -45):
            lo = j
        if hi is None and s > target * (1 + mpf(10) ** -45):
            hi = j
    return lo, hi or len(f)


def check(reach, text):
    f, values, unsure, broken = Parser(text).choice(), [], False, None
    for t in range(LENGTH):
        try:
            v = f(Fraction(t))
            if broken is None and (nan(v) or v == INF):
                broken = (t, "not a number" if nan(v) else "+inf")
            if not nan(v) and not isinf(real(v)) and abs(real(v)) > 10 ** 6:
                unsure = True  # exp of it is beyond comparison
            values.append(v)
        except Unsure:
            unsure = True
            values.append(None)
    done = subprocess.run([reach, "trf", "--length", str(LENGTH)] + [w for e in EPSILONS for w in ("--epsilon", e)] + ["--", text],
                          capture_output=True, text=True, timeout=60)
    if done.returncode:
        said = re.search(r"distance (\d+) is (not a number|\+inf)", done.stderr)
        if said and int(said[1]) < LENGTH:
            v = values[int(said[1])]
            fits = v is None or (nan(v) if said[2][0] == "n" else v == INF)  # None: some part is unsure, another may be none
            return "refused", None if fits else done.stderr
        nothing = "no mass" in done.stderr and all(v is None or v == -INF for v in values)
        return "refused", None if nothing or said else done.stderr
    row = re.search(r"^ *all +(\S+) +(.*)$", done.stdout, re.M)
    cells = re.findall(r"\[[^]]*\]|>= \S+|\S+", row[2])
    verdict, finite = row[1], cells[1 + len(EPSILONS):1 + 2 * len(EPSILONS)]
    if broken:
        return verdict, "no value at %d: %s" % broken + done.stdout
    if unsure:
        return verdict, None
    for epsilon, cell in zip(EPSILONS, finite):
        lo, hi = field(values, epsilon)
        ends = [int(x) for x in re.findall(r"\d+", cell)]
        if not ends or lo is None or ends[0] > hi or ends[-1] < lo or (len(ends) == 1 and lo == hi and ends[0] != lo):
            return verdict, "eps %s: expected %s..%s\n%s" % (epsilon, lo, hi, done.stdout)
    return verdict, None


def main():
    reach, count, seed = sys.argv[1], int((sys.argv + ["", ""])[2] or 1000), int((sys.argv + ["", "", ""])[3] or 1)
    random.seed(seed)
    counts, bad = {}, 0
    for i in range(count):
        text = formula(random.randint(1, 4))
        if i % 2:
            text = "t<60?(%s):%s" % (text, random.choice(["-2*ln(1+t)", "-t/20", "-inf", "-3*ln(t)", "-sqrt(t)"]))
        elif i % 4:
            text = "(%s)%s" % (text, random.choice(["-2*ln(1+t)", "-t/20", "-3*ln(t)", "-sqrt(t)"]))
        if len(text) > 200:
            continue
        verdict, wrong = check(reach, text)
        counts[verdict] = counts.get(verdict, 0) + 1
        if wrong:
            bad += 1
            print("%s\n    %s" % (text, wrong.strip().replace("\n", "\n    ")), flush=True)
    print(counts, "%d wrong" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
