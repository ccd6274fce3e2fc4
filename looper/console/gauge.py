"""The bar below a run under way: iteration, best score, what is left of each account."""

import time
from typing import Any

from looper.console.blocks import alias_of, amount, score
from looper.console.outer import granted
from looper.console.screen import brief
from looper.journal import Event
from looper.parts import Parts


class Gauge:
    """What the bar shows: iteration, best score, what is left of each account."""

    def __init__(self, parts: Parts, spent: dict[str, float], rounds: int | None):
        self.title, self.rounds = f"{parts.loop.name} on {alias_of(parts.task)}", rounds
        self.caps = parts.budget.caps()
        self.left = {account: cap - spent.get(account, 0.0) for account, cap in self.caps.items()}
        self.usd = spent.get("usd", 0.0)
        self.iteration, self.best, self.passed = 0, 0.0, False
        self.began = time.monotonic()
        self._pending: dict[str, dict[str, float]] = {}
        self._granted: dict[str, float] = {}

    def take(self, event: Event) -> None:
        self.iteration = event.iteration or self.iteration
        data = event.payload if isinstance(event.payload, dict) else {}
        self._pay(event)
        if event.event == "outer_updated" and "decisions" in data:
            self._grant(granted(data))
        if event.event == "evaluation_done" and isinstance(data.get("score"), int | float):
            self.best = max(self.best, float(data["score"]))
        for account in ("inner", "outer"):
            if event.event == "iteration_advanced" and isinstance(data.get(f"{account}_left"), int | float):
                self.left[account] = float(data[f"{account}_left"])  # a replan refills an account unseen

    def _grant(self, more: dict[str, float]) -> None:
        """What a person has added since the last time."""
        for account in self.caps.keys() & more:
            added = more[account] - self._granted.get(account, 0.0)
            self.caps[account] += added
            self.left[account] += added
        self._granted = more

    def _pay(self, event: Event) -> None:
        """A finished step's cost holds its failed calls, which were counted when they failed."""
        if event.event == "call_done":
            self._pending[event.key] = {
                a: v + self._pending.get(event.key, {}).get(a, 0.0) for a, v in event.cost.items()
            }
            known: dict[str, float] = {}
        else:
            known = self._pending.pop(event.key, {}) if event.event != "call_started" else {}
        for account in {*event.cost, *known}:
            paid = event.cost.get(account, 0.0) - known.get(account, 0.0)
            self.usd += paid if account == "usd" else 0.0
            if account in self.left:
                self.left[account] -= paid

    def used(self) -> float:
        """Share of the account that is nearest to its cap, 0 to 1."""
        shares = [1 - self.left[account] / cap for account, cap in self.caps.items() if cap]
        return min(1.0, max(0.0, *shares)) if len(shares) > 1 else min(1.0, max([0.0, *shares]))

    def words(self) -> str:
        left = ", ".join(
            f"{account} {amount(max(0.0, self.left[account]))}/{amount(cap)}" for account, cap in self.caps.items()
        )
        parts = [
            self.title,
            f"iteration {self.iteration}{f'/{self.rounds}' if self.rounds else ''}",
            f"best {score(self.best)}",
        ]
        parts += [f"left {left}"] if left else []
        parts += [f"${self.usd:.4f}"] if self.usd else []
        return brief("  ".join([*parts, f"{time.monotonic() - self.began:.0f} s"]), 200)

    def render(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_row(
            ProgressBar(total=1.0, completed=self.used(), width=20),
            Text(self.words(), overflow="ellipsis", no_wrap=True),
        )
        return grid
