from program import RecentFiles


def test_newest_first():
    files = RecentFiles(3, [])
    files.open("a")
    files.open("b")
    assert files.listing() == ["b", "a"]


def test_pinned_files_come_first():
    files = RecentFiles(3, ["a", "b", "c"])
    files.pin("c")
    assert files.listing() == ["c", "a", "b"]


def test_listing_twice_gives_the_same():
    files = RecentFiles(3, ["a", "b"])
    assert files.listing() == files.listing()


def test_opening_after_listing():
    files = RecentFiles(3, ["a", "b"])
    files.listing()
    files.open("b")
    assert files.listing() == ["b", "a"]


def test_listing_pins_nothing():
    files = RecentFiles(3, ["a"])
    files.pin("z")
    files.listing()
    assert files.pinned == ["z"]


def test_old_files_are_forgotten_after_listing():
    files = RecentFiles(2, ["a", "b"])
    files.listing()
    files.open("c")
    assert files.listing() == ["c", "a"]
