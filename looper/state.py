"""`run.json` as a function of the journal: the document's fields, from events alone (document 003, SPEC 2.10)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from looper.journal import Event, load_payload
from looper.types import TERMINAL

ENDINGS = TERMINAL | {"paused"}
FIELDS = {
    "plan_created": "plan",
    "checks_prepared": "prepared_checks",
    "evaluation_done": "evaluation",
    "critique_done": "critique",
}
"""Which field of run.json an event's payload becomes."""
PHASES = {
    "plan": "PLAN",
    "produce": "PRODUCE", "observe": "PRODUCE",
    "prepare_checks": "PREPARE", "checks_prepared": "PREPARE", "vacuous": "PREPARE", "equip": "PREPARE",
    "probe": "EVALUATE", "judge": "EVALUATE", "gate": "EVALUATE",
    "critique": "CRITIQUE", "critique_done": "CRITIQUE",
    "act": "REFINE", "apply": "REFINE", "refinement_done": "REFINE",
}  # fmt: skip
"""Document 003's six phases by the step that belongs to each; other steps of `reflex` are no place in its cycle."""

NOTES = ("tasks_updated", "plan_reviewed", "diagnosed", "verified", "board_updated", "outer_updated", "outer_verified")
"""What workflow and cabal write down besides their steps; a person looks for the step."""
FLAG = 8
"""Importance from which open feedback blocks acceptance (SPEC 4.2); the board, which has the rule, is layers above."""
WORDS = 200
"""Characters of a flag's text in run.json."""


def fresh() -> dict[str, Any]:
    """The fields before anything happened, in the order in which they are shown."""
    return {
        "run_id": "", "task_alias": "", "design": "", "outer": "none", "status": "running", "iteration": 0,
        "max_iterations": None,
        "phase": "", "current_step": "", "task": {}, "criteria": {}, "plan": None, "prepared_checks": None,
        "evaluation": None, "critique": None, "stop": {"passed": False, "reason": ""}, "last_score": 0,
        "stagnation_count": 0, "created_at": "", "updated_at": "", "setup": {}, "spent": {}, "steps": {},
        "elapsed": 0.0, "waiting": None, "outcome": None,
    }  # fmt: skip


def fold(events: Iterable[Event], folder: Path) -> dict[str, Any]:
    """The state after these events. Same events, same bytes."""
    state = fresh()
    pending: dict[str, dict[str, float]] = {}
    segments = [0.0]
    for event in events:
        state.update(run_id=event.run_id, updated_at=event.ts)
        state["created_at"] = state["created_at"] or event.ts
        if event.event in ("run_started", "resumed"):
            segments.append(0.0)
        segments[-1] = max(segments[-1], event.elapsed)
        _spend(state, event, pending)
        _place(state, event)
        _carry(state, event, folder)
    for cost in pending.values():
        _add(state["spent"], cost)
    state["spent"] = {account: round(amount, 9) for account, amount in sorted(state["spent"].items())}
    state["elapsed"] = round(sum(segments), 3)
    return state


def _spend(state: dict[str, Any], event: Event, pending: dict[str, dict[str, float]]) -> None:
    """A finished step's cost holds all its calls; until then its failed calls count one by one."""
    if event.event == "call_done":
        _add(pending.setdefault(event.key, {}), event.cost)
    elif event.key and event.event != "call_started":
        pending.pop(event.key, None)
        _add(state["spent"], event.cost)
        state["steps"][event.step] = state["steps"].get(event.step, 0) + 1


def _add(account: dict[str, float], cost: dict[str, float]) -> None:
    for name, amount in cost.items():
        account[name] = account.get(name, 0.0) + amount


def _place(state: dict[str, Any], event: Event) -> None:
    state["iteration"] = event.iteration or state["iteration"]
    state["phase"] = event.phase or state["phase"]
    if event.key and event.step not in ("affords", *NOTES):
        state["current_step"] = _named(state, event.step)


def _named(state: dict[str, Any], step: str) -> str:
    """What a person calls the step: in reflex one of its phases."""
    if state["design"] != "reflex":
        return step.upper()
    return PHASES[step] if step in PHASES else state["current_step"]


