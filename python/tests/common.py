"""What the tests share: where things are, and the program under test."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

try:
    import torch

    torch.set_num_threads(1)
except ImportError:  # tests that need it are skipped, or cannot be imported
    torch = None

ROOT = Path(__file__).resolve().parents[2]
REACH = shutil.which(os.environ.get("REACH", "reach"))
REACH = REACH and os.path.abspath(REACH)
if REACH:
    os.environ["REACH"] = REACH  # for processes in other folders
TEXT = ROOT / "examples/text/moby-dick.txt.gz"
MODELS = ROOT / "examples/models"


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.assertIsNotNone(REACH, "there is no program (expected reach in PATH, or REACH=PATH)")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)

    def refused(self, *parts, error=None):
        """Context that expects a ReachError whose message has all parts."""
        import reach_erf

        test = self

        class Refused:
            def __enter__(self):
                return self

            def __exit__(self, kind, value, trace):
                test.assertIsNotNone(kind, f"not refused (expected {parts})")
                if not issubclass(kind, error or reach_erf.ReachError):
                    return False
                for part in parts:
                    test.assertIn(part, str(value))
                self.message = str(value)
                return True

        return Refused()
