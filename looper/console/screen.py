"""Text on its way to a person: made harmless, free of secrets, above the bar of a run under way (SAFETY P15, P18)."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from looper.redact import redact

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline; ESC and the eight-bit CSI, OSC among them
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, width, line separators
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"  # invisible, tags, surrogates
)
_POOR = str.maketrans({"─": "-"})


def plain(text: object) -> str:
    """The text with everything shown escaped that could act on a terminal or hide what stands there (SAFETY P18).

    Tabs and newlines stay, and so do the joiners that some scripts are written with.
    """
    return _ACTING.sub(lambda found: ascii(found[0])[1:-1], str(text))


def brief(text: object, width: int = 100) -> str:
    """The text on one line of at most `width` characters, harmless."""
    # The cut comes first as well, so that a megabyte is not searched for the sake of a line.
    words = " ".join(plain(str(text)[: width * 4]).split())
    return words if len(words) <= width else words[: width - 3] + "..."


class Screen:
    """Standard output for results, standard error for progress, and at most one bar below both. Safe for threads."""

    def __init__(self, out: TextIO, err: TextIO, *, quiet: bool = False):
        self.out, self.err, self.quiet = out, err, quiet
        self._lock = threading.RLock()
        self._turn = threading.Lock()
        self._speaker: int | None = None
        self._held: list[tuple[TextIO, str]] = []
        self._closed: set[int] = set()
        self._live: Any = None

    def say(self, text: str) -> None:
        """A line or more of the result."""
        self._write(self.out, text)

    def tell(self, text: str) -> None:
        """A line of progress; nothing when quiet."""
        if not self.quiet:
            self._write(self.err, text)

    def warn(self, text: str) -> None:
        """A line that is said even when quiet."""
        self._write(self.err, text)

    def prompt(self, text: str) -> None:
        """The beginning of a line that a person ends."""
        with self._lock:
            self._put(self.err, text, end="")

    def show_bar(self, render: Callable[[], Any]) -> None:
        """Keep what `render` returns in the last line until `close`; nothing without a terminal."""
        if self.quiet or self._live or not self.err.isatty():
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.err, markup=False, highlight=False)
        if console.is_dumb_terminal:
            return
        self._live = Live(
            get_renderable=render, console=console, refresh_per_second=4, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._live.start()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the terminal for a talk with a person; what others say meanwhile follows after it."""
        with self._turn:
            with self._lock:
                live, self._live = self._live, None
                self._speaker = threading.get_ident()
                if live:
                    live.stop()
            try:
                yield
            finally:
                self._resume(live)

    def _resume(self, live: Any) -> None:
        with self._lock:
            self._speaker = None
            held, self._held = self._held, []
            for stream, text in held:
                self._put(stream, text)
            self._live = live
            if live:
                live.start()

    def close(self) -> None:
        """Take the bar away for good."""
        with self._lock:
            if self._live:
                self._live.stop()
                self._live = None

    def _write(self, stream: TextIO, text: str) -> None:
        with self._lock:
            if self._speaker not in (None, threading.get_ident()):
                self._held.append((stream, text))
                return
            above = self._live if stream.isatty() else None
            if above:
                above.stop()
            self._put(stream, text)
            if above:
                above.start()

    def _put(self, stream: TextIO, text: str, end: str = "\n") -> None:
        """A reader who goes away (`| head`) and a full disk end the talking, not the run."""
        if id(stream) in self._closed:
            return
        try:
            stream.write(_fitting(stream, plain(redact(text))) + end)
            stream.flush()
        except OSError as error:
            self._closed.add(id(stream))
            if isinstance(error, BrokenPipeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else Python fails again when it ends
            elif stream is not self.err:
                self._put(self.err, f"looper: standard output cannot be written ({error.strerror}); the run goes on.")


def _fitting(stream: TextIO, text: str) -> str:
    """The text in what the stream can encode; the rest escaped."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_POOR).encode(encoding, "backslashreplace").decode(encoding)
    return text
