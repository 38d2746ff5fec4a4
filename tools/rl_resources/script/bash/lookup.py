"""What the name of a parameter stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rl_resources.script.bash.state import ALWAYS_SET, Array, Found, State
from rl_resources.script.bash.syntax import Parameter, Pieces
from rl_resources.script.bash.value import Place, Value, literal

if TYPE_CHECKING:
    from rl_resources.script.bash.expansion import Expander

SPECIAL = frozenset("?$!-0_")


def lookup(expander: Expander, piece: Parameter, state: State) -> Found:
    """What the name of a parameter stands for; without subscript an array is its first element."""
    name, subscript = piece.name, piece.subscript
    if name.isdigit() and name != "0":
        return _argument(int(name), state)
    if name == "#":
        return _count(state)
    if name in SPECIAL:
        return Found(None, "special")
    variable = state.variables.get(name)
    if variable is None:
        return Found(None, "environment", absent=name not in ALWAYS_SET)
    content = variable.content
    if isinstance(content, Array):
        return _element(expander, content, subscript, state)
    if subscript is not None and expander.key(subscript, False, state) != 0:
        return Found(None, "form")
    return Found(content)


def _count(state: State) -> Found:
    if state.positional is None or any(value.many for value in state.positional):
        return Found(None, "argument")
    place = Place(0, 1, 1)
    return Found(Value((literal(str(len(state.positional)), place),)))


def _element(expander: Expander, content: Array, subscript: Pieces | None, state: State) -> Found:
    key = 0 if subscript is None else expander.key(subscript, content.associative, state)
    value = None if key is None else content.get("0" if content.associative and key == 0 else key)
    if value is None:
        return Found(None, "conditional")
    return Found(value if any(entry.key == key for entry in content.entries) else None)


def _argument(number: int, state: State) -> Found:
    if state.positional is None:
        return Found(None, "argument", absent=True)
    before = state.positional[:number]
    if any(value.many for value in before):
        return Found(None, "argument")
    return Found(before[-1] if len(before) == number else None)


def elements(piece: Parameter, state: State) -> tuple[Value, ...] | None:
    """What `[@]` or `$@` stands for, or `None` where it cannot be known."""
    if piece.name in ("@", "*"):
        return state.positional
    variable = state.variables.get(piece.name)
    if variable is None:
        return None
    content = variable.content
    if isinstance(content, Array):
        ordered = not content.associative or len(content.entries) < 2
        return content.values if ordered else None
    return () if content is None else (content,)
