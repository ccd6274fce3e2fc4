"""What a worker has to know to examine candidates of a problem: everything but expected values."""

import sys
from typing import Any

from looper.tasks.repair.examine.codec import encode
from looper.tasks.repair.examine.loading import imported
from looper.tasks.repair.problem import Cases, Problem, Script, Tests


def installed() -> list[str]:
    """Where third-party packages are, for a worker that starts without looking for them."""
    return [path for path in sys.path if "site-packages" in path or "dist-packages" in path]


def frozen_imports(problem: Problem, tests: Tests) -> list[str]:
    """What can be imported before the candidate is known: not the program, and no module that imports it."""
    sources = [problem.source, *problem.support.values()]
    if isinstance(tests, Script):
        sources.append(tests.text)
    local = {path.removesuffix(".py").replace("/", ".") for path in problem.support}
    circular = any(problem.module in imported(source) for source in problem.support.values())
    names = dict.fromkeys(name for source in sources for name in imported(source))
    own = {problem.module, *(local if circular else ())}
    return [name for name in names if name not in own]


def setting(problem: Problem, tests: Tests, seconds: float, memory_mb: int) -> dict[str, Any]:
    """The specification of a worker for data or script tests."""
    spec: dict[str, Any] = {
        "role": "zygote",
        "kind": tests.kind,
        "module": problem.module,
        "source": problem.source,
        "support": problem.support,
        "preload": frozen_imports(problem, tests),
        "path_first": [],
        "path_last": installed(),
        "seconds": seconds,
        "memory_mb": memory_mb,
    }
    if isinstance(tests, Cases):
        spec.update(function=tests.function, calls=[encode(case.args) for case in tests.cases])
    elif isinstance(tests, Script):
        spec.update(text=tests.text, entry=tests.entry)
    return spec
