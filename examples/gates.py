#!/usr/bin/env python3
"""Measure the example models and hold them to their gates.

    python3 examples/gates.py examples/models/*          measure those that are not yet, and print the table of all
    python3 examples/gates.py --keep examples/repeats DIR/*-seed-*      of models whose weights are not kept: what was measured
    python3 examples/gates.py --readme examples/models/* examples/repeats/*     put the tables into examples/README.md

For each model `reach ppl` scores the same targets of a project that training never saw at every
context, and `reach erf` measures the field; the means and the paired differences go to
MODEL/measured.csv, the field's curve to MODEL/curve.csv, made once. The gates:

uses its context    the least NLL over contexts up to L_tr lies at least 0.1 nats below that at 16 inputs, p < 0.01, paired by target; asked of
                    all models but those of SHORT, which cannot
trained enough      NLL at L_tr falls by less than 3 % with half as many steps again (the models NAME-tokens-N)
extrapolates        said, not asked: the difference of NLL at 2, 4 and 16 times L_tr to that at L_tr, paired, with its 95 % interval; "yes" where
                    none of the intervals lies above 2 % of the NLL at L_tr

Needs nothing but `reach` (--reach, default ./reach). doc/studies are made from what it measures (make studies).
"""

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT, NOVEL = (os.path.join(HERE, "text", name) for name in ("sqlalchemy.py.gz", "moby-dick.txt.gz"))
TARGETS, STRIDE = 4000, 524         # 4000 x 524 tokens of the text's 2.1 million; segments of 2049 overlap
NOVEL_STRIDE = 110                  # and of the novel's 0.5 million
SEGMENTS, LENGTH = 400, 1025        # of the field: 1024 inputs
CONTEXTS = (8, 16, 32, 64, 96, 128)
LEAST_GAIN, SIGNIFICANCE, LEAST_FALL, RISE = 0.1, 0.01, 0.03, 0.02

# short by construction, written down before any was trained: at slope 1 or 1/4 a token 16 back has the weight exp(-16) or exp(-4); 16 keys a layer
SHORT = ("alibi-equal-0", "window-16")


def base_of(name):
    """The row of position_encodings.py that a name was made from."""
    return re.sub(r"(-novels)?(-layers-\d+)?(-train-\d+)?(-tokens-\d+)?(-seed-\d+)?$", "", name)


def is_repeat(name):
    """Whether the model is another one again, with another seed, more steps, fewer layers or on another corpus."""
    return re.search(r"-((seed|tokens|layers)-\d+|novels)$", name) is not None


def text_of(folder):
    """The text that a model is measured on, and how many tokens apart its targets are."""
    return (NOVEL, NOVEL_STRIDE) if "-novels" in os.path.basename(os.path.normpath(folder)) else (TEXT, STRIDE)


def run(*arguments):
    subprocess.run([str(a) for a in arguments], check=True, stdout=subprocess.DEVNULL)


def config_of(folder):
    """What config.json says of a model, L_tr under one name whichever of two layouts it has."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    return {"train_length": config.get("max_position_embeddings"), "position": {}, **config}


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def mean_and_error(values):
    """Mean, and its standard error, of independent values."""
    n = len(values)
    mean = math.fsum(values) / n
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)


def write_csv(path, remarks, rows):
    """Write remarks, and rows of which the first one has the titles; the file appears whole."""
    with open(path + ".part", "w", newline="") as file:
        file.writelines(f"# {remark}\n" for remark in remarks)
        csv.writer(file, lineterminator="\n").writerows(rows)
    os.rename(path + ".part", path)


def thinned(curve):
    """Twelve points an octave, and the last, of the rows of reach's curve.csv, with titles: tokens counted from the most recent one."""
    by_tokens = {int(row["distance"]) + 1: row for row in curve}
    wanted = sorted({round(2 ** (k / 12)) for k in range(12 * 20)} & set(by_tokens) | {len(by_tokens)})
    return [["tokens", "c", "c_lo", "c_hi", "s"], *([n, *(f"{float(by_tokens[n][key]):.6g}" for key in ("c", "c_lo", "c_hi", "s"))] for n in wanted)]


