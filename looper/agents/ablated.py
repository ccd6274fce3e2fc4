"""Ablation in one word: `ablate=ROLE` leaves a role out, `ROLE:shuffled` destroys what it says, `ROLE:oracle` plays it
with the truth. `ROLE.STEP` means one kind of its questions.

What a design can do without, what stands in for a role, and who knows the truth, the design says:

    needed                 why it cannot do without some roles, by role
    spare(task)            the other roles, with the kinds of question that they are asked on this task
    without(step)          what stands in for a role that is left out: costs nothing and carries no information
    oracle(step, task)     the answer of who knows the truth, None where nobody does; never from the holdout
    names(question, answer), redrawn    what an answer is about, and fields that are thrown anew: for the shuffling
"""

import dataclasses
import difflib
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel

from looper.agents.shuffling import shuffled
from looper.agents.simulated import Player, Simulated
from looper.budget import Budget, Price
from looper.errors import ConfigError
from looper.types import Agent, Question, Reply

SETTING = "ablate"
"""The top-level setting, and where it stands among the settings of the role."""
LEFT_OUT, SHUFFLED, ORACLE = "left out", "shuffled", "oracle"
TOLD = {
    LEFT_OUT: "left out: it is not asked", SHUFFLED: "its answers are shuffled",
    ORACLE: "an oracle: played with the truth, a simulation",
}  # fmt: skip
"""For people."""
FORM = re.compile(r"([a-z_]+)(?:\.([a-z_]+))?(?::([a-z_]+))?")
MARKED = ("simulated", "recording")
"""Fillers whose name must stay as it is, because their answers are labelled by it."""


@dataclass(frozen=True)
class Ablation:
    """What is done to which role."""

    role: str
    how: str
    step: str = ""
    """One kind of its questions; empty: all."""

    @classmethod
    def of(cls, text: object) -> "Ablation":
        """From `critic`, `critic:shuffled`, `supervisor.diagnose:oracle`. Raises ConfigError."""
        found = FORM.fullmatch(str(text))
        how = (found[3] if found else None) or LEFT_OUT
        if not found or (found[3] and how not in (SHUFFLED, ORACLE)):
            near = difflib.get_close_matches(how, (SHUFFLED, ORACLE), 1) if found else []
            hint = f"did you mean `{found[1]}:{near[0]}`? " if found and near else ""
            raise ConfigError(
                f"ablate={str(text)[:80]}: {hint}give ROLE (left out), ROLE:shuffled or ROLE:oracle, e.g. "
                "ablate=critic:shuffled."
            )
        return cls(found[1], how, found[2] or "")

    def __str__(self) -> str:
        step, how = (f".{self.step}" if self.step else ""), ("" if self.how == LEFT_OUT else f":{self.how}")
        return f"{self.role}{step}{how}"

    def meets(self, step: str) -> bool:
        """Whether this kind of question is meant."""
        return self.step in ("", step)


def of_role(settings: Mapping[str, Any] | None, step: str = "") -> Ablation | None:
    """The ablation of a role by its settings; with a `step` only if that kind of question is meant."""
    text = (settings or {}).get(SETTING)
    ablation = Ablation.of(text) if text is not None else None
    return ablation if ablation and (not step or ablation.meets(step)) else None


# Before a run


def seated(setting: object, agents: Mapping[str, Any], design: Any, task: Any) -> dict[str, Any]:
    """The settings by role with the ablation among them. Raises ConfigError for one that makes no sense here."""
    given = {role: own[SETTING] for role, own in agents.items() if own and own.get(SETTING) is not None}
    ablation = None if setting is None else checked(Ablation.of(setting), design, task)
    if given and given != ({ablation.role: str(ablation)} if ablation else {}):
        raise ConfigError(f"agents.{next(iter(given))}.ablate: give ablate=ROLE in its place; one role per run.")
    if ablation is None:
        return dict(agents)
    return {**agents, ablation.role: {**(agents.get(ablation.role) or {}), SETTING: str(ablation)}}


