"""The formula of the estimate: named terms over named inputs, evaluated in their order.

`formula.toml` is the only place where it is written; `published.py` has it as JSON.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.files import table_beside
from rl_resources.package import number
from rl_resources.script.backends import BACKENDS, Engine, engine_of

MEMORY = "formula.toml"
TIME = "time.toml"
Number = int | float
Tree = Number | str | list[Any]
ENGINE_SIZE = "engine_tensor_parallel"

WHOLE = frozenset({"GPUs", "sequences", "tokens", "responses", "dimensions"})
"""The units of what is counted."""

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Gt: ">",
    ast.Lt: "<",
}
_FUNCTIONS: Mapping[str, Any] = {
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "__builtins__": {},
}

RESERVED = ("rollout engine", "KV cache")
"""Components that the engine reserves to the byte."""


def as_number(value: object) -> Number | None:
    """A setting as a number, also flags and names of precisions; `None` where it is none."""
    if isinstance(value, int | float):
        return value
    text = str(value).strip().lower()
    found: Number | None = formula()["words"].get(text, number(text))
    return found


def rounded(value: Any, digits: int) -> Any:
    """A value of JSON with every fraction in it rounded."""
    match value:
        case float():
            return round(value, digits)
        case dict():
            return {name: rounded(one, digits) for name, one in value.items()}
        case list():
            return [rounded(one, digits) for one in value]
    return value


@cache
def formula() -> Mapping[str, Any]:
    """The file: `constants`, `train`, `input`, `term`, `moment`, `knob`; `time` is `time.toml`."""
    memory = _file(MEMORY)
    time = _file(TIME)
    return {**memory, "time": time, "input": memory["input"] + time["input"]}


@cache
def _file(name: str) -> dict[str, Any]:
    return table_beside(str(Path(__file__).with_name(name)))


@cache
def backends() -> Mapping[str, Mapping[str, Any]]:
    """What each training backend does by default; `like` names the one whose defaults it has."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, row in formula()["train"].items():
        found[name] = {"like": None, **row}
    for name, like in formula()["same_train"].items():
        found[name] = {**found[like], "like": like}
    return found


def inputs_by_name(infer: str = "") -> Mapping[str, Mapping[str, Any]]:
    """The inputs by name, each with its key in every training backend of verl.

    The key of `any` is that of the others. Those of the rollout engine are the keys of `infer`.
    """
    return _inputs(engine_of(infer))


@cache
def _inputs(engine: Engine) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for item in formula()["input"]:
        found[item["name"]] = item
        if "key" in item:
            found[item["name"]] = {**item, "key": _keys_by_train(item["key"], engine)}
    return found


def _keys_by_train(written: Mapping[str, str], engine: Engine) -> Mapping[str, str]:
    """The key for each training backend that has one."""
    forms = dict(written)
    if "any" in forms:
        forms = dict.fromkeys(BACKENDS, forms["any"]) | forms
    found: dict[str, str] = {}
    for train, form in forms.items():
        key = _key(form, train, engine)
        if key:
            found[train] = key
    return found


def _key(form: str, train: str, engine: Engine) -> str:
    """A key with what is in braces from the engine or from a backend, FSDP for `any`.

    Empty if the backend or the engine lacks it.
    """
    backend = BACKENDS.get(train, BACKENDS["fsdp"])
    words = {name: word for name, word in backend._asdict().items() if word}
    words["critic"] = backend.section.removesuffix("_config")
    if backend.sequence_parallel:
        words["sequence_parallel"] = backend.sequence_parallel[-1]
    try:
        return form.format(engine=engine, **words)
    except KeyError:
        return ""


def possible(name: str) -> str:
    """What an input may be."""
    item = inputs_by_name()[name]
    meaning = item["title"]
    unit = item.get("unit")
    if unit in WHOLE:
        meaning = f"{unit} {meaning}"
    limits = f"from {item['minimum']} to {item['maximum']}"
    return f"{name}: {meaning}, {limits}."


def key_of(item: Mapping[str, Any], train: str) -> str:
    """The key of an input for a training backend; empty where it has none."""
    if train not in BACKENDS:
        train = "any"
    keys: Mapping[str, str] = item.get("key", {})
    return keys.get(train, "")


