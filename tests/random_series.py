#!/usr/bin/env python3
"""`reach trf` on random formulas, against sums in ball arithmetic by Euler-Maclaurin's formula.

usage: random_series.py REACH [COUNT [SEED]] [waves]    COUNT formulas (1000), drawn from SEED (1); seeds SEED, SEED + 1, ... of 250 formulas each; waves: each with waves beside it

A formula is drawn with what it does far out: b(t) = -q t^r - p ln(k + a t) - c ln ln(k + t) + v(t), v tending to a number, written in one of many ways; then a start of
its own, blocks of equal terms, terms left out, or an end. So its verdict is known before anything is computed: by q, then p against 1, then c against 1. Its sums from j on are
enclosed by 96 terms or more, the integral beyond them (FLINT's, of analytic functions, and by hand beyond M), the derivatives of Euler-Maclaurin's formula and a bound of its remainder
(Cauchy's). Of each field [lo, hi] that reach states for a share eps: all from hi on must be less than eps of the sum, and all from lo - 1 on must not. What its
balls cannot tell is counted as open, not as right. A factor exp(a sin(w t + c)), d + cos(w t + c) or sin(w t)^2 is a Fourier series, by Bessel's functions or a few terms; the sum of
each of its terms times g is summed by parts, sum of g(t) z^t over t >= n = z^n sum over m < M of z^m D^m g(n) / (1 - z)^(m + 1) + z^M / (1 - z)^M sum of D^M g(t) z^t, D the difference
of neighbours, whose last sum is bounded by g's M-th derivative (Cauchy's bound). Needs python-flint. Prints what is wrong; exits 1 if anything is.
"""
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

from flint import acb, arb, arb_series, ctx, fmpq, fmpz

sys.set_int_max_str_digits(0)

BATCH, FIRST, PAIRS, EPSILONS = 250, 96, 16, ("0.01", "0.3")
WAVES_FIRST = 2048
PARAMETERS = 1600       # bits of what is written as decimals
FARTHEST = 10 ** 200    # fields beyond are not checked: as many digits would be needed
BERNOULLI = [fmpq.bernoulli(2 * k) / math.factorial(2 * k) for k in range(PAIRS)]


# ---- functions of an arb, an acb or a power series -------------------------------------------

def ln(x):
    return x.log(analytic=True) if isinstance(x, acb) else x.log()


def sqrt(x):
    return x.sqrt(analytic=True) if isinstance(x, acb) else x.sqrt()


def ln1p(x):
    """ln(1 + x), to all digits of a small x; where x is a set that reaches over the cut, no number."""
    if isinstance(x, acb):
        return x.log1p() if (1 + x).real > 0 else acb(arb.nan())
    return x.log1p() if isinstance(x, arb) else ln(1 + x)


def number(text):
    """The decimal that is written, as a ball."""
    whole, _, part = text.partition(".")
    return arb(int(whole + part)) / arb(10) ** len(part)


# ---- formulas ----------------------------------------------------------------------------------

class Part:
    """A term v(t) of the bias that tends to a number: its text, itself, its limit, and a bound of its distance from there on [M, inf), M >= 72; twice that bounds it where
    the real part is M or more and |arg| at most asin(1/4)."""

    def __init__(self, text, value, limit, distance):
        self.text, self.value, self.limit, self.distance = text, value, limit, distance


def part(draw):
    d_text = draw.choice("-4 -1 -0.5 0.3 1 2.5 5".split())
    w_text = draw.choice("1 2 5 10 30".split())
    d, w = number(d_text.lstrip("-")) * (-1 if d_text[0] == "-" else 1), number(w_text)
    kind, size = draw.randrange(7), abs(d)
    if kind == 0:
        return Part(f"+({d_text})*exp(-t/{w_text})", lambda x: d * (-x / w).exp(), arb(0), lambda M: size * (-M / w).exp())
    if kind == 1:
        return Part(f"+({d_text})/(1+t/{w_text})", lambda x: d / (1 + x / w), arb(0), lambda M: size * w / M)
    if kind == 2:
        return Part(f"+({d_text})*t/({w_text}+t)", lambda x: d * x / (w + x), d, lambda M: size * w / M)
    if kind == 3:
        return Part(f"+({d_text})*(sqrt(1+t)-sqrt(t))", lambda x: d / (sqrt(1 + x) + sqrt(x)), arb(0), lambda M: size / M.sqrt())
    if kind == 4:   # a factor that tends to 1
        return Part(f"+({d_text})*ln(1+t)/(1+t)", lambda x: d * ln(1 + x) / (1 + x), arb(0), lambda M: size * (1 + M).log() / M)
    if kind == 5:
        return Part(f"-t*ln(1+{w_text}/(1+t))", lambda x: -x * ln1p(w / (1 + x)), -w, lambda M: (w + w * w) / M)
    return Part(f"+({d_text})/(1+exp((t-{w_text})/2))", lambda x: d - d / (1 + ((w - x) / 2).exp()), arb(0), lambda M: size * (-(M - w) / 2).exp())


