"""The syntax tree of a script. Offsets are those of the text it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Literal(NamedTuple):
    """Characters that stand for themselves; `quoted` ones are neither split nor patterns."""

    text: str
    start: int
    quoted: bool


class DoubleQuoted(NamedTuple):
    """What stands between double quotes."""

    pieces: Pieces
    start: int
    end: int


class Parameter(NamedTuple):
    """`$NAME` or `${…}`.

    `prefix` is `#` (length), `!` (indirect) or empty. `subscript` is `None` without brackets.
    `operator` is what follows the name; `operand` and `replacement` are its words.
    """

    name: str
    start: int
    end: int
    prefix: str = ""
    subscript: Pieces | None = None
    operator: str = ""
    operand: Pieces = ()
    replacement: Pieces | None = None

    @property
    def all_of(self) -> str:
        """`@` or `*` where it stands for all elements or arguments, else empty."""
        if self.name in ("@", "*"):
            return self.name
        match self.subscript:
            case (Literal(text=("@" | "*") as text),):
                return text
        return ""


class Arithmetic(NamedTuple):
    """`$((…))` or `$[…]`."""

    pieces: Pieces
    start: int
    end: int


class Substitution(NamedTuple):
    """`$(…)`, backticks, `<(…)` or `>(…)`."""

    body: Statements
    start: int
    end: int


class Opaque(NamedTuple):
    """Text that is no valid expansion, or nested deeper than is read."""

    start: int
    end: int


Piece = Literal | DoubleQuoted | Parameter | Arithmetic | Substitution | Opaque
Pieces = tuple[Piece, ...]


class Word(NamedTuple):
    """One word as written."""

    pieces: Pieces
    start: int
    end: int

    @property
    def plain(self) -> str | None:
        """Its text if it is one unquoted literal, as reserved words are."""
        match self.pieces:
            case (Literal(text=text, quoted=False),):
                return text
        return None


class Element(NamedTuple):
    """One element of an array in parentheses, with its key where that is written."""

    key: Pieces | None
    word: Word


class AssignmentWord(NamedTuple):
    """`NAME=value`, `NAME[key]+=value` or `NAME=(…)`; `elements` is `None` but for the last."""

    name: str
    key: Pieces | None
    operator: str
    word: Word
    elements: tuple[Element, ...] | None
    start: int
    end: int


@dataclass(slots=True)
class Redirect:
    """A redirection. A here-document's `body` is filled in when its lines are reached."""

    operator: str
    descriptor: str
    target: Word
    start: int
    body: Pieces | None = None


class Simple(NamedTuple):
    """A simple command: leading assignments, then words, of which a declaration's may assign."""

    assignments: tuple[AssignmentWord, ...]
    words: tuple[Word | AssignmentWord, ...]
    start: int
    end: int


class If(NamedTuple):
    """`if`, `elif`, `else`; an `else` is a branch without condition."""

    branches: tuple[tuple[Statements | None, Statements], ...]


class For(NamedTuple):
    """`for NAME in words`; `words` is `None` where it runs over the arguments."""

    name: str
    words: tuple[Word, ...] | None
    body: Statements
    start: int
    name_start: int
    select: bool = False


class ArithmeticFor(NamedTuple):
    """`for ((first; condition; step))`."""

    first: Word
    condition: Word
    step: Word
    body: Statements
    start: int


class While(NamedTuple):
    """`while` or `until`."""

    condition: Statements
    body: Statements
    until: bool


class CaseItem(NamedTuple):
    """One clause of a `case`; `terminator` is `;;`, `;&` or `;;&`."""

    patterns: tuple[Word, ...]
    body: Statements
    terminator: str


class Case(NamedTuple):
    """`case word in … esac`."""

    word: Word
    items: tuple[CaseItem, ...]


class FunctionDefinition(NamedTuple):
    """A function; its body is run when it is called."""

    name: str
    body: Command
    start: int


class Group(NamedTuple):
    """`{ …; }` or, with `subshell`, `( … )`."""

    body: Statements
    subshell: bool


class DoubleBracket(NamedTuple):
    """`[[ … ]]`: operators are text, operands are words."""

    tokens: tuple[str | Word, ...]
    start: int
    end: int


class ArithmeticCommand(NamedTuple):
    """`(( … ))`."""

    word: Word


Body = (
    Simple
    | If
    | For
    | ArithmeticFor
    | While
    | Case
    | FunctionDefinition
    | Group
    | DoubleBracket
    | ArithmeticCommand
)


class Command(NamedTuple):
    """A command of any kind with its redirections."""

    body: Body
    redirects: tuple[Redirect, ...]
    start: int


class Pipeline(NamedTuple):
    """Commands joined by `|`; one alone is no pipe."""

    commands: tuple[Command, ...]
    negated: bool


class AndOr(NamedTuple):
    """Pipelines joined by `&&` and `||`; `operators[i]` stands before pipeline `i + 1`."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...]
    background: bool


Statements = tuple[AndOr, ...]


class Problem(NamedTuple):
    """A place at which the text stops being a script that bash accepts."""

    kind: str
    start: int


class Tree(NamedTuple):
    """A whole script as read."""

    statements: Statements
    comments: tuple[tuple[int, int], ...]
    problems: tuple[Problem, ...] = ()
