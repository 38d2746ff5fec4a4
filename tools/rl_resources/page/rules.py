"""Hand-kept page.

What `rl-resources import-page` checks on a page that is kept by hand.

What comes up in reading rows is found there under the name of its rule; the other rules look at the
page as a whole. A cell that contradicts its script is reported as that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from rl_resources.dataset_rules.plausibility import SIZE_IN_NAME, parameters_in_name
from rl_resources.package import text_of
from rl_resources.page import rows
from rl_resources.page.reader import Heading, Row, width
from rl_resources.page.rows import HEADER_OF, HEADERS, Reading, ReadRow
from rl_resources.rule import Mistake, rule
from rl_resources.script.name import FORM, PARTS, parse, parsed, predicate
from rl_resources.text import is_slip, nearest, shown

_NEAR, _FAR, _BEYOND = 1.25, 1.6, 3.0
"""Ratios of sizes that are rounded to one another, that are not, and that no section has in one."""

_EMAIL = re.compile(
    r"(?<![\w.%+/:-])(?:mailto:)?(?P<name>(?!git@)[\w.%+-]+)"
    r"@(?>(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})(?![\w.:/-]*[:/])"
)
"""An address of a person: `git@` is the account of a server."""
_NO_HYPHEN = re.compile(r"(?<=[a-z])-(?=\d)")
_RECOMMENDED = re.compile(r"\bRECOMMENDED\b|\([Rr]ecommended\)")


@rule()
def page_table(reading: Reading) -> Iterator[Mistake]:
    """Every table can be read, and one of them has rows of runs.

    A table that cannot be read is not shown to a reader either.

    Bad: a `list-table` without a list
    Good: a `list-table` whose items are its rows
    """
    yield from reading.page.mistakes
    if not reading.page.mistakes and not any(table.rows for table in reading.tables):
        headers = (table.header for table in reading.tables or reading.page.tables)
        message = "the page has no `list-table` with a row of a run"
        fix = f"Its header is {', '.join(HEADERS)}; each row is a run and links its script."
        yield reading.mistake(next(headers, Row((), 1, 1)), message, fix)


@rule()
def page_table_columns(reading: Reading) -> Iterator[Mistake]:
    """A table has the columns without which its rows mean nothing.

    A row cannot be followed without its model, its resources or its script.

    Bad: a header that lacks Model
    Good: Tag, Model, Task, Resource, MaxBatch, Train, Infer, Link, Contributor
    """
    for table in reading.tables:
        missing = rows.missing_columns(table)
        if missing and table.rows:
            lacking = ", ".join(missing)
            message = f"the table has no column {lacking}, so none of its rows is read"
            fix = f"Give it the columns {', '.join(HEADERS)}."
            yield reading.mistake(table.header, message, fix)
        there = {cell.text.lower() for cell in table.header.cells}
        optional = [name for name in rows.MAY_LACK if name.lower() not in there]
        for cell in table.header.cells if not missing else ():
            slips = [name for name in optional if is_slip(name.lower(), cell.text.lower())]
            if slips:
                message = f"the column `{shown(cell.text)}` is not known, so its cells are not read"
                yield reading.mistake(cell, message, f"Write `{slips[0]}`.")


@rule()
def page_row_length(reading: Reading) -> Iterator[Mistake]:
    r"""A row has one cell for each column.

    In a short row nobody knows which cell is missing.

    Bad: MIN, GRPO, 2 × H800 80 GB, `\`, fsdp, vllm0.8.2 under nine headers
    Good: nine cells, `\` where nothing is known
    """
    for table in reading.tables:
        header = table.header.cells
        for row in table.rows if not rows.missing_columns(table) else ():
            if len(row.cells) != len(header):
                counts = f"{len(row.cells)} cells and the header {len(header)}"
                message = f"the row has {counts}; it is not read"
                names = ", ".join(shown(cell.text) for cell in header)
                fix = f"Give it one cell for each of {names}; write `\\` where nothing is known."
                yield reading.mistake(row, message, fix)


@rule()
def page_lost_heading(reading: Reading) -> Iterator[Mistake]:
    """What is meant as a heading is one.

    A title whose underline has fewer than four characters and is too short is ordinary text: the
    table below belongs to the section before, and no link leads to it.

    Bad: `0.5B` over `~~~`
    Good: `0.5B` over `~~~~`
    """
    for heading in reading.page.headings:
        if not heading.made:
            message = f"`{shown(heading.title)}` is not a heading: its underline is too short"
            fix = f"Write `{_underline(heading)}` below it."
            yield Mistake(reading.page.path, heading.line, 1, message, fix)


@rule("warning")
def page_short_underline(reading: Reading) -> Iterator[Mistake]:
    """The underline of a title is as long as the title.

    Sphinx warns of a shorter one, and a build with `-W` stops there.

    Bad: `Tuning guide` over `========`
    Good: `Tuning guide` over `============`
    """
    for heading in reading.page.headings:
        if heading.made and len(heading.underline) < width(heading.title):
            message = f"the underline of `{shown(heading.title)}` is too short"
            both = "above and below" if heading.overlined else "below"
            fix = f"Write `{_underline(heading)}` {both} it."
            yield Mistake(reading.page.path, heading.line + 1, 1, message, fix)


def _underline(heading: Heading) -> str:
    return shown(heading.underline[0] * width(heading.title), 400)


@rule()
def page_model_section(reading: Reading) -> Iterator[Mistake]:
    """A row stands under the size of its model.

    Readers look under the size of their model, and take what stands there for it.

    Bad: Qwen2.5-7B-Instruct under `14B`
    Good: Qwen2.5-7B-Instruct under `7B`
    """
    sized = {heading.billions: heading for heading in reading.page.headings if heading.billions}
    for row in reading.rows:
        cell, size = row.cells["Model"], _model_size(reading, row)
        heading = reading.page.heading_above(cell)
        reported = row.lacks_model or reading.contradicts(cell)
        if reported or not size or not heading or not heading.billions:
            continue
        best = min(sized, key=partial(_ratio, size))
        fits = _ratio(size, best) <= _NEAR
        if not re.fullmatch(r"[\d.]+\s?[BbMm]", heading.title.strip()):
            continue  # a range or a list of sizes
        if _ratio(size, heading.billions) > (_FAR if fits else _BEYOND):
            message = f"{shown(row.text('Model'))} stands under the size {shown(heading.title)}"
            right = shown(sized[best].title) if fits else "a heading of its size"
            yield reading.mistake(cell, message, f"Move the row under {right}, or fix its model.")


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)


def _model_size(reading: Reading, row: ReadRow) -> float:
    """Billions of parameters, of a known model in all, else by its name; 0 if unknown."""
    known = reading.context.dataset.by_key["models"].get(row.record["model"])
    value = known["parameters_b"] if known else parameters_in_name(row.text("Model"))
    return value if isinstance(value, float) else 0


@rule("warning")
def page_unknown_word(reading: Reading) -> Iterator[Mistake]:
    """Tag, task, device, training backend and rollout engine are words of the dataset.

    One thing under two names is two things to everyone who searches, and devices of one name may
    differ in memory, which is what decides.

    Bad: GRPOO on 8 × H801
    Good: GRPO on 8 × H800 80 GB
    """
    return reading.found("page-unknown-word")


@rule()
def page_unknown_model(reading: Reading) -> Iterator[Mistake]:
    """A row's model exists.

    A reader cannot download it, and the row's figures belong to another one.

    Bad: Qwen2-70B
    Good: Qwen2-72B
    """
    for row in reading.rows:
        if row.lacks_model:
            problem, trained = row.problems["model"], _trained(reading, row)
            fix = f"Write `{shown(trained, 200)}`, which its script trains."
            place = row.cells["Model"]
            yield reading.mistake(place, problem.message, fix if trained else problem.help)


def _trained(reading: Reading, row: ReadRow) -> str:
    """The known model of about the row's size that its script trains; empty where it is none."""
    model = reading.trained.get(row.link.read or "", "")
    sizes = parameters_in_name(model), parameters_in_name(row.text("Model"))
    near = all(sizes) and _ratio(*sizes) <= _NEAR
    return model if near and reading.context.meanings("model", model) else ""


@rule("warning")
def page_unlisted_model(reading: Reading) -> Iterator[Mistake]:
    """A row's model is one of the dataset's.

    Only of a model that is listed can size and settings be compared with it.

    Bad: a model without a row in records/models.csv
    Good: a model with one
    """
    found = reading.found("page-unlisted-model")
    return (item for item in found if (item.line, item.column) not in reading.reported)


@rule()
def page_unreadable_cell(reading: Reading) -> Iterator[Mistake]:
    """Resource is a number of GPUs and a device, MaxBatch a number, and Infer ends in a release.

    It is what a reader must have to follow the row, and what can be compared.

    Bad: H800, about 16, vllm0.8.x
    Good: 2 × H800 80 GB, 16, vllm0.8.3
    """
    return reading.found("page-unreadable-cell")


@rule("warning")
def page_contributor(reading: Reading) -> Iterator[Mistake]:
    """A contributor is a public handle.

    It says whom to ask, and nothing else about a person.

    Bad: the name Simon Huang
    Good: SimonHuang
    """
    return reading.found("page-contributor")


@rule("warning")
def page_email_address(reading: Reading) -> Iterator[Mistake]:
    """A page publishes no e-mail address.

    An address once published is collected, and its owner cannot take it back.

    Bad: a handle that links to an address
    Good: a handle alone, or one that links to its public profile
    """
    for number, line in enumerate(reading.page.lines, 1):
        for match in _EMAIL.finditer(line):
            yield Mistake(
                reading.page.path,
                number,
                match.start() + 1,
                f"the page publishes the e-mail address `{match['name'][0]}…@…`",
                "Write the public handle alone, or link its public profile.",
            )


@rule("warning")
def page_tag_without_row(reading: Reading) -> Iterator[Mistake]:
    """A tag that a page defines occurs in it.

    A reader looks for the rows that the page promises.

    Bad: a definition of RECOMMENDED, and rows of MIN alone
    Good: one row of RECOMMENDED at least
    """
    first = min((table.header.line for table in reading.tables), default=0)
    cells = (cell for table in reading.tables for row in table.rows for cell in row.cells)
    tags = {cell.text.upper() for cell in cells}
    if not tags or "RECOMMENDED" in tags:
        return
    for number, line in enumerate(reading.page.lines[: first - 1], 1):
        if match := _RECOMMENDED.search(line):
            message = "the page defines RECOMMENDED, and no row has that tag"
            fix = "Add a row that has it, or say that there is none yet."
            yield Mistake(reading.page.path, number, match.start() + 1, message, fix)
            return


@rule()
def page_no_script(reading: Reading) -> Iterator[Mistake]:
    """Every row links its script.

    A row without its script cannot be tried by anybody.

    Bad: see above
    Good: a link to the script
    """
    for cells in (cells for table in reading.tables for cells in rows.cells_by_header(table)):
        if not rows.link_of(cells["Link"], reading.context.scripts):
            message = "the row names no script, so it cannot become a record"
            fix = "Link its script, which lies in examples/tuning/<size>/."
            yield reading.mistake(cells["Link"], message, fix)


@rule()
def page_broken_link(reading: Reading) -> Iterator[Mistake]:
    """A link is one that reStructuredText makes.

    With wrong markup a reader sees the address as text, and the script is not linked.

    Bad: `` `a.sh <https://host/a.sh> `` without `_` at its end, or with a space before the `>`
    Good: `` `a.sh <https://host/a.sh>`_ ``
    """
    for row in reading.rows:
        cell = row.cells["Link"]
        source = reading.page.lines[cell.line - 1][cell.column - 1 :].strip()
        if rows.link_as_text(cell):
            message = "the link is not a link in reStructuredText: its markup is shown as text"
        elif cell.target is None and re.search(r"\.sh(?:`_|_)_?$", source):
            message = "the link has no address: nothing on the page says where it leads"
        elif re.search(r"`[^`<]*[^\s`<]<[^`<>]+>`_", source):
            message = "the link is not a link in reStructuredText: it lacks the space before `<`"
        else:
            continue
        name = shown(row.link.script, 120)
        yield reading.mistake(cell, message, f"Write `` `{name} <https://…/{name}>`_ ``.")


@rule()
def page_missing_script(reading: Reading) -> Iterator[Mistake]:
    """A link leads to a script that there is.

    A row whose link is dead cannot be tried by anybody. A link that names a commit may lead to what
    the directory lacks, but hardly to what it has with another case or `_` for `-`.

    Bad: a link to `…_grpo_4_h800_fsdp_vllm.sh`, which was renamed
    Good: a link to the script as it is called
    """
    known = sorted(PurePosixPath(path).name for path in reading.context.scripts or ())
    for row in reading.rows:
        if row.link.missing:
            name = row.link.target or row.link.script
            folder = f" in {row.link.folder}/" if row.link.folder else ""
            near = [row.link.file] if row.link.file else known
            fix = nearest(name, near).sentence() or "Link a script that exists."
            yield reading.mistake(row.cells["Link"], f"there is no {shown(name, 120)}{folder}", fix)


@rule()
def page_link_label(reading: Reading) -> Iterator[Mistake]:
    """A link is called as the script that it leads to.

    A reader believes the label, and gets another script.

    Bad: a link called `a.sh` that leads to `b.sh`
    Good: a link called `b.sh` that leads to `b.sh`
    """
    for row in reading.rows:
        link = row.link
        label, target = shown(link.label or "", 120), shown(link.target or "", 120)
        only_missing = link.missing and link.script == link.label
        if label and target and label != target and not only_missing:
            message = f"the link is called {label} and leads to {target}"
            fix = "Fix whichever of the two names is wrong."
            yield reading.mistake(row.cells["Link"], message, fix)


@rule("warning")
def page_same_script(reading: Reading) -> Iterator[Mistake]:
    """Two rows do not share a script.

    One script does one thing, so one of the rows is about something else.

    Bad: a row of 1 × H100 80 GB and one of 2 × H100 80 GB, both with one script
    Good: a script for each
    """
    first: dict[str, ReadRow] = {}
    for row in reading.rows:
        if row.link.ambiguous:
            continue  # page-link-label reports it
        before = first.setdefault(row.link.read or row.link.script, row)
        if before is not row:
            name, line = shown(row.link.script, 120), before.cells["Link"].line
            message = f"the row links {name}, as the row of line {line} does"
            yield reading.mistake(row.cells["Link"], message, "Link a script of its own.")


@rule()
def page_script_name(reading: Reading) -> Iterator[Mistake]:
    """A script's name follows the form that the page itself states.

    The name is what a reader searches for, and tools take it apart by its `_`.

    Bad: `qwen2_32B_grpo_8_h20_megatron_vllm.sh`
    Good: `qwen2-32b_grpo_8_h20_megatron_vllm.sh`
    """
    if not any(FORM.removesuffix(".sh") in line for line in reading.page.lines):
        return
    found: set[str] = set()
    for row in reading.rows:
        name = row.link.script
        try:
            parse(name)
        except ValueError as error:
            if name not in found and not _is_dead_link(reading, row):
                found.add(name)
                message = f"the script name `{shown(name, 120)}` {predicate(str(error))}"
                fix = f"The page asks for {FORM}, in lower case, with `-` inside a part."
                yield reading.mistake(row.cells["Link"], message, fix)


def _is_dead_link(reading: Reading, row: ReadRow) -> bool:
    """Whether a link leads to no script of its name."""
    found = PurePosixPath(row.link.file or "").name == row.link.script
    return reading.context.scripts is not None and not found


@rule()
def page_name_against_row(reading: Reading) -> Iterator[Mistake]:
    """A row and the name of its script describe the same run.

    A reader picks by name and budgets by row.

    Bad: 4 × H800 80 GB in the row of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: 2 × H800 80 GB in the row of `…_grpo_2_h800_fsdp_vllm.sh`
    """
    for row in reading.rows:
        for part, said, named in _differing(reading, row):
            cell = row.cells[HEADER_OF[part]]
            if part != "model" and not reading.contradicts(cell):
                message = f"the row says `{shown(said)}`, the name of its script `{shown(named)}`"
                fix = f"Fix the row, or the name {shown(row.link.script, 120)}."
                yield reading.mistake(cell, message, fix)


@rule("warning")
def page_name_of_model(reading: Reading) -> Iterator[Mistake]:
    """A script is named after the model of its row.

    A reader who looks for a model by name does not find it.

    Bad: Qwen2.5-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`
    Good: Qwen2-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`
    """
    found = [
        (row, both)
        for row in reading.rows
        for both in _differing(reading, row)
        if both[0] == "model" and not _is_of_its_script(reading, row, both[2])
    ]
    for row, (_, said, named) in found[:1]:
        lines = ", ".join(str(other.cells["Link"].line) for other, _ in found[1:])
        message = f"the row says `{shown(said)}`, the name of its script `{shown(named)}`"
        message += f"; they differ also in line{'s'[: len(found) > 2]} {lines}" if lines else ""
        fix = "Name each after the model that it trains, or fix the row."
        yield reading.mistake(row.cells["Link"], message, fix)


def _is_of_its_script(reading: Reading, row: ReadRow, named: str) -> bool:
    """Whether a name says what its script trains, or that is not known: another commit's may."""
    trained = reading.trained.get(row.link.read or "", "").lower().rpartition("/")[2]
    return _says_more(trained, named) if trained else reading.context.scripts is not None


