from program import Thermostat, starts, states


def test_states():
    assert states(20, 1, []) == []
    assert states(20, 1, [19, 20, 20, 21, 20]) == [True, True, True, False, False]
    assert states(0, 3, [-3, 0, 2, 3, 0, -2, -3]) == [True, True, True, False, False, False, True]
    assert states(5, 5, [0, 9, 10, 9, 1, 0]) == [True, True, False, False, False, True]
    assert states(18, 0.5, [17.6, 17.5, 18.4, 18.5]) == [False, True, True, False]


def test_starts():
    assert starts(20, 1, []) == 0
    assert starts(20, 1, [19]) == 1
    assert starts(20, 1, [19, 20, 19, 20, 19]) == 1
    assert starts(20, 1, [19, 21, 19, 21, 19]) == 3
    assert starts(20, 1, [21, 19, 19, 19]) == 1
    assert starts(0, 3, [-3, 0, 2, 3, 0, -2, -3]) == 2


def test_object():
    thermostat = Thermostat(20, 2)
    assert not thermostat.heating
    assert thermostat.starts == 0
    assert thermostat.read(18)
    assert thermostat.read(21)
    assert not thermostat.read(22)
    assert thermostat.starts == 1
