"""Faulty programs and their fixes, a different kind of fault each; written for these tests."""

from typing import NamedTuple


class Pair(NamedTuple):
    name: str
    fixed: str
    good: str
    bad: str
    """The one fragment of `fixed` and what stands there in the faulty program."""
    calls: list[tuple]
    """Arguments of the last function of the program."""

    @property
    def faulty(self) -> str:
        assert self.fixed.count(self.good) == 1, self.name
        return self.fixed.replace(self.good, self.bad)


PAIRS = [
    Pair("comparison", """
def grade(points, limits):
    level = 0
    for limit in limits:
        if points >= limit:
            level += 1
        else:
            break
    return level
""", "points >= limit", "points > limit", [(5, [1, 5, 9]), (0, [1]), (7, [2, 3]), (9, [1, 5, 9])]),
    Pair("wrong operator", """
def checksum(values):
    total = 0
    for place, value in enumerate(values):
        total ^= value << (place % 4)
    return total & 255
""", "total ^= value", "total |= value", [([1, 2, 3],), ([],), ([7, 7, 7, 9],), ([255],)]),
    Pair("off by one in range", """
def triangular(n):
    rows = []
    for k in range(1, n + 1):
        rows.append(k * (k + 1) // 2)
    return rows
""", "range(1, n + 1)", "range(1, n)", [(0,), (1,), (4,)]),
    Pair("wrong initial value", """
def product(values):
    result = 1
    for value in values:
        result *= value
    return result
""", "result = 1", "result = 0", [([],), ([2, 3],), ([4],)]),
    Pair("lost update", """
def longest_run(text):
    best = run = 0
    before = None
    for letter in text:
        if letter == before:
            run += 1
        else:
            run = 1
        best = max(best, run)
        before = letter
    return best
""", "        before = letter\n", "", [("aabbb",), ("",), ("abc",), ("zzzz",)]),
    Pair("missing guard", """
def mean(values):
    if not values:
        return 0
    return sum(values) / len(values)
""", "    if not values:\n        return 0\n", "", [([],), ([1, 2],), ([5],)]),
    Pair("and for or", """
def outside(x, low, high):
    return x < low or x > high
""", " or ", " and ", [(1, 2, 3), (2, 2, 3), (9, 2, 3)]),
    Pair("negated condition", """
def odd_positions(values):
    kept = []
    for i, value in enumerate(values):
        if not i % 2 == 0:
            kept.append(value)
    return kept
""", "not i % 2 == 0", "i % 2 == 0", [([1, 2, 3],), ([4],), ([1, 1, 2, 2],)]),
    Pair("wrong variable", """
def transpose(rows):
    if not rows:
        return []
    width = len(rows[0])
    height = len(rows)
    return [[rows[r][c] for r in range(height)] for c in range(width)]
""", "for r in range(height)]", "for r in range(width)]", [([],), ([[1, 2], [3, 4]],), ([[1, 2, 3]],), ([[1], [2]],)]),
    Pair("argument order", """
def power(base, exponent):
    if exponent == 0:
        return 1
    half = power(base, exponent // 2)
    return half * half * (base if exponent % 2 else 1)


def table(bases, n):
    return [power(b, n) for b in bases]
""", "power(b, n)", "power(n, b)", [([1, 2, 3], 2), ([], 1), ([5, 2], 3)]),
    Pair("wrong function", """
def tallest(columns):
    return max(len(column) for column in columns)
""", "max", "min", [([[1], [1, 2]],), ([[], [1]],), ([[3]],)]),
    Pair("missing call around", """
def spread(values):
    worst = 0
    for one in values:
        for two in values:
            worst = max(worst, abs(one - two) % 10)
    return worst
""", "abs(one - two)", "(one - two)", [([1, 5],), ([3],), ([9, 2, 4],)]),
    Pair("superfluous call", """
def initials(names):
    return [name[0] for name in names]
""", "in names]", "in sorted(names)]", [(["b", "a"],), (["x"],), (["zoe", "al", "mia"],)]),
    Pair("slice bound", """
def rotate(items, k):
    if not items:
        return items
    k %= len(items)
    return items[-k:] + items[:-k] if k else items
""", "items[:-k]", "items[:k]", [([], 1), ([1, 2, 3], 1), ([1, 2, 3, 4], 3), ([1, 2], 2)]),
    Pair("whole for a part", """
def flatten(tree):
    if not isinstance(tree, list):
        return [tree]
    if not tree:
        return []
    return flatten(tree[0]) + flatten(tree[1:])
""", "flatten(tree[1:])", "flatten(tree)", [(1,), ([1, [2]],), ([[], 3],)]),
    Pair("return left a loop too early", """
def all_positive(values):
    for value in values:
        if value <= 0:
            return False
    return True
""", "    return True", "        return True", [([1, -1],), ([1, 2],), ([-1],), ([2, 3, 0],)]),
    Pair("statement inside the block", """
def count_words(text):
    counts = {}
    for word in text.split():
        if word not in counts:
            counts[word] = 0
        counts[word] += 1
    return counts
""", "        counts[word] += 1", "            counts[word] += 1", [("a b a",), ("",), ("x x x",)]),
    Pair("order of statements", """
def fibonacci(n):
    a, b = 0, 1
    out = []
    while len(out) < n:
        out.append(a)
        following = a + b
        a = b
        b = following
    return out
""", "        following = a + b\n        a = b\n", "        a = b\n        following = a + b\n", [(0,), (1,), (7,)]),
    Pair("break for continue", """
def sum_of_even(values):
    total = 0
    for value in values:
        if value % 2:
            continue
        total += value
    return total
""", "continue", "break", [([2, 1, 4],), ([2, 3, 4],), ([],)]),
    Pair("string constant", """
def vowels(text):
    return sum(letter in "aeiouAEIOU" for letter in text)
""", "aeiouAEIOU", "aeiou", [("Anna",), ("OTTO",), ("xyz",), ("eel",)]),
    Pair("sort key", """
def ranking(scores):
    ordered = sorted(scores.items(), key=lambda item: item[1])
    return [name for name, score in ordered]
""", "item[1]", "item[0]", [({"a": 3, "b": 1},), ({},), ({"x": 1, "y": 2},)]),
    Pair("reverse flag", """
def largest(values, k):
    return sorted(values, reverse=True)[:k]
""", "sorted(values, reverse=True)", "sorted(values)", [([3, 1, 2], 2), ([], 1), ([5], 1), ([1, 9, 4], 1)]),
    Pair("yield from", """
def walk(tree):
    for child in tree:
        if isinstance(child, list):
            yield from walk(child)
        else:
            yield child


def leaves(tree):
    return list(walk(tree))
""", "yield from walk(child)", "yield walk(child)", [([1, [2, [3]]],), ([],), ([4],)]),
    Pair("integer division", """
def middle(values):
    values = sorted(values)
    half = len(values) // 2
    if len(values) % 2:
        return values[half]
    return (values[half - 1] + values[half]) / 2
""", "values[half]) / 2", "values[half]) // 2", [([1],), ([1, 2],), ([4, 1, 3],), ([1, 2, 3, 4],)]),
    Pair("missing condition part", """
def merge(left, right):
    out = []
    i = j = 0
    while i < len(left) or j < len(right):
        if j == len(right) or i < len(left) and left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out
""", "i < len(left) and left[i]", "left[i]", [([1, 3], [2]), ([], [1]), ([1], []), ([4], [1, 5])]),
    Pair("wrong attribute", """
class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


def build(values):
    node = None
    for value in values:
        node = Node(value, node, Node(-value))
    return node


def tree_sum(values):
    node, total = build(values), 0
    while node:
        total += node.value
        if node.right:
            total += node.right.value
        node = node.left
    return total + len(values)
""", "node = node.left", "node = node.right", [([1, 2],), ([],), ([3],)]),
    Pair("missing step of the recursion", """
def digits(n, base):
    if n < base:
        return [n]
    return digits(n // base, base) + [n % base]
""", "digits(n // base, base)", "digits(n // base, 10)", [(5, 10), (6, 2), (255, 16)]),
    Pair("default of an argument", """
def shorten(text, width=8, mark="."):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
""", "width=8", "width=9", [("abcdefghij",), ("abc",), ("abcdefghi",)]),
    Pair("filter of a comprehension", """
def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]
""", " if n % d == 0", "", [(1,), (6,), (7,)]),
    Pair("accumulation lost", """
def prefix_sums(values):
    total = 0
    out = []
    for value in values:
        total += value
        out.append(total)
    return out
""", "total += value", "total = value", [([1, 2, 3],), ([],), ([4],)]),
    Pair("missing base case", """
def choose(n, k):
    if k > n:
        return 0
    if k == 0:
        return 1
    return choose(n - 1, k - 1) + choose(n - 1, k)
""", "    if k == 0:\n        return 1\n", "", [(3, 1), (4, 2), (2, 5), (0, 0)]),
    Pair("missing append", """
def groups(values, size):
    out, current = [], []
    for value in values:
        current.append(value)
        if len(current) == size:
            out.append(current)
            current = []
    if current:
        out.append(current)
    return out
""", "    if current:\n        out.append(current)\n", "", [([1, 2, 3], 2), ([], 1), ([1], 3), ([1, 2], 2)]),
    Pair("missing lower", """
def same_letters(one, two):
    return sorted(one.lower()) == sorted(two.lower())
""", "sorted(two.lower())", "sorted(two)", [("Tea", "Eat"), ("a", "b"), ("x", "x")]),
    Pair("missing term", """
def depth(tree):
    if not isinstance(tree, list):
        return 0
    deepest = 0
    for child in tree:
        deepest = max(deepest, depth(child))
    return deepest + 1
""", "deepest + 1", "deepest", [(1,), ([],), ([1, [2]],)]),
    Pair("wrong bound of a search", """
def position(values, wanted):
    low, high = 0, len(values) - 1
    while low <= high:
        mid = (low + high) // 2
        if values[mid] == wanted:
            return mid
        if values[mid] < wanted:
            low = mid + 1
        else:
            high = mid - 1
    return -1
""", "low = mid + 1", "low = mid + 2", [([1, 2, 3], 3), ([1, 2, 3], 2), ([], 1), ([1, 2, 4, 5, 9], 5)]),
    Pair("swapped branches", """
def sign(x):
    if x < 0:
        return -1
    return 1 if x else 0
""", "1 if x else 0", "0 if x else 1", [(1,), (0,), (-4,)]),
    Pair("key of a dictionary", """
def invert(mapping):
    out = {}
    for key, value in mapping.items():
        out[value] = key
    return out
""", "out[value] = key", "out[key] = value", [({"a": "b"},), ({},), ({1: 2, 3: 4},)]),
    Pair("tuple order", """
def bounds(values):
    low = high = values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high
""", "return low, high", "return high, low", [([1, 2],), ([3],), ([5, 0, 9],)]),
    Pair("missing early exit", """
def first_repeat(values):
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
""", "        seen.add(value)\n", "", [([1, 2, 1],), ([],), ([3, 3],), ([1, 2],)]),
    Pair("while for if", """
def strip_twos(n):
    while n % 2 == 0:
        n //= 2
    return n
""", "while", "if", [(8,), (3,), (12,), (2,)]),
    Pair("elif chain", """
def label(n):
    out = ""
    if n % 3 == 0:
        out += "Fizz"
    if n % 5 == 0:
        out += "Buzz"
    return out or str(n)
""", "    if n % 5", "    elif n % 5", [(15,), (3,), (5,), (7,)]),
    Pair("list aliased", """
def snapshots(values):
    current, out = [], []
    for value in values:
        current.append(value)
        out.append(current[:])
    return out
""", "current[:]", "current", [([1, 2],), ([],), ([3],)]),
    Pair("superfluous term", """
def area(width, height):
    border = 2 * (width + height)
    inner = width * height
    return inner, border
""", "inner = width * height", "inner = width * height - border", [(2, 3), (1, 1)]),
    Pair("every other slice of a statement", """
def sorted_thirds(values):
    values = list(values)
    values[::3] = sorted(values[::3])
    return values
""", "values[::3] = sorted(values[::3])", "values[1::3] = sorted(values[1::3])",
         [([3, 2, 1, 0, 5],), ([],), ([9, 1, 4, 2, 8, 7, 1],)]),
    Pair("counterpart of a condition", """
def in_order(values):
    if values == sorted(values) or values == sorted(values, reverse=True):
        return "ordered"
    return "mixed"
""", " or values == sorted(values, reverse=True)", "", [([1, 2],), ([3, 1],), ([1, 3, 2],), ([],)]),
    Pair("predicate of the program forgotten", """
def leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def leap_years(years):
    found = []
    for year in years:
        if year > 0 and leap(year):
            found.append(year)
    return found
""", "year > 0 and leap(year)", "year > 0", [([1900, 2000, 2023],), ([],), ([4, 8],)]),
    Pair("half of a sum", """
def midpoint(left, right):
    return (left + right) // 2
""", "(left + right) // 2", "(left + right)", [(2, 4), (0, 0), (1, 8)]),
    Pair("balance may not go below zero", """
def covered(moves):
    stock = 0
    for move in moves:
        if move == "in":
            stock += 1
        else:
            stock -= 1
        if stock < 0:
            return False
    return stock == 0
""", "        if stock < 0:\n            return False\n", "", [(["in", "out"],), (["out", "in"],), (["in"],), ([],)]),
    Pair("order by a table", """
def by_rank(names):
    rank = {"small": 0, "medium": 1, "large": 2}
    return sorted(names, key=lambda item: rank[item])
""", ", key=lambda item: rank[item]", "", [(["large", "small"],), (["medium", "small", "large"],), ([],)]),
    Pair("smaller problem of a recursion", """
def kth_of(parts, k):
    head = parts[0]
    if k < len(head):
        return head[k]
    passed = len(head)
    return kth_of(parts[1:], k - passed)
""", "k - passed", "k", [([[1], [2, 3]], 1), ([[1], [2, 3]], 2), ([[4]], 0)]),
    Pair("letter missing from a list", """
def consonants(word):
    return [c for c in word if c.lower() not in ["a", "e", "i", "o", "u"]]
""", '["a", "e", "i", "o", "u"]', '["a", "e", "i", "u"]', [("boat",), ("rhythm",), ("aeiou",)]),
    Pair("stack only emptied", """
def closers(text):
    stack, out = [], []
    for letter in text:
        if letter == "(":
            out.append("+")
            stack.append(letter)
        else:
            out.append(stack.pop() if stack else "?")
    return out
""", "            stack.append(letter)\n", "", [("()",), (")",), ("(())",)]),
]  # fmt: skip
