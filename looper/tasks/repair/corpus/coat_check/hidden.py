from program import collect, free_hook, hand_in


def test_free_hook():
    assert free_hook([None]) == 0
    assert free_hook(["a"]) == 1
    assert free_hook(["a", None]) == 1
    assert free_hook(["a", "b", "c", None, None]) == 3
    assert free_hook(["", None]) == 1


def test_an_evening():
    hooks = []
    assert hand_in(hooks, "a") == 0
    assert hand_in(hooks, "b") == 1
    assert hand_in(hooks, "c") == 2
    assert collect(hooks, 1) == "b"
    assert collect(hooks, 1) is None
    assert hooks == ["a", None, "c"]
    assert hand_in(hooks, "d") == 1
    assert hand_in(hooks, "e") == 3
    assert collect(hooks, 7) is None
    assert collect(hooks, 2) == "c"
    assert collect(hooks, 3) == "e"
    assert hooks == ["a", "d"]
    assert collect(hooks, 0) == "a"
    assert hand_in(hooks, "f") == 0
    assert collect(hooks, 1) == "d"
    assert collect(hooks, 0) == "f"
    assert hooks == []
