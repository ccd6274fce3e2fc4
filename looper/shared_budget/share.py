"""A sweep's ledger as one of its runs uses it: the `shared` of `looper.budget.Ledger`."""

import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from looper.budget import SLACK, Amounts, Ledger, total
from looper.errors import BudgetExceeded
from looper.journal import Journal
from looper.shared_budget.ledger import ACCOUNTS, FILE, Standing, SweepLedger, connect, standing, transaction
from looper.types import Outcome

PATIENCE = 600.0
"""Seconds that a call waits at most for reservations of others to be settled; five deadlines of a call (120 s)."""
PAUSE = 0.05
"""Seconds between two looks at whether they are."""


class Share:
    """Reserves, settles and keeps for one run, in the ledger of its sweep."""

    def __init__(self, folder: Path, run: str, check: Callable[[], None] = lambda: None):
        self.folder, self.run, self.check = folder, run, check
        self.accounts = frozenset(SweepLedger(folder).standing())
        """Those with a cap, when the run began."""
        self.refusal: dict[str, Any] = {}
        """Account and cap for which a step of this run was refused."""
        self._kept: dict[str, Amounts] = {}
        self._connection: sqlite3.Connection | None = None

    def recall(self, recorded: Mapping[str, float]) -> None:
        """The run begins or goes on: its journal says what it has spent, and nothing is reserved any more."""
        owner = f"{socket.gethostname()}:{os.getpid()}"
        with self._transaction() as tables:
            tables.execute("INSERT OR REPLACE INTO runs (run, owner) VALUES (?, ?)", (self.run, owner))
            self._add(tables, "spent", recorded)

    def reserve(self, name: str, worst: Mapping[str, float], waited: float) -> bool:
        """Promise the worst case of a call, using what was kept for it; False if it can be paid once others settle.

        Raises BudgetExceeded if it cannot, or was waited for long enough.
        """
        return self._take("held", name, weighed(worst), waited)

    def keep(self, name: str, amounts: Mapping[str, float], waited: float) -> bool:
        """Set aside what the close of the run will cost, in place of what was kept for it; as `reserve`."""
        return self._take("kept", name, weighed(amounts), waited)

    def _take(self, kind: str, name: str, bill: Amounts, waited: float) -> bool:
        before = self._kept.get(name, {})
        if not bill and not before:
            return True
        with self._transaction() as tables:
            self._add(tables, "kept", before, -1.0)
            found = standing(tables)
            short = self._short(found, bill)
            if short is None:
                self._add(tables, kind, bill)
                self._kept.pop(name, None)
                self._kept |= {name: bill} if kind == "kept" else {}
                return True
            self._add(tables, "kept", before)
            if waited < PATIENCE and self._short(found, bill, self._passing(tables)) is None:
                return False
            # What others only keep for their close comes back: that is no end of the whole sweep.
            if bill[short] > found[short].cap - found[short].spent + SLACK:
                tables.execute("UPDATE caps SET reached = 1 WHERE account = ?", (short,))
        raise self._exceeded(name, short, bill, found[short])

    def settle(self, hold: Mapping[str, float], actual: Mapping[str, float]) -> None:
        """Give back a promise and book what the call turned out to cost."""
        if not weighed(hold) and not weighed(actual):
            return
        with self._transaction() as tables:
            self._add(tables, "held", weighed(hold), -1.0)
            self._add(tables, "spent", weighed(actual))

    def release(self, name: str) -> None:
        """Give up what was kept under a name."""
        if name in self._kept:
            with self._transaction() as tables:
                self._add(tables, "kept", self._kept.pop(name), -1.0)

    def short(self, bill: Mapping[str, float], using: Mapping[str, float]) -> str | None:
        """The account that could not pay this, what was kept for it counted in, once others have settled theirs."""
        need = {account: amount - using.get(account, 0.0) for account, amount in weighed(bill).items()}
        if not any(amount > SLACK for amount in need.values()):
            return None
        with self._transaction() as tables:
            return self._short(standing(tables), need, self._passing(tables))

    def close(self) -> None:
        """The run has ended here: nothing is kept for its close any more."""
        try:
            for name in list(self._kept):
                self.release(name)
        finally:  # an open transaction would keep all others waiting
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with transaction(self.folder, self._connected) as tables:
            yield tables

    def _connected(self) -> sqlite3.Connection:
        """It stays open until `close`: that halves what a call pays for its entries."""
        self._connection = self._connection or connect(self.folder)
        return self._connection

    def wait(self) -> float:
        """Let others settle; the seconds that took. Raises what `check` raises if a person ends the run meanwhile."""
        self.check()
        time.sleep(PAUSE)
        return PAUSE

    def _short(
        self, found: Mapping[str, Standing], bill: Mapping[str, float], passing: Mapping[str, float] | None = None
    ) -> str | None:
        for account, amount in bill.items():
            if account not in found:
                continue
            now = found[account]
            left = now.cap - now.spent - now.reserved + (passing or {}).get(account, 0.0)
            if amount > left + SLACK:
                return account
        return None

    def _passing(self, tables: sqlite3.Connection) -> Amounts:
        """What is reserved for calls under way of processes that live, as far as can be seen from here."""
        columns = [f"held_{account}" for account in ACCOUNTS]
        some = " OR ".join(f"{column} > 0" for column in columns)
        rows = tables.execute(f"SELECT owner, {', '.join(columns)} FROM runs WHERE {some}").fetchall()
        return total(dict(zip(ACCOUNTS, held, strict=True)) for owner, *held in rows if lives(owner))

    def _add(self, tables: sqlite3.Connection, kind: str, amounts: Mapping[str, float], sign: float = 1.0) -> None:
        for account, amount in weighed(amounts).items():
            column = f"{kind}_{account}"
            # What sums of prices leave over by rounding is nothing.
            sql = f"UPDATE runs SET {column} = iif(abs({column} + :x) > {SLACK}, {column} + :x, 0) WHERE run = :run"
            tables.execute(sql, {"x": sign * amount, "run": self.run})

    def _exceeded(self, name: str, account: str, bill: Mapping[str, float], now: Standing) -> BudgetExceeded:
        self.refusal = {"account": account, "cap": now.cap}
        left = max(0.0, now.cap - now.spent - now.reserved)
        return BudgetExceeded(
            f"{name} costs up to {bill[account]:g} {account}, but {left:g} of the {now.cap:g} of the whole sweep "
            f"{self.folder.name} are left; give more with sweep_budget.{account}=...",
            account=account, sweep_budget=self.refusal,
        )  # fmt: skip


