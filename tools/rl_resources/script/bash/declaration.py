"""Assignments, and the builtins that take them: `export`, `declare`, `local`, `readonly`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rl_resources.script.bash.braces import alternatives
from rl_resources.script.bash.expansion import Expander
from rl_resources.script.bash.script import Assignment, AssignmentKind, Word
from rl_resources.script.bash.state import Array, ArrayBuilder, Content, Entry, State, Variable
from rl_resources.script.bash.syntax import AssignmentWord, Element
from rl_resources.script.bash.value import Part, Place, Value, bounded, literal, unknown

_SIGNS: Mapping[str, str] = {"i": "integer", "u": "upper", "l": "lower"}


def assign(
    expander: Expander,
    item: AssignmentWord,
    state: State,
    kind: AssignmentKind = "plain",
    attributes: frozenset[str] = frozenset(),
) -> Assignment:
    """Make one assignment and note it."""
    place = expander.source.place(item.start)
    old = state.variables.get(item.name)
    if old and old.refers:
        item = item._replace(name=old.refers)
        old = state.variables.get(item.name)
    attributes |= old.attributes if old else frozenset()
    elements: tuple[Word, ...] | None = None
    content: Content
    if item.elements is not None:
        content, elements = _array(expander, item, old, state, attributes)
        value = Value()
    else:
        value = _attributed(expander, expander.value(item.word, state), attributes, state, place)
        content = _content(expander, item, value, old, attributes, state, place)
    exported = bool(old and old.exported) or kind == "export" or "allexport" in state.options
    state.variables[item.name] = Variable(content, place, exported, attributes)
    return noted(expander, item, value, elements, kind, exported)


def noted(
    expander: Expander,
    item: AssignmentWord,
    value: Value,
    elements: tuple[Word, ...] | None,
    kind: AssignmentKind,
    exported: bool,
) -> Assignment:
    """The record of an assignment, put into the log."""
    source = expander.source
    keys = item.key
    found = Assignment(
        name=item.name,
        value=value,
        elements=elements,
        key=None if keys is None else source.text[keys[0].start : item.word.start].split("]")[0],
        operator=item.operator,
        raw=source.text[item.start : item.end],
        place=source.place(item.start),
        kind=kind,
        exported=exported,
        reach=expander.here.reach,
        function=expander.here.function,
    )
    expander.log.assignment(found)
    return found


def _content(
    expander: Expander,
    item: AssignmentWord,
    value: Value,
    old: Variable | None,
    attributes: frozenset[str],
    state: State,
    place: Place,
) -> Content:
    """What the variable holds after `NAME=value`, `NAME+=value` or with a key."""
    held = old.content if old else None
    array = held if isinstance(held, Array) else None
    if item.key is None and array is None:
        return _appended(expander, item, old, value, attributes, state, place)
    if array is None:
        first = (Entry(0, held),) if isinstance(held, Value) else ()
        array = Array(first, "associative" in attributes)
    key: int | str | None = "0" if array.associative else 0
    if item.key is not None:
        key = expander.key(item.key, array.associative, state)
    if item.operator == "+=":
        before = None if key is None else array.get(key)
        lost = Value((unknown(place, f"${{{item.name}}}", "conditional"),))
        value = bounded([*(before or lost).parts, *value.parts]) if before != Value() else value
    return array.with_entry(key, value)


def _appended(
    expander: Expander,
    item: AssignmentWord,
    old: Variable | None,
    value: Value,
    attributes: frozenset[str],
    state: State,
    place: Place,
) -> Value:
    if item.operator == "=":
        return value
    if old is None:
        before = Value((unknown(place, f"${{{item.name}}}", "environment", name=item.name),))
    else:
        before = old.content if isinstance(old.content, Value) else Value()
    if "integer" not in attributes:
        return bounded([*before.parts, *value.parts])
    plus = literal("+", place)
    return _attributed(
        expander,
        Value((*(before.parts or (literal("0", place),)), plus, *value.parts)),
        attributes,
        state,
        place,
    )


def _attributed(
    expander: Expander, value: Value, attributes: frozenset[str], state: State, place: Place
) -> Value:
    """The value as `declare -i`, `-u` or `-l` makes it."""
    text = value.text
    if "integer" in attributes:
        number = None if text is None else expander.number_of(text, state, place)
        if number is None:
            return Value((unknown(place, value.shown, "form"),))
        text = str(number)
    elif text is not None and attributes & {"upper", "lower"}:
        text = text.upper() if "upper" in attributes else text.lower()
    if text is None or text == value.text:
        return value
    return Value((Part(text, place, value.origin or place, default=value.default),))


def _array(
    expander: Expander,
    item: AssignmentWord,
    old: Variable | None,
    state: State,
    attributes: frozenset[str],
) -> tuple[Array, tuple[Word, ...]]:
    array = Array(associative="associative" in attributes)
    held = old.content if old else None
    if item.operator == "+=" and isinstance(held, Array):
        array = held
    elif item.operator == "+=" and isinstance(held, Value):
        array = Array((Entry(0, held),))
    elif item.operator == "+=" and old is None:
        place = expander.source.place(item.start)
        lost = unknown(place, f"${{{item.name}[@]}}", "environment", name=item.name, many=True)
        array = Array((Entry(None, Value((lost,))),))
    expander.budget.spend(len(array.entries) // 16)
    builder = ArrayBuilder(array)
    words: list[Word] = []
    for element in item.elements or ():
        found = _element_words(expander, element, state)
        words += found
        if element.key is None:
            for word in found:
                builder.add(word.value)
        else:
            builder.place(expander.key(element.key, array.associative, state), found[0].value)
        if not expander.budget.spend():
            break
    return builder.array(), tuple(words)


def _element_words(expander: Expander, element: Element, state: State) -> list[Word]:
    source = expander.source
    raw = source.text[element.word.start : element.word.end]
    site = source.place(element.word.start)
    if element.key is None:
        return [Word(value, raw, site) for value in expander.words(element.word, state)]
    return [Word(expander.value(element.word, state), raw, site)]


def declare(
    expander: Expander,
    kind: AssignmentKind,
    arguments: Sequence[Word | AssignmentWord],
    state: State,
    local: bool,
) -> None:
    """Do what a declaration builtin does with its options, names and assignments."""
    flags = "".join(
        (word.text or "")[1:]
        for word in arguments
        if isinstance(word, Word) and (word.text or "").startswith("-")
    )
    if set(flags) & set("pfF"):
        return
    attributes = frozenset(_SIGNS[sign] for sign in flags if sign in _SIGNS)
    attributes |= {"associative"} if "A" in flags else set()
    kind = "export" if "x" in flags else kind
    hides = local and "g" not in flags and kind in ("local", "declare")
    for argument in arguments:
        name = argument.name if isinstance(argument, AssignmentWord) else argument.text or ""
        if not name.isidentifier():
            continue
        if hides:
            state.hide(name, expander.source.place(0))
        if isinstance(argument, AssignmentWord):
            for pieces in alternatives(argument.word.pieces):
                word = argument.word._replace(pieces=pieces)
                assign(expander, argument._replace(word=word), state, kind, attributes)
        else:
            _declared(argument, name, kind, flags, attributes, state)
        if "n" in flags and kind != "export":
            _refer(expander.source.place(0), name, state)


def _refer(place: Place, name: str, state: State) -> None:
    """Let a name stand for another after `declare -n`; of neither the value is known any more."""
    held = state.variables.get(name)
    other = (held.content.text or "") if held and isinstance(held.content, Value) else ""
    for lost in filter(str.isidentifier, (name, other)):
        value = Value((unknown(place, f"${{{lost}}}", "special"),))
        state.variables[lost] = Variable(value, place, refers=other if lost == name else "")


def _declared(
    word: Word,
    name: str,
    kind: AssignmentKind,
    flags: str,
    attributes: frozenset[str],
    state: State,
) -> None:
    """A name without a value: exported, or declared and still unset."""
    old = state.variables.get(name)
    if kind in ("export", "readonly"):
        if old is not None:
            exported = kind == "export" and "n" not in flags
            state.variables[name] = old._replace(
                exported=exported or (kind != "export" and old.exported)
            )
        return
    content: Content = old.content if old else None
    if content is None and set(flags) & {"a", "A"}:
        content = Array(associative="A" in flags)
    place = old.place if old else word.site
    exported = old.exported if old else False
    state.variables[name] = Variable(
        content, place, exported, attributes | (old.attributes if old else frozenset())
    )
