"""looper: a laboratory for agent-loop designs."""

__version__ = "0.1.0"
