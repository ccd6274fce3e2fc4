"""Processes that read artifacts: parsers recurse, backtrack and crash on hostile text, so they do it where it ends only
them. A process serves one check after the other, keeps what it parsed, and is replaced after a fault.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looper.checks.bench import Bench
from looper.checks.evidence import Problem, Seen
from looper.checks.kinds import CHECK, Part, Pattern, Reading
from looper.checks.sandbox import Sandbox
from looper.checks.wire import Late, Lost, Wire

STARTING = 60.0
"""Seconds until a new process must be ready, on a busy machine."""
IDLE = 2
"""Processes that are kept for later; each holds about 60 MB."""
_PROGRAM = "from looper.checks.reading.process import main; main()"

_idle: dict[tuple[int, Sandbox, int], list[Wire]] = {}
_lock = threading.Lock()


def read(check: Reading, artifact: str, bench: Bench, *, blank: bool = False) -> Seen:
    """What a reading check found; a check that could not be finished has found that.

    `blank`: the part itself is `artifact`, so that a check can be tried on an empty one. Raises SandboxUnavailable.
    """
    seconds = bench.pattern_seconds if isinstance(check, Pattern) else bench.seconds
    request = {"check": CHECK.dump_python(check, mode="json"), "artifact": artifact, "blank": blank}
    with _process(bench) as wire:
        try:
            return _seen(_asked(wire, request, seconds))
        except Late:
            wire.close()
            hint = "simplify the pattern" if isinstance(check, Pattern) else "make the artifact smaller or simpler"
            return Seen([Problem(0, f"the check did not end within {seconds:g} s; {hint}")], f"{check.kind} (ended)")
        except Lost:
            wire.close()
            return _crashed(check.kind, wire)


def pieces_of(check: Part, artifact: str, bench: Bench) -> tuple[list[tuple[int, str]], Seen | None]:
    """First line and text of each piece that a check looks at; what is missing, if there is none."""
    with _process(bench) as wire:
        try:
            said = _asked(wire, {"part": check.part, "artifact": artifact}, bench.seconds)
        except Late:
            wire.close()
            return [], Seen(
                [Problem(0, f"the artifact was not read within {bench.seconds:g} s; make it simpler")], "part"
            )
        except Lost:
            wire.close()
            return [], _crashed("part", wire)
    if "problems" in said:
        return [], _seen(said)
    return [(line, text) for line, text in said["pieces"]], None


def _asked(wire: Wire, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    said = wire.ask(request, seconds)
    if said["last"]:
        wire.close()
    return said


def _seen(said: dict[str, Any]) -> Seen:
    problems = [Problem(line, text) for line, text in said["problems"]]
    return Seen(problems, said["ran"], output=said["output"].encode() if said["output"] is not None else None)


def _crashed(kind: str, wire: Wire) -> Seen:
    why = "it needed too much memory" if wire.worker.ended == "memory" else "the validator ended on it"
    text = f"the artifact could not be examined ({why}); make it smaller or less deeply nested"
    return Seen([Problem(0, text)], f"{kind} (crashed)", wire.worker.exit_code, wire.worker.stderr_tail().encode())


@contextmanager
def _process(bench: Bench) -> Iterator[Wire]:
    """A process that nobody else uses meanwhile."""
    key = os.getpid(), bench.sandbox, bench.memory_mb
    with _lock:
        waiting = _idle.setdefault(key, [])
        wire = waiting.pop() if waiting else None
    if wire is None or not wire.worker.alive:
        wire = _started(bench)
    try:
        yield wire
    except BaseException:
        wire.close()  # an answer may still be under way: it must not be taken for that of the next check
        raise
    with _lock:
        keep = wire.worker.alive and len(waiting) < IDLE
        if keep:
            waiting.append(wire)
    if not keep:
        wire.close()


def _started(bench: Bench) -> Wire:
    bench.sandbox.require(untrusted=True)
    limits = bench.limits()
    wire = Wire(bench.sandbox.start([sys.executable, "-c", _PROGRAM], limits=limits))
    try:
        wire.receive(STARTING)
    except BaseException:
        wire.close()
        raise
    return wire


def release() -> None:
    """Ends the processes that wait for the next check."""
    with _lock:
        wires = [wire for waiting in _idle.values() for wire in waiting]
        _idle.clear()
    for wire in wires:
        wire.close()
