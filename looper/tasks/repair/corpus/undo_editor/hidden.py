from program import Editor


def play(*steps):
    """Text after `steps`: a number erases, `<` is undo, `>` is redo, anything else is written."""
    editor = Editor()
    for step in steps:
        if step == "<":
            editor.undo()
        elif step == ">":
            editor.redo()
        elif isinstance(step, int):
            editor.erase(step)
        else:
            editor.write(step)
    return editor.text


def test_play():
    assert play() == ""
    assert play("<") == ""
    assert play(">") == ""
    assert play("abc", 1, "<", ">") == "ab"
    assert play("abc", "<", 1, ">") == ""
    assert play("abc", "def", "<", 1, ">", ">") == "ab"
    assert play("abc", "def", "<", "x", ">") == "abcx"
    assert play("abc", 1, 1, "<", "<", ">", ">") == "a"
    assert play("abc", 1, 1, "<", 0, ">") == "ab"
    assert play("abc", 1, "<", 2, "<", ">", ">") == "a"
    assert play("abc", 1, "<", 2, "<", "<", ">", ">") == "a"
    assert play("a", "b", "<", "<", 4, "<", ">", ">", ">") == ""
    assert play("a", 0, "<", "<", "<") == ""
    assert play("a", "b", "c", "<", "<", "<", 1, ">") == ""
    assert play("a", "b", "c", "<", "<", "<", ">", ">", ">") == "abc"
    assert play("a", "b", 1, "<", "<", "c", ">", "<") == "a"