def _differing(reading: Reading, row: ReadRow) -> Iterator[tuple[str, str, str]]:
    return (both for both in _both(reading, row) if not _agrees(reading, row, *both))


def confirmed_by_name(reading: Reading, row: ReadRow) -> frozenset[str]:
    """The columns of a row that the name of its script confirms; a model's name may be short."""
    agree = (both[0] for both in _both(reading, row) if _agrees(reading, row, *both))
    return frozenset(agree) - {"model"}


def _both(reading: Reading, row: ReadRow) -> Iterator[tuple[str, str, str]]:
    """The parts of a script's name with what the row and the name say.

    Any name may have six parts, so it must end in a known backend or engine. A cell with another
    mistake says nothing.
    """
    name, meanings = parsed(row.link.script), reading.context.meanings
    known = name and (meanings("backend", name.train) or meanings("engine", name.infer))
    for part in PARTS if known and not row.link.ambiguous else ():
        said = text_of(row.record, part).lower()
        if part == "model":
            said = "" if part in row.problems else row.text("Model")
        if said:
            yield part, said, str(getattr(name, part))


_KINDS = {"device": "device", "train": "backend", "infer": "engine"}


def _agrees(reading: Reading, row: ReadRow, part: str, said: str, named: str) -> bool:
    """Whether a row and the part of a name mean the same, also where one of them says more."""
    if part == "model":
        return _same_model(reading, row, said.lower().rpartition("/")[2], named)
    if part not in _KINDS:
        return said == named
    return said in reading.context.meanings(_KINDS[part], named) or _says_more(said, named)


def _says_more(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _same_model(reading: Reading, row: ReadRow, said: str, named: str) -> bool:
    """Whether a name means the row's model, also by the size of its section: 70b for 72B."""
    meant = reading.context.meanings("model", named)
    joined = (_NO_HYPHEN.sub("", name) for name in (said, named))  # llama3.1 is llama-3.1
    if row.record["model"] in meant or _says_more(*joined):
        return True
    heading, size = reading.page.heading_above(row.cells["Model"]), parameters_in_name(named)
    by_section = bool(size and heading and heading.billions == size)
    return by_section and _says_more(SIZE_IN_NAME.sub("#", said), SIZE_IN_NAME.sub("#", named))


@rule("warning")
def page_script_without_row(reading: Reading) -> Iterator[Mistake]:
    """Every script has a row.

    A script without a row is found by nobody, and no row is compared with it.

    Bad: a new script alone
    Good: a new script and its row
    """
    for path in reading.orphans():
        name = PurePosixPath(path).name
        message = f"no row links the script {shown(path, 200)}"
        row = reading.tables[0].header
        yield reading.mistake(row, message, f"Add a row that links {shown(name, 120)}.")
