#!/usr/bin/env python3
"""The pages of `reach explain` and `reach report` in Chromium: what they say, how long they take, whether all of it can be read.

    REACH=./reach python3 tests/page/check.py [--pictures FOLDER]     (make check-page)

Needs Chromium and nothing else; without it one line says so, and nothing is checked. --pictures keeps screenshots to look at.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import browser

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS, TEXT = os.path.join(ROOT, "examples", "models"), os.path.join(ROOT, "examples", "text")
SECONDS = 2.0  # for a page of 32768 tokens
READABLE = 4.5  # contrast of text, WCAG 2 AA

# What the browser sees of every token: its text, its shade, and the contrast of the one on the other.
TOKENS = """[...document.querySelectorAll("pre i")].map(one => {
  const copy = one.cloneNode(true);
  copy.querySelectorAll("u.r").forEach(u => u.remove());
  const next = one.nextElementSibling ? null : one.closest("section").nextElementSibling;
  const rest = next && next.querySelector("s"), style = getComputedStyle(one);
  return [copy.textContent + (rest ? rest.textContent : ""), one.className, style.color, style.backgroundColor];
})"""


# Every other text that is seen: what it is in, the contrast on the nearest background, and the text.
WORDS = """(() => {
  const numbers = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => { const a = top.length > 3 ? top[3] : 1; return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]); };
  const light = color => { const l = color.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                           return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const ground = one => {
    if (!one) return [255, 255, 255];
    const own = numbers(getComputedStyle(one).backgroundColor);
    return own.length > 3 && own[3] < 1 ? over(own, ground(one.parentElement)) : own.slice(0, 3);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let node; (node = walk.nextNode());) {
    const one = node.parentElement;
    if (!node.data.trim() || one.closest("script, style, template, svg, pre i, pre s") || !one.checkVisibility()) continue;
    const below = ground(one), style = getComputedStyle(one);
    let opacity = 1;
    for (let each = one; each; each = each.parentElement) opacity *= getComputedStyle(each).opacity;
    const color = numbers(style.color), ink = over([...color.slice(0, 3), (color[3] ?? 1) * opacity], below);
    const [low, high] = [light(ink), light(below)].sort((a, b) => a - b);
    found.push([one.closest("[class], [id]")?.outerHTML.slice(0, 60) || one.tagName, (high + .05) / (low + .05), node.data.trim().slice(0, 40)]);
  }
  return found;
})()"""
# What is wider than the window, or than a box that does not scroll by itself.
WIDE = """[...document.querySelectorAll("body *")].filter(one => {
  if (one.closest("svg") && one.tagName !== "svg" || one.closest("#tip, .wide > *") || !one.checkVisibility() ||
      getComputedStyle(one).display === "inline") return false; /* blanks hang over the ends of lines */
  return one.getBoundingClientRect().right > innerWidth + 1 ||
    one.matches(".tables, .tables *, #index, #index *, pre, nav, p, h1, h2, h3, li, dd") && one.scrollWidth > one.clientWidth + 1;
}).map(one => one.outerHTML.slice(0, 80))"""
# What a pointer can use.
CONTROLS = """[...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")].filter(one => one.checkVisibility())"""


def fail(text):
    sys.exit(f"check-page: {text}")


def run_reach(*arguments):
    done = subprocess.run([os.environ["REACH"], *arguments, "--force"], capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"reach {' '.join(arguments)}: {done.stderr}")


def read_rows(folder):
    with open(os.path.join(folder, "explain.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("# ")))


def luminance(color):
    channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def as_written(text):
    """A token's text as explain.csv spells it."""
    return text.replace("\n", "\\n").replace("\t", "\\t")


def check_tokens(page, rows, name):
    """Each token of the page is that of its row, shaded by its share, and can be read."""
    tokens, ground = page.run(TOKENS), page.run("getComputedStyle(document.body).backgroundColor")
    if len(tokens) != len(rows):
        fail(f"{name}: {len(tokens)} tokens are drawn, explain.csv has {len(rows)}")
    most = max(float(row["share"]) for row in rows)
    for place, ((text, shade, ink, paper), row) in enumerate(zip(tokens, rows), 1):
        level = int(11 * (float(row["share"]) / most) ** 0.5 + 0.5)
        if as_written(text) != row["piece"].replace("\\\\", "\\"):
            fail(f"{name}, position {place}: {text!r} is drawn, explain.csv has {row['piece']!r}")
        if shade != (chr(ord("a") + level - 1) if level else ""):
            fail(f"{name}, position {place}: is drawn in shade {shade!r} (expected {level} of 11)")
        if contrast(ink, paper if level else ground) < READABLE:
            fail(f"{name}, position {place}: {ink} on {paper} has a contrast below {READABLE}")


def check_words(page, name):
    """The words around the text can be read as well."""
    found = page.run(WORDS)
    if len(found) < 8:
        fail(f"{name}: only {len(found)} texts are seen")
    for where, value, text in found:
        if not value >= READABLE:
            fail(f"{name}: {text!r} has a contrast of {value:.2f}, in {where}")


def check_width(page, name, width):
    """Nothing has to be scrolled to the side, other than what is in a box of its own."""
    if page.run("document.documentElement.scrollWidth") > width or page.run(WIDE):
        fail(f"{name}: at {width} pixels {page.run('document.documentElement.scrollWidth')} are needed, by {page.run(WIDE)[:3]}")


def check_keyboard(page, name):
    """Tab goes through every control of a page that was just opened, in order, and each shows that it has the focus."""
    page.run(f"{CONTROLS}.forEach((one, i) => {{ one.place = i; }})")
    count, seen = page.run(f"{CONTROLS}.length"), []
    for _ in range(count):
        page.tab()
        seen.append(page.run("document.activeElement.place ?? -1"))
        style = page.run("(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))")
        if style[0] == "none" or float(style[1].removesuffix("px")) < 1:
            fail(f"{name}: control {seen[-1]} does not show its focus: {style}")
    if seen != list(range(count)):
        fail(f"{name}: Tab goes through {seen} (expected {count} controls)")


def check_begin(page, name, index=0):
    """The shaded text is what the page begins with, below its title, the shades and, where there are several, their index."""
    top, order, high = page.run("""(() => {
      const text = document.querySelector("main pre"), others = [...document.querySelectorAll("table, .sentence")];
      return [text.getBoundingClientRect().top + scrollY, others.every(one => one.closest("#index") ||
        text.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING), document.getElementById("map").checkVisibility()];
    })()""")
    if top > 150 + index or not order:
        fail(f"{name}: the text begins at {top} (expected it first)")
    tall = page.run('document.querySelector("main").scrollHeight > innerHeight')
    if high != (tall and page.run("innerWidth > 800")):
        fail(f"{name}: the map is {'' if high else 'not '}there (expected it beside a text that has to be scrolled)")


def check_hover(page, rows, name):
    """Hovering shows the values of explain.csv."""
    for place in sorted({1, (len(rows) + 1) // 2, len(rows)}):
        row = rows[place - 1]
        one = f'document.querySelectorAll("pre i")[{place - 1}]'
        for _ in range(2):  # blocks get their heights when they come into sight
            page.run(f'{one}.scrollIntoView({{block: "center"}})')
            page.run("new Promise(done => setTimeout(done, 100))")
        page.move(*page.run(f"(box => [box.left + 1, box.top + box.height / 2])({one}.getClientRects()[0])"))
        text = page.run('document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent')
        share, norm = re.search(r"share ([\d.e+-]+)", text), re.search(r"norm ([\d.e+-]+)", text)
        wanted = f"position {place}, distance {row['distance']}, line {row['line']}"
        if wanted not in text or f"id {row['id']}\n" not in text or f"rank {row['rank']} of {len(rows)}" not in text:
            fail(f"{name}, position {place}: hovering shows {text!r} (expected {wanted}, id {row['id']}, rank {row['rank']})")
        if abs(float(share[1]) / 100 - float(row["share"])) > 0.006 * float(row["share"]) or \
                abs(float(norm[1]) - float(row["norm"])) > 1e-5 * float(row["norm"]):
            fail(f"{name}, position {place}: hovering shows {text!r}, explain.csv has {row}")


def check_keys(page, rows, name):
    """n and p go through the tokens by share; a search finds what is there."""
    ranked = sorted(rows, key=lambda row: int(row["rank"]))
    now = '[...document.querySelectorAll("pre i")].findIndex(one => one.classList.contains("now")) + 1'
    for key, rank in (("n", 0), ("n", 1), ("n", 2), ("p", 1)):
        page.key(key, key)
        if rank < len(ranked) and page.run(now) != int(ranked[rank]["position"]):
            fail(f"{name}: key {key} goes to {page.run(now)} (expected {ranked[rank]['position']})")
    page.key("/", "/")
    if page.run("document.activeElement.id") != "find":
        fail(f"{name}: / does not go to the search")
    word = next(row["piece"] for row in ranked if row["piece"].isalpha())
    whole = "".join(row["piece"] for row in rows).lower()
    page.run(f'(() => {{ const find = document.getElementById("find"); find.value = {word!r}; '
             'find.dispatchEvent(new Event("input")); return new Promise(done => setTimeout(done, 400)); })()')
    found = page.run('document.getElementById("found").textContent')
    if "\\" not in whole and found != f"1 of {whole.count(word.lower())}":
        fail(f"{name}: the search for {word!r} says {found!r} (expected {whole.count(word.lower())})")


def check_print(page, rows, name):
    """All of the text is on the pages, dark as the screen may be."""
    data = page.printed()
    pages = sum(len(re.findall(rb"/Type\s*/Page\b", part)) for part in [data])
    streams = 0
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            streams += len(zlib.decompress(match[1]))
        except zlib.error:
            pass
    if pages < 1 or streams < 4 * len(rows):
        fail(f"{name}: {pages} pages of {streams} bytes are printed (expected all {len(rows)} tokens)")


def check_page(page, folder, name, pictures):
    rows, path = read_rows(folder), os.path.join(folder, "explain.html")
    for scheme in ("light", "dark"):
        page.open(path, width=390, height=844, scheme=scheme)
        check_begin(page, f"{name}, {scheme}, narrow")
        check_width(page, f"{name}, {scheme}", 390)
        check_words(page, f"{name}, {scheme}, narrow")
        check_keyboard(page, f"{name}, {scheme}, narrow")
        if pictures:
            page.picture(os.path.join(pictures, f"{name}-{scheme}-narrow.png"))
        seconds = page.open(path, scheme=scheme)
        where = f"{name}, {scheme}"
        check_begin(page, where)
        check_width(page, where, 1280)
        if pictures:
            page.picture(os.path.join(pictures, f"{name}-{scheme}.png"))
        check_tokens(page, rows, where)
        check_words(page, where)
        check_hover(page, rows, where)
        check_keys(page, rows, where)
        if pictures:
            page.picture(os.path.join(pictures, f"{name}-{scheme}-found.png"))
        if page.complaints():
            fail(f"{where}: the console has {page.complaints()}")
        print(f"{where}: {len(rows)} tokens, {os.path.getsize(path) / 1e6:.2f} MB, opened in {seconds:.2f} s")
        if len(rows) <= 32768 and seconds > SECONDS:
            fail(f"{where}: took {seconds:.2f} s to open (expected {SECONDS} s at most)")
    if len(rows) > 32768:
        return
    begin = time.monotonic()
    check_print(page, rows, name)
    print(f"{name}: printed in {time.monotonic() - begin:.1f} s")


def check_several(page, scratch, pictures):
    """Of several targets one is shown at a time, with its own tokens; keys, links and the table go from one to the next."""
    folder = os.path.join(scratch, "several")
    run_reach("explain", os.path.join(MODELS, "alibi"), "--prompt", "def add(self, child): self.children.append(", "--targets", "3",
              "--show", "0", "--quiet", "-o", folder)
    rows, path = read_rows(folder), os.path.join(folder, "explain.html")
    each = [rows[i:i + len(rows) // 3] for i in range(0, len(rows), len(rows) // 3)]
    which = 'document.getElementById("which").textContent'
    for scheme in ("light", "dark"):
        page.open(path, scheme=scheme)
        if pictures:
            page.picture(os.path.join(pictures, f"several-{scheme}.png"))
        if page.run('document.querySelectorAll("#index tbody tr").length') != 3:
            fail("several: the table does not have 3 targets")
        for action, number in (("", 1), ('key("ArrowRight")', 2), ('key("ArrowRight")', 3), ('key("ArrowRight")', 3), ('key("ArrowLeft")', 2),
                               ('document.querySelectorAll("#index a")[0].click()', 1), ('document.getElementById("right").click()', 2)):
            page.run('(() => { const key = name => document.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true})); '
                     f'{action}; return new Promise(done => setTimeout(done, 300)); }})()')
            if page.run(which) != f"{number} of 3":
                fail(f"several, {scheme}: {action} shows {page.run(which)} (expected {number} of 3)")
            check_tokens(page, each[number - 1], f"several, {scheme}, {number}")
        check_words(page, f"several, {scheme}")
        check_hover(page, each[1], f"several, {scheme}")
        check_keys(page, each[1], f"several, {scheme}")
        if page.complaints():
            fail(f"several, {scheme}: the console has {page.complaints()}")
        for width in (390, 1280):
            page.open(path, width=width, height=844, scheme=scheme)
            check_begin(page, f"several, {scheme}, {width}", 260)
            check_width(page, f"several, {scheme}", width)
            check_words(page, f"several, {scheme}, {width}")
            check_keyboard(page, f"several, {scheme}, {width}")
    print(f"several: 3 targets, {os.path.getsize(path) / 1e6:.2f} MB")


def check_report_begin(page, where, name):
    """A title with the models' names, their fields with intervals, all in the first sight; tables that are wider scroll in their boxes."""
    title, table, bottom, boxes = page.run("""[document.querySelector("h1").textContent, document.querySelector("table").innerText,
      document.querySelector("table").getBoundingClientRect().bottom,
      [...document.querySelectorAll("table")].every(one => one.closest(".wide[tabindex='0']"))]""")
    if title != f"How far back do {name} and window-40 look?" or bottom > 500 or not boxes:
        fail(f"{where}: begins with {title!r}, and a table that ends at {bottom}")
    if not re.search(r"ERF\(0\.99\).*95 % interval", table, re.S) or not re.search(rf"{re.escape(name)}\s+\d+\s+\[\d+, \d+\]", table):
        fail(f"{where}: begins with the table {table!r}")
    summary = page.run('(box => [box.scrollWidth, box.clientWidth])(document.querySelector(".summary .wide"))')
    if summary[0] > summary[1]:
        fail(f"{where}: the summary has to be scrolled to the side: {summary}")


def check_left_out(page, scratch, pictures):
    """Hovering over a part shows its change of units.csv, and the table has the largest one first."""
    folder = os.path.join(scratch, "left-out")
    run_reach("explain", os.path.join(MODELS, "alibi"), "--prompt", "def add(self, child): self.children.append(", "--leave-out", "word",
              "--show", "0", "--quiet", "-o", folder)
    with open(os.path.join(folder, "units.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("# ")))
    page.open(os.path.join(folder, "explain.html"))
    if pictures:
        page.picture(os.path.join(pictures, "left-out.png"))
    for row in rows:
        page.run(f'document.querySelectorAll("pre i")[{int(row["unit"]) - 1}].click()')
        page.run("new Promise(done => setTimeout(done, 100))")
        text = page.run('document.getElementById("tip").textContent')
        change = re.search(r"left out, log p changes by (\S+)", text)
        if not change or abs(float(change[1]) - float(row["change"])) > 1e-3 * abs(float(row["change"])):
            fail(f"left out, {row['text']!r}: {text!r} (expected a change of {row['change']})")
    first = page.run('document.querySelector("#top tbody tr").innerText')
    best = next(row for row in rows if row["change_rank"] == "1")
    if f"{float(best['change']):+.4f}" not in first:
        fail(f"left out: the table begins with {first!r} (expected {best['change']})")
    if page.complaints():
        fail(f"left out: the console has {page.complaints()}")
    print(f"left out: {len(rows)} words")


def check_report(page, scratch, pictures):
    """Results of several kinds in one page: read, printed, and as narrow as a window may be; a name that is HTML is a name."""
    models, name = os.path.join(ROOT, "examples", "models"), "<img src onerror>&\"'"
    text = ["--text", os.path.join(TEXT, "moby-dick.txt.gz")]
    pair = [f"{name}={os.path.join(models, 'alibi')}", os.path.join(models, "window-40")]
    run, path = os.path.join(scratch, "run"), os.path.join(scratch, "report.html")
    run_reach("erf", *pair, *text, "--length", "200", "--segments", "5", "--bootstrap", "100", "--layer", "all", "--attention",
              "--target-position", "50,100", "--quiet", "-o", run)
    run_reach("ppl", *pair, *text, "--context", "32,64,128", "--segments", "20", "--quiet", "-o", os.path.join(scratch, "ppl"))
    run_reach("trf", "alibi", "sandwich", "-o", os.path.join(scratch, "trf"))
    run_reach("explain", os.path.join(models, "alibi"), "--prompt", "def add(self, <b>child):\n\tself.", "--show", "0", "--quiet", "-o",
              os.path.join(scratch, "told"))
    rows = read_rows(os.path.join(scratch, "told"))
    run_reach("report", *(os.path.join(scratch, one) for one in ("run", "ppl", "trf", "told")), "-o", path)
    drawn = 7 if shutil.which("gnuplot") else 0
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            where = f"report, {scheme}, {width}"
            page.open(path, width=width, height=844, scheme=scheme)
            if pictures:
                page.picture(os.path.join(pictures, f"report-{scheme}-{width}.png"))
            check_width(page, where, width)
            check_words(page, where)
            check_report_begin(page, where, name)
            check_keyboard(page, where)
        check_tokens(page, rows, f"report, {scheme}")
        found = page.run('''[document.querySelectorAll("section").length, document.querySelectorAll("svg").length,
            document.querySelectorAll("img, script").length, [...document.querySelectorAll("tbody th")].map(one => one.textContent),
            [...document.querySelectorAll("[id]")].map(one => one.id)]''')
        if found[:3] != [5, drawn, 0] or name not in found[3]:
            fail(f"report, {scheme}: {found[:4]} (expected 5 sections, {drawn} figures, and {name})")
        if len(set(found[4])) != len(found[4]):
            fail(f"report, {scheme}: names of elements are there twice")
        complaints = [one for one in page.complaints() if not one.startswith("data:")]  # heat maps of figures
        if complaints:
            fail(f"report, {scheme}: the console has {complaints}")
    check_print(page, found[3], "report")
    print(f"report: {os.path.getsize(path) / 1e6:.2f} MB, {drawn} figures")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", metavar="FOLDER")
    parser.add_argument("--short", action="store_true", help="without long texts")
    options = parser.parse_args()
    pictures = options.pictures
    program = browser.find()
    if not program:
        print("check-page: skipped, there is no Chromium (expected one of " + ", ".join(browser.NAMES) + ")")
        return
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with open(os.path.join(ROOT, "tests", "goldens", "explain", "prompt.txt"), encoding="utf-8") as file:
        prompt = file.read()
    novel, source = os.path.join(TEXT, "moby-dick.txt.gz"), os.path.join(TEXT, "sqlalchemy.py.gz")
    cases = {
        "prompt": [os.path.join(MODELS, "alibi"), "--prompt", prompt],
        "contrast": [os.path.join(MODELS, "alibi"), "--prompt", prompt, "--against", "self"],
        "hostile": [os.path.join(MODELS, "alibi"), "--prompt",
                    "</script><img src=x onerror=alert(1)><!--\x1b[31m\t&lt;\"'&amp; caf\u00e9 \u202e\u2028]]>\\ end"],
        "one": [os.path.join(MODELS, "window-24"), "--prompt", "x"],
        "long": [os.path.join(MODELS, "window-64"), "--text", source, "--target-position", "32769"],
        "longest": [os.path.join(MODELS, "window-24"), "--text", novel, "--target-position", "131072"],
    }
    page = browser.Browser(program)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for name, arguments in cases.items():
                if options.short and name.startswith("long"):
                    continue
                folder = os.path.join(scratch, name)
                run_reach("explain", *arguments, "--show", "0", "--quiet", "-o", folder)
                check_page(page, folder, name, pictures)
            check_several(page, scratch, pictures)
            check_left_out(page, scratch, pictures)
            check_report(page, scratch, pictures)
    finally:
        page.close()
    print("check-page: all is as it should be")


if __name__ == "__main__":
    main()
