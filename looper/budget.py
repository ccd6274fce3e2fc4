"""What a run may spend, and the ledger of what it has spent and promised (SPEC 0.5, document 004 ControlBudget).

Two accounts in units: `inner` pays cheap deterministic work, `outer` pays model calls and planning. Beside them
optional caps on USD, tokens, model calls and seconds. The worst case of a step is reserved before it and settled after
it, so that at no instant spent + reserved exceeds a cap.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal, Protocol

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.errors import BudgetExceeded
from looper.types import STRICT, Usage

Amounts = dict[str, float]
"""Amount by account: inner and outer in units, usd, tokens, calls."""

CAPS = ("inner", "outer", "usd", "tokens", "calls", "seconds")
"""What a budget can cap."""
SLACK = 1e-9
"""Rounding that sums of prices such as 0.05 may show."""

Cap = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Price:
    """What one step of a name costs, in units."""

    inner: Cap = 0.0
    """Units of the inner account, >= 0."""
    outer: Cap = 0.0
    """Units of the outer account, >= 0."""
    policy: "Price | None" = None
    """The price where a deterministic policy fills the role and no model is called; default: the same price."""

    def amounts(self, by_policy: bool = False) -> Amounts:
        price = self.policy if by_policy and self.policy else self
        return {account: units for account, units in (("inner", price.inner), ("outer", price.outer)) if units}


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Budget:
    """What a run may spend; every number is a cap, None is no cap."""

    inner: Cap | None = 20.0
    """Units for cheap, deterministic work per planned start; document 004's default. A replan refills it."""
    outer: Cap | None = 6.0
    """Units for planning and model calls in the whole run; document 004's default: three calls of 2.0."""
    usd: Cap | None = None
    """US dollars for model calls in the whole run."""
    tokens: Cap | None = None
    """Tokens in and out of all model calls in the whole run."""
    calls: Cap | None = None
    """Model calls in the whole run, retries and repairs included."""
    seconds: Cap | None = None
    """Working time in the whole run, over all resumes; waiting as a server asked for is not counted. 0: no limit."""
    on_limit: Literal["hard", "wrap_up", "ask"] = "wrap_up"
    """At a cap: `hard` ends at once, `wrap_up` uses what was kept to finish, `ask` pauses (resume with more)."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Price of each step by its name; a name that is not listed costs no units."""

    def caps(self) -> Amounts:
        named = {"inner": self.inner, "outer": self.outer, "usd": self.usd, "tokens": self.tokens, "calls": self.calls}
        return {account: cap for account, cap in named.items() if cap is not None}

    def price(self, name: str, by_policy: bool = False, quantity: float = 1.0) -> Amounts:
        """Units that `quantity` steps of this name cost."""
        price = self.prices.get(name)
        return scaled(price.amounts(by_policy), quantity) if price else {}


def scaled(amounts: Mapping[str, float], factor: float) -> Amounts:
    return {account: amount * factor for account, amount in amounts.items()}


def total(parts: Iterable[Mapping[str, float]]) -> Amounts:
    """Account-wise sum."""
    result: Amounts = {}
    for part in parts:
        for account, amount in part.items():
            result[account] = result.get(account, 0.0) + amount
    return result


def metered(usage: Usage) -> Amounts:
    """What a model call weighs on the accounts beside the units."""
    amounts = {"usd": usage.usd, "tokens": float(usage.tokens), "calls": float(usage.calls)}
    return {account: amount for account, amount in amounts.items() if amount}


class Shared(Protocol):
    """A ledger behind this one, which many runs share; it counts USD, tokens and calls, no units."""

    accounts: frozenset[str]
    """Those that it caps."""

    def recall(self, recorded: Mapping[str, float]) -> None: ...
    def reserve(self, name: str, worst: Mapping[str, float], waited: float) -> bool: ...
    def keep(self, name: str, amounts: Mapping[str, float], waited: float) -> bool: ...
    def settle(self, hold: Mapping[str, float], actual: Mapping[str, float]) -> None: ...
    def release(self, name: str) -> None: ...
    def short(self, bill: Mapping[str, float], using: Mapping[str, float]) -> str | None: ...
    def wait(self) -> float: ...
    def close(self) -> None: ...


