#!/usr/bin/env python3
"""`reach trf` beside SymPy, mpmath and PARI on COUNT biases (100): does the sum of exp(b(t)) converge, and to what?

usage: compare_cas.py REACH PAGE [COUNT]        writes PAGE; `make compare-cas`

The biases are the first COUNT of tests/goldens/series/natural.tsv when every fifth is left out; their verdicts are those of that file, made without any of the
four. A value is right within 10^-6 of B as `reach` encloses it (tests hold that against sums of mpmath). Each question has LIMIT seconds of processor time.
"""
import csv
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
LIMIT = 10
NEEDS = {"sympy": "sympy", "mpmath": "mpmath", "pari": "cypari"}


class Dialect:
    """How a program writes what the others write in another way."""
    power, functions, minimum, maximum = "**", {"ln": "log", "log": "log"}, "Min", "Max"
    number = staticmethod(lambda q: f"({q.numerator}/{q.denominator})" if q.denominator > 1 else f"({q.numerator})")
    compare = staticmethod(lambda op, a, b: f"({a}{op}{b})")
    choose = staticmethod(lambda c, a, b: f"({a} if {c} else {b})")
    sum = staticmethod(lambda body, i, a, b: f"fsum({body} for {i} in range(int({a}), int({b}) + 1))")


class Mpmath(Dialect):
    """Python, whose branches are taken only where they are wanted."""
    number = staticmethod(lambda q: f"(mpf({q.numerator})/{q.denominator})")


class Sympy(Dialect):
    functions = {**Dialect.functions, "abs": "Abs"}
    compare = staticmethod(lambda op, a, b: f"{dict([('==', 'Eq'), ('!=', 'Ne')])[op]}({a},{b})" if op in ("==", "!=") else f"({a}{op}{b})") # Python's == is of the texts
    choose = staticmethod(lambda c, a, b: f"Piecewise(({a},{c}),({b},True))")
    sum = staticmethod(lambda body, i, a, b: f"Sum({body},({i},{a},{b}))")


class Pari(Dialect):
    power, minimum, maximum = "^", "min", "max"
    choose = staticmethod(lambda c, a, b: f"if({c},{a},{b})")
    sum = staticmethod(lambda body, i, a, b: f"sum({i}={a},{b},{body})")


def written(n, dialect):
    """The tree of certificate.Reader as the program of that dialect reads it."""
    kind, parts = n[0], [written(x, dialect) if isinstance(x, tuple) else x for x in n[1:]]
    if kind == "number":
        return dialect.number(parts[0])
    if kind == "name":
        return parts[0].replace("sum ", "")
    if kind in ("add", "mul", "div", "pow"):
        return "(" + parts[0] + {"add": "+", "mul": "*", "div": "/", "pow": dialect.power}[kind] + parts[1] + ")"
    if kind == "neg":
        return f"(-{parts[0]})"
    if kind == "call":
        return f"{dialect.functions.get(parts[0], parts[0])}({parts[1]})"
    if kind in ("min", "max"):
        return f"{dialect.minimum if kind == 'min' else dialect.maximum}({parts[0]},{parts[1]})"
    if kind == "compare":
        return dialect.compare(*parts)
    if kind == "choose":
        return dialect.choose(*parts)
    if kind == "sum":
        i, a, b, body = parts
        return dialect.sum(body, i.replace("sum ", ""), a, b)
    raise ValueError(kind)


def tree(text):
    import certificate
    return certificate.Reader(text, {}).choice()


def ask_sympy(text):
    import sympy
    from sympy import Piecewise, Max, Min, Sum, Abs, floor, exp, log, sin, cos, sqrt, pi, oo
    i, t = sympy.Symbol("i", integer=True), sympy.Symbol("t", integer=True, nonnegative=True)
    text = written(tree(text), Sympy)
    # numbers exact: 1/10 is not a float
    b = sympy.sympify(text, locals={"t": t, "i": i, "inf": oo})
    begin = time.process_time()
    try:
        found = Sum(exp(b), (t, 0, oo)).is_convergent()
        found = "converges" if found == True else "diverges" if found == False else "undecided" # noqa: E712
    except NotImplementedError:
        found = "undecided"
    return {"verdict": found, "time": time.process_time() - begin}


def ask_mpmath(text):
    import mpmath
    from mpmath import mp, inf
    n = tree(text)
    names = {k: getattr(mpmath, k) for k in ("log", "exp", "sin", "cos", "sqrt", "floor", "pi", "inf", "mpf", "fsum")}
    names.update(abs=abs, Min=min, Max=max)
    body = eval("lambda t: " + written(n, Mpmath), names)
    begin = time.process_time()
    try:
        value = mpmath.nsum(lambda t: mpmath.exp(body(t)), [0, inf])
        value = float(mp.mpf(value.real)) if value == value else math.nan
    except Exception as e:
        return {"error": repr(e)[:80], "time": time.process_time() - begin}
    return {"value": value, "time": time.process_time() - begin}


def ask_pari(text):
    from cypari import pari
    pari.allocatemem(2 ** 26, 2 ** 30, silent=True)
    text = written(tree(text), Pari).replace("pi", "Pi")
    text = text.replace("(-inf)", "(-10^9)")
    begin = time.process_time()
    try: # for terms that are positive
        value = float(pari(f"sumpos(t=0,exp(1.*{text}))"))
    except Exception as e:
        return {"error": str(e)[:80].replace("\n", " "), "time": time.process_time() - begin}
    return {"value": value, "time": time.process_time() - begin}


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT + 3, LIMIT + 4)) # the packages take a while to load


