"""The relevance exercise: labels of single hits move the weights, and only what is left unlabelled is scored."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from looper.agents.human import Human
from looper.agents.policy import Policy
from looper.agents.recording import Recording
from looper.agents.simulated import Simulated
from looper.budget import Budget, Ledger, Price
from looper.execution import execute
from looper.journal import Journal
from looper.loops.adaptive import Adaptive, StrategySelector
from looper.run import Run
from looper.stage import Stage
from looper.tasks.environment import FailureType
from looper.tasks.search import learn
from looper.tasks.search.index import Embedded
from looper.tasks.search.needs import Need, shipped
from looper.tasks.search.relevance import Relevance
from looper.tasks.search.residual import average_precision
from looper.tasks.search.reweigh import Begun, policies, weights_key
from looper.tasks.search.states import Answer, Ranking, Result, Reweight, Words
from looper.testing import check_task
from looper.types import Agent, Outcome

NEED = "halt a listener cleanly"
PRICES = {
    **{name: Price(outer=2.0) for name in ("plan", "replan", "evaluate")},
    "label": Price(inner=0.05), "decide": Price(inner=0.1), "apply": Price(inner=0.005),
}  # fmt: skip
BUDGET = Budget(prices=PRICES)
GOOD = {
    **{f"halt.{n}": f"halt the listener; shutdown of its serve loop, step {n}" for n in range(4)},
    **{f"shutdown.{n}": f"shutdown of the serve loop in worker {n}" for n in range(6)},
}
OTHERS = {
    **{f"clock.{n}": f"halt a clock cleanly at tick {n}" for n in range(5)},
    **{f"port.{n}": f"address and port {n} where a listener is bound" for n in range(5)},
    **{f"mail.{n}": f"the mail in box {n} is fetched, letter by letter" for n in range(12)},
    **{f"zip.{n}": f"an archive is packed and unpacked, file {n}" for n in range(12)},
}


class Cast:
    """Policies in all roles but those that are given."""

    def __init__(self, agents: Mapping[str, Any]):
        self.agents = agents

    def agent(self, role: str, step: str, task: Any) -> Agent:
        return self.agents.get(role, Policy())


def play(task: Relevance, journal: Journal | None = None, seed: int = 0, **agents: Any) -> tuple[Outcome, Journal]:
    journal = journal or Journal()
    run = Run(Stage(task, Cast(agents), journal, Ledger(BUDGET), seed=seed, events=Adaptive.events))
    return execute(Adaptive(), run), journal


def ended(task: Relevance, outcome: Outcome) -> Ranking:
    assert outcome.artifact is not None
    return task.parse(outcome.artifact)


def steps(journal: Journal, name: str) -> list[Any]:
    return [journal.payload(event) for event in journal.events if event.step == name and event.key]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    folder = tmp_path_factory.mktemp("small")
    rows = [{"id": name, "name": name.split(".")[0], "text": text} for name, text in (GOOD | OTHERS).items()]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Embedded(source=str(folder / "own.jsonl"), cache=str(folder / "cache"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return Embedded(cache=str(tmp_path_factory.mktemp("library")))


def exercise(collection: Embedded, relevant: Sequence[str] = tuple(GOOD), **settings: Any) -> Relevance:
    """A need with known answers in a collection that is not the shipped one."""
    task = Relevance(collection=collection, need=NEED, **settings)
    vars(task)["known"] = Need(id="halting", need=NEED, relevant=frozenset(relevant))
    return task


@pytest.fixture
def task(small: Embedded) -> Relevance:
    return exercise(small)


def labelled(task: Relevance, good: Sequence[str], bad: Sequence[str]) -> Ranking:
    """A state after one round of labels."""
    start = task.observe(Words(words=task.content))
    labels = dict.fromkeys(good, True) | dict.fromkeys(bad, False)
    return task.ranked(start.weights, labels, [list(labels)], "")


def chosen(task: Relevance, state: Ranking, level: float = 0.0) -> Any:
    return StrategySelector(policies(task)).candidates(task.classify(state, []), level)[0]


def decided(task: Relevance, state: Ranking, level: float = 0.0, keys: Sequence[str] = ()) -> Reweight:
    start = task.observe(Words(words=task.content)).weights
    action = chosen(task, state, level).decide(state, [], Begun(keys=list(keys), start=start), level)
    assert action is not None
    return action


def resemblance(collection: Embedded, weights: Mapping[str, float], names: Sequence[str]) -> float:
    """Cosine of weights and the mean of some documents."""
    vector = np.zeros(len(collection.vocabulary))
    for term, number in collection.numbers(weights).items():
        vector[number] = weights[term]
    return float(learn.unit(vector) @ learn.unit(learn.mean(collection.matrix, [collection.number(n) for n in names])))


# Which policy, and what it does


@pytest.mark.parametrize(
    ("good", "bad", "name"),
    [
        ([], ["clock.0"], "rephrase"),
        ([], [f"mail.{n}" for n in range(10)], "diversify"),
        (["halt.0"], [f"clock.{n}" for n in range(4)], "rocchio"),
        (["halt.0", "halt.1"], ["clock.0", "clock.1"], "separate"),
    ],
)
def test_labels_choose_the_policy(task: Relevance, good: list[str], bad: list[str], name: str) -> None:
    assert chosen(task, labelled(task, good, bad)).name == name


def test_every_failure_of_the_exercise_has_a_policy_at_every_level(task: Relevance) -> None:
    told = {FailureType.NO_DATA, FailureType.TOO_NARROW, FailureType.TOO_BROAD, FailureType.UNKNOWN}
    for level in (0.0, 1.5, 3.0):
        assert all(StrategySelector(policies(task)).candidates(failure, level) for failure in told)


@pytest.mark.parametrize(("good", "bad"), [(1, 4), (3, 2)], ids=["rocchio", "separate"])
def test_weights_move_towards_the_relevant_and_away_from_the_others(task: Relevance, good: int, bad: int) -> None:
    state = labelled(task, [f"halt.{n}" for n in range(good)], [f"clock.{n}" for n in range(bad)])
    action = decided(task, state)
    after = task.apply(state, action)
    assert action.weights["shutdown"] > state.weights.get("shutdown", 0.0)
    assert action.weights["cleanli"] < state.weights["cleanli"], "only others hold it"
    assert set(after.ranking[: 4 - good]) == {f"halt.{n}" for n in range(good, 4)}
    assert after.ranking.index("shutdown.0") < after.ranking.index("clock.4")


def test_an_action_says_in_words_what_it_does(task: Relevance) -> None:
    state = labelled(task, ["shutdown.0"], ["clock.0", "clock.1", "clock.2"])
    why = decided(task, state).why
    assert why.startswith("towards 1 relevant, away from 3 others: + ")
    assert "+ shutdown" in why
    assert "- cleanly" in why, "a stem is told as the word that people know"


def test_a_higher_ladder_brings_more_words(library: Embedded) -> None:
    task = Relevance(collection=library, need="which_machine")
    good = ["platform.platform", "platform.uname", "argparse"]
    for bad in (["cmd", "pdb"], ["cmd", "pdb", "bdb", "code", "sched"]):
        counts = [len(decided(task, labelled(task, good, bad), level).weights) for level in (0.0, 1.0, 3.0)]
        assert counts == sorted(set(counts))
    counts = [len(decided(task, labelled(task, [], ["cmd"]), level).weights) for level in (0.0, 1.0, 3.0)]
    assert counts == sorted(set(counts))


def test_without_a_relevant_label_other_words_of_the_collection_are_tried(library: Embedded) -> None:
    task = Relevance(collection=library, need="stop_server")
    state = labelled(task, [], ["http.server.test"])
    action = decided(task, state)
    near = {term for word in task.content for term in library.terms(" ".join(library.related(word, [], 8)))}
    gained = {term for term, weight in action.weights.items() if weight > state.weights.get(term, 0.0)}
    assert gained
    assert gained <= near
    assert action.why.startswith("nothing relevant yet, so other words for the same: + ")


def test_after_two_vain_rounds_the_search_leaves_what_it_found(library: Embedded) -> None:
    task = Relevance(collection=library, need="stop_server")
    bad = [hit.id for hit in task.observe(None).hits[:10]]
    state = labelled(task, [], bad)
    action = decided(task, state)
    assert action.why.startswith("nothing relevant among 10, so away from what they are like")
    wide = decided(task, labelled(task, [], bad[:1])).weights
    assert resemblance(library, action.weights, bad) < resemblance(library, wide, bad) - 0.05
    assert all(name not in bad for name in task.apply(state, action).ranking)


def test_weights_that_were_visited_are_not_proposed_again(task: Relevance) -> None:
    for state in (
        labelled(task, [], ["clock.0"]),
        labelled(task, ["halt.0"], [f"clock.{n}" for n in range(4)]),
        labelled(task, ["halt.0", "halt.1"], ["clock.0", "clock.1"]),
    ):
        keys: list[str] = []
        start = task.observe(Words(words=task.content)).weights
        while action := chosen(task, state).decide(state, [], Begun(keys=keys, start=start), 0.0):
            assert weights_key(action.weights) not in keys
            keys.append(weights_key(action.weights))
            assert len(keys) < 20, "a policy comes to an end"
        assert keys


def test_no_policy_goes_on_when_the_labels_are_used_up(small: Embedded) -> None:
    task = exercise(small, most=2)
    state = labelled(task, ["halt.0"], ["clock.0"])
    assert all(policy.decide(state, [], policy.initialize(state), 0.0) is None for policy in policies(task))


def test_the_words_of_a_plan_are_kept(task: Relevance) -> None:
    start = task.observe(Words(words=["archive"]))
    assert max(start.weights, key=lambda term: start.weights[term]) == "archiv"
    [policy] = [policy for policy in policies(task) if policy.name == "rocchio"]
    memory = policy.initialize(start)
    state = task.ranked(start.weights, {"mail.0": True, "zip.0": False}, [["mail.0", "zip.0"]], "")
    action = policy.decide(state, [], memory, 0.0)
    assert action is not None
    assert action.weights["archiv"] > 0
    assert not {"halt", "cleanli"} & action.weights.keys(), "the need's words are not in the plan"


def test_words_that_no_document_has_lead_back_to_the_need(task: Relevance) -> None:
    assert task.observe(Words(words=["zzzz"])).weights == task.observe(None).weights == dict.fromkeys(
        ["halt", "listen", "cleanli"], 1.0
    )  # fmt: skip


def test_at_the_start_words_weigh_more_than_those_near_them(library: Embedded) -> None:
    task = Relevance(collection=library, need="stop_server")
    weights = task.observe(Words(words=task.content)).weights
    said = task.weights(task.content)
    assert len(weights) > len(said) == len(said.keys() & weights.keys())
    assert np.mean([weights[term] for term in said]) > 2 * np.mean([weights[t] for t in weights if t not in said])


# What is learnt


def test_the_classifier_stands_where_its_loss_has_no_slope() -> None:
    dice = np.random.default_rng(0)
    table = np.hstack([dice.normal(size=(12, 5)), np.ones((12, 1))])
    signs, costs = np.where(dice.random(12) < 0.5, 1.0, -1.0), dice.random(12)
    weights = learn.regression(table, signs, costs)
    wrong = 1 / (1 + np.exp(signs * (table @ weights)))
    assert np.allclose(table.T @ (costs * wrong * signs), learn.RIDGE * weights)
    assert np.abs(weights).max() > 0.1


def test_the_mean_of_documents_is_taken_of_unit_vectors(small: Embedded) -> None:
    numbers = [small.number("halt.0"), small.number("mail.0")]
    single = [learn.mean(small.matrix, [number]) for number in numbers]
    assert [float(np.linalg.norm(vector)) for vector in single] == pytest.approx([1.0, 1.0])
    assert np.allclose(learn.mean(small.matrix, numbers), (single[0] + single[1]) / 2)
    assert np.count_nonzero(learn.largest(single[0], 3)) == 3


# The score


@pytest.mark.parametrize(
    ("ranking", "relevant", "score"),
    [
        (["a", "x", "b"], {"a", "b"}, (1 + 2 / 3) / 2),
        (["x", "a"], {"a"}, 1 / 2),
        (["x", "a", "y", "b"], {"a", "b", "c"}, (1 / 2 + 2 / 4) / 3),
        (["a", "a", "b"], {"a", "b"}, 1.0),
        (["x"], {"a"}, 0.0),
        ([], {"a"}, 0.0),
    ],
)
def test_average_precision_by_hand(ranking: list[str], relevant: set[str], score: float) -> None:
    assert average_precision(ranking, relevant) == pytest.approx(score)


def test_without_anything_relevant_there_is_no_score(small: Embedded) -> None:
    with pytest.raises(ValueError, match="not defined"):
        average_precision(["a"], [])
    task = exercise(small, ["halt.0", "halt.1"])
    assert task.holdout(task.render(labelled(task, ["halt.0", "halt.1"], []))) is None


def test_what_is_labelled_counts_nowhere(small: Embedded) -> None:
    task = exercise(small, ["halt.0", "shutdown.0", "mail.3"])
    state = labelled(task, ["halt.0"], ["clock.0"])
    state = state.model_copy(update={"ranking": ["clock.1", "shutdown.0", "mail.3"]})
    verdict = task.holdout(task.render(state))
    assert verdict is not None
    assert verdict.score == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert not {"halt.0", "clock.0"} & set(labelled(task, ["halt.0"], ["clock.0"]).ranking)


@pytest.mark.parametrize(
    "answers", [{}, {"halt.0": "made up"}], ids=["no answer", "an answer that names labelled ones"]
)
def test_labels_alone_earn_nothing(small: Embedded, answers: dict[str, str]) -> None:
    """As long as the weights stay, the score is that of the need's words on the same residual."""
    task = exercise(small, [*GOOD, "port.0", "port.3", "clock.4"], labels=3)
    state, label = task.observe(None), task.policy("label")
    assert task.known is not None
    assert label is not None
    for _ in range(2):
        asked = [(probe, probe.question(state)) for probe in task.probes()]
        signals = [probe.reading(state, label(**question)) for probe, question in asked if question]
        state = task.absorb(state, signals)
        settled = task.conclude(state, Answer(results=[Result(id=i, reason=why) for i, why in answers.items()]))
        left = task.known.relevant - state.labels.keys()
        words = [hit.id for hit in task.collection.rank(task.weights([NEED]), state.labels, task.depth)]
        verdict = task.holdout(task.render(settled))
        assert verdict is not None
        assert verdict.score == pytest.approx(average_precision(words, left))
        assert verdict.score > 0
    assert "halt.0" in state.relevant


