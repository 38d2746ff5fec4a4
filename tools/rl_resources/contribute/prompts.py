"""Asking a person at a terminal for what a request lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from rl_resources.check.snapshot import Snapshot
from rl_resources.contribute import words
from rl_resources.contribute.new import with_defaults
from rl_resources.contribute.preview import cell_objections
from rl_resources.contribute.proposal import Row
from rl_resources.contribute.words import GROWING, OPTIONS, Request, UnknownWord
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.package import Field
from rl_resources.words import MOST_LISTED, nearest

_USED = {
    "models": ("parameters_b", "layers", "attention_heads", "kv_heads", "experts"),
    "devices": ("memory_gb",),
}
"""Columns that may stay blank, but from which starting values follow."""


def is_terminal() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()


def ask_terminal(text: str) -> str:
    """The answer to one question, which goes to standard error: results are not mixed with it.

    Raises `UnusableInput` where nobody answers any more.
    """
    print(text, end="", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return input().strip()
    except (EOFError, KeyboardInterrupt):
        print(file=sys.stderr)  # noqa: T201
        raise UnusableInput("stopped before the last answer", "Nothing was written.") from None


def complete(
    request: Request,
    dataset: Dataset,
    snapshot: Snapshot,
    ask: Callable[[str], str] = ask_terminal,
) -> Request:
    """The request with an answer for all that it lacks or says in words that are not known."""
    asking = _Asking(dataset, snapshot, ask)
    for option in OPTIONS:
        if GROWING.get(option) not in request.added:
            request = asking.word(request, option)
    if request.said("contributor") is None:
        request = replace(request, contributor=asking.contributor())
    return request


@dataclass(frozen=True)
class _Asking:
    dataset: Dataset
    snapshot: Snapshot
    ask: Callable[[str], str]

    def word(self, request: Request, option: str) -> Request:
        """The request with a known word for the option, or with a new row for an unknown one."""
        text = request.said(option)
        offer = ""
        while True:
            text = text or self._answer(option, offer)
            try:
                return request.saying(option, words.read(self.dataset, option, text))
            except UnknownWord as error:
                offer = next(iter(nearest(text, words.known(self.dataset, option)).words), "")
                row = self._new_row(option, text, str(error))
            if row is not None:
                added = {**request.added, GROWING[option]: row}
                return replace(request.saying(option, text), added=added)
            text = None

    def _answer(self, option: str, offer: str) -> str:
        """An answer that is not blank; a blank one takes the offer, `?` lists the words."""
        known = words.known(self.dataset, option)
        listed = f" ({', '.join(known)})" if 0 < len(known) <= MOST_LISTED else ""
        more = " (? lists them)" if len(known) > MOST_LISTED else ""
        taken = f" [{offer}]" if offer else ""
        column = words.column(self.dataset, option)
        example = f", such as {column.example}" if not listed else ""
        while True:
            answer = self.ask(f"{column.title}{example}{listed}{more}{taken}: ") or offer
            if answer == "?" and known:
                answer = self.ask("  ".join(known) + f"\n{column.title}{taken}: ") or offer
            if answer:
                return answer

    def _new_row(self, option: str, text: str, problem: str) -> Row | None:
        """The cells of a new row for a word that is not known, where one is wanted."""
        resource = GROWING.get(option)
        if resource is None:
            self._tell(problem)
            return None
        path = self.dataset.package.resources[resource].path
        if not self.ask(f"{problem}\nAdd `{text}` to {path}? [y/N]: ").lower().startswith("y"):
            return None
        return self._row(resource, option, text)

    def _tell(self, text: str) -> None:
        print(text, file=sys.stderr)  # noqa: T201

    def _row(self, resource: str, key: str, text: str) -> Row | None:
        """The row of a table whose key is `text`, every cell checked when it is given."""
        row: dict[str, str] = {key: text}
        if problem := cell_objections(self.snapshot, resource, row).get(key):
            self._tell(problem)
            return None
        for column in self.dataset.package.resources[resource].schema.fields:
            if column.name == key:
                continue
            derived = with_defaults(resource, row, self.dataset).get(column.name, "")
            if column.required or column.name in _USED[resource]:
                row[column.name] = self._cell(resource, row, column, derived)
        return row

    def _cell(self, resource: str, row: Row, column: Field, derived: str) -> str:
        unit = f" ({column.unit})" if column.unit else ""
        blank = f"Enter: {derived}" if derived else "" if column.required else "Enter: not known"
        question = (
            f"{column.title}{unit}. {column.description} For example `{column.example}`."
            f"{f' [{blank}]' if blank else ''}\n  {column.name}: "
        )
        while True:
            cell = self.ask(question) or derived
            found = cell_objections(self.snapshot, resource, {**row, column.name: cell})
            if column.name not in found:
                return cell
            self._tell(found[column.name])

    def contributor(self) -> str | None:
        """A public handle, or nothing."""
        column = words.column(self.dataset, "contributor")
        while True:
            answer = self.ask(f"{column.title}, your public handle [Enter: none]: ")
            if not answer:
                return None
            try:
                return words.read(self.dataset, "contributor", answer)
            except UnknownWord as error:
                self._tell(str(error))
