"""One run as a page: what happened, score over spending, cost by step and role, rules, who filled the roles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from looper.build import locate
from looper.console.blocks import filler, step_line
from looper.console.story import Story, config_of
from looper.console.summary import advice, units
from looper.errors import ConfigError, Paused
from looper.journal import Event, write_whole
from looper.lab.data.folders import read_record
from looper.lab.data.frame import Frame, synthetic
from looper.lab.report import plots
from looper.lab.report.rendering import Markup, rendered
from looper.lab.report.rounds import inherited, rounds
from looper.lab.report.tables import Table
from looper.lab.report.words import UNITS, number
from looper.tracking.record import Record

ACCOUNTS = ("outer", "inner", "usd", "tokens", "calls")
SUMS = ("times", *ACCOUNTS, "seconds")
WHOLE = {"times": 0, "tokens": 0, "calls": 0}
"""Digits after the point of what is counted."""
LINES = 600
"""Events that the page tells; `looper history` has all."""
USUAL = {"plan": "planner", "replan": "planner", "evaluate": "planner", "decide": "policy", "act": "actor"}
"""Who is asked a step in a design that does not say."""
OWN = "looper."
"""Prefix of the designs whose roles are known by name."""


def run_page(story: Story) -> str:
    """The page of one run, whatever its status. Raises JournalDamaged."""
    record = read_record(story.folder.path)
    steps = _steps(record)
    lines = [line for event in story.events if (line := step_line(event))]
    lines.append(f"{story.status}: {story.state['stop']['reason']}" if story.state["stop"]["reason"] else story.status)
    return rendered(
        "run.html.j2", title=f"{story.state['design']} on {story.state['task_alias']}", run=story.name,
        facts=_facts(story, record), label=synthetic(record.tags.get("fillers", "")), advice=advice(story),
        goal=story.state["task"].get("prompt", ""), plots=list(_plots(steps, story)), costs=costs(story),
        rounds=rounds(story), inherited=inherited(story), rules=rules(story),
        fillers=fillers(record), lines=lines[:LINES], left=max(0, len(lines) - LINES),
    )  # fmt: skip


def _steps(record: Record) -> Frame:
    frame: Frame = pd.DataFrame(record.evaluated, columns=["step", "score", "score_on_all_rules", *ACCOUNTS])
    frame["score"] = frame["score_on_all_rules"].fillna(frame["score"])
    return frame.fillna(0.0)


def _facts(story: Story, record: Record) -> dict[str, str]:
    state, outcome = story.state, story.outcome
    gate = "met" if outcome.get("passed") else "not met"
    reason = state["stop"]["reason"]
    paid = {account: state["spent"].get(account, 0.0) for account in ACCOUNTS}
    known = {
        "Status": f"{story.status} ({reason})" if reason else story.status,
        "Gate score": f"{number(outcome.get('score'))} (gate {gate})",
        "Hidden checks": "none" if story.holdout is None else number(story.holdout),
        "Iterations": str(state["iteration"]), "Units": units(story),
        "Models": f"{paid['calls']:,.0f} calls, {paid['tokens']:,.0f} tokens, {paid['usd']:.4f} USD",
        "Working time": f"{state['elapsed']:.1f} seconds", "Seed": str(state["setup"].get("seed")),
        "Outer loop": record.tags.get("outer", "none"),
        "Origin": state["setup"].get("origin", ""), "Detail": str(story.facts.get("detail") or ""),
        "Made by": f"looper {state['setup'].get('versions', {}).get('looper', 'unknown')}",
    }  # fmt: skip
    return {name: told for name, told in known.items() if told}


def _plots(steps: Frame, story: Story) -> Iterator[Markup]:
    threshold = story.verdict().get("threshold")
    for account in ACCOUNTS:
        if len(steps) and steps[account].max() > 0:
            yield Markup(plots.spending(steps, account, UNITS[account], threshold))


def costs(story: Story) -> Table:
    """By step: how often, which role was asked, who did it, what it cost."""
    roles = _roles(story)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for event in story.events:
        if event.key and event.event not in ("call_started", "call_done") and event.step != "affords":
            _add(found.setdefault((event.step, event.by), dict.fromkeys(SUMS, 0.0)), event)
    rows = [
        [
            step, roles.get(step, "-"), filler(by) if by else "code",
            *(number(sums[name], WHOLE.get(name, 3)) for name in SUMS),
        ]
        for (step, by), sums in sorted(found.items(), key=_dearest)
    ]  # fmt: skip
    heads = [("step", ""), ("role", ""), ("by", ""), *((name, "n") for name in SUMS)]
    return Table("Cost by step and role, dearest first; seconds of steps that ran side by side add up", heads, rows)


def _dearest(one: tuple[tuple[str, str], dict[str, float]]) -> tuple[Any, ...]:
    names, sums = one
    return (-sums["usd"], -sums["outer"], -sums["inner"], names)


def _add(sums: dict[str, float], event: Event) -> None:
    sums["times"] += 1
    sums["seconds"] += event.seconds
    for account in ACCOUNTS:
        sums[account] += event.cost.get(account, 0.0)


def _roles(story: Story) -> dict[str, str]:
    """The role by the step that it is asked, for looper's own designs."""
    loop = config_of(story.folder).get("loop")
    target = str(loop.get("_target_", "")) if isinstance(loop, dict) else ""
    if not target.startswith(OWN):
        return {}
    design = locate(target, "loop")
    steps: dict[str, tuple[str, ...]] = getattr(design, "steps", {})
    known = {step: role for role, asked in steps.items() for step in asked}
    return known or {step: role for step, role in USUAL.items() if role in getattr(design, "roles", {})}


def rules(story: Story) -> Table:
    """Every rule with what the verdict that counts says of it."""
    criteria, verdict = story.state["criteria"] or {}, story.verdict()
    names = [phase["name"] for phase in criteria.get("phases") or []]
    reached = names[: names.index(verdict["phase"]) + 1] if verdict.get("phase") in names else []
    failed = set(verdict.get("failed") or [])
    rows = []
    for rule in criteria.get("rules") or []:
        held = "not checked" if rule.get("phase") not in reached else "failed" if rule["id"] in failed else "passed"
        rows.append([rule["id"], held, rule.get("severity", ""), rule.get("phase", ""), rule.get("description") or ""])
    heads = [("rule", ""), ("verdict", ""), ("severity", ""), ("phase", ""), ("what it wants", "wide")]
    return Table("Rules of the gate, as of the state that was handed over", heads, rows)


def fillers(record: Record) -> Table:
    told: list[tuple[str, str, str]] = [one.rpartition(" ") for one in record.tags.get("fillers", "none").split(", ")]
    rows = [[filler(name), count] for name, _, count in told if name]
    return Table("Who answered how often", [("by", ""), ("answers", "n")], rows)


def write_run(story: Story, file: Path) -> None:
    """Write the page. Raises ConfigError if that is not possible."""
    try:
        write_whole(file, run_page(story).encode("utf-8", "replace"))
    except Paused as error:
        raise ConfigError(f"{file}: cannot be written; free some space or make the folder writable.") from error
