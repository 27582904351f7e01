"""Running the program: where it is, its progress, its messages, Ctrl-C, its errors."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tty
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from .errors import ReachError, ReachWarning

Show = Callable[[int, int, str, str], None]  # done, total, unit, what

BAR = re.compile(r"\[[= ]*\] (?:(\d+)/(\d+)  \S+ (\S+)/s|(\d+) %)  \d+:\d+ left  (.*)", re.S)
CLEAR = "\x1b[K"
MESSAGES = re.compile(  # what the program says of a run that goes as it should; any other line is a warning
    r"^results are in |^resuming: |peak memory |: [\d.]+ [kMGT]?B \(weights |: snapshot |: verified: |^--\w+ .* is taken"
    r"|begin without its beginning-of-text token|more than its configuration has positions for|the newline at its end is left out"
    r"|^\d+ of \d+ \w+(, .* left)?$|^\d+ %(, .* left)?$"
    r"|: this run is complete, "
    r"|^this takes about |^--target .* takes the place of token|lines name a token that may mean several|^gnuplot: not found", re.S)
# Opens its standard error again, for reading too, so that the terminal is that of its session: when the other end of it closes,
# because this process is gone, the program gets SIGHUP and stops as by Ctrl-C.
START = 'said=$1; shift; exec "$@" 2<>"$said"'


@dataclass(frozen=True)
class Done:
    """What a run of the program printed."""

    text: str
    """Its standard output."""
    messages: list[str]
    """The lines on standard error that are not warnings, without `reach VERB: `."""
    command: str
    """The command as a shell takes it."""


def find_program(program: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the program: `program`, else $REACH, else the one in this package, else `reach` in PATH."""
    wanted = os.fspath(program) if program is not None else os.environ.get("REACH")
    if wanted:
        found = shutil.which(wanted)
        if not found:
            raise ReachError(f"{wanted}: there is no such program (expected reach in PATH, or program=PATH)")
    else:
        mine = Path(__file__).with_name("bin") / "reach"
        found = str(mine) if os.access(mine, os.X_OK) else shutil.which("reach")
        if not found:
            raise ReachError("reach: there is no such program (expected it in this package, as pip installs it, or in PATH, or "
                             "REACH=PATH in the environment)")
    return os.path.abspath(found)


class _Lines:
    """Standard error, cut into the display of progress and other lines."""

    def __init__(self, show: Show | None) -> None:
        self.lines: list[str] = []
        self._show, self._rest = show, b""

    def take(self, data: bytes) -> None:
        *whole, self._rest = re.split(rb"(?<=[\r\n])|(?<=\x1b\[K)", self._rest + data)
        for line in whole:
            self._line(line.decode("utf-8", "replace"))

    def end(self) -> None:
        self.take(b"\n")

    def _line(self, line: str) -> None:
        """A bar is what the rest of its line is cleared after; one of a single unit is in percent."""
        text = line.rstrip("\r\n")
        if not line.endswith(CLEAR):
            self.lines += [text] if text.strip() else []
        elif self._show and (bar := BAR.fullmatch(text.removesuffix(CLEAR))):
            done, total, unit = (int(bar[4]), 100, "%") if bar[4] else (int(bar[1]), int(bar[2]), bar[3])
            self._show(done, total, unit, bar[5])


def _terminal() -> tuple[int, int] | None:
    """Both ends of a new terminal, on which the program shows its progress; None where there are none."""
    try:
        mine, its = pty.openpty()
    except OSError:
        return None
    if not os.access(os.ttyname(its), os.W_OK):  # as in a sandbox without /dev/pts
        os.close(mine)
        os.close(its)
        return None
    tty.setraw(its)
    return mine, its


@contextlib.contextmanager
def _hangup_heard() -> Iterator[None]:
    """Started by nohup, this process ignores SIGHUP, and so would the program: it would outlive this process."""
    ignored = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        if ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # of a terminal whose other end is closed
        return b""


def _pump(process: subprocess.Popen[bytes], err: int, out: bytearray, lines: _Lines) -> None:
    """Read until standard output ends."""
    assert process.stdout
    fd = process.stdout.fileno()
    ends = select.poll()
    ends.register(fd, select.POLLIN)
    ends.register(err, select.POLLIN)
    while True:
        for ready, _ in ends.poll():
            data = _read(ready)
            if ready == err:
                lines.take(data)
            elif data:
                out += data
            else:
                return


