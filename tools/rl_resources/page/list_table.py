"""A `list-table` directive that keeps every row as long as it is, with its physical lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docutils import nodes
from docutils.parsers.rst.directives.tables import ListTable


class UnevenListTable(ListTable):
    """Docutils' own directive refuses a table whose rows differ in length, and then all is lost."""

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        """One table; rows are the items of the outer list, cells those of the inner ones.

        An error message instead where there is no list.
        """
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        rows = [_row(item) for item in _items(content)]
        if not rows:
            said = f'Error parsing content block for the "{self.name}" directive: no list in it.'
            return [self.reporter.error(said, line=self.lineno)]
        headers = self.options.get("header-rows", 0)
        group = nodes.tgroup("", nodes.thead("", *rows[:headers]), nodes.tbody("", *rows[headers:]))
        table = nodes.table("", group)
        table.line = self.lineno
        return [table]


def _items(node: nodes.Element) -> Iterator[nodes.Element]:
    """The items of all lists in `node`; a change of bullet starts another list."""
    for child in node.children:
        if isinstance(child, nodes.bullet_list):
            yield from (item for item in child.children if isinstance(item, nodes.list_item))


def _row(item: nodes.Element) -> nodes.row:
    """The row of an outer item; what stands in it beside a list counts as a cell of its own."""
    not_cells = (nodes.bullet_list, nodes.system_message)
    beside = [child for child in item.children if not isinstance(child, not_cells)]
    cells = [_entry(cell.children, cell.line) for cell in _items(item)]
    row = nodes.row("", *cells, *(_entry([child], child.line or item.line) for child in beside))
    row.line = item.line
    return row


def _entry(content: Sequence[nodes.Node], line: int | None) -> nodes.entry:
    entry = nodes.entry("", *content)
    entry.line = line
    return entry
