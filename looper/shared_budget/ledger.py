"""What the runs of a sweep may spend together: one ledger in the sweep's folder, whoever runs its cells (SPEC 6.6).

A row per run: what it has spent, what is reserved for its calls under way, what it keeps for its close. Every change is
one SQLite transaction, so spent + reserved of all runs never exceeds a cap, for threads, processes and machines that
share the folder. What a killed process had reserved stays reserved until its run is resumed; then the run's journal
tells what became of it (SPEC 0.9).
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.dataclasses import dataclass

from looper.budget import SLACK, Amounts, Cap, total
from looper.errors import ConfigError, Paused
from looper.folder import Folder
from looper.journal import Event, read
from looper.meter import left_open
from looper.types import STRICT, TERMINAL

FILE = "budget.sqlite"
ACCOUNTS = ("usd", "tokens", "calls")
KINDS = ("spent", "held", "kept")
BUSY = 30.0
"""Seconds to wait for another process's transaction, which takes a millisecond."""
COLUMNS = [f"{kind}_{account}" for kind in KINDS for account in ACCOUNTS]
TOTALS = ", ".join(f"total({column})" for column in COLUMNS)
TABLES = (
    "CREATE TABLE IF NOT EXISTS caps (account TEXT PRIMARY KEY, cap REAL, reached INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', "
    + ", ".join(f"{column} REAL NOT NULL DEFAULT 0" for column in COLUMNS)
    + ")",
)
_turn = threading.Lock()
"""One thread of a process at a time, so that SQLite's own waiting is between processes only."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SweepBudget:
    """What all runs of a sweep may spend together; None is no cap, or the one that the sweep was given before."""

    usd: Cap | None = None
    """US dollars for model calls."""
    tokens: Cap | None = None
    """Tokens in and out of all model calls."""
    calls: Cap | None = None
    """Model calls, retries and repairs included."""

    def caps(self) -> Amounts:
        return {name: cap for name in ACCOUNTS if (cap := getattr(self, name)) is not None}


class Standing(NamedTuple):
    """An account of a sweep."""

    cap: float
    spent: float
    reserved: float
    """For calls under way and for the close of runs."""
    reached: bool
    """Whether a call was refused since the cap was given that what was not spent could not pay."""


def connect(folder: Path) -> sqlite3.Connection:
    """A connection for any one thread at a time."""
    found = sqlite3.connect(folder / FILE, timeout=BUSY, isolation_level=None, check_same_thread=False)
    found.execute("PRAGMA journal_mode=PERSIST")  # no shared memory: the folder may be on a network
    found.execute("PRAGMA synchronous=OFF")  # what a loss of power takes from it, `open` reads from the journals again
    return found


@contextmanager
def transaction(folder: Path, known: Callable[[], sqlite3.Connection] | None = None) -> Iterator[sqlite3.Connection]:
    """All or nothing. Raises Paused if the file cannot be used now, ConfigError if it is no ledger."""
    try:
        with _turn, contextlib.ExitStack() as stack:
            tables = known() if known else stack.enter_context(contextlib.closing(connect(folder)))
            tables.execute("BEGIN IMMEDIATE")
            try:
                yield tables
            except BaseException:
                tables.execute("ROLLBACK")
                raise
            tables.execute("COMMIT")
    except sqlite3.OperationalError as error:
        told = f"{folder.name}/{FILE} cannot be used ({error}); free some space or wait, then `resume`."
        raise Paused(told, "storage") from error
    except sqlite3.DatabaseError as error:
        told = f"{folder / FILE}: is no ledger any more ({error}); delete it, the cells tell what was spent."
        raise ConfigError(told) from error


class SweepLedger:
    """The ledger of a whole sweep."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def exists(self) -> bool:
        return (self.folder / FILE).is_file()

    def open(self, budget: SweepBudget) -> None:
        """Take these caps; what cells have spent before counts, and what ended ones had reserved is free again.

        A cap that is not given stays as it was. Without caps and without a ledger there will be none. Raises
        ConfigError if it cannot be told what was spent.
        """
        caps = budget.caps()
        if not caps and not self.exists:
            return
        first = not self.exists
        self.folder.mkdir(parents=True, exist_ok=True)
        before = spent_before(self.folder, first)
        with transaction(self.folder) as tables:
            for table in TABLES:
                tables.execute(table)
            for run, amounts in before.items():
                _at_least(tables, run, amounts)
                if Folder(self.folder / run).saved().get("status") in TERMINAL:
                    _nothing_reserved(tables, run)
            for account, cap in caps.items():
                tables.execute(
                    "INSERT INTO caps VALUES (:a, :c, 0) ON CONFLICT (account) DO UPDATE SET "
                    "reached = CASE WHEN cap = :c THEN reached ELSE 0 END, cap = :c",
                    {"a": account, "c": cap},
                )

    def standing(self) -> dict[str, Standing]:
        """Every capped account; nothing without a ledger."""
        if not self.exists:
            return {}
        with transaction(self.folder) as tables:
            return standing(tables)

    def exhausted(self) -> str:
        """The account of which nothing can be had any more, as its setting; empty while there is something left."""
        for account, now in self.standing().items():
            if now.reached or now.spent + SLACK >= now.cap:
                return f"sweep_budget.{account}"
        return ""

    def raised(self, refused: Mapping[str, Any]) -> bool:
        """Whether there is more than when a run was refused with these facts."""
        now = self.standing().get(str(refused.get("account")))
        return now is None or now.cap > float(refused.get("cap", 0.0))


