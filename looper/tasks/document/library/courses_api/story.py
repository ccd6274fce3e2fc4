"""The five examples tell one story: the same course, its price as it was paid, a problem that the codes know."""

import json
import re
from pathlib import Path

text = Path("artifact.md").read_text(encoding="utf-8")
NAMES = ("course-draft.json", "course.json", "course-page.json", "enrolment.json", "problem.json")


def example(name: str) -> dict:
    """A missing or broken block is an error, and so no verdict."""
    block = re.search(rf"^```json {re.escape(name)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return json.loads(block[1])


draft, course, page, enrolment, problem = map(example, NAMES)
specification = re.search(r"^```ya?ml openapi\.yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
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
