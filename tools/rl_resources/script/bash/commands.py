"""Reads simple commands: assignments, words, redirects and here-documents, and what parts them."""

from __future__ import annotations

import re

from rl_resources.script.bash.syntax import (
    AssignmentWord,
    Element,
    Literal,
    Pieces,
    Redirect,
    Simple,
    Word,
)
from rl_resources.script.bash.words import HERE_DOCUMENT, KEY, WordReader

DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_REDIRECT = re.compile(
    r"([0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||<(?!\()|>(?!\()|&>>|&>)"
)
_ASSIGNMENT = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)(?:\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){1,200})\])?(\+?=)"
)


class CommandReader(WordReader):
    """Reads what stands in one line, and the here-documents below it."""

    def blanks(self) -> None:
        """Skip to the next token of the line."""
        match = _BLANKS.match(self.text, self.at, self.end)
        if match:
            self.at = match.end()
        if self.peek() == "#":
            start = self.at
            line_end = self.text.find("\n", start, self.end)
            self.at = line_end if line_end >= 0 else self.end
            self.comments.append((start, self.at))

    def newlines(self) -> None:
        """Skip to the next token of any line."""
        self.blanks()
        while self.peek() == "\n":
            self.at += 1
            if self.awaited:
                self._here_documents()
            self.blanks()

    def unexpected(self, length: int) -> None:
        """Note that the next characters cannot stand here, and pass over them."""
        self.problem("unexpected-token", self.at)
        self.at += length

    def at_redirect(self) -> bool:
        """Whether a redirect begins here."""
        return _REDIRECT.match(self.text, self.at, self.end) is not None

    def redirects(self) -> tuple[Redirect, ...]:
        """Read the redirects that stand here."""
        found: list[Redirect] = []
        self.blanks()
        while self.at_redirect():
            found.append(self._redirect())
            self.blanks()
        return tuple(found)

    def _redirect(self) -> Redirect:
        match = _REDIRECT.match(self.text, self.at, self.end)
        assert match is not None  # noqa: S101 (the caller looked)
        start, self.at = self.at, match.end()
        self.blanks()
        target = self.word()
        if target.end == target.start:
            self.problem("unexpected-token", start)
        redirect = Redirect(match[2], match[1] or "", target, start)
        if match[2] in ("<<", "<<-"):
            self.awaited.append(redirect)
        return redirect

    def _here_documents(self) -> None:
        awaited, self.awaited = self.awaited, []
        for redirect in awaited:
            self._here_document(redirect)

    def _here_document(self, redirect: Redirect) -> None:
        raw = self.text[redirect.target.start : redirect.target.end]
        quoted = any(mark in raw for mark in "'\"\\")
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", raw)
        start = self.at
        while True:
            line_end = self.text.find("\n", self.at, self.end)
            stop = line_end if line_end >= 0 else self.end
            line = self.text[self.at : stop]
            body_end, self.at = self.at, min(stop + 1, self.end)
            if (line.lstrip("\t") if redirect.operator == "<<-" else line) == delimiter:
                break
            if line_end < 0:
                self.problem("unclosed-here-document", redirect.start)
                body_end = self.end
                break
        redirect.body = self._here_body(start, body_end, quoted, redirect.operator == "<<-")

    def _here_body(self, start: int, end: int, quoted: bool, stripped: bool) -> Pieces:
        if quoted:
            pieces: Pieces = (Literal(self.text[start:end], start, True),)
        else:
            pieces = self.within(start, end, HERE_DOCUMENT).pieces
        if not stripped:
            return pieces
        return tuple(
            piece._replace(text=re.sub(r"^\t+", "", piece.text, flags=re.MULTILINE))
            if isinstance(piece, Literal)
            else piece
            for piece in pieces
        )

    def simple(self) -> tuple[Simple, tuple[Redirect, ...]]:
        """Read a simple command: assignments, words and redirects in any order."""
        start = end = self.at
        assignments: list[AssignmentWord] = []
        words: list[Word | AssignmentWord] = []
        redirects: list[Redirect] = []
        declares = False
        while self._in_simple():
            if self.at_redirect():
                redirects.append(self._redirect())
                end = self.at
                self.blanks()
                continue
            match = _ASSIGNMENT.match(self.text, self.at, self.end)
            if match and (declares or not words):
                item: Word | AssignmentWord = self._assignment(match)
            elif self.peek() == "(":
                self.unexpected(1)
                self.blanks()
                continue
            else:
                item = self.word()
            if isinstance(item, AssignmentWord) and not words:
                assignments.append(item)
            else:
                declares = declares or (not words and _is_declaration(item))
                words.append(item)
            end = self.at
            self.blanks()
        return Simple(tuple(assignments), tuple(words), start, end), tuple(redirects)

    def _in_simple(self) -> bool:
        if self.at >= self.end:
            return False
        return self.peek() not in ("\n", ";", "&", "|", ")") or self.at_redirect()

    def _assignment(self, match: re.Match[str]) -> AssignmentWord:
        name, key, operator = match.groups()
        start, self.at = self.at, match.end()
        pieces = self.within(match.start(2), match.end(2), KEY).pieces if key is not None else None
        elements: tuple[Element, ...] | None = None
        if self.peek() == "(":
            opening = self.at
            elements = self._elements()
            word = Word((), opening, self.at)
        else:
            word = self.word()
        return AssignmentWord(name, pieces, operator, word, elements, start, self.at)

    def _elements(self) -> tuple[Element, ...]:
        start = self.at
        self.at += 1
        found: list[Element] = []
        self.newlines()
        while self.at < self.end and self.peek() != ")":
            before = self.at
            element = self.element()
            if self.at == before:
                self.unexpected(1)
            else:
                found.append(element)
            self.newlines()
        self._close(")", "unclosed-array", start)
        return tuple(found)


def _is_declaration(item: Word | AssignmentWord) -> bool:
    return isinstance(item, Word) and item.plain in DECLARATIONS