class Ledger:
    """What was spent, what is promised to steps under way, and what is kept for the close of the run. Thread-safe."""

    def __init__(self, budget: Budget, elapsed: float = 0.0, shared: Shared | None = None):
        self.budget, self.shared = budget, shared
        # What only the shared ledger caps has no limit of its own here, but a call's worst case must be known.
        self.caps = dict.fromkeys(shared.accounts if shared else (), float("inf")) | budget.caps()
        self.spent: Amounts = {}
        self.promised: Amounts = {}
        self.kept: dict[str, Amounts] = {}
        self.refilled: Amounts = {}
        """What was spent on an account before its refills."""
        self.owed: Amounts = {}
        """What the journal of a resumed run says was spent, as far as its steps have not been reached again."""
        self._lock = threading.Lock()
        self._before = elapsed
        self._began = time.monotonic()
        self._waited = 0.0

    def left(self, account: str) -> float:
        """What a step could still be promised; infinity without a cap."""
        with self._lock:
            return self._left(account)

    def _left(self, account: str) -> float:
        cap = self.caps.get(account, float("inf"))
        kept = sum(amounts.get(account, 0.0) for amounts in self.kept.values())
        out = sum(amounts.get(account, 0.0) for amounts in (self.spent, self.promised, self.owed))
        return cap - out - kept

    def affords(self, *bills: Mapping[str, float], using: Iterable[str] = ()) -> bool:
        """Whether all of these could be paid together, `using` naming what was kept for them."""
        return self.short(*bills, using=using) is None

    def short(self, *bills: Mapping[str, float], using: Iterable[str] = ()) -> str | None:
        """The account that could not pay all of these together, or None."""
        with self._lock:
            kept = total(self.kept.get(name, {}) for name in using)
            short = self._short(total(bills), kept)
            return short or (self.shared.short(total(bills), kept) if self.shared else None)

    def _short(self, bill: Mapping[str, float], kept: Mapping[str, float]) -> str | None:
        for account, amount in bill.items():
            if amount > self._left(account) + kept.get(account, 0.0) + SLACK:
                return account
        return None

    def keep(self, name: str, amounts: Mapping[str, float]) -> None:
        """Set aside what the close of the run will cost; nothing but the step of this name can use it.

        Raises BudgetExceeded if there is not even that much.
        """
        self._together(lambda waited: self._keep(name, amounts, waited))

    def _keep(self, name: str, amounts: Mapping[str, float], waited: float) -> bool:
        with self._lock:
            # What is owed was spent after this moment of the run, in part on what is kept here.
            if account := self._short(amounts, self.owed):
                raise BudgetExceeded(self._sentence(name, account, amounts), account=account)
            unpaid = {account: max(0.0, amount - self.owed.get(account, 0.0)) for account, amount in amounts.items()}
            if self.shared and not self.shared.keep(name, unpaid, waited):
                return False
            self.kept[name] = dict(amounts)
            return True

    def _together(self, attempt: Callable[[float], bool]) -> None:
        """Try until it can be paid: others who share the ledger may have reserved what they will give back."""
        waited = 0.0
        while not attempt(waited):
            assert self.shared is not None
            pause = self.shared.wait()  # without the lock: it may be our own other branch that is to settle
            self.wait(pause)
            waited += pause

    def release(self, name: str) -> None:
        """Give up what was kept under a name."""
        with self._lock:
            self._release(name)

    def _release(self, name: str) -> None:
        if self.kept.pop(name, None) is not None and self.shared:
            self.shared.release(name)

    def reserve(self, name: str, worst: Mapping[str, float]) -> Amounts:
        """Promise the worst case of a step. Raises BudgetExceeded, which says which account is short of what."""
        self._together(lambda waited: self._reserve(name, worst, waited))
        return dict(worst)

    def _reserve(self, name: str, worst: Mapping[str, float], waited: float) -> bool:
        with self._lock:
            kept = self.kept.get(name, {})
            if account := self._short(worst, kept):
                raise BudgetExceeded(self._sentence(name, account, worst), account=account)
            if self.shared and not self.shared.reserve(name, worst, waited):
                return False
            self.kept.pop(name, None)
            self.promised = total((self.promised, worst))
            return True

    def settle(self, hold: Mapping[str, float], actual: Mapping[str, float]) -> None:
        """Give back a promise and book what the step turned out to cost."""
        with self._lock:
            self.promised = {a: v for a, v in total((self.promised, scaled(hold, -1.0))).items() if abs(v) > SLACK}
            self.spent = total((self.spent, actual))
            if self.shared:
                self.shared.settle(hold, actual)

    def owe(self, recorded: Mapping[str, float]) -> None:
        """Hold what the journal says was spent until `charge` books it: no branch of a resumed run can use it."""
        with self._lock:
            self.owed = total((self.owed, recorded))
            if self.shared:
                self.shared.recall(recorded)

    def charge(self, actual: Mapping[str, float], name: str = "") -> None:
        """Book a recorded cost: a replayed step, which used what was kept under its name, or a call that was lost."""
        with self._lock:
            self._release(name)
            self.owed = {a: v for a, v in total((self.owed, scaled(actual, -1.0))).items() if v > SLACK}
            self.spent = total((self.spent, actual))

    def refill(self, account: str) -> None:
        """Start an account afresh (document 004: a replan resets the inner budget)."""
        with self._lock:
            self.refilled[account] = self.refilled.get(account, 0.0) + self.spent.pop(account, 0.0)

    def grant(self, more: Mapping[str, float]) -> None:
        """Raise caps: a person has added budget. An account without a cap needs none."""
        with self._lock:
            for account, amount in more.items():
                if account in self.caps:
                    self.caps[account] += amount

    def overall(self) -> Amounts:
        """Everything that was ever spent, refills included."""
        with self._lock:
            return total((self.spent, self.refilled, self.owed))

    def close(self) -> None:
        """The run has ended here: what was kept for its close is free for others who share the ledger."""
        if self.shared:
            self.shared.close()

    def wait(self, seconds: float) -> None:
        """Leave out of the working time what a server told us to wait."""
        with self._lock:
            self._waited += seconds

    def elapsed(self) -> float:
        """Working seconds of all segments of the run."""
        return self._before + self.segment()

    def segment(self) -> float:
        """Working seconds of this process."""
        return time.monotonic() - self._began - self._waited

    def seconds_left(self) -> float | None:
        return self.budget.seconds - self.elapsed() if self.budget.seconds else None

    def _sentence(self, name: str, account: str, bill: Mapping[str, float]) -> str:
        return (
            f"{name} costs {bill[account]:g} {account}, but {max(0.0, self._left(account)):g} of "
            f"{self.caps[account]:g} are left; give more with budget.{account}=..."
        )


