"""Strict YAML: the core schema, no duplicate keys, no tags that build objects, bounded depth and size.

Values are what JSON can hold; keys are text as it was written (`200:` is the key "200").
"""

import re
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import yaml

from looper.checks.reading.unreadable import Unreadable

MAX_DEPTH = 100
MAX_NODES = 1_000_000
"""Values in a document with every alias written out; a billion laughs has a billion."""
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StrictLoader(_Safe):
    """YAML's core schema, without duplicate keys; any other tag is an error."""

    yaml_implicit_resolvers: ClassVar[dict[str | None, list[tuple[str, re.Pattern[str]]]]] = {}
    yaml_constructors: ClassVar[dict[str | None, Callable[..., Any]]] = {}

    def text_mapping(self, node: Any) -> Any:
        data: dict[str, Any] = {}
        yield data
        self.refuse_duplicates(node)
        self.flatten_mapping(node)
        for key, value in node.value:
            data[self.key(key)] = self.construct_object(value)

    def key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise Unreadable("a key of the YAML is no plain text", node.start_mark.line + 1)
        return node.value

    def refuse_duplicates(self, node: Any) -> None:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                name = self.key(key)
                if name in seen:
                    raise Unreadable(f"the YAML key {name[:80]!r} is given twice", key.start_mark.line + 1)
                seen.add(name)

    def whole(self, node: Any) -> int:
        try:
            return int(node.value, 0) if node.value[1:2] in ("x", "o") else int(node.value)
        except ValueError as error:  # Python refuses more than 4,300 digits
            raise Unreadable("a number of the YAML has too many digits", node.start_mark.line + 1) from error

    def unknown(self, node: Any) -> Any:
        raise Unreadable(f"the YAML tag {node.tag[:80]!r} is not allowed", node.start_mark.line + 1)


def _set_up() -> None:
    resolvers = {
        "null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
        "int": (r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
        "float": (
            r"^[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.inf|\.Inf|\.INF)$"
            r"|^\.nan$",
            list("-+0123456789."),
        ),
        "merge": (r"^<<$", ["<"]),
    }
    for name, (pattern, first) in resolvers.items():
        StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), first)
    makers: dict[str | None, Callable[..., Any]] = {
        "map": StrictLoader.text_mapping,
        "seq": StrictLoader.construct_yaml_seq,
        "str": StrictLoader.construct_yaml_str,
        "null": StrictLoader.construct_yaml_null,
        "bool": StrictLoader.construct_yaml_bool,
        "float": StrictLoader.construct_yaml_float,
        "int": StrictLoader.whole,
    }
    for tag, make in makers.items():
        StrictLoader.add_constructor(f"tag:yaml.org,2002:{tag}", make)
    StrictLoader.add_constructor(None, StrictLoader.unknown)


_set_up()


class _Bounds:
    """Depth of a YAML stream, and its size with all aliases written out."""

    def __init__(self) -> None:
        self.open: list[tuple[str | None, int]] = []
        self.sizes: dict[str, int] = {}
        self.size = 0

    def see(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, self.size))
            if len(self.open) > MAX_DEPTH:
                raise Unreadable(f"the YAML is nested deeper than {MAX_DEPTH} levels", event.start_mark.line + 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            if anchor:
                self.sizes[anchor] = self.size - before + 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self.open):
                raise Unreadable(f"the YAML alias *{event.anchor} contains itself", event.start_mark.line + 1)
            self.size += self.sizes.get(event.anchor, 1)
        self.size += 1
        if self.size > MAX_NODES:
            raise Unreadable(f"the YAML stands for more than {MAX_NODES} values", event.start_mark.line + 1)


def load_yaml(text: str) -> list[Any]:
    """The documents of a YAML stream. Raises Unreadable."""
    bounds = _Bounds()
    try:
        for event in yaml.parse(text, Loader=_Safe):
            bounds.see(event)
        return list(yaml.load_all(text, Loader=StrictLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(f"no valid YAML: {error.problem or error.context}", mark.line + 1 if mark else 0) from error
    except yaml.YAMLError as error:
        raise Unreadable(f"no valid YAML: {str(error).splitlines()[0]}") from error
