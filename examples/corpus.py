#!/usr/bin/env python3
"""Make the text that the example models are trained on: Python source code of published packages.

    python3 examples/corpus.py --out DIR               fetch what corpus.csv names, check every digest, write DIR/train.txt and DIR/valid.txt
    python3 examples/corpus.py --out DIR --renew       take the newest versions in place of the recorded ones and write corpus.csv anew

corpus.csv holds, for each package, its version, licence, the SHA-256 of the wheel as `pip download` gets it, the number of files and bytes taken,
and the split. All are pure Python, so that every machine gets the same bytes. DIR/valid.txt is one project that training never sees; its
gzip is examples/text/sqlalchemy.py.gz. The wheels are kept in DIR-wheels. Needs pip, nothing else.
"""

import argparse
import csv
import gzip
import hashlib
import os
import subprocess
import sys
import zipfile
from email.parser import HeaderParser

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "corpus.csv")
COLUMNS = ["package", "version", "split", "licence", "files", "bytes", "sha256"]

TRAIN = """babel bokeh botocore celery click dask distributed django flask fonttools ipython jax jedi jinja2 keras music21 nbconvert
networkx nltk openpyxl pip pydantic pygments pyramid pytest rdflib redis requests rich scrapy setuptools sphinx sympy tensorflow-datasets
textual twisted wagtail werkzeug xarray""".split()
VALID = ["sqlalchemy"]

PACKAGE_BYTES = 2_500_000       # at most, of one package of the training text, so that none rules it
VALID_BYTES = 5_600_000
FILE_BYTES = range(400, 200_001)
SKIPPED = ("_vendor/", "vendored/", "/extern/", "/locale/", "/locales/", "/migrations/")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def fetch(requirement, folder):
    """The path of the wheel that pip gets for PACKAGE or PACKAGE==VERSION; an empty folder gives no doubt which."""
    os.makedirs(folder, exist_ok=True)
    if not os.listdir(folder):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                        "--dest", folder, requirement], check=True)
    found = os.listdir(folder)
    if len(found) != 1 or not found[0].endswith(".whl"):
        raise SystemExit(f"corpus.py: {folder} should hold one wheel, holds {found}")
    return os.path.join(folder, found[0])


def licence_of(wheel):
    """What the package's metadata says of its licence: the SPDX expression, else the first line of the old field, else the classifier."""
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    fields = HeaderParser().parsestr(wheel.read(name).decode("utf-8"))
    classifiers = [c.split(" :: ")[-1] for c in fields.get_all("Classifier", []) if c.startswith("License :: OSI Approved ::")]
    said = fields["License-Expression"] or (fields["License"] or "").strip().split("\n")[0]
    return said if said and len(said) < 50 else ", ".join(classifiers) or said


def readable(text):
    """Written by people, as far as a count can tell: no long lines, few characters outside ASCII, few digits (tables)."""
    lines = text.count("\n") + 1
    return (len(text) / lines < 60 and max(map(len, text.split("\n"))) < 400 and sum(c > "~" for c in text) < len(text) / 50
            and sum(c.isdigit() for c in text) < len(text) / 12)


def sources(wheel, limit, seen):
    """[(digest, text)] of a wheel's Python files, in the order of the digests of their names, up to `limit` bytes; none that was `seen`."""
    taken, total = [], 0
    names = [i.filename for i in wheel.infolist() if i.filename.endswith(".py") and i.file_size in FILE_BYTES and not any(s in i.filename for s in SKIPPED)]
    for name in sorted(names, key=lambda n: digest(n.encode())):
        try:
            text = wheel.read(name).decode("utf-8").replace("\r\n", "\n").strip("\n") + "\n"
        except UnicodeDecodeError:
            continue
        key = digest(text.encode())
        if key in seen or not readable(text):
            continue
        if total + len(text) > limit:
            break
        seen.add(key)
        taken.append((key, text))
        total += len(text)
    return taken


def read_table():
    with open(TABLE, newline="") as file:
        return {row["package"]: row for row in csv.DictReader(file)}


def main():
    parser = argparse.ArgumentParser(description="make the training and validation text from published Python packages")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--renew", action="store_true", help="take the newest versions and write corpus.csv anew")
    options = parser.parse_args()
    known = {} if options.renew else read_table()
    rows, texts, seen = [], {"train": [], "valid": []}, set()
    os.makedirs(options.out, exist_ok=True)
    for package in VALID + TRAIN:       # first what is kept aside: a file that it shares with another package is not trained on
        split = "valid" if package in VALID else "train"
        requirement = package if options.renew else f"{package}=={known[package]['version']}"
        path = fetch(requirement, os.path.join(os.path.normpath(options.out) + "-wheels", requirement))
        with open(path, "rb") as file:
            data = file.read()
        if not options.renew and digest(data) != known[package]["sha256"]:
            raise SystemExit(f"corpus.py: {path}: SHA-256 {digest(data)}, corpus.csv says {known[package]['sha256']}")
        with zipfile.ZipFile(path) as wheel:
            taken = sources(wheel, VALID_BYTES if split == "valid" else PACKAGE_BYTES, seen)
            rows.append({"package": package, "version": os.path.basename(path).split("-")[1], "split": split, "licence": licence_of(wheel),
                         "files": len(taken), "bytes": sum(len(t.encode()) for _, t in taken), "sha256": digest(data)})
        texts[split] += taken
        print(f"{package} {rows[-1]['version']}: {rows[-1]['files']} files, {rows[-1]['bytes']} bytes, {rows[-1]['licence']}", flush=True)
    for split, parts in texts.items():
        # training: files of all packages mixed; both in the order of their digests, which says nothing of where they come from
        text = "\n".join(t for _, t in sorted(parts)).encode()
        with open(os.path.join(options.out, f"{split}.txt"), "wb") as file:
            file.write(text)
        if split == "valid":
            with open(os.path.join(options.out, "sqlalchemy.py.gz"), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
                file.write(text)
        print(f"{split}.txt: {len(text)} bytes, SHA-256 {digest(text)}")
    if options.renew:
        with open(TABLE, "w", newline="") as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            out.writeheader()
            out.writerows(sorted(rows, key=lambda r: (r["split"], r["package"])))


if __name__ == "__main__":
    main()