class BudgetTracker:
    """One account of a ledger under document 004's names. It keeps no books of its own."""

    def __init__(self, ledger: Ledger, account: str):
        self.ledger, self.account = ledger, account

    @property
    def remaining(self) -> float:
        """Units that a step could still be promised, >= 0; infinity without a cap."""
        return max(0.0, self.ledger.left(self.account))

    def record(self, units: float, name: str = "recorded") -> None:
        """Spend units at once. Raises BudgetExceeded, with nothing spent, if they are not left."""
        amounts = {self.account: units}
        self.ledger.settle(self.ledger.reserve(name, amounts), amounts)

    def should_stop(self) -> bool:
        """Whether nothing is left."""
        return self.remaining <= SLACK

    def reset(self) -> None:
        """Start the account afresh; what was spent before stays in the run's sum."""
        self.ledger.refill(self.account)


class ControlBudget:
    """Document 004's dual budget: `inner` for cheap operations, `outer` for planning and model calls."""

    def __init__(self, ledger: Ledger):
        self.inner, self.outer = BudgetTracker(ledger, "inner"), BudgetTracker(ledger, "outer")

    def should_stop(self) -> bool:
        """Whether neither loop can go on: a replan, which outer pays, resets an inner account that is used up."""
        return self.inner.should_stop() and self.outer.should_stop()