def test_the_gate_counts_what_is_confirmed_and_how_good_the_latest_labels_are(small: Embedded) -> None:
    task = exercise(small, confirmed=2, precision=0.5)
    assert task.evaluate(task.observe(None)).score == 0.0
    half = labelled(task, ["halt.0"], ["clock.0"])
    verdict = task.evaluate(half)
    assert verdict.failed == ["a.completeness.confirmed-2"]
    assert not verdict.passed
    for labels, passed in (({"halt.1": True, "clock.1": False}, True), ({"clock.1": False, "clock.2": False}, False)):
        after = half.model_copy(
            update={"labels": {**half.labels, "halt.2": True, **labels}, "rounds": [*half.rounds, list(labels)]}
        )
        assert task.evaluate(after).passed is passed
        assert all(policy.is_stable(after, []) is passed for policy in policies(task))


# Whole runs


def test_a_run_beats_the_words_of_the_need_on_what_is_left(small: Embedded) -> None:
    task = exercise(small, confirmed=3, labels=3)
    outcome, journal = play(task)
    state = ended(task, outcome)
    assert outcome.status == "completed"
    assert task.known is not None
    left = task.known.relevant - state.labels.keys()
    words = [hit.id for hit in small.rank(task.weights([NEED]), state.labels, task.depth)]
    assert outcome.facts["holdout"]["score"] > average_precision(words, left) + 0.3
    assert len(steps(journal, "label")) == len(state.labels)


