"""Arguments of Python as arguments of the program: options, models, token ids."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .checkpoint import write_checkpoint
from .errors import ReachError
from .program import named
from .progress import their_bars
from .sources import Source, torch_of


WITH_COMMAS = ("context", "figure", "format", "panels", "steps", "target-position")  # lists that are one value; others are repeated
RANGES = ("epsilon", "range")  # a tuple is FIRST:LAST, or LOW:HIGH:STEP; of others it is a list
OURS = {"o": "out", "out": "out", "help": "help(reach_erf)", "h": "help(reach_erf)"}
NAME_CHARACTERS = re.compile(r"[^\w.+@-]+")


def _text(value: Any) -> str:
    """A value as the program reads it; numbers with all their digits."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def _values(name: str, value: Any) -> list[str]:
    if isinstance(value, np.ndarray) or torch_of(value):
        value = value.tolist()
    if isinstance(value, Mapping):  # names and values, as of set=
        return [f"{key}={','.join(_values('context', one))}" for key, one in value.items()]
    if isinstance(value, tuple) and name in RANGES:
        return [":".join(map(_text, value))]
    if isinstance(value, (list, tuple, range)):
        texts = [_text(one) for one in value]
        return [",".join(texts)] if name in WITH_COMMAS and texts else texts
    return [_text(value)]