class Waves:
    """exp of a wave: mode[k] of exp(i k w t), k >= 0, and what the modes left out add up to at most."""

    def __init__(self, draw):
        self.w_text = draw.choice("1 0.5 0.1 2 3 0.7 6 22/7 10".split())
        above, _, below = self.w_text.partition("/")
        self.w = number(above) / number(below or "1")
        w = f"{self.w_text}*t"
        self.rest = arb(0)
        kind = draw.randrange(4)
        if kind < 2:
            a_text, c_text = draw.choice("0.1 0.5 1 2 5".split()), draw.choice("0 0 1 2.5".split())
            a, c = number(a_text), number(c_text)
            self.text = f"+{a_text}*sin({w}{'+' + c_text if c_text != '0' else ''})"
            self.value = lambda t: (a * (self.w * t + c).sin()).exp()
            count = 60 if a_text == "5" else 40
            self.mode = [acb(a).bessel_i(k) * (acb(0, -1) ** k) * acb(0, k * c).exp() for k in range(count)]
            self.rest = 4 * (a / 2) ** count / arb(count).fac() * (a * a / 4).exp()
        elif kind == 2:
            d_text = draw.choice("1 1.1 2".split())
            d = number(d_text)
            self.text, self.value, self.mode = f"+ln({d_text}+cos({w}))", lambda t: d + (self.w * t).cos(), [acb(d), acb(0.5)]
        else:
            self.text = draw.choice([f"+ln(sin({w})^2)", f"+2*ln(abs(sin({w})))"])
            self.value, self.mode = lambda t: (self.w * t).sin() ** 2, [acb(0.5), acb(0), acb(-0.25)]


class Formula:
    """value(x): the term exp(b) of the smooth formula at x; `form` and `number` say what is made of it; `text` is what reach reads."""

    def __init__(self, draw, waves=False):
        ctx.prec = PARAMETERS
        self.p_text = draw.choice("0 0.5 0.9 1 1 1 1.05 1.2 1.5 2 3".split())
        self.c_text = draw.choice("0 0 0 0.5 1 1.5 2 3".split())
        self.q_text = draw.choice("0 0 0 0.001 0.05 0.3 1 -0.01".split())
        self.r_text = draw.choice("0.3 0.5 1 1 1.5 2".split())
        self.grows = self.q_text[0] == "-"
        k_text, a_text = draw.choice("1 2 3 10".split()), draw.choice("1 1 1 0.1 2".split())
        if self.c_text != "0":
            k_text, a_text = "3", "1"
            self.p_text = {"1.05": "1.5", "1.2": "2"}.get(self.p_text, self.p_text)     # where the integral by hand begins is e^(d / (p - 1))
        self.p, self.c, self.q, self.r, self.k, self.a = (number(x.lstrip("-")) for x in (self.p_text, self.c_text, self.q_text, self.r_text, k_text, a_text))
        inner = f"{k_text}+t" if a_text == "1" else f"{k_text}+{a_text}*t"
        pieces = []
        if self.q_text != "0":
            size = self.q_text.lstrip("-")
            power = {"1": "t", "0.5": draw.choice(["sqrt(t)", "t^0.5"]), "2": draw.choice(["t^2", "t*t"])}.get(self.r_text, f"t^{self.r_text}")
            pieces.append(("+" if self.grows else "-") + f"{size}*{power}")
        if self.p_text != "0":
            pieces.append(draw.choice([f"-{self.p_text}*ln({inner})", f"+ln(({inner})^-{self.p_text})", f"-ln(({inner})^{self.p_text})", f"+ln(1/({inner})^{self.p_text})"]))
        if self.c_text != "0":
            pieces.append(draw.choice([f"-{self.c_text}*ln(ln(3+t))", f"-ln(ln(3+t)^{self.c_text})"]))
        self.parts = [part(draw) for _ in range(draw.choice([0, 1, 1, 2]))]
        pieces += [v.text for v in self.parts]
        draw.shuffle(pieces)
        text = "".join(pieces).lstrip("+") or "0"
        self.form, self.number, self.start = draw.choice(["plain"] * 5 + ["blocks", "thin", "start", "end"]), draw.randrange(2, 6), None
        if self.form == "blocks":
            text = f"({text})".replace("t", "T").replace("sqrT", "sqrt").replace("T", f"floor(t/{self.number})")
        elif self.form == "thin":
            text = f"t-{self.number}*floor(t/{self.number})==0?{text}:-inf"
        elif self.form == "start":
            self.start = draw.choice("0 -2 1.5".split())
            self.number = draw.randrange(1, 60)
            text = f"t<{self.number}?{self.start}:{text}"
        elif self.form == "end":
            self.number = draw.randrange(2, FIRST)
            text = f"t<{self.number}?{text}:-inf"
        self.waves = None
        if waves:
            self.form, self.waves = "plain", Waves(draw)
            text = ("".join(pieces) + self.waves.text).lstrip("+")
        self.text = text

    def converges(self):
        if self.form == "end":
            return True
        if self.q_text != "0":
            return not self.grows
        if self.p_text != "1":
            return bool(self.p > 1)
        return bool(self.c > 1)

    def exponent(self, x, power=True):
        b = 0 * x
        if power and self.q_text != "0":
            raised = {"1": lambda: x, "2": lambda: x * x, "0.5": lambda: sqrt(x)}.get(self.r_text, lambda: (self.r * ln(x)).exp())()
            b += self.q * raised if self.grows else -self.q * raised
        if self.p_text != "0":
            b -= self.p * ln(self.k + self.a * x)
        if self.c_text != "0":
            b -= self.c * ln(ln(3 + x))
        for v in self.parts:
            b += v.value(x)
        return b

    def smooth(self, x):
        return self.exponent(x).exp()

    def value(self, i):
        """Of the i-th term of the smooth series, in whose argument the terms left out are left out."""
        x = i * self.number if self.form == "thin" else i
        return self.exponent(x, power=not (isinstance(x, arb) and bool(x == 0))).exp()


