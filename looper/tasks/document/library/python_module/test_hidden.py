"""Tests that nobody sees before the end: the limits of each function, and a slow rota of seconds to compare with."""

import random
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from rota import RotaError, Shift, dump, gaps, hours, load, on_call, override, parse_duration, rotation

ZERO = datetime.fromisoformat("2026-03-02T00:00")
HOUR = timedelta(hours=1)


def at(hours_later):
    return ZERO + hours_later * HOUR


def shift(person, start, end):
    return Shift(person, at(start), at(end))


def rows(shifts):
    return [(one.person, one.start, one.end) for one in shifts]


def plan(*triples):
    return [shift(*triple) for triple in triples]


def told(*triples):
    return [(person, at(start), at(end)) for person, start, end in triples]


# Durations


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1m", timedelta(minutes=1)), ("90m", timedelta(minutes=90)), ("36h", timedelta(hours=36)),
        ("52w", timedelta(weeks=52)), ("1w1m", timedelta(weeks=1, minutes=1)), ("0d5h", timedelta(hours=5)),
        ("  2d  ", timedelta(days=2)), ("364d", timedelta(weeks=52)), ("1d0h0m", timedelta(days=1)),
    ],
)  # fmt: skip
def test_durations_are_read(text, span):
    assert parse_duration(text) == span


@pytest.mark.parametrize("text", ["364d1m", "52w1m", "0w0d0h0m", "m1", "1w 1d", "1\u00a0d", "1h1d", "\t1d", "1d\t"])
def test_other_texts_are_no_durations(text):
    with pytest.raises(RotaError):
        parse_duration(text)


# Shifts


def test_a_shift_has_its_three_fields_by_place_and_by_name():
    assert rows([Shift(person="ana", start=at(0), end=at(1))]) == told(("ana", 0, 1))


def test_a_shift_cannot_be_changed():
    one: Any = shift("ana", 0, 1)
    with pytest.raises(AttributeError):
        one.person = "bo"
    assert one.person == "ana"


def test_equal_shifts_are_equal():
    assert shift("ana", 0, 1) == shift("ana", 0, 1)
    assert shift("ana", 0, 1) != shift("ana", 0, 2)
    assert len({shift("ana", 0, 1), shift("ana", 0, 1)}) == 1


@pytest.mark.parametrize("name", ["a", "A", "a1", "a.b-c_d", "a" * 40])
def test_names_at_the_limits_are_names(name):
    assert shift(name, 0, 1).person == name


def test_an_error_is_a_value_error_and_has_no_line_unless_a_text_was_read():
    with pytest.raises(RotaError) as caught:
        shift("ana", 1, 0)
    assert isinstance(caught.value, ValueError)
    assert caught.value.line is None


# Rotations


def test_turns_that_fit_are_not_cut():
    found = rotation(["ana", "bo"], at(0), at(48), 12 * HOUR)
    assert rows(found) == told(("ana", 0, 12), ("bo", 12, 24), ("ana", 24, 36), ("bo", 36, 48))


def test_one_person_alone_has_one_shift():
    assert rows(rotation(["ana"], at(0), at(50), 12 * HOUR)) == told(("ana", 0, 50))


def test_a_turn_longer_than_the_rota_is_cut():
    assert rows(rotation(["ana", "bo"], at(0), at(5), timedelta(weeks=52))) == told(("ana", 0, 5))


def test_the_end_of_all_dates_is_no_obstacle():
    start, end = datetime.fromisoformat("9999-12-31T00:00"), datetime.fromisoformat("9999-12-31T23:59:59")
    assert rows(rotation(["ana", "bo"], start, end, timedelta(weeks=1))) == [("ana", start, end)]


def test_the_most_turns_are_built():
    end = ZERO + timedelta(seconds=100_000)
    assert rows(rotation(["ana"], ZERO, end, timedelta(seconds=1))) == [("ana", ZERO, end)]


def test_people_may_come_from_a_tuple():
    assert rows(rotation(("ana", "bo"), at(0), at(2), HOUR)) == told(("ana", 0, 1), ("bo", 1, 2))


def test_names_that_differ_in_case_are_two_people():
    assert rows(rotation(["ana", "Ana"], at(0), at(2), HOUR)) == told(("ana", 0, 1), ("Ana", 1, 2))


