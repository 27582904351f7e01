#!/usr/bin/env python3
"""Write the pages and figures of doc/studies from what was measured of the example models.

    python3 examples/studies/build.py [--reach ./reach] [--repeat N]

Each file of pages/ becomes a page. In it,

    {{EXPRESSION}}         is replaced by what the expression gives: every number of the text is drawn from the measured tables;
    {{claim(CONDITION)}}   vanishes, and ends the run with an error if the condition does not hold: a sentence cannot stand beside figures that contradict it;
    {% if EXPRESSION %} ... {% end %}, on lines of their own, keep what lies between only if it holds: `has('t5')` until that model is trained.

--repeat N measures the fields of N models again (those with the narrowest windows, which take least) and compares their curve.csv.
Needs `reach`, gnuplot, and nothing of Python but itself.
"""

import argparse
import filecmp
import os
import re
import shutil
import sys
import tempfile
import textwrap

import checked
import compared
import distances
import figures
import formulas
import judged
import learning
import needs
import predictors
import probed
import recurrent
import stacks
import tables
import validation
from gates import measure_field, read_csv
from models import HERE, INPUTS, ROOT, read_folder, read_models, read_repeats

PAGES = os.path.join(ROOT, "doc", "studies")


class Wrong(Exception):
    """A sentence that the figures do not bear out."""


def claim(holds):
    if not holds:
        raise Wrong("does not hold")
    return ""


def blocks(text, names):
    """The text without the conditional parts whose condition does not hold; they may be nested."""
    kept, stack = [], []
    for line in text.split("\n"):
        if match := re.fullmatch(r"\{% if (.*) %\}", line):
            stack.append(all(stack) and bool(eval(match[1], names)))
        elif line == "{% end %}":
            stack.pop()
        elif all(stack):
            kept.append(line)
    return "\n".join(kept)


def render(text, names, where):
    """The page of a template."""
    def value(match):
        try:
            return str(eval(match[1].replace("\n", " "), names))
        except Exception as error:
            raise SystemExit(f"build.py: {where}: {{{{{match[1]}}}}}: {error}")
    return wrapped(re.sub(r"\n{3,}", "\n\n", re.sub(r"(?s)\{\{(.+?)\}\}", value, blocks(text, names))))


def wrapped(page):
    """The page with its prose filled to 100 columns: tables, code, headings and images stay. No line begins with a sign or a number that Markdown would take for a list."""
    def filled(block):
        if re.match(r"[|#!]|    ", block):
            return block
        mark = re.match(r"(- |\d+\. )?", block)[0]
        text = re.sub(r" (?=([-+*=#]|\d+[.)]) )|`[^`]*`", lambda m: m[0].replace(" ", "\0"), " ".join(block.split()))
        return textwrap.fill(text, 100, subsequent_indent=" " * len(mark), break_long_words=False, break_on_hyphens=False).replace("\0", " ")
    def paragraph(match):
        lines = match[0].rstrip("\n")
        return "\n".join(map(filled, re.split(r"\n(?=- |\d+\. )" if re.match(r"- |1\. ", lines) else r"\n(?=\|)", lines))) + "\n"
    return re.sub(r"(?:^.+\n?)+", paragraph, page, flags=re.M)


def same_curve(path, other):
    """Whether two curve.csv say the same within float32, whose last places are another processor's own: c within 1e-5, s within 1e-4 of itself."""
    pairs = [read_csv(path), read_csv(other)]
    return len(pairs[0]) == len(pairs[1]) and all(
        a["tokens"] == b["tokens"] and all(abs(float(a[k]) - float(b[k])) <= 1e-5 for k in ("c", "c_lo", "c_hi")) and abs(float(a["s"]) - float(b["s"])) <= 1e-4 * float(b["s"])
        for a, b in zip(*pairs))


def repeat(models, count):
    """Measure fields again; every number of curve.csv must be as committed."""
    for model in sorted((m for m in models.values() if m.window), key=lambda m: m.window)[:count]:
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("config.json", "model.safetensors", "tokenizer.json"):
                shutil.copy(os.path.join(model.folder, name), scratch)
            measure_field(scratch, model.reach, model.config)
            paths = [os.path.join(folder, "curve.csv") for folder in (scratch, model.folder)]
            if not same_curve(*paths):
                raise SystemExit(f"build.py: {model.name}: the field measured again is another one")
            same = filecmp.cmp(*paths, shallow=False)
        print(f"{model.name}: measured again, {'the same bytes' if same else 'the same within the last places of float32'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="write the pages and figures of doc/studies")
    parser.add_argument("--reach", default=os.path.join(ROOT, "reach"))
    parser.add_argument("--repeat", type=int, default=2, metavar="N")
    options = parser.parse_args()
    models, repeats = (read(os.path.abspath(options.reach)) for read in (read_models, read_repeats))
    states = read_folder(os.path.join(ROOT, "examples", "recurrent"), os.path.abspath(options.reach))
    repeat(models, options.repeat)
    os.makedirs(PAGES, exist_ok=True)
    figures.draw(models, states, PAGES, os.path.abspath(options.reach))
    said = formulas.Calculator(os.path.abspath(options.reach))
    for page in sorted(os.listdir(os.path.join(HERE, "pages"))):
        with open(os.path.join(HERE, "pages", page), encoding="utf-8") as file:
            text = file.read()
        names = {"claim": claim, "said": said, "trf": said.trf, "fit": said.fit, "M": models, "R": repeats, "S": states, "has": lambda *wanted: all(n in models for n in wanted), "INPUTS": INPUTS, "V": validation.validated(), **vars(tables), **vars(predictors), **vars(validation), **vars(probed), **vars(recurrent), **vars(distances), **vars(compared), **vars(formulas), **vars(checked), **vars(stacks), "judged": judged, "learning": learning, "needs": needs}
        if not (rendered := render(text, names, page)).strip():
            continue        # nothing of it is measured yet
        with open(os.path.join(PAGES, page), "w", encoding="utf-8") as file:
            file.write(rendered)
        print(f"doc/studies/{page}", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    main()
