#!/usr/bin/env python3
"""Checks the certificates of `reach trf --certificate FILE` (doc/certificate.md) in interval arithmetic of mpmath, without any code of reach.

usage: certificate.py [--quiet] FILE...

A formula is read and evaluated in certificate_formula.py, the first distances are added up here, and what the rule claims of all later ones
(certificate_rules.py) is shown again by interval arithmetic on [X, inf) (certificate_ranges.py) where that settles it, else looked at in some hundred
distances up to 2^1000. Prints what was proved, what only agrees and what is refused; exits 1 if anything is refused.
"""
import re
import sys
from fractions import Fraction

from mpmath import inf, iv, mp, mpf

from certificate_formula import Reader, Unsure, ball, infinite, value
from certificate_ranges import ZERO, depends, hi, lo, reach_of, text
from certificate_rules import Growth, Refused, Rule, bounds, number

ADD_MAX, POINTS = 4000, [2 ** k + j for k in range(1, 64) for j in (0, 1, 5)] + [2 ** k for k in (80, 100, 200, 400, 1000)]


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
