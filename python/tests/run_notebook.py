"""Runs the code cells of a notebook in order and shows what each ends with, as a notebook does: run_notebook.py FILE [KEEP.html].

For where there is neither nbclient nor a kernel. The working folder is that of the notebook.
"""

import ast
import json
import os
import sys
from pathlib import Path


def code_cells(path):
    """The source of each code cell."""
    return ["".join(cell["source"]) for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "code"]


def show(value):
    """What a notebook displays of a value: HTML if it has that, else text."""
    as_html = getattr(value, "_repr_html_", None)
    return as_html() if as_html else repr(value)


def run(path):
    """The values that cells end with, as they are shown; an exception ends it."""
    cells, names, shown = code_cells(path), {"__name__": "__main__"}, []
    before = os.getcwd()
    os.chdir(Path(path).resolve().parent)
    try:
        for number, source in enumerate(cells, 1):
            tree = ast.parse(source, f"cell {number}")
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"cell {number}", "exec"), names)
            if last:
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
                if value is not None:
                    shown.append(show(value))
    finally:
        os.chdir(before)
    return shown


if __name__ == "__main__":
    displays = run(sys.argv[1])
    for display in displays:
        print(f"{len(display)} characters: {display[:60]}")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text("<!doctype html><meta charset=utf-8>" + "<hr>".join(displays), encoding="utf-8")
