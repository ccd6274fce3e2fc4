"""A small project with a seeded fault in each of two modules, and runs on it."""

from pathlib import Path
from typing import Any

from looper.checks.sandbox import Sandbox
from looper.checks.suite.run import Suite
from looper.tasks.project.task import Project

GIVEN = {
    "shop/__init__.py": "",
    "shop/cart.py": '''"""A cart of articles."""

from shop.price import total


class Cart:
    """What somebody wants to buy."""

    def __init__(self):
        self.items = {}

    def add(self, name, price, count=1):
        self.items[name] = (price, count)

    def total(self):
        return total(self.items.values())
''',
    "shop/price.py": '''"""Prices."""


def total(items):
    return sum(price for price, count in items)
''',
    "tests/test_cart.py": """from shop.cart import Cart


def test_one():
    cart = Cart()
    cart.add("tea", 3)
    assert cart.total() == 3


def test_twice():
    cart = Cart()
    cart.add("tea", 3)
    cart.add("tea", 3)
    assert cart.total() == 6
""",
    "tests/test_price.py": """from shop.price import total


def test_nothing():
    assert total([]) == 0


def test_counts():
    assert total([(3, 2), (1, 1)]) == 7
""",
}
HIDDEN = """from shop.cart import Cart


def test_three_times():
    cart = Cart()
    for _ in range(3):
        cart.add("tea", 2, 2)
    assert cart.total() == 12
"""
COUNTED = ("self.items[name] = (price, count)", "self.items[name] = (price, count + self.items.get(name, (0, 0))[1])")
PRICED = ("sum(price for price", "sum(price * count for price")
REFERENCE = """diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,7 +10,7 @@
         self.items = {}
 
     def add(self, name, price, count=1):
-        self.items[name] = (price, count)
+        self.items[name] = (price, count + self.items.get(name, (0, 0))[1])
 
     def total(self):
         return total(self.items.values())
diff --git a/shop/price.py b/shop/price.py
--- a/shop/price.py
+++ b/shop/price.py
@@ -2,4 +2,4 @@
 
 
 def total(items):
-    return sum(price for price, count in items)
+    return sum(price * count for price, count in items)
"""


def written(folder: Path, files: dict[str, str] | None = None) -> Path:
    """The project's folder."""
    for path, text in (files or GIVEN).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def project(place: Path, **settings: Any) -> Project:
    """The task on a fresh copy of the project, with a hidden test and a reference."""
    folder = written(place / "project")
    (place / "hidden.py").write_text(HIDDEN)
    (place / "reference.patch").write_text(REFERENCE)
    known: dict[str, Any] = {
        "name": "shop", "prompt": "The cart adds up wrongly.\nMake it right.", "workspace": str(folder),
        "sandbox": Sandbox(), "suite": Suite(seconds=20), "reference": str(place / "reference.patch"),
        "holdout_tests": {"tests/test_hidden.py": str(place / "hidden.py")},
    }  # fmt: skip
    return Project(**{**known, **settings})
