"""Reads a script: lists, pipelines and compound commands.

Why not tree-sitter-bash (0.25.1): it drops the word of a backslash before a blank, and marks errors
in scripts that bash accepts (27 of 433 on a Debian system, where this reader agrees with `bash -n`
on all).
"""

from __future__ import annotations

import re

from rl_resources.script.bash.commands import CommandReader
from rl_resources.script.bash.syntax import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Body,
    Case,
    CaseItem,
    Command,
    DoubleBracket,
    For,
    FunctionDefinition,
    Group,
    If,
    Literal,
    Pieces,
    Pipeline,
    Simple,
    Statements,
    Tree,
    While,
    Word,
)
from rl_resources.script.bash.words import (
    DEEPEST,
    REGULAR_EXPRESSION,
)

_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_COMPOUND = frozenset({"if", "while", "until", "for", "select", "case", "{", "[["})
_RESERVED = re.compile(r"[a-z]+(?=[\s;&|<>()]|$)|[{}!](?=[\s;&|<>()]|$)|\[\[(?=\s)")
_FUNCTION = re.compile(r"([^\s;&|<>()$'\"`\\={}#]+)[ \t]*\([ \t]*\)")
_FUNCTION_WORD = re.compile(r"function[ \t]+([^\s;&|<>()$'\"`]+)[ \t]*(?:\([ \t]*\))?")
_COPROCESS = re.compile(
    r"coproc[ \t]+(?:[A-Za-z_][A-Za-z0-9_]*[ \t]+)?"
    r"(?=\(|(?:if|while|until|for|select|case|\{|\[\[)\s)"
)
"""A coprocess that is a compound command; only such a one may have a name."""
_FOR_NAME = re.compile(r"[ \t]+([A-Za-z_][A-Za-z0-9_]*)(?=[\s;]|$)")
_BRACKET_OPERATOR = re.compile(r"&&|\|\||[()<>]|!(?=\s)")


def read(text: str) -> Tree:
    """Read a whole script. Whatever the text, it ends after a time linear in its length."""
    reader = _StatementReader(text)
    statements = reader.statements(frozenset())
    problems = sorted(reader.problems, key=lambda problem: problem.start)
    return Tree(statements, tuple(reader.comments), tuple(problems))


