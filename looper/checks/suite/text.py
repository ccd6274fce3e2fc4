"""Words of a test run without what differs from run to run: addresses, temporary folders, durations."""

import re

from pydantic import BaseModel, Field

from looper.checks.evidence import cleaned
from looper.redact import redact

TEXT = 300
"""Characters of what a test said."""
EXCERPT = 2000
LONG = 8000
"""Characters of output from which on its beginning may be cut off."""
_LINE = 500
_INDENT = 40
_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{8,}\b|\b0x[0-9a-fA-F]{8,}\b")
_INSTALLED = re.compile(r"(?<![\w.])/[^\s'\":]{0,300}?/(site-packages|dist-packages|python3\.\d+(?!/site-packages))/")
"""Where this machine has its libraries."""
_UNIT = r"(?:s|ms|us|µs|ns|sec|secs|second|seconds|milliseconds)\b"
_DURATION = re.compile(
    rf"\b(in|after|took|for|elapsed:?) \d+\.\d+ ?{_UNIT}(?: \(\d+:\d\d:\d\d\))?"
    rf"|(?<!['\"\w.])\d+\.\d{{3,}} ?{_UNIT}"
)


class Places(BaseModel):
    """Where a box had the project and its temporary files."""

    work: str = Field(default="/box", pattern=r"^/.", max_length=500)
    tmp: str = Field(default="/tmp", pattern=r"^/.", max_length=500)

    def stable(self, text: str) -> str:
        """`text` as it is in every run: paths relative to the project, no address, no duration."""
        text = re.sub(rf"(?<![\w.]){re.escape(self.work)}(?:/|\b)", lambda at: "" if at[0].endswith("/") else ".", text)
        inner = r"(?:/(?:pytest-of-[\w-]+/pytest-\d+|tmp[\w-]{6,12}\b|looper-junit-\w+))?"
        text = re.sub(rf"(?<![\w.]){re.escape(self.tmp)}{inner}(?![\w-])", "<tmp>", text)
        text = _ADDRESS.sub("", _INSTALLED.sub(r"\1/", text))
        return _DURATION.sub(lambda at: f"{at[1]} <time>" if at[1] else "<time>", text)

    def line(self, text: str) -> str:
        """One line for a report."""
        return cleaned(self.stable(text[: TEXT * 20]), TEXT)

    def excerpt(self, output: str) -> str:
        """The last lines of what was printed, without secrets and without what acts on a terminal."""
        if len(output) > LONG and "\n" in output:
            output = output.partition("\n")[2]  # half a line may hold half a secret, which nobody knows
        lines = []
        for line in self.stable(redact(output)).splitlines():
            indent = min(len(line) - len(line.lstrip(" ")), _INDENT)
            lines.append(" " * indent + cleaned(line, _LINE))
        return "\n".join(lines).strip("\n")[-EXCERPT:]