def beside(path: Path, check: Callable[[], None]) -> Share | None:
    """The share of the run in this folder, if it belongs to a sweep with a cap."""
    return Share(path.parent, path.name, check) if (path.parent / FILE).is_file() else None


def weighed(amounts: Mapping[str, float]) -> Amounts:
    """The part that a sweep's ledger counts: units are each run's own."""
    return {account: amounts[account] for account in ACCOUNTS if amounts.get(account)}


def lives(owner: str) -> bool:
    """Whether the process that a run was last begun by lives; of another machine's it is not known: yes."""
    host, _, number = owner.rpartition(":")
    if host != socket.gethostname():
        return True
    with contextlib.suppress(PermissionError):
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, ValueError):
            return False
    return True


def named(outcome: Outcome, ledger: Ledger, journal: Journal) -> Outcome:
    """With the sweep's cap in its facts where that is what ended the run; designs tell only that a budget did."""
    if outcome.reason not in ("budget_exhausted", "confirm") or ledger.shared is None:
        return outcome
    refused = getattr(ledger.shared, "refusal", {}) or _refused(journal)
    if not refused:
        return outcome
    told = f"the cap of the whole sweep was reached: sweep_budget.{refused['account']}={refused['cap']:g}."
    detail = outcome.facts.get("detail") or told
    return outcome.model_copy(update={"facts": {**outcome.facts, "sweep_budget": refused, "detail": detail}})


def _refused(journal: Journal) -> dict[str, Any]:
    """What an earlier process of this run was refused."""
    for event in reversed(journal.events):
        if event.event == "budget_refused":
            return dict(journal.payload(event)["facts"].get("sweep_budget") or {})
    return {}
