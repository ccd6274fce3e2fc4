"""How designs read a state and act on it, where the task wants somebody to be asked for a reading or for the work."""

from collections.abc import Sequence
from typing import Any

from looper.run import Run
from looper.tasks.environment import AskedProbe, Probe, Task
from looper.types import Signal


def steps(task: Task, state: Any) -> list[str]:
    """The step name of each probe that has something to read in this state, for its price."""
    return [step(probe) for probe in task.probes() if applies(probe, state)]


def step(probe: Probe | AskedProbe) -> str:
    return probe.step if isinstance(probe, AskedProbe) else "probe"


def look(task: Task, run: Run, state: Any, *, needed: bool = False) -> tuple[Any, list[Signal]]:
    """The state with what its probes found, and their signals; probes run side by side.

    `needed`: only what the gate cannot do without, no reading that somebody is asked for to learn from it.
    """
    probes = {p.name: p for p in task.probes() if applies(p, state) and (not needed or decides(p))}
    signals = list(run.each(list(probes), lambda branch, name: read(task, branch, probes[name], state)).values())
    return absorbed(task, state, signals), signals


def applies(probe: Probe | AskedProbe, state: Any) -> bool:
    """Whether there is anything to read; a probe with `applies(state)` says so itself."""
    if isinstance(probe, AskedProbe):
        return probe.question(state) is not None
    said = getattr(probe, "applies", None)
    return said(state) if said else True


def decides(probe: Probe | AskedProbe) -> bool:
    """Whether the gate needs the reading: all that are measured, and asked ones that say so (`decides`)."""
    return not isinstance(probe, AskedProbe) or getattr(probe, "decides", False)


def read(task: Task, run: Run, probe: Probe | AskedProbe, state: Any) -> Signal:
    """One reading: measured as a step of its own, or asked of the probe's role."""
    if not isinstance(probe, AskedProbe):
        return run.do("probe", probe.test, state)
    question = probe.question(state) or {}
    return probe.reading(state, run.ask(probe.role, probe.returns, step=probe.step, **run.brief, **question))


def absorbed(task: Task, state: Any, signals: Sequence[Signal]) -> Any:
    """The state with what the probes found in it, where the task wants that."""
    absorb = getattr(task, "absorb", None)
    return absorb(state, signals) if absorb else state


def worked(task: Task, run: Run, state: Any, action: Any) -> Any:
    """The action to apply: what the policy decided, or what the task's writer made of it."""
    work = getattr(task, "work", None)
    if work is None:
        return action
    return run.ask("writer", task.answer("write"), step="write", **run.brief, **work(state, action))


def work_steps(task: Task) -> list[str]:
    """Names of the steps that an action costs before it can be applied."""
    return ["write"] if hasattr(task, "work") else []
