"""Reads commands: simple ones, lists, pipelines and compound ones, with their redirections.

Why not tree-sitter-bash (0.25.1): it drops the word of a backslash before a blank, and marks errors
in scripts that bash accepts (27 of 433 on a Debian system, where this reader agrees with `bash -n`
on all).
"""

from __future__ import annotations

import re
from dataclasses import replace

from rl_resources.script.shell.syntax import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    AssignmentWord,
    Body,
    Case,
    CaseItem,
    Command,
    DoubleBracket,
    Element,
    For,
    FunctionDefinition,
    Group,
    If,
    Literal,
    Pieces,
    Pipeline,
    Redirect,
    Simple,
    Statements,
    Tree,
    While,
    Word,
)
from rl_resources.script.shell.words import (
    DEEPEST,
    HERE_DOCUMENT,
    KEY,
    REGULAR_EXPRESSION,
    WordReader,
)

DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_COMPOUND = frozenset({"if", "while", "until", "for", "select", "case", "{", "[["})
_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_RESERVED = re.compile(r"[a-z]+(?=[\s;&|<>()]|$)|[{}!](?=[\s;&|<>()]|$)|\[\[(?=\s)")
_REDIRECT = re.compile(
    r"([0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||<(?!\()|>(?!\()|&>>|&>)"
)
_ASSIGNMENT = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)(?:\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){1,200})\])?(\+?=)"
)
_FUNCTION = re.compile(r"([^\s;&|<>()$'\"`\\={}#]+)[ \t]*\([ \t]*\)")
_FUNCTION_WORD = re.compile(r"function[ \t]+([^\s;&|<>()$'\"`]+)[ \t]*(?:\([ \t]*\))?")
_FOR_NAME = re.compile(r"[ \t]+([A-Za-z_][A-Za-z0-9_]*)(?=[\s;]|$)")
_BRACKET_OPERATOR = re.compile(r"&&|\|\||[()<>]|!(?=\s)")


def read(text: str) -> Tree:
    """Read a whole script. Whatever the text, it ends after a time linear in its length."""
    reader = _StatementReader(text)
    statements = reader.statements(frozenset())
    problems = sorted(reader.problems, key=lambda problem: problem.start)
    return Tree(statements, tuple(reader.comments), tuple(problems))


