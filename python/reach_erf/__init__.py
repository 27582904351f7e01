"""Python beside reach: write checkpoints from any PyTorch decoder, compare log p with its forward pass, read results."""

from .checkpoint import write_checkpoint
from .comparison import Check, Mismatch, check
from .errors import ReachError
from .layout import parameters
from .results import Erf, Field, Model, Result, open_result
from .sources import Source, apply, concat, ones, rows, split, split_heads, transpose, zeros
from .tables import Table, read_table

__all__ = [
    "Check", "Erf", "Field", "Mismatch", "Model", "ReachError", "Result", "Source", "Table", "apply", "check", "concat", "ones",
    "open_result", "parameters", "read_table", "rows", "split", "split_heads", "transpose", "write_checkpoint", "zeros",
]
