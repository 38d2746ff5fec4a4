"""Translates Python modules to JavaScript, so that the command and the page answer alike.

`javascript.toml` lists the modules, `javascript.js.jinja` has the JavaScript for each kind of node
of a syntax tree, and `site/assets/javascripts/python.js` Python's built-in functions and methods.
ARCHITECTURE.md says what may be written in these modules.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from posixpath import dirname, relpath
from types import ModuleType
from typing import Any, NoReturn

from rl_resources.files import environment, table_beside
from rl_resources.site import OWN

_TABLE = table_beside(__file__)
MODULES: Mapping[str, Mapping[str, Any]] = _TABLE["modules"]
_PLACES: Mapping[str, str] = {
    **{row["source"]: path for path, row in MODULES.items()},
    **_TABLE["by_hand"],
}
"""The JavaScript module that takes the place of each Python module."""
_TYPES = {"annotation", "returns", "decorator_list", "bases"}
"""The fields of a node that JavaScript has no use for."""

_TAKEN: Mapping[str, Sequence[int]] = {
    **_TABLE["built_in"],
    **_TABLE["imported"],
    **_TABLE["methods"],
    **_TABLE["same_methods"],
}
_KINDS = (dict, float, int, list, set, str, tuple)
"""Python's own kinds of values, whose methods JavaScript lacks or has otherwise."""

Definition = ast.FunctionDef | ast.ClassDef


def files() -> dict[str, str]:
    """The modules by their paths on the site."""
    return {f"javascripts/{path}": _module(path) for path in MODULES}


@cache
def _module(path: str) -> str:
    row = MODULES[path]
    python = import_module(row["source"])
    return translated(python, row["names"], dirname(path), row.get("omitted", ()))


def translated(
    python: ModuleType, names: Sequence[str], folder: str, omitted: Sequence[str] = ()
) -> str:
    """The functions and classes of these names, with all that they use, as a JavaScript module.

    It will be in `folder`, and lacks the `omitted` methods, which only Python needs. Raises
    `NotImplementedError` for what has no JavaScript.
    """
    definitions = _reached(python, names, omitted)
    used = set(_used(*definitions.values()))
    for name in used & vars(builtins).keys() - _TABLE["built_in"].keys():
        raise NotImplementedError(f"has no JavaScript: {name}")
    imports = {
        "* as $": "python.js",
        f"{{ {', '.join(_TABLE['built_in'])} }}": "python.js",
    }
    data: dict[str, str] = {}
    for name in sorted(used & vars(python).keys() - definitions.keys()):
        value = vars(python)[name]
        if isinstance(value, ModuleType):
            imports[f"* as {name}"] = _place(name, value.__name__)
        elif _is_table(value) and value.__module__ == python.__name__:
            data[name] = f"$.always({_json(value())})"
        elif callable(value):
            imports[f"{{ {name} }}"] = _place(name, value.__module__)
        else:
            data[name] = _json(value)
    places = {name: relpath(place, folder) for name, place in imports.items()}
    return str(_macros().module(places, data, definitions))


def _place(name: str, module: str) -> str:
    """The module of the page that has what a Python module calls by a name."""
    if module not in _PLACES:
        raise NotImplementedError(f"has no JavaScript: {name}")
    return _PLACES[module]


def _is_table(value: Any) -> bool:
    """Whether it is a cached function without arguments, which returns data."""
    return hasattr(value, "cache_info") and not inspect.signature(value).parameters


def _json(value: object) -> str:
    if isinstance(value, re.Pattern):
        return f"re.compile({json.dumps(value.pattern)})"
    if hasattr(value, "_fields"):
        _no_data(value)
    return json.dumps(value, default=_no_data, ensure_ascii=False)


def _no_data(value: object) -> NoReturn:
    """Refuse a set, which would become a list, and what has fields."""
    raise NotImplementedError(f"has no JavaScript: {value}")


def _reached(
    python: ModuleType, names: Iterable[str], omitted: Sequence[str]
) -> dict[str, Definition]:
    """The functions and classes of a module by name, with all that they use of it."""
    tree = ast.parse(inspect.getsource(python))
    known: dict[str, Definition] = {}
    for one in tree.body:
        if isinstance(one, Definition) and not _is_table(vars(python)[one.name]):
            one.body = [
                part for part in one.body if getattr(part, "name", "") not in omitted
            ]
            known[one.name] = one
    waiting = list(names)
    found: dict[str, Definition] = {}
    while waiting:
        name = waiting.pop()
        if name in known and name not in found:
            found[name] = known[name]
            waiting += _used(known[name])
    return found


def _used(*nodes: ast.AST) -> Iterator[str]:
    """The names that are used in nodes, except in annotations and decorators."""
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        for field, value in ast.iter_fields(node):
            if field in _TYPES:
                continue
            parts = value if isinstance(value, list) else [value]
            yield from _used(*(part for part in parts if isinstance(part, ast.AST)))


@cache
def _macros() -> Any:
    """The macros, each named after the kind of node that it translates."""
    given = {
        "js": _js,
        "refused": _refused,
        "kind": _kind,
        "yields": _yields,
        "methods": _TABLE["methods"],
        "written": _written,
        "is_called_right": _is_called_right,
    }
    return environment(OWN).get_template("javascript.js.jinja", globals=given).module


def _kind(node: ast.AST) -> str:
    return type(node).__name__


def _written(nodes: Iterable[ast.AST]) -> list[str]:
    """The source of nodes."""
    return list(map(ast.unparse, nodes))


def _is_called_right(call: ast.Call) -> bool:
    """Whether a function or a method of Python is given no more than `python.js` takes."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    names = {keyword.arg for keyword in call.keywords}
    if name in _TABLE["built_in"] and not names <= {"key", "default", "strict"}:
        return False
    if name in _TAKEN:
        return len(call.args) in _TAKEN[name]
    is_method = isinstance(call.func, ast.Attribute)
    return not (is_method and any(hasattr(kind, name) for kind in _KINDS))


def _yields(function: ast.FunctionDef) -> bool:
    """Whether it is a generator."""
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function))


def _js(node: ast.AST) -> str:
    """A node in JavaScript. Raises `NotImplementedError`."""
    macro = getattr(_macros(), _kind(node), _refused)
    return str(macro(node))


def _refused(node: ast.AST) -> NoReturn:
    raise NotImplementedError(f"has no JavaScript: {ast.unparse(node)}")
