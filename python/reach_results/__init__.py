"""The former name of reach_erf. Its modules keep their names here, so that code written for reach_results runs unchanged."""

import importlib
import sys

from reach_erf import *  # noqa: F401,F403

for _name in ("checkpoint", "comparison", "errors", "layout", "results", "sources", "tables"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = importlib.import_module(f"reach_erf.{_name}")
