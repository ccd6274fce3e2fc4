"""Features holds only what visitors can use on the launch day, in the languages that are ready."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, read

LATER = r"\bUkrainian\b|\bdonat\w*|\bby (?:\w+ )?card\b|\bfive languages\b"
LANGUAGES = ("English", "German", "Turkish", "Arabic")
features = read().section("Features")
problems = [f"Features has what does not come yet: {later[0]}" for later in re.finditer(LATER, features, re.IGNORECASE)]
problems += [f"Features does not name {name}" for name in LANGUAGES if not re.search(rf"\b{name}\b", features)]
verdict(*note(problems))
