"""The rules of a hand-kept page.

What comes up in reading its cells is told there already, by the name of a rule; the other rules
look at the page as a whole. None of them reads a file.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rl_resources.check.registry import Mistake, rule
from rl_resources.page.neighbours import orphans
from rl_resources.page.script_link import folder_above, link_as_text
from rl_resources.script.name import FORM, ScriptName, parse
from rl_resources.words import is_slip, shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow
    from rl_resources.page.value import Cell, Heading, Table

_NEAR, _FAR = 1.25, 1.6
_FEWEST_ALIKE = 2
_ADDRESS = re.compile(
    r"(?<![\w.%+/:-])(?:mailto:)?(?P<name>[\w.%+-]+)@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?![\w.:/-]*[:/])"
)
_SIZE = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])(?!-[0-9]+e)")
_SIZE_FOLDER = re.compile(r"[0-9]+(?:\.[0-9]+)?b", re.IGNORECASE)
_RECOMMENDED = re.compile(r"\bRECOMMENDED\b|\([Rr]ecommended\)")


# Form


@rule(
    summary="Every table can be read.",
    reason="A table that cannot be read is not shown to a reader either.",
    bad="a `list-table` without a list",
    good="a `list-table` whose items are its rows",
)
def page_table(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-table")


@rule(
    summary="A table has the columns without which its rows mean nothing.",
    reason="A row cannot be followed without its model, its resources or its script.",
    bad="a header that lacks Model",
    good="Tag, Model, Task, Resource, MaxBatch, Train, Infer, Link, Contributor",
)
def page_table_columns(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-table-columns")


@rule(
    summary="The tables of a page have the same header.",
    reason="Whoever adds a row copies the table that is there, its faults too.",
    bad="`tag` and no Contributor in one table, `Tag` and Contributor in the others",
    good="one header for all tables",
    severity="warning",
)
def page_table_headers(reading: Reading) -> Iterator[Mistake]:
    told = {mistake.line for mistake in reading.told("page-table-columns")}
    tables = [table for table in reading.tables if table.header.line not in told]
    if not tables:
        return
    filled = [table for table in tables if not all(row.blank for row in table.rows)]
    usual = Counter(map(_header, filled or tables)).most_common(1)[0][0]
    for table in filled:  # an empty one is a placeholder
        if (header := _header(table)) != usual:
            message = f"the table has {_difference(header, usual)} than the others of the page"
            mend = f"Write the header as there: {', '.join(map(shown, usual))}."
            yield reading.mistake(table.header, message, mend)


def _header(table: Table) -> tuple[str, ...]:
    return tuple(cell.text.strip() for cell in table.header.cells)


def _difference(header: Sequence[str], usual: Sequence[str]) -> str:
    if len(header) != len(usual):
        return f"{len(header)} columns and not {len(usual)}, so a header other"
    odd = [word for word in header if word not in usual]
    words = ", ".join(f"`{shown(word)}`" for word in odd)
    return f"headers ({words}) other" if odd else "another order of columns"


@rule(
    summary="A row has one cell for each column.",
    reason="In a short row nobody knows which cell is missing.",
    bad="MIN, GRPO, 2*H800, `\\`, fsdp, vllm0.8.2 under nine headers",
    good="nine cells, `\\` where nothing is known",
)
def page_row_length(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-row-length")


# Headings


@rule(
    summary="What is meant as a heading is one.",
    reason="A title whose underline has fewer than four signs and is too short is ordinary text: "
    "the table below belongs to the section before, and no link leads to it.",
    bad="`0.5B` over `~~~`",
    good="`0.5B` over `~~~~`",
)
def page_lost_heading(reading: Reading) -> Iterator[Mistake]:
    for heading in reading.page.headings:
        if not heading.made:
            message = f"`{shown(heading.title)}` is no heading: its underline is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


@rule(
    summary="An underline is as long as its heading.",
    reason="The page builds with a warning, and with none where warnings are errors.",
    bad="`Hardware` over `=====`",
    good="`Hardware` over `========`",
    severity="warning",
)
def page_short_underline(reading: Reading) -> Iterator[Mistake]:
    for heading in reading.page.headings:
        if heading.made and heading.underline:
            message = f"the underline of `{shown(heading.title)}` is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


def _longer(heading: Heading) -> str:
    return f"Write `{shown(heading.underline[0] * len(heading.title))}` below it."


def _at_heading(reading: Reading, heading: Heading, message: str, mend: str) -> Mistake:
    return Mistake(reading.page.path, heading.line, 1, message, mend)


@rule(
    summary="A size has one heading.",
    reason="A reader who has found the first does not look for the second.",
    bad="two headings `7B`",
    good="one heading `7B` over all its rows",
    severity="warning",
)
def page_heading_twice(reading: Reading) -> Iterator[Mistake]:
    first: dict[float, Heading] = {}
    for heading in _sizes(reading):
        before = first.setdefault(heading.billions or 0, heading)
        if before is not heading:
            message = f"the size {shown(heading.title)} has a heading in line {before.line} already"
            yield _at_heading(reading, heading, message, "Put both tables under one heading.")


def _sizes(reading: Reading) -> list[Heading]:
    return [heading for heading in reading.page.headings if heading.billions is not None]


@rule(
    summary="Under a size stands its table.",
    reason="A heading without a table promises what is not there.",
    bad="`7B`, and then the next heading",
    good="`7B` over a table, or over one with a row of `\\`",
    severity="warning",
)
def page_empty_size(reading: Reading) -> Iterator[Mistake]:
    filled = {reading.page.heading_of(table) for table in reading.page.tables}
    lost = bool(list(reading.told("page-table")))
    for heading in _sizes(reading):
        if heading not in filled and filled and not lost:
            message = f"under the size {shown(heading.title)} there is no table"
            yield _at_heading(reading, heading, message, "Add its table, or take the heading out.")


@rule(
    summary="Every table of runs stands under the heading of a size.",
    reason="Readers look under the size of their model.",
    bad="a table under `Seven`, others under `3B` and `14B`",
    good="the table under `7B`",
    severity="warning",
)
def page_table_section(reading: Reading) -> Iterator[Mistake]:
    headings = [reading.page.heading_of(table) for table in reading.tables]
    if sum(_billions(heading) is not None for heading in headings) * 2 < len(headings):
        return
    for table, heading in zip(reading.tables, headings, strict=True):
        if _billions(heading) is None:
            under = f"under `{shown(heading.title)}`, which is no size" if heading else "under none"
            message = f"the table stands {under}; the others stand under the size of their models"
            yield reading.mistake(table.header, message, "Put the heading of a size above it.")


def _billions(heading: Heading | None) -> float | None:
    return heading.billions if heading else None


@rule(
    summary="A row stands under the size of its model.",
    reason="Readers look under the size of their model, and take what stands there for it.",
    bad="Qwen2.5-7B-Instruct under `14B`",
    good="Qwen2.5-7B-Instruct under `7B`",
)
def page_model_section(reading: Reading) -> Iterator[Mistake]:
    for row in reading.rows:
        right = _right_heading(reading, row)
        if right is not None and not _trains_another_model(reading, row):
            heading = reading.page.heading_of(row.table)
            message = (
                f"{shown(row.text('Model'))} stands under the size "
                f"{shown(heading.title) if heading else ''}"
            )
            mend = f"Move the row under {shown(right.title)}, or mend its model."
            yield reading.mistake(row.cells["Model"], message, mend)


def _trains_another_model(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that the script trains another model: it is the cell that is wrong."""
    said = f"is `{shown(row.text('Model'))}`, but "
    told = reading.contradicted.get(row.row.line, ())
    return any(said in message and message.endswith(": another model") for message in told)


