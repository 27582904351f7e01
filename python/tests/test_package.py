"""The package as it is installed, its example, and its manual."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import unittest

import reach_erf as reach

from common import REACH, ROOT, Case

EXAMPLE = ROOT / "python/examples/tiny_gpt.py"
PAGE = ROOT / "doc/own-models.md"


class Package(Case):
    def run_python(self, *arguments, path, **others):
        """Standard output of Python with the packages in `path`."""
        search = os.pathsep.join([str(path), os.path.dirname(REACH), os.environ["PATH"]])
        environment = {**os.environ, "PYTHONPATH": str(path), "PATH": search, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_installed_from_its_folder(self):
        """As pip installs ./python, without the network: the modules, the mark of type hints, and nothing of the tests."""
        needed = "import setuptools, pip; assert int(setuptools.__version__.split('.')[0]) >= 64"
        if subprocess.run([sys.executable, "-c", needed], capture_output=True, check=False).returncode:
            self.skipTest("pip, or setuptools 64 or newer, is not there")
        source, target = self.scratch / "source", self.scratch / "target"
        shutil.copytree(ROOT / "python", source / "python", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", source)
        self.run_python("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", target,
                        source, path="")
        there = sorted(path.name for path in (target / "reach_erf").iterdir() if path.name != "__pycache__")
        mine = sorted(path.name for path in (ROOT / "python/reach_erf").iterdir() if path.name != "__pycache__")
        self.assertEqual(there, mine)
        self.assertEqual(sorted(path.name.partition("-")[0] for path in target.iterdir()), ["reach_erf", "reach_erf", "reach_results"])
        said = self.run_python("-c", "import reach_erf; print(reach_erf.__file__)", path=target, cwd=self.scratch)
        self.assertEqual(said.strip(), str(target / "reach_erf/__init__.py"))

    def test_version_is_that_of_the_program(self):
        version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
        said = subprocess.run([REACH, "version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.split()[1], version)

    def test_needs_neither_torch_nor_pandas(self):
        blocked = "import sys; sys.modules.update(torch=None, pandas=None, safetensors=None); import reach_erf"
        self.run_python("-c", blocked, path=ROOT / "python")

    def test_example(self):
        said = self.run_python(EXAMPLE, self.scratch / "tiny", path=ROOT / "python", cwd=self.scratch)
        self.assertIn("log p differs by at most", said)
        self.assertIn("tiny Erf(threshold=0.99", said)
        self.assertEqual(reach.open_result(self.scratch / "tiny/erf")["tiny"].norm.shape, (8, 63))

    def test_page_has_the_example(self):
        page = PAGE.read_text()
        code = EXAMPLE.read_text()
        self.assertIn(textwrap.indent(code.partition("\n")[2].rstrip("\n"), "    "), page)

    def test_page_names_everything(self):
        page = PAGE.read_text()
        for name in reach.__all__:
            if name not in ("Source", "Erf", "Field", "Model", "Result", "Table", "Check"):
                self.assertRegex(page, rf"`[^`]*\b{name}\b", name)
            self.assertTrue(getattr(reach, name).__doc__ or name == "Source", name)


if __name__ == "__main__":
    unittest.main()
