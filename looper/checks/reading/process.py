"""The process that reads: JSON lines in and out. Runs in the sandbox; it executes nothing of the artifact."""

import gc
import importlib
import json
import os
import resource
import warnings
from typing import Any

from looper.checks.kinds import CHECK, Part
from looper.checks.reading.parts import Artifact, Missing, Piece

GROWN = 600 * 2**20
"""Bytes of memory after which a new process takes over: validators keep caches."""
TOO_DEEP = "it is nested too deeply or too large to be read; make it simpler"
KEPT = 50
"""Problems that are told; the rest is counted."""
MODULES = {
    "sections": "sections",
    "pattern": "pattern",
    "parse": "parse",
    "json_schema": "schema",
    "openapi": "openapi",
    "markdown": "markdown",
    "python": "python",
    "secrets": "secrets",
    "config": "config",
}
"""Module by kind; each has `read(check, artifact, pieces) -> Reading` and is imported when it is first needed."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The pieces of an artifact that are asked for, or what a check found in them."""
    return examined(request) if "check" in request else selected(Part(part=request["part"]), request["artifact"])


def selected(check: Part, text: str) -> dict[str, Any]:
    try:
        return {"pieces": [(piece.line, piece.text) for piece in Artifact(text).pieces(check)]}
    except Missing as missing:
        return told([(0, str(missing))], "part")
    except (RecursionError, MemoryError):
        return told([(0, TOO_DEEP)], "part")


def examined(request: dict[str, Any]) -> dict[str, Any]:
    check = CHECK.validate_python(request["check"])
    artifact = Artifact(request["artifact"])
    module = importlib.import_module(f"looper.checks.reading.{MODULES[check.kind]}")
    try:
        pieces = [Piece(artifact.text)] if request["blank"] else artifact.pieces(check)
        if not any(piece.text.strip() for piece in pieces):
            return told([(pieces[0].line if check.part else 0, "there is nothing here: it is empty")], check.kind)
        problems, ran, output = module.read(check, artifact, pieces)
    except Missing as missing:
        return told([(0, str(missing))], check.kind)
    except (RecursionError, MemoryError):
        return told([(0, TOO_DEEP)], check.kind)
    return told(problems, ran, output)


def told(problems: list[tuple[int, str]], ran: str, output: str | None = None) -> dict[str, Any]:
    problems = list(dict.fromkeys((line, text[:2000]) for line, text in problems))
    kept = problems[:KEPT]
    kept += [(0, "one more problem")] * min(len(problems) - len(kept), 10_000)
    clean = None if output is None else output[:20_000].encode("utf-8", "replace").decode()
    return {"problems": kept, "ran": ran, "output": clean}


def main() -> None:
    """Serves until its input ends or it has grown too much."""
    reads, writes = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    gc.disable()  # a parser makes a million small objects; they are collected between two checks
    say(writes, {"ready": True})
    for line in reads:
        said = answer(json.loads(line))
        last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > GROWN
        say(writes, said | {"last": last})
        if last:
            return
        gc.collect()


def say(writes: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(writes, data) :]