def checked(ablation: Ablation, design: Any, task: Any) -> Ablation:
    """Raises ConfigError unless the design has this role and can do without it on this task."""
    known: Mapping[str, Sequence[str]] = design.spare(task) if hasattr(design, "spare") else {}
    where = f"ablate={ablation}"
    if not known:
        why = "none of its roles can be ablated on this task; reflex and workflow have some where a role writes"
        raise ConfigError(f"{where}: {design.name}: {why}.")
    if ablation.role not in known:
        why = _why_not(ablation.role, design, task, known)
        raise ConfigError(f"{where}: {why} What can be ablated: {_listed(known)}.")
    if ablation.step and ablation.step not in known[ablation.role]:
        asked = ", ".join(known[ablation.role])
        raise ConfigError(f"{where}: {ablation.role} is never asked `{ablation.step}`; it is asked: {asked}.")
    if ablation.how == ORACLE:
        blind = [step for step in known[ablation.role] if ablation.meets(step) and not design.oracle(step, task)]
        if blind:
            raise ConfigError(
                f"{where}: nobody knows the truth that {ablation.role} could play `{blind[0]}` with here."
            )
    return ablation


def _why_not(role: str, design: Any, task: Any, known: Mapping[str, Any]) -> str:
    if why := design.needed.get(role):
        return f"{design.name} cannot do without {role}: {why}."
    if role in getattr(task, "roles", {}):
        return f"{role} belongs to the task and has a part in its gate: without it runs are measured otherwise."
    if role in design.roles:
        return f"{design.name} cannot do without {role}."
    near = difflib.get_close_matches(role, list(known), 1)
    return f"{design.name} has no such role{f'; did you mean `{near[0]}`?' if near else '.'}"


def _listed(known: Mapping[str, Sequence[str]]) -> str:
    told = [f"{role} ({', '.join(f'{role}.{step}' for step in steps)})" if len(steps) > 1 else role
            for role, steps in known.items()]  # fmt: skip
    return ", ".join(told)


def unpaid(budget: Budget, setting: object, design: Any, task: Any) -> Budget:
    """The budget in which what a left out role would have been asked has no price."""
    ablation = None if setting is None else Ablation.of(setting)
    if ablation is None or ablation.how != LEFT_OUT:
        return budget
    free = {step: Price() for step in design.spare(task)[ablation.role] if ablation.meets(step)}
    return dataclasses.replace(budget, prices={**budget.prices, **free})


# In a run


def stand_in(
    ablation: Ablation, step: str, task: Any, design: Any, asked: Callable[[], Agent], how: Callable[[], Simulated]
) -> Agent:
    """Whoever answers in place of the role; `asked` is who fills it, `how` what a simulation of it costs."""
    if ablation.how == LEFT_OUT:
        return LeftOut(design.without(step))
    if ablation.how == SHUFFLED:
        return Shuffled(asked(), design)
    return Oracle(how(), Truth(design.oracle(step, task)))


class LeftOut:
    """Nobody: an answer without information, which costs nothing."""

    kind: ClassVar[str] = LEFT_OUT
    ablated: ClassVar[str] = LEFT_OUT
    metered: ClassVar[bool] = False

    def __init__(self, neutral: Callable[[Question], BaseModel]):
        self._neutral = neutral

    def answer(self, question: Question) -> Reply:
        return Reply(value=self._neutral(question), by=LEFT_OUT)


class Shuffled:
    """Somebody who is asked and paid as always, and whose words arrive shuffled; in everything else it is that agent.

    The dice are seeded by the question's key, so that a resume and a replay throw alike. What was said stays on record.
    """

    ablated: ClassVar[str] = SHUFFLED

    def __init__(self, agent: Agent, design: Any):
        self._agent, self._design = agent, design
        self.behind = str(getattr(agent, "kind", "model"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def answer(self, question: Question) -> Reply:
        reply = self._agent.answer(question)
        dice = random.Random(f"{question.seed}/{question.key}/{SHUFFLED}")
        names = self._design.names(question, reply.value)
        value = shuffled(reply.value, dice, names, self._design.redrawn, texts=question.step != "prepare_checks")
        by = reply.by if reply.by in MARKED else f"{reply.by or self.behind} ({SHUFFLED})"
        return reply.model_copy(update={"value": value, "said": reply.said or reply.value.model_dump_json(), "by": by})


@dataclass
class Oracle(Player):
    """A role that knows the truth, at the price of a model in units. A simulation, and labelled so."""

    ablated: ClassVar[str] = ORACLE


@dataclass(frozen=True)
class Truth:
    """A design whose answers are the truth, whatever the skill."""

    tell: Callable[[Question, random.Random], BaseModel]

    def simulate(self, question: Question, _skill: float, dice: random.Random) -> BaseModel:
        return self.tell(question, dice)
