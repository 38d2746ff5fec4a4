"""Reads words: quoting and expansions, by the rules of bash's manual, each character once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rl_resources.script.bash import ansi
from rl_resources.script.bash.braces import alternatives
from rl_resources.script.bash.syntax import (
    Arithmetic,
    DoubleQuoted,
    Element,
    Literal,
    Opaque,
    Parameter,
    Piece,
    Pieces,
    Problem,
    Redirect,
    Statements,
    Substitution,
    Word,
)

DEEPEST = 30
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?|@|:")
_KEY = r"\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){1,200})\]"
_ELEMENT_KEY = re.compile(_KEY + r"=")
_SUBSCRIPT = re.compile(_KEY)


@dataclass(frozen=True)
class Mode:
    """Where text is read: which characters end it and which are special before that.

    `escaped` are the characters that a backslash quotes; `None` means all of them.
    """

    stop: str
    quotes: str = ""
    escaped: str | None = None
    quoted: bool = False

    def run(self) -> re.Pattern[str]:
        """The longest stretch without special characters."""
        return re.compile("[^" + re.escape(self.stop + self.quotes + "\\$`") + "]+")


_IN_QUOTES = '$`"\\\n'
WORD = Mode(" \t\n;&|<>()", "'\"")
REGULAR_EXPRESSION = Mode(" \t\n", "'\"")
HERE_DOCUMENT = Mode("", "", "$`\\\n", True)
EXPRESSION = Mode("()", '"', _IN_QUOTES, True)
BRACKETS = Mode("]", '"', _IN_QUOTES, True)
KEY = Mode("", "'\"")
_DOUBLE = Mode('"', "", _IN_QUOTES, True)
_OPERAND = Mode("}", "'\"")
_QUOTED_OPERAND = Mode("}", '"', _IN_QUOTES + "}", True)
_PATTERN = Mode("/}", "'\"")
_MODES = (WORD, REGULAR_EXPRESSION, HERE_DOCUMENT, EXPRESSION, BRACKETS, KEY)
_RUN = {mode: mode.run() for mode in (*_MODES, _DOUBLE, _OPERAND, _QUOTED_OPERAND, _PATTERN)}


class WordReader:
    """A cursor over a text. Reading never fails: what is wrong becomes a problem."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = 0
        self.problems: list[Problem] = []
        self.comments: list[tuple[int, int]] = []
        self.awaited: list[Redirect] = []
        self._no_expression: set[int] = set()

    def statements(self, stops: frozenset[str], closing: str = "") -> Statements:
        """Read commands up to one of the reserved words or the closing character."""
        raise NotImplementedError

    def peek(self, length: int = 1) -> str:
        """The next characters, fewer at the end."""
        return self.text[self.at : min(self.at + length, self.end)]

    def problem(self, kind: str, start: int) -> None:
        """Note what is wrong at `start`."""
        self.problems.append(Problem(kind, start))

    def word(self, mode: Mode = WORD) -> Word:
        """Read one word; it is empty at a character that ends it."""
        start = self.at
        pieces = self.pieces(mode)
        return Word(pieces, start, self.at)

    def within(self, start: int, end: int, mode: Mode) -> Word:
        """Read the stretch from `start` to `end` alone; the cursor stays."""
        kept, self.at, self.end = (self.at, self.end), start, end
        pieces = self.pieces(mode)
        self.at, self.end = kept
        return Word(pieces, start, end)

    def pieces(self, mode: Mode) -> Pieces:
        """Read up to a character that ends the mode."""
        found: list[Piece] = []
        run = _RUN[mode]
        while self.at < self.end:
            start = self.at
            match = run.match(self.text, start, self.end)
            if match:
                self.at = match.end()
                found.append(Literal(match[0], start, mode.quoted))
                continue
            character = self.text[start]
            if character in "<>" and mode is WORD and self.peek(2)[1:] == "(":
                found.append(self._substitution(2))
            elif character == "(" and mode is WORD and _extended(found):
                found.append(self._extended_pattern())
            elif character in mode.stop:
                break
            else:
                found.extend(self._special(character, mode))
        return tuple(found)

    def _special(self, character: str, mode: Mode) -> Pieces:
        if character == "\\":
            return self._escape(mode)
        if character == "'":
            return (self._single_quoted(),)
        if character == '"':
            if mode in (EXPRESSION, BRACKETS):
                self.at += 1
                return ()
            return (self._double_quoted(),)
        if character == "`":
            return (self._backquoted(),)
        return (self._dollar(mode),)

    def _escape(self, mode: Mode) -> Pieces:
        start = self.at
        following = self.peek(2)[1:]
        self.at += 1 + len(following)
        if following == "\n" or (not following and self.at == len(self.text)):
            return ()  # bash drops a backslash that ends the file, too
        if following and (mode.escaped is None or following in mode.escaped):
            return (Literal(following, start, True),)
        self.at = start + 1
        return (Literal("\\", start, True),)

    def _single_quoted(self) -> Piece:
        start = self.at
        close = self.text.find("'", start + 1, self.end)
        if close < 0:
            self.problem("unclosed-quote", start)
            close = self.end
        self.at = min(close + 1, self.end)
        return Literal(self.text[start + 1 : close], start + 1, True)

    def _double_quoted(self, skipped: int = 1) -> Piece:
        start = self.at
        self.at += skipped

        def read() -> Piece:
            pieces = self.pieces(_DOUBLE)
            self._close('"', "unclosed-quote", start)
            return DoubleQuoted(pieces, start, self.at)

        return self._nested(start, read)

    def _backquoted(self) -> Piece:
        start = self.at
        close = re.compile(r"(?:[^`\\]|\\.)*+", re.DOTALL).match(self.text, start + 1, self.end)
        end = close.end() if close else self.end
        body: Statements = ()
        if "\\" not in self.text[start + 1 : end]:
            kept, self.at, self.end = self.end, start + 1, end
            nested = self._nested(start, lambda: Substitution(self._body(), start, end))
            body = nested.body if isinstance(nested, Substitution) else ()
            self.end = kept
        self.at = end
        self._close("`", "unclosed-substitution", start)
        return Substitution(body, start, self.at)

    def _body(self) -> Statements:
        return self.statements(frozenset())

    def _nested(self, start: int, read: Callable[[], Piece]) -> Piece:
        """What `read` reads, unless it stands too deep: then the rest is left unread."""
        if self.depth >= DEEPEST:
            self.problem("nested-too-deeply", start)
            self.at = self.end
            return Opaque(start, self.end)
        self.depth += 1
        piece = read()
        self.depth -= 1
        return piece

    def _close(self, character: str, kind: str, start: int) -> None:
        if self.peek() == character:
            self.at += 1
        else:
            self.problem(kind, start)

    def _dollar(self, mode: Mode) -> Piece:
        start = self.at
        following = self.peek(3)[1:]
        if following[:1] == "'" and "'" in mode.quotes:
            return self._ansi_quoted()
        if following[:1] == '"' and "'" in mode.quotes:
            return self._double_quoted(2)
        if following[:1] == "{":
            return self._nested(start, lambda: self._braces(mode))
        if following == "((" and start not in self._no_expression:
            return self._nested(start, lambda: self._expression_or_substitution(start))
        if following[:1] == "(":
            return self._substitution(2)
        if following[:1] == "[":
            return self._nested(start, self._old_expression)
        match = _PARAMETER.match(self.text, start + 1, self.end)
        if match is None:
            self.at += 1
            return Literal("$", start, True)
        # `$12` is the first argument and a 2
        self.at = start + 2 if following[:1].isdigit() else match.end()
        return Parameter(self.text[start + 1 : self.at], start, self.at)

    def _ansi_quoted(self) -> Piece:
        start = self.at
        match = ansi.BODY.match(self.text, start + 2, self.end)
        end = match.end() if match else self.end
        self.at = end
        self._close("'", "unclosed-quote", start)
        return Literal(ansi.unescape(self.text[start + 2 : end]), start + 2, True)

    def _substitution(self, skipped: int) -> Piece:
        start = self.at
        self.at += skipped

        def read() -> Piece:
            body = self.statements(frozenset(), ")")
            self._close(")", "unclosed-substitution", start)
            return Substitution(body, start, self.at)

        return self._nested(start, read)

    def _expression_or_substitution(self, start: int) -> Piece:
        self.at = start + 3
        word = self.expression(start)
        if word is not None:
            return Arithmetic(word.pieces, start, self.at)
        self.at = start
        return self._substitution(2)

    def expression(self, start: int) -> Word | None:
        """Read up to the `))` of the `((` that was read at `start`.

        `None` where there is none; the cursor is then anywhere, and `start` is never tried again.
        """
        if start in self._no_expression or self.text.find("))", self.at, self.end) < 0:
            return None
        marks = len(self.problems), len(self.comments), len(self.awaited)
        pieces = self._until_double_parenthesis()
        if pieces is None:
            self._no_expression.add(start)
            del self.problems[marks[0] :], self.comments[marks[1] :], self.awaited[marks[2] :]
            return None
        return Word(pieces, start, self.at)

    def _until_double_parenthesis(self) -> Pieces | None:
        found: list[Piece] = []
        depth = 0
        while self.at < self.end:
            found.extend(self.pieces(EXPRESSION))
            character = self.peek()
            if depth == 0 and character == ")":
                closed = self.peek(2) == "))"
                self.at += 2
                return tuple(found) if closed else None
            depth += {"(": 1, ")": -1}.get(character, 0)
            found.append(Literal(character, self.at, True))
            self.at += 1
        return None

    def _old_expression(self) -> Piece:
        start = self.at
        self.at += 2
        pieces = self.pieces(BRACKETS)
        self._close("]", "unclosed-expansion", start)
        return Arithmetic(pieces, start, self.at)

    def _braces(self, mode: Mode) -> Piece:
        start = self.at
        self.at += 2
        prefix = self._prefix()
        match = _PARAMETER.match(self.text, self.at, self.end)
        if match is None:
            return self._bad_braces(start)
        self.at = match.end()
        parameter = Parameter(match[0], start, start, prefix, self._subscript())
        parameter = self._operation(parameter, mode)
        if self.peek() != "}":
            return self._bad_braces(start)
        self.at += 1
        return parameter._replace(end=self.at)

    def _prefix(self) -> str:
        """`#` or `!` where a name follows it, else it is the name itself."""
        sign = self.peek()
        rest = self.text[self.at + 1 : self.at + 3]
        is_prefix = sign == "#" and (rest[:1].isalnum() or rest[:1] == "_" or rest in ("@}", "*}"))
        is_prefix |= sign == "!" and (rest[:1].isalnum() or rest[:1] in ("_", "@", "*", "#"))
        if is_prefix:
            self.at += 1
        return sign if is_prefix else ""

    def _subscript(self) -> Pieces | None:
        match = _SUBSCRIPT.match(self.text, self.at, self.end)
        if match is None:
            return None
        self.at = match.end()
        return self.within(match.start(1), match.end(1), KEY).pieces

    def _operation(self, parameter: Parameter, mode: Mode) -> Parameter:
        match = _OPERATOR.match(self.text, self.at, self.end)
        if match is None:
            return parameter
        self.at = match.end()
        operator = match[0]
        if operator[0] == "/":
            operand = self.pieces(_PATTERN)
            replacement = None
            if self.peek() == "/":
                self.at += 1
                replacement = self.pieces(_QUOTED_OPERAND if mode.quoted else _OPERAND)
            return parameter._replace(operator=operator, operand=operand, replacement=replacement)
        is_word = operator.lstrip(":") in ("-", "=", "?", "+")
        operand = self.pieces(_QUOTED_OPERAND if mode.quoted and is_word else _OPERAND)
        return parameter._replace(operator=operator, operand=operand)

    def _bad_braces(self, start: int) -> Piece:
        self.pieces(_OPERAND)
        self._close("}", "unclosed-expansion", start)
        return Opaque(start, self.at)

    def _extended_pattern(self) -> Piece:
        start = self.at
        depth = 0
        for match in re.compile(r"[()\n]").finditer(self.text, start, self.end):
            depth += {"(": 1, ")": -1}.get(match[0], 0)
            if depth == 0 or match[0] == "\n":
                self.at = match.end() - (match[0] == "\n")
                return Literal(self.text[start : self.at], start, False)
        self.at = self.end
        return Literal(self.text[start : self.end], start, False)

    def element(self) -> Element:
        """Read one element of an array in parentheses."""
        match = _ELEMENT_KEY.match(self.text, self.at, self.end)
        if match is None:
            return Element(None, self.word())
        start, self.at = self.at, match.end()
        word = self.word()
        if len(alternatives(word.pieces)) == 1:
            return Element(self.within(match.start(1), match.end(1), KEY).pieces, word)
        # bash then takes `[key]=` for a part of each word that the braces make
        self.at = start
        return Element(None, self.word())


def _extended(found: list[Piece]) -> bool:
    """Whether a parenthesis after these pieces belongs to an extended pattern."""
    match found[-1:]:
        case [Literal(text=text, quoted=False)]:
            return text[-1:] in ("?", "*", "+", "@", "!")
    return False
