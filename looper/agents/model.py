"""A language model in a role, through LiteLLM: the only place that calls one.

Retries, deadlines and repairs are here and nowhere else: the client library's own are switched off (STACK, LiteLLM).
"""

import dataclasses
import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, Field
from pydantic.dataclasses import dataclass

from looper import redact
from looper.agents import prices
from looper.agents.dialogue import Dialogue
from looper.agents.faults import Fault, classify
from looper.agents.parse import Words
from looper.agents.prices import Price, Tariff
from looper.agents.prompt import Messages, RolePrompt
from looper.errors import ConfigError
from looper.types import STRICT, Question, Reply, Usage

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_RANDOM = re.compile(r"(?=.*\d)(?=.*[a-z])[A-Za-z0-9]{20,}")
_SPEAKS_HTTPX = frozenset({"anthropic", "ollama", "ollama_chat", "gemini", "deepseek", "groq", "xai"})
"""Providers whose client LiteLLM lets us replace; those that speak OpenAI's protocol share `client_session`."""
_loading = threading.Lock()


def _variable(name: str | None) -> str | None:
    if name is None or (_VARIABLE.fullmatch(name) and not redact.looks_like_secret(name) and not _RANDOM.match(name)):
        return name
    raise ValueError("give the name of an environment variable that holds the key, never the key itself")


def _harmless(url: str | None) -> str | None:
    if url is None or (url.startswith(("http://", "https://")) and not redact.looks_like_secret(url)):
        return url
    raise ValueError("give an http or https address without a password; the key goes into a variable, see key_env")


