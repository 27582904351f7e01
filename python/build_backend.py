"""What pip runs to build this package: make, then setuptools with the program among the package's files.

JOBS is the number of jobs of make (default: all processors); CC, CFLAGS, LDFLAGS, PKG_CONFIG_PATH and so on are make's. Wheels are
made in a temporary folder, so that nothing of an older build gets into them and nothing stays in the sources except build/.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

from setuptools import build_meta
from setuptools.build_meta import get_requires_for_build_editable, get_requires_for_build_wheel  # noqa: F401

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("reach", "reach-mpi", "reach-cuda.so")
NOT_STAGED = ("bin", "tests", "examples", "__pycache__", "*.egg-info")
TOOLS = {"make": "make", "gcc": "gcc", "pkg-config": "pkg-config"}
LIBRARIES = {  # as `make probe` names them, and as Debian does
    "HDF5": "libhdf5-dev", "Jansson": "libjansson-dev", "zlib": "zlib1g-dev", "zstd": "libzstd-dev", "xz": "liblzma-dev",
    "bzip2": "libbz2-dev", "xxHash": "libxxhash-dev", "oneDNN": "libdnnl-dev", "FLINT": "libflint-dev", "MPFI": "libmpfi-dev",
    "libyaml": "libyaml-dev", "PCRE2": "libpcre2-dev", "utf8proc": "libutf8proc-dev", "OpenMP": "gcc",
}


class Wheel(bdist_wheel):
    """A wheel for this platform and any Python 3: it holds a program, and no module that is compiled."""

    def finalize_options(self) -> None:
        self.distribution.has_ext_modules = lambda: True  # or the program would go where modules for all platforms do
        super().finalize_options()

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make here; its standard output has its errors, too."""
    return subprocess.run(["make", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def _missing() -> list[str]:
    """What make lacks here, each with its package."""
    tools = dict(TOOLS)
    if os.environ.get("CC"):
        del tools["gcc"]
    found = [f"{tool} ({package})" for tool, package in tools.items() if not shutil.which(tool)]
    if found:
        return found
    said = _make("-s", "probe")
    lacks = re.findall(r"^ +(\S+) +missing$", said.stdout, re.M)
    if said.returncode and not lacks:
        sys.exit(f"reach-erf: make probe failed: {said.stdout.strip()}")
    return [f"{name} ({LIBRARIES[name]})" for name in lacks if name in LIBRARIES]


def _build() -> list[Path]:
    """The programs, built by make."""
    missing = _missing()
    if missing:
        packages = sorted({one.partition("(")[2].rstrip(")") for one in missing})
        sys.exit(f"reach-erf: cannot be built, missing: {', '.join(missing)}. "
                 f"On Debian and Ubuntu: apt install {' '.join(packages)}; doc/install.md has other systems")
    jobs = os.environ.get("JOBS") or str(len(os.sched_getaffinity(0)))
    if not jobs.isdigit() or jobs == "0":
        sys.exit(f"reach-erf: JOBS is {jobs} (expected the number of jobs of make)")
    done = _make(f"-j{jobs}", "all")
    if done.returncode:
        sys.exit("\n".join([*done.stdout.splitlines()[-20:], f"reach-erf: make ended with status {done.returncode}"]))
    return [ROOT / name for name in PROGRAMS if (ROOT / name).is_file()]


@contextlib.contextmanager
def _staged(programs: list[Path]) -> Iterator[None]:
    """A folder with the Python sources and the programs, as the working folder."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="reach-erf-") as folder:
        for name in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, folder)
        shutil.copytree(ROOT / "python", Path(folder, "python"), ignore=shutil.ignore_patterns(*NOT_STAGED))
        _place(programs, Path(folder, "python"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _place(programs: list[Path], python: Path) -> None:
    target = python / "reach_erf/bin"
    shutil.rmtree(target, ignore_errors=True)
    if programs:
        target.mkdir()
    for program in programs:
        shutil.copy(program, target)  # with its permissions


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Write the metadata of the wheel; see PEP 517."""
    target = os.path.abspath(metadata_directory)
    with _staged([]):
        return build_meta.prepare_metadata_for_build_wheel(target, config_settings)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the program and a wheel that holds it; see PEP 517."""
    target, programs = os.path.abspath(wheel_directory), _build()
    with _staged(programs):
        return build_meta.build_wheel(target, config_settings)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the program into python/reach_erf/bin, and a wheel that points to python/; see PEP 660."""
    _place(_build(), ROOT / "python")
    return build_meta.build_editable(wheel_directory, config_settings)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Refuse: the archive of all sources is that of `make dist`."""
    sys.exit("reach-erf: `make dist` makes the archive of the sources, and pip installs from it once unpacked")