def parse(text: str) -> Tree:
    """The tree of a formula. Raises `ValueError` for anything but arithmetic on names."""
    return _tree(ast.parse(text, mode="eval").body)


def _tree(node: ast.AST) -> Tree:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return name
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATORS:
            sign = _OPERATORS[type(op)]
            return [sign, _tree(left), _tree(right)]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ["if", _tree(test), _tree(body), _tree(orelse)]
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return [name, *map(_tree, arguments)]
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def evaluate(inputs: Mapping[str, Number]) -> dict[str, Number]:
    """All terms of these inputs, with the inputs and the constants, by name.

    Raises `NameError` with the name of an input that is missing.
    """
    return computed(MEMORY, {**formula()["constants"], **inputs})


def computed(file: str, values: dict[str, Number]) -> dict[str, Number]:
    """The values with all terms of a file, which are added to them."""
    exec(_compiled(file), {**_FUNCTIONS}, values)  # noqa: S102 (our own arithmetic, by `parse`)
    return values


def peaks(values: Mapping[str, Number]) -> Sequence[Number]:
    """The bytes of one GPU at each moment of the file, of all terms."""
    found: Sequence[Number] = eval(_sums(), {}, values)  # noqa: S307 (sums of our own terms)
    return found


@cache
def _sums() -> CodeType:
    """The components of each moment, added in their order, which is that of the page."""
    sums = [" + ".join(row["components"].values()) for row in formula()["moment"]]
    tuple_of_sums = ", ".join(sums)
    return compile(f"({tuple_of_sums})", MEMORY, "eval")


@cache
def _compiled(file: str) -> CodeType:
    """All terms as Python reads them, which is many times faster than to walk their trees."""
    lines = [f"{item['name']} = {item['formula']}" for item in _file(file)["term"]]
    return compile("\n".join(lines), file, "exec")


@cache
def plausible(run: str = "") -> Mapping[str, Sequence[float]]:
    """The least and the most that is usual of an input that a question may leave open.

    `run` is a training backend and `full` or `lora`, what it trains.
    """
    spans: Mapping[str, Mapping[str, Sequence[float]]] = formula()["span"]
    return {**_file("assumed.toml"), **spans["any"], **spans.get(run, {})}


@cache
def parallel_sizes() -> list[dict[str, Number]]:
    """Sizes of model parallelism to choose from, the smallest first."""
    choices: Mapping[str, list[int]] = formula()["parallel"]
    found: list[dict[str, Number]] = []
    for sizes in sorted(product(*choices.values()), key=math.prod):
        named: dict[str, Number] = dict(zip(choices, sizes, strict=True))
        named["expert_tensor_parallel"] = 1
        if named["expert_parallel"] == 1:
            named["expert_tensor_parallel"] = named["tensor_parallel"]
        found.append(named)
    return found


@cache
def engine_sizes() -> list[dict[str, Number]]:
    """Sizes of an engine to choose from, the smallest first."""
    return [{ENGINE_SIZE: size} for size in formula()["engine_parallel"]["sizes"]]


def undivided(values: Mapping[str, Number]) -> UnusableInput:
    """What to raise about parallel sizes that do not divide the GPUs, with the nearest that do."""
    checks = (term for term in formula()["term"] if "sizes" in term)
    failed = next(check for check in checks if values[check["name"]])
    gpus = int(values[failed["gpus"]])
    wanted = 1
    written: list[str] = []
    for name in failed["sizes"]:
        size = int(values[name])
        wanted *= size
        if size != 1:
            written.append(f"{name} {size}")
    message = f"{gpus} GPUs cannot be divided by {' x '.join(written)}"
    divisors = [size for size in range(1, gpus + 1) if gpus % size == 0]
    divisors.sort(key=lambda size: abs(size - wanted))
    nearest = sorted(divisors[:2])
    near = " or ".join(map(str, nearest))
    fix = f"They can be divided by {near}. {failed.get('hint', '')}"
    return UnusableInput(message, fix.rstrip())