class Heard(BaseModel, arbitrary_types_allowed=True):
    """What came of one attempt: words, or a fault."""

    words: Words = Words()
    fault: Fault | None = None
    tokens_in: Any = None
    """As reported; not believed yet."""
    tokens_out: Any = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Model:
    """An agent that is a language model."""

    name: str = Field(min_length=1)
    """LiteLLM's name: `openai/gpt-4o-mini`, `anthropic/...`, `ollama/...`."""
    temperature: float = Field(default=0.2, ge=0, le=2)
    """0 to 2; low by default, because runs are to be compared. Left out for models that do not take it."""
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000)
    """Most tokens of one reply; part of what is reserved before every call."""
    system: str = ""
    """Jinja2 template of the system text; empty: role and what the answer type says of itself."""
    prompt: str = ""
    """Jinja2 template of the question; empty: the context as delimited data."""
    prompts: dict[str, RolePrompt] = Field(default_factory=dict)
    """Templates by step or role, before `system` and `prompt`: `{replan: {system: ..., prompt: ...}}` or a text."""
    schema: Literal["auto", "native", "prompt"] = "auto"
    """Who demands the form of the answer: the provider, our words, or the provider where LiteLLM knows it can."""
    base_url: Annotated[str | None, AfterValidator(_harmless)] = None
    """Address of another server; without `key_env` no key is sent there."""
    key_env: Annotated[str | None, AfterValidator(_variable)] = None
    """Name of the environment variable that holds the key; None: the provider's usual one."""
    price: Price | None = None
    """US dollars per million tokens; None: LiteLLM's list. A model without either is refused."""
    retries: int = Field(default=3, ge=0, le=20)
    """Transport faults (rate limit, 5xx, reset, bad body) asked again per answer; a time-out is asked again once."""
    repairs: int = Field(default=1, ge=0, le=10)
    """Replies that are no answer sent back with the reason, per answer (SPEC 0.10)."""
    deadline: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds for one call in all, however its bytes arrive. 120: long answers of slow models take a minute."""
    backoff: float = Field(default=1.0, ge=0, le=600)
    """Seconds before the first retry; doubles each time, with jitter, up to `max_wait`."""
    max_wait: float = Field(default=60.0, ge=0, le=86_400)
    """Seconds that a server may make us wait (Retry-After); if it asks for more the run pauses."""
    max_bytes: int = Field(default=4_000_000, ge=1_000)
    """Bytes of one reply that are read; an answer of 100,000 tokens has about 500,000."""
    kind: ClassVar[str] = "model"
    metered: ClassVar[bool] = True
    """Each of its calls is reserved, journalled and settled by the run (SPEC 0.5)."""

    def answer(self, question: Question) -> Reply:
        """An answer of the wanted type.

        Raises `InvalidAnswer` (phase_error) when it cannot be had, `Paused` when a person or time is waited for,
        `BudgetExceeded` when the run's time is up, `ConfigError` before the first call. All list their calls.
        """
        self.ready()
        warm = self if question.temperature is None else dataclasses.replace(self, temperature=question.temperature)
        return Dialogue(warm, question).run()

    def ready(self) -> None:
        """Raises `ConfigError` if a call is bound to fail: no price, no key, no such provider. Makes no call."""
        self.tariff()
        self._provider()
        self._key()

    def tariff(self) -> Tariff:
        """The price in force."""
        return self.price or prices.listed(library().model_cost, self.name)

    def worst_case(self, messages: Messages, schema: str = "") -> Usage:
        """The most a call with `messages` can cost: a token per byte, and a reply of full length."""
        bound = prices.bound_in([*(m["content"] for m in messages), schema])
        return prices.worst(self.tariff(), bound, self.max_tokens)

    def native(self) -> bool:
        """Whether the provider is to hold the model to the schema."""
        if self.schema == "auto":
            return bool(prices.entry(library().model_cost, self.name).get("supports_response_schema"))
        return self.schema == "native"

    def hear(self, messages: Messages, returns: Any, seconds: float) -> Heard:
        """One request and what came of it, after at most `seconds`; never raises for what a server can do."""
        from looper.agents.wire import Wire, within

        wire, began = Wire(self.max_bytes), time.monotonic()
        call = self._request(messages, returns, seconds)
        came = within(seconds, wire, call)
        took = time.monotonic() - began
        if isinstance(came, BaseException) or wire.fault:
            error = came if isinstance(came, BaseException) else ValueError("the reply was cut off")
            return Heard(fault=classify(error, wire), seconds=took)
        return _heard(came, took)

    def _request(self, messages: Messages, returns: Any, seconds: float) -> Callable[[], Any]:
        litellm = library()
        more: dict[str, Any] = {"response_format": returns} if self.native() else {}
        if self._provider() in _SPEAKS_HTTPX:
            more["client"] = litellm.HTTPHandler(client=litellm.client_session)
        return lambda: litellm.completion(
            model=self.name,
            messages=messages,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            base_url=self.base_url,
            api_key=self._key(),
            timeout=seconds,
            num_retries=0,
            max_retries=0,
            drop_params=True,
            **more,
        )

    def _provider(self) -> str:
        litellm = library()
        try:
            return litellm.get_llm_provider(self.name, api_base=self.base_url)[1]
        except litellm.BadRequestError as error:
            hint = "write it as provider/name, like openai/gpt-4o-mini or ollama/llama3"
            raise ConfigError(f"model.name={self.name} names no provider that LiteLLM knows: {hint}.") from error

    def _key(self) -> str | None:
        """The key, or None to let LiteLLM find it. A server of the user's own is never sent another provider's key."""
        if self.key_env is not None:
            key = os.environ.get(self.key_env, "").strip()
            if not key:
                raise ConfigError(f"{self.name} needs a key: set the environment variable {self.key_env}.")
            redact.learn(key)
            return key
        if self.base_url is not None:
            return "unused"
        missing = library().validate_environment(self.name)["missing_keys"]
        if missing:
            names = " and ".join(missing)
            raise ConfigError(f"{self.name} needs a key: set {names}, or name another variable with model.key_env.")
        return None


def _heard(came: Any, took: float) -> Heard:
    """The parts of LiteLLM's response that matter; a response without them is a bad body."""
    try:
        choice = came.choices[0]
        message, usage = choice.message, getattr(came, "usage", None)
        words = Words(
            text=message.content or "",
            finish=choice.finish_reason or "stop",
            refusal=str(_extra(message, "refusal") or ""),
            tools=bool(message.tool_calls or _extra(message, "function_call")),
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        return Heard(fault=Fault("bad_body", redact.redact(f"no choices in the reply: {error}")), seconds=took)
    if not isinstance(words.text, str):
        return Heard(fault=Fault("bad_body", "the content of the reply is not text"), seconds=took)
    counts = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return Heard(words=words, tokens_in=counts[0], tokens_out=counts[1], seconds=took)


def _extra(message: Any, name: str) -> Any:
    """A field that some providers give, which LiteLLM keeps in one of two places."""
    return getattr(message, name, None) or (getattr(message, "provider_specific_fields", None) or {}).get(name)


def library() -> Any:
    """LiteLLM, quiet, with its own retries, callbacks and downloads off, and all its requests on our client."""
    with _loading:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
        import litellm

        if litellm.client_session is None:
            _settle(litellm)
    return litellm


def _settle(litellm: Any) -> None:
    from looper.agents.wire import client, nobody

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # It dumps replies that it built without validation; `_heard` checks what is used of them.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    with warnings.catch_warnings():  # its reply's schema is built on first use, with remarks on its own types
        warnings.simplefilter("ignore")
        litellm.ModelResponse()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.num_retries = 0
    litellm.callbacks, litellm.success_callback, litellm.failure_callback = [], [], []
    litellm.module_level_client = litellm.HTTPHandler(client=nobody())  # it asks servers about models unasked
    litellm.client_session = client()  # the last, for it tells that all this is done
