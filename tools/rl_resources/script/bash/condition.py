"""`test`, `[ … ]` and `[[ … ]]`: true, false, or not to be known statically."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from rl_resources.script.bash.expansion import Expander
from rl_resources.script.bash.state import State
from rl_resources.script.bash.surroundings import Status
from rl_resources.script.bash.syntax import DoubleBracket, Word
from rl_resources.script.bash.value import Value

DEEPEST = 30
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_PLACEHOLDER = re.compile(r"(?i)[{<][^{}<>]*(?:your|path|name|here)[^{}<>]*[}>]")
_NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


def negated(status: Status) -> Status:
    """The opposite, where it is known."""
    return None if status is None else not status


def both(left: Status, right: Status) -> Status:
    """Whether both hold."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def decided(value: Value) -> str | None:
    """The text that a condition may rely on.

    A setting that the script leaves empty is meant to come from outside, and one that holds
    `{your_path}` or `<path>` to be written over, so they decide nothing.
    """
    text = value.text or ""
    left_open = value.default if not text else value.names and _PLACEHOLDER.search(text)
    return None if left_open else value.text


def test(arguments: Sequence[Value]) -> Status:
    """The status of `test` with these arguments."""
    if arguments and arguments[0].text == "!":
        return negated(test(arguments[1:]))
    if any(argument.many for argument in arguments):
        return None
    if not arguments:
        return False
    if len(arguments) == 1:
        return _filled(arguments[0])
    if len(arguments) == 2:
        return _unary(arguments[0].text, arguments[1])
    if len(arguments) == 3:
        return _binary(decided(arguments[0]), arguments[1].text, decided(arguments[2]))
    return None


def _filled(value: Value) -> Status:
    if any(part.text for part in value.parts):
        return True
    return None if decided(value) is None else False


def _unary(sign: str | None, value: Value) -> Status:
    if sign == "-n":
        return _filled(value)
    return negated(_filled(value)) if sign == "-z" else None


def _binary(left: str | None, sign: str | None, right: str | None) -> Status:
    if left is None or right is None or sign is None:
        return None
    if sign in ("=", "=="):
        return left == right
    if sign == "!=":
        return left != right
    if sign in _NUMERIC and _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return _NUMERIC[sign](int(left), int(right))
    return None


def double_bracket(body: DoubleBracket, expander: Expander, state: State) -> Status:
    """The status of `[[ … ]]`. Every operand is expanded, also one that bash would skip."""
    return _DoubleBracket(body.tokens, expander, state).status()


class _DoubleBracket:
    def __init__(self, tokens: Sequence[str | Word], expander: Expander, state: State) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._expander = expander
        self._state = state

    def status(self) -> Status:
        found = self._either()
        complete = self._at == len(self._tokens)
        while self._at < len(self._tokens):
            self._operand()
        return found if complete else None

    def _peek(self) -> str:
        """The next token if it is an operator."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        return token if isinstance(token, str) else ""

    def _either(self) -> Status:
        found = self._all()
        while self._peek() == "||":
            self._at += 1
            found = negated(both(negated(found), negated(self._all())))
        return found

    def _all(self) -> Status:
        found = self._one()
        while self._peek() == "&&":
            self._at += 1
            found = both(found, self._one())
        return found

    def _one(self) -> Status:
        self._depth += 1
        inverted = False
        while self._peek() == "!":
            self._at += 1
            inverted = not inverted
        if self._depth > DEEPEST:
            self._at = len(self._tokens)
            return None
        if self._peek() == "(":
            self._at += 1
            found = self._either()
            self._at += self._peek() == ")"
        else:
            found = self._primary()
        self._depth -= 1
        return negated(found) if inverted else found

    def _primary(self) -> Status:
        words: list[Word] = []
        signs: list[str] = []
        while self._at < len(self._tokens) and self._peek() not in ("&&", "||", "(", ")"):
            token = self._tokens[self._at]
            self._at += 1
            if isinstance(token, Word):
                words.append(token)
            else:
                signs.append(token)
        if signs or (len(words) == 3 and words[1].plain in ("=", "==", "!=", "=~")):
            return self._compared(words, signs)
        values = [self._value(word) for word in words]
        if len(values) == 3 and words[1].plain in _NUMERIC:
            return self._numeric(words)
        return test(values) if words and words[0].plain != "!" else None

    def _numeric(self, words: Sequence[Word]) -> Status:
        texts = [decided(self._value(word)) for word in (words[0], words[2])]
        if not all(text is not None and _INTEGER.fullmatch(text) for text in texts):
            return None
        return _binary(texts[0], words[1].plain, texts[1])

    def _compared(self, words: Sequence[Word], signs: Sequence[str]) -> Status:
        left = decided(self._value(words[0])) if words else None
        sign = words[1].plain if len(words) == 3 else None
        if signs or sign not in ("=", "==", "!="):
            for word in words[1:]:
                self._value(word)
            return None
        pattern = self._expander.pattern(words[2].pieces, self._state)
        right = decided(self._value(words[2]))
        if left is None or right is None or pattern is None:
            return None
        if not self._expander.affordable(pattern, left):
            return None
        return pattern.matches(left) == (sign != "!=")

    def _value(self, word: Word) -> Value:
        return self._expander.value(word, self._state)

    def _operand(self) -> None:
        token = self._tokens[self._at]
        self._at += 1
        if isinstance(token, Word):
            self._value(token)
