"""The notice fits on one page."""

import re
from pathlib import Path

LEAST, MOST = 260, 420
text = re.sub(r"\]\([^)]*\)", "] ", Path("artifact.md").read_text(encoding="utf-8"))
words = len(re.findall(r"[^\W_]+(?:['\u2019:.,@/-]+[^\W_]+)*", text))
verdict(LEAST <= words <= MOST, f"it has {words} words, not {LEAST} to {MOST}")
