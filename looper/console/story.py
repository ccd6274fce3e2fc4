"""A run as its folder tells it: what summaries, lists and pages of runs are made from."""

from dataclasses import dataclass
from typing import Any

from looper.agents.human import apart, together
from looper.budget import Budget
from looper.console.outer import granted
from looper.console.screen import brief
from looper.errors import ConfigError
from looper.folder import Folder
from looper.journal import Event, load_payload, read
from looper.state import fold, fresh
from looper.types import TERMINAL


@dataclass
class Story:
    """All that a summary needs, read from a run's folder once."""

    folder: Folder
    state: dict[str, Any]
    events: list[Event]
    caps: dict[str, Any]

    @classmethod
    def of(cls, folder: Folder) -> "Story":
        """Raises ConfigError without a journal, JournalDamaged for a changed one."""
        if not folder.history.exists():
            folder.state()
        events = read(folder.history).events
        budget = config_of(folder).get("budget") or {}
        caps = {account: budget.get(account, getattr(Budget(), account)) for account in ("inner", "outer")}
        state = fold(events, folder.path)
        more = granted(state["outer_loop"]) if state.get("outer_loop") else {}
        caps = {name: cap if cap is None else cap + more.get(name, 0.0) for name, cap in caps.items()}
        return cls(folder, state, events, caps)

    @property
    def name(self) -> str:
        return self.folder.path.name

    @property
    def status(self) -> str:
        return self.folder.status(self.state)

    @property
    def outcome(self) -> dict[str, Any]:
        return self.state["outcome"] or {}

    @property
    def facts(self) -> dict[str, Any]:
        return self.outcome.get("facts") or {}

    @property
    def waiting(self) -> dict[str, Any] | None:
        """What a person was asked and has not answered, also if a resume was broken off since."""
        answered = {event.key for event in self.events if event.key and event.event != "call_started"}
        for event in reversed(self.events):
            if event.event == "paused" and not event.key:
                asked = load_payload(self.folder.path, event).get("facts", {}).get("waiting")
                left = [one for one in apart(asked) if one.get("key") not in answered]
                return together(left) if left else None
        return None

    @property
    def holdout(self) -> Any:
        found = self.facts.get("holdout")
        return found.get("score") if isinstance(found, dict) else found

    def verdict(self) -> dict[str, Any]:
        """The last evaluation that gave the final score, so that rules and score belong together; else the last one."""
        wanted = (self.outcome.get("score"), self.outcome.get("passed"))
        found: dict[str, Any] = {}
        for event in self.events:
            if event.event == "evaluation_done":
                data = load_payload(self.folder.path, event)
                if isinstance(data, dict) and (data.get("score"), data.get("passed")) == wanted:
                    found = data
        return found or self.state["evaluation"] or {}

    def artifact(self) -> str | None:
        """What artifact.md holds; None without one."""
        file = self.folder.path / "artifact.md"
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def config_of(folder: Folder) -> dict[str, Any]:
    """The configuration a run was started with; nothing if it is not there."""
    import yaml

    file = folder.path / "config.yaml"
    try:
        data = yaml.safe_load(file.read_bytes()) if file.exists() else {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: is not YAML any more ({brief(error)}); restore it, or start a new run.") from error
    return data if isinstance(data, dict) else {}


def card(story: Story) -> dict[str, Any]:
    """What run.json says now, with the status for people and the folder: the one JSON object for scripts."""
    return {**story.state, "status": story.status, "waiting": story.waiting, "folder": str(story.folder.path)}


def glance(folder: Folder) -> dict[str, Any]:
    """The same from run.json alone where that is final, else from the journal: quick enough for many runs."""
    saved = folder.saved() if folder.history.exists() else {}
    final = saved.get("status") in TERMINAL and saved.keys() >= fresh().keys()
    state = saved if final else folder.state()
    return {**state, "status": folder.status(state), "folder": str(folder.path)}
