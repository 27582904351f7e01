"""The package as it is installed, its example, and its manual."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import unittest
import zipfile
from unittest import mock

import reach_erf as reach

import run_notebook
from common import REACH, ROOT, Case

EXAMPLE = ROOT / "python/examples/tiny_gpt.py"
PAGE = ROOT / "doc/own-models.md"
PIP_NEEDS = """import importlib.util as u, setuptools, pip
assert int(setuptools.__version__.split('.')[0]) >= 64
assert u.find_spec('wheel') or u.find_spec('setuptools.command.bdist_wheel')"""


def build_backend():
    sys.path.insert(0, str(ROOT / "python"))
    import build_backend

    return build_backend


class Package(Case):
    def run_python(self, *arguments, path, **others):
        """Standard output of Python with the packages in `path`."""
        search = os.pathsep.join([str(path), os.path.dirname(REACH), os.environ["PATH"]])
        environment = {**os.environ, "PYTHONPATH": str(path), "PATH": search, "OMP_NUM_THREADS": "1", "REACH": ""}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def sources(self, recipe="printf '#!/bin/sh\\necho \"$$@\"\\nkill -TERM $$$$\\n' >reach && chmod 755 reach", lacks=""):
        """A folder with what pip needs, in which make is quick: it `lacks` a library, or runs `recipe`."""
        source = self.scratch / "source"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        shutil.copytree(ROOT / "python", source / "python", ignore=shutil.ignore_patterns("bin", "*.egg-info", "__pycache__"))
        for name in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, source)
        found = "".join(f"\t@echo '  {name:<8} {'missing' if name == lacks else 'found'}'\n" for name in build_backend().LIBRARIES)
        (source / "Makefile").write_text(f"all:\n\t{recipe}\nprobe:\n{found}\t@{'false' if lacks else 'true'}\n")
        return source

    def pip(self, *arguments, **others):
        """Standard output and error of pip, without the network, and its status."""
        if subprocess.run([sys.executable, "-c", PIP_NEEDS], capture_output=True, check=False).returncode:
            self.skipTest("pip, or setuptools 64 or newer, is not there")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **others)
        return done.stdout + done.stderr, done.returncode

    def test_wheel_holds_the_program(self):
        """As pip installs a clone: the modules, the mark of type hints, the program, and nothing of the tests."""
        source, target = self.sources(), self.scratch / "target"
        target.mkdir()
        before = sorted(path for path in source.rglob("*"))
        said, status = self.pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", target, source)
        self.assertEqual(status, 0, said)
        wheel, = target.iterdir()
        self.assertRegex(wheel.name, r"^reach_erf-[\d.]+-py3-none-linux_\w+\.whl$")
        self.assertEqual(sorted(path for path in source.rglob("*")), sorted([*before, source / "reach"]))  # nothing else stays
        there = sorted(zipfile.ZipFile(wheel).namelist())
        mine = [f"{package}/{path.name}" for package in ("reach_erf", "reach_results") for path in (ROOT / "python" / package).iterdir()
                if path.is_file()] + ["reach_erf_program.py", "reach_erf/bin/reach"]
        self.assertEqual([name for name in there if ".dist-info/" not in name], sorted(mine))

        said, status = self.pip("install", "--no-index", "--no-deps", "--target", self.scratch / "site", wheel)
        self.assertEqual(status, 0, said)
        site = self.scratch / "site"
        said = self.run_python("-c", "import reach_erf, reach_results; print(reach_erf.__file__); print(reach_erf.find_program())",
                               path=site, cwd=self.scratch)
        self.assertEqual(said.split(), [str(site / "reach_erf/__init__.py"), str(site / "reach_erf/bin/reach")])
        done = subprocess.run([site / "bin/reach", "a b", "--c"], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("a b --c\n", "", -15))  # ended by the signal, as the program was
        done = subprocess.run([site / "bin/reach-mpi"], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True,
                              check=False)
        self.assertIn("reach-mpi cannot be run: No such file", done.stderr)

    def test_editable(self):
        source, site = self.sources(), self.scratch / "site"
        said, status = self.pip("install", "--no-index", "--no-deps", "--no-build-isolation", "--target", site, "-e", source)
        if "--target" in said and status:  # refused by this pip
            self.skipTest("this pip installs nothing editable into a folder")
        self.assertEqual(status, 0, said)
        self.assertTrue(os.access(source / "python/reach_erf/bin/reach", os.X_OK))

    def test_what_is_missing_is_named_with_its_package(self):
        for lacks, said in (("FLINT", "reach-erf: cannot be built, missing: FLINT (libflint-dev). On Debian and Ubuntu: "
                                      "apt install libflint-dev; doc/install.md has other systems"),
                            ("", "reach-erf: make ended with status 2")):
            with self.subTest(lacks):
                source = self.sources(recipe="echo broken; false", lacks=lacks)
                found, status = self.pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", self.scratch, source)
                self.assertEqual(status, 1)
                self.assertIn(said, found)
        source = self.sources()
        tools = self.scratch / "bin"
        tools.mkdir()
        for tool in ("gcc", "sh"):
            (tools / tool).symlink_to(shutil.which(tool))
        found, status = self.pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", self.scratch, source,
                                 env={**os.environ, "PATH": str(tools)})
        self.assertIn("missing: make (make), pkg-config (pkg-config). On Debian and Ubuntu: apt install make pkg-config", found)

    def test_packages_are_those_of_the_makefile(self):
        makefile = (ROOT / "Makefile").read_text()
        apt = re.search(r"^APT_PACKAGES := ((?:.*\\\n)*.*)$", makefile, re.M)[1].replace("\\\n", " ").split()
        backend = build_backend()
        self.assertLessEqual({*backend.LIBRARIES.values(), *backend.TOOLS.values()}, {*apt})
        probed = re.search(r"^probe:\n\t@\$\(foreach l,((?:.*\\\n)?.*?),printf", makefile, re.M)[1].replace("\\\n", " ").split()
        self.assertEqual([name.partition(":")[0] for name in probed], [*backend.LIBRARIES])

    def test_former_name(self):
        """What was written for reach_results runs: its names, its modules, and one class of error."""
        code = """