def _communicate(process: subprocess.Popen[bytes], err: int, lines: _Lines) -> tuple[bytes, int]:
    """Standard output of the program, and how often it was interrupted: at first it stops when it can, then at once."""
    out, interrupts = bytearray(), 0
    while True:
        try:
            _pump(process, err, out, lines)
            process.wait()
            break
        except KeyboardInterrupt:
            interrupts += 1
            process.send_signal(signal.SIGINT) if interrupts < 3 else process.kill()
    rest = select.poll()
    rest.register(err, select.POLLIN)
    while rest.poll(0) and (data := _read(err)):
        lines.take(data)
    lines.end()
    return bytes(out), interrupts


def _failure(verb: str, status: int, lines: Sequence[str]) -> str:
    if status < 0:
        killed = " (the system does that if memory runs out)" if -status == signal.SIGKILL else ""
        return f"reach {verb}: ended by {signal.Signals(-status).name}{killed}"
    return lines[-1] if lines else f"reach {verb}: ended with status {status}"


def _encoded(arguments: Sequence[str]) -> list[bytes]:
    for argument in arguments:
        if "\0" in argument:
            raise ReachError(f"{argument[:40]!r}: an argument has a null character (expected text without one)")
    try:
        return [argument.encode("utf-8", "surrogateescape") for argument in arguments]
    except UnicodeEncodeError as error:
        raise ReachError(f"{error.object[:40]!r}: an argument is not Unicode text: {error.reason}") from None


def named(text: str, names: Mapping[str, str] | None) -> str:
    """Return a text with the names of paths in place of them, the longest path first."""
    for path in sorted(names or (), key=len, reverse=True):
        text = text.replace(path, (names or {})[path])
    return text


FLAGS = ("attention", "chat", "explain", "force", "gain", "growth", "no-bos", "no-title", "resume", "strict", "verify", "wide", "widen", "xlog")
OPTION = re.compile(r'(`[^`]*`|"[^"]*")|(?<![\w-])(?:--([a-z][a-z0-9-]*)|(-o)\b)(?:=| (?=[A-Z]+\b|\d)|(?= [a-z])())?')


def spoken(line: str) -> str:
    """Return a line of the program with its options as Python has them: length= for --length, but not between quotes."""

    def option(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        name = "out" if found[3] else found[2]
        spoken = name.replace("-", "_")
        if name in FLAGS:
            return f"{spoken}=True"
        return spoken if found[4] is not None else f"{spoken}="  # a word that follows is no value

    return OPTION.sub(option, line)


def run(arguments: Sequence[str], *, program: str | os.PathLike[str] | None = None, given: bytes = b"",
        show: Show | None = None, unsaid: str = "", names: Mapping[str, str] | None = None) -> Done:
    """Run the program until it ends, and return what it printed. `given` is its standard input, `unsaid` a pattern of messages that
    do not concern the caller, and `names` what paths of temporary files are called in what it printed.

    Raises ReachError with its line if it fails. Its warnings become Python's. Ctrl-C reaches it: it stops after the segments that
    it is at and keeps them where it has a folder for that, and KeyboardInterrupt follows; a second one stops it at once.
    """
    command = [find_program(program), *arguments]
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(tempfile.TemporaryFile())
        source.write(given)
        source.seek(0)
        ends = _terminal()
        started = _encoded(["/bin/sh", "-c", START, "reach", os.ttyname(ends[1]), *command] if ends else command)
        mine, its = ends or os.pipe()
        stack.callback(os.close, mine)
        try:
            with _hangup_heard():
                process = subprocess.Popen(started, stdin=source, stdout=subprocess.PIPE, stderr=its, start_new_session=True)
        except OSError as error:
            os.close(its)
            raise ReachError(f"reach: cannot be started: {error.strerror}") from None
        stack.callback(os.close, its)
        stack.callback(_end, process)
        lines = _Lines(show)
        out, interrupts = _communicate(process, mine, lines)
    verb = arguments[0]
    lines.lines = [named(line, names) for line in lines.lines]
    if interrupts:
        raise KeyboardInterrupt(spoken(lines.lines[-1]) if lines.lines else f"reach {verb}: interrupted")
    if process.returncode:
        raise ReachError(spoken(_failure(verb, process.returncode, lines.lines)))
    said = [line[len(f"reach {verb}: "):] if line.startswith(f"reach {verb}: ") else line for line in lines.lines]
    said = [line for line in said if not unsaid or not re.search(unsaid, line)]
    for line in said:
        if not MESSAGES.search(line):
            warnings.warn(spoken(line), ReachWarning, stacklevel=_outside())
    return Done(named(out.decode("utf-8", "replace"), names), [line for line in said if MESSAGES.search(line)], shlex.join(["reach", *arguments]))


def _outside() -> int:
    """How many calls up the caller of this package is, for the place of a warning."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
        level, frame = level + 1, frame.f_back
    return level


def _end(process: subprocess.Popen[Any]) -> None:
    """Stop what still runs, because an exception came between."""
    with process:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
