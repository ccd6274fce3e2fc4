"""What the outer loop leaves in the run's folder beside the artifact: the ideal state and the evidence, as Markdown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from looper.loops.gather_verify.domain import SURE

WHO = {"default": "assumed"}
"""Who gave an answer, where people say it in another word."""


def files(told: Mapping[str, Any]) -> dict[str, str]:
    """`ideal_state.md` once there was an interview, `verification.md` once something was verified."""
    found: dict[str, str] = {}
    if told["interviewed"]:
        found["ideal_state.md"] = "\n".join(ideal_state(told)) + "\n"
    if told["verdicts"]:
        found["verification.md"] = "\n".join(verification(told)) + "\n"
    return found


def ideal_state(told: Mapping[str, Any]) -> Iterator[str]:
    gathered, found = told["gathered"], told["interviewed"]
    ideal, complete = found["ideal"], found["complete"]
    yield from ("# Ideal state", "", line(ideal["objective"]), "")
    yield f"- domain: {domain(gathered)}"
    yield f"- completeness: {complete['score']:.2f} after {found['rounds']} round{'s' * (found['rounds'] > 1)}"
    yield from (f"- missing: {line(lack)}" for lack in complete["missing"])
    yield from section("Success criteria", [criterion(one) for one in ideal["criteria"]])
    never = [f"{one['id']}: {line(one['description'])} ({way(one['detect'])})" for one in ideal["anti_criteria"]]
    yield from section("Anti-criteria", never)
    metrics = [f"{line(one['name'])} {line(one['target'])} {line(one['unit'])}" for one in ideal["metrics"]]
    yield from section("Metrics", metrics)
    yield from section("Exit conditions", [line(one) for one in ideal["exits"]])
    answers = [*gathered["answers"], *found["answers"]]
    yield from section(
        "Questions",
        [
            f"{one['priority']} {line(one['question'])} - {line(one['answer'])} ({WHO.get(one['by'], one['by'])})"
            for one in answers
        ],
    )
    yield from section("Answers in the file that no question asked for", found.get("unused", []))
    for name, what in (("open", "documented"), ("blind", "asked"), ("hidden", "shared"), ("unknown", "to be explored")):
        yield from section(f"Johari: {name} ({what})", [line(one) for one in gathered["window"][name]])


def domain(gathered: Mapping[str, Any]) -> str:
    """The domain, and whether the task's words told it or somebody was asked."""
    sure = gathered["confidence"]
    how = f"by its words, {sure:.2f} sure" if sure >= SURE else f"asked: its words alone were {sure:.2f} sure"
    return f"{gathered['domain']} ({how})"


def cut(score: float) -> str:
    """Three digits, cut as in the sentence beside it: 0.8996 is never shown as 0.9."""
    return f"{math.floor(score * 1000 + 1e-6) / 1000:.3f}"


def criterion(one: Mapping[str, Any]) -> str:
    critical = ", the user confirms it" if one["critical"] else ""
    return f"{one['severity']}: {one['id']}: {line(one['description'])} ({way(one['verify'])}{critical})"


def way(given: Mapping[str, Any]) -> str:
    """How a criterion is verified, in a few words."""
    if check := given["check"]:
        wanted = (
            [line(f"{'none of: ' if check.get('max') == 0 else ''}{check['wanted']}")] if check.get("wanted") else []
        )
        return ", ".join([f"check: {check['kind']}", *wanted])
    return next((f"{name}: {line(given[name])}" for name in ("rule", "judge", "person") if given[name]), "no way given")


def section(head: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {head}", "", *(f"- {one}" for one in lines))


def verification(told: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Verification", "")
    for number, one in enumerate(told["verdicts"], 1):
        layers = ", ".join(f"{name} {'unknown' if v is None else cut(v)}" for name, v in one["layers"].items())
        yield f"- round {number}: {one['outcome']} {cut(one['score'])} ({layers}); gate {cut(one['gate'])}."
        yield f"  {line(one['why'])}"
        for earlier in one.get("before", []):
            told_then = f"{earlier['outcome']} {cut(earlier['score'])}: {line(earlier['why'])}"
            yield f"  - by the rules as they were before: {told_then}"
        used = ", ".join(f"{name} {cut(share)}" for name, share in one["weights"].items() if share)
        yield f"  Weights of the layers: {used or 'none'}. Within a layer must counts 2, should 1, nice 0, a veto 2."
        yield from (
            f"  - {line(gap['criterion'])} ({gap['severity']}, {gap['layer']}): {line(gap['problem'])}"
            for gap in one["gaps"]
        )
    yield from ("", "## Evidence of the last one", "")
    yield "| criterion | severity | layer | met | what ran | exit code | output | artifact | time | note |"
    yield "|" + " --- |" * 10
    for one in told["evidence"]:
        met = {True: "yes", False: "no", None: "unknown"}[one["met"]]
        cells = (
            one["criterion"], one["severity"], one["layer"], met, one["ran"], one["exit_code"],
            one["output_sha256"][:12], one["artifact_sha256"][:12], one["at"], one["note"],
        )  # fmt: skip
        yield "| " + " | ".join("-" if cell is None else line(str(cell)).replace("|", "\\|") for cell in cells) + " |"
    for decision in told["decisions"]:
        more = [f"{name} +{decision[name]:g}" for name in ("inner", "outer") if decision.get(name)]
        what = " ".join([str(decision["decision"]), line(str(decision.get("criterion", ""))), *more]).rstrip()
        who = "The user" if decision["by"] == "ask" else "The setting outer.escalation"
        yield f"\n{who} decided: {what}{' (refused)' if decision.get('refused') else ''}"


def line(text: str) -> str:
    """One line, whatever was written."""
    return " ".join(text.split())
