"""Tests that everybody sees: one for each function."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from rota import RotaError, Shift, dump, gaps, hours, load, on_call, override, parse_duration, rotation

MONDAY = datetime.fromisoformat("2026-03-02T08:00")


def at(hours_later):
    return MONDAY + timedelta(hours=hours_later)


def rows(shifts):
    return [(shift.person, shift.start, shift.end) for shift in shifts]


def test_a_duration_is_read():
    assert parse_duration("1w2d12h30m") == timedelta(days=9, hours=12, minutes=30)
    with pytest.raises(RotaError):
        parse_duration("5 apples")


def test_people_take_turns_and_the_last_turn_is_cut():
    found = rotation(["ana", "bo"], at(0), at(60), timedelta(hours=24))
    assert rows(found) == [("ana", at(0), at(24)), ("bo", at(24), at(48)), ("ana", at(48), at(60))]


def test_an_override_takes_its_time_from_whoever_had_it():
    rota = [Shift("ana", at(0), at(24)), Shift("bo", at(24), at(48))]
    found = override(rota, [Shift("cy", at(20), at(30))])
    assert rows(found) == [("ana", at(0), at(20)), ("cy", at(20), at(30)), ("bo", at(30), at(48))]


def test_a_shift_holds_up_to_its_end():
    rota = [Shift("ana", at(0), at(24)), Shift("bo", at(24), at(48))]
    assert on_call(rota, at(24)) == "bo"
    assert on_call(rota, at(48)) is None


def test_times_without_anybody_are_found():
    assert gaps([Shift("ana", at(2), at(4))], at(0), at(6)) == [(at(0), at(2)), (at(4), at(6))]


def test_hours_are_exact():
    rota = [Shift("bo", at(0), at(1)), Shift("ana", at(1), at(1) + timedelta(minutes=100))]
    assert list(hours(rota).items()) == [("ana", Fraction(5, 3)), ("bo", Fraction(1))]


def test_a_rota_can_be_written_and_read():
    rota = [Shift("ana", at(0), at(24))]
    assert dump(rota) == "2026-03-02T08:00:00 2026-03-03T08:00:00 ana\n"
    assert rows(load(dump(rota))) == rows(rota)
    with pytest.raises(RotaError, match="line 2: ") as caught:
        load("# who is on call\n2026-03-02T08:00 ana\n")
    assert caught.value.line == 2
