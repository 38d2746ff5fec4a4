"""`${…}`: defaults, lengths, indirection, slices, trimming, replacing and changing case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rl_resources.script.bash import fields
from rl_resources.script.bash.change import Change, cased, replaced, substring, trimmed
from rl_resources.script.bash.fields import Fragment, Fragments
from rl_resources.script.bash.lookup import elements, lookup
from rl_resources.script.bash.pattern import Pattern
from rl_resources.script.bash.state import Array, Found, Mode, State, set_content
from rl_resources.script.bash.syntax import Literal, Parameter, Pieces
from rl_resources.script.bash.value import Part, Reason, Value, literal, unknown

if TYPE_CHECKING:
    from rl_resources.script.bash.expansion import Expander


def expand(expander: Expander, piece: Parameter, state: State, mode: Mode) -> Fragments:
    """The fragments of one parameter."""
    if piece.all_of:
        return _all(expander, piece, state, mode)
    if piece.prefix == "!":
        return _indirect(expander, piece, state, mode)
    found = lookup(expander, piece, state)
    if piece.prefix == "#":
        return _length(expander, piece, found, mode)
    operator = piece.operator.lstrip(":")
    if operator in ("-", "=", "+", "?"):
        return _conditional(expander, piece, found, state, mode)
    if found.value is None and found.reason is not None:
        return [_unknown(expander, piece, found, mode)]
    value = found.value or Value()
    if piece.operator:
        change = _change(expander, piece, state)
        value = _changed(expander, piece, value, change)
    return _shown(expander, piece, value, mode)


def _unknown(expander: Expander, piece: Parameter, found: Found, mode: Mode) -> Fragment:
    part = unknown(
        expander.source.place(piece.start),
        expander.source.text[piece.start : piece.end],
        found.reason or "form",
        name=piece.name,
        many=mode == "split",
    )
    return Fragment(part, mode == "quoted", mode == "split")


def _shown(expander: Expander, piece: Parameter, value: Value, mode: Mode) -> Fragments:
    """A value where the parameter stands; a value of one part moves there."""
    place = expander.source.place(piece.start)
    parts = value.parts or (Part("", place, place),)
    expander.budget.spend(len(parts) // 4 + len(value.text or "") // 1024)
    if len(parts) == 1:
        parts = (parts[0]._replace(place=place),)
    return [
        Fragment(part._replace(name=piece.name, many=False), mode == "quoted", mode == "split")
        for part in parts
    ]


def _length(expander: Expander, piece: Parameter, found: Found, mode: Mode) -> Fragments:
    text = "" if found.value is None and found.reason is None else None
    if found.value is not None:
        text = found.value.text
    if text is None:
        return [_unknown(expander, piece, found, mode)]
    return _shown(expander, piece, _plain(expander, piece, str(len(text))), mode)


def _plain(expander: Expander, piece: Parameter, text: str) -> Value:
    return Value((literal(text, expander.source.place(piece.start)),))


def _indirect(expander: Expander, piece: Parameter, state: State, mode: Mode) -> Fragments:
    found = lookup(expander, piece._replace(prefix=""), state)
    name = found.value.text if found.value is not None else None
    if not name or not name.isidentifier() or piece.operator in ("@", "*"):
        return [_unknown(expander, piece, found._replace(reason=found.reason or "form"), mode)]
    return expand(expander, piece._replace(name=name, prefix="", subscript=None), state, mode)


def _conditional(
    expander: Expander, piece: Parameter, found: Found, state: State, mode: Mode
) -> Fragments:
    """`-`, `=`, `+` and `?`: what is taken depends on whether the variable is set, or empty."""
    operator = piece.operator.lstrip(":")
    present = _present(found, empty_counts=not piece.operator.startswith(":"))
    if present is None and not found.absent:
        return [
            _unknown(expander, piece, found._replace(reason=found.reason or "conditional"), mode)
        ]
    if operator == "+":
        return (
            _word(expander, piece, state, mode, found.absent)
            if present
            else (_nothing(expander, piece, mode, found.absent))
        )
    if present and found.value is not None:
        return _shown(expander, piece, found.value, mode)
    if operator == "?":
        return [
            _unknown(expander, piece, found._replace(reason=found.reason or "environment"), mode)
        ]
    if operator == "=":
        return _assigned_default(expander, piece, found, state, mode)
    return _word(expander, piece, state, mode, found.absent)


def _present(found: Found, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` where that cannot be known."""
    if found.value is None:
        return None if found.reason is not None else False
    certain = any(part.text for part in found.value.parts)
    if certain:
        return True
    missing = found.value.unknown
    if missing is None:
        return empty_counts
    return True if empty_counts and missing.reason != "conditional" else None


