"""Fixers: generators of edits for the rules whose fix is certain. They write nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rl_resources.check.fixers import compatibility, content, scripts, tables
from rl_resources.check.rule import Fixer

FIXERS: Mapping[str, Fixer] = {
    "byte-order-mark": tables.byte_order_mark,
    "line-ending": tables.line_ending,
    "header": tables.header,
    "row-length": tables.row_length,
    "type": tables.cell_type,
    "vocabulary": tables.vocabulary,
    "pattern": tables.pattern,
    "outer-space": tables.outer_space,
    "invisible-character": tables.invisible_character,
    "row-order": tables.row_order,
    "script-name": scripts.script_name,
    "script-place": scripts.script_place,
    "executable-script": scripts.executable_script,
    "stale-lines": compatibility.stale_lines,
    "shebang": content.shebang,
    "strict-mode": content.strict_mode,
    "unquoted-arguments": content.unquoted_arguments,
    "lost-line": content.lost_line,
}
