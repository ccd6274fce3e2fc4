"""Where the server is and who asks: the address and the token, which is known by the name of its variable only."""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from looper import redact
from looper.errors import ConfigError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_RANDOM = re.compile(r"(?=.*\d)(?=.*[a-z])[A-Za-z0-9]{20,}")


@dataclass(frozen=True)
class Access:
    """How requests are signed."""

    token: str = field(default="", repr=False)
    """Empty: anonymous."""
    note: str = ""
    """What a reader should know of it."""

    @property
    def anonymous(self) -> bool:
        return not self.token

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def access(token_env: str | None) -> Access:
    """The token of the environment, which nothing may show from now on. Raises ConfigError if it cannot be sent."""
    if token_env is None:
        return Access(note="asked without a token: ten searches a minute")
    token = os.environ.get(token_env, "").strip()
    if not token:
        return Access(note=f"{token_env} is not set, asked without a token: ten searches a minute")
    redact.learn(token)
    if not re.fullmatch(r"[!-~]{8,1000}", token):
        raise ConfigError(f"the environment variable {token_env} does not hold a token: set it anew, or unset it.")
    return Access(token)


def variable(name: str | None) -> str | None:
    """For the setting `token_env`: a name, not a token by mistake."""
    if name is None or (_VARIABLE.fullmatch(name) and not redact.looks_like_secret(name) and not _RANDOM.match(name)):
        return name
    raise ValueError("give the name of an environment variable that holds the token, never the token itself")


def address(url: str) -> str:
    """For the setting `base_url`: an address without a password, query or slash at its end."""
    parts = urlsplit(url)  # a bracket or port that makes no sense is a ValueError, too
    extra = parts.username is not None or parts.password is not None or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or extra:
        raise ValueError("give an http or https address without password, query or fragment")
    if not re.fullmatch(r"[!-~]+", url) or redact.looks_like_secret(url):
        raise ValueError("give an address without spaces and secrets; the token goes into a variable, see token_env")
    return url.rstrip("/")


def plain_http(url: str) -> bool:
    """Whether everybody on the way to the server could read along."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not loopback(parts.hostname or "")


def loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
