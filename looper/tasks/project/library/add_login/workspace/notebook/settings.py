"""Limits of the service."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the owner of a service may set."""

    page_size: int = 20
    """Notes on a page of a listing."""
    max_title: int = 120
    """Characters of a title."""
    max_body: int = 20_000
    """Characters of a text."""
    max_tags: int = 12
    """Tags of a note."""
