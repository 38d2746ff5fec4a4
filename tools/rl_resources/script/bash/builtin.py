"""The builtin commands that change what the rest of a script sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rl_resources.script.bash import arithmetic, condition, statements
from rl_resources.script.bash.script import Option, Word
from rl_resources.script.bash.state import Array, State, Variable, set_content
from rl_resources.script.bash.surroundings import Status
from rl_resources.script.bash.value import Part, Place, Quoted, Value, literal, unknown

if TYPE_CHECKING:
    from rl_resources.script.bash.evaluation import Evaluator

Builtin = Callable[["Evaluator", Sequence[Word], State], Status]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\+?=")
_LETTERS: Mapping[str, str] = {
    "a": "allexport",
    "b": "notify",
    "e": "errexit",
    "f": "noglob",
    "h": "hashall",
    "k": "keyword",
    "m": "monitor",
    "n": "noexec",
    "u": "nounset",
    "v": "verbose",
    "x": "xtrace",
    "B": "braceexpand",
    "C": "noclobber",
    "E": "errtrace",
    "T": "functrace",
}


def run(
    name: str, evaluator: Evaluator, arguments: Sequence[Word], state: State
) -> tuple[bool, Status]:
    """Do what the builtin does; whether there is one of that name, and its status."""
    builtin = _BUILTINS.get(name)
    return (False, None) if builtin is None else (True, builtin(evaluator, arguments, state))


def _succeed(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    return True


def _fail(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    return False


def _test(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    return condition.test([argument.value for argument in arguments])


def _bracket(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    closed = bool(arguments) and arguments[-1].text == "]"
    return _test(evaluator, arguments[:-1], state) if closed else None


def _set(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    rest = list(arguments)
    while rest and (flags := rest[0].text) is not None:
        if flags in ("--", "-"):
            state.positional = tuple(word.value for word in rest[1:])
            return True
        if flags[:1] not in ("-", "+"):
            break
        word = rest.pop(0)
        for letter in flags[1:]:
            name = _LETTERS.get(letter, "")
            if letter == "o":
                name = (rest.pop(0).text or "") if rest else ""
            _turn(evaluator, state, name, flags[0] == "-", word.place)
    if rest:
        state.positional = tuple(word.value for word in rest)
    return True


def _turn(evaluator: Evaluator, state: State, name: str, on: bool, place: Place) -> None:
    if name:
        evaluator.note_option(Option(name, on, place, evaluator.here.reach))
        state.options = state.options | {name} if on else state.options - {name}


def _shopt(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    flags = {word.text for word in arguments if (word.text or "").startswith("-")}
    for word in arguments:
        if word.text and not word.text.startswith("-") and flags & {"-s", "-u"}:
            _turn(evaluator, state, word.text, "-s" in flags, word.place)
    return True if flags & {"-s", "-u"} else None


def _shift(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    text = arguments[0].text if arguments else "1"
    if state.positional is None:
        return None
    count = int(text) if text is not None and text.isdecimal() and len(text) < 6 else None
    dropped = state.positional[:count]
    if count is None or any(value.many for value in dropped):
        state.positional = (_any_number(evaluator, "$@"),)
        return None
    if count > len(state.positional):
        return False
    state.positional = state.positional[count:]
    return True


def _any_number(evaluator: Evaluator, raw: str) -> Value:
    return Value((unknown(evaluator.source.place(0), raw, "argument", many=True),))


def _unset(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    for word in arguments:
        name = word.text
        if name is None or name.startswith("-"):
            continue
        base = name.partition("[")[0]
        old = state.variables.get(base)
        if base == name:
            exported = old.exported if old else False
            state.variables[name] = Variable(None, word.site, exported)
        elif old is not None and isinstance(old.content, Array):
            state.variables[base] = old._replace(content=_without(old.content, name, word.site))
    return True


def _without(array: Array, name: str, site: Place) -> Array:
    key = name.partition("[")[2].removesuffix("]")
    known = array.associative or key.isdecimal()
    if not known or any(entry.key is None for entry in array.entries):
        return array.with_entry(None, Value((unknown(site, name, "conditional"),)))
    return array._replace(entries=tuple(e for e in array.entries if str(e.key) != key))


def lose(state: State, name: str, word: Word) -> None:
    """From here on the variable's value comes from outside the script."""
    if _NAME.fullmatch(name):
        lost = unknown(word.place, f"${{{name}}}", "special")
        state.variables.pop(name, None)
        set_content(state, name, Value((lost,)), word.site)


