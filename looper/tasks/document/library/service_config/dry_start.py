"""Check script: variables are replaced as the loader does it, for a bare site and for one that sets everything."""

import re
from collections.abc import Callable
from pathlib import Path

verdict: Callable[[bool, str], None] = globals()["verdict"]
REFERENCE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::-([^}\n]*))?\}")
REQUIRED = ("TLS_CERT", "TLS_KEY", "WEB_ORIGIN", "CARRIER_URL", "CARRIER_KEY", "DATABASE_URL")
DEFAULTS = {"HOST": "0.0.0.0", "PORT": "8443", "LOG_LEVEL": "info", "SPOOL_DIR": "/var/lib/parcels/spool"}


def started(lines: list[str], site: dict[str, str]) -> tuple[str, str]:
    """The settings of a site, and why it does not start, if it does not."""
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        if match[1] not in site and match[2] is None:
            unset.append(match[1])
        return site.get(match[1], match[2] or "")

    text = "\n".join(REFERENCE.sub(value, re.split(r"(?:^|\s)#", line, maxsplit=1)[0]) for line in lines)
    if unset:
        return text, f"{unset[0]} is not set by a site that sets all that must be set"
    rest = re.search(r"\$\{?\w+", text)
    return text, f"{rest[0]} is no reference that the loader knows" if rest else ""


def wrong(lines: list[str]) -> str:
    bare = {f"PARCELS_{name}": f"value-of-{name.lower()}" for name in REQUIRED}
    full = bare | {f"PARCELS_{name}": f"value-of-{name.lower()}" for name in DEFAULTS}
    for site, wanted in ((bare, [*bare.values(), *DEFAULTS.values()]), (full, list(full.values()))):
        text, problem = started(lines, site)
        found = set(re.split(r"[\s\"',\[\]]+", text))
        missing = [value for value in wanted if value not in found]
        if problem or missing:
            return problem or f"{missing[0]} is nowhere in the settings of a site that gives it"
    return ""


problem = wrong(Path("parcels.yaml").read_text(encoding="utf-8").splitlines())
verdict(not problem, problem)
