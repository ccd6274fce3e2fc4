"""From the parts of a run and a folder to an outcome on disk."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.agents import ablated, confirming, human, recorder
from looper.agents.cast import Seats
from looper.budget import Ledger
from looper.control import Control
from looper.episodes import STORE, Episodes
from looper.errors import Aborted, ConfigError, Interruption, LooperError, Paused, RunLocked
from looper.execution import execute
from looper.folder import Folder, Outputs
from looper.journal import Event, Journal, write_whole
from looper.parts import Parts, hidden_on_all, versions
from looper.redact import redact
from looper.run import Run
from looper.shared_budget import share
from looper.stage import Stage, rounds_of
from looper.state import fold
from looper.types import TERMINAL, Outcome, Question


@dataclass
class Audience:
    """Who is told what happens while a run is under way."""

    listeners: Sequence[Callable[[Event], None]] = ()
    terminal: Callable[[Question], str] | None = None
    announce: Callable[[Parts, Folder, bool], None] = field(default=lambda parts, folder, resumed: None)


def launch(
    parts: Parts,
    path: Path,
    *,
    audience: Audience | None = None,
    answers: Mapping[str, str] | None = None,
    sync: bool = True,
) -> Outcome:
    """Run what is configured, or what is left of it if the folder already holds a journal.

    Raises RunLocked, JournalDamaged, ReplayMismatch or ConfigError; every other end is an Outcome, on disk and
    returned.
    """
    audience = audience or Audience()
    folder, fresh = Folder(path), not (path / "history.jsonl").exists()
    try:
        return _locked(parts, folder, audience, answers or {}, sync)
    except RunLocked:  # the folder is another process's
        raise
    except (LooperError, KeyboardInterrupt):
        if fresh and not (path / "history.jsonl").exists():  # refused before it began: no folder that looks like a run
            (path / "lock").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _locked(parts: Parts, folder: Folder, audience: Audience, answers: Mapping[str, str], sync: bool) -> Outcome:
    path = folder.path
    with folder.locked():
        journal = Journal(folder.history, run_id=path.name, sync=sync)
        try:
            folder.check_head(journal)
            opened = getattr(parts.task, "open", None)
            if opened:
                opened(path)
            return _Session(parts, folder, journal, audience, answers).go()
        except (LooperError, KeyboardInterrupt):
            if not journal.events:  # refused before it began: nothing is left that looks like a run
                for name in ("history.jsonl", "config.yaml"):
                    (path / name).unlink(missing_ok=True)
            raise
        finally:
            journal.close()
            close = getattr(parts.task, "close", None)
            if close:
                close()


class _Session:
    """One process's time with one run."""

    def __init__(self, parts: Parts, folder: Folder, journal: Journal, audience: Audience, answers: Mapping[str, str]):
        self.parts, self.folder, self.journal, self.audience = parts, folder, journal, audience
        self.answers = human.by_key(answers)
        self.outputs = Outputs(Path(parts.config.get("outputs") or folder.path.parent))

    def go(self) -> Outcome:
        before = fold(self.journal.events, self.folder.path)
        resumed = bool(self.journal.events)
        if resumed and before["status"] in TERMINAL:
            self._publish()  # the process may have died between its last event and its last files
            raise ConfigError(f"{self.folder.path.name} has ended ({before['status']}); start a new run.")
        human.refuse_strangers(self.answers, before["waiting"])
        self.folder.stop_file().unlink(missing_ok=True)
        for part in (self.parts.task, self.parts.loop):
            ready = getattr(part, "ready", None)
            if ready and not resumed:
                ready()
        self._describe()
        self.audience.announce(self.parts, self.folder, resumed)
        self.journal.listeners.extend(self.audience.listeners)
        try:
            return self._finish(self._run(before, resumed))
        except ConfigError:
            if before["status"] == "paused":  # e.g. an answer that does not fit: the run waits as it did
                self.journal.append(Event(event="paused", payload=self._waits_again(before["outcome"])))
                self._publish()
            raise

    def _waits_again(self, outcome: Mapping[str, Any]) -> dict[str, Any]:
        """What the run waits for when an answer did not fit, without those that were taken beside it."""
        facts = dict(outcome.get("facts") or {})
        left = [asked for asked in human.apart(facts.get("waiting")) if asked["key"] not in self.journal.steps]
        return {**outcome, "facts": facts | human.waits(left)}

    def _describe(self) -> None:
        import yaml

        text = redact(yaml.safe_dump(self.parts.config, sort_keys=False, allow_unicode=False))
        if not (self.folder.path / "config.yaml").exists():
            write_whole(self.folder.path / "config.yaml", text.encode())

    def _run(self, before: Mapping[str, Any], resumed: bool) -> Outcome:
        control = Control(self.folder.stop_file())
        config = self.parts.config
        shared = share.beside(self.folder.path, control.check)
        ledger = Ledger(self.parts.budget, elapsed=before["elapsed"], shared=shared)
        model, seats = config.get("model") or {"name": "offline"}, config.get("agents") or {}
        confirmed = confirming.given(config.get("confirm"))
        written = self._recorder()
        cast = Seats(model, seats, self.answers, self.audience.terminal, confirmed, written, design=self.parts.loop)
        stage = Stage(
            self.parts.task, cast, self.journal, ledger, seed=config["seed"], check=control.check,
            events=getattr(self.parts.loop, "events", {}), episodes=Episodes(self.outputs.root / STORE),
            hidden_on_all=hidden_on_all(config),
        )  # fmt: skip
        start = Event(event="resumed") if resumed else Event(event="run_started", payload=self._setup())
        with control.listening():
            try:
                self.journal.append(start)
                self._publish()
                outcome = share.named(execute(self.parts.loop, Run(stage)), ledger, self.journal)
                outcome = _waiting(outcome, cast) if outcome.status == "paused" else outcome
            except KeyboardInterrupt:
                end = Aborted("Ctrl-C twice: ended at once.")
                outcome = Run(stage).outcome(end.status, end.reason, detail=str(end))
            except Interruption as end:
                outcome = Run(stage).outcome(end.status, end.reason, detail=str(end), **end.facts)
            finally:
                if written:
                    written.close()
                told = _closed(ledger)
        return outcome.model_copy(update={"facts": {**outcome.facts, **told}})

    def _recorder(self) -> recorder.Recorder | None:
        """Where answers are written down, as `record=PATH` says."""
        config = self.parts.config
        if config.get("record") is None:
            return None
        head = recorder.head(config, self.parts.task, self.parts.loop.name, self.folder.path.name)
        return recorder.Recorder(Path(config["record"]), head, self.journal)

    def _setup(self) -> dict[str, Any]:
        task, config = self.parts.task, self.parts.config
        outer = getattr(self.parts.loop, "own", "none")
        criteria = task.criteria
        sandbox = self.parts.sandbox.capability().level if hasattr(self.parts.sandbox, "capability") else None
        return {
            "task_alias": getattr(task, "alias", None) or type(task).__name__.lower(),
            "task": {"prompt": task.goal, "ideal_result": "; ".join(r.description or r.id for r in criteria.rules[:5])},
            "design": self.parts.loop.name if outer == "none" else self.parts.loop.inner.name,
            "outer": outer,
            "criteria": dataclasses.asdict(criteria) | {"rules": [r.model_dump() for r in criteria.rules]},
            "max_iterations": rounds_of(self.parts.loop),
            "config_hash": self.parts.identity,
            "seed": config.get("seed"),
            "model": (config.get("model") or {}).get("name"),
            "origin": getattr(task, "origin", ""),
            "sandbox": sandbox,
            "versions": versions(),
            **{name: config[name] for name in (ablated.SETTING,) if name in config},
        }

    def _publish(self) -> None:
        state = self.folder.save(self.journal)
        self.outputs.point(self.folder, state)

    def _finish(self, outcome: Outcome) -> Outcome:
        outcome = outcome.model_copy(update={"facts": {**outcome.facts, "detail": outcome.facts.get("detail", "")}})
        try:
            self._files(outcome)  # before the last event: whoever follows the journal finds them when it ends
            self.journal.append(Event(event=outcome.status, status="ok", payload=outcome, elapsed=0.0))
        except Paused as end:  # the journal has no room even for this, but it is whole and can be resumed
            facts = {**outcome.facts, "detail": str(end)}
            return outcome.model_copy(update={"status": end.status, "reason": end.reason, "facts": facts})
        self._publish()
        return outcome

    def _files(self, outcome: Outcome) -> None:
        files = getattr(self.parts.task, "files", None)
        made = dict(files(outcome.artifact)) if files and outcome.artifact is not None else {}
        made |= self._kept()
        state = fold(self.journal.events, self.folder.path)
        for name, text in {**made, "summary.md": summary(outcome, state)}.items():
            (self.folder.path / name).parent.mkdir(exist_ok=True)
            write_whole(self.folder.path / name, redact(text).encode("utf-8", "replace"))

    def _kept(self) -> dict[str, str]:
        """Files that a design makes of what it told last, by each kind of event that it names."""
        loop, files = self.parts.loop, dict[str, str]()
        for name in getattr(loop, "keeps", ()):
            told = [event for event in self.journal.events if event.event == name]
            files |= loop.files(self.journal.payload(told[-1])) if told else {}
        return files


