from program import collect, free_hook, hand_in


def test_the_first_hook_is_free():
    assert free_hook([None, "Al"]) == 0


def test_a_hook_in_the_middle_is_free():
    assert free_hook(["Al", "Bea", None, "Cy"]) == 2


def test_all_hooks_are_taken():
    assert free_hook(["Al", "Bea"]) == 2


def test_there_are_no_hooks():
    assert free_hook([]) == 0


def test_hooks_are_used_again():
    hooks = ["Al", None, "Cy"]
    hand_in(hooks, "Di")
    assert hooks == ["Al", "Di", "Cy"]


def test_a_new_hook():
    hooks = ["Al"]
    assert hand_in(hooks, "Bea") == 1


def test_coats_are_given_back():
    assert collect(["Al", "Bea"], 1) == "Bea"


def test_free_hooks_at_the_end_are_taken_down():
    hooks = ["Al", None, "Cy"]
    collect(hooks, 2)
    assert hooks == ["Al"]
