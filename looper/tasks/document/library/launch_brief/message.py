"""The message is one sentence of at most 20 words in bold."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, read, words

section = read().section("Audience and message")
bold = [" ".join(match[2].split()) for match in re.finditer(r"(\*\*|__)(?=\S)((?:(?!\1)[\s\S])+)\1", section)]
sentences = [text for text in bold if words(text) >= 6]
problems = [] if sentences else ["Audience and message has no sentence in bold"]
if sentences and not any(words(text) <= 20 and len(re.findall(r"[.?](?=\s|$)", text)) == 1 for text in sentences):
    problems.append(f"the message is one sentence of at most 20 words with a full stop; it has {words(sentences[0])}")
verdict(*note(problems))