def _word(
    expander: Expander, piece: Parameter, state: State, mode: Mode, absent: bool
) -> Fragments:
    fragments = expander.operand(piece.operand, state, mode)
    if not fragments and mode != "split":
        fragments = list(_nothing(expander, piece, mode, absent))
    # the literals of an unquoted default are split like any expansion
    return [
        fragment
        if fragment is None
        else fragment._replace(
            part=fragment.part._replace(default=absent or fragment.part.default),
            expanded=mode == "split" and not fragment.quoted,
        )
        for fragment in fragments
    ]


def _nothing(expander: Expander, piece: Parameter, mode: Mode, absent: bool) -> Fragments:
    place = expander.source.place(piece.start)
    part = Part("", place, place, default=absent)
    return [Fragment(part, mode == "quoted", mode == "split")]


def _assigned_default(
    expander: Expander, piece: Parameter, found: Found, state: State, mode: Mode
) -> Fragments:
    if not piece.name.isidentifier() or piece.subscript is not None:
        return [_unknown(expander, piece, found._replace(reason="form"), mode)]
    unquoted: Mode = "quoted" if mode == "quoted" else "joined"
    value = fields.joined(expander.operand(piece.operand, state, unquoted))
    value = Value(tuple(part._replace(default=found.absent) for part in value.parts))
    set_content(state, piece.name, value, expander.source.place(piece.start))
    expander.note_default(piece, value)
    return _shown(expander, piece, value, mode)


def _all(expander: Expander, piece: Parameter, state: State, mode: Mode) -> Fragments:
    """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}` with their operators."""
    if piece.prefix == "!":
        return _keys(expander, piece, state, mode)
    values = elements(piece, state)
    unknowable: Fragments = [expander.unknown(piece, _reason(piece, state), mode)]
    if values is None:
        return unknowable
    countable = not any(value.many for value in values)
    if piece.prefix == "#":
        counted = _plain(expander, piece, str(len(values)))
        return _shown(expander, piece, counted, mode) if countable else unknowable
    operator = piece.operator.lstrip(":")
    if operator in ("-", "+", "=", "?"):
        return _all_or_word(expander, piece, values, state, mode)
    if piece.operator == ":":
        sliced = _sliced(expander, piece, values, state) if countable else None
        return unknowable if sliced is None else _listed(expander, piece, sliced, state, mode)
    if piece.operator:
        change = _change(expander, piece, state)
        values = tuple(_changed(expander, piece, value, change) for value in values)
    return _listed(expander, piece, values, state, mode)


def _reason(piece: Parameter, state: State) -> Reason:
    if piece.name in ("@", "*"):
        return "argument"
    return "form" if piece.name in state.variables else "environment"


def _all_or_word(
    expander: Expander, piece: Parameter, values: Sequence[Value], state: State, mode: Mode
) -> Fragments:
    certain = any(not value.many for value in values)
    if values and not certain:
        return [expander.unknown(piece, "conditional", mode)]
    if piece.operator.startswith(":") and len(values) < 2:
        only = values[0] if values else Value()
        if not only.known:
            return [expander.unknown(piece, "conditional", mode)]
        certain = bool(only.text)
    if piece.operator.endswith("+"):
        return expander.fragments(piece.operand, state, mode) if certain else []
    if certain:
        return _listed(expander, piece, values, state, mode)
    return expander.fragments(piece.operand, state, mode)


def _keys(expander: Expander, piece: Parameter, state: State, mode: Mode) -> Fragments:
    variable = state.variables.get(piece.name)
    content = variable.content if variable else None
    unordered = isinstance(content, Array) and content.associative and len(content.entries) > 1
    if not isinstance(content, Array) or not content.countable or unordered:
        return [expander.unknown(piece, "form", mode)]
    values = [_plain(expander, piece, str(entry.key)) for entry in content.entries]
    return _listed(expander, piece, values, state, mode)


