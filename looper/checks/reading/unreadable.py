"""The one error of all readers."""


class Unreadable(ValueError):
    """The text is not of the language; `line` counts from 1, 0 if it is not known."""

    def __init__(self, text: str, line: int = 0):
        super().__init__(text)
        self.line = line
