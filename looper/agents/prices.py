"""What a model's tokens cost, and how many there were when the provider does not say (SPEC 0.5)."""

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
    """The price of LiteLLM's list, which knows the dearer rates of long prompts."""

    def __init__(self, litellm: Any, name: str):
        self.litellm, self.name = litellm, name

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        return sum(self.litellm.cost_per_token(model=self.name, prompt_tokens=tokens_in, completion_tokens=tokens_out))


def listed(litellm: Any, name: str) -> Listed:
    """The list's price of `name`; a `ConfigError` before the first call if it has none: unknown is not zero."""
    entry = _entry(litellm, name)
    rates = [entry.get("input_cost_per_token"), entry.get("output_cost_per_token")]
    if any(rate is None for rate in rates):
        raise ConfigError(
            f"The price of {name} is not known, so no budget can hold it: "
            "declare model.price.input and model.price.output in US dollars per million tokens (0 if it is free)."
        )
    return Listed(litellm, name)


def _entry(litellm: Any, name: str) -> dict[str, Any]:
    """The list's own entry: its look-up functions give zero for some models that they do not know."""
    prices = litellm.model_cost
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
