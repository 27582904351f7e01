"""What the rule of a certificate claims of all distances from X on: an envelope of ln f, the sum of f, and whether that is finite."""
from fractions import Fraction

from mpmath import inf, iv, mpf

from certificate_formula import Unsure, ball
from certificate_ranges import ALL, ZERO, hi, hull, lo, make, times


class Refused(Exception):
    """What a certificate says is not so, or cannot be read."""


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
