"""Where in a script an evaluation is."""

from __future__ import annotations

from typing import NamedTuple

from rl_resources.script.bash.script import Reach

Status = bool | None
"""Whether a command succeeds; `None` where that cannot be known."""


class Surroundings(NamedTuple):
    """What encloses the command that is evaluated."""

    function: str = ""
    reach: Reach = "always"
    in_loop: bool = False
    in_subshell: bool = False
    in_substitution: bool = False
    in_condition: bool = False


class Links(NamedTuple):
    """What stands beside a command: `&&` or `||`, the commands of its pipeline, `!` and `&`."""

    before: str = ""
    after: str = ""
    background: bool = False
    pipeline: tuple[int, int] = (0, 1)
    negated: bool = False


def weaker(reach: Reach) -> Reach:
    """The reach of what may be left out."""
    return "maybe" if reach == "always" else reach
