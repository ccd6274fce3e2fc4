class RecentFiles:
    """The last files opened, newest first, at most `limit`; pinned files are listed first and never forgotten."""

    def __init__(self, limit, names):
        self.limit = limit
        self.names = list(names)
        self.pinned = []

    def open(self, name):
        """Note that `name` was opened."""
        if name in self.names:
            self.names.remove(name)
        self.names.insert(0, name)
        self.names = self.names[: self.limit]

    def pin(self, name):
        """Keep `name` at the top, below those pinned before."""
        if name not in self.pinned:
            self.pinned.append(name)

    def listing(self):
        """All names to show: the pinned ones in the order of pinning, then the other recent ones."""
        shown = self.pinned
        for name in self.names:
            if name not in shown:
                shown.append(name)
        return shown