def spent_before(folder: Path, first: bool) -> dict[str, Amounts]:
    """What runs that are not under way have spent, by name; lost calls at their worst case.

    Raises ConfigError if there was no ledger (`first`), and a run is under way that does not know of one.
    """
    found: dict[str, Amounts] = {}
    for path in sorted(folder.glob("*/history.jsonl")):
        run = Folder(path.parent)
        saved = run.saved()
        if saved.get("status") in TERMINAL:
            found[path.parent.name] = dict(saved.get("spent") or {})
        elif not run.alive():
            found[path.parent.name] = journalled(path)
        elif first:
            raise ConfigError(
                f"sweep_budget: {path.parent.name} is under way in another process, without a cap for the sweep; end "
                "that one first."
            )
    return found


def journalled(path: Path) -> Amounts:
    """What a journal says was spent, lost calls at their worst case."""
    costs: list[Amounts] = []
    tries: dict[str, list[Event]] = {}
    for event in read(path).events:
        if event.event in ("call_started", "call_done"):
            tries.setdefault(event.key, []).append(event)
        elif event.key:
            tries.pop(event.key, None)
            costs.append(event.cost)
    return total([*costs, *(cost for events in tries.values() for _, cost in left_open(events))])


def _at_least(tables: sqlite3.Connection, run: str, amounts: Mapping[str, float]) -> None:
    """A run has spent at least this."""
    tables.execute("INSERT OR IGNORE INTO runs (run) VALUES (?)", (run,))
    for account in ACCOUNTS:
        sql = f"UPDATE runs SET spent_{account} = max(spent_{account}, ?) WHERE run = ?"
        tables.execute(sql, (amounts.get(account, 0.0), run))


def _nothing_reserved(tables: sqlite3.Connection, run: str) -> None:
    """A run has ended; its process may not have come to say so here."""
    reserved = ", ".join(f"{column} = 0" for column in COLUMNS if not column.startswith("spent"))
    tables.execute(f"UPDATE runs SET {reserved} WHERE run = ?", (run,))


def standing(tables: sqlite3.Connection) -> dict[str, Standing]:
    sums = dict(zip(COLUMNS, tables.execute(f"SELECT {TOTALS} FROM runs").fetchone(), strict=True))
    return {
        account: Standing(
            cap, sums[f"spent_{account}"], sums[f"held_{account}"] + sums[f"kept_{account}"], bool(reached)
        )
        for account, cap, reached in tables.execute("SELECT account, cap, reached FROM caps").fetchall()
    }