def _listed(
    expander: Expander, piece: Parameter, values: Sequence[Value], state: State, mode: Mode
) -> Fragments:
    """Values as separate words, or joined where `*` or an assignment wants one."""
    place = expander.source.place(piece.start)
    nothing = Part("", place, place)
    expander.budget.spend(len(values) // 2)
    lists = [value.parts or (nothing,) for value in values]
    if piece.all_of == "@" or mode == "split":
        found: Fragments = []
        for index, parts in enumerate(lists):
            if index:
                found.append(None)
            found += [Fragment(part, mode == "quoted", mode == "split") for part in parts]
        return found
    separators = expander.separators(state)
    if separators is None:
        return [expander.unknown(piece, "form", mode)]
    glued = fields.glued(lists, literal(separators[:1], place)) or [nothing]
    return [Fragment(part, mode == "quoted") for part in glued]


def _sliced(
    expander: Expander, piece: Parameter, values: tuple[Value, ...], state: State
) -> tuple[Value, ...] | None:
    """The elements from an index on; a gap in an array counts as no element."""
    bounds = _bounds(expander, piece, state)
    if bounds is None or piece.name in ("@", "*"):
        return None
    variable = state.variables.get(piece.name)
    content = variable.content if variable else None
    keys = [entry.key for entry in content.entries] if isinstance(content, Array) else [0]
    numbers = [key for key in keys if isinstance(key, int)]
    if len(numbers) != len(values):
        return None
    start, length = bounds
    start = start + max(numbers, default=-1) + 1 if start < 0 else start
    if start < 0 or (length is not None and length < 0):
        return None
    chosen = [value for key, value in zip(numbers, values, strict=True) if key >= start]
    return tuple(chosen[:length])


def _bounds(expander: Expander, piece: Parameter, state: State) -> tuple[int, int | None] | None:
    """Offset and length of `${NAME:offset:length}`, or `None` where they cannot be known."""
    place = expander.source.place(piece.start)
    offset, length = _split_operand(piece.operand)
    start = expander.number(offset, state, place)
    count = None if length is None else expander.number(length, state, place)
    return None if start is None or (length is not None and count is None) else (start, count)


def _split_operand(operand: Pieces) -> tuple[Pieces, Pieces | None]:
    """The pieces before and after the first colon."""
    for index, piece in enumerate(operand):
        if isinstance(piece, Literal) and not piece.quoted and ":" in piece.text:
            before, _, after = piece.text.partition(":")
            first = Literal(before, piece.start, True)
            second = Literal(after, piece.start + len(before) + 1, True)
            return (*operand[:index], first), (second, *operand[index + 1 :])
    return operand, None


def _changed(expander: Expander, piece: Parameter, value: Value, change: Change | None) -> Value:
    """The value after a change of its text; unknown where either is."""
    text = value.text
    place = expander.source.place(piece.start)
    result = None
    if text is not None and change is not None:
        result = change(text)
    if result is None:
        missing = value.unknown
        reason = missing.reason if missing and missing.reason else "form"
        raw = expander.source.text[piece.start : piece.end]
        return Value((unknown(place, raw, reason, name=piece.name, many=value.many),))
    if result == text:
        return value
    return Value((Part(result, place, value.origin or place, default=value.default),))


def _change(expander: Expander, piece: Parameter, state: State) -> Change | None:
    """What the operator does to a text, or `None` where that cannot be known."""
    operator = piece.operator
    if operator == ":":
        return substring(_bounds(expander, piece, state))
    if operator == "@":
        return None
    pattern = expander.pattern(piece.operand, state)
    if operator[0] in "^,":
        return cased(operator, pattern if piece.operand else Pattern(())) if pattern else None
    if pattern is None:
        return None
    if operator[0] in "#%":
        return lambda text: (
            trimmed(text, pattern, operator) if expander.affordable(pattern, text) else None
        )
    replacement = _replacement(expander, piece, state)
    if replacement is None:
        return None
    return lambda text: (
        replaced(text, pattern, replacement, operator)
        if expander.affordable(pattern, text, len(text) + 1)
        else None
    )


def _replacement(expander: Expander, piece: Parameter, state: State) -> str | None:
    """The text to put in; `None` also where `&` stands for what was matched."""
    if piece.replacement is None:
        return ""
    found = ""
    for fragment in expander.fragments(piece.replacement, state, "joined"):
        if fragment is None or fragment.part.text is None:
            return None
        if "&" in fragment.part.text or "\\" in fragment.part.text:
            return None
        found += fragment.part.text
    return found
