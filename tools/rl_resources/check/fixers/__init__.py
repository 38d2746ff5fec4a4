"""Fixers: generators of edits for the rules whose fix is certain. They write nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rl_resources.check.fixers import cells, compatibility, content, files, form, scripts
from rl_resources.check.rule import Fixer

FIXERS: Mapping[str, Fixer] = {
    "byte-order-mark": files.byte_order_mark,
    "line-ending": files.line_ending,
    "header": files.header,
    "row-length": files.row_length,
    "type": cells.cell_type,
    "vocabulary": cells.vocabulary,
    "pattern": cells.pattern,
    "outer-space": cells.outer_space,
    "invisible-character": cells.invisible_character,
    "row-order": form.row_order,
    "canonical-quoting": form.canonical_quoting,
    "script-name": scripts.script_name,
    "script-place": scripts.script_place,
    "executable-script": scripts.executable_script,
    "stale-lines": compatibility.stale_lines,
    "shebang": content.shebang,
    "strict-mode": content.strict_mode,
    "unquoted-arguments": content.unquoted_arguments,
    "lost-line": content.lost_line,
}