def _right_heading(reading: Reading, row: ReadRow) -> Heading | None:
    """The heading that a row belongs under, where it plainly stands under another size's."""
    size, heading = _model_size(reading, row), _billions(reading.page.heading_of(row.table))
    if size is None or heading is None or _is_unknown(reading, row):
        return None
    if _ratio(size, heading) <= _FAR:
        return None
    best = min(_sizes(reading), key=lambda other: _ratio(size, other.billions or 0))
    return best if _ratio(size, best.billions or 0) <= _NEAR else None


def _ratio(one: float, other: float) -> float:
    return math.exp(abs(math.log(one / other)))


def _model_size(reading: Reading, row: ReadRow) -> float | None:
    """Billions of parameters, of a known model in all, else by its name."""
    models = reading.context.vocabulary.dataset.by_key["models"]
    known = models.get(row.record["model"]) if row.record["model"] else None
    if known is not None:
        value = known["parameters_b"]
        return float(value) if isinstance(value, int | float) else None
    return _named_size(row.text("Model"))


def _named_size(name: str) -> float | None:
    found = _SIZE.search(name.lower())
    return float(found[1]) or None if found else None


# Cells


@rule(
    summary="A tag is one that the records know.",
    reason="The tag says what the figures of a row mean.",
    bad="MAX",
    good="MIN",
)
def page_unknown_tag(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-tag")


@rule(
    summary="A row's model exists.",
    reason="A reader cannot download it, and the row's figures belong to another one.",
    bad="Qwen2-70B",
    good="Qwen2-72B",
)
def page_unknown_model(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-model")


@rule(
    summary="A row's model is one of the dataset's.",
    reason="Only of a model that is listed can size and settings be held to it.",
    bad="a model without a row in records/models.csv",
    good="a model with one",
    severity="warning",
)
def page_unlisted_model(reading: Reading) -> Iterator[Mistake]:
    told = {
        row.cells["Model"].line
        for row in reading.rows
        if any(
            row.text("Model") in message for message in reading.contradicted.get(row.row.line, ())
        )
    }
    told |= {row.cells["Model"].line for row in reading.rows if _is_misplaced(reading, row)}
    return (item for item in reading.told("page-unlisted-model") if item.line not in told)


def _is_misplaced(reading: Reading, row: ReadRow) -> bool:
    """Whether a row's model is of another size than its section, or than its script's name."""
    if _right_heading(reading, row) is not None:
        return True
    name = next((name for other, name in _named_rows(reading) if other is row), None)
    return name is not None and _is_of_another_size(row, name)


@rule(
    summary="A row's task is one of the dataset's.",
    reason="One task under two names is two tasks to everyone who searches.",
    bad="GRPOO",
    good="GRPO",
    severity="warning",
)
def page_unknown_task(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-task")


@rule(
    summary="A row's device is one of the dataset's.",
    reason="Devices of one name may differ in memory, which is what decides.",
    bad="8*H801",
    good="8*H800",
    severity="warning",
)
def page_unknown_device(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-device")


@rule(
    summary="A row's training backend is one of the dataset's.",
    reason="One backend under two names is two backends to everyone who searches.",
    bad="fspd",
    good="fsdp",
    severity="warning",
)
def page_unknown_backend(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-backend")


@rule(
    summary="A row's rollout engine is one of the dataset's.",
    reason="One engine under two names is two engines to everyone who searches.",
    bad="vllmm0.8.3",
    good="vllm0.8.3",
    severity="warning",
)
def page_unknown_engine(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-engine")


@rule(
    summary="Resource is a number of GPUs and their device.",
    reason="It is what a reader must have to follow the row.",
    bad="H800",
    good="2*H800",
)
def page_resource(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-resource")


@rule(
    summary="MaxBatch is a number of prompts, or blank.",
    reason="A figure in words cannot be compared.",
    bad="about 16",
    good="16",
    severity="warning",
)
def page_max_batch(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-max-batch")


@rule(
    summary="What follows the engine's name is its release.",
    reason="A reader installs it by this.",
    bad="vllm0.8.x",
    good="vllm0.8.3",
    severity="warning",
)
def page_infer_version(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-infer-version")


@rule(
    summary="A contributor is a public handle.",
    reason="It says whom to ask, and nothing else about a person.",
    bad="the name Simon Huang",
    good="SimonHuang",
    severity="warning",
)
def page_contributor(reading: Reading) -> Iterator[Mistake]:
    yield from reading.told("page-contributor")
    if any(row.text("Contributor") for row in reading.rows):
        for row in reading.rows:
            cell = row.cells.get("Contributor")
            if cell is not None and not _written(reading, cell):
                message, mend = "the row names no contributor", "Write who ran it."
                yield reading.mistake(cell, message, mend)


def _written(reading: Reading, cell: Cell) -> str:
    """The cell's text, or its `\\`, which says that nothing is known."""
    return cell.text.strip() or reading.page.lines[cell.line - 1][cell.column - 1 :].strip(" -*+")


@rule(
    summary="A page publishes no e-mail address.",
    reason="An address once published is collected, and its owner cannot take it back.",
    bad="a handle that links to an address",
    good="a handle alone, or one that links to its public profile",
    severity="warning",
)
def page_email_address(reading: Reading) -> Iterator[Mistake]:
    for number, line in enumerate(reading.page.lines, 1):
        for match in _ADDRESS.finditer(line) if "@" in line else ():
            if match["name"] == "git":
                continue  # the account of a server, not of a person
            yield Mistake(
                reading.page.path,
                number,
                match.start() + 1,
                f"the page publishes the e-mail address `{match['name'][0]}…@…`",
                "Write the public handle alone, or link its public profile.",
            )


@rule(
    summary="A tag that a page defines occurs in it.",
    reason="A reader looks for the rows that the page promises.",
    bad="a definition of RECOMMENDED, and rows of MIN alone",
    good="one row of RECOMMENDED at least",
    severity="warning",
)
def page_tag_without_row(reading: Reading) -> Iterator[Mistake]:
    first = min((table.header.line for table in reading.tables), default=0)
    tags = {row.text("Tag").upper() for row in reading.rows} | _first_cells(reading)
    if not tags or "RECOMMENDED" in tags:
        return
    for number, line in enumerate(reading.page.lines[: first - 1], 1):
        if match := _RECOMMENDED.search(line):
            message = "the page defines RECOMMENDED, and no row has that tag"
            mend = "Add a row that has it, or say that there is none yet."
            yield Mistake(reading.page.path, number, match.start() + 1, message, mend)
            return


def _first_cells(reading: Reading) -> set[str]:
    """The words that rows begin with, also of rows that are too short to be read."""
    rows = (row for table in reading.tables for row in table.rows if not row.blank)
    return {row.cells[0].text.strip().upper() for row in rows if row.cells}


# Links


@rule(
    summary="Every row links its script.",
    reason="A row without its script cannot be tried by anybody.",
    bad="see above",
    good="a link to the script",
)
def page_no_script(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-no-script")


@rule(
    summary="A link is one that reStructuredText makes.",
    reason="With wrong markup a reader sees the address as text, and the script is not linked.",
    bad="`` `a.sh <https://host/a.sh> `` without `_` at its end, or with a blank before the `>`",
    good="`` `a.sh <https://host/a.sh>`_ ``",
)
def page_broken_link(reading: Reading) -> Iterator[Mistake]:
    for row in reading.rows:
        cell = row.cells["Link"]
        source = reading.page.lines[cell.line - 1][cell.column - 1 :].strip()
        if link_as_text(cell):
            message = "the link is no link in reStructuredText: its markup is shown as text"
        elif cell.target is None and re.search(r"\.sh(?:`_|_)_?$", source):
            message = "the link has no address: nothing on the page says where it leads"
        else:
            continue
        name = shown(row.link.script, 120)
        yield reading.mistake(cell, message, f"Write `` `{name} <https://…/{name}>`_ ``.")


@rule(
    summary="A link leads to a script that there is.",
    reason="A row whose link is dead cannot be tried by anybody.",
    bad="a link to `…_grpo_4_h800_fsdp_vllm.sh`, which was renamed",
    good="a link to the script as it is called",
)
def page_missing_script(reading: Reading) -> Iterator[Mistake]:
    yield from reading.told("page-missing-script")
    folders = {id(row): folder_above(row.cells["Link"]) for row in reading.rows}
    usual, most = next(iter(Counter(filter(None, folders.values())).most_common(1)), ("", 0))
    for row in reading.rows:
        folder = folders[id(row)] or usual
        if most >= _FEWEST_ALIKE and not _is_dead(reading, row) and is_slip(folder, usual):
            message = f"the link leads into {shown(folder)}/, the others into {shown(usual)}/"
            yield reading.mistake(row.cells["Link"], message, f"Write `{shown(usual)}`.")


@rule(
    summary="A link is called as the script that it leads to.",
    reason="A reader believes the label, and gets another script.",
    bad="a link called `a.sh` that leads to `b.sh`",
    good="a link called `b.sh` that leads to `b.sh`",
)
def page_link_label(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-link-label")


@rule(
    summary="Two rows do not share a script.",
    reason="One script does one thing, so one of the rows is about something else.",
    bad="a row of 1*H100 and one of 2*H100, both with one script",
    good="a script for each",
    severity="warning",
)
def page_same_script(reading: Reading) -> Iterator[Mistake]:
    first: dict[str, ReadRow] = {}
    for row in reading.rows:
        if row.link.label not in (None, row.link.target or row.link.label):
            continue  # told as a label
        before = first.setdefault(row.link.read or row.link.script, row)
        if before is not row:
            name, line = shown(row.link.script, 120), before.cells["Link"].line
            message = f"the row links {name}, as the row of line {line} does"
            yield reading.mistake(row.cells["Link"], message, "Link a script of its own.")


@rule(
    summary="A linked script lies in the folder of its section's size.",
    reason="Whoever looks for the scripts of a size looks in its folder.",
    bad="a script in `7b/` that the table of 14B links",
    good="a script in `14b/`",
    severity="warning",
)
def page_script_folder(reading: Reading) -> Iterator[Mistake]:
    for row in reading.rows:
        heading, folder = reading.page.heading_of(row.table), row.link.folder
        size = _billions(heading)
        told = _is_dead(reading, row) or _right_heading(reading, row)
        if heading is None or size is None or folder is None or told:
            continue
        if not math.isclose(float(folder[:-1]), size) and _folders_follow(reading, row):
            message = f"the link leads into {folder}/, its table stands under {heading.title}"
            mend = f"Move the script to {heading.title.lower()}/ and link it there."
            yield reading.mistake(row.cells["Link"], message, mend)


def _is_dead(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that a link leads to no script."""
    return reading.context.scripts is not None and row.link.file is None


def _folders_follow(reading: Reading, odd: ReadRow) -> bool:
    """Whether the folders of the page's other links are its headings."""
    others = [
        (row.link.folder, _billions(reading.page.heading_of(row.table)))
        for row in reading.rows
        if row is not odd and row.link.folder is not None
    ]
    fits = sum(size is not None and math.isclose(float(name[:-1]), size) for name, size in others)
    return fits * 2 > len(others)


@rule(
    summary="A script's name follows the form that the page itself states.",
    reason="The name is what a reader searches for, and tools take it apart by its `_`.",
    bad="`qwen2_32B_grpo_8_h20_megatron_vllm.sh`",
    good="`qwen2-32b_grpo_8_h20_megatron_vllm.sh`",
)
def page_script_name(reading: Reading) -> Iterator[Mistake]:
    if not any(FORM.removesuffix(".sh") in line for line in reading.page.lines):
        return
    told: set[str] = set()
    for row in reading.rows:
        name = row.link.script
        wrong = _wrong_with(name)
        if wrong is not None and name not in told and not _is_dead(reading, row):
            told.add(name)
            words = wrong if wrong.split()[0] in {"has", "does"} else f"is not right: {wrong}"
            message = f"the script name `{shown(name, 120)}` {words}"
            mend = f"The page asks for {FORM}, in lower case, with `-` inside a part."
            yield reading.mistake(row.cells["Link"], message, mend)


def _wrong_with(name: str) -> str | None:
    try:
        parse(name)
    except ValueError as error:
        return str(error)
    return None


@rule(
    summary="A row and the name of its script describe the same run.",
    reason="A reader picks by name and budgets by row.",
    bad="4*H800 in the row of `…_grpo_2_h800_fsdp_vllm.sh`",
    good="2*H800 in the row of `…_grpo_2_h800_fsdp_vllm.sh`",
)
def page_name_against_row(reading: Reading) -> Iterator[Mistake]:
    for row, name in _named_rows(reading):
        for part, header in _HEADERS.items():
            said = _said(row, part)
            named = str(getattr(name, part))
            agrees = not said or _agrees(reading, part, said, named)
            told = _is_held_to_script(reading, row, part)
            if not agrees and not told and not _is_contradicted(reading, row, said, named):
                yield _against(reading, row, header, said, named)
        model = row.text("Model")
        other = _is_of_another_size(row, name) and not _is_unknown(reading, row)
        if other and not _is_contradicted(reading, row, model, name.model):
            yield _against(reading, row, "Model", model, name.model)


@rule(
    summary="A script is named after the model of its row.",
    reason="Who searches for the model by name does not find the script.",
    bad="Qwen2.5-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`",
    good="Qwen2.5-7B in the row of `qwen2.5-7b_grpo_2_h800_fsdp_vllm.sh`",
    severity="warning",
)
def page_name_of_model(reading: Reading) -> Iterator[Mistake]:
    """Rows whose names differ in the same way are one mistake: a family is called otherwise."""
    alike: dict[tuple[str, str], list[tuple[ReadRow, ScriptName]]] = {}
    for row, name in _named_rows(reading):
        if _is_of_another_name(reading, row, name):
            families = _family(row.text("Model")), _family(name.model)
            alike.setdefault(families, []).append((row, name))
    for (row, name), *more in alike.values():
        found = _against(reading, row, "Link", row.text("Model"), name.model)
        lines = ", ".join(str(other.cells["Link"].line) for other, _ in more)
        also = f"; so do the rows of lines {lines}" if len(more) > 1 else ""
        also = f"; so does the row of line {lines}" if len(more) == 1 else also
        yield found._replace(message=found.message + also)


def _family(model: str) -> str:
    """A model's name up to its size."""
    name = model.lower().rpartition("/")[2]
    return _SIZE.split(name, maxsplit=1)[0]


def _is_of_another_name(reading: Reading, row: ReadRow, name: ScriptName) -> bool:
    said = row.text("Model")
    same = not said or _same_model(reading, row, name.model)
    doubtful = _is_unknown(reading, row) or _is_unlisted(reading, row)
    if same or doubtful or _is_of_another_size(row, name):
        return False
    return not _is_contradicted(reading, row, said, name.model)


_HEADERS = {
    "task": "Task",
    "gpus": "Resource",
    "device": "Resource",
    "train": "Train",
    "infer": "Infer",
}


def _against(reading: Reading, row: ReadRow, header: str, said: str, name: str) -> Mistake:
    message = f"the row says `{shown(said)}`, the name of its script `{shown(name)}`"
    mend = f"Mend the row, or the name {shown(row.link.script, 120)}."
    return reading.mistake(row.cells[header], message, mend)


def _is_held_to_script(reading: Reading, row: ReadRow, part: str) -> bool:
    """Whether it is told already that the script does something else than the row says of it."""
    told = reading.contradicted.get(row.row.line, ())
    return any(message.startswith(f"{part} of ") for message in told)


def _is_contradicted(reading: Reading, row: ReadRow, said: str, named: str) -> bool:
    """Whether it is told already that the script does as it is named, and not as the row says."""
    wanted = [re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)", re.I) for word in (said, named)]
    told = reading.contradicted.get(row.row.line, ())
    return any(all(word.search(message) for word in wanted) for message in told)


def _named_rows(reading: Reading) -> Iterator[tuple[ReadRow, ScriptName]]:
    """The rows whose script's name can be taken apart; where label and address differ it cannot."""
    for row in reading.rows:
        if _wrong_with(row.link.script) is None and row.link.label in (None, row.link.script):
            yield row, parse(row.link.script)


def _said(row: ReadRow, part: str) -> str:
    """The word of a record, in lower case; empty where the cell is wrong by another rule."""
    value = row.record[part]
    return "" if value is None else str(value).lower()


def _agrees(reading: Reading, part: str, said: str, named: str) -> bool:
    """Whether word and part mean the same, also where one of them says more than the other."""
    words = reading.context.vocabulary
    spellings = {"device": words.devices, "train": words.backends, "infer": words.engines}
    if said in (word.lower() for word in spellings.get(part, {}).get(named, ())):
        return True
    return _says_more(said, named) if part in spellings else said == named


def _says_more(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _same_model(reading: Reading, row: ReadRow, named: str) -> bool:
    """Whether a name means the row's model, also by the size of its section: 70b for 72B."""
    said = row.text("Model").lower().rpartition("/")[2]
    known = reading.context.vocabulary.slugs.get(named)
    if _says_more(said, named) or (known is not None and known == row.record["model"]):
        return True
    size = _named_size(named)
    by_section = size is not None and size == _billions(reading.page.heading_of(row.table))
    return by_section and _says_more(_SIZE.sub("#", said), _SIZE.sub("#", named))


def _is_unknown(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that there is no model as the row names it."""
    told = reading.told("page-unknown-model")
    return row.cells["Model"].line in {mistake.line for mistake in told}


def _is_unlisted(reading: Reading, row: ReadRow) -> bool:
    told = reading.told("page-unlisted-model")
    return row.cells["Model"].line in {mistake.line for mistake in told}


def _is_of_another_size(row: ReadRow, name: ScriptName) -> bool:
    said, named = _named_size(row.text("Model")), _named_size(name.model)
    return said is not None and named is not None and _ratio(said, named) > _NEAR


@rule(
    summary="Every script has a row.",
    reason="A script without a row is found by nobody, and no row is held against it.",
    bad="a new script alone",
    good="a new script and its row",
    severity="warning",
)
def page_script_without_row(reading: Reading) -> Iterator[Mistake]:
    for path in orphans(reading):
        name = PurePosixPath(path).name
        message = f"no row links the script {shown(path, 200)}"
        row = reading.tables[0].header
        yield reading.mistake(row, message, f"Add a row that links {shown(name, 120)}.")