def test_what_was_not_labelled_decides_nothing(small: Embedded) -> None:
    """The known answers reach a run by its labels only: others of them can be anything, and no step changes."""
    tasks = [exercise(small, labels=3)]
    outcome, journal = play(tasks[0])
    seen = {name for state in steps(journal, "apply") for name in state["labels"]} | {*ended(tasks[0], outcome).labels}
    tasks += [
        exercise(small, [*seen & GOOD.keys()], labels=3),
        exercise(small, [*GOOD, *OTHERS.keys() - seen], labels=3),
    ]
    walks = [play(task)[1] for task in tasks]
    told = [[(e.key, e.inputs, e.payload) for e in walk.events if e.key and e.step != "holdout"] for walk in walks]
    assert told[0] == told[1] == told[2]
    assert seen & GOOD.keys() < GOOD.keys(), "something relevant was left"


def test_a_wrong_label_is_taken_as_it_is(task: Relevance) -> None:
    state = ended(task, play(task, labeller=Simulated(skill=0.0))[0])
    assert len(state.labels) >= 5
    assert all(label is (name not in GOOD) for name, label in state.labels.items())


def test_people_and_recordings_can_label(small: Embedded, tmp_path: Path) -> None:
    task = exercise(small, confirmed=3, labels=3)
    outcome, journal = play(task, Journal(tmp_path / "history.jsonl", sync=False))
    answers = {e.key: json.dumps(journal.payload(e)) for e in journal.events if e.step == "label" and e.key}
    assert play(task, labeller=Human(answers=answers))[0] == outcome
    assert play(task, labeller=Recording(path=str(tmp_path)))[0] == outcome


