"""Runs on the shelf: finding one, and what can be told of them without running anything (status, list, history)."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from looper.agents.human import apart
from looper.console.blocks import cell, columns, score
from looper.console.board import board_shown
from looper.console.outer import USER, for_user, outer_shown
from looper.console.screen import brief, plain
from looper.console.story import Story, glance
from looper.console.summary import (
    advice,
    design_of,
    inherited,
    iterations,
    paid,
    phase,
    question_shown,
    tasks_shown,
    units,
)
from looper.errors import ConfigError, JournalDamaged
from looper.folder import LOCK, Folder, Outputs
from looper.journal import Event, Journal, load_payload, read


def pick(outputs: Outputs, name: str | None) -> Folder:
    """The run of this name, the active or newest one without a name. Raises ConfigError.

    A folder whose history is lost is found too, so that its reader is told to start anew (document 003).
    """
    direct = outputs.root / name if name else None
    if direct and is_run(direct) and not Folder(direct).history.exists():
        return Folder(direct)
    return outputs.find(name)


def is_run(path: Path) -> bool:
    """Whether this is a folder that a run has made, whole or not."""
    return path.is_dir() and any((path / name).exists() for name in (LOCK, "history.jsonl", "run.json"))


def shelf(outputs: Outputs) -> list[Folder]:
    """Every run, newest first, then the folders whose history is lost."""
    whole = outputs.folders()
    known = {folder.path for folder in whole}
    lost = [path for path in sorted(outputs.root.glob("*")) if path not in known and is_run(path)]
    return [*whole, *(Folder(path) for path in lost)]


def mend(folder: Folder) -> None:
    """Write run.json and artifact.md anew from the journal if run.json is lost or broken (document 003, SPEC 2.10)."""
    if folder.saved() or folder.alive() or not folder.history.exists():
        return
    with folder.locked():
        journal = Journal(folder.history, run_id=folder.path.name)
        try:
            folder.save(journal)
        finally:
            journal.close()


def resumable(outputs: Outputs) -> Folder:
    """The active run, else the newest one that is paused or was interrupted. Raises ConfigError if there is none."""
    active = outputs.active()
    for folder in [*([active] if active else []), *outputs.folders()]:
        if row(folder)["status"] in ("paused", "interrupted"):
            return folder
    raise ConfigError(f"there is nothing to resume below {outputs.root}/; `looper list` shows all runs.")


def row(folder: Folder) -> dict[str, Any]:
    """What a list says of a run; a damaged or lost history is a status there, not an end of the list."""
    try:
        state = glance(folder)
    except JournalDamaged as error:
        return {"run": folder.path.name, "status": "damaged", "detail": str(error), "folder": str(folder.path)}
    except ConfigError as error:
        return {"run": folder.path.name, "status": "lost", "detail": str(error), "folder": str(folder.path)}
    outcome = state["outcome"] or {}
    holdout = (outcome.get("facts") or {}).get("holdout")
    return {
        "run": folder.path.name, "status": state["status"], "reason": state["stop"]["reason"],
        "design": state["design"], "outer_loop": state.get("outer", "none"),
        "task": state["task_alias"], "iteration": state["iteration"],
        "score": outcome.get("score", state["last_score"]),
        "holdout": holdout.get("score") if isinstance(holdout, dict) else holdout,
        "inner": state["spent"].get("inner", 0.0), "outer": state["spent"].get("outer", 0.0),
        "when": state["updated_at"], "folder": str(folder.path),
        "forked_from": (state["setup"].get("forked") or {}).get("parent"), "paid": paid(state),
    }  # fmt: skip


def list_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    heads = ("run", "status", "design", "task", "score", "holdout", "inner", "outer", "when")
    heads = (*heads, "forked_from") if any(row.get("forked_from") for row in rows) else heads
    shown = [{**row, "design": _design(row), "when": row.get("when", "")[:19].replace("T", " ")} for row in rows]
    return columns(heads, [[cell(row.get(head)) for head in heads] for row in shown])


def _design(row: Mapping[str, Any]) -> Any:
    outer = row.get("outer_loop", "none")
    return row.get("design") if outer == "none" else f"{row['design']} under {outer}"


def status_lines(story: Story) -> list[str]:
    """Where a run stands."""
    state, told = story.state, advice(story)
    step = brief(state["current_step"] or "none")
    reached, reason = story.outcome.get("score", state["last_score"]), state["stop"]["reason"]
    lines = [
        f"run: {story.name}",
        f"status: {story.status}{f' ({reason})' if reason else ''}",
        f"task: {brief(state['task_alias'])}, design {design_of(state)}",
        f"phase: {phase(story) or 'none'}, step {step}, iteration {iterations(state)}",
        f"score: {score(reached)}",
        f"units: {units(story)}",
        *inherited(state),
    ]
    lines += [f"detail: {brief(story.facts['detail'], 400)}"] if story.facts.get("detail") else []
    lines += [*outer_shown(state), *tasks_shown(state), *board_shown(state), *question_shown(story)]
    for asked in apart(story.waiting):
        lines.append(f"waiting for: {brief(asked.get('role', 'a person'))} ({brief(asked.get('key', ''))})")
        if asked.get("step") == "answer" and asked.get("role") == USER:
            continue  # told above, with its choices
        told_them = (
            for_user(asked)
            if asked.get("role") == USER and "prompt" in asked
            else [line for part in ("system", "prompt") for line in asked.get(part, "").split("\n")]
        )
        lines += [f"  | {plain(line)}" for line in told_them]
    lines.append(f"folder: {brief(story.folder.path, 300)}")
    return [*lines, f"next: {told}"] if told and story.status != "running" else lines


def history_lines(folder: Folder, full: bool) -> list[str]:
    """All events as a table; with `full` each payload below its line, large ones too."""
    events = _events(folder)
    heads = ("time", "it", "step", "event", "status", "payload")
    width = max(40, shutil.get_terminal_size((160, 24)).columns - 70)
    lines = columns(heads, [[*_columns(event), brief(_text(event.payload), width)] for event in events])
    if not full:
        return lines
    told = lines[:1]
    for line, event in zip(lines[1:], events, strict=True):
        body = json.dumps(load_payload(folder.path, event), indent=2, ensure_ascii=False)
        told += [line, *(f"    {plain(text)}" for text in body.split("\n"))]
    return told


def _columns(event: Event) -> list[str]:
    return [event.ts[11:19], str(event.iteration), cell(event.step or "-"), cell(event.event), cell(event.status)]


def _text(payload: Any) -> str:
    return payload if isinstance(payload, str) else "" if payload is None else json.dumps(payload, ensure_ascii=False)


def history_json(folder: Folder, full: bool) -> list[str]:
    """A JSON object per event; with `full` large payloads are read from their files."""
    lines = []
    for event in _events(folder):
        data = event.model_dump(mode="json")
        lines.append(json.dumps(data | ({"payload": load_payload(folder.path, event)} if full else {})))
    return lines


def _events(folder: Folder) -> list[Event]:
    if not folder.history.exists():
        folder.state()  # says that the history is missing and what to do
    return read(folder.history).events
