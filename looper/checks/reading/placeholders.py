"""What stands in configuration for a value that is given elsewhere."""

import re

REFERENCE = re.compile(r"\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|\$[A-Za-z_]\w*|\{\{[^}\n]{0,200}\}\}|<[^<>\n]{1,100}>"
                       r"|%[A-Za-z_]\w*%|%\(\w+\)s|\{[A-Za-z_][\w.]*\}")  # fmt: skip
"""`${NAME}`, `$NAME`, `{{ name }}`, `<your key>`, `%NAME%`."""
_WORDS = re.compile(
    r"(?:change[-_ ]?me|changeit|replace[-_ ]?me|placeholder|example|dummy|fake|redacted|todo|tbd|none|null|nil|true|"
    r"false|string|str|bytes|integer|int|number|bool|boolean|required|optional|secret|password|token|key|value|"
    r"your[-_ ].*|my[-_ ].*[-_ ]here|.*[-_ ]here|x{3,}.*|\*{2,}|\.{3}|-+|_+|\[redacted\]|~|env|vault)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"(?i)^(?:!?env|vault|file|ssm|sops|op|aws-sm|gcp-sm|secretref|secretkeyref|arn)[:/ ]|^!|^/")


def placeholder(value: str) -> bool:
    """Whether a value stands for one that is given elsewhere, or is no value at all."""
    value = REFERENCE.sub("", value.strip().strip("\"'`")).strip()
    return not value.strip(":/@-_. ") or bool(_WORDS.fullmatch(value)) or bool(_ELSEWHERE.match(value))
