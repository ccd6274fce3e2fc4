"""What simulated runs come to on average, in closed form: for proving that simulation and kernel do what they say.

Budgets are taken not to bind. `Sim` tells the odds of the task, `Simulated` what a call costs.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from looper.agents.simulated import Simulated
from looper.errors import ConfigError
from looper.tasks.contracts import MOST_ISSUES
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Odds

MOST_RULES = 14
"""Rules up to which every combination of met and failed ones is added up."""


@dataclass(frozen=True)
class Expected:
    """Means over runs."""

    success: float
    """Share of runs that meet the gate."""
    calls: float
    """Model calls, failed ones included."""
    tokens: float
    usd: float


@dataclass(frozen=True)
class Asked:
    """One question to a role, on average."""

    answered: float
    """Probability that there is an answer; else the run fails."""
    calls: float
    billed: float
    """Calls that have tokens."""


def asked(model: Simulated) -> Asked:
    """Calls until an answer, or until retries or repairs are used up."""
    answered = calls = billed = 0.0
    left = {(0, 0): 1.0}
    while left:
        (faults, bad), mass = left.popitem()
        if faults > model.retries or bad > model.repairs:
            continue
        calls += mass
        billed += mass * (1 - model.faults)
        answered += mass * (1 - model.faults) * (1 - model.invalid)
        for place, share in (
            ((faults + 1, bad), model.faults),
            ((faults, bad + 1), (1 - model.faults) * model.invalid),
        ):
            left[place] = left.get(place, 0.0) + mass * share
            if not left[place]:
                del left[place]
    return Asked(answered, calls, billed) if model.metered else Asked(1.0, 0.0, 0.0)


def once(task: Sim, model: Simulated) -> Expected:
    """One plan with its draft, judged."""
    one, judges = asked(model), len(task.judges)
    useful = model.skill * task.truth.planning
    gate = useful * passing(task, model) + (1 - useful) * passing(task, model, task.truth.misled)
    return _costed(model, one, one.answered ** (1 + judges) * gate, 1 + one.answered * judges)


def retry(task: Sim, model: Simulated, tries: int) -> Expected:
    """The same draw until the gate passes, at most `tries` times."""
    one, judges, gate = asked(model), len(task.judges), passing(task, model)
    whole = one.answered ** (1 + judges)
    again = whole * (1 - gate)
    draws = sum(again**number for number in range(tries))
    return _costed(model, one, whole * gate * draws, draws * (1 + one.answered * judges))


def best_of(task: Sim, model: Simulated, n: int) -> Expected:
    """All of `n` draws, each judged, the best handed over."""
    one, judges, gate = asked(model), len(task.judges), passing(task, model)
    drawn, judged = one.answered**n, one.answered**judges
    success = drawn * judged**n * (1 - (1 - gate) ** n)
    return _costed(model, one, success, n + drawn * judges * sum(judged**number for number in range(n)))


def reflex(task: Sim, model: Simulated, iterations: int = 4) -> Expected:
    """Plan, produce, evaluate, critique, refine: a Markov chain over failed rules and regressions among them.

    For rules that are all alike, measured and blocking, at most five (a critique names no more), and at most four
    iterations (the design's stagnation never ends such a run earlier). Raises ConfigError for others.
    """
    count, odds = _alike(task, iterations)
    one, useful = asked(model), model.skill * task.truth.planning
    drafts = ((useful, 1.0), (1 - useful, task.truth.misled))
    mass: dict[tuple[int, int], float] = {}
    for share, left in drafts:
        for failed in range(count + 1):
            chance = binomial(count, failed, 1 - model.skill * odds.satisfy * left)
            _add(mass, (failed, 0), share * one.answered**2 * chance)
    success, questions, alive = 0.0, 1 + one.answered, sum(mass.values())
    for number in range(1, iterations + 1):
        if number > 1:
            questions += alive
            mass = {place: share * one.answered for place, share in mass.items()}
        success += sum(share for (failed, _), share in mass.items() if not failed)
        mass = {place: share for place, share in mass.items() if place[0]}
        if number < iterations:
            more, mass = _improved(mass, task, model, one)
            questions += more
            alive = sum(mass.values())
    return _costed(model, one, success, questions)


def _alike(task: Sim, iterations: int) -> tuple[int, Odds]:
    rules, odds = task.criteria.rules, list(task.odds.values())
    plain = len({(rule.severity, rule.weight, rule.phase) for rule in rules}) == 1 and rules[0].severity == "fail"
    if not plain or len(set(odds)) > 1 or task.judges or len(rules) > MOST_ISSUES or iterations > 4:
        raise ConfigError(
            f"reflex: a closed form is known for at most {MOST_ISSUES} measured, blocking rules that are all alike and "
            "at most 4 iterations; simulate this one."
        )
    return len(rules), odds[0]


def _improved(
    mass: Mapping[tuple[int, int], float], task: Sim, model: Simulated, one: Asked
) -> tuple[float, dict[tuple[int, int], float]]:
    """Questions of CRITIQUE and REFINE, and where the runs stand that got through."""
    count, questions, after = len(task.odds), 0.0, dict[tuple[int, int], float]()
    for (failed, known), share in mass.items():
        wrong = task.truth.wrong if failed < count else 0.0
        questions += share * (1 + one.answered * wrong)
        share *= one.answered * (1 - wrong) + one.answered**2 * wrong * (1 - wrong)
        questions += share
        for place, chance in _moves(failed, known, task, model):
            _add(after, place, share * one.answered * chance)
    return questions, after


def _moves(failed: int, known: int, task: Sim, model: Simulated) -> Iterator[tuple[tuple[int, int], float]]:
    """Failed rules and regressions among them after a refinement; `known` ones are regressions, which code names."""
    odds = next(iter(task.odds.values()))
    mended, lucky = model.skill * odds.repair, model.skill * odds.unnamed
    met = len(task.odds) - failed
    for named, p_named in _named(failed, known, 1 - model.skill * (1 - task.truth.miss)):
        told, untold = named + known, failed - named - known
        for a, b, c in itertools.product(range(told + 1), range(untold + 1), range(met + 1)):
            chance = binomial(told, a, mended) * binomial(untold, b, lucky) * binomial(met, c, odds.damage)
            yield (failed - a - b + c, c), p_named * chance


def _named(failed: int, known: int, miss: float) -> Iterator[tuple[int, float]]:
    """How many failed rules beside the regressions a critic names; who overlooks all names one at random."""
    others, blind = failed - known, miss**failed
    for named in range(others + 1):
        chance = binomial(others, named, 1 - miss)
        if named == 0:
            chance += blind * known / failed - blind
        elif named == 1:
            chance += blind * others / failed
        yield named, chance


def passing(task: Sim, model: Simulated, left: float = 1.0) -> float:
    """Probability that a draft meets the gate, judges' errors included; `left` of `satisfy` where it was misled."""
    chances = {rule: _seen(task, model, rule, left) for rule in task.odds}
    if len(chances) > MOST_RULES:
        raise ConfigError(f"passing: more than {MOST_RULES} rules; simulate this one.")
    total = 0.0
    for met in itertools.product((True, False), repeat=len(chances)):
        found = dict(zip(chances, met, strict=True))
        if task.criteria.evaluate(found).passed:
            total += math.prod(p if found[rule] else 1 - p for rule, p in chances.items())
    return total


def _seen(task: Sim, model: Simulated, rule: str, left: float) -> float:
    """Probability that a rule of a draft is found to be met."""
    met = model.skill * left * task.odds[rule].satisfy
    if rule not in task.judges:
        return met
    kept, caught = model.skill * (1 - task.truth.false_reject), model.skill * (1 - task.truth.false_accept)
    return met * kept + (1 - met) * (1 - caught)


def hidden(task: Sim, met: float) -> float:
    """Probability that the hidden twin is met of a rule that is met with probability `met`."""
    return task.truth.correlation * met + (1 - task.truth.correlation) * task.truth.hidden


def binomial(n: int, k: int, p: float) -> float:
    """Probability of k of n."""
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def _add(mass: dict[tuple[int, int], float], place: tuple[int, int], share: float) -> None:
    mass[place] = mass.get(place, 0.0) + share


def _costed(model: Simulated, one: Asked, success: float, questions: float) -> Expected:
    """What so many questions cost on average."""
    billed, price = questions * one.billed, model.price
    usd = billed * price.usd(model.tokens_in, model.tokens) if price else 0.0
    return Expected(success, questions * one.calls, billed * (model.tokens_in + model.tokens), usd)