def option_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the options as the program takes them.

    Underscores stand for dashes. None and False leave an option out, True is one without a value, a list repeats it or, where the
    program takes several values with commas, joins them; a tuple is a range FIRST:LAST; a dict is NAME=VALUE for each.
    """
    arguments = []
    for key, value in options.items():
        name = key.strip("_").replace("_", "-")
        if name in OURS:
            raise ReachError(f"{key}: is not an option here (expected {OURS[name]})")
        if value is None or value is False:
            continue
        arguments += [f"--{name}"] if value is True else [f"--{name}={text}" for text in _values(name, value)]
    return arguments


def is_path(value: Any) -> bool:
    """Return whether a value is a path, or a list of paths."""
    return isinstance(value, (str, os.PathLike)) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, (str, os.PathLike)) for one in value))


def paths(value: Any, what: str) -> list[str]:
    """Return one path or several as a list."""
    if not is_path(value):
        raise ReachError(f"{what} is {type(value).__name__} (expected a path, or a list of paths)")
    return [os.fsdecode(one) for one in ([value] if isinstance(value, (str, os.PathLike)) else value)]


def token_ids(value: Any) -> np.ndarray:
    """Return token ids as an array [tokens] or [segments, L] of whole numbers."""
    try:
        ids = np.asarray(value.detach().cpu() if torch_of(value) else value)
    except ValueError:
        raise ReachError("tokens are rows of different lengths (expected ids [tokens], or [segments, L])") from None
    if ids.size == 0:
        raise ReachError("tokens are empty (expected ids [tokens], or [segments, L])")
    if ids.ndim not in (1, 2) or ids.dtype.kind not in "iu":
        raise ReachError(f"tokens are {ids.dtype} of the shape {list(ids.shape)} (expected ids [tokens], or [segments, L])")
    return ids.astype(np.int64)


def string(value: Any, name: str, also: type | tuple[type, ...] = ()) -> None:
    """Refuse a value that is given and neither a string nor one of `also`: str() of it would be another text."""
    if value is not None and value is not False and (isinstance(value, bool) or not isinstance(value, (str, also) if also else str)):
        several = f'; for several prompts=[{{"prompt": "...", "{name}": "..."}}, ...]' if isinstance(value, (list, tuple)) and also else ""
        raise ReachError(f"{name} is {type(value).__name__} (expected a string{', or the id of a token' if also else ''}{several})")


@dataclass
class Call:
    """One call of the program: how models that live in memory are written, and a temporary folder for that, once it is needed."""

    tokenizer: Any = None
    names: Mapping[str, Source] | None = None
    config: Mapping[str, Any] | None = None
    ignore: Sequence[str] = ()
    _folder: Any = field(default=None, init=False)
    _taken: set[str] = field(default_factory=set, init=False)
    written: dict[str, str] = field(default_factory=dict, init=False)
    """What the files and folders in the temporary folder are called in messages."""
    _unwritten: dict[Path, Callable[[], Any]] = field(default_factory=dict, init=False)

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *unused: Any) -> None:
        if self._folder:
            self._folder.cleanup()

    @property
    def scratch(self) -> Path:
        """The temporary folder."""
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="reach-")
        return Path(self._folder.name)

    def texts(self, text: Any, tokens: Any) -> list[str]:
        """Return the options for texts and token ids."""
        found = [f"--text={path}" for path in paths(text, "text")] if text is not None else []
        if tokens is None:
            return found
        if not is_path(tokens):
            ids, tokens = token_ids(tokens), self._named("tokens.npy", "tokens")
            np.save(tokens, ids)
        return found + [f"--tokens={path}" for path in paths(tokens, "tokens")]

    def _named(self, file: str, name: str) -> Path:
        """A path in the temporary folder, and what it is called in messages."""
        path = self.scratch / file
        self.written[str(path)] = name
        return path

    def prompts(self, value: Any) -> str:
        """Return the path of a JSONL file of prompts, which is written for a list of dicts."""
        if isinstance(value, (str, os.PathLike)):
            return os.fsdecode(value)
        if isinstance(value, (list, tuple)) and not value:
            raise ReachError('prompts are empty (expected at least one {"prompt": "..."})')
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, Mapping) for one in value):
            raise ReachError(f"prompts is {type(value).__name__} (expected a path, or a list of dicts, each "
                             '{"prompt": "..."} and what `reach explain --prompts` takes besides)')
        path = self._named("prompts.jsonl", "prompts")
        try:
            path.write_text("".join(json.dumps(dict(one)) + "\n" for one in value), encoding="utf-8")
        except (TypeError, ValueError) as error:
            raise ReachError(f"prompts: {error} (expected texts and numbers)") from None
        return str(path)

    def models(self, given: Sequence[Any]) -> list[str]:
        """Return the operands for models: paths, names in the cache, models in memory, lists of these, or {name: model}."""
        found: list[str] = []
        for one in given:
            if isinstance(one, Mapping) and not hasattr(one, "state_dict"):
                found += [self._model(model, _given_name(name)) for name, model in one.items()]
            elif isinstance(one, (list, tuple)):
                found += self.models(one)
            else:
                found.append(self._model(one, None))
        return found

    def formulas(self, given: Sequence[Any]) -> list[str]:
        """Return the operands of verbs that take formulas and presets too: texts as they are."""
        return [text for one in given for text in ([one] if isinstance(one, str) else self.models([one]))]

    def _model(self, model: Any, name: str | None) -> str:
        if isinstance(model, (str, os.PathLike)):
            path = os.fsdecode(model)
            if path.startswith("-") and os.path.exists(path):
                path = f"./{path}"
            if name is None and "=" in path and (isinstance(model, os.PathLike) or os.path.exists(path)):
                name = self._unique(_plain_name(os.path.basename(path.rstrip("/"))))  # or it would be NAME=MODEL
        else:
            name = self._unique(name or _name_of(model))
            path = str(self._written(model, name))
        return path if name is None else f"{name}={path}"

    def _unique(self, name: str) -> str:
        plain, number = name, 2
        while name in self._taken:
            name, number = f"{plain}-{number}", number + 1
        self._taken.add(name)
        return name

    def write(self, check: Callable[[], Any], bars: bool) -> None:
        """Write the models in memory that are not written yet. First `check`, the call without their folders, has to fail
        because of these: what else is wrong is found before gigabytes are written. `bars`: transformers shows its own."""
        if not self._unwritten:
            return
        try:
            check()
        except ReachError as error:
            if not any(str(folder) in str(error) for folder in self._unwritten):
                raise ReachError(named(str(error), self.written)) from None
        with their_bars(bars):
            for write in self._unwritten.values():
                write()
        self._unwritten.clear()

    def _written(self, model: Any, name: str) -> Path:
        """The folder that a model in memory is written to by `write`."""
        folder = self._named(f"model-{len(self._taken)}", name)
        model = _unwrapped(model)
        if isinstance(model, type):
            raise ReachError(f"{name}: {model.__name__} is a class (expected a model, such as one that its from_pretrained returns)")
        if self.names is not None:
            if not hasattr(model, "state_dict"):
                raise ReachError(f"{name}: {type(model).__name__} has no state_dict (expected a torch module with names=)")
            names = self.names

            def save() -> None:
                write_checkpoint(folder, model.state_dict(), names, self.config or {}, ignore=self.ignore)

        elif hasattr(model, "peft_config"):
            raise ReachError(f"{name}: is a PEFT model (expected the base model, and adapter=FOLDER with what "
                             "its save_pretrained wrote)")
        elif hasattr(model, "save_pretrained"):
            def save() -> None:
                model.save_pretrained(folder)

        else:
            raise ReachError(f"{name}: {type(model).__name__} is not a model (expected a path, a name in the cache, "
                             "a transformers model, or a torch module with names= and config=)")

        def write() -> None:
            save()
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(folder)

        self._unwritten[folder] = write
        return folder


def _given_name(name: Any) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[^\W_][\w.+@ -]*", name):
        raise ReachError(f"{name!r}: cannot be a name (expected one that begins with a letter or digit, "
                         "of these, blanks and _ . - + @)")
    return name


def _unwrapped(model: Any) -> Any:
    """The module in torch.compile's and in those of parallel training."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel"):
            inner = getattr(model, "module", None)
        if inner is None:
            return model
        model = inner


def _name_of(model: Any) -> str:
    model = _unwrapped(model)
    config = getattr(model, "config", None)
    name = str(getattr(config, "_name_or_path", "") or getattr(config, "model_type", "") or type(model).__name__)
    return _plain_name(name.rstrip("/").rpartition("/")[2])


def _plain_name(name: str) -> str:
    return NAME_CHARACTERS.sub("-", name).strip("-.") or "model"