def test_a_run_waits_for_a_person_who_has_not_answered(task: Relevance) -> None:
    outcome, _ = play(task, labeller=Human())
    assert (outcome.status, outcome.reason) == ("paused", "questions")


def test_a_need_of_ones_own_has_no_score(small: Embedded) -> None:
    task = Relevance(collection=small, need=NEED, confirmed=1, labels=3)
    journal = play(exercise(small, confirmed=1, labels=3))[1]
    answers = {e.key: json.dumps(journal.payload(e)) for e in journal.events if e.step == "label" and e.key}
    outcome, _ = play(task, labeller=Human(answers=answers))
    assert outcome.status == "completed"
    assert "holdout" not in outcome.facts


@pytest.mark.parametrize("need", sorted(need.id for need in shipped().values() if need.half == "building"))
def test_a_run_visits_no_weights_twice_and_ends_by_name(library: Embedded, need: str) -> None:
    task = Relevance(collection=library, need=need)
    outcome, journal = play(task)
    states = [Ranking.model_validate(state) for name in ("observe", "apply") for state in steps(journal, name)]
    keys = [task.key(state) for state in states]
    assert len(keys) == len(set(keys))
    assert outcome.status in ("completed", "stopped")
    assert not [event for event in journal.events if event.event == "action_refused"]
    actions = [Reweight.model_validate(answer["action"]) for answer in steps(journal, "decide") if answer["action"]]
    assert all(": + " in action.why or ": - " in action.why for action in actions)
    labels = steps(journal, "label")
    assert len(labels) <= task.most
    assert len(labels) == task.most or outcome.status == "completed", "it goes on as long as it may"


def test_a_killed_run_is_resumed_to_the_same_end(small: Embedded, tmp_path: Path) -> None:
    task = exercise(small, confirmed=3, labels=3)
    outcome, journal = play(task, Journal(tmp_path / "whole.jsonl", sync=False))
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) > 15
    for at in range(0, len(lines), 3):
        (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:at]))
        again, resumed = play(task, Journal(tmp_path / "cut.jsonl", sync=False))
        assert again == outcome
        told = [sorted((event.key, event.inputs) for event in walk.events) for walk in (journal, resumed)]
        assert told[0] == told[1]


def test_the_exercise_conforms(small: Embedded) -> None:
    check_task(exercise(small))
