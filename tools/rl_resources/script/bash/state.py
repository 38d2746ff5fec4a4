"""What is known of a script's variables at one point of it, and of two points that meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rl_resources.script.bash.syntax import FunctionDefinition
from rl_resources.script.bash.value import Part, Place, Reason, Value, bounded, unknown

Mode = Literal["split", "joined", "quoted"]

# Set by bash itself, by login or by every usual environment: their defaults are never taken.
ALWAYS_SET = frozenset(
    {
        "BASH",
        "BASHOPTS",
        "BASHPID",
        "BASH_REMATCH",
        "BASH_SOURCE",
        "BASH_VERSION",
        "BASH_VERSINFO",
        "COLUMNS",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HOME",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "LANG",
        "LINENO",
        "LINES",
        "LOGNAME",
        "MACHTYPE",
        "MAPFILE",
        "OLDPWD",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PATH",
        "PIPESTATUS",
        "PPID",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "TERM",
        "UID",
        "USER",
        "_",
    }
)


class Entry(NamedTuple):
    """One element. The key is `None` where its place is not known."""

    key: int | str | None
    value: Value


class Array(NamedTuple):
    """An array's elements in the order in which `[@]` tells them."""

    entries: tuple[Entry, ...] = ()
    associative: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """The elements without their keys."""
        return tuple(entry.value for entry in self.entries)

    @property
    def countable(self) -> bool:
        """Whether the number of elements is known."""
        return not any(value.many for value in self.values)

    def get(self, key: int | str) -> Value | None:
        """The element at `key`: empty where there is none, `None` where that is not known."""
        for entry in self.entries:
            if entry.key is None:
                return None
            if entry.key == key:
                return entry.value
        return Value()

    def with_entry(self, key: int | str | None, value: Value) -> Array:
        """The array after one assignment."""
        if key is None or any(entry.key is None for entry in self.entries):
            return self._replace(entries=(Entry(None, any_number(value)),))
        kept = [entry for entry in self.entries if entry.key != key]
        at = len(kept)
        if isinstance(key, int):
            at = sum(1 for entry in kept if isinstance(entry.key, int) and entry.key < key)
        else:
            at = next((i for i, entry in enumerate(self.entries) if entry.key == key), at)
        return self._replace(entries=(*kept[:at], Entry(key, value), *kept[at:]))

    @property
    def following(self) -> int | None:
        """The index at which `+=` goes on, `None` where it cannot be known."""
        keys = [entry.key for entry in self.entries]
        if not keys:
            return 0
        return keys[-1] + 1 if isinstance(keys[-1], int) else None


class ArrayBuilder:
    """An array that grows in order; an element may also go to a place of its own."""

    def __init__(self, array: Array) -> None:
        self._entries = list(array.entries)
        self._associative = array.associative
        self._following = array.following

    def add(self, value: Value) -> None:
        """Put an element after the one before."""
        key = None if value.many else self._following
        last = self._entries[-1].key if self._entries else -1
        if key is None or (isinstance(last, int) and last < key):
            self._entries.append(Entry(key, value))
        else:
            self._place(key, value)
        self._following = None if key is None else key + 1

    def place(self, key: int | str | None, value: Value) -> None:
        """Put an element at a key; those that follow go on from there."""
        self._place(key, value)
        self._following = key + 1 if isinstance(key, int) else None

    def _place(self, key: int | str | None, value: Value) -> None:
        self._entries = list(self.array().with_entry(key, value).entries)

    def array(self) -> Array:
        """The array as far as it is built."""
        return Array(tuple(self._entries), self._associative)


def any_number(value: Value) -> Value:
    """An unknown number of elements in the place of `value`."""
    place = value.place or Place(0, 1, 1)
    return Value((unknown(place, value.shown, "conditional", many=True),))


Content = Value | Array | None


class Variable(NamedTuple):
    """A variable that the script sets; without content it is unset or merely declared.

    `refers` is the variable that it stands for since a `declare -n`.
    """

    content: Content
    place: Place
    exported: bool = False
    attributes: frozenset[str] = frozenset()
    refers: str = ""


