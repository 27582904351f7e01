"""The verbs of the program as functions. Options are named as there, with underscores: --check-precision 2 is check_precision=2.

Of every option: None and False leave it out, True gives one that has no value, a list repeats it, a dict is NAME=VALUE for each.
All options of the program are taken, since they are passed on: `reach VERB --help --all` lists them, and one that it does not know is
refused by it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, TypeVar

import numpy as np

from .arguments import Call, option_arguments, string
from .chat import check_messages, render
from .errors import ReachError
from .outcomes import Bias, Explanation, Fit, Info, Outcome, Perplexity, Theory
from .program import Done, run
from .progress import Progress, bar_wanted, shown
from .results import Result, read_erf
from .sources import Source

UNSAID_OF_CHAT = "has a chat template, and prompts|begin without its beginning-of-text token"  # both are the template's to decide

Found = TypeVar("Found", bound=Outcome)


LACKS = re.compile(r"(and no tokenizer to read text with|has no chat template) \(expected .*", re.S)


def _run(call: Call, verb: str, arguments: Sequence[str], options: Mapping[str, Any], progress: Progress, program: Any,
         given: bytes = b"", unsaid: str = "") -> Done:
    command = [verb, *option_arguments(options), *arguments]
    call.write(lambda: run(command, program=program, given=given), bar_wanted(progress))
    with shown(progress) as show:
        try:
            return run(command, program=program, show=show, given=given, unsaid=unsaid, names=call.written)
        except ReachError as error:
            raise _of_memory(call, error, f"reach {verb}: ") from None


def _of_memory(call: Call, error: ReachError, before: str = "") -> ReachError:
    """The error, or what a model in memory lacks where it says that there is no tokenizer with it."""
    name = next((one for one in call.written.values() if str(error).startswith(f"{before}{one}: has")), None)
    if name is None or call.tokenizer is not None:
        return error
    return ReachError(LACKS.sub(r"\1 (expected tokenizer=, the tokenizer of the model in memory, or tokens= with token ids)", str(error)))


def _result(call: Call, verb: str, read: Callable[[Path], Found], arguments: Sequence[str], options: dict[str, Any], out: Any,
            progress: Progress, program: Any, given: bytes = b"", unsaid: str = "") -> Found:
    """Run a verb that writes a folder: `out`, or a temporary one that goes with the result."""
    owned = tempfile.mkdtemp(prefix="reach-") if out is None else None
    folder = Path(owned, verb) if owned else Path(os.path.abspath(out))
    try:
        done = _run(call, verb, ["-o", str(folder), *arguments], options, progress, program, given, unsaid)
        found = read(folder)
    except BaseException:
        if owned:
            shutil.rmtree(owned, ignore_errors=True)
        raise
    found.said(done)
    if owned:
        found.own(Path(owned))
    return found


def _drawn(options: dict[str, Any]) -> dict[str, Any]:
    return {"format": "svg", **options}


def erf(*models: Any, text: Any = None, tokens: Any = None, tokenizer: Any = None, names: Mapping[str, Source] | None = None,
        config: Mapping[str, Any] | None = None, ignore: Sequence[str] = (), out: str | os.PathLike[str] | None = None,
        progress: Progress = None, program: str | os.PathLike[str] | None = None, **options: Any) -> Result:
    """Measure how far back models look: their empirical receptive fields, in tokens, with 95 % intervals.

    `models`: folders, GGUF files, names in the local cache (ORG/NAME), transformers models, or torch modules; also lists, and
    {name: model}. A model in memory is written to a temporary folder first: a transformers model by its save_pretrained, with
    `tokenizer` if that is given; a module by write_checkpoint with `names`, `config` and `ignore` (doc/own-models.md).

    `text`: the path of a text, or several. `tokens` instead: the path of a token file, or ids [tokens], a stream, or [segments, L],
    one segment a row: a list, an array or a tensor.

    `options` are those of `reach erf --help`, such as length=2048 (tokens of a segment, with the target), segments=1000 (at most),
    threshold=[0.5, 0.99], layer="all", device="cuda", dtype="f64", resume=True.

    `out`: the folder for the results, in which an interrupted run keeps what it has for resume=True; by default a temporary one,
    removed with the result. `progress`: True, False, None (in notebooks and on terminals), or a function of the segments done and
    their total. `program`: the program, instead of $REACH, the one in this package, or that in PATH.

    Returns the models by their names: result["gpt2"].erf(0.99), result["gpt2"].c, result.to_frame(), result.plot().
    Raises ReachError with the program's line.
    """
    with Call(tokenizer, names, config, ignore) as call:
        return _result(call, "erf", read_erf, [*call.texts(text, tokens), *call.models(models)], _drawn(options), out, progress, program)


def ppl(*models: Any, text: Any = None, tokens: Any = None, tokenizer: Any = None, names: Mapping[str, Source] | None = None,
        config: Mapping[str, Any] | None = None, ignore: Sequence[str] = (), out: str | os.PathLike[str] | None = None,
        progress: Progress = None, program: str | os.PathLike[str] | None = None, **options: Any) -> Perplexity:
    """Measure perplexity at several contexts: context=[128, 512, 2048], in tokens.

    Models, `text`, `tokens`, `out`, `progress` and `program` are as in `erf`; `options` are those of `reach ppl --help`, such as
    protocol="sliding", gain=True. per_token=True puts the NLL of every target, in nats, into result.tables["per-token"].
    """
    with Call(tokenizer, names, config, ignore) as call:
        per_token = options.get("per_token") is True
        if per_token:
            options["per_token"] = call.scratch / "per-token.csv"

        def read(folder: Path) -> Perplexity:
            if per_token:
                shutil.copy(options["per_token"], folder)
            return Perplexity(folder)

        return _result(call, "ppl", read, [*call.texts(text, tokens), *call.models(models)], _drawn(options), out, progress, program)


def _chat(call: Call, model: str, messages: Sequence[Mapping[str, Any]], chat: Mapping[str, Any] | None, options: dict[str, Any],
          progress: Progress, program: Any) -> str:
    """Messages as a prompt, in which the template decides whether there is a beginning-of-text token: `options` says so."""
    check_messages(messages)
    unchecked = ["explain", *option_arguments(options), "--prompt=a", model]
    call.write(lambda: run(unchecked, program=program), bar_wanted(progress))
    found = json.loads(run(["info", "--chat", "--json", model], program=program, names=call.written).text)
    path = model.rpartition("=")[2]
    model = call.written.get(path, model)
    try:
        prompt = render(found, messages, chat, model)
    except ReachError as error:
        raise _of_memory(call, error) from None
    begin = next((one["text"] for one in found["special_tokens"] if one["name"] == "bos_token"), None)
    if options.setdefault("bos", "never") not in ("never", None) and begin and prompt.startswith(begin):
        raise ReachError(f"{model}: its chat template writes {begin} itself (expected messages= without bos={options['bos']!r})")
    return prompt


def explain(model: Any, /, *, prompt: str | None = None, messages: Sequence[Mapping[str, Any]] | None = None,
            chat: Mapping[str, Any] | None = None, text: Any = None, tokens: Any = None, tokenizer: Any = None,
            names: Mapping[str, Source] | None = None, config: Mapping[str, Any] | None = None, ignore: Sequence[str] = (),
            out: str | os.PathLike[str] | None = None, progress: Progress = None, program: str | os.PathLike[str] | None = None,
            **options: Any) -> Explanation:
    """Find which tokens one prediction depended on: the likeliest token after `prompt`, or the last one of `text` or `tokens`.

    `messages` instead of a prompt, for models that expect a chat: [{"role": "user", "content": "..."}, ...], written as text by the
    chat template of the model's tokenizer (jinja2 is needed), up to where the assistant begins, as apply_chat_template of
    transformers writes them; its special tokens are tokens, and none is put before them unless bos= says so. `chat` has what else
    the template is given: {"tools": [...], "enable_thinking": False}, and chat_template, a name or a template.

    The model, `text`, `tokens`, `out`, `progress` and `program` are as in `erf`. The model may also be a result of `erf`, or its
    folder, with segment=N, from 1. `options` are those of `reach explain --help`, such as against=" no", bos="always". prompts= takes
    a path, or a list of dicts: [{"prompt": "...", "answer": "...", "id": "..."}, ...].
    """
    with Call(tokenizer, names, config, ignore) as call:
        string(prompt, "prompt")
        string(options.get("answer"), "answer")
        for name in ("target", "against"):
            string(options.get(name), name, (int, np.integer))
        for name in ("by", "leave_out"):
            if options.get(name) is True:
                raise ReachError(f'{name} is True (expected "word", "sentence" or "line")')
        if options.get("prompts") is not None:
            options["prompts"] = call.prompts(options["prompts"])
        given, arguments = b"", call.texts(text, tokens)
        if isinstance(model, Result):
            model = model.folder
        operands = call.models([model])
        if messages is not None:
            if prompt is not None or arguments:
                raise ReachError("messages and prompt, text or tokens are both given (expected one of them)")
            prompt = _chat(call, operands[0], messages, chat, options, progress, program)
        elif chat is not None:
            raise ReachError("chat is given without messages (expected both, or neither)")
        if prompt is not None:
            inline = prompt != "-" and len(prompt) < 10_000
            given = b"" if inline else (prompt + "\n").encode("utf-8", "surrogateescape")  # the program leaves this newline out
            arguments.append(f"--prompt={prompt}" if inline else "--prompt=-")
        return _result(call, "explain", Explanation, [*arguments, *operands], options, out, progress, program, given,
                       UNSAID_OF_CHAT if messages is not None else "")


def trf(*formulas: Any, out: str | os.PathLike[str] | None = None, progress: Progress = None,
        program: str | os.PathLike[str] | None = None, **options: Any) -> Theory:
    """Compute theoretical receptive fields, in tokens, with proofs: of formulas, presets and models.

    `formulas`: texts as the program takes them ("alibi", "-ln(1+t)", a path), models as in `erf`, lists of these, or {name: one}.
    `options` are those of `reach trf --help`, such as set={"p": 1.05, "a": [0.5, 0.7]}, heads=8, epsilon=[0.01, 0.1], length=2048,
    explain=True (the proofs are in result.text).
    """
    with Call() as call:
        return _result(call, "trf", Theory, _after(call.formulas(formulas)), _drawn(options), out, progress, program)


def fit(formula: Any, /, *, out: str | os.PathLike[str] | None = None, progress: Progress = None,
        program: str | os.PathLike[str] | None = None, **options: Any) -> Fit:
    """Fit a form to a position bias, or to the curve of a result of `erf`, by least squares.

    `options` are those of `reach fit --help`, such as form="a + b*ln(1+t)", range=(0, 8191) in tokens, of="ln-s".
    """
    if isinstance(formula, Result) and formula.folder:
        formula = formula.folder / "curve.csv"
    with Call() as call:
        return _result(call, "fit", Fit, _after(call.formulas([formula])), _drawn(options), out, progress, program)


def bias(*formulas: Any, out: str | os.PathLike[str] | None = None, progress: Progress = None,
         program: str | os.PathLike[str] | None = None, **options: Any) -> Bias:
    """Evaluate position biases, in nats, at each distance, in tokens. Formulas are as in `trf`.

    `options` are those of `reach bias --help`, such as length=2048, heads=8.
    """
    with Call() as call:
        return _result(call, "bias", Bias, _after(call.formulas(formulas)), _drawn(options), out, progress, program)


def info(model: Any, /, *, tokenizer: Any = None, names: Mapping[str, Source] | None = None, config: Mapping[str, Any] | None = None,
         ignore: Sequence[str] = (), program: str | os.PathLike[str] | None = None, **options: Any) -> Info:
    """Return what a checkpoint holds, and what a segment of `erf` would take. The model is as in `erf`.

    `options` are those of `reach info --help`, such as length=8192, dtype="f64".
    """
    with Call(tokenizer, names, config, ignore) as call:
        return Info(_run(call, "info", call.models([model]), options, False, program))


def _after(operands: list[str]) -> list[str]:
    """Operands that may begin with two dashes."""
    return ["--", *operands]
