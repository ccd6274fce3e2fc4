"""What is said of a run when it has ended or is looked at: final summary, distance to success, what to do next."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looper.agents.human import apart
from looper.console.blocks import LABELS, amount, filler, names_of, score
from looper.console.outer import choices_of, outer_shown
from looper.console.screen import brief, plain
from looper.console.story import Story
from looper.console.tree import tree_lines
from looper.folder import LOCK, STOP
from looper.pages import page_of
from looper.types import TERMINAL

SHORT = 80
"""Lines up to which the artifact of the other designs is shown in full when a run has ended."""
WHOLE = ("reflex",)
"""Designs whose artifact is the result itself: shown in full whatever its length (SPEC 2.12)."""
OWN_FILES = {"history.jsonl", "run.json", "artifact.md", "config.yaml", "mirror.lock", LOCK, STOP}
LIMITS = ("iteration_limit", "round_limit", "budget_exhausted", "time_limit", "stagnation", "no_new_plan")
"""Reasons after which the distance to success is told; document 003 names the first."""


def final_summary(story: Story) -> list[str]:
    """Document 003's final summary and what else a reader needs, as lines."""
    state, reason = story.state, story.state["stop"]["reason"]
    gate = "gate met" if story.outcome.get("passed") else "gate not met"
    lines = [
        f"── {story.status}{f': {reason}' if reason else ''} | {design_of(state)} on "
        f"{brief(state['task_alias'], 60)} | run {story.name} ──",
        f"iteration: {iterations(state)}",
        f"phase: {phase(story) or 'none'}",
        f"final_score: {score(story.outcome.get('score'))} ({gate})",
        f"stop_reason: {reason or 'none'}",
    ]
    if story.holdout is not None:
        lines.append(f"holdout_score: {score(story.holdout)} (hidden checks, measured once at the end)")
    lines += [f"detail: {brief(story.facts['detail'], 400)}"] if story.facts.get("detail") else []
    lines += [f"blocker: {brief(one, 400)}" for one in story.facts.get("blockers") or []]
    lines += [f"delivered: {brief(story.facts['delivered'], 300)}"] if story.facts.get("delivered") else []
    lines += [f"not delivered: {brief(story.facts['not_delivered'], 400)}"] if story.facts.get("not_delivered") else []
    lines += question_shown(story)
    lines += (
        outer_shown(story.state)
        + tasks_shown(story.state)
        + ([f"board: looper board {story.name} (--html makes a page of it)"] if story.state.get("board") else [])
        + setup_shown(story)
        + spending(story)
        + labels(story)
        + distance(story)
        + files(story.folder.path)
    )
    return lines + _artifact(story) + _patches(story) + _next(story)


def design_of(state: Mapping[str, Any]) -> str:
    """The design, the outer loop around it, and what was ablated."""
    name = state["design"] if state.get("outer", "none") == "none" else f"{state['design']} under {state['outer']}"
    ablation = (state.get("setup") or {}).get("ablate")
    return f"{name}, ablate={ablation}" if ablation else name


def tasks_shown(state: Mapping[str, Any]) -> list[str]:
    """The task tree, where the design has one."""
    return ["tasks:", *tree_lines(state["tasks"])] if state.get("tasks") else []


def question_shown(story: Story) -> list[str]:
    """What a person is asked who alone can decide it, with the choices."""
    if story.state["status"] != "paused" or not story.facts.get("question"):
        return []
    choices = story.facts.get("choices") or []
    refused = [f"not taken: {brief(story.facts['refused'], 200)}"] if story.facts.get("refused") else []
    return [
        *refused,
        f"question: {brief(story.facts['question'], 1000)}",
        *(f"  {number}. {brief(one, 400)}" for number, one in enumerate(choices, 1)),
    ]


def setup_shown(story: Story) -> list[str]:
    """The criteria, thresholds and limit that wait for a confirmation, in full (document 003, Setup Confirmation)."""
    asked = story.waiting
    if story.state["stop"]["reason"] != "confirm" or not asked or not asked.get("prompt"):
        return []
    return ["to confirm:", *(f"  {plain(line)}" for line in asked["prompt"].split("\n"))]


def iterations(state: Mapping[str, Any]) -> str:
    return f"{state['iteration']}/{state['max_iterations']}" if state["max_iterations"] else str(state["iteration"])


def phase(story: Story) -> str:
    return story.state["phase"] or story.verdict().get("phase", "")


def units(story: Story) -> str:
    """Inner and outer units spent, of their caps; the inner account starts afresh with every plan."""
    spent = story.state["spent"]
    told = []
    for account, per in (("inner", " a plan"), ("outer", "")):
        cap = story.caps.get(account)
        limit = "no cap" if cap is None else f"{amount(cap)}{per}"
        told.append(f"{account} {amount(spent.get(account, 0.0))} of {limit}")
    return ", ".join(told)


def spending(story: Story) -> list[str]:
    spent = story.state["spent"]
    estimated = " (some estimated)" if any(call.estimated for event in story.events for call in event.calls) else ""
    return [
        f"units: {units(story)}",
        f"model calls: {amount(spent.get('calls', 0))}, tokens {amount(spent.get('tokens', 0))}, "
        f"USD {spent.get('usd', 0.0):.4f}{estimated}",
        f"seconds: {story.state['elapsed']:.1f}",
        *inherited(story.state),
    ]


