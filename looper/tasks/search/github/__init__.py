"""Repositories on GitHub, through its REST search: `GitHub` is the backend."""

from looper.tasks.search.github.backend import GitHub

__all__ = ["GitHub"]