# ---- sums --------------------------------------------------------------------------------------

class Unsettled(Exception):
    pass


class Sums:
    """Enclosures of what the terms from j on add up to, with `care` times the digits that telling j from j + 1 takes, up to j = `farthest`."""

    def __init__(self, formula, farthest, care=1):
        self.formula, self.farthest, self.care = formula, farthest, care
        waves = formula.waves
        first = round((WAVES_FIRST if waves else FIRST) * care ** 4)
        ctx.prec = self.bits_for(first) + 60
        self.terms = [formula.value(arb(i)) for i in range(formula.number if formula.form == "end" else first)]
        if waves:
            self.terms = [term * waves.value(arb(i)) for i, term in enumerate(self.terms)]
        if formula.form == "start":
            self.terms[:formula.number] = [number(formula.start.lstrip("-")).__mul__(-1 if formula.start[0] == "-" else 1).exp()] * formula.number
        self.known = {len(self.terms): arb(0) if formula.form == "end" else self.beyond(first)}
        total, self.small = self.known[len(self.terms)], [None] * (len(self.terms) + 1)
        self.small[-1] = total
        for i in range(len(self.terms) - 1, -1, -1):
            total += self.terms[i]
            self.small[i] = total

    def from_term(self, i):
        """Of the smooth series."""
        if i < len(self.small):
            return self.small[max(i, 0)]
        if self.formula.form == "end":
            return arb(0)
        if i not in self.known:
            self.known[i] = self.beyond(i)
        return self.known[i]

    def from_distance(self, j):
        n = self.formula.number
        if self.formula.form == "blocks":
            block, within = divmod(j, n)
            return n * self.from_term(block) if within == 0 else (n - within) * self.formula.value(arb(fmpz(block))) + n * self.from_term(block + 1)
        return self.from_term(-(-j // n) if self.formula.form == "thin" else j)

    def whole(self):
        return self.from_distance(0)

    def bits_for(self, n):
        return round(self.care * (max(n, self.farthest).bit_length() + 24))

    def beyond(self, n):
        """The sum over i >= n."""
        smooth, waves = self.smooth_beyond(n), self.formula.waves
        if not waves:
            return smooth
        total = waves.mode[0].real * smooth + arb(0, (waves.rest * smooth).upper())
        for k in range(1, len(waves.mode)):
            total += 2 * (waves.mode[k] * self.by_parts(n, k * waves.w)).real
        if not total.is_finite():
            raise Unsettled("not finite")
        return total

    def by_parts(self, n, angle):
        """The sum of g(t) exp(i angle t) over t >= n."""
        f, bits, at = self.formula, self.bits_for(n), arb(fmpz(n))
        turn = acb(0, angle).exp()
        apart = abs(1 - turn)
        least = 3 * at / 4
        top = (self.exponent_top(least)).exp()

        def rest(M):    # the sum of t^-M over t >= n is at most n^(1 - M) / (M - 1) + n^-M
            return (top * arb(M).fac() * (4 / at) ** M * (at / (M - 1) + 1) / apart ** M).upper()
        best = min(range(2, 60), key=lambda M: float(arb(rest(M)).log().mid()))
        M = next((M for M in range(2, best) if rest(M) < top * arb(2) ** (-2 * bits)), best)
        before, ctx.prec = ctx.prec, ctx.prec + M * n.bit_length()
        g, total = [f.value(at + i) for i in range(M)], acb(0)
        for m in range(M):
            total += turn ** m * g[0] / (1 - turn) ** (m + 1)
            g = [g[i + 1] - g[i] for i in range(len(g) - 1)]
        total *= acb(0, angle * at).exp()
        ctx.prec = before
        return total + acb(arb(0, rest(M)), arb(0, rest(M)))

    def smooth_beyond(self, n):
        """Euler-Maclaurin for the sum over i >= n, n >= FIRST, of the smooth part."""
        f, bits = self.formula, self.bits_for(n)
        ctx.prec = max(ctx.prec, 2 * bits)
        at = arb(fmpz(n))
        end = self.end_for(at, bits)
        width = (end / at).log()

        def integrand(u, analytic):
            x = at * u.exp()
            return f.value(x) * x

        value = acb.integral(integrand, acb(0), acb(width), rel_tol=arb(2) ** -bits, abs_tol=arb(2) ** -100000, eval_limit=50000).real + self.rest(end)
        order = 2 * PAIRS - 1
        ctx.cap = order + 1
        series = f.value(arb_series([at, 1]))
        derivative = [series[i] * arb(i).fac() for i in range(order)]
        value += derivative[0] / 2 - sum(arb(BERNOULLI[k]) * derivative[2 * k - 1] for k in range(1, PAIRS))
        value += arb(0, self.remainder(at))
        if not value.is_finite():
            raise Unsettled("not finite")
        return value

    def remainder(self, at):
        """Of the terms up to pair PAIRS - 1: 2 zeta(2m) / (2 pi)^(2m) times the integral of |f^(2m)|, by Cauchy's bound on discs of a quarter of x, whose points have a real part of 3 x / 4
        or more and an argument of asin(1/4) at most. What bounds |f| there falls with x."""
        m2 = 2 * (PAIRS - 1)
        exponent = self.exponent_top(3 * at * self.step() / 4)
        return (exponent.exp() * 4 ** m2 * at ** (1 - m2) / (m2 - 1) * arb(m2).fac() * 4 / (2 * arb.pi()) ** m2).upper()

    def exponent_top(self, least):
        """A bound of b where the real part is `least` or more and the argument asin(1/4) at most."""
        f = self.formula
        exponent = -f.p * (f.k + f.a * least).log() - f.c * (3 + least).log().log() + sum((v.limit + 2 * v.distance(least) for v in f.parts), arb(0))
        if f.q_text != "0":
            exponent -= f.q * least ** f.r * (f.r * (arb(1) / 4).asin()).cos()
        return exponent

    def step(self):
        return self.formula.number if self.formula.form == "thin" else 1

    def end_for(self, at, bits):
        """Where the integral by hand begins."""
        f, s = self.formula, self.step()
        if f.q_text != "0":
            return (at ** f.r + (2 * bits + 4 * (f.p + f.c) + 40) / (f.q * f.r.min(arb(1)) * arb(s) ** f.r)) ** (1 / f.r)
        if f.p_text == "1" or f.c_text == "0":
            return at * arb(2) ** bits
        return at * (bits / (f.p - 1)).exp()

    def rest(self, end):
        """The integral of exp(b(s x)) over x >= end."""
        f, s = self.formula, self.step()
        M = end * s
        far = sum((arb(v.limit.mid(), v.limit.rad() + v.distance(M).upper()) for v in f.parts), arb(0)).exp() / s
        if f.q_text != "0":
            y, power = f.q * M ** f.r, 1 / f.r
            if not y > 2 * power:
                raise Unsettled("end")
            # the factors beside exp(-q x^r) fall; that one's integral is an incomplete gamma function, Gamma(s, y) <= 2 y^(s-1) exp(-y) for y >= 2 s
            top = far.upper() * (-y - f.p * (f.k + f.a * M).log() - f.c * (3 + M).log().log()).exp() * 2 * y ** (power - 1) / f.r * f.q ** (-power)
            return arb(0).union(top)
        if f.p_text == "1":
            return far * (3 + M).log() ** (1 - f.c) / (f.c - 1)
        if f.c_text == "0":
            return far * (f.k + f.a * M) ** (1 - f.p) / (f.a * (f.p - 1))
        theta = f.a * M / (f.k + f.a * M)
        return arb(0).union(far.upper() * (f.k + f.a * M) ** -f.p * (3 + M).log() ** -f.c * M / (f.p * theta - 1))


# ---- the comparison ----------------------------------------------------------------------------

def wrong_field(sums, epsilon, low, high):
    """What is wrong with the field [low, high], or None; raises Unsettled where the balls cannot tell."""
    allowed = number(epsilon) * sums.whole()
    for j, must in ((low - 1, False), (high, True)):
        if j is None or j < 0:
            continue
        rest = sums.from_distance(j)
        less = bool(rest < allowed)
        if not less and not rest >= allowed:
            raise Unsettled(f"eps {epsilon}, {j}")
        if less != must:
            return f"eps {epsilon}: the terms from {j} on are {(rest / sums.whole()).str(10)} of the sum"
    return None


def wrong_fields(formula, fields):
    """Of the first of {epsilon: (low, high)} that is wrong; with more digits where balls could not tell."""
    for care in (1, 1.25, 1.5):
        try:
            sums = Sums(formula, max(low for low, _ in fields.values()), care)
            found = [wrong_field(sums, epsilon, *field) for epsilon, field in fields.items()]
            return next((wrong for wrong in found if wrong), None)
        except Unsettled as reason:
            last = reason
    raise last


def ask(reach, formulas):
    """{index: {epsilon: row of trf.csv}}"""
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "formulas.csv")
        with open(table, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["name", "formula"])
            rows.writerows((f"n{i}", f.text) for i, f in enumerate(formulas))
        done = subprocess.run([reach, "trf", "@" + table, *(x for e in EPSILONS for x in ("--epsilon", e)), "-o", os.path.join(folder, "out")], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"random_series.py: {done.stderr}")
        with open(os.path.join(folder, "out", "trf.csv"), newline="") as file:
            found = {}
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                found.setdefault(int(row["formula"][1:]), {})[row["epsilon"]] = row
            return found


def least(row):
    """The lower end of a field; one that is too long to be written out has its logarithm alone."""
    if row["trf_lo"]:
        return int(row["trf_lo"])
    if not float(row["log10_trf_lo"]) > math.log10(FARTHEST):
        raise ValueError(f"a field without numbers: {row}")
    return FARTHEST + 1


def main():
    waves, arguments = "waves" in sys.argv[2:], [int(x) for x in sys.argv[2:] if x != "waves"]
    reach, count, seed = sys.argv[1], (arguments or [1000])[0], (arguments[1:] or [1])[0]
    told = {"right": 0, "interval, right": 0, "verdict right, field beyond 10^200": 0, "diverges, right": 0, "undecided": 0, "open": 0, "wrong": 0}
    for start in range(0, count, BATCH):
        draw = random.Random(seed + start // BATCH)
        formulas = [Formula(draw, waves) for _ in range(min(BATCH, count - start))]
        for i, rows in ask(reach, formulas).items():
            formula, said = formulas[i], rows[EPSILONS[0]]["verdict"]
            wrong = None
            if said == "undecided":
                came = "undecided"
                print(f"undecided: {formula.text}", flush=True)
            elif (said == "converges") != formula.converges():
                wrong = f"{said}"
            elif said == "diverges":
                came = "diverges, right"
            else:
                came = "right"
                fields = {epsilon: (least(row), int(row["trf_hi"]) if row["trf_hi"].isdigit() else None) for epsilon, row in rows.items()}
                if any(low != high for low, high in fields.values()):
                    came = "interval, right"
                try:
                    if any(low > FARTHEST for low, _ in fields.values()):
                        came = "verdict right, field beyond 10^200"
                    fields = {epsilon: field for epsilon, field in fields.items() if field[0] <= FARTHEST}
                    wrong = wrong_fields(formula, fields)
                except Unsettled as reason:
                    came = "open"
                    print(f"open ({reason}): {formula.text}", flush=True)
            if wrong:
                came = "wrong"
                print(f"WRONG: {formula.text}: {wrong}", flush=True)
            told[came] += 1
        print(f"{sum(told.values())} formulas, seeds {seed} to {seed + start // BATCH}: " + ", ".join(f"{n} {what}" for what, n in told.items()), flush=True)
    return told["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