def _carry(state: dict[str, Any], event: Event, folder: Path) -> None:
    name = event.event
    if name == "run_started":
        setup = dict(load_payload(folder, event))
        for field in ("task_alias", "design", "outer", "task", "criteria", "max_iterations"):
            state[field] = setup.pop(field, state[field])
        state["setup"] = setup
    elif name == "resumed":
        state.update(status="running", waiting=None, stop={"passed": False, "reason": ""}, outcome=None)
    elif name in FIELDS:
        found = load_payload(folder, event)
        state[FIELDS[name]] = _without_draft(found) if name == "plan_created" else found
        if name == "evaluation_done" and isinstance(state["evaluation"], dict):
            state["last_score"] = state["evaluation"].get("score", 0)
    elif name == "setup_confirmed":
        agreed = load_payload(folder, event)
        state.update(criteria=agreed["criteria"], max_iterations=agreed["max_iterations"])
    elif name == "iteration_advanced" and isinstance(event.payload, dict):
        state["stagnation_count"] = event.payload.get("stagnation_count", state["stagnation_count"])
    elif name in TOLD:
        state.update(TOLD[name](load_payload(folder, event)))
    elif name in ENDINGS and not event.key:
        _end(state, event, load_payload(folder, event))


def _outer(told: Mapping[str, Any]) -> dict[str, Any]:
    """Where an outer loop stands; its evidence is in verification.md."""
    return {"outer_loop": {key: value for key, value in told.items() if key != "evidence"}}


def glimpse(board: Mapping[str, Any]) -> dict[str, Any]:
    """Of a cabal's board what a status needs: round, names of the team, products in tree order without their texts."""
    numbers = {one["product"]: one["number"] for one in board["versions"]}
    products = [
        {name: one[name] for name in ("id", "title", "type", "owner", "parent", "status")}
        | {"version": numbers.get(one["id"], 0), "flags": _flags(board["collabs"], one["id"])}
        for one in _tree(board["products"], "")
    ]
    team = {one["id"]: one["name"] or one["id"] for one in board["members"]}
    return {"round": board["round"], "team": team, "products": products}


def _tree(products: Sequence[Mapping[str, Any]], parent: str) -> Iterator[Mapping[str, Any]]:
    for one in products:
        if one["parent"] == parent:
            yield one
            yield from _tree(products, one["id"])


def _flags(collabs: Sequence[Mapping[str, Any]], product: str) -> list[dict[str, Any]]:
    """What stands against acceptance: important feedback, no praise, that is open or promised and not dealt with."""
    return [
        {"id": one["id"], "importance": one["importance"], "author": one["author"], "text": one["text"][:WORDS]}
        for one in collabs
        if one["product"] == product and one["importance"] >= FLAG and one["kind"] != "endorsement"
        and (one["state"] == "open" or (one["state"] == "accepted" and not one["addressed"]))
    ]  # fmt: skip


def _without_draft(payload: Any) -> Any:
    """Of a plan that brings an artifact only the steps: the artifact is never in run.json."""
    plan = payload["plan"] if isinstance(payload, dict) and isinstance(payload.get("plan"), dict) else payload
    return plan["steps"] if isinstance(plan, dict) and isinstance(plan.get("steps"), list) else payload


def _end(state: dict[str, Any], event: Event, outcome: dict[str, Any]) -> None:
    outcome = dict(outcome)
    outcome.pop("artifact", None)  # the artifact is never in run.json: always read from artifact.md
    state.update(
        status=event.event,
        stop={"passed": outcome.get("passed", False), "reason": outcome.get("reason", "")},
        waiting=outcome.get("facts", {}).get("waiting") if event.event == "paused" else None,
        outcome=outcome,
    )


TOLD: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "tasks_updated": lambda told: {"tasks": told["tasks"]},
    "board_updated": lambda told: {"board": glimpse(told["board"])},
    "outer_updated": _outer,
}
"""What the designs with a state of their own tell of it."""