def _closed(ledger: Ledger) -> dict[str, str]:
    """Close it; what the outcome must tell if the sweep's ledger cannot be used now: its next command puts it right."""
    try:
        ledger.close()
    except Paused as end:
        return {"sweep_ledger": str(end)}
    return {}


def _waiting(outcome: Outcome, cast: Seats) -> Outcome:
    """The pause with all questions that wait. Raises the ConfigError of an answer that did not fit."""
    if cast.refused:
        raise cast.refused[0]
    return outcome.model_copy(update={"facts": {**outcome.facts, **human.waits(cast.waiting)}})


def summary(outcome: Outcome, state: Mapping[str, Any]) -> str:
    """How the run ended, in a few lines for people; the console says more."""
    holdout = outcome.facts.get("holdout") or {}
    gate = "gate met" if outcome.passed else "gate not met"
    score = "none" if outcome.score is None else f"{outcome.score:.3f} ({gate})"
    spent = ", ".join(f"{account} {amount:g}" for account, amount in state["spent"].items()) or "nothing"
    lines = {
        "run": state["run_id"], "task": state["task_alias"], "design": state["design"],
        "status": f"{outcome.status} ({outcome.reason})", "gate score": score,
        "holdout score": holdout.get("score", "none"), "spent": spent, "seconds": state["elapsed"],
        "detail": outcome.facts.get("detail") or "",
    }  # fmt: skip
    outer = outcome.facts.get("outer") or {}
    if outer.get("shortfall"):
        lines["ideal state"] = f"{outer['completeness']:.2f} complete, missing: {'; '.join(outer['shortfall'])}"
    return "\n".join(f"- {name}: {value}" for name, value in lines.items()) + "\n"
