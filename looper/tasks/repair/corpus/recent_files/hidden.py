from program import RecentFiles


def opened(limit, names, first=()):
    files = RecentFiles(limit, list(first))
    for name in names:
        files.open(name)
    return files


def test_listing():
    assert RecentFiles(3, []).listing() == []
    assert opened(2, "abc").listing() == ["c", "b"]
    assert opened(3, "abab").listing() == ["b", "a"]
    assert opened(0, "ab").listing() == []


def test_the_given_list_is_not_changed():
    given = ["a", "b"]
    files = RecentFiles(3, given)
    files.open("c")
    assert files.listing() == ["c", "a", "b"]
    assert given == ["a", "b"]


def test_listing_again_and_again():
    files = opened(3, "abc")
    assert files.listing() == ["c", "b", "a"]
    assert files.pinned == []
    files.open("a")
    assert files.listing() == ["a", "c", "b"]
    files.pin("b")
    assert files.listing() == ["b", "a", "c"]
    files.open("d")
    assert files.listing() == ["b", "d", "a", "c"]
    files.pin("b")
    files.pin("x")
    assert files.listing() == ["b", "x", "d", "a", "c"]
    assert files.pinned == ["b", "x"]


def test_changing_the_listing_changes_nothing():
    files = opened(3, "ab")
    files.listing().clear()
    assert files.listing() == ["b", "a"]
    files.pin("a")
    files.listing().append("q")
    assert files.listing() == ["a", "b"]
