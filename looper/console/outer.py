"""What is said of an outer loop: a line per phase while it goes on, a few lines on where it stands (document 000)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from looper.console.screen import brief
from looper.journal import Event, load_payload

USER = "user"
"""The role that is always a person's own: no model's prompt is shown to them."""
MOST = 12
"""Gaps and criteria that are listed; the files have all."""
DATA = re.compile(r"----- begin data (\w+) (\w+) -----\n(.*?)\n----- end data \1 \2 -----", re.DOTALL)
"""What a rendered prompt holds as data: name, code, text."""


class Phases:
    """Says each phase once it is entered, and what it came to."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.said: dict[str, Any] = {}

    def take(self, event: Event) -> list[str] | None:
        """Lines that are due; None for an event that is not of an outer loop."""
        if event.event == "completeness":
            return complete_lines(load_payload(self.folder, event))
        if event.event == "evaluation_done" and self.said.get("phase") == "VERIFY":
            return []
        if event.event == "outer_verified":
            return verdict_lines(load_payload(self.folder, event))
        if event.event != "outer_updated":
            return None
        told, before = load_payload(self.folder, event), self.said
        self.said = told
        lines: list[str] = []
        if told["gathered"] and not before.get("gathered"):
            lines += gathered_lines(told["gathered"])
        if told["interviewed"] and not before.get("interviewed"):
            lines += interviewed_lines(told["interviewed"])
        if told["path"] != before.get("path"):
            lines.append(f"── {told['phase']}{_round(told)} ──")
        return lines


def _round(told: Mapping[str, Any]) -> str:
    return (
        f" | round back {told['loops']} of {told['max_loops']}"
        if told["loops"] and told["phase"] != "COMPLETED"
        else ""
    )


def complete_lines(found: Mapping[str, Any]) -> list[str]:
    """A round of the interview."""
    lines = [f"round {found['round']}: the ideal state is {found['score']:.2f} complete"]
    return [*lines, *(f"  missing: {brief(one, 200)}" for one in found["missing"][:MOST])]


def gathered_lines(found: Mapping[str, Any]) -> list[str]:
    """Domain, what is not known, and the answers with who gave them."""
    from looper.loops.gather_verify.output import domain

    lines = [f"domain: {domain(found)}"]
    lines += [f"unknown: {brief(one, 200)}" for one in found["current"]["unknowns"][:MOST]]
    lines += [f"earlier run: {brief(one['lesson'], 200)}" for one in found["episodes"]]
    for one in found["answers"]:
        who = "assumed" if one["by"] == "default" else one["by"]
        lines.append(f"{one['priority']} {brief(one['question'], 200)} - {brief(one['answer'], 200)} ({who})")
    return lines


def interviewed_lines(found: Mapping[str, Any]) -> list[str]:
    """How complete the ideal state is, and what it counts."""
    ideal, complete = found["ideal"], found["complete"]
    severities = [one["severity"] for one in ideal["criteria"]]
    counts = ", ".join(f"{severities.count(name)} {name}" for name in ("must", "should", "nice") if name in severities)
    lines = [
        f"ideal state: {complete['score']:.2f} complete after {found['rounds']} round{'s' * (found['rounds'] != 1)}; "
        f"criteria: {counts or 'none'}; anti-criteria: {len(ideal['anti_criteria'])}"
    ]
    lines += [f"missing: {brief(one, 200)}" for one in complete["missing"][:MOST]]
    if unused := found.get("unused"):
        lines.append(f"outer.answers has answers that no question asked for: {brief(', '.join(unused), 300)}")
    return lines


def granted(told: Mapping[str, Any]) -> dict[str, float]:
    """Units that the user has added to the accounts when the result was not good enough."""
    words = [one for one in told["decisions"] if one["decision"] == "budget"]
    return {name: sum(one.get(name) or 0.0 for one in words) for name in ("inner", "outer")}