class _StatementReader(WordReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._expected: list[frozenset[str]] = []

    def statements(self, stops: frozenset[str], closing: str = "") -> Statements:
        """Read commands up to one of the reserved words or the closing character."""
        found: list[AndOr] = []
        self._expected.append(stops)
        while not self._at_end(closing):
            word = self._reserved()
            if word in _CLOSING:
                if any(word in expected for expected in self._expected):
                    break
                self._unexpected(len(word))
            elif self.peek() in (";", "&", "|", ")") and not self._at_redirect():
                self._unexpected(1)
            else:
                found.append(self._and_or())
        self._expected.pop()
        return tuple(found)

    def _some_statements(self, stops: frozenset[str], closing: str = "") -> Statements:
        """Read commands where bash wants at least one."""
        found = self.statements(stops, closing)
        if not found:
            self.problem("missing-command", self.at)
        return found

    def _at_end(self, closing: str) -> bool:
        self._newlines()
        if self.at >= self.end:
            return True
        return (closing == self.peek() != "") or (closing == ";;" and self._terminator() != "")

    def _terminator(self) -> str:
        """`;;`, `;&` or `;;&` at the cursor."""
        return next((mark for mark in (";;&", ";;", ";&") if self.peek(len(mark)) == mark), "")

    def _unexpected(self, length: int) -> None:
        self.problem("unexpected-token", self.at)
        self.at += length

    def _reserved(self) -> str:
        match = _RESERVED.match(self.text, self.at, self.end)
        return match[0] if match else ""

    def _blanks(self) -> None:
        """Skip to the next token of the line."""
        match = _BLANKS.match(self.text, self.at, self.end)
        if match:
            self.at = match.end()
        if self.peek() == "#":
            start = self.at
            line_end = self.text.find("\n", start, self.end)
            self.at = line_end if line_end >= 0 else self.end
            self.comments.append((start, self.at))

    def _newlines(self) -> None:
        """Skip to the next token of any line."""
        self._blanks()
        while self.peek() == "\n":
            self.at += 1
            if self.awaited:
                self._here_documents()
            self._blanks()

    def _and_or(self) -> AndOr:
        pipelines = [self._pipeline()]
        operators: list[str] = []
        while self.peek(2) in ("&&", "||"):
            operators.append(self.peek(2))
            start = self.at
            self.at += 2
            self._newlines()
            self._demand_command(start)
            pipelines.append(self._pipeline())
        background = self.peek() == "&"
        if background or (self.peek() == ";" and not self._terminator()):
            self.at += 1
        return AndOr(tuple(pipelines), tuple(operators), background)

    def _demand_command(self, start: int) -> None:
        nothing = self.at >= self.end or self.peek() in (")", ";", "&", "|")
        if (nothing and not self._at_redirect()) or self._reserved() in _CLOSING:
            self.problem("missing-command", start)

    def _pipeline(self) -> Pipeline:
        negated = self._pipeline_prefix()
        commands = [self._command()]
        while self.peek() == "|" and self.peek(2) != "||":
            start = self.at
            self.at += 2 if self.peek(2) == "|&" else 1
            self._newlines()
            self._demand_command(start)
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _pipeline_prefix(self) -> bool:
        negated = False
        while (word := self._reserved()) in ("!", "time"):
            negated ^= word == "!"
            self.at += len(word)
            self._blanks()
            if word == "time" and self.peek(3) == "-p ":
                self.at += 2
                self._blanks()
        return negated

    def _command(self) -> Command:
        start = self.at
        if self.depth >= DEEPEST:
            self.problem("nested-too-deeply", start)
            self.at = self.end
            return Command(Simple((), (), start, start), (), start)
        self.depth += 1
        compound = self._compound()
        if compound is None:
            body, redirects = self._simple()
        else:
            body, redirects = compound, self._redirects()
        self.depth -= 1
        self._blanks()
        return Command(body, redirects, start)

    def _compound(self) -> Body | None:
        word = self._reserved()
        if self.peek() == "(":
            return self._parentheses()
        if word in _COMPOUND:
            start = self.at
            self.at += len(word)
            return self._compound_after(word, start)
        if word == "function":
            match = _FUNCTION_WORD.match(self.text, self.at, self.end)
        elif word in _CLOSING:
            match = None
        else:
            match = _FUNCTION.match(self.text, self.at, self.end)
        return self._function(match) if match else None

    def _compound_after(self, word: str, start: int) -> Body:
        if word == "if":
            return self._if(start)
        if word in ("while", "until"):
            return self._while(start, until=word == "until")
        if word in ("for", "select"):
            return self._for(start, select=word == "select")
        if word == "case":
            return self._case(start)
        if word == "[[":
            return self._double_bracket(start)
        body = self._some_statements(frozenset({"}"}))
        self._close_word("}", start)
        return Group(body, subshell=False)

    def _close_word(self, word: str, start: int) -> None:
        if self._reserved() == word:
            self.at += len(word)
        else:
            self.problem("unclosed-compound", start)

    def _parentheses(self) -> Body:
        start = self.at
        if self.peek(2) == "((":
            self.at += 2
            word = self.expression(start)
            if word is not None:
                return ArithmeticCommand(word)
            self.at = start
        self.at += 1
        body = self._some_statements(frozenset(), ")")
        self._close(")", "unclosed-compound", start)
        return Group(body, subshell=True)

    def _if(self, start: int) -> Body:
        branches: list[tuple[Statements | None, Statements]] = []
        word = "elif"
        while word in ("elif", "else"):
            condition = None
            if word == "elif":
                condition = self._some_statements(frozenset({"then", "fi"}))
                self._close_word("then", start)
            branches.append((condition, self._some_statements(frozenset({"elif", "else", "fi"}))))
            word = self._reserved()
            if word in ("elif", "else"):
                self.at += len(word)
        self._close_word("fi", start)
        return If(tuple(branches))

    def _while(self, start: int, until: bool) -> Body:
        condition = self._some_statements(frozenset({"do", "done"}))
        return While(condition, self._do(start), until)

    def _do(self, start: int) -> Statements:
        self._newlines()
        if self._reserved() == "{":
            self.at += 1
            body = self._some_statements(frozenset({"}"}))
            self._close_word("}", start)
            return body
        self._close_word("do", start)
        body = self._some_statements(frozenset({"done"}))
        self._close_word("done", start)
        return body

    def _for(self, start: int, select: bool) -> Body:
        self._blanks()
        if self.peek(2) == "((":
            return self._arithmetic_for(start)
        self.at -= 1
        match = _FOR_NAME.match(self.text, self.at, self.end)
        if match is None:
            self.at += 1
            self.problem("unexpected-token", self.at)
            return For("", (), self._do(start), start, start, select)
        self.at = match.end()
        self._newlines()
        words: list[Word] | None = None
        if self._reserved() == "in":
            self.at += 2
            words = self._word_list()
        self._blanks()
        if self.peek() == ";" and not self._terminator():
            self.at += 1
        over = tuple(words) if words is not None else None
        return For(match[1], over, self._do(start), start, match.start(1), select)

    def _word_list(self) -> list[Word]:
        words = []
        self._blanks()
        while self.at < self.end and self.peek() not in ("\n", ";", "&", "|", ")", "("):
            word = self.word()
            if word.end == word.start:
                break
            words.append(word)
            self._blanks()
        return words

    def _arithmetic_for(self, start: int) -> Body:
        opening = self.at
        self.at += 2
        whole = self.expression(opening)
        if whole is None:
            self.problem("unclosed-compound", start)
            self.at = self.end
            return Group((), subshell=False)
        fields = _split_at_semicolons(whole)
        self._blanks()
        if self.peek() == ";":
            self.at += 1
        return ArithmeticFor(fields[0], fields[1], fields[2], self._do(start), start)

    def _case(self, start: int) -> Body:
        self._blanks()
        word = self.word()
        self._newlines()
        self._close_word("in", start)
        items: list[CaseItem] = []
        self._newlines()
        while self.at < self.end and self._reserved() != "esac":
            before = self.at
            items.append(self._case_item())
            self._newlines()
            if self.at == before:
                break
        self._close_word("esac", start)
        return Case(word, tuple(items))

    def _case_item(self) -> CaseItem:
        if self.peek() == "(":
            self.at += 1
        patterns = []
        while True:
            self._blanks()
            patterns.append(self.word())
            self._blanks()
            if self.peek() != "|":
                break
            self.at += 1
        if self.peek() != ")":
            self.problem("unexpected-token", self.at)
        self.at += 1
        body = self.statements(frozenset({"esac"}), ";;")
        terminator = self._terminator()
        self.at += len(terminator)
        return CaseItem(tuple(patterns), body, terminator or ";;")

    def _double_bracket(self, start: int) -> Body:
        tokens: list[str | Word] = []
        while True:
            self._newlines()
            if self.peek(2) == "]]" or self.at >= self.end:
                break
            match = _BRACKET_OPERATOR.match(self.text, self.at, self.end)
            if match and match[0] + "(" not in ("<(", ">("):
                self.at = match.end()
                tokens.append(match[0])
                continue
            regular = bool(tokens) and isinstance(tokens[-1], Word) and tokens[-1].plain == "=~"
            word = self.word(REGULAR_EXPRESSION) if regular else self.word()
            if word.end == word.start:
                self._unexpected(1)
            else:
                tokens.append(word)
        if self.at >= self.end:
            self.problem("unclosed-compound", start)
        self.at = min(self.at + 2, self.end)
        return DoubleBracket(tuple(tokens), start, self.at)

    def _function(self, match: re.Match[str]) -> Body:
        self.at = match.end()
        self._newlines()
        start = match.start()
        if self.peek() != "(" and self._reserved() not in _COMPOUND:
            self.problem("unexpected-token", match.start())
        return FunctionDefinition(match[1], self._command(), start)

    def _at_redirect(self) -> bool:
        return _REDIRECT.match(self.text, self.at, self.end) is not None

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        self._blanks()
        while self._at_redirect():
            found.append(self._redirect())
            self._blanks()
        return tuple(found)

    def _redirect(self) -> Redirect:
        match = _REDIRECT.match(self.text, self.at, self.end)
        assert match is not None  # noqa: S101 (the caller looked)
        start, self.at = self.at, match.end()
        self._blanks()
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
            replace(piece, text=re.sub(r"^\t+", "", piece.text, flags=re.MULTILINE))
            if isinstance(piece, Literal)
            else piece
            for piece in pieces
        )

    def _simple(self) -> tuple[Body, tuple[Redirect, ...]]:
        start = end = self.at
        assignments: list[AssignmentWord] = []
        words: list[Word | AssignmentWord] = []
        redirects: list[Redirect] = []
        declares = False
        while self._in_simple():
            if self._at_redirect():
                redirects.append(self._redirect())
                end = self.at
                self._blanks()
                continue
            match = _ASSIGNMENT.match(self.text, self.at, self.end)
            if match and (declares or not words):
                item: Word | AssignmentWord = self._assignment(match)
            elif self.peek() == "(":
                self._unexpected(1)
                self._blanks()
                continue
            else:
                item = self.word()
            if isinstance(item, AssignmentWord) and not words:
                assignments.append(item)
            else:
                declares = declares or (not words and _is_declaration(item))
                words.append(item)
            end = self.at
            self._blanks()
        return Simple(tuple(assignments), tuple(words), start, end), tuple(redirects)

    def _in_simple(self) -> bool:
        if self.at >= self.end:
            return False
        return self.peek() not in ("\n", ";", "&", "|", ")") or self._at_redirect()

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
        self._newlines()
        while self.at < self.end and self.peek() != ")":
            before = self.at
            element = self.element()
            if self.at == before:
                self._unexpected(1)
            else:
                found.append(element)
            self._newlines()
        self._close(")", "unclosed-array", start)
        return tuple(found)


def _is_declaration(item: Word | AssignmentWord) -> bool:
    return isinstance(item, Word) and item.plain in DECLARATIONS


def _split_at_semicolons(whole: Word) -> list[Word]:
    """The three expressions of a `for ((…))`; missing ones are empty."""
    fields: list[list[Pieces]] = [[]]
    for piece in whole.pieces:
        if not isinstance(piece, Literal):
            fields[-1].append((piece,))
            continue
        at = piece.start
        for index, text in enumerate(piece.text.split(";")):
            if index:
                fields.append([])
            fields[-1].append((Literal(text, at, True),))
            at += len(text) + 1
    words = [
        Word(tuple(piece for pieces in field for piece in pieces), whole.start, whole.end)
        for field in fields[:3]
    ]
    return words + [Word((), whole.start, whole.end)] * (3 - len(words))
