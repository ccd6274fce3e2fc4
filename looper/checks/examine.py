"""Runs one check on an artifact and says what it found, with evidence (SPEC 2.6)."""

import time

from looper.checks.bench import Bench
from looper.checks.evidence import Problem, Seen, finding
from looper.checks.kinds import Check, Command, Judge, Pytest, Script
from looper.checks.reader import read
from looper.checks.running.programs import run_command, run_script
from looper.checks.running.tests import run_tests
from looper.criteria import Finding
from looper.errors import ConfigError


def examine(check: Check, artifact: str, bench: Bench) -> Finding:
    """The finding of a check on an artifact. Nothing in the artifact makes it raise, hang or pass.

    Deterministic but for `evidence["seconds"]` and for what runs into a time limit. Raises ConfigError for a judge,
    whom only a loop can ask, and SandboxUnavailable.
    """
    return _examined(check, artifact, bench, blank=False)


def vacuous(check: Check, bench: Bench) -> bool:
    """Whether it passes on an empty artifact, and so says nothing. A judge is none by itself."""
    return not isinstance(check, Judge) and _examined(check, "", bench, blank=True).passed


def _examined(check: Check, artifact: str, bench: Bench, *, blank: bool) -> Finding:
    started = time.monotonic()
    size = len(artifact.encode("utf-8", "replace"))
    if isinstance(check, Judge):
        raise ConfigError("A check of kind `judge` is a question for a model: ask it, then call `judge.verdict`.")
    if size > bench.max_bytes:
        text = f"the artifact has {size} bytes; at most {bench.max_bytes} are examined"
        seen = Seen([Problem(0, text)], "size")
    elif isinstance(check, Pytest):
        seen = run_tests(check, artifact, bench, blank=blank)
    elif isinstance(check, Script):
        seen = run_script(check, artifact, bench, blank=blank)
    elif isinstance(check, Command):
        seen = run_command(check, artifact, bench, blank=blank)
    else:
        seen = read(check, artifact, bench, blank=blank)
    return finding(check.kind, seen, time.monotonic() - started)