def ask(tool, text):
    begin = time.time()
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--ask", tool, text], capture_output=True, text=True, timeout=20 * LIMIT, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return {"error": "time", "time": LIMIT}
    try:
        return json.loads(done.stdout.strip().split("\n")[-1])
    except ValueError:
        return {"error": "time" if done.returncode < 0 else done.stderr.strip().split("\n")[-1][:80], "time": LIMIT if done.returncode < 0 else time.time() - begin}


def main():
    reach, page = sys.argv[1:3]
    missing = [package for package in NEEDS.values() if not importlib.util.find_spec(package)]
    if missing:
        print(f"compare-cas: skipped: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing (PYTHON=PROGRAM names another Python)")
        return
    with open(os.path.join(HERE, "goldens/series/natural.tsv")) as f:
        cases = [r for i, r in enumerate(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)) if i % 5 != 4][:int(sys.argv[3]) if len(sys.argv) > 3 else 100]
    tools = ["reach", *NEEDS]
    answers = {}
    kept = os.environ.get("COMPARE_CAS_KEPT") # answers of an earlier run, to go on with
    if kept and os.path.exists(kept):
        answers = json.load(open(kept))
    for row in cases:
        text, truth = row["formula"], {"C": "converges", "D": "diverges"}[row["verdict"]]
        lo = hi = None
        for tool in tools:
            key = f"{tool}\t{text}"
            if tool == "reach" or key not in answers:
                answers[key] = ask(tool, text) if tool != "reach" else reach_answer(reach, text)
            a = answers[key]
            if tool == "reach":
                lo, hi = a.pop("bounds", (None, None))
            a["judged"] = judge(a, truth, lo, hi)
        print(text, *(f"{t} {answers[f'{t}' + chr(9) + text]['judged']}" for t in tools), sep="\t", flush=True)
        if kept:
            json.dump(answers, open(kept, "w"))
    write_page(page, cases, tools, answers)


def reach_answer(reach, text):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([reach, "trf", "--heads", "1", "--certificate", path, "--", text], capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = {"time": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "error": "refused"}
        if os.path.exists(path):
            for line in open(path):
                words = line.split()
                if words[0] == "verdict":
                    out = {"time": out["time"], "verdict": words[1]}
                if words[0] == "sum":
                    out["bounds"] = (float(words[1]), float(words[2]))
    return out


def judge(a, truth, lo, hi):
    if a.get("error"):
        return "undecided" if a["error"] != "time" else "time"
    if a["time"] > LIMIT:
        return "time"
    if "verdict" in a:
        return "undecided" if a["verdict"] == "undecided" else "right" if a["verdict"] == truth else "wrong"
    value = a["value"]
    if truth == "diverges":
        return "right" if value == math.inf else "undecided" if value != value else "wrong"
    if value != value or lo is None or not hi < math.inf:
        return "undecided"
    return "right" if lo * (1 - 1e-6) <= value <= hi * (1 + 1e-6) else "wrong"


def write_page(page, cases, tools, answers):
    import importlib.metadata as metadata
    version = metadata.version
    names = {"reach": "`reach trf`", "sympy": f"SymPy {version('sympy')}, `Sum(...).is_convergent()`", "mpmath": f"mpmath {version('mpmath')}, `nsum`",
             "pari": f"PARI (cypari {version('cypari')}), `sumpos`"}
    prose = (f"Made by `make compare-cas COUNT={len(cases)}` (tests/compare_cas.py). The question is: does the sum of exp(b(t)), t = 0, 1, 2, ..., "
             f"converge, and to what? It is asked of the first {len(cases)} biases of tests/goldens/series/natural.tsv, leaving out every fifth. Each program has {LIMIT} s of "
             "processor time per bias. SymPy is asked for the verdict. mpmath and PARI give values. If the sum converges, a value within 10^-6 of B is right; if it "
             "diverges, saying so is right. A wrong number, or any number for a sum that diverges, counts as wrong, because nothing warns the user. The verdicts of "
             "the file were found by hand and by rules of its own script; B is the interval of `reach`, which tests check against sums of mpmath.")
    out = ["# Compared with computer algebra", "", *textwrap.wrap(prose, 100, break_long_words=False, break_on_hyphens=False), "",
           "| program | right | wrong | undecided, or an error | out of time | seconds, median | longest |", "|---|---|---|---|---|---|---|"]
    for tool in tools:
        mine = [answers[f"{tool}\t{r['formula']}"] for r in cases]
        n = lambda what: sum(a["judged"] == what for a in mine)
        times = sorted(min(a["time"], LIMIT) for a in mine)
        out.append(f"| {names[tool]} | {n('right')} | {n('wrong')} | {n('undecided')} | {n('time')} | {times[len(times) // 2]:.2f} | {times[-1]:.2f} |")
    out += ["", "| bias | sum | " + " | ".join(t if t != "reach" else "reach" for t in tools) + " |", "|---" * (2 + len(tools)) + "|"]
    for r in cases:
        cells = [answers[f"{t}\t{r['formula']}"]["judged"] for t in tools]
        out.append("| `" + r["formula"].replace("|", "\\|") + "` | " + {"C": "converges", "D": "diverges"}[r["verdict"]] + " | " + " | ".join(cells) + " |")
    with open(page, "w") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--ask":
        print(json.dumps({"sympy": ask_sympy, "mpmath": ask_mpmath, "pari": ask_pari}[sys.argv[2]](sys.argv[3])))
    else:
        main()
