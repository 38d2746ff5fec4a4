"""Expands words: parameters, arithmetic, substitutions, tildes and braces, in bash's order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rl_resources.script.bash import arithmetic, braces, fields, parameter, pattern
from rl_resources.script.bash.fields import Fragment, Fragments
from rl_resources.script.bash.log import Budget, Log
from rl_resources.script.bash.lookup import SPECIAL
from rl_resources.script.bash.numbers import Numbers
from rl_resources.script.bash.pattern import MOST_STEPS, Pattern
from rl_resources.script.bash.script import Assignment, Defined, Reference
from rl_resources.script.bash.state import (
    Array,
    Mode,
    State,
    set_content,
)
from rl_resources.script.bash.surroundings import Surroundings
from rl_resources.script.bash.syntax import (
    Arithmetic,
    DoubleQuoted,
    Literal,
    Opaque,
    Parameter,
    Piece,
    Pieces,
    Statements,
    Substitution,
    Word,
)
from rl_resources.script.bash.value import (
    Part,
    Place,
    Reason,
    Source,
    Value,
    literal,
    unknown,
)

_NAME = re.compile(r"0[xX][0-9a-fA-F]+|[0-9][0-9A-Za-z_@#]*|([A-Za-z_][A-Za-z0-9_]*+)(?!\s*=(?!=))")
"""Numbers, and names that are read: `i=0` assigns."""
_PLAIN = re.compile(r"[^~{}*?\[\]()]+")
_ASSIGNING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Expander:
    """Expands words against a state, and notes every reference on the way."""

    def __init__(
        self, source: Source, budget: Budget, run: Callable[[Statements, State], None]
    ) -> None:
        self.source = source
        self.budget = budget
        self.log = Log()
        self.here = Surroundings()
        self._run = run

    @contextmanager
    def within(self, **changes: object) -> Iterator[None]:
        """For a while, be elsewhere in the script."""
        kept = self.here
        self.here = kept._replace(**changes)  # type: ignore[arg-type]
        try:
            yield
        finally:
            self.here = kept

    # Words

    def words(self, word: Word, state: State) -> list[Value]:
        """The words that one word becomes in a command or a list."""
        self.budget.spend()
        plain = self._plain(word)
        if plain is not None:
            return [plain]
        alternatives = braces.alternatives(word.pieces)
        if not alternatives:
            return [self._lost(word.start, word.end)]
        found: list[Value] = []
        paths = "noglob" not in state.options
        separators = self.separators(state)
        for pieces in alternatives:
            fragments = self._tilde(pieces, state, assigned=_is_assigning(pieces))
            unsplit = separators is None and any(f and f.expanded for f in fragments)
            if unsplit or _may_join(pieces, fragments):
                found.append(self._lost(word.start, word.end))
            else:
                found += fields.split(fragments, separators or "", self.source, paths)
        return found

    def _plain(self, word: Word) -> Value | None:
        """The value of a word in which bash expands nothing, as most are."""
        match word.pieces:
            case (Literal(text=text, start=start, quoted=False),) if _PLAIN.fullmatch(text):
                return Value((literal(text, self.source.place(start)),))
        return None

    def _lost(self, start: int, end: int) -> Value:
        place = self.source.place(start)
        return Value((unknown(place, self.source.text[start:end], "limit", many=True),))

    def separators(self, state: State) -> str | None:
        """The characters that separate words, `None` where they cannot be known."""
        variable = state.variables.get("IFS")
        if variable is None or variable.content is None:
            return fields.BLANKS
        return variable.content.text if isinstance(variable.content, Value) else None

    def value(self, word: Word, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        self.budget.spend()
        plain = self._plain(word)
        if plain is not None:
            return plain
        fragments = self._tilde(word.pieces, state, assigned=True, whole=True)
        return fields.joined(fragments)

    def text_of(self, pieces: Pieces, state: State, mode: Mode = "joined") -> Value:
        """The value of pieces without tilde expansion."""
        return fields.joined(self.fragments(pieces, state, mode))

    def pattern(self, pieces: Pieces, state: State) -> Pattern | None:
        """Pieces as a pattern, or `None` where it cannot be known."""
        characters: list[tuple[str, bool]] = []
        for fragment in self.fragments(pieces, state, "joined"):
            if fragment is None or fragment.part.text is None:
                return None
            characters += [(character, fragment.quoted) for character in fragment.part.text]
        return pattern.compiled(characters)

    def _tilde(
        self, pieces: Pieces, state: State, *, assigned: bool, whole: bool = False
    ) -> Fragments:
        """The fragments of a word, with `~` at its start, or in an assigned value, as HOME."""
        mode: Mode = "joined" if whole else "split"
        found: Fragments = []
        for index, piece in enumerate(pieces):
            if isinstance(piece, Literal) and not piece.quoted and "~" in piece.text:
                last = index == len(pieces) - 1
                found += self._tildes(piece, state, assigned, whole, index == 0, last)
            else:
                found += self.fragments((piece,), state, mode)
        return found

    def _tildes(
        self,
        piece: Literal,
        state: State,
        assigned: bool,
        whole: bool,
        first: bool,
        last: bool,
    ) -> Fragments:
        found: Fragments = []
        at = 0
        for match in re.finditer(r"~([A-Za-z0-9_.+-]*)(?=([/:]?))", piece.text):
            before = piece.text[: match.start()]
            starts = first and (before == "" or (assigned and not whole and _opens(before)))
            starts = starts or (assigned and before.endswith(":"))
            ends = match[2] == "/" or (assigned and match[2] == ":")
            ends = ends or (match[1] == "" and last and match.end() == len(piece.text))
            # a word such as `~key` would have to be the name of a user, and is Hydra's deletion
            if not starts or not ends:
                continue
            found.append(self._literal(piece.text[at : match.start()], piece.start + at))
            found.append(self._home(match[0], piece.start + match.start(), state))
            at = match.end()
        found.append(self._literal(piece.text[at:], piece.start + at))
        return found

    def _literal(self, text: str, start: int) -> Fragment:
        return Fragment(literal(text, self.source.place(start)), quoted=False)

    def _home(self, text: str, start: int, state: State) -> Fragment:
        place = self.source.place(start)
        variable = state.variables.get("HOME")
        content = variable.content if variable else None
        if text == "~" and isinstance(content, Value) and content.text is not None:
            return Fragment(Part(content.text, place, content.origin or place, name="HOME"), True)
        return Fragment(unknown(place, text, "environment", name="HOME"), quoted=True)

    # Pieces

    def operand(self, pieces: Pieces, state: State, mode: Mode) -> Fragments:
        """Expand the word of `${NAME:-…}`, where a tilde is expanded unless it is quoted."""
        if mode == "quoted":
            return self.fragments(pieces, state, mode)
        whole = mode == "joined"
        return self._tilde(pieces, state, assigned=whole, whole=whole)

    def fragments(self, pieces: Pieces, state: State, mode: Mode) -> Fragments:
        """Expand pieces; in mode `split` unquoted expansions may become several words."""
        found: Fragments = []
        for piece in pieces:
            found += self._piece(piece, state, mode)
        return found

    def _piece(self, piece: Piece, state: State, mode: Mode) -> Fragments:
        known_unknown = self.source.unknown_at(piece.start)
        if known_unknown is not None and not isinstance(piece, Literal | DoubleQuoted):
            many = known_unknown.many or mode == "split"
            part = known_unknown._replace(many=many)
            return [Fragment(part, mode == "quoted", mode == "split")]
        if isinstance(piece, Literal):
            place = self.source.place(piece.start)
            return [Fragment(literal(piece.text, place), piece.quoted or mode == "quoted")]
        if isinstance(piece, DoubleQuoted):
            return self._double_quoted(piece, state)
        if isinstance(piece, Parameter):
            return self._parameter(piece, state, mode)
        if isinstance(piece, Arithmetic):
            part = self._arithmetic_part(piece, state)
            return [Fragment(part, mode == "quoted", mode == "split")]
        if isinstance(piece, Substitution):
            return self._substitution(piece, state, mode)
        return [self.unknown(piece, "form", mode)]

    def _double_quoted(self, piece: DoubleQuoted, state: State) -> Fragments:
        found = self.fragments(piece.pieces, state, "quoted")
        lists = any(isinstance(p, Parameter) and p.all_of == "@" for p in piece.pieces)
        if found or lists:
            return found
        return [Fragment(literal("", self.source.place(piece.start)), quoted=True)]

    def unknown(
        self, piece: Parameter | Substitution | Opaque, reason: Reason, mode: Mode
    ) -> Fragment:
        """An expansion that cannot be known statically."""
        raw = self.source.text[piece.start : piece.end]
        name = piece.name if isinstance(piece, Parameter) else ""
        listed = isinstance(piece, Parameter) and piece.all_of == "@"
        part = unknown(
            self.source.place(piece.start),
            raw,
            reason,
            name=name,
            many=mode == "split" or (listed and mode == "quoted"),
        )
        return Fragment(part, mode == "quoted", mode == "split")

    def _substitution(self, piece: Substitution, state: State, mode: Mode) -> Fragments:
        with self.within(in_substitution=True, in_subshell=True):
            self._run(piece.body, state.copy())
        return [self.unknown(piece, "substitution", mode)]

    # Arithmetic

    def _arithmetic_part(self, piece: Arithmetic, state: State) -> Part:
        place = self.source.place(piece.start)
        numbers = Numbers(state, place)
        value = self.number(piece.pieces, state, place, numbers)
        if value is None:
            return unknown(place, self.source.text[piece.start : piece.end], numbers.reason)
        return Part(str(value), place, place, default=numbers.default)

    def number(
        self, pieces: Pieces, state: State, place: Place, numbers: Numbers | None = None
    ) -> int | None:
        """The value of an arithmetic expression; its assignments are made."""
        numbers = numbers or Numbers(state, place)
        expression = self.text_of(pieces, state, "quoted")
        numbers.default = expression.default
        self._bare_references(pieces, state)
        text = expression.text
        if text is not None and self.budget.spend(1 + len(text) // 32):
            value = arithmetic.evaluate(text, numbers)
            if value is not None:
                return value
        elif expression.unknown is not None:
            numbers.reason = expression.unknown.reason or "form"
        for name in arithmetic.assigned_names(text or expression.shown):
            lost = unknown(place, f"${{{name}}}", "conditional")
            set_content(state, name, Value((lost,)), place)
        return None

    def number_of(self, text: str, state: State, place: Place) -> int | None:
        """The value of an expression that is already expanded."""
        self.budget.spend(1 + len(text) // 32)
        return arithmetic.evaluate(text, Numbers(state, place))

    def _bare_references(self, pieces: Pieces, state: State) -> None:
        for piece in pieces:
            if not isinstance(piece, Literal):
                continue
            for match in _NAME.finditer(piece.text):
                if match[1]:
                    self._note(match[1], piece.start + match.start(), match[1], state, bare=True)

    # Parameters

    def _note(
        self,
        name: str,
        start: int,
        raw: str,
        state: State,
        *,
        quoted: bool = True,
        operator: str = "",
        bare: bool = False,
    ) -> None:
        self.log.reference(
            Reference(
                name,
                self.source.place(start),
                raw,
                quoted,
                operator,
                bare,
                self._defined(name, state),
                self.here.reach,
                self.here.function,
            )
        )

    def _defined(self, name: str, state: State) -> Defined:
        if name.isdigit() or name in ("@", "*", "#") or name in SPECIAL:
            return "yes"
        variable = state.variables.get(name)
        if variable is None or variable.content is None:
            return "no"
        if isinstance(variable.content, Array):
            return "yes"
        first = variable.content.unknown
        return "maybe" if first and first.reason == "conditional" else "yes"

    def _parameter(self, piece: Parameter, state: State, mode: Mode) -> Fragments:
        raw = self.source.text[piece.start : piece.end]
        self._note(
            piece.name, piece.start, raw, state, quoted=mode != "split", operator=piece.operator
        )
        if self.budget.exhausted:
            return [self.unknown(piece, "limit", mode)]
        return parameter.expand(self, piece, state, mode)

    def affordable(self, compiled: Pattern, text: str, times: int = 1) -> bool:
        """Whether the steps of matching `text` may still be taken; they are then spent."""
        cost = compiled.cost(text) * times
        return cost < MOST_STEPS and self.budget.spend(1 + (cost >> 8))

    def note_default(self, piece: Parameter, value: Value) -> None:
        """Note that `${NAME:=…}` assigned its default."""
        self.log.assignment(
            Assignment(
                name=piece.name,
                value=value,
                elements=None,
                key=None,
                operator="=",
                raw=self.source.text[piece.start : piece.end],
                place=self.source.place(piece.start),
                kind="default",
                exported=False,
                reach=self.here.reach,
                function=self.here.function,
            )
        )

    def key(self, subscript: Pieces, associative: bool, state: State) -> int | str | None:
        """The key that a subscript stands for, `None` where it cannot be known."""
        if associative:
            return self.text_of(subscript, state).text
        start = subscript[0].start if subscript else 0
        number = self.number(subscript, state, self.source.place(start))
        return number if number is not None and number >= 0 else None


def _is_assigning(pieces: Pieces) -> bool:
    match pieces[:1]:
        case (Literal(text=text, quoted=False),):
            return _ASSIGNING.match(text) is not None
    return False


def _may_join(pieces: Pieces, fragments: Fragments) -> bool:
    """Whether text beside a list joins another element if an unknown one turns out to be none."""
    inner = pieces[0].pieces if len(pieces) == 1 and isinstance(pieces[0], DoubleQuoted) else pieces
    uncountable = any(fragment is not None and fragment.part.many for fragment in fragments)
    return len(inner) > 1 and uncountable and None in fragments


def _opens(before: str) -> bool:
    """Whether a tilde after this text opens the value of an assignment."""
    return _ASSIGNING.fullmatch(before) is not None