# Overrides


def test_an_override_inside_a_shift_cuts_it_in_two():
    assert rows(override(plan(("ana", 0, 10)), plan(("bo", 3, 4)))) == told(("ana", 0, 3), ("bo", 3, 4), ("ana", 4, 10))


def test_an_override_may_take_several_shifts_whole():
    rota = plan(("ana", 0, 2), ("bo", 2, 4), ("ana", 4, 6))
    assert rows(override(rota, plan(("cy", 0, 6)))) == told(("cy", 0, 6))


def test_an_override_fills_a_gap_and_what_lies_outside():
    rota = plan(("ana", 2, 4), ("bo", 6, 8))
    assert rows(override(rota, plan(("cy", 4, 6)))) == told(("ana", 2, 4), ("cy", 4, 6), ("bo", 6, 8))
    assert rows(override(rota, plan(("cy", 10, 12)))) == told(("ana", 2, 4), ("bo", 6, 8), ("cy", 10, 12))
    assert rows(override([], plan(("cy", 0, 1)))) == told(("cy", 0, 1))


def test_of_two_overrides_the_later_one_in_the_list_wins():
    extra = plan(("bo", 2, 6), ("cy", 4, 8))
    assert rows(override(plan(("ana", 0, 10)), extra)) == told(
        ("ana", 0, 2), ("bo", 2, 4), ("cy", 4, 8), ("ana", 8, 10)
    )
    assert rows(override(plan(("ana", 0, 10)), extra[::-1])) == told(
        ("ana", 0, 2), ("bo", 2, 6), ("cy", 6, 8), ("ana", 8, 10)
    )


def test_an_override_by_the_same_person_leaves_one_shift():
    assert rows(override(plan(("ana", 0, 4), ("bo", 4, 8)), plan(("ana", 3, 6)))) == told(("ana", 0, 6), ("bo", 6, 8))


def test_touching_shifts_of_one_person_are_merged_without_any_override():
    assert rows(override(plan(("ana", 4, 6), ("ana", 0, 4)), [])) == told(("ana", 0, 6))


def test_shifts_of_one_person_with_a_gap_are_not_merged():
    assert rows(override(plan(("ana", 0, 1), ("ana", 2, 3)), [])) == told(("ana", 0, 1), ("ana", 2, 3))


def test_given_lists_stay_as_they_are():
    rota, extra = plan(("bo", 4, 8), ("ana", 0, 4)), plan(("cy", 2, 6))
    before = rows(rota), rows(extra)
    override(rota, extra)
    dump(rota)
    assert (rows(rota), rows(extra)) == before


# Questions


def test_somebody_is_on_call_from_the_start_but_not_at_the_end():
    rota = plan(("bo", 6, 8), ("ana", 2, 4))
    wanted = {1: None, 2: "ana", 3: "ana", 4: None, 5: None, 6: "bo", 7: "bo", 8: None}
    assert {hour: on_call(rota, at(hour)) for hour in wanted} == wanted
    assert on_call([], at(0)) is None


def test_gaps_end_with_the_window():
    rota = plan(("bo", 6, 8), ("ana", 2, 4))
    assert gaps(rota, at(0), at(10)) == [(at(0), at(2)), (at(4), at(6)), (at(8), at(10))]
    assert gaps(rota, at(3), at(7)) == [(at(4), at(6))]
    assert gaps(rota, at(4), at(6)) == [(at(4), at(6))]
    assert gaps(rota, at(2), at(4)) == []
    assert gaps(rota, at(9), at(10)) == [(at(9), at(10))]
    assert gaps(rota, at(0), at(1)) == [(at(0), at(1))]
    assert gaps([], at(0), at(1)) == [(at(0), at(1))]


def test_touching_shifts_leave_no_gap():
    assert gaps(plan(("ana", 0, 2), ("bo", 2, 4)), at(0), at(4)) == []


def test_hours_are_ranked_by_most_and_then_by_name():
    rota = plan(("cy", 0, 1), ("bo", 1, 2), ("ana", 2, 3), ("dee", 3, 9), ("cy", 9, 10))
    assert list(hours(rota).items()) == [("dee", 6), ("cy", 2), ("ana", 1), ("bo", 1)]


