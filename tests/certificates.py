#!/usr/bin/env python3
"""Certificates of many formulas, checked: those of the goldens, and random ones. Then damaged ones, each of which must be refused.

usage: certificates.py REACH [COUNT [SEED]] [-v]        COUNT random formulas (1000); 0: a sample of the goldens and no random ones; -v: why what is damaged is refused

Needs mpmath. Exits 1 if a certificate is refused, or a damaged one is not.
"""
import concurrent.futures
import contextlib
import csv
import io
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "goldens/series")]

import certificate
import differential

# a line of each kind, and what is made of it
DAMAGE = [
    ("-2*ln(1+t)", r"rate -2 -1\.99\S+", "rate -2 -2.5", "another rate"),
    ("-2*ln(1+t)", r"start -13\.8\S+ -13\.8\S+", "start -15 -14.5", "another start"),
    ("-2*ln(1+t)", r"tail 1000 \S+ \S+", "tail 1000 0.0011 0.0012", "another tail"),
    ("-2*ln(1+t)", r"partial 64 \S+ \S+", "partial 64 1.62 1.6294", "another partial sum"),
    ("-2*ln(1+t)", r"sum \S+ \S+", "sum 1.65 1.66", "another sum"),
    ("-2*ln(1+t)", r"inf 61 61", "inf 60 60", "a smaller field"),
    ("-2*ln(1+t)", r"inf 61 61", "inf 62 62", "a larger field"),
    ("-2*ln(1+t)", r"length 50 28 28", "length 50 27 27", "a smaller field of a length"),
    ("-2*ln(1+t)", r"verdict converges", "verdict diverges", "another verdict"),
    ("-2*ln(1+t)", r"formula -2\*ln\(1\+t\)", "formula -1.9*ln(1+t)", "another formula"),
    ("-2*ln(1+t)", r"rule 4\.4 from 1000\nrate \S+ \S+", "rule 4.4 from 1000\nrate -2 -1", "a rate that decides nothing"),
    ("-2*ln(1+t)", r"shift 0", "shift 1", "another shift"),
    ("-2*ln(1+t)", r"tail 1000", "tale 1000", "an unknown line"),
    ("-ln(1+t)", r"start \S+ \S+", "start -0.5 -0.5", "another start of a harmonic series"),
    ("-ln(1+t)", r"verdict diverges", "verdict converges", "convergence of a harmonic series"),
    ("alibi", r"slope -0\.5 -0\.5", "slope -0.51 -0.51", "another slope"),
    ("alibi", r"constant 0 0", "constant 0.1 0.1", "another constant"),
    ("window(40)", r"rule 4\.2 from 40", "rule 4.2 from 39", "no mass too early"),
    ("-ln(2+t)-2*ln(ln(2+t))", r"rule 4\.7 from 4\ngrowth -1 -2 0 0 0 rest \S+ 0", "rule 4.7 from 4\ngrowth -1 -2 0 0 0 rest -1.5 -0.5", "another rest"),
    ("-ln(2+t)-2*ln(ln(2+t))", r"growth -1 -2 0", "growth -1 -3 0", "another exponent"),
    ("-ln(2+t)-ln(ln(2+t))", r"growth -1 -1 0 0 0 rest \S+ \S+", "growth -1 -1 0 0 0 rest 1 2", "a lower bound that is too high"),
    ("-ln(2+t)-ln(ln(2+t))", r"rest \S+", "rest -inf", "no lower bound"),
    ("-ln(3+t)-(1+10^-5000)*ln(ln(3+t))", r"growth -1 -10*1/10{5000} ", "growth -1 -1 ", "another exponent of 5,000 digits"),
    ("-ln(1+t)-ln(1+t)^0.1", r"stretch 1 -1 -1 1/10", "stretch 1 -1.1 -1.1 1/10", "another stretch"),
    ("-ln(1+t)-ln(1+t)^0.1", r"stretch 1 -1 -1 1/10", "stretch 1 0 0 1/10", "a stretch that decides nothing"),
    ("(-1)^t*5-2*ln(1+t)", r"period 2\n", "period 3\n", "another period"),
    ("(-1)^t*5-2*ln(1+t)", r"residue 1 growth -2 0 0 0 0 rest \S+ \S+", "residue 1 growth -2 0 0 0 0 rest -9 -8", "another residue"),
]


