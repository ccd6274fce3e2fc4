"""What a model's tokens cost, and how many there were when the provider does not say (SPEC 0.5)."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.types import STRICT, Usage

PER_MESSAGE = 16
"""Tokens a provider may add around one message: role names and separators (measured 3 to 8)."""
BYTES_PER_TOKEN = 3
"""For estimates; English text and code have 3.5 to 4, so this errs on the dear side."""


class Tariff(Protocol):
    """US dollars for so many tokens."""

    def usd(self, tokens_in: int, tokens_out: int) -> float: ...


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Price:
    """A declared price; zero is one too (a model of one's own)."""

    input: float = Field(ge=0, allow_inf_nan=False)
    """US dollars per million prompt tokens."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """US dollars per million tokens of the reply."""

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.input + tokens_out * self.output) / 1_000_000


class Listed:
    """A price of LiteLLM's list, with the dearer rates of long prompts."""

    def __init__(self, entry: Mapping[str, Any]):
        self.entry = entry

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        return tokens_in * self._rate("input", tokens_in) + tokens_out * self._rate("output", tokens_in)

    def _rate(self, what: str, tokens_in: int) -> float:
        rates = [self.entry[f"{what}_cost_per_token"]]
        for key, rate in self.entry.items():
            above = re.fullmatch(rf"{what}_cost_per_token_above_(\d+)k_tokens", key)
            if above and rate is not None and tokens_in > int(above[1]) * 1000:
                rates.append(rate)
        return max(rates)


def listed(prices: Mapping[str, Any], name: str) -> Listed:
    """The list's price of `name`; a `ConfigError` before the first call if it has none: unknown is not zero."""
    found = entry(prices, name)
    if any(found.get(f"{what}_cost_per_token") is None for what in ("input", "output")):
        raise ConfigError(
            f"The price of {name} is not known, so no budget can hold it: "
            "declare model.price.input and model.price.output in US dollars per million tokens (0 if it is free)."
        )
    return Listed(found)


def entry(prices: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What LiteLLM's list says of a model. Its look-up functions ask servers, and call the unknown free."""
    return prices.get(name) or prices.get(name.partition("/")[2]) or {}


def bound_in(texts: list[str]) -> int:
    """No fewer tokens than any tokenizer makes of `texts`: one token holds at least one byte."""
    return sum(len(text.encode("utf-8", "replace")) + PER_MESSAGE for text in texts) + PER_MESSAGE


def guess(texts: list[str]) -> int:
    """About how many tokens `texts` are, when the provider does not say."""
    return sum(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN) for text in texts)


def worst(tariff: Tariff, tokens_in: int, tokens_out: int) -> Usage:
    """The most that one call can cost."""
    return Usage(calls=1, tokens=tokens_in + tokens_out, usd=tariff.usd(tokens_in, tokens_out))


def believable(tokens: Any, most: int, *, some: bool) -> int | None:
    """`tokens` as reported if that can be true: whole, 0 (1 with `some` text) to `most`; else None."""
    if type(tokens) is not int or tokens > most:
        return None
    return tokens if tokens >= (1 if some else 0) else None
