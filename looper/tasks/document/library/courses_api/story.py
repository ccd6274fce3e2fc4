"""The five examples tell one story: the same course, its price as it was paid, a problem that the codes know."""

import json
import re
from pathlib import Path

text = Path("artifact.md").read_text(encoding="utf-8")
NAMES = ("course-draft.json", "course.json", "course-page.json", "enrolment.json", "problem.json")


def block(info: str) -> str:
    """The text of a fenced block; a missing one is an error, and so no verdict."""
    return re.search(rf"^(`{{3,}}|~{{3,}}) *{re.escape(info)} *\n(.*?)^\1", text, re.MULTILINE | re.DOTALL)[2]


def example(name: str) -> dict:
    return json.loads(block(f"json {name}"))


draft, course, page, enrolment, problem = map(example, NAMES)
specification = block("yaml openapi.yaml")
known = re.search(rf"(?<![\w-]){re.escape(problem['code'])}(?![\w-])", specification) is not None
claims = {
    "the course keeps the details of its draft": all(course[key] == draft[key] for key in draft),
    "the page holds the course": any(item == course for item in page["items"]),
    "the enrolment is of the course": enrolment["courseId"] == course["id"],
    "the learner paid the price": enrolment["paid"] == course["price"],
    "the code of the problem is in the specification": known,
    "the enrolment has its own identity": len({enrolment["id"], course["id"]}) == 2,
}
wrong = [claim for claim, holds in claims.items() if not holds]
verdict(not wrong, "not so: " + "; ".join(wrong))
