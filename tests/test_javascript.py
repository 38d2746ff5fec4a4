"""Modules of the page that are written in Python answer as Python does."""

import ast
import json
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getsource
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import pytest

from cases import cases
from conftest import answers_in_node
from rl_resources.site.javascript import MODULES, translated

Node = TypeVar("Node", bound=ast.AST)


def module(folder: Path, python: str) -> ModuleType:
    path = folder / "asked.py"
    path.write_text(python)
    spec = spec_from_file_location("asked", path)
    assert spec
    assert spec.loader
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@cases("javascript", "alike")
def test_javascript_answers_as_python_does(tmp_path, python, given):
    asked = module(tmp_path, python)
    files = {"asked.js": translated(asked, ["f"], "")}
    answers = answers_in_node("python", files, given, tmp_path / "modules")
    assert answers == json.loads(json.dumps([asked.f(*one) for one in given]))


@cases("javascript", "refused")
def test_what_has_no_javascript_ends_a_build(tmp_path, python, shown):
    asked = module(tmp_path, python)
    with pytest.raises(NotImplementedError) as error:
        translated(asked, ["f"], "")
    assert str(error.value) == shown


_SOURCES = [getsource(import_module(row["source"])) for row in MODULES.values()]
NODES = list(chain.from_iterable(ast.walk(ast.parse(text)) for text in _SOURCES))
"""All nodes of the Python modules that the page has."""


def of_kind(kind: type[Node]) -> list[Node]:
    return [node for node in NODES if isinstance(node, kind)]


def test_what_a_call_names_is_an_argument_that_has_no_place():
    """JavaScript gets all that is named in one object, which comes last."""
    in_order = {
        function.name: {one.arg for one in function.args.args}
        for function in of_kind(ast.FunctionDef)
    }
    for call in of_kind(ast.Call):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        named = {keyword.arg for keyword in call.keywords}
        assert named.isdisjoint(in_order.get(name, ())), ast.unparse(call)


def test_a_method_is_called_where_it_stands():
    """In JavaScript a method that is passed on no longer knows of what it is one."""
    methods: set[str] = set()
    for kind in of_kind(ast.ClassDef):
        functions = [one for one in kind.body if isinstance(one, ast.FunctionDef)]
        methods |= {one.name for one in functions if not one.decorator_list}
    for row in MODULES.values():
        methods -= set(row.get("omitted", ()))  # which only Python has
    called = {id(call.func) for call in of_kind(ast.Call)}
    passed = [one for one in of_kind(ast.Attribute) if id(one) not in called]
    assert not methods.intersection(one.attr for one in passed)
