"""Writes values.csv: formulas, points and what they are worth, by mpmath at 60 digits.

Each formula is written twice: in the language, and as a Python function that follows the papers and knows nothing of the parser. The tolerance
beside a value is the running error bound of a straightforward evaluation in double (each operation right to one part in 2^52, literals to half of
that), doubled: what any correct evaluator stays within.

    python3 tests/goldens/formula/make.py > tests/goldens/formula/values.csv
"""
import math
from mpmath import mp, mpf

mp.dps = 60
U = mpf(2) ** -52


class Value:
    """A number and a bound on the error of its double evaluation."""

    def __init__(self, v, error=None):
        self.v = mpf(v)
        self.e = mpf(error) if error is not None else (mpf(0) if mpf(float(self.v)) == self.v else abs(self.v) * U / 2)

    @staticmethod
    def of(x):
        return x if isinstance(x, Value) else Value(x)

    def __add__(self, o):
        o = Value.of(o)
        v = self.v + o.v
        return Value(v, self.e + o.e + abs(v) * U)

    __radd__ = __add__

    def __neg__(self):
        return Value(-self.v, self.e)

    def __sub__(self, o):
        return self + -Value.of(o)

    def __rsub__(self, o):
        return Value.of(o) + -self

    def __mul__(self, o):
        o = Value.of(o)
        v = self.v * o.v
        return Value(v, abs(self.v) * o.e + abs(o.v) * self.e + self.e * o.e + abs(v) * U)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = Value.of(o)
        v = self.v / o.v
        return Value(v, (self.e + abs(v) * o.e) / abs(o.v) + abs(v) * U)

    def __rtruediv__(self, o):
        return Value.of(o) / self

    def __pow__(self, o):
        o = Value.of(o)
        v = self.v ** o.v
        e = abs(v) * U
        if self.v > 0:
            e += abs(v) * (abs(o.v) * self.e / self.v + abs(mp.log(self.v)) * o.e)
        return Value(v, e)

    def __rpow__(self, o):
        return Value.of(o) ** self


def function(f, slope):
    def g(x):
        x = Value.of(x)
        v = f(x.v)
        return Value(v, slope(x.v) * x.e + abs(v) * U)
    return g


ln = function(mp.log, lambda x: 1 / abs(x))
exp = function(mp.exp, mp.exp)
sqrt = function(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)) if x else mpf(0))
sin = function(mp.sin, lambda x: abs(mp.cos(x)))
cos = function(mp.cos, lambda x: abs(mp.sin(x)) + mpf(2) ** -60)
PI = Value(mp.pi)
D = lambda text: Value(mpf(text))  # a decimal literal
INF = Value(mp.inf, 0)


def paper_slope(p, delta=0):
    return 2 ** -(Value(8 * p.h) / p.H + delta)


def press_slopes(n):
    """The slopes of released code as exponents of two: a power of two gives 8h/n, otherwise those of the lower power, then every second one of twice it."""
    if n & (n - 1) == 0:
        return [Value(8 * (i + 1)) / n for i in range(n)]
    c = 2 ** int(math.floor(math.log2(n)))
    return press_slopes(c) + press_slopes(2 * c)[0::2][: n - c]


