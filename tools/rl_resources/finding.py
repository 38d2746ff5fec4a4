"""What a rule says about one place, and the order in which findings are reported."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Finding(NamedTuple):
    """One mistake at one place.

    `path` is relative to the dataset's root with `/` between its parts; `line` and `column` count
    from 1 as an editor does. `help` says how to fix it, with the corrected text where it is known.
    """

    rule: str
    severity: Severity
    path: str
    line: int
    column: int
    message: str
    help: str

    @property
    def position(self) -> tuple[str, int, int, str, str]:
        """Sort key: findings are reported in the order of the files."""
        return (self.path, self.line, self.column, self.rule, self.message)

    def as_dict(self) -> dict[str, str | int]:
        """The finding as the JSON object that the command-line contract fixes."""
        return self._asdict()
