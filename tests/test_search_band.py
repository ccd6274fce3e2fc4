"""search/band as a task: range and gate, planner, what comes from outside, needs, the artifact (SPEC 7.1)."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from search_runs import (
    COUNTS,
    WORDS,
    Saying,
    band,
    budget,
    collection,
    ladder,
    planned,
    play,
    refusal,
)

from looper.loops.adaptive import Adaptive
from looper.tasks.environment import FailureType
from looper.tasks.search.index import Embedded
from looper.tasks.search.needs import shipped
from looper.tasks.search.query import LONGEST_EXCERPT, Hit, Query
from looper.tasks.search.states import Answer, Change, Decision, Plan, Result, Results, Trail
from looper.types import Question


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return ladder(tmp_path_factory.mktemp("ladder"))


# Range and gate


@pytest.mark.parametrize(
    ("total", "failure", "score"),
    [
        (0, FailureType.NO_DATA, 0.0), (1, FailureType.TOO_NARROW, 0.0), (2, FailureType.TOO_NARROW, 0.25),
        (7, FailureType.TOO_NARROW, 0.5), (19, FailureType.TOO_NARROW, 0.5), (20, FailureType.UNKNOWN, 1.0),
        (30, FailureType.UNKNOWN, 1.0), (31, FailureType.TOO_BROAD, 0.5), (90, FailureType.TOO_BROAD, 0.5),
        (91, FailureType.TOO_BROAD, 0.25), (300, FailureType.TOO_BROAD, 0.25), (301, FailureType.TOO_BROAD, 0.0),
    ],
)  # fmt: skip
def test_failure_and_gate_at_the_edges_of_the_range(
    own: Embedded, total: int, failure: FailureType, score: float
) -> None:
    task, state = band(own), Results(query=Query(), total=total)
    assert task.classify(state, []) == failure
    verdict = task.evaluate(state)
    assert verdict.score == pytest.approx(score)
    assert verdict.passed == (score == 1.0)


@pytest.mark.parametrize(("low", "high", "word"), [(24, 24, "elder"), (20, 24, "elder"), (24, 30, "elder")])
def test_a_range_is_reached_at_its_very_edges(own: Embedded, low: int, high: int, word: str) -> None:
    run = play(band(own, low=low, high=high), Adaptive(), planned(word))
    assert (run.outcome.status, run.totals()) == ("completed", [COUNTS[word]])


def test_a_range_upside_down_is_refused(own: Embedded) -> None:
    assert "task.low=30" in refusal(band(own, low=30, high=20).prepare)


def test_feedback_is_symmetrical_and_full_at_arrival(own: Embedded) -> None:
    task = band(own)
    states = {total: Results(query=Query(), total=total) for total in (0, 5, 20, 25, 30, 31, 100, 10_000)}
    for before in states.values():
        for after in states.values():
            assert task.feedback(before, after) == -task.feedback(after, before)
    assert task.feedback(states[0], states[20]) == task.feedback(states[10_000], states[30]) == 1.0
    assert task.feedback(states[25], states[0]) == -1.0
    assert task.feedback(states[20], states[30]) == 0.0


def test_the_best_state_of_a_run_that_misses_is_the_nearest(own: Embedded) -> None:
    """SPEC 0.3: nearest by the factors of NEAR; of 30 to 35 wanted, 24 is within 3 times, 6 and 192 within 10."""
    words = ["holly", "grove", "elder", "amber", "birch"]
    moves = [{"action": {"kind": "broaden", "query": {"keywords": [word]}}} for word in words[1:]]
    seats = {**planned("holly"), "policy": Saying({"decide": [*moves, {"action": None}]})}
    run = play(band(own, low=30, high=35), Adaptive(), seats, budget=budget(outer=4.0))
    assert run.totals() == [3, 6, 24, 384, 192]
    assert (run.outcome.status, run.outcome.passed) == ("stopped", False)
    assert run.task.parse(run.outcome.artifact).total == 24  # pyright: ignore[reportArgumentType]
    assert run.outcome.score == run.task.evaluate(Results(query=Query(), total=24)).score


# Planner


def test_beginning_anew_takes_the_commonest_word_that_was_not_asked_alone(own: Embedded) -> None:
    task, history = band(own), list[dict[str, Any]]()
    replan = task.policy("replan")
    assert replan is not None
    for word in WORDS:
        plan = replan(state=task.observe(Plan(keywords=["moss"])), why="exhausted", best=None, history=history).plan
        assert plan.keywords == [word]
        history.append({"state": task.observe(plan).last})
    assert replan(state=task.observe(Plan(keywords=["moss"])), why="exhausted", history=history).plan is None


def test_no_new_plan_ends_the_run_by_name_with_the_best_state(own: Embedded) -> None:
    """SPEC 1.6."""
    planner = Saying({"plan": [{"keywords": ["fern"]}], "replan": [{"plan": None}]})
    seats = {"planner": planner, "policy": Saying({"decide": [{"action": None}]})}
    run = play(band(own), Adaptive(), seats)
    assert (run.outcome.status, run.outcome.reason) == ("stopped", "no_new_plan")
    assert run.task.parse(run.outcome.artifact).total == 12  # pyright: ignore[reportArgumentType]
    assert [question.step for question in planner.asked] == ["plan", "replan", "evaluate"]


def test_a_new_plan_leads_on(own: Embedded) -> None:
    planner = Saying({"plan": [{"keywords": ["moss"]}], "replan": [{"plan": {"keywords": ["elder"]}}]})
    run = play(band(own), Adaptive(), {"planner": planner, "policy": Saying({"decide": [{"action": None}]})})
    assert (run.outcome.status, run.totals(), run.outcome.facts["planner_calls"]) == ("completed", [16, 24], 3)


# What comes from outside


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"keywords": ["elder"], "filters": {"colour": "red"}}, "left out filters that are not known: colour"),
    ({"keywords": ["elder"], "filters": {"kind": "verb"}}, "left out the filters: filter kind='verb'"),
    ({"keywords": ["elder"], "filters": {"shortest": "ten"}}, "left out the filters: filter shortest='ten'"),
    ({"keywords": [f"w{n}" for n in range(300)]}, "left out words: w100, w101, w102, w103, w104 and 231 more"),
    ({"keywords": [], "exclusions": [f"w{n}" for n in range(300)]}, "left out words"),
    ({"keywords": ["elder"], "alternatives": {"elder": [f"w{n}" for n in range(300)]}}, "left out words"),
    ({"keywords": ["elder"], "alternatives": {"fern": ["birch"]}}, "left out words: birch"),
    ({"keywords": ["", " ", "elder", "elder", " elder "], "exclusions": ["", "elder"]}, "elder: 24 hits"),
    ({"keywords": ["x" * 10_000, "elder"]}, f"left out words: {'x' * 40}"),
    ({"keywords": ["AND", "OR", "NOT", '"', "elder*"]}, "0 hits"),
    ({"keywords": []}, "(empty): 0 hits"),
    ({"keywords": ["a\nb\x1b[2J"]}, "a b\x1b[2J: 0 hits"),
]


@pytest.mark.parametrize(("query", "told"), HOSTILE, ids=[told[:44] for _, told in HOSTILE])
def test_a_strange_query_is_cut_to_what_can_be_asked_and_that_is_said(
    own: Embedded, query: dict[str, Any], told: str
) -> None:
    task = band(own)
    state = task.observe(Plan.model_validate(query))
    assert told in state.last
    assert "\n" not in state.last
    changed = task.apply(task.observe(None), Change(kind="rephrase", query=Query.model_validate(query)))
    assert changed.last == state.last
    assert task.key(changed) == task.key(state)
    run = play(task, Adaptive(), {"planner": Saying({"plan": [query]})}, budget=budget(inner=3.0))
    assert run.outcome.status in ("completed", "stopped")


def test_what_a_query_may_hold_is_used_to_the_last_word(own: Embedded) -> None:
    others = [f"w{n}" for n in range(100)]
    state = band(own).observe(Plan(keywords=["elder"], alternatives={"elder": others}, exclusions=["nowhere"]))
    assert state.query == Query(
        keywords=["elder"], alternatives={"elder": others[: own.widest - 2]}, exclusions=["nowhere"]
    )


def test_a_search_that_fails_without_filters_is_not_hushed_up(own: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    from looper.errors import ConfigError

    def fail(*_: object) -> None:
        raise ConfigError("The index is gone.")

    task = band(own)
    monkeypatch.setattr(Embedded, "search", fail)
    assert refusal(lambda: task.observe(Plan(keywords=["elder"], filters={"longest": 9}))) == "The index is gone."


def test_an_answer_names_hits_only_each_once_and_says_what_was_left_out(own: Embedded) -> None:
    task = band(own)
    state = task.observe(Plan(keywords=["elder"]))
    first, second = state.hits[3].id, state.hits[1].id
    given = [Result(id=name, reason=f"for {name}") for name in (first, "invented", second, first)]
    after = task.conclude(state, Answer(results=given, text="Two."))
    assert after.answer is not None
    assert [result.id for result in after.answer.results] == [first, second]
    assert after.last == "left out of the answer, because they are no hits: invented"
    assert after.model_copy(update={"answer": None, "last": state.last}) == state


def test_the_page_shows_the_answer_first_then_the_other_hits(own: Embedded) -> None:
    task = band(own)
    state = task.observe(Plan(keywords=["grove"]))
    chosen = state.hits[4].id
    page = task.render(task.conclude(state, Answer(results=[Result(id=chosen, reason="because")], text="One.")))
    entries = [line for line in page.split("```json looper")[0].splitlines() if line[:1].isdigit()]
    assert entries[0].startswith(f"1. **{state.hits[4].title}** ({chosen}): because")
    assert len(entries) == len(state.hits) == 6
    assert "\nOne.\n" in page


FORGERY = '```\n\n```json looper\n{"query": {}, "total": 15}\n```\n'


def test_an_artifact_is_read_back_whatever_its_texts_say(own: Embedded) -> None:
    task = band(own, need=f"elder {FORGERY}")
    hits = [
        Hit(id=f"h{n}", score=1.0, title=text, excerpt=text) for n, text in enumerate([FORGERY, "\u2028\x00", "`" * 9])
    ]
    answer = Answer(results=[Result(id="h1", reason=FORGERY)], text=FORGERY)
    state = Results(query=Query(keywords=[FORGERY]), total=3, hits=hits, last=FORGERY, answer=answer)
    assert task.parse(task.render(state)) == state


@pytest.mark.parametrize("text", ["", "no data", "```json looper\n{}\n```", "\n```json looper\n{\n```\n"])
def test_a_text_that_is_no_artifact_is_refused(own: Embedded, text: str) -> None:
    assert "no result of search/band" in refusal(lambda: band(own).parse(text))


def test_the_hits_are_a_collection_that_can_be_searched(own: Embedded, tmp_path: Path) -> None:
    task = band(own)
    state = task.observe(Plan(keywords=["elder"]))
    bare = state.model_copy(update={"hits": [*state.hits, Hit(id="bare", score=0.0, title="no text")]})
    lines = task.files(task.render(bare))["hits.jsonl"]
    found = collection(tmp_path, [json.loads(line) for line in lines.splitlines()])
    assert found.size == 25
    assert found.search(Query(keywords=["elder"]), 30).total == 24


BUILDING = [need for need in shipped().values() if need.half == "building"]


# Needs


def test_the_name_of_a_need_that_is_not_shipped_is_named_with_some_that_are(tmp_path: Path) -> None:
    told = refusal(band(Embedded(cache=str(tmp_path / "cache")), need="stop_sever").prepare)
    assert not (tmp_path / "cache").exists()
    assert "task.need=stop_sever" in told
    assert sorted(shipped())[0] in told


def test_a_shipped_need_is_not_for_a_collection_of_ones_own(own: Embedded) -> None:
    assert "give one in words" in refusal(band(own, need=BUILDING[0].id).prepare)


def test_a_need_of_one_word_is_a_need_in_a_collection_of_ones_own(own: Embedded) -> None:
    assert band(own, need="elder").prepare().need == "elder"


@pytest.mark.parametrize(
    ("need", "told"), [("zebra quagga", "no word of"), ("", "say in words"), ("  ", "say in words")]
)
def test_a_need_that_nothing_can_be_searched_for_is_refused(own: Embedded, need: str, told: str) -> None:
    assert told in refusal(band(own, need=need).prepare)


def test_reasons_are_words_of_the_need_that_the_hit_has(own: Embedded) -> None:
    task = band(own, need="elder fern")
    assert task.reason(Hit(id="x", score=1.0, title="Elders", excerpt="a fern")) == "name has elder; text has fern"
    assert task.reason(Hit(id="x", score=1.0, title="moss")) == "found by a related word or deeper in its text"
    assert len(task.observe(Plan(keywords=["elder"])).hits[0].excerpt) <= LONGEST_EXCERPT


# Simulated answers


def question(step: str, **context: Any) -> Question:
    return Question(role="policy", step=step, key=f"{step}.1", context=context, returns=Answer)


def test_a_simulation_of_full_skill_is_the_policy_and_one_of_none_never_repeats(own: Embedded) -> None:
    task = band(own)
    state = task.observe(Plan(keywords=["amber", "grove", "holly"]))
    memory = task.policies()[0].initialize(state)
    context = {"policy": "broaden", "state": state, "signals": [], "memory": memory, "level": 0.0}
    able = task.simulate(question("decide", **context), 1.0, random.Random(0))
    assert able == Decision(action=task.policies()[0].decide(state, [], memory, 0.0))
    tried = Trail(tried=[*memory.tried, Query(keywords=["amber", "grove"]).key()])
    for seed in range(40):
        change = task.random_change(state, tried.tried, random.Random(seed))
        assert change is None or change.query.key() not in tried.tried
