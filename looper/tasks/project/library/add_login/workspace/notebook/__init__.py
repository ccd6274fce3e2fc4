"""notebook: shared notes in a sqlite file."""

__version__ = "0.4.0"