def sandwich(p, dbar=128, first=0):
    total = Value(0)
    for i in range(first, first + dbar // 2):
        total = total + cos(Value(p.t) / 10000 ** (Value(2 * i) / dbar))
    return (total - Value(dbar) / 2) / (Value(8 * p.h) / p.H)


def t5_bucket(t):
    """min(31, 16 + floor(16 ln(t/16) / ln 8)) in integers: the largest k with 16^16 8^k <= t^16."""
    if t < 16:
        return t
    k = 0
    while k < 15 and 16 ** 16 * 8 ** (k + 1) <= t ** 16:
        k += 1
    return 16 + k


class P:
    def __init__(self, t, h=1, H=8, d=64, L=2048):
        self.t, self.h, self.H, self.d, self.L = t, h, H, d, L


def ts(*t, **k):
    return [P(x, **k) for x in t]


def heads(H, t):
    return [P(t, h=h, H=H) for h in range(1, H + 1)]


T = lambda p: Value(p.t)
w32 = ["%s%.3f" % ("-" if i % 3 else "", 0.125 + 0.371 * i) for i in range(32)]
rows = [
    # the language
    ("-t^2", "", lambda p: -(T(p) * T(p)), ts(0, 3, 1000)),
    ("2^3^2", "", lambda p: 512, ts(0)),
    ("2^-t^2", "", lambda p: 2 ** -(T(p) ** 2), ts(0, 1, 3)),
    ("-2^-t", "", lambda p: -(2 ** -T(p)), ts(4)),
    ("--t - -1", "", lambda p: T(p) + 1, ts(4)),
    ("10-4-3", "", lambda p: 3, ts(0)),
    ("100/10/5*2", "", lambda p: 4, ts(0)),
    ("1+2*3^2/4-5", "", lambda p: D("0.5"), ts(0)),
    ("(1+2)*3", "", lambda p: 9, ts(0)),
    ("1<2", "", lambda p: 1, ts(0)),
    ("t+1<=2*2", "", lambda p: 1 if p.t + 1 <= 4 else 0, ts(2, 3, 4)),
    ("t>=3", "", lambda p: int(p.t >= 3), ts(2, 3)),
    ("t==3", "", lambda p: int(p.t == 3), ts(2, 3)),
    ("t!=3", "", lambda p: int(p.t != 3), ts(2, 3)),
    ("t>3", "", lambda p: int(p.t > 3), ts(3, 4)),
    ("t<2?10:t<4?20:30", "", lambda p: 10 if p.t < 2 else 20 if p.t < 4 else 30, ts(1, 2, 3, 4)),
    ("t>1?t>3?1:2:3", "", lambda p: (1 if p.t > 3 else 2) if p.t > 1 else 3, ts(0, 2, 4)),
    ("t<40?0:-inf", "", lambda p: 0 if p.t < 40 else -INF, ts(39, 40)),
    ("t==0?0:ln(t)", "", lambda p: ln(T(p)) if p.t else 0, ts(0, 2, 77)),
    (".5e1+5.+1E-1+0.1e+1", "", lambda p: D("11.1"), ts(0)),
    ("pi", "", lambda p: PI, ts(0)),
    ("sin(pi*t/7)", "", lambda p: sin(PI * T(p) / 7), ts(0, 1, 3, 9)),
    ("ln(1+t)-log(1+t)", "", lambda p: 0, ts(0, 17)),
    ("exp(-0.1*t)*sqrt(t)", "", lambda p: exp(-(D("0.1") * T(p))) * sqrt(T(p)), ts(0, 2, 50)),
    ("abs(3-t)", "", lambda p: abs(3 - p.t), ts(0, 7)),
    ("min(t,5)", "", lambda p: min(p.t, 5), ts(3, 9)),
    ("min(9,t,4,6)", "", lambda p: min(9, p.t, 4, 6), ts(3, 5, 20)),
    ("max(9,t,4)", "", lambda p: max(9, p.t), ts(3, 20)),
    ("floor(t/7)-floor(-t/7)", "", lambda p: p.t // 7 - (-p.t // 7), ts(0, 6, 7, 50)),
    ("pow(t,0.5)-t^0.5", "", lambda p: 0, ts(0, 3)),
    ("pow(1+t,-1.5)", "", lambda p: (1 + T(p)) ** D("-1.5"), ts(0, 3, 99)),
    ("t+100*h+1000*H+1e5*d+1e8*L", "", lambda p: p.t + 100 * p.h + 1000 * p.H + 10 ** 5 * p.d + 10 ** 8 * p.L, [P(5, 3, 12, 80, 4096)]),
    ("sum(i,1,10,i)", "", lambda p: 55, ts(0)),
    ("sum(i,0,t,i*i)", "", lambda p: sum(i * i for i in range(p.t + 1)), ts(0, 1, 9)),
    ("sum(i,5,4,1/0)", "", lambda p: 0, ts(0)),
    ("sum(i,0.5,3,i)", "", lambda p: D("4.5"), ts(0)),
    ("sum(i,1,3,sum(j,i,3,10*i+j))", "", lambda p: sum(10 * i + j for i in (1, 2, 3) for j in range(i, 4)), ts(0)),
    ("sum(i,1,3,sum(i,i,3,i))", "", lambda p: 6 + 5 + 3, ts(0)),
    ("i+sum(i,1,3,i)+i", "i=0.25", lambda p: D("6.5"), ts(0)),
    ("sum(w,1,3,w*w)+window(w=2)", "", lambda p: 14, ts(1)),
    ("a*t+b", "a=-0.75&b=1e-3", lambda p: D("-0.75") * T(p) + D("0.001"), ts(0, 3, 500)),
    ("-p*t", "p=0.5,0.7,1.1", lambda p: -(D(["0.5", "0.7", "1.1"][p.h - 1]) * T(p)), heads(3, 10)),
    # presets
    ("alibi", "", lambda p: -(paper_slope(p) * T(p)), heads(8, 100) + heads(12, 33) + ts(0)),
    ("alibi", "delta=-3", lambda p: -(paper_slope(p, -3) * T(p)), heads(4, 5)),
    ("alibi(2)", "", lambda p: -(paper_slope(p, 2) * T(p)), heads(4, 5)),
    ("alibi(delta = 1/2)", "", lambda p: -(paper_slope(p, D("0.5")) * T(p)), heads(4, 5)),
    ("alibi_press", "", lambda p: -(2 ** -press_slopes(p.H)[p.h - 1] * T(p)), heads(8, 100) + heads(12, 33) + heads(1, 4) + heads(3, 4) + heads(25, 7)),
    ("alibi_press(delta=2)", "", lambda p: -(2 ** -(press_slopes(p.H)[p.h - 1] + 2) * T(p)), heads(6, 11)),
    ("alibi_equal", "s=3", lambda p: -(Value(2) ** -3 * T(p)), ts(0, 9, h=2)),
    ("alibi_equal(0)", "", lambda p: -T(p), ts(9)),
    ("window(64)", "", lambda p: 0 if p.t < 64 else -INF, ts(0, 63, 64, 1000)),
    ("alibi + window(w=64)", "", lambda p: -(paper_slope(p) * T(p)) if p.t < 64 else -INF, ts(0, 63, 64, h=5)),
    ("kerple_log", "p=1.05&a=0.3", lambda p: -(D("1.05") * ln(1 + D("0.3") * T(p))), ts(0, 1, 8000)),
    ("kerple_log(a=2)", "p=1,2,3,4", lambda p: -(p.h * ln(1 + 2 * T(p))), heads(4, 12)),
    ("kerple_log(2,1)", "", lambda p: -(2 * ln(1 + T(p))), ts(12)),
    ("kerple_power", "a=0.01&p=1.5", lambda p: -(D("0.01") * T(p) ** D("1.5")), ts(0, 1, 4000)),
    ("sandwich", "", sandwich, ts(0, 1, 100, 2047, 8191, h=8) + heads(4, 77)),
    ("sandwich(first=1)", "", lambda p: sandwich(p, first=1), ts(0, 1, 100, 8191, h=8)),
    ("sandwich", "dbar=32", lambda p: sandwich(p, dbar=32), ts(0, 5, 700, h=3)),
    ("sum(i,0,1,sandwich(dbar=32,first=i))", "", lambda p: sandwich(p, 32, 0) + sandwich(p, 32, 1), ts(5, h=3)),
    ("sandwich(dbar=sum(j,1,4,8))", "", lambda p: sandwich(p, dbar=32), ts(5, h=3)),
    ("smoothed_sandwich", "", lambda p: (D("-0.825") * ln(1 + T(p)) - D("0.8")) * 8 / (Value(8 * p.h) / p.H), ts(0, 1, 8191) + heads(4, 77)),
    ("t5", "&".join("w%d=%s" % (i, w) for i, w in enumerate(w32)), lambda p: D(w32[t5_bucket(p.t)]),
     ts(*range(0, 20), 20, 21, 23, 24, 26, 27, 30, 31, 34, 35, 39, 40, 45, 46, 51, 52, 58, 59, 66, 67, 76, 77, 86, 87, 98, 99, 112, 113, 127, 128, 5000)),
    ("type1", "", lambda p: -ln(1 + (paper_slope(p) * T(p)) ** 2), heads(4, 100)),
    ("type1", "k=1", lambda p: -ln(1 + T(p) ** 2), ts(0, 7)),
    ("type2", "", lambda p: -(ln(3 + paper_slope(p) * T(p)) ** 2), heads(4, 100)),
    ("type2(1)", "", lambda p: -(ln(3 + T(p)) ** 2), ts(0, 7)),
    ("divergent_a", "", lambda p: -ln(1 + paper_slope(p) * T(p)), heads(4, 100)),
    ("divergent_b", "", lambda p: -(ln(3 + paper_slope(p) * T(p)) + ln(ln(3 + paper_slope(p) * T(p)))), heads(4, 100)),
    ("divergent_b(k=1/h)", "", lambda p: -(ln(3 + T(p) / p.h) + ln(ln(3 + T(p) / p.h))), heads(3, 100)),
    ("retention", "", lambda p: ln(1 - Value(2) ** -(4 + p.h)) * T(p), heads(8, 100) + ts(0, 1, h=3)),
    ("lightning", "", lambda p: -(D("1.00001") * paper_slope(p)) * T(p), heads(4, 100)),
    ("lightning(0.25)", "", lambda p: -(paper_slope(p) / 4) * T(p), heads(3, 100)),
    ("none", "", lambda p: 0, ts(0, 99)),
]

print("# formula;sets;h;H;d;L;t;value;tolerance  (made by make.py)")
for text, sets, f, points in rows:
    for p in points:
        value = Value.of(f(p))
        shown = "-inf" if value.v == -mp.inf else mp.nstr(value.v, 20)
        print(";".join(map(str, (text, sets, p.h, p.H, p.d, p.L, p.t, shown, mp.nstr(2 * value.e if mp.isfinite(value.v) else mpf(0), 3)))))
