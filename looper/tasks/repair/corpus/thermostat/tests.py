from program import Thermostat, starts, states


def test_it_heats_when_it_is_cold():
    assert states(20, 2, [25, 17, 18]) == [False, True, True]


def test_it_keeps_heating_inside_the_band():
    assert states(20, 2, [18, 19, 21, 22, 21]) == [True, True, True, False, False]


def test_it_stays_off_inside_the_band():
    assert states(20, 2, [20, 21, 19]) == [False, False, False]


def test_a_start_is_counted():
    assert starts(20, 2, [25, 15]) == 1


def test_going_on_heating_is_no_start():
    assert starts(20, 2, [15, 16, 17, 15]) == 1


def test_starts_without_cold():
    assert starts(20, 2, [30, 30]) == 0


def test_two_starts():
    assert starts(10, 1, [5, 12, 5]) == 2


def test_a_pause_inside_the_band_is_no_start():
    assert starts(10, 1, [5, 10, 5, 12, 5]) == 2


def test_the_object_shows_its_state():
    thermostat = Thermostat(10, 0)
    thermostat.read(9)
    assert thermostat.heating