from reach_results import open_result, read_table, write_checkpoint, ReachError
from reach_results.comparison import run_reach
from reach_results.tables import COLUMNS
import reach_results.errors, reach_erf.errors, reach_results.layout, reach_erf
assert reach_results.errors.ReachError is reach_erf.ReachError is ReachError and reach_results.tables.COLUMNS is COLUMNS
assert set(reach_erf.__all__) <= set(dir(reach_results))
"""
        self.run_python("-c", code, path=ROOT / "python")

    def test_version_is_that_of_the_program(self):
        version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
        said = subprocess.run([REACH, "version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([said.split()[1], reach.__version__], [version] * 2)

    def test_needs_neither_torch_nor_pandas(self):
        blocked = "import sys; sys.modules.update(torch=None, pandas=None, safetensors=None); import reach_erf"
        self.run_python("-c", blocked, path=ROOT / "python")

    def test_example(self):
        said = self.run_python(EXAMPLE, self.scratch / "tiny", path=ROOT / "python", cwd=self.scratch)
        self.assertIn("log p differs by at most", said)
        self.assertIn("tiny Erf(threshold=0.99", said)
        self.assertEqual(reach.open_result(self.scratch / "tiny/erf")["tiny"].norm.shape, (8, 63))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not there")
    def test_examples_of_the_manual(self):
        """Every block of doc/python.md runs, in order, where examples/ is."""
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "doc/python.md").read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        (self.scratch / "all.py").write_text("\n".join(blocks))
        (self.scratch / "examples").symlink_to(ROOT / "examples")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run([sys.executable, "all.py"], cwd=self.scratch, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("reach erf: no/such/model: cannot be opened", done.stdout)

    def test_tour(self):
        """The notebook's cells, by nbclient and a kernel where they are there, else one after the other."""
        tour = ROOT / "python/examples/tour.ipynb"
        shown = run_notebook.run(tour)
        self.assertGreaterEqual(len(shown), 4)
        self.assertTrue(all("<table" in one or "<pre" in one for one in shown))
        if "gnuplot" in (shutil.which("gnuplot") or "") or importlib.util.find_spec("matplotlib"):
            self.assertIn("data:image/svg+xml", shown[0])
        first = [cell["cell_type"] for cell in json.loads(tour.read_text())["cells"][:4]]
        self.assertEqual(first, ["markdown", "code", "code", "code"])  # import, measure, figure
        self.assertFalse([cell for cell in json.loads(tour.read_text())["cells"] if cell.get("outputs")])

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "nbclient is not there")
    def test_tour_in_a_kernel(self):
        import nbclient
        import nbformat

        tour = ROOT / "python/examples/tour.ipynb"
        book = nbformat.read(tour, 4)
        with mock.patch.dict(os.environ, PYTHONPATH=str(ROOT / "python")):
            nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tour.parent)}}).execute()
        outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
        self.assertTrue(any("image/svg+xml" in output.get("data", {}).get("text/html", "") for output in outputs))
        self.assertFalse([output for output in outputs if output.output_type == "error"])

    def test_page_has_the_example(self):
        page = PAGE.read_text()
        code = EXAMPLE.read_text()
        self.assertIn(textwrap.indent(code.partition("\n")[2].rstrip("\n"), "    "), page)

    def test_page_names_everything(self):
        page = PAGE.read_text() + (ROOT / "doc/python.md").read_text()
        for name in reach.__all__:
            if name not in ("Source", "Field", "Model", "Table", "Check"):
                self.assertRegex(page, rf"(?s)`[^`]*\b{name}\b", name)
            self.assertTrue(getattr(reach, name).__doc__ or name == "Source", name)


if __name__ == "__main__":
    unittest.main()
