"""The commands `reach` and `reach-mpi` of an installed package: the program takes the place of this process.

A module of its own, so that they start without loading what reach_erf needs.
"""

import importlib.util
import os
import sys


def folder() -> str:
    """Return the folder of the programs beside the package reach_erf."""
    found = importlib.util.find_spec("reach_erf")
    return os.path.join(os.path.dirname(found.origin), "bin") if found and found.origin else ""


def _become(name: str) -> None:
    path = os.path.join(folder(), name)
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {path} cannot be run: {error.strerror} (expected the program there, as `pip install .` puts it)")


def reach() -> None:
    """Run the program with the arguments of this process."""
    _become("reach")


def reach_mpi() -> None:
    """Run it for several ranks, where it was built with an MPI."""
    _become("reach-mpi")
