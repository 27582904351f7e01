"""Messages as the text that a model expects: the chat template of its tokenizer, rendered as transformers 5.24 does, without it.

A template comes with the model and is a program: it runs in jinja2's sandbox, sees plain values only, and jinja2 before 3.1.6, whose
sandbox has known ways out, is refused.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Mapping, Sequence

from .errors import ReachError

JINJA = (3, 1, 6)
THOUGHTS = ("reasoning_content", "thinking", "reasoning")  # names of the same member of a message, the templates' own one first


def _jinja() -> Any:
    try:
        import jinja2
        import jinja2.ext
        import jinja2.meta
        import jinja2.sandbox
    except ImportError:
        raise ReachError("messages= needs jinja2, which renders chat templates (pip install jinja2, or pip install 'reach-erf[chat]')") \
            from None
    if tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit()) < JINJA:
        raise ReachError(f"jinja2 is {jinja2.__version__}, whose sandbox has known ways out (expected 3.1.6 or later: "
                         "pip install -U jinja2)")
    return jinja2


def _environment() -> Any:
    jinja2 = _jinja()

    class Generation(jinja2.ext.Extension):  # type: ignore[misc,name-defined]
        """{% generation %} marks what the assistant wrote; the text is that of its body."""

        tags = {"generation"}

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_as_it_is"), [], [], body).set_lineno(line)

        def _as_it_is(self, caller: Any) -> Any:
            return caller()

    class Namespace(jinja2.utils.Namespace):  # type: ignore[misc,name-defined]
        """Refuses names with underscores in front, which lead into Python."""

        def __init__(*args: Any, **members: Any) -> None:
            for name in dict(*args[1:], **members):
                _plain_name(name)
            jinja2.utils.Namespace.__init__(*args, **members)

        def __setitem__(self, name: str, value: Any) -> None:
            _plain_name(name)
            super().__setitem__(name, value)

    def _plain_name(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace cannot have {name!r} (expected a name without _ in front)")

    class Dict:
        """dict without its attributes."""

        def __call__(self, *args: Any, **members: Any) -> dict[Any, Any]:
            return dict(*args, **members)

        def fromkeys(self, *args: Any) -> dict[Any, Any]:
            return dict.fromkeys(*args)

    def raise_exception(text: str) -> None:
        raise jinja2.exceptions.TemplateError(text)

    def tojson(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    found = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                         extensions=[Generation, jinja2.ext.loopcontrols])
    found.filters["tojson"] = tojson
    found.globals.update(raise_exception=raise_exception, dict=Dict(), namespace=Namespace,
                         strftime_now=lambda form: datetime.datetime.now().strftime(form))
    return found


def _plain(value: Any, what: str) -> Any:
    """Return a value as JSON has it: nothing in it has methods that a template could call."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ReachError(f"{what}: {error} (expected texts, numbers, lists and dicts)") from None


def check_messages(given: Any) -> list[dict[str, Any]]:
    """Return messages as JSON has them; what is not a list of messages with roles is refused."""
    found, expected = _plain(given, "messages"), '(expected [{"role": "user", "content": "..."}, ...])'
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ReachError(f"messages are not a list of dicts {expected}")
    if not found:
        raise ReachError(f"messages are empty {expected}")
    for i, one in enumerate(found, 1):
        if not isinstance(one.get("role"), str):
            raise ReachError(f"messages: number {i} has no role {expected}")
    return found


def _messages(given: Any) -> list[dict[str, Any]]:
    found = check_messages(given)
    for i, one in enumerate(found):
        one = {name: value for name, value in one.items() if value is not None}  # many templates would write None
        thought = next((one[name] for name in THOUGHTS if name in one), None)
        found[i] = one if thought is None else {"thinking": thought, **one, "reasoning_content": thought}
    return found


def _template(templates: Mapping[str, str], wanted: Any, tools: Any, where: str) -> str:
    """Choose as get_chat_template: a name or a whole template that was asked for, else tool_use for tools, else the default one."""
    if wanted is not None:
        return templates.get(wanted, wanted)
    if not templates:
        raise ReachError(f"{where}: has no chat template (expected chat_template.jinja, chat_template in tokenizer_config.json, or in a "
                         "GGUF file; or prompt=, or chat={'chat_template': TEXT})")
    name = "tool_use" if tools is not None and "tool_use" in templates else "default"
    if name not in templates:
        raise ReachError(f"{where}: has the chat templates {', '.join(templates)} (expected chat={{'chat_template': one of them}})")
    return templates[name]


def render(found: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], chat: Mapping[str, Any] | None, where: str) -> str:
    """Return the messages as a text, ready for the assistant's turn.

    `found`: the document of `reach info --chat --json`. `chat`: what the template is given besides, as apply_chat_template takes it:
    chat_template, tools, documents, add_generation_prompt, and any variable of the template. `where` names the model in errors.
    """
    values = {"add_generation_prompt": True, "tools": None, "documents": None, **_plain(dict(chat or {}), "chat")}
    environment, jinja2 = _environment(), _jinja()
    text = _template({one["name"]: one["text"] for one in found["templates"]}, values.pop("chat_template", None), values["tools"], where)
    special = {one["name"]: one["text"] for one in found["special_tokens"]}
    try:
        unknown = jinja2.meta.find_undeclared_variables(environment.parse(text)) - special.keys() - values.keys()
        missing = sorted(name for name in unknown if name in ("bos_token", "eos_token"))
        if missing:
            raise ReachError(f"{where}: its chat template writes {missing[0]}, which no file of its tokenizer names "
                             f"(expected chat={{'{missing[0]}': TEXT}})")
        given = {name: value for name, value in special.items() if value is not None}
        return str(environment.from_string(text).render(messages=_messages(messages), **{**given, **values}))
    except jinja2.exceptions.TemplateError as error:
        raise ReachError(f"{where}: its chat template: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ReachError(f"{where}: its chat template: {type(error).__name__}: {error}") from None