def measure_field(folder, reach, config):
    """The rows of summary.csv, a threshold each; FOLDER/curve.csv: the cumulative curve, thinned to twelve points an octave."""
    rows, (text, _) = config["position"].get("length", 1 << 30), text_of(folder)
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "erf", folder, "--text", text, "--length", min(LENGTH, rows + 1), "--segments", SEGMENTS, "-o", scratch, "--device", "cpu", "--quiet", "--force")
        summary, curve = (read_csv(os.path.join(scratch, name)) for name in ("summary.csv", "curve.csv"))
    write_csv(os.path.join(folder, "curve.csv"),
              [f"made by examples/gates.py: the field of {summary[0]['segments']} segments of {summary[0]['length']} tokens of {os.path.basename(text)}, gradient of log p of the last one",
               "units: tokens: the most recent inputs; c, c_lo, c_hi: their share of the gradient, with its 95 % interval by bootstrap-t; s: share of the farthest of them"],
              thinned(curve))
    return summary


def field_rows(summary):
    """The rows of measured.csv about the field."""
    return [[*[""] * 8, row["threshold"], row["erf"], row["erf_lo"], row["erf_hi"], row["saturated"]] for row in summary]


def measure(folder, reach):
    """Write FOLDER/measured.csv: a row a context, then a row a threshold of the field; and FOLDER/curve.csv. Losses that are there stay."""
    config = config_of(folder)
    summary, path = measure_field(folder, reach, config), os.path.join(folder, "measured.csv")
    if os.path.exists(path):
        with open(path) as file:
            remarks = [line[2:-1].replace("95 % bootstrap interval", "95 % interval by bootstrap-t") for line in file if line.startswith("#")]
        rows = read_csv(path)
        write_csv(path, remarks, [list(rows[0]), *(list(row.values()) for row in rows if row["context"]), *field_rows(summary)])
        return
    trained, rows = config["train_length"], config["position"].get("length", 1 << 30)
    contexts = sorted({*CONTEXTS, trained, 2 * trained, 4 * trained, 16 * trained})
    contexts = [c for c in contexts if c <= rows]
    text, stride = text_of(folder)
    with tempfile.TemporaryDirectory() as scratch:
        each = os.path.join(scratch, "each.csv")
        run(reach, "ppl", folder, "--text", text, "--context", ",".join(map(str, contexts)), "--segments", TARGETS, "--stride", stride, "--per-token", each,
            "--device", "cpu", "--quiet")
        nll = {c: [] for c in contexts}
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
    table = [["context", "targets", "nll", "nll_se", "from_16", "from_16_se", "from_L_tr", "from_L_tr_se", "threshold", "field", "field_lo", "field_hi", "saturated"]]
    for c in contexts:
        pairs = [mean_and_error(nll[c])] + [mean_and_error([a - b for a, b in zip(nll[c], nll[base])]) for base in (16, trained)]
        table.append([c, len(nll[c]), *(f"{value:.5f}" for pair in pairs for value in pair), *[""] * 5])
    table += field_rows(summary)
    write_csv(path, [f"made by examples/gates.py: NLL of {len(nll[contexts[0]])} targets of {os.path.basename(text)}, {stride} tokens apart, the same at every context; the field of "
                     f"{summary[0]['segments']} segments of {summary[0]['length']} tokens",
                     "units: context, field in tokens; nll in nats a token; from_16, from_L_tr: nll less that at 16 and at L_tr inputs, paired by target; _se: standard errors; "
                     "field_lo, field_hi: 95 % interval by bootstrap-t"], table)


class Measured:
    """What measured.csv says of one model."""

    def __init__(self, folder):
        self.name = os.path.basename(os.path.normpath(folder))
        self.config = config_of(folder)
        self.trained = self.config["train_length"]
        rows = read_csv(os.path.join(folder, "measured.csv"))
        self.at = {int(row["context"]): {k: float(row[k]) for k in ("nll", "from_16", "from_16_se", "from_L_tr", "from_L_tr_se")} for row in rows if row["context"]}
        self.targets = next(row["targets"] for row in rows if row["context"])
        self.field = {row["threshold"]: (">= " if row["saturated"] == "1" else "") + row["field"] for row in rows if row["threshold"]}

    def best(self):
        """The context up to L_tr with the least NLL."""
        return min((c for c in self.at if c <= self.trained), key=lambda c: self.at[c]["nll"])

    def gain(self):
        """By how much that lies below the NLL at 16 inputs, its standard error, and p (two-sided, normal: there are thousands of targets)."""
        row = self.at[self.best()]
        error = row["from_16_se"]
        return -row["from_16"], error, math.erfc(abs(row["from_16"]) / error / math.sqrt(2)) if error else 1.0

    def uses(self):
        gain, _, p = self.gain()
        if gain >= LEAST_GAIN and p < SIGNIFICANCE:
            return "yes"
        return "short" if base_of(self.name) in SHORT else "missed"

    def rises(self):
        """[(multiple of L_tr, difference, 95 % half width)]."""
        return [(k, self.at[k * self.trained]["from_L_tr"], 1.96 * self.at[k * self.trained]["from_L_tr_se"]) for k in (2, 4, 16) if k * self.trained in self.at]

    def extrapolates(self):
        return "yes" if all(d - half <= RISE * self.at[self.trained]["nll"] for _, d, half in self.rises()) else "no"


