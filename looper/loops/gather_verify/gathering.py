"""GATHER: domain, current state, Johari window, questions and their answers (SPEC 5.2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from looper.episodes import Recalled
from looper.errors import ConfigError, PhaseError
from looper.loops.gather_verify.answers import Analysis, Answered, Asked, Classified, CurrentState
from looper.loops.gather_verify.domain import SURE, classified
from looper.loops.gather_verify.questions import from_file, number_to_choice, ranked
from looper.loops.gather_verify.rules import rows
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.gather_verify import GatherVerify

By = Literal["file", "user", "default"]
"""Who gave an answer."""
LONGEST = 2_000
"""Characters of one part of the material; the task's own prompts show it whole."""


class Told(BaseModel):
    """An answer to a question, and who gave it."""

    id: str
    priority: str
    question: str
    answer: str
    by: By


class Gathered(BaseModel):
    """What is known when GATHER is over."""

    domain: str
    confidence: float
    """Of the words alone, 0 to 1."""
    current: CurrentState
    window: Analysis
    answers: list[Told]
    episodes: list[Recalled]


def gather(design: "GatherVerify", task: Any, run: Run) -> Gathered:
    """All of GATHER, as steps of this part of the run."""
    about = subject(task, run)
    guess = classified(f"{about['goal']} {about['material'].get('prompt', '')}")
    domain = guess.domain
    if guess.confidence < SURE:
        domain = run.ask("researcher", Classified, step="classify", **about, guess=guess.model_dump()).domain
    episodes = recalled(design, run, f"{name_of(task)} {domain} {about['goal']}")
    known = {**about, "domain": domain, "episodes": episodes}
    current = run.ask("researcher", CurrentState, step="research", **known)
    window = run.ask("analyst", Analysis, step="analyse", **known, research=current)
    answers = answered(design, run, ranked(window.questions), known)
    return Gathered(
        domain=domain, confidence=guess.confidence, current=current, window=window, answers=answers, episodes=episodes
    )


def name_of(task: Any) -> str:
    """The task's name, as lists and episodes have it."""
    return str(getattr(task, "alias", None) or type(getattr(task, "given", task)).__name__.lower())


def subject(task: Any, run: Run) -> dict[str, Any]:
    """The task as the roles of the outer loop see it: its goal, its material in short, its rules. Never its holdout."""
    material = {name: _short(value) for name, value in run.brief.items() if name not in ("goal", "rules", "outer")}
    return {"goal": task.goal, "material": material, "rules": rows(task.criteria.rules)}


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _short(part) for name, part in value.items()}
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} [... {len(text) - LONGEST} characters left out]"


def recalled(design: "GatherVerify", run: Run, text: str) -> list[Recalled]:
    """The most similar earlier episodes, as they were when this run first looked.

    None for a recording: its answers are those to what was shown when it was made.
    """
    store = run.stage.episodes
    if store is None or not design.recall:
        return []
    if run.note("recalls", recording=played(run, "researcher", "research"))["recording"]:
        return []

    def similar(words: str, most: int) -> list[Recalled]:
        return store.similar(words, most, but=run.stage.journal.run_id)

    return run.do("recall", similar, text, design.recall)


def answered(design: "GatherVerify", run: Run, questions: Sequence[Asked], known: Mapping[str, Any]) -> list[Told]:
    """An answer to each: from the file, from the user, or the stated default (SPEC 5.2)."""
    if not questions:
        return []
    given: dict[str, str] = run.do("answers", from_file, design.answers) if design.answers else {}
    ids, recording = [one.id for one in questions], played(run, "analyst", "analyse")
    put = run.note("questions_put", questions=ids, person=present(run), recording=recording)
    there = put["person"]
    more = there and not put["recording"]  # what a recording says next follows from the defaults
    ways: dict[str, By] = {one.id: _way(one, given, more) for one in questions}
    asked = [one for one in questions if ways[one.id] == "user"]
    said = side_by_side(run, asked, known, in_turn=there)
    texts = {**{one.id: one.default for one in questions}, **chosen(questions, given), **said}
    return [
        Told(id=one.id, priority=one.priority, question=one.question, answer=texts[one.id], by=ways[one.id])
        for one in questions
    ]


def unused(path: str, asked: Sequence[str]) -> list[str]:
    """Ids in the answers file that no question had: a slip of the pen there must not go unseen."""
    return sorted(set(from_file(path)) - set(asked))


def chosen(questions: Sequence[Asked], given: Mapping[str, str]) -> dict[str, str]:
    """The file's answers, with the choice in place of its number. Raises PhaseError for a number that is none."""
    found = dict[str, str]()
    for one in (each for each in questions if each.id in given):
        try:
            found[one.id] = number_to_choice(given[one.id], one.choices)
        except ValueError as error:
            raise PhaseError(f"outer.answers: `{one.id}`: {error} Mend the file and start a new run.") from error
    return found


def _way(one: Asked, given: Mapping[str, str], there: bool) -> By:
    """P0 is always asked, P1 where somebody is there, P2 gets its default."""
    if one.id in given:
        return "file"
    return "user" if one.priority == "P0" or (one.priority == "P1" and there) else "default"


def present(run: Run) -> bool:
    """Whether somebody would answer at once. A recording answers what was asked when it was made: P0 alone."""
    agent = run.stage.cast.agent("user", "answer", run.task)
    return bool(getattr(agent, "present", getattr(agent, "kind", "model") != "recording"))


def played(run: Run, role: str, step: str) -> bool:
    """Whether a recording answers for this role."""
    return getattr(run.stage.cast.agent(role, step, run.task), "kind", "") == "recording"


def side_by_side(run: Run, asked: Sequence[Asked], known: Mapping[str, Any], *, in_turn: bool) -> dict[str, str]:
    """The user's words; on a terminal one question after the other, else all that wait are shown together."""
    by_id = {one.id: one for one in asked}

    def put(turn: Run, name: str) -> str:
        return choice(turn, by_id[name], known)

    if in_turn:
        return {name: put(run.scope(name), name) for name in by_id}
    return run.each(by_id, put)


def choice(run: Run, one: Asked, known: Mapping[str, Any]) -> str:
    """The answer to one question; a number that is none of the choices is asked about again."""
    refused = ""
    while True:
        word = run.ask(
            "user", Answered, step="answer", goal=known["goal"], question=one.model_dump(), refused=refused
        ).text
        try:
            return number_to_choice(word, one.choices)
        except ValueError as error:
            refused = str(error)


def checked_file(path: str | None) -> Callable[[], None]:
    """A look at the answers file before anything is spent. Raises ConfigError."""

    def look() -> None:
        if path is not None and not from_file(path):
            raise ConfigError(f"outer.answers={path}: there is no answer in it; give a mapping of question id to text.")

    return look
