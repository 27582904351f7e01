"""Bounds of the formula of a certificate on [X, inf): of the value u, of u(X), of x u' and of x u'/u."""
from fractions import Fraction

from mpmath import inf, iv, mp, mpf

from certificate_formula import Unsure, ball, infinite, value


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
