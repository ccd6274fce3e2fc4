from program import Editor


def written(*pieces):
    editor = Editor()
    for piece in pieces:
        editor.write(piece)
    return editor


def test_write():
    assert written("tea", " cup").text == "tea cup"


def test_undo():
    assert written("tea", " cup").undo() == "tea"


def test_redo():
    editor = written("tea", " cup")
    editor.undo()
    assert editor.redo() == "tea cup"


def test_erase():
    editor = written("coffee")
    editor.erase(3)
    assert editor.text == "cof"


def test_erasing_ends_the_redoing():
    editor = written("tea", " cup")
    editor.undo()
    editor.erase(1)
    assert editor.redo() == "te"


def test_erasing_too_much_ends_the_redoing_too():
    editor = written("a", "b", "c")
    editor.undo()
    editor.undo()
    editor.erase(5)
    assert editor.redo() == ""


def test_a_new_text_has_nothing_to_redo():
    assert Editor().redo() == ""


def test_writing_ends_the_redoing():
    editor = written("tea", " cup")
    editor.undo()
    editor.write(" pot")
    assert editor.redo() == "tea pot"


def test_two_steps_back_and_forth():
    editor = written("a", "b", "c")
    editor.undo()
    editor.undo()
    editor.redo()
    assert editor.redo() == "abc"


def test_undo_of_an_erasure():
    editor = written("jam")
    editor.erase(9)
    assert editor.undo() == "jam"