def _read(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    with_value = {"-p", "-d", "-n", "-N", "-t", "-u", "-i"}
    names = [
        word
        for before, word in zip((None, *arguments), arguments, strict=False)
        if not (word.text or "-").startswith("-")
        and not (before is not None and before.text in with_value)
    ]
    for word in names:
        lose(state, word.text or "", word)
        evaluator.note_read(word)
    return None


def _mapfile(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    word = arguments[-1] if arguments else None
    if word is not None and _NAME.fullmatch(word.text or ""):
        lost = unknown(word.place, f"${{{word.text}}}", "special", many=True)
        array = Array().with_entry(None, Value((lost,)))
        state.variables[word.text or ""] = Variable(array, word.site)
        evaluator.note_read(word)
    return None


def _printf(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    if len(arguments) > 1 and arguments[0].text == "-v":
        lose(state, arguments[1].text or "", arguments[1])
        evaluator.note_read(arguments[1])
    return True


def _getopts(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    for word in arguments[1:2]:
        lose(state, word.text or "", word)
        evaluator.note_read(word)
        for name in ("OPTARG", "OPTIND"):
            lose(state, name, word)
    return None


def _let(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    status: Status = None
    for word in arguments:
        number = evaluator.let(word, state)
        status = None if number is None else number != 0
    return status


def _eval(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    parts: list[Part] = []
    for word in arguments:
        parts += [*word.value.parts, literal(" ", word.site)]
    source = Quoted(Value(tuple(parts)), evaluator.source.whole)
    tree = statements.read(source.text)
    if tree.problems or not evaluator.budget.spend(1 + len(source.text) // 32):
        return _lose_assigned(arguments, state)
    status = evaluator.evaluate(source, tree.statements, state)
    if all(word.value.known for word in arguments):
        return status
    return _lose_assigned(arguments, state)


def _lose_assigned(arguments: Sequence[Word], state: State) -> Status:
    """What a text assigns that bash may read otherwise is not known."""
    for word in arguments:
        for name in _ASSIGNED.findall(word.value.shown) + sorted(
            arithmetic.assigned_names(word.value.shown)
        ):
            lose(state, name, word)
    return None


def _exit(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    state.flow = "exit"
    return None


def _return(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    state.flow = "return" if evaluator.here.function else "exit"
    text = arguments[0].text if arguments else None
    return None if text is None or not text.isdecimal() else int(text[:9]) == 0


def _break(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    return _leave(evaluator, arguments, state, "break")


def _continue(evaluator: Evaluator, arguments: Sequence[Word], state: State) -> Status:
    return _leave(evaluator, arguments, state, "continue")


def _leave(evaluator: Evaluator, arguments: Sequence[Word], state: State, flow: str) -> Status:
    text = arguments[0].text if arguments else "1"
    if evaluator.here.in_loop:
        state.flow = flow
        state.levels = int(text[:4]) if text and text.isdecimal() else 1
    return True


_BUILTINS: Mapping[str, Builtin] = {
    ":": _succeed,
    "true": _succeed,
    "echo": _succeed,
    "false": _fail,
    "test": _test,
    "[": _bracket,
    "set": _set,
    "shopt": _shopt,
    "shift": _shift,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf": _printf,
    "getopts": _getopts,
    "let": _let,
    "eval": _eval,
    "exit": _exit,
    "return": _return,
    "break": _break,
    "continue": _continue,
}