def reach_certificate(reach, arguments):
    """Its text, or None where the formula is refused (that is not a subject of certificates)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "certificate.txt")
        done = subprocess.run([reach, "trf", "--certificate", path, *arguments], capture_output=True, text=True, timeout=120)
        return open(path).read() if done.returncode == 0 else None


def checked(text):
    """(status, what was printed)"""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file, contextlib.redirect_stdout(io.StringIO()) as out:
        file.write(text)
        file.flush()
        return certificate.main(["--quiet", file.name]), out.getvalue()


def one(reach, arguments):
    """(status, what was printed) of the certificate of a formula; status None where it is refused."""
    text = reach_certificate(reach, arguments)
    if text is None:
        return None, ""
    try:
        return checked(text)
    except Exception as e: # a formula that the checker does not read is no proof
        return 1, f"{arguments[-1]}: the checker failed: {e!r}\n0 proved, 0 agree\n"


def damaged(reach):
    missed, texts = 0, {}
    for formula, old, new, what in DAMAGE:
        if formula not in texts:
            texts[formula] = reach_certificate(reach, ["--epsilon", "0.1", "--epsilon", "0.01", "--length", "50", "--heads", "1" if formula != "alibi" else "8", "--", formula])
            status, out = checked(texts[formula])
            if status:
                print(f"{formula}: refused as it stands: {out}", end="")
                missed += 1
        text, n = re.subn(old, new, texts[formula], count=1)
        if not n:
            print(f"{formula}: no line like {old} to be damaged")
            missed += 1
        else:
            status, out = checked(text)
            if "-v" in sys.argv:
                print(f"{what}: {out}", end="")
            if status == 0:
                print(f"{formula}: {what} is not refused")
                missed += 1
    print(f"{len(DAMAGE)} damaged certificates: {len(DAMAGE) - missed} refused")
    return missed


def goldens():
    with open(os.path.join(HERE, "goldens/series/natural.tsv")) as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield ["--heads", "1", "--", row["formula"]]
    seen = set()
    with open(os.path.join(HERE, "goldens/series/cases.tsv")) as f:
        for row in csv.DictReader((line.lstrip("# ") for line in f), delimiter="\t", quoting=csv.QUOTE_NONE):
            key = (row["formula"], row["set"], row["heads"])
            if key in seen or "L" in row["formula"]:
                continue
            seen.add(key)
            sets = [] if row["set"] == "-" else [x for s in row["set"].split() for x in ("--set", s)]
            yield [*sets, "--heads", row["heads"], "--epsilon", "0.01", "--epsilon", "1e-4", "--", row["formula"]]


def main():
    given = [a for a in sys.argv[1:] if a != "-v"]
    reach, count = given[0], int(given[1]) if len(given) > 1 else 1000
    random.seed(int(given[2]) if len(given) > 2 else 1)
    bad, n, settled, lines = damaged(reach), 0, 0, [0, 0]
    asked = list(goldens())
    asked = asked[::12] if count == 0 else asked
    tails = ("-2*ln(1+t)", "-t", "-t/9", "-3*ln(1+t)", "-t^0.5", "-ln(1+t)", "-1.5*ln(2+t)")
    for i in range(count):
        f = differential.formula(1 + i % 3)
        asked.append(["--heads", "1", "--", f if i % 3 == 0 else f"({f}){random.choice(tails)}" if i % 3 == 1 else f"t<15?({f}):{random.choice(tails)}"])
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        waited = [pool.submit(one, reach, arguments) for arguments in asked]
        for done, ended in enumerate(concurrent.futures.as_completed(waited), 1):
            status, out = ended.result()
            if done % 100 == 0:
                print(f"{done} of {len(asked)} formulas", flush=True)
            if status is None:
                continue
            n += 1
            bad += status
            proved, agree = re.search(r"(\d+)(?: lines)? proved, (\d+) agree", out).groups()
            lines = [lines[0] + int(proved), lines[1] + int(agree)]
            settled += agree == "0" and proved != "0"
            if status:
                print(out, end="", flush=True)
    print(f"{n} certificates of {len(asked)} formulas: {bad} refused or not to be read; {settled} proved whole; {lines[0]} lines proved, {lines[1]} agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