def verdict_lines(found: Mapping[str, Any]) -> list[str]:
    """Score, layers, gaps and anti-criteria that were hit."""
    from looper.loops.gather_verify.output import cut

    layers = ", ".join(f"{name} {'unknown' if v is None else cut(v)}" for name, v in found["layers"].items())
    lines = [f"{found['outcome']} {cut(found['score'])} ({layers}): {brief(found['why'], 300)}"]
    lines += [f"  hit: {brief(one, 200)}" for one in found["hits"]]
    lines += [f"  gap: {gap_line(one)}" for one in found["gaps"][:MOST]]
    more = len(found["gaps"]) - MOST
    return [*lines, f"  and {more} more"] if more > 0 else lines


def gap_line(gap: Mapping[str, Any]) -> str:
    return f"{brief(gap['criterion'], 60)} ({gap['severity']}, {gap['layer']}): {brief(gap['problem'], 200)}"


def asked_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """The questions of GATHER and INTERVIEW that wait for the user, with their choices by number."""
    waiting = state.get("waiting") or {}
    for asked in (waiting, *waiting.get("others", [])):
        if asked.get("step") != "answer":
            continue
        parts = parts_of(asked)
        said = dict(parts)
        yield from (f"not taken: {brief(text, 300)}" for name, text in parts if name == "refused")
        yield f"question: {brief(said.get('question', asked['prompt']), 500)}"
        yield from (f"  why it matters: {brief(text, 500)}" for name, text in parts if name == "why")
        yield from (f"  {number}: {brief(text, 300)}" for number, text in enumerate(choices_of(asked), 1))
        yield from (f"  without an answer: {brief(text, 300)}" for name, text in parts if name == "default")


def parts_of(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each piece of data in the prompt of a question."""
    return [(name, text) for name, _, text in DATA.findall(asked.get("prompt", ""))]


def for_user(asked: Mapping[str, Any]) -> list[str]:
    """What the user is asked, without what keeps a model from obeying data: they are nobody's stand-in."""
    told = asked.get("system", "").partition("\n\n")[0].split("\n")
    lines = [*told, "", *DATA.sub(lambda found: found[3], asked["prompt"]).strip().split("\n")]
    return [line for line, before in zip(lines, ["", *lines], strict=False) if line.strip() or before.strip()]


def choices_of(asked: Mapping[str, Any]) -> list[str]:
    """What a question of GATHER or INTERVIEW gives to choose from."""
    return [text for name, text in parts_of(asked) if name == "choice"] if asked.get("step") == "answer" else []


def outer_shown(state: Mapping[str, Any]) -> list[str]:
    """Where the outer loop stands, for status and summary; nothing without one."""
    told = state.get("outer_loop")
    if not told:
        return []
    lines = [*asked_lines(state), f"outer loop: {' > '.join(_short(told['path']))}"]
    lines += gathered_lines(told["gathered"])[:1] if told["gathered"] else []
    lines += interviewed_lines(told["interviewed"]) if told["interviewed"] else []
    lines += verdict_lines(told["verdicts"][-1]) if told["verdicts"] else []
    lines += [f"relaxed: {', '.join(told['relaxed'])}"] if told["relaxed"] else []
    return [*lines, *(decision_line(one) for one in told["decisions"])]


def _short(path: Sequence[str]) -> list[str]:
    return [name.lower() for name in path if name != "INITIALIZED"]


def decision_line(one: Mapping[str, Any]) -> str:
    """What was decided on a result that is not good enough, and by whom."""
    who = "the user" if one.get("by", "ask") == "ask" else "the setting outer.escalation"
    more = [f"{name} +{one[name]:g}" for name in ("inner", "outer") if one.get(name)]
    what = " ".join([one["decision"], *([brief(one["criterion"], 60)] if one.get("criterion") else []), *more])
    return f"{who} decided: {what}{' (refused)' if one.get('refused') else ''}"