def inherited(state: Mapping[str, Any]) -> list[str]:
    """Where a fork comes from, what its shared steps cost its parent, and what it has paid itself (SPEC 6.5)."""
    forked = state["setup"].get("forked")
    if not forked:
        return []
    lines = [f"forked_from: {brief(forked['parent'], 200)} at {brief(forked['at'], 200)} ({forked['steps']} steps)"]
    for name, of in (("inherited", forked["inherited"]), ("paid here", paid(state))):
        counts = (f"{account} {amount(of.get(account, 0.0))}" for account in ("inner", "outer", "tokens", "calls"))
        lines.append(f"{name}: {', '.join(counts)}, USD {of.get('usd', 0.0):.4f}")
    return lines


def paid(state: Mapping[str, Any]) -> dict[str, float]:
    """What the run itself has spent, by account: of a fork without what it shares with its parent."""
    shared = (state["setup"].get("forked") or {}).get("inherited") or {}
    left = {account: spent - shared.get(account, 0.0) for account, spent in state["spent"].items()}
    return {account: max(0.0, round(amount, 9)) for account, amount in left.items()}


def labels(story: Story) -> list[str]:
    """Who answered how often; what is synthetic, recorded or simulated says so."""
    count = Counter(event.by for event in story.events if event.by and event.event not in ("call_started", "call_done"))
    told = ", ".join(f"{brief(filler(by), 80)} {number}" for by, number in count.most_common())
    lines = [f"answers: {told}"] if told else []
    if any(by in LABELS for by in count):
        lines.append("note: answers marked as a recording or a simulation say nothing about a model at work today")
    origin = story.state["setup"].get("origin")
    return [*lines, f"origin: {brief(origin, 200)}"] if origin else lines


def distance(story: Story) -> list[str]:
    """Document 003's distance to success, where a limit was reached without meeting the gate."""
    verdict = story.verdict()
    if story.state["stop"]["reason"] not in LIMITS or story.outcome.get("passed") or not verdict:
        return []
    threshold, reached = verdict.get("threshold", 0.0), verdict.get("score", 0.0)
    blockers = verdict.get("blockers") or []
    return [
        "distance to success:",
        f"  threshold {score(threshold)}, final score {score(reached)}, gap {score(max(0.0, threshold - reached))}",
        f"  failed rules that block: {len(blockers)} ({names_of(blockers)})",
        f"  rules passed: {verdict.get('passed_rules', 0)}/{verdict.get('total_rules', 0)}",
    ]


def files(path: Path) -> list[str]:
    """What the task left beside looper's own files, such as a patch."""
    found = sorted(p for p in path.iterdir() if p.is_file() and p.name not in OWN_FILES and not p.name.startswith("."))
    lines = [f"{'patch' if p.suffix in ('.diff', '.patch') else 'file'}: {brief(p, 300)}" for p in found]
    return [*lines, f"folder: {brief(path, 300)}"]


def _artifact(story: Story) -> list[str]:
    """In full when the run has ended and it is short, else where it is."""
    text = story.artifact()
    if text is None:
        return ["artifact: none was evaluated"] if story.status in TERMINAL else []
    text = page_of(text)
    lines = text.splitlines()
    whole = story.state["design"] in WHOLE or (len(lines) <= SHORT and len(text) <= SHORT * 200)
    if story.status in TERMINAL and whole:
        return [f"artifact ({story.folder.path / 'artifact.md'}):", *(f"  {plain(line)}" for line in lines)]
    return [f"artifact: {story.folder.path / 'artifact.md'} ({len(lines)} lines)"]


def _patches(story: Story) -> list[str]:
    """What was changed, where the task tells it as a patch and that is short."""
    lines: list[str] = []
    for file in sorted(story.folder.path.glob("*.diff")):
        text = file.read_text(encoding="utf-8", errors="replace")
        patch = text.splitlines()
        if len(patch) <= SHORT and text != story.artifact():  # else it is shown already
            lines += [f"{file.name}:", *(f"  {plain(line)}" for line in patch)]
    return lines


def _next(story: Story) -> list[str]:
    told = advice(story)
    return [f"next: {told}"] if told else []


def advice(story: Story) -> str:
    """The command that goes on from here, or an empty string."""
    reason, go_on = story.state["stop"]["reason"], f"looper resume {story.name}"
    if story.status in TERMINAL:
        return ""
    asked = story.waiting
    if asked and reason == "confirm":
        return f'{go_on} answer=yes (or answer=no, or answer=\'{{"decision": "edit", "max_iterations": 3}}\')'
    if asked and reason == "escalate":
        return f'{go_on} answer=accept (or answer="relax CRITERION", answer="budget UNITS", answer=stop)'
    if asked and asked.get("others"):
        keys = [brief(one["key"], 120) for one in apart(asked)]
        form = ", ".join(f'"{key}": ...' for key in keys)
        return f"{go_on} answer='{{{form}}}' (some or all of them, or answer=@FILE)"
    if asked and list(asked.get("answer", {}).get("properties", {})) == ["text"]:
        form = "answer=1 (a choice by its number, your words" if choices_of(asked) else 'answer="..." (your words'
        return f"{go_on} {form}, or answer=@FILE); asked: {brief(asked.get('role', ''), 40)}"
    if asked:
        form = json.dumps({key: _kind(info) for key, info in asked.get("answer", {}).get("properties", {}).items()})
        return f"{go_on} answer='{brief(form, 600)}' (or answer=@FILE); asked: {brief(asked.get('role', ''), 40)}"
    if reason == "confirm" and story.facts.get("account"):
        return f"{go_on} budget.{story.facts['account']}=MORE"
    return go_on


def _kind(info: Mapping[str, Any]) -> str:
    return str(info.get("description") or info.get("type") or "...")