def table(models):
    """The gates as tables in Markdown: all models, then those trained longer, with fewer layers and other seeds beside the first, then another corpus."""
    by_name = {m.name: m for m in models}
    lines = rows_of([m for m in models if not is_repeat(m.name)])
    longer = [(m, by_name[base_of(m.name)]) for m in models if "-tokens-" in m.name and base_of(m.name) in by_name]
    if longer:
        lines += ["", "With half as many steps again:", "", "| model | NLL at L_tr | with more | falls by | trained enough |", "|---|---|---|---|---|"]
    for more, m in longer:
        before, after = m.at[m.trained]["nll"], more.at[more.trained]["nll"]
        fall = (before - after) / before
        lines.append(f"| `{m.name}` | {before:.3f} | {after:.3f} | {100 * fall:.1f} % | {'yes' if fall < LEAST_FALL else 'missed'} |")
    if longer:
        lines += [""] + rows_of([each for more, m in longer for each in (m, more)])
    for title, suffix in (("with two layers", r"-layers-2"), ("with other seeds", r"-seed-\d+")):
        again = sorted({base_of(m.name) for m in models if re.search(suffix + "$", m.name)} & set(by_name))
        if again:
            lines += ["", f"The same {title}:", ""] + rows_of([m for name in again for m in models if re.fullmatch(re.escape(name) + f"({suffix})?", m.name)])
    novels = [m for m in models if m.name.endswith("-novels")]
    if novels:
        lines += ["", "Trained on six novels, measured on Moby-Dick:", ""] + rows_of(novels)
    return "\n".join(lines) + "\n"


def rows_of(models):
    """The lines of a table with a row a model."""
    lines = ["| model | NLL at 16 | 128 or L_tr | least, where | gain over 16 | uses its context | 2 L_tr | 4 L_tr | 16 L_tr | extrapolates | ERF(0.5) | ERF(0.99) |",
             "|" + "---|" * 12]
    for m in models:
        gain, error, _ = m.gain()
        rises = {k: f"{d:+.3f} ± {half:.3f}" for k, d, half in m.rises()}
        lines.append(f"| `{m.name}` | {m.at[16]['nll']:.3f} | {m.at[m.trained]['nll']:.3f} | {m.at[m.best()]['nll']:.3f}, {m.best()} | {gain:.3f} ± {1.96 * error:.3f} | {m.uses()} | "
                     + " | ".join(rises.get(k, "no rows") for k in (2, 4, 16)) + f" | {m.extrapolates()} | {m.field['0.5']} | {m.field['0.99']} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description="measure the example models and hold them to their gates")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="folders of models")
    parser.add_argument("--reach", default="./reach")
    parser.add_argument("--keep", metavar="DIR", help="put what was measured into DIR/NAME, with config.json and training.csv")
    parser.add_argument("--readme", action="store_true", help="put the tables into examples/README.md, between its two marks")
    options = parser.parse_args()
    for folder in options.models:
        if not all(os.path.exists(os.path.join(folder, name)) for name in ("measured.csv", "curve.csv")):
            print(f"measuring {folder}", file=sys.stderr, flush=True)
            measure(folder, options.reach)
        if options.keep:
            kept = os.path.join(options.keep, os.path.basename(os.path.normpath(folder)))
            os.makedirs(kept, exist_ok=True)
            for name in ("config.json", "training.csv", "measured.csv", "curve.csv"):
                shutil.copy(os.path.join(folder, name), kept)
    text = table([Measured(folder) for folder in options.models])
    if not options.readme:
        print(text, end="")
        return
    path = os.path.join(HERE, "README.md")
    with open(path) as file:
        before, _, after = re.split(r"(?s)(?<=<!-- gates -->\n)(.*)(?=<!-- end of gates -->)", file.read())
    with open(path, "w") as file:
        file.write(before + text + after)


if __name__ == "__main__":
    main()
