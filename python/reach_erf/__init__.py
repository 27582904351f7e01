"""How far back a language model looks, from Python: `erf`, `explain`, `ppl`, `trf`, `fit`, `bias` and `info` run the program reach.

Also: write checkpoints from any PyTorch decoder, compare log p with its forward pass, read results that the program wrote.
"""

from .checkpoint import write_checkpoint
from .comparison import Check, Mismatch, check
from .errors import ReachError, ReachWarning
from .html import Svg
from .layout import parameters
from .outcomes import Bias, Explanation, Fit, Info, Perplexity, Theory, Token
from .program import find_program
from .results import Erf, Field, Model, Result, open_result
from .sources import Source, apply, concat, ones, rows, split, split_heads, transpose, zeros
from .tables import Table, read_table
from .verbs import bias, erf, explain, fit, info, ppl, trf

__version__ = "0.3.0"

__all__ = [
    "Bias", "Check", "Erf", "Explanation", "Field", "Fit", "Info", "Mismatch", "Model", "Perplexity", "ReachError", "ReachWarning",
    "Result", "Source", "Svg", "Table", "Theory", "Token", "apply", "bias", "check", "concat", "erf", "explain", "find_program", "fit",
    "info", "ones", "open_result", "parameters", "ppl", "read_table", "rows", "split", "split_heads", "transpose", "trf",
    "write_checkpoint", "zeros",
]