class _StatementReader(CommandReader):
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
                self.unexpected(len(word))
            elif self.peek() in (";", "&", "|", ")") and not self.at_redirect():
                self.unexpected(1)
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
        self.newlines()
        if self.at >= self.end:
            return True
        return (closing == self.peek() != "") or (closing == ";;" and self._terminator() != "")

    def _terminator(self) -> str:
        """`;;`, `;&` or `;;&` at the cursor."""
        return next((mark for mark in (";;&", ";;", ";&") if self.peek(len(mark)) == mark), "")

    def _reserved(self) -> str:
        match = _RESERVED.match(self.text, self.at, self.end)
        return match[0] if match else ""

    def _and_or(self) -> AndOr:
        pipelines = [self._pipeline()]
        operators: list[str] = []
        while self.peek(2) in ("&&", "||"):
            operators.append(self.peek(2))
            start = self.at
            self.at += 2
            self.newlines()
            self._demand_command(start)
            pipelines.append(self._pipeline())
        background = self.peek() == "&"
        if background or (self.peek() == ";" and not self._terminator()):
            self.at += 1
        return AndOr(tuple(pipelines), tuple(operators), background)

    def _demand_command(self, start: int) -> None:
        nothing = self.at >= self.end or self.peek() in (")", ";", "&", "|")
        if (nothing and not self.at_redirect()) or self._reserved() in _CLOSING:
            self.problem("missing-command", start)

    def _pipeline(self) -> Pipeline:
        negated = self._pipeline_prefix()
        commands = [self._command()]
        while self.peek() == "|" and self.peek(2) != "||":
            start = self.at
            self.at += 2 if self.peek(2) == "|&" else 1
            self.newlines()
            self._demand_command(start)
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _pipeline_prefix(self) -> bool:
        negated = False
        while (word := self._reserved()) in ("!", "time"):
            negated ^= word == "!"
            self.at += len(word)
            self.blanks()
            if word == "time" and self.peek(3) == "-p ":
                self.at += 2
                self.blanks()
        return negated

    def _command(self) -> Command:
        start = self.at
        if self.depth >= DEEPEST:
            self.problem("nested-too-deeply", start)
            self.at = self.end
            return Command(Simple((), (), start, start), (), start)
        self.depth += 1
        compound = self._compound()
        body, redirects = (compound, self.redirects()) if compound else self.simple()
        self.depth -= 1
        self.blanks()
        return Command(body, redirects, start)

    def _compound(self) -> Body | None:
        word = self._reserved()
        if self.peek() == "(":
            return self._parentheses()
        if word in _COMPOUND:
            start = self.at
            self.at += len(word)
            return self._compound_after(word, start)
        if word == "coproc" and (match := _COPROCESS.match(self.text, self.at, self.end)):
            return self._coprocess(match)
        if word == "function":
            match = _FUNCTION_WORD.match(self.text, self.at, self.end)
        elif word in _CLOSING:
            match = None
        else:
            match = _FUNCTION.match(self.text, self.at, self.end)
        return self._function(match) if match else None

    def _coprocess(self, match: re.Match[str]) -> Body:
        self.at = match.end()
        command = Command(self._compound() or Group((), subshell=False), (), match.end())
        alone = AndOr((Pipeline((command,), negated=False),), (), background=True)
        return Group((alone,), subshell=True)

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
        self.newlines()
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
        self.blanks()
        if self.peek(2) == "((":
            return self._arithmetic_for(start)
        self.at -= 1
        match = _FOR_NAME.match(self.text, self.at, self.end)
        if match is None:
            self.at += 1
            self.problem("unexpected-token", self.at)
            return For("", (), self._do(start), start, start, select)
        self.at = match.end()
        self.newlines()
        words: list[Word] | None = None
        if self._reserved() == "in":
            self.at += 2
            words = self._word_list()
        self.blanks()
        if self.peek() == ";" and not self._terminator():
            self.at += 1
        over = tuple(words) if words is not None else None
        return For(match[1], over, self._do(start), start, match.start(1), select)

    def _word_list(self) -> list[Word]:
        words = []
        self.blanks()
        while self.at < self.end and self.peek() not in ("\n", ";", "&", "|", ")", "("):
            word = self.word()
            if word.end == word.start:
                break
            words.append(word)
            self.blanks()
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
        self.blanks()
        if self.peek() == ";":
            self.at += 1
        return ArithmeticFor(fields[0], fields[1], fields[2], self._do(start), start)

    def _case(self, start: int) -> Body:
        self.blanks()
        word = self.word()
        self.newlines()
        self._close_word("in", start)
        items: list[CaseItem] = []
        self.newlines()
        while self.at < self.end and self._reserved() != "esac":
            before = self.at
            items.append(self._case_item())
            self.newlines()
            if self.at == before:
                break
        self._close_word("esac", start)
        return Case(word, tuple(items))

    def _case_item(self) -> CaseItem:
        if self.peek() == "(":
            self.at += 1
        patterns = []
        while True:
            self.blanks()
            patterns.append(self.word())
            self.blanks()
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
            self.newlines()
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
                self.unexpected(1)
            else:
                tokens.append(word)
        if self.at >= self.end:
            self.problem("unclosed-compound", start)
        self.at = min(self.at + 2, self.end)
        return DoubleBracket(tuple(tokens), start, self.at)

    def _function(self, match: re.Match[str]) -> Body:
        self.at = match.end()
        self.newlines()
        start = match.start()
        if self.peek() != "(" and self._reserved() not in _COMPOUND:
            self.problem("unexpected-token", match.start())
        return FunctionDefinition(match[1], self._command(), start)


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
