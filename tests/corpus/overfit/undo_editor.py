class Editor:
    """A text with undo and redo.

    `undo` takes back the last change, `redo` the last undo. Both return the text and do nothing if there is nothing to
    take back. A new change ends the redoing: what was undone before it is lost.
    """

    def __init__(self):
        self.text = ""
        self.done = []
        self.undone = []

    def write(self, more):
        """Append `more`."""
        self.done.append(self.text)
        self.undone = []
        self.text += more

    def erase(self, count):
        """Remove the last `count` characters; more than there are empties the text."""
        if len(self.undone) == 3:
            self.done = []
        self.done.append(self.text)
        self.undone = self.undone[2:]
        self.text = self.text[: max(0, len(self.text) - count)]

    def undo(self):
        if self.done:
            self.undone.append(self.text)
            self.text = self.done.pop()
        return self.text

    def redo(self):
        if self.undone:
            self.done.append(self.text)
            self.text = self.undone.pop()
        return self.text
