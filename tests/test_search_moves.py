"""Candidates for the next query, and the policies that choose among them: SPEC 1.4, 1.5, 7.1."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_runs import COUNTS, WORDS, collection, ladder

from looper.tasks.environment import FailureType
from looper.tasks.search import readings, steer
from looper.tasks.search.band import Band
from looper.tasks.search.index import Embedded
from looper.tasks.search.moves import Moves
from looper.tasks.search.query import Query
from looper.tasks.search.states import Change, Kind, Results, Steering, Trail
from looper.types import Signal

STEPS = Steering(low=10, high=30)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return ladder(tmp_path_factory.mktemp("ladder"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    """Documents in which words keep company, so that there are related words."""
    verbs = ("open", "close", "read", "write", "lock", "drain", "fill", "watch", "copy", "name")
    nouns = ("file", "socket", "pipe", "stream", "queue", "folder", "table", "image", "record", "device")
    ends = ["slowly of the buffer", "quickly of the buffer", "quickly with the handle", "safely of the buffer"]
    texts = [(f"{verb} {noun}", f"to {verb} the {noun} {end}") for verb in verbs for noun in nouns for end in ends]
    rows = [{"id": str(number), "name": name, "text": text} for number, (name, text) in enumerate(texts)]
    return collection(tmp_path_factory.mktemp("mixed"), rows)


def state(backend: Embedded, query: Query) -> Results:
    found = backend.search(query, 30)
    return Results(query=query, total=found.total, hits=found.hits, last=f"{query}: {found.total} hits")


def asking(*keywords: str, **parts: object) -> Query:
    return Query.model_validate({"keywords": list(keywords), **parts})


def count(backend: Embedded, query: Query) -> int:
    return backend.search(query, 0).total


# What is proposed, and why


def test_the_collection_has_the_counts_that_the_tests_rely_on(own: Embedded) -> None:
    assert {word: own.frequency(word) for word in WORDS} == COUNTS


def test_the_rarest_word_goes_first(own: Embedded) -> None:
    changes = list(Moves(own, WORDS).broader(state(own, asking(*WORDS)), STEPS.model_copy(update={"low": 100})))
    assert changes[0].query.keywords == [word for word in WORDS if word != "holly"]
    assert (changes[0].kind, changes[0].why) == ("broaden", "without holly")


def test_filters_and_exclusions_go_before_words(own: Embedded) -> None:
    query = asking("fern", "holly", exclusions=["grove"], filters={"longest": 100})
    first = next(Moves(own, WORDS).broader(state(own, query), STEPS))
    assert first.query == asking("fern", "holly")
    assert first.why == "without filters and exclusions"


def test_one_word_always_stays(own: Embedded) -> None:
    bold = Steering(low=100, high=200, level=3)
    changes = list(Moves(own, WORDS).broader(state(own, asking("holly")), bold))
    assert all(change.query.keywords for change in changes)


def test_near_the_range_words_get_alternatives_before_one_is_dropped(mixed: Embedded) -> None:
    query = asking("open", "socket")
    near, far = Steering(low=5, high=9), Steering(low=50, high=60)
    assert next(Moves(mixed, []).broader(state(mixed, query), near)).why.startswith("more words for")
    assert next(Moves(mixed, []).broader(state(mixed, query), far)).why.startswith("without")


@pytest.mark.parametrize("bold", [1.0, 3.0])
def test_the_level_scales_every_kind_of_step(own: Embedded, mixed: Embedded, bold: float) -> None:
    """SPEC 1.5: the same state, another level, another size of step."""
    low, high = (Steering(low=100, high=200, level=level) for level in (0.0, bold))
    moves, poor = Moves(own, WORDS), state(own, asking(*WORDS))
    assert len(next(moves.broader(poor, high)).query.keywords) < len(next(moves.broader(poor, low)).query.keywords)
    pruning = asking("open", alternatives={"open": [f"w{n}" for n in range(10)]})
    words = [len(next(Moves(mixed, []).pruned(pruning, level)).query.alternatives["open"]) for level in (low, high)]
    assert words == [5, int(10 / (2 + bold))]
    related = [len(list(Moves(mixed, []).rephrased(state(mixed, asking("open", "file")), lv))) for lv in (low, high)]
    assert related[0] < related[1]


def test_words_of_the_need_are_added_only_where_far_too_much_is_found(own: Embedded) -> None:
    moves = Moves(own, ["amber", "birch"])
    far = next(moves.narrower(state(own, asking("amber")), STEPS))
    assert (far.query.keywords, far.why) == (["amber", "birch"], "birch is part of the need")
    near = [change.why for change in moves.narrower(state(own, asking("daisy")), STEPS)]
    assert not [why for why in near if "part of the need" in why]


def test_words_of_the_need_come_back_in_their_place(own: Embedded) -> None:
    moves = Moves(own, ["amber", "birch"])
    assert next(moves.narrower(state(own, asking("birch")), STEPS)).query.keywords == ["amber", "birch"]


def test_a_sample_of_the_hits_suggests_what_halves_them(own: Embedded) -> None:
    """Of 48 hits, 10 to 30 wanted: elder is in the better half, and its share in the sample promises most."""
    changes = list(Moves(own, []).narrower(state(own, asking("daisy")), STEPS))
    assert changes[0].kind == "narrow"
    assert changes[0].why.endswith("which some of the hits have") or changes[0].why.startswith("without hits")
    assert 0 < count(own, changes[0].query) < 48


def test_stop_words_are_no_suggestion(mixed: Embedded) -> None:
    told = [change.why for change in Moves(mixed, []).sampled(state(mixed, asking("file")), Steering(low=2, high=4))]
    assert told
    assert not [why for why in told if "with the," in why or "have the" in why or "with to," in why]


def test_an_alternative_is_not_demanded_or_excluded_by_a_sample(mixed: Embedded) -> None:
    query = asking("file", alternatives={"file": ["open", "read"]})
    for change in Moves(mixed, []).sampled(state(mixed, query), Steering(low=2, high=4)):
        assert not {"open", "read"} & {*change.query.keywords, *change.query.exclusions}


def test_a_word_is_rephrased_by_what_stands_in_its_place(mixed: Embedded) -> None:
    changes = list(Moves(mixed, []).rephrased(state(mixed, asking("open", "file")), STEPS))
    assert changes
    for change in changes:
        assert change.kind == "rephrase"
        assert len(change.query.keywords) == 2
        assert len({"open", "file"} & set(change.query.keywords)) == 1


def test_another_corner_is_one_word_of_the_need_or_beside_it(mixed: Embedded) -> None:
    changes = list(Moves(mixed, ["open", "file"]).diversified(state(mixed, asking("queue"))))
    assert changes[0].query == asking("open")
    assert {len(change.query.keywords) for change in changes} == {1}
    assert all(change.why == f"another corner: {change.query.keywords[0]}" for change in changes)


def test_every_kind_of_action_occurs_with_a_reason(own: Embedded, mixed: Embedded) -> None:
    moves, at = Moves(mixed, ["open", "file"]), state(mixed, asking("open"))
    changes = [*moves.broader(at, STEPS), *moves.narrower(at, STEPS), *moves.rephrased(at, STEPS)]
    changes += moves.diversified(at)
    assert {change.kind for change in changes} == set(get_args(Kind)) - {"reweight"}
    assert all(change.why for change in changes)
    assert all(change.kind in str(change) and change.why in str(change) for change in changes)


@pytest.mark.parametrize("level", [0.0, 1.5, 3.0])
def test_no_candidate_is_wider_than_the_backend_takes(
    mixed: Embedded, monkeypatch: pytest.MonkeyPatch, level: float
) -> None:
    monkeypatch.setattr(Embedded, "widest", property(lambda self: 5))
    moves, steering = Moves(mixed, ["open", "file"]), Steering(low=40, high=50, level=level)
    policies = steer.policies(moves, 40, 50)
    full = asking("open", "file", alternatives={"open": ["close"]}, exclusions=["queue", "safely"])
    for policy in policies:
        for change in policy.candidates(state(mixed, full), Trail(), steering):
            chosen = policy.decide(state(mixed, full), [], Trail(), level)
            assert chosen is None or moves.fits(chosen.query), change


# Between bounds


def between(backend: Embedded, narrow: Query, broad: Query) -> list[Query]:
    return [change.query for change in Moves(backend, WORDS).between(narrow, broad, state(backend, narrow))]


def test_between_two_bounds_lies_the_middle_of_the_words(own: Embedded) -> None:
    [middle] = between(own, asking("amber", "elder", "fern", "grove", "holly"), asking("amber"))
    assert middle == asking("amber", "elder", "fern")
    assert 3 < count(own, middle) < 384


def test_between_two_bounds_lies_the_middle_of_the_alternatives(own: Embedded) -> None:
    few = asking("holly", alternatives={"holly": ["x"]})
    many = asking("holly", alternatives={"holly": ["x", "a", "b", "c", "d"]})
    assert between(own, few, many) == [asking("holly", alternatives={"holly": ["x", "a", "b"]})]


def test_between_two_bounds_lies_the_middle_of_the_exclusions(own: Embedded) -> None:
    strict = asking("amber", exclusions=["elder", "fern", "grove", "holly"])
    assert between(own, strict, asking("amber")) == [asking("amber", exclusions=["elder", "fern"])]


def test_between_neighbours_there_is_nothing(own: Embedded) -> None:
    assert between(own, asking("amber", exclusions=["holly"]), asking("amber")) == []


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_the_policy_brackets_and_then_halves(own: Embedded, level: float) -> None:
    """SPEC 1.4: a bold step overshoots, and then each step lies strictly between the latest two bounds."""
    policies = {policy.name: policy for policy in steer.policies(Moves(own, WORDS), 20, 30)}
    at = state(own, asking(*WORDS))
    memory, totals = policies["broaden"].initialize(at), [at.total]
    while not 20 <= at.total <= 30:
        policy = policies["broaden" if at.total < 20 else "narrow"]
        low, high = memory.narrow, memory.broad
        change = policy.decide(at, [], memory, level)
        assert change is not None
        after = state(own, change.query)
        if low is not None and high is not None:
            assert count(own, low) < after.total < count(own, high)
            assert change.why.startswith("middle")
        memory, at = policy.adapt(memory, at, change, after, 0.0), after
        totals.append(at.total)
    assert totals[:4] == ([3, 6, 12, 12] if level == 0 else [3, 48, 12, 24])  # 12 is near: other words come first


# Memory


def test_what_was_tried_is_not_proposed_again(own: Embedded) -> None:
    broaden = steer.policies(Moves(own, WORDS), 20, 30)[0]
    at = state(own, asking("grove", "holly"))
    memory, seen = broaden.initialize(at), {at.query.key()}
    while (change := broaden.decide(at, [], memory, 1.0)) is not None:
        assert change.query.key() not in seen
        seen.add(change.query.key())
        memory = broaden.adapt(memory, at, change, at, -1.0)  # refused: the state stays
    assert len(seen) > 1


def test_bounds_are_the_latest_on_either_side(own: Embedded) -> None:
    policy = steer.policies(Moves(own, WORDS), 10, 30)[0]
    memory = policy.initialize(state(own, asking("amber")))
    for word in ("holly", "birch", "elder", "grove"):
        after = state(own, asking(word))
        memory = policy.adapt(memory, after, Change(kind="broaden", query=after.query), after, 0.0)
    assert (memory.narrow, memory.broad) == (asking("grove"), asking("birch"))


def test_only_the_count_decides_what_is_stable(own: Embedded) -> None:
    at = state(own, asking("elder"))
    for policy in steer.policies(Moves(own, WORDS), 10, 30):
        stale = Signal(name="overlap", passed=False, value=1.0)
        assert policy.is_stable(at, [Signal(name="count", passed=True, value=24), stale])
        assert not policy.is_stable(at, [Signal(name="count", passed=False, value=3), stale])


def test_each_failure_has_its_policies_and_the_last_resort_comes_last(own: Embedded) -> None:
    policies = steer.policies(Moves(own, WORDS), 10, 30)
    asked = {
        failure: [policy.name for policy in policies if failure in policy.handles]
        for failure in (FailureType.NO_DATA, FailureType.TOO_NARROW, FailureType.TOO_BROAD)
    }
    assert asked[FailureType.NO_DATA] == asked[FailureType.TOO_NARROW] == ["broaden", "rephrase", "diversify"]
    assert asked[FailureType.TOO_BROAD] == ["narrow", "diversify"]


# Readings


def read(probe: readings.Count | readings.Spread | readings.Drop | readings.Overlap, **parts: object) -> Signal:
    scores = parts.pop("scores", [])
    assert isinstance(scores, list)
    hits = [{"id": f"h{place}", "title": "t", "score": score} for place, score in enumerate(scores)]
    return probe.test(Results.model_validate({"query": {}, "total": len(hits), "hits": hits, **parts}))


@pytest.mark.parametrize(("total", "inside"), [(0, False), (9, False), (10, True), (30, True), (31, False)])
def test_the_count_passes_between_its_edges(total: int, inside: bool) -> None:
    signal = read(readings.Count(10, 30), total=total)
    assert (signal.passed, signal.value) == (inside, total)
    assert str(total) in signal.reason


@pytest.mark.parametrize(
    ("scores", "value", "passed"),
    [
        ([], 0.0, True),
        ([5.0], 0.0, True),
        ([4.0, 1.0], 0.75, True),
        ([4.0, 3.9], 0.025, False),
        ([0.0, 0.0], 0.0, False),
    ],
)
def test_spread_is_what_the_scores_differ_by(scores: list[float], value: float, passed: bool) -> None:
    signal = read(readings.Spread(), scores=scores)
    assert (signal.value, signal.passed) == (value, passed)


@pytest.mark.parametrize(
    ("before", "total", "value", "passed"),
    [(None, 5, 1.0, True), (0, 5, 1.0, True), (100, 50, 0.5, True), (100, 10, 0.1, True), (100, 9, 0.09, False)],
)
def test_a_sudden_drop_is_when_nine_tenths_are_gone(before: int | None, total: int, value: float, passed: bool) -> None:
    signal = read(readings.Drop(), total=total, before=before)
    assert (signal.value, signal.passed) == (value, passed)


def test_overlap_is_the_share_that_was_seen() -> None:
    assert read(readings.Overlap(), scores=[1, 1, 1, 1], seen=["h0", "h9"]).value == 0.25
    assert not read(readings.Overlap(), scores=[1], seen=["h0"]).passed
    assert read(readings.Overlap()).passed


# Properties

words = st.sampled_from([*WORDS, "moss", "nowhere"])
queries = st.builds(
    lambda keywords, others, exclusions: asking(
        *dict.fromkeys(keywords),
        alternatives={word: list(dict.fromkeys(w for w in others if w != word)) for word in keywords[:2] if others},
        exclusions=[word for word in dict.fromkeys(exclusions) if word not in keywords],
    ),
    st.lists(words, min_size=1, max_size=4), st.lists(words, max_size=3), st.lists(words, max_size=2),
)  # fmt: skip
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(queries, st.randoms(use_true_random=False))
def test_the_order_of_words_and_doublets_do_not_change_a_key(query: Query, dice: object) -> None:
    import random

    assert isinstance(dice, random.Random)
    other = asking(
        *dice.sample(query.keywords, len(query.keywords)), *query.keywords[:1],
        alternatives={word: [*reversed(others), *others[:1], word] for word, others in query.alternatives.items()},
        exclusions=[*reversed(query.exclusions), *query.exclusions[:1]],
    )  # fmt: skip
    assert other.key() == query.key()


@given(queries, queries)
@quick
def test_queries_of_one_key_find_the_same(own: Embedded, one: Query, other: Query) -> None:
    if one.key() == other.key():
        assert count(own, one) == count(own, other)
    assert one.model_copy(update={"filters": {"longest": 5}}).key() != one.key()


@given(queries, st.floats(0, 3))
@quick
def test_what_is_called_broader_finds_no_less(own: Embedded, query: Query, level: float) -> None:
    steering = Steering(low=10, high=30, level=level)
    before = count(own, query)
    for change in Moves(own, WORDS).broader(state(own, query), steering):
        assert count(own, change.query) >= before, change


@given(queries, st.floats(0, 3))
@quick
def test_what_is_called_narrower_finds_no_more(own: Embedded, query: Query, level: float) -> None:
    steering = Steering(low=10, high=30, level=level)
    before = count(own, query)
    for change in Moves(own, WORDS).narrower(state(own, query), steering):
        assert count(own, change.query) <= before, change


@given(queries, st.floats(0, 3))
@quick
def test_a_middle_lies_between_its_bounds(own: Embedded, narrow: Query, level: float) -> None:
    """Between a query and what broadens it: in the order of subsets, so of hits too."""
    moves, at = Moves(own, WORDS), state(own, narrow)
    for wide in moves.broader(at, Steering(low=10, high=30, level=level)):
        for middle in moves.between(narrow, wide.query, at):
            ids = [{hit.id for hit in own.search(q, 400).hits} for q in (narrow, middle.query, wide.query)]
            assert ids[0] <= ids[1] <= ids[2], (middle, wide)


def test_a_task_gives_its_policies_its_range(tmp_path: Path) -> None:
    band = Band(collection=ladder(tmp_path), need="amber birch", low=7, high=8)
    assert {(policy.low, policy.high) for policy in band.policies()} == {(7, 8)}