def test_hours_are_fractions_to_the_second():
    found = hours([Shift("ana", ZERO, ZERO + timedelta(seconds=1)), Shift("bo", at(1), at(1) + timedelta(days=400))])
    assert found == {"bo": Fraction(9600), "ana": Fraction(1, 3600)}
    assert all(type(number) is Fraction for number in found.values())
    assert hours([]) == {}


# Text


def test_text_is_sorted_and_merged():
    rota = plan(("bo", 4, 5), ("ana", 1, 2), ("ana", 0, 1))
    wanted = "2026-03-02T00:00:00 2026-03-02T02:00:00 ana\n2026-03-02T04:00:00 2026-03-02T05:00:00 bo\n"
    assert dump(rota) == wanted
    assert dump([]) == ""


def test_early_years_have_four_digits():
    rota = [Shift("ana", datetime.fromisoformat("0044-03-15T00:00"), datetime.fromisoformat("0044-03-16T00:00"))]
    assert rows(load(dump(rota))) == rows(rota)


def test_reading_takes_blanks_comments_and_either_line_end():
    text = (
        "\r\n  # who\r\n\t2026-03-02T01:00 \t 2026-03-02T02:00:30   bo \r\n \t \n2026-03-02T00:00 2026-03-02T01:00 ana"
    )
    assert rows(load(text)) == [("ana", at(0), at(1)), ("bo", at(1), at(2) + timedelta(seconds=30))]
    assert load("") == []
    assert load("\n# nothing\n") == []


def test_reading_sorts_and_merges():
    text = "2026-03-02T01:00 2026-03-02T02:00 ana\n2026-03-02T00:00 2026-03-02T01:00 ana\n"
    assert rows(load(text)) == told(("ana", 0, 2))


def test_an_overlap_is_told_by_the_line_further_down():
    lines = ["2026-03-02T05:00 2026-03-02T08:00 bo", "# ana", "2026-03-02T00:00 2026-03-02T06:00 ana"]
    with pytest.raises(RotaError) as caught:
        load("\n".join(lines))
    assert caught.value.line == 3
    assert str(caught.value).startswith("line 3: ")


def test_one_person_twice_at_the_same_time_is_an_overlap_too():
    with pytest.raises(RotaError):
        hours(plan(("ana", 0, 4), ("ana", 3, 5)))


@pytest.mark.parametrize("mark", ["\u2028", "\x0b", "\x0c", "\x85", "\x1c"])
def test_only_line_feeds_end_a_line(mark):
    with pytest.raises(RotaError) as caught:
        load(f"# a comment {mark} that goes on\n\nnonsense\n")
    assert caught.value.line == 3


def test_a_comment_begins_a_line_and_nothing_else():
    with pytest.raises(RotaError):
        load("2026-03-02T00:00 2026-03-02T01:00 ana # off on Friday\n")


# Against a rota of hours, one by one


def by_the_hour(triples):
    found = {}
    for person, start, end in triples:
        found.update(dict.fromkeys(range(start, end), person))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_overrides_do_what_writing_hour_by_hour_does(seed):
    dice = random.Random(seed)
    triples = []
    for _ in range(12):
        start = dice.randrange(40)
        triples.append((dice.choice(["ana", "bo", "cy"]), start, start + dice.randrange(1, 12)))
    wanted = by_the_hour(triples)
    rota = override([], plan(*triples))
    assert {hour: on_call(rota, at(hour)) for hour in range(-1, 53)} == {h: wanted.get(h) for h in range(-1, 53)}
    assert {name: int(total) for name, total in hours(rota).items()} == {
        name: list(wanted.values()).count(name) for name in set(wanted.values())
    }
    alone = {hour for start, end in gaps(rota, at(0), at(52)) for hour in range(52) if start <= at(hour) < end}
    assert alone == set(range(52)) - set(wanted)
    assert rows(load(dump(rota))) == rows(rota)
    assert all(a.end < b.start or a.person != b.person for a, b in pairwise(rota))


def test_a_year_of_overrides_is_quick():
    rota = rotation(["ana", "bo", "cy"], at(0), at(2000), 8 * HOUR)
    found = override(rota, plan(*[("dee", 10 * number, 10 * number + 1) for number in range(150)]))
    assert hours(found)["dee"] == 150
