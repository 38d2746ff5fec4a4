"""Expands words: parameters, arithmetic, substitutions, tildes, braces and word splitting."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from rl_resources.script.bash import pattern
from rl_resources.script.bash.parameter import Fragment, Fragments, Mode, Parameters, all_of
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.state import State
from rl_resources.script.bash.value import (
    Part,
    Place,
    Source,
    Value,
    bounded,
    literal,
    lost,
    unknown,
)

_TILDE = re.compile(r"~[A-Za-z0-9_.+-]*(?=/)|~(?=:|$)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_ASSIGNING = re.compile(r"[A-Za-z_]\w*\+?=")
_PATH_PATTERN = re.compile(r"[*?]|\[[^\]]+\]|[+@!]\(")
_BRACES = re.compile(r"(?<!\$)\{.*(?:,|\.\.)", re.DOTALL)
"""Of braces and anything else in one word the expansion is unknown."""
_SPACES = re.compile(r"[ \t\n]+")


class Expander(Parameters):
    """Expands words against a state, and notes every reference on the way."""

    @abstractmethod
    def substitute(self, statements: Sequence[Node], state: State) -> None:
        """Follow the commands of `$(…)`."""

    def words(self, word: Node, state: State) -> list[Value]:
        """The words that one word becomes in a command or a list."""
        self.spend()
        parts = word["Parts"]
        opened = any(part["Type"] == "Lit" and "{" in part["Value"] for part in parts)
        if not opened or not _BRACES.search(self.raw(word)):
            return self._split(word, self._expand(parts, state, "split", start=True), state)
        texts = _braced(self.raw(word)) if len(parts) == 1 else None
        if texts is None:
            return [self._many(word)]
        return [Value((literal(text, self.place(word)),)) for text in texts]

    def _many(self, word: Node) -> Value:
        return lost(self.place(word), self.raw(word), "limit", many=True)

    def _split(self, word: Node, fragments: Fragments, state: State) -> list[Value]:
        expanded = any(item and item.expanded and item.part.text for item in fragments)
        if ("IFS" in state.variables and expanded) or _may_join(word["Parts"], fragments):
            return [self._many(word)]
        return list(_fields(fragments, self.source, "noglob" not in state.options))

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        self.spend()
        return joined(self._expand(word["Parts"], state, "joined", start=True))

    def operand(self, word: Node | None, state: State, mode: Mode) -> Fragments:
        """The word of `${NAME:-…}`, where a tilde is expanded unless it is quoted."""
        return self._expand((word or {}).get("Parts") or (), state, mode, start=mode != "quoted")

    def pattern(self, word: Node | None, state: State) -> re.Pattern[str] | None:
        """A word as a pattern, `None` where it is unknown."""
        fragments = self.fragments((word or {}).get("Parts") or (), state, "joined")
        if any(item is None or item.part.text is None for item in fragments):
            return None
        return pattern.compiled((item.part.text or "", item.quoted) for item in fragments if item)

    def fragments(self, parts: Sequence[Node], state: State, mode: Mode) -> Fragments:
        """Parts of a word; in mode `split` unquoted expansions may become several words."""
        return self._expand(parts, state, mode, start=False)

    def _expand(self, parts: Sequence[Node], state: State, mode: Mode, *, start: bool) -> Fragments:
        found: Fragments = []
        text = self.source.text[parts[0]["Pos"] :] if parts else ""
        assigned = start and (mode == "joined" or bool(_ASSIGNING.match(text)))
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                first, last = start and index == 0, index == len(parts) - 1
                tildes = self._tildes(node, first, last, assigned, mode) if start else {}
                found += self._literal(node, state, mode, tildes)
            else:
                found += self._part(node, state, mode)
        return found

    def _part(self, node: Node, state: State, mode: Mode) -> Fragments:
        kind = node["Type"]
        known_unknown = self.source.unknown_at(node["Pos"])
        if known_unknown is not None and kind != "DblQuoted":
            part = known_unknown._replace(many=known_unknown.many or mode == "split")
            return [Fragment(part, mode == "quoted", mode == "split")]
        if kind == "SglQuoted":
            return [self._single_quoted(node, mode)]
        if kind == "DblQuoted":
            return self._double_quoted(node, state)
        if kind == "ParamExp":
            return self.parameter(node, state, mode)
        if kind == "ArithmExp":
            return [Fragment(self.expression(node, state), mode == "quoted", mode == "split")]
        if kind in ("CmdSubst", "ProcSubst"):
            with self.within(in_substitution=True, pipeline=(0, 1), background=False, after=""):
                self.substitute(node.get("Stmts", ()), state.copy())
        return [self.missing(node, "substitution" if "Stmts" in node else "form", mode)]

    # Literals

    def _single_quoted(self, node: Node, mode: Mode) -> Fragment:
        raw, dollar = self.raw(node), bool(node.get("Dollar"))
        if mode == "quoted" and not dollar:  # inside of `"${NAME:-'…'}"` they are characters
            if re.search(r"[$`\\]", raw):
                return self.missing(node, "form", mode)
            return Fragment(literal(raw, self.place(node)), quoted=True)
        start = node["Pos"] + 1 + dollar
        body = self.source.text[start : node["End"] - 1]
        text = _unescaped(body) if dollar else body
        if text is None:
            return self.missing(node, "form", mode)
        return Fragment(literal(text, self.source.place(start)), quoted=True)

    def _double_quoted(self, node: Node, state: State) -> Fragments:
        parts = node.get("Parts", ())
        found = self.fragments(parts, state, "quoted")
        if found or any(all_of(part) == "@" for part in parts):
            return found
        return [Fragment(literal("", self.place(node)), quoted=True)]

    def _tildes(
        self, node: Node, first: bool, last: bool, assigned: bool, mode: Mode
    ) -> dict[int, int]:
        """Where in a literal a `~` stands for HOME, and where it ends."""
        start, end = node["Pos"], node["End"]
        found = {}
        for match in _TILDE.finditer(self.source.text[start:end]):
            before = match.string[: match.start()]
            opens = first and (not before or (mode == "split" and _ASSIGNING.fullmatch(before)))
            starts = opens or (assigned and before.endswith(":"))
            follows = match.string[match.end() : match.end() + 1]
            ends = follows == "/" or (assigned and follows == ":") or (last and not follows)
            if starts and ends:
                found[start + match.start()] = start + match.end()
        return found

    def _literal(
        self, node: Node, state: State, mode: Mode, tildes: Mapping[int, int]
    ) -> Fragments:
        """A literal without its backslashes, cut where quoted and unquoted characters meet."""
        text, at, end = self.source.text, node["Pos"], node["End"]
        quoted = mode == "quoted"
        found: Fragments = []
        start = at

        def cut(stop: int) -> None:
            if stop > start:
                part = literal(text[start:stop], self.source.place(start))
                found.append(Fragment(part, quoted))

        while at < end:
            if at in tildes:
                cut(at)
                found.append(self._home(text[at : tildes[at]], at, state))
                at = start = tildes[at]
            elif text[at] == "\\" and (not quoted or text[at + 1 : at + 2] in '$`"\\\n'):
                cut(at)
                if text[at + 1 : at + 2] != "\n":
                    part = literal(text[at + 1 : at + 2], self.source.place(at))
                    found.append(Fragment(part, quoted=True))
                at = start = at + 2
            else:
                at += 1
        cut(min(at, end))
        return found

    def _home(self, text: str, start: int, state: State) -> Fragment:
        place = self.source.place(start)
        variable = state.variables.get("HOME")
        content = variable.content if variable else None
        if text == "~" and isinstance(content, Value) and content.text is not None:
            return Fragment(Part(content.text, place, content.origin or place, name="HOME"), True)
        return Fragment(unknown(place, text, "environment", name="HOME"), quoted=True)


def _braced(text: str) -> list[str] | None:
    """The words of `a{b,c}d` and `{1..3}`, `None` where there is more to expand."""
    match = re.fullmatch(r"([^{}\\]*)\{([^{}\\]*)\}([^{}\\]*)", text)
    if match is None:
        return None
    before, inner, after = match.groups()
    numbers = re.fullmatch(r"(\d{1,3})\.\.(\d{1,3})", inner)
    items = inner.split(",")
    if numbers and not re.match(r"0\d", inner):
        first, last = int(numbers[1]), int(numbers[2])
        step = 1 if first <= last else -1
        items = [str(number) for number in range(first, last + step, step)]
    elif len(items) == 1:
        return None if ".." in inner else [text]
    return [before + item + after for item in items]


def _may_join(parts: Sequence[Node], fragments: Fragments) -> bool:
    """Whether text beside a list joins another element if an unknown one turns out to be none."""
    only = len(parts) == 1 and parts[0]["Type"] == "DblQuoted"
    inner = parts[0].get("Parts", ()) if only else parts
    uncountable = any(item is not None and item.part.many for item in fragments)
    return len(inner) > 1 and uncountable and None in fragments


def _unescaped(body: str) -> str | None:
    """What stands between `$'` and `'`, `None` for the escapes that Python does not share."""
    if not body.isascii() or re.search(r"\\(?:[eEcNU?]|u(?![0-9a-fA-F]{4})|x(?!..)|0\b)", body):
        return None if "\\" in body else body
    return body.encode().decode("unicode_escape", "replace")


# Word splitting


def joined(fragments: Fragments) -> Value:
    """Fragments as one value, as an assignment takes them: separate words joined by a space."""
    place = next((item.part.place for item in fragments if item), Place(0, 1, 1))
    parts: list[Part] = []
    for index, item in enumerate(fragments):
        if item is not None:
            parts.append(item.part._replace(many=False))
        elif not any(_is_many(fragments[at : at + 1]) for at in (index - 1, index + 1)):
            parts.append(literal(" ", place))
    return bounded(parts)


def _is_many(items: Fragments) -> bool:
    """Whether it is any number of words; a space beside it is a part of what is unknown."""
    return any(item is not None and item.part.many for item in items)


def _fields(fragments: Fragments, source: Source, paths: bool) -> Iterator[Value]:
    """The words of fragments; with `paths`, patterns stand for names of files."""
    current: list[Fragment] = []
    for item in [*fragments, None]:
        if item is not None and item.expanded and item.part.text is not None:
            *before, current = _cut(current, item, source)
            for word in before:
                yield _word(word, paths)
        elif item is not None:
            part = item.part._replace(many=True) if item.expanded else item.part
            current = [*current, item._replace(part=part)]
        elif current:
            if any(fragment.quoted or fragment.part.text != "" for fragment in current):
                yield _word(current, paths)
            current = []


def _cut(current: list[Fragment], item: Fragment, source: Source) -> list[list[Fragment]]:
    """What an expansion adds to a word, cut at its spaces; the last word is still open."""
    words = [current]
    at, text = 0, item.part.text or ""
    for match in [*_SPACES.finditer(text), None]:
        stop = match.start() if match else len(text)
        if stop > at:
            part = _piece(item.part, at, text[at:stop], source)
            words[-1] = [*words[-1], Fragment(part, quoted=False)]
        if match and words[-1]:
            words.append([])
        at = match.end() if match else at
    return words


def _piece(part: Part, start: int, text: str, source: Source) -> Part:
    """A stretch of a part, with its own place where it is written there."""
    if text == part.text:
        return part
    offset = part.origin.offset + start
    if not source.whole.startswith(text, offset):
        return part._replace(text=text)
    place = source.place(offset)
    return part._replace(text=text, place=place, origin=place)


def _word(fragments: Sequence[Fragment], paths: bool) -> Value:
    parts = [fragment.part for fragment in fragments]
    if paths and _is_path_pattern(fragments):
        return lost(parts[0].place, Value(tuple(parts)).shown, "pathname", many=True)
    return bounded(parts)


def _is_path_pattern(fragments: Sequence[Fragment]) -> bool:
    """Whether bash would look for files of that name.

    An override such as `data.files=a*` is one only in a folder that has such a name with its `=`,
    so it is taken as it stands.
    """
    before = ""
    for fragment in fragments:
        text = fragment.part.text or ""
        match = None if fragment.quoted else _PATH_PATTERN.search(text)
        if match:
            return "=" not in before + text[: match.start()]
        before += text
    return False
