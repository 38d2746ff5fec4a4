"""Fixers: generators of edits for the rules whose fix is certain. They write nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rl_resources.check.fixers import dataset, script
from rl_resources.check.rule import Fixer

FIXERS: Mapping[str, Fixer] = {
    "byte-order-mark": dataset.byte_order_mark,
    "line-ending": dataset.line_ending,
    "header": dataset.header,
    "row-length": dataset.row_length,
    "type": dataset.spelling("type"),
    "vocabulary": dataset.spelling("enum", "vocabulary"),
    "pattern": dataset.spelling("pattern"),
    "outer-space": dataset.spelling("space"),
    "invisible-character": dataset.spelling("hidden", "character"),
    "row-order": dataset.row_order,
    "script-name": dataset.script_name,
    "script-place": dataset.script_place,
    "executable-script": dataset.executable_script,
    "stale-lines": dataset.stale_lines,
    "shebang": script.shebang,
    "strict-mode": script.strict_mode,
    "unquoted-arguments": script.unquoted_arguments,
    "lost-line": script.lost_line,
}
