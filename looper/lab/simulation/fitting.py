"""Parameters of a simulation, fitted from recorded runs: what their journals show, each with its n and an interval.

    found = fitted(["outputs/reflex-..."])
    found.table                                   # parameter, value, n, low, high
    composed("+task=sim") | found.settings        # task, model and agents of a simulation like these runs

Rates of work on rules come from designs whose artifact has one line of descent (adaptive, baseline, reflex) and from
draws (once, retry, best_of, cascade); tokens, latency and failures from all. What no journal shows, such as judges'
errors and hidden rules, is not fitted.
"""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looper.agents.faults import REPAIRS
from looper.errors import ConfigError
from looper.lab.simulation.observing import Seen, observe
from looper.tasks.sim.truth import Planted, Row
from looper.types import Call

if TYPE_CHECKING:
    import pandas as pd

ENOUGH = 20
"""Observations from which a rule gets odds of its own."""
RATES = ("satisfy", "repair", "unnamed", "damage", "miss", "wrong")
PER_RULE = ("satisfy", "repair", "unnamed", "damage")


@dataclass(frozen=True)
class Fitted:
    """What recorded runs show."""

    table: "pd.DataFrame"
    """parameter, value, n, low, high: 95 %, Wilson for shares and t for means."""
    settings: dict[str, Any]
    """`task`, `model` and `agents` of a simulation; what was not observed is left out of them."""


def fitted(runs: Iterable[str | Path]) -> Fitted:
    """Fit a simulation to the journals of run folders. Raises ConfigError without a run, JournalDamaged for a
    changed one.
    """
    seen, count = Seen(), 0
    for place in runs:
        observe(Path(place), seen)
        count += 1
    if not count:
        raise ConfigError("fitted: there is no run to fit a simulation to; give run folders.")
    return Fitted(_table(seen), _settings(seen))


# What it comes to


def _table(seen: Seen) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([*_rates(seen), *_costs(seen)], columns=["parameter", "value", "n", "low", "high"])


def _rates(seen: Seen) -> Iterator[dict[str, Any]]:
    from looper.lab.statistics import wilson

    for (parameter, rule), tally in sorted(seen.rates.items(), key=lambda item: (item[0][1], RATES.index(item[0][0]))):
        low, high = wilson(tally.yes, tally.n)
        name = f"{parameter} {rule}".strip()
        yield {"parameter": name, "value": tally.yes / tally.n, "n": tally.n, "low": low, "high": high}
    calls = [call for own in seen.calls.values() for call in own]
    for name, (bad, count) in _failures(calls).items():
        if count:
            low, high = wilson(bad, count)
            yield {"parameter": name, "value": bad / count, "n": count, "low": low, "high": high}


def _failures(calls: Sequence[Call]) -> dict[str, tuple[int, int]]:
    """How many of how many calls failed on their way; and of those that came through, were no answer."""
    through = [call for call in calls if call.ended == "ok" or call.ended in REPAIRS]
    bad = sum(call.ended != "ok" for call in through)
    return {"faults": (len(calls) - len(through), len(calls)), "invalid": (bad, len(through))}


def _costs(seen: Seen) -> Iterator[dict[str, Any]]:
    everybody = [call for calls in seen.calls.values() for call in calls]
    for role, calls in {"": everybody, **seen.calls}.items():
        for name, values in _billed(calls).items():
            if values:
                mean, half = statistics.fmean(values), _half(values)
                ends = {"low": max(0.0, mean - half), "high": mean + half}
                yield {"parameter": f"{name} {role}".strip(), "value": mean, "n": len(values), **ends}


def _billed(calls: Sequence[Call]) -> dict[str, list[float]]:
    """Values of calls that have tokens, of how long they took too."""
    paid = [call for call in calls if call.tokens_in + call.tokens_out]
    return {
        "tokens_in": [float(call.tokens_in) for call in paid], "tokens": [float(call.tokens_out) for call in paid],
        "latency": [call.seconds for call in paid],
    }  # fmt: skip


def _half(values: Sequence[float]) -> float:
    """Half the width of a 95 % t interval of the mean; infinite for one value."""
    from scipy.stats import t

    if len(values) < 2:
        return math.inf
    return float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))


def _settings(seen: Seen) -> dict[str, Any]:
    found = {parameter: tally.yes / tally.n for (parameter, rule), tally in seen.rates.items() if not rule}
    warnings = sum(rule["severity"] != "fail" for rule in seen.rules)
    task = {
        "_target_": "looper.tasks.sim.task.Sim", "rules": len(seen.rules), "warnings": warnings, "judged": 0,
        "spread": 0.0, "truth": {"_target_": f"{Planted.__module__}.{Planted.__name__}", **found}, "rows": _rows(seen),
    }  # fmt: skip
    return {"task": task, **_models(seen)}


def _rows(seen: Seen) -> list[dict[str, Any]]:
    """What differs by rule, where there is enough to tell."""
    rows = []
    for number, rule in enumerate(seen.rules, 1):
        own = {name: tally for name in PER_RULE if (tally := seen.rates.get((name, rule["id"]))) and tally.n >= ENOUGH}
        kept = {"severity": rule["severity"], "weight": rule["weight"]}
        odds = {name: tally.yes / tally.n for name, tally in own.items()}
        rows.append({"_target_": f"{Row.__module__}.{Row.__name__}", "rule": number, **kept, **odds})
    return rows


def _models(seen: Seen) -> dict[str, Any]:
    """Tokens, latency and failures; nothing where no call had tokens."""
    calls = [call for own in seen.calls.values() for call in own]
    billed = _billed(calls)
    if not billed["tokens"]:
        return {}
    shares = {name: bad / count for name, (bad, count) in _failures(calls).items() if count}
    model = {"name": "simulated", "skill": 1.0, "sleeps": False, "spread": _spread(billed["tokens"]), **shares}
    agents = {role: _means(_billed(own)) for role, own in seen.calls.items() if _billed(own)["tokens"]}
    return {"model": {**model, **_means(billed)}, "agents": agents}


def _means(billed: Mapping[str, Sequence[float]]) -> dict[str, float]:
    tokens = {name: round(statistics.fmean(billed[name])) for name in ("tokens_in", "tokens")}
    return {**tokens, "latency": min(60.0, statistics.fmean(billed["latency"]))}


def _spread(values: Sequence[float]) -> float:
    """Half the width of an even spread with this standard deviation, as a share of the mean; at most 1."""
    mean = statistics.fmean(values)
    return min(1.0, statistics.pstdev(values) * math.sqrt(3) / mean) if mean else 0.0
