"""Final verification: what code finds against the goal, and the supervisor's word (document 001, Phase 4)."""

from collections.abc import Mapping, Sequence

from looper.loops.workflow.answers import Verified
from looper.loops.workflow.ground import Ground, Looked, put
from looper.loops.workflow.marks import Found
from looper.loops.workflow.tree import Tasks
from looper.run import Run


def verdict(
    run: Run, ground: Ground, tasks: Tasks, looked: Looked, found: Sequence[Found], answers: Sequence[Mapping[str, str]]
) -> Verified:
    """The supervisor's word on the evidence; it can find more gaps, and approves nothing that code has found."""
    return put(
        run, "supervisor", Verified, "verify", tasks=tasks.summary(), found=list(found), answers=list(answers),
        verdict=looked.verdict, files=ground.files(looked.state), evidence=ground.evidence(looked.state),
        failing={name: one.note for name, one in looked.checks.items() if not one.passed},
    )  # fmt: skip


def against(tasks: Tasks, looked: Looked) -> list[Found]:
    """What keeps the goal from being verified (SPEC 3.3, 3.6)."""
    found: list[Found] = []
    if not looked.verdict.passed:
        failed = ", ".join(looked.verdict.failed[:8]) or "score below the threshold"
        found.append(Found(name="gate_not_met", text=failed))
    if not looked.checks:
        found.append(Found(name="no_tests_run", text="no check gave a result"))
    if still := tasks.open():
        found.append(Found(name="open_tasks", text=", ".join(f"{node.id} {node.title}" for node in still)))
    return found
