"""The verdict of a script, read from its channel; every byte counts as hostile (SAFETY P12)."""

import json

from looper.checks.sandbox import Result


def verdict_in(result: Result, nonce: str) -> tuple[bool, str]:
    """Whether it passed, and if not why."""
    if result.ended != "exited":
        return False, f"the script gave no verdict: it was ended ({result.ended})"
    said = [line for line in result.stdout.split(b"\n") if line.strip()]
    if len(said) != 1 or result.truncated:
        last = result.stderr.decode("utf-8", "replace").strip().splitlines()
        why = "it ended without one" if not said else "it said more than one"
        return False, f"the script gave no verdict: {why}{f' ({last[-1]})' if last and not said else ''}"
    try:
        message = json.loads(said[0])
    except (ValueError, RecursionError):
        return False, "the script gave no verdict: its channel holds something else"
    if not isinstance(message, dict) or set(message) != {"nonce", "passed", "note"} or message["nonce"] != nonce:
        return False, "the script gave no verdict: its channel holds something else"
    note = str(message["note"]) or "the script says that it does not hold"
    return message["passed"] is True, note
