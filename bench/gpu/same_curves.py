"""Two results of `reach erf` of the same models: python3 bench/gpu/same_curves.py ORACLE OTHER TOLERANCE

Exit 1 unless each curve c of OTHER is within TOLERANCE of ORACLE's, and each ERF(q) lies between ORACLE's ERF(q - TOLERANCE) and ERF(q + TOLERANCE).
"""
import csv
import sys


def rows(folder, name):
    with open(f"{folder}/{name}", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def curves(folder):
    """c by distance, of each model, target and layer."""
    found = {}
    for row in rows(folder, "curve.csv"):
        found.setdefault((row["model"], row["target"], row["layer"]), []).append((int(row["distance"]), float(row["c"])))
    return {key: [c for _, c in sorted(pairs)] for key, pairs in found.items()}


def field(c, q):
    """The least number of most recent tokens whose share of the gradient is above q; c[t] is the share of distances up to t."""
    return next((t + 1 for t, share in enumerate(c) if share > q), len(c))


def main():
    oracle, other, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
    want, got = curves(oracle), curves(other)
    assert want and want.keys() == got.keys(), "other models"
    worst = 0.0
    for key in want:
        assert len(want[key]) == len(got[key])
        # not max(): it would pass over what is not a number
        for a, b in zip(want[key], got[key]):
            if not abs(a - b) <= worst:
                worst = abs(a - b)
    wrong, same, count = [], 0, 0
    for row in rows(other, "summary.csv"):
        q, c, erf = float(row["threshold"]), want[row["model"], row["target"], row["layer"]], int(row["erf"])
        least, most = field(c, q - tolerance), field(c, q + tolerance)
        count, same = count + 1, same + (erf == field(c, q))
        if not least <= erf <= most:
            wrong.append(f"ERF({q:g}) {erf}, expected {least} to {most}")
    print(f"{other}: c within {worst:.2e} (at most {tolerance:g}); {same} of {count} ERFs the same" + "".join("; " + w for w in wrong))
    sys.exit(bool(wrong) or not worst <= tolerance)


main()