@dataclass(slots=True)
class State:
    """All that commands change. A name that is not in `variables` is left to the environment.

    `positional` is `None` while the arguments are those of whoever starts the script. `saved` holds
    what `local` hid, one mapping for each function being called. `flow` is set once an `exit`,
    `return`, `break` or `continue` was met, the last two with how many loops they leave. `doubt`
    tells that an earlier condition may have left the function or loop.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    positional: tuple[Value, ...] | None = None
    functions: Mapping[str, FunctionDefinition] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    saved: tuple[Mapping[str, Variable | None], ...] = ()
    flow: str = ""
    levels: int = 1
    doubt: bool = False

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return State(
            dict(self.variables),
            self.positional,
            self.functions,
            self.options,
            self.saved,
            self.flow,
            self.levels,
            self.doubt,
        )

    def become(self, other: State) -> None:
        """Take over all of another state."""
        self.variables = other.variables
        self.positional = other.positional
        self.functions = other.functions
        self.options = other.options
        self.saved = other.saved
        self.flow = other.flow
        self.levels = other.levels
        self.doubt = other.doubt

    def hide(self, name: str, place: Place) -> None:
        """Begin a variable that ends with the function being called."""
        if not self.saved:
            return
        if name not in self.saved[-1]:
            last = {**self.saved[-1], name: self.variables.get(name)}
            self.saved = (*self.saved[:-1], last)
            self.variables[name] = Variable(None, place)

    def leave_function(self) -> None:
        """End the variables of the function being called."""
        for name, variable in self.saved[-1].items():
            if variable is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = variable
        self.saved = self.saved[:-1]

    def exports(self) -> dict[str, Value]:
        """What the script adds to the environment of a command."""
        return {
            name: variable.content
            for name, variable in self.variables.items()
            if variable.exported and isinstance(variable.content, Value)
        }


class Found(NamedTuple):
    """What a name stands for: a value, nothing (`value` is `None`), or what cannot be told.

    `absent` means that the script leaves it to its environment or arguments.
    """

    value: Value | None
    reason: Reason | None = None
    absent: bool = False


def set_content(state: State, name: str, content: Value | Array | None, place: Place) -> None:
    """Give a variable new content; what it is exported as stays."""
    old = state.variables.get(name)
    if old is None:
        state.variables[name] = Variable(content, place, "allexport" in state.options)
        return
    if isinstance(old.content, Array) and isinstance(content, Value):
        content = old.content.with_entry("0" if old.content.associative else 0, content)
    exported = old.exported or "allexport" in state.options
    state.variables[name] = old._replace(content=content, place=place, exported=exported)


def joined(first: State, second: State) -> State:
    """What is known where the script may come from either state."""
    variables = dict(first.variables)
    for name in second.variables.keys() | first.variables.keys():
        left, right = first.variables.get(name), second.variables.get(name)
        if left is not right and left != right:
            variables[name] = _joined_variable(name, left, right)
    return State(
        variables,
        first.positional if first.positional == second.positional else None,
        first.functions
        if first.functions is second.functions
        else {**first.functions, **second.functions},
        first.options & second.options,
        tuple({**one, **two} for one, two in zip(first.saved, second.saved, strict=True)),
        doubt=first.doubt or second.doubt,
    )


def _joined_variable(name: str, left: Variable | None, right: Variable | None) -> Variable:
    present = max((item for item in (left, right) if item), key=lambda item: item.place)
    lost = unknown(present.place, f"${{{name}}}", "conditional")
    content: Content = Value((lost,))
    if left and right:
        content = _joined_content(left.content, right.content, lost)
    return Variable(
        content,
        present.place,
        bool((left and left.exported) or (right and right.exported)),
        present.attributes,
    )


def _joined_content(left: Content, right: Content, lost: Part) -> Content:
    """The common beginning, then what is not known."""
    if left == right:
        return left
    if isinstance(left, Array) and isinstance(right, Array):
        if left.associative or right.associative:
            return Array((Entry(None, Value((lost._replace(many=True),))),), associative=True)
        return _joined_arrays(left, right, lost)
    if isinstance(left, Value) and isinstance(right, Value):
        return _joined_values(left, right, lost)
    if isinstance(left, Array) or isinstance(right, Array):
        return Array((Entry(None, Value((lost._replace(many=True),))),))
    return Value((lost,))


def _joined_arrays(left: Array, right: Array, lost: Part) -> Array:
    if left.countable and [item.key for item in left.entries] == [e.key for e in right.entries]:
        pairs = zip(left.entries, right.values, strict=True)
        return Array(
            tuple(Entry(one.key, _joined_values(one.value, two, lost)) for one, two in pairs)
        )
    same = 0
    for one, two in zip(left.entries, right.entries, strict=False):
        if one.key != two.key or not _alike(one.value, two.value):
            break
        same += 1
    rest = Entry(None, Value((lost._replace(many=True),)))
    return Array((*left.entries[:same], rest))


def _alike(one: Value, two: Value) -> bool:
    return one == two or (one.text is not None and one.text == two.text)


def _joined_values(left: Value, right: Value, lost: Part) -> Value:
    if _alike(left, right):
        return left
    kept: list[Part] = []
    for one, two in zip(left.parts, right.parts, strict=False):
        if one.text is None or one.text != two.text:
            # of `key=1` and `key=2` the key is known
            key, sign, _ = (one.text or "").partition("=")
            if sign and (two.text or "").startswith(f"{key}="):
                kept.append(one._replace(text=f"{key}="))
            break
        kept.append(one)
    return bounded([*kept, lost])
