"""What `reach trf` and `reach fit` say of formulas alone, for the pages; and the wavelengths of rotary positions."""

import math
import os
import subprocess
import tempfile
from functools import cache

from gates import read_csv
from tables import markdown

WIDTHS = (32, 64, 128, 256, 512)                                    # dbar of Sandwich
EXPONENTS = (0.5, 0.9, 1, 1.01, 1.05, 1.1, 1.25, 1.5, 2)            # of KERPLE's logarithm
SUMS = ("alibi", "kerple_power(p=0.5,a=1)", "type1", "type2", "divergent_a", "divergent_b", "sandwich", "smoothed_sandwich", "none")
SIZE, BASE, TRAINED, LONGEST = 24, 10000, 128, 512                  # of `rotary`, and the longest text of changes.md


class Calculator:
    """The calculator's answers."""

    def __init__(self, reach):
        self.reach = reach
        self.rows = cache(self.rows)

    def rows(self, verb, *arguments):
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([self.reach, verb, *arguments, "-o", scratch, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return read_csv(os.path.join(scratch, f"{verb}.csv"))

    def trf(self, formula, **parameters):
        """The verdicts of all heads."""
        return {row["verdict"] for row in self.rows("trf", formula, *(word for key, value in parameters.items() for word in ("--set", f"{key}={value}")))}

    def converges(self, formula):
        """Whether the sum of every head does; a formula that is not decided is an error."""
        verdicts = self.trf(formula)
        if "undecided" in verdicts:
            raise ValueError(f"{formula} is not decided")
        return verdicts == {"converges"}

    def fit(self, formula, distances):
        """Coefficients of the last head's log curve a + b ln(1 + t), and R^2."""
        rows = self.rows("fit", formula, "--range", distances)
        last = [row for row in rows if row["head"] == rows[-1]["head"]]
        return {**{row["coefficient"]: float(row["value"]) for row in last}, "r2": float(last[0]["r2"])}

    def fields(self, formula):
        """The last head's rows at epsilon 0.5, 0.1 and 0.01."""
        rows = self.rows("trf", formula, *(word for e in ("0.5", "0.1", "0.01") for word in ("--epsilon", e)))
        heads = [row["head"] for row in rows if row["head"].isdigit()] or ["all"]      # the mean kernel has a row of its own
        return [row for row in rows if row["head"] == heads[-1]]

    def sums_table(self, formulas):
        """Verdict, sum and fields of formulas, of the last of eight heads."""
        return markdown(["bias", "sum of exp(b)", "its value", "TRF(0.5)", "TRF(0.1)", "TRF(0.01)"],
                        [[f"`{f}`", "converges" if self.converges(f) else "diverges", f"{float(of[0]['sum_lo']):.4g}" if of[0]["verdict"] == "converges" else "-", *map(tokens, of)]
                         for f in formulas for of in [self.fields(f)]])

    def widths_table(self):
        """Log curves of Sandwich of several widths over 2048 distances, of the last of eight heads."""
        return markdown(["dbar", "slope b", "R^2", "sum of exp(b)"],
                        [[w, f"{of['b']:.2f}", f"{of['r2']:.2f}", " and ".join(self.trf(f"sandwich(dbar={w})"))] for w in WIDTHS for of in [self.fit(f"sandwich(dbar={w})", "0:2047")]])


def tokens(row):
    """An exact field, or its size where it has more than nine digits."""
    if not row["trf_lo"]:
        return "-"
    size = float(row["log10_trf_lo"])
    return row["trf_lo"] if size < 9 else f"{10 ** (size % 1):.1f} 10^{math.floor(size)}"


def growth(said, formula):
    """By how much TRF grows from epsilon 0.5 to 0.01."""
    first, *_, last = said.fields(formula)
    return 10 ** (float(last["log10_trf_lo"]) - float(first["log10_trf_lo"]))


def ladder():
    return [f"kerple_log(p={p},a=1)" for p in EXPONENTS]


def frequencies(change):
    """Radians a token of each pair of `rotary` under a change of changes.md at LONGEST inputs."""
    def of(base):
        return [base ** (-2 * i / SIZE) for i in range(SIZE // 2)]
    plain = of(BASE)
    if change == "linear, factor 4":
        return [f / 4 for f in plain]
    if change == "NTK (dynamic)":       # base times n / L_tr to the power of d / (d - 2): factor 1
        return of(BASE * (LONGEST / TRAINED) ** (SIZE / (SIZE - 2)))
    if change == "YaRN, factor 4":      # pairs of fewer than 1 turn in L_tr are divided by 4, of more than 32 not, between them by parts
        def pair(turns):
            return SIZE * math.log(TRAINED / (turns * 2 * math.pi)) / (2 * math.log(BASE))
        low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), SIZE - 1)
        parts = [min(max((i - low) / (high - low), 0), 1) for i in range(SIZE // 2)]
        return [f / 4 * p + f * (1 - p) for f, p in zip(plain, parts)]
    return of(500000) if change == "base 500000" else plain


def critical(change):
    """(pairs of which training met less than a turn, those of them that LONGEST inputs turn farther than training did, the farthest in multiples of what it met)."""
    slow = [i for i, f in enumerate(frequencies("as trained")) if 2 * math.pi / f > TRAINED]
    turned = [frequencies(change)[i] * (LONGEST - 1) / (frequencies("as trained")[i] * (TRAINED - 1)) for i in slow]
    return len(slow), sum(t > 1.02 for t in turned), max(turned)


def critical_table(changes):
    """Pairs beyond what training met, beside the loss at LONGEST inputs. changes: {name: NLL there}."""
    return markdown(["encoding", "slow pairs beyond their trained angles at 512", "the farthest, by", "NLL at 512"],
                    [[name, f"{critical(name)[1]} of {critical(name)[0]}", f"{critical(name)[2]:.2f}", f"{nll:.3f}"] for name, nll in changes.items()])
