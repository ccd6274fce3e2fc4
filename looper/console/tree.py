"""The task tree of a workflow, and what is said of its events (document 001)."""

from collections.abc import Mapping, Sequence
from typing import Any

from looper.console.screen import brief

MARKS = {"completed": "✓", "in_progress": "▶", "failed": "✗", "blocked": "■", "pending": "·"}
WHAT = {
    "planned": "planned", "attempt": "attempt begins", "completed": "completed",
    "rolled_back": "failed, rolled back", "failed": "failed", "again": "is tried again",
    "clarify": "waits for an answer", "impossible": "impossible",
}  # fmt: skip


def tree_lines(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per task, subtasks below their parents, with state, attempts, score and diagnosis."""
    width = max((len(_name(task)) for task in tasks), default=0)
    return [f"  {_name(task):{width}}  {task['state']:11}  {_facts(task)}".rstrip() for task in tasks]


def _name(task: Mapping[str, Any]) -> str:
    indent = "  " * str(task["id"]).count(".")
    return f"{MARKS.get(str(task['state']), '?')} {indent}{task['id']} {brief(task['title'], 60)}"


def _facts(task: Mapping[str, Any]) -> str:
    parts = [_counted(task["attempts"], "attempt")] if task["attempts"] else []
    parts += [_counted(task["fixes"], "fix", "es")] if task["fixes"] else []
    parts += [f"score {task['score']}"] if task["score"] is not None else []
    if task["diagnosis"]:
        parts.append(f"{task['diagnosis']}: {brief(task['reason'], 80)}")
    parts += [f"commit {str(task['commit'])[:10]}"] if task["commit"] else []
    return ", ".join([*parts, *([brief(task["note"], 80)] if task["note"] else [])])


def _counted(number: int, what: str, plural: str = "s") -> str:
    return f"{number} {what}{plural if number != 1 else ''}"


def event_words(event: str, data: Mapping[str, Any]) -> str | None:
    """One line on an event of the workflow; None if it is none of its own."""
    if event == "tasks_updated":
        task = next((one for one in data["tasks"] if one["id"] == data["task"]), None)
        what = WHAT.get(data["what"], data["what"])
        if task is None:
            return f"tasks {what}: {_counts(data['tasks'])}"
        return f"task {task['id']} {brief(task['title'], 60)}: {what} ({_counts(data['tasks'])})"
    if event == "diagnosed":
        clamps = f" (said {data['said']}; {'; '.join(data['clamps'])})" if data["clamps"] else ""
        return f"diagnosis of {data['task']} {brief(data['title'], 60)}: {data['verdict']}{clamps}: {data['reason']}"
    if event in ("plan_reviewed", "verified"):
        found = data.get("issues", data.get("gaps")) or []
        what = "plan review" if event == "plan_reviewed" else "final verification"
        return f"{what}: score {data['score']}{': ' + '; '.join(found) if found else ''}"
    return None


def _counts(tasks: Sequence[Mapping[str, Any]]) -> str:
    states = [str(task["state"]) for task in tasks]
    return ", ".join(f"{states.count(state)} {state.replace('_', ' ')}" for state in MARKS if state in states)
