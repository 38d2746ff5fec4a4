"""What `import-page` checks on the links of a hand-kept page: each row's script and its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename

from rl_resources.devices import devices_of
from rl_resources.facts.models import SIZE_IN_NAME, parameters_in_name
from rl_resources.facts.script_names import FORM, PARTS, parse, parsed, predicate
from rl_resources.page import Cell, Page, link_as_text
from rl_resources.page.records import HEADER_OF, Reading, ReadRow
from rl_resources.rule import Mistake, rule
from rl_resources.text import nearest, shown

_SEPARATORS = re.compile(r"[^a-z0-9#]")


@rule()
def page_no_script(reading: Reading) -> Iterator[Mistake]:
    """Every row links its script.

    Nobody can try a row without its script.

    Bad: see above
    Good: a link to the script
    """
    for cell in reading.unlinked:
        yield reading.mistake(
            cell,
            "the row names no script, so it cannot become a record",
            "Link its script, which lies in examples/tuning/<size>/.",
        )


@rule()
def page_broken_link(reading: Reading) -> Iterator[Mistake]:
    """A link is valid reStructuredText.

    With wrong markup readers see the URL as text, and the script is not linked.

    Bad: `` `a.sh <https://host/a.sh> `` without `_` at its end, or with a space before the `>`
    Good: `` `a.sh <https://host/a.sh>`_ ``
    """
    for row in reading.rows:
        name = _name(row)
        fix = f"Write `` `{name} <https://…/{name}>`_ ``."
        cell = row.cells["Link"]
        if link_as_text(cell):
            message = "the link is not a link in reStructuredText"
            yield reading.mistake(cell, message, fix)
        elif _is_dangling(reading.page, cell):
            message = f"the page has no target for the reference `{name}`_"
            yield reading.mistake(cell, message, fix)


def _is_dangling(page: Page, cell: Cell) -> bool:
    """Whether a cell is the name of a link that the page defines nowhere."""
    name = cell.text
    source = page.lines[cell.line - 1][cell.column - 1 :]
    if not source.startswith((f"`{name}`_", f"{name}_")):
        return False
    target = re.compile(rf"\.\. _(`?){re.escape(name)}\1:")
    return not any(map(target.match, page.lines))


@rule()
def page_missing_script(reading: Reading) -> Iterator[Mistake]:
    """A link leads to an existing script.

    Nobody can try a row whose link is dead. A link with a commit may lead to a script that the
    directory lacks, but hardly to one whose name differs just in case or in `_` for `-`.

    Bad: a link to `…_grpo_4_h800_fsdp_vllm.sh`, which was renamed
    Good: a link to the script under its new name
    """
    names = sorted(map(basename, reading.scripts or ()))
    for row in reading.rows:
        link = row.link
        if not link.missing:
            continue
        message = f"there is no {_name(row)}"
        if link.folder:
            message += f" in {link.folder}/"
        known = names
        if link.file:
            known = [link.file]
        fix = nearest(link.script, known).sentence() or "Link a script that exists."
        yield reading.mistake(row.cells["Link"], message, fix)


@rule()
def page_link_label(reading: Reading) -> Iterator[Mistake]:
    """The label of a link is the name of the script that it leads to.

    Readers trust the label and get another script.

    Bad: a link with the label `a.sh` that leads to `b.sh`
    Good: a link with the label `b.sh` that leads to `b.sh`
    """
    for row in reading.rows:
        link = row.link
        if link.missing or not link.label or link.label == link.script:
            continue
        yield reading.mistake(
            row.cells["Link"],
            f"the label of the link is {shown(link.label, 120)}, but it leads to {_name(row)}",
            "Fix whichever of the two names is wrong.",
        )


def _name(row: ReadRow) -> str:
    """The name of the script that a row links, as a message shows it."""
    return shown(row.link.script, 120)


@rule()
def page_script_name(reading: Reading) -> Iterator[Mistake]:
    """A script's name follows the form that the page states.

    Readers search for the name, and tools split it at `_`.

    Bad: `qwen2_32B_grpo_8_h20_megatron_vllm.sh`
    Good: `qwen2-32b_grpo_8_h20_megatron_vllm.sh`
    """
    form = FORM.removesuffix(".sh")
    if not any(form in line for line in reading.page.lines):
        return
    for row in reading.rows:
        if row.link.missing:
            continue
        try:
            parse(row.link.script)
        except ValueError as error:
            yield reading.mistake(
                row.cells["Link"],
                f"the script name `{_name(row)}` {predicate(str(error))}",
                f"The page asks for {FORM}, in lower case, with `-` inside a part.",
            )


@rule()
def page_name_against_row(reading: Reading) -> Iterator[Mistake]:
    """A row and the name of its script describe the same run.

    Readers pick by name and budget by row.

    Bad: 4 × H800 80 GB in the row of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: 2 × H800 80 GB in the row of `…_grpo_2_h800_fsdp_vllm.sh`

    Another rule checks the model. A cell with another mistake is not compared.
    """
    for row in reading.rows:
        link = row.link
        if link.ambiguous or not reading.has_form(link.script):
            continue
        name = parsed(link.script)
        for part in PARTS[1:]:
            said = row.record[part].lower()
            named = str(getattr(name, part))
            if said and not _agrees(reading, part, said, named):
                yield reading.mistake(
                    row.cells[HEADER_OF[part]],
                    _differ(said, named),
                    f"Fix the row, or the name {_name(row)}.",
                )


def _differ(said: str, named: str) -> str:
    return f"the row says `{shown(said)}`, the name of its script `{shown(named)}`"


@rule("warning")
def page_name_of_model(reading: Reading) -> Iterator[Mistake]:
    """A script is named after the model of its row.

    Readers who search for a model by name do not find it.

    Bad: Qwen2.5-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`
    Good: Qwen2-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`
    """
    for row in reading.rows:
        link = row.link
        if "model" in row.doubts or "Model" not in row.cells:
            continue
        if not reading.has_form(link.script):
            continue
        if link.read is None and reading.scripts is not None:
            continue
        name = parsed(link.script)
        said = basename(row.text("Model").lower())
        if name and not _is_same_model(reading, row, said, name.model):
            yield reading.mistake(
                row.cells["Model"],
                _differ(said, name.model),
                "Name the script after the model that it trains, or fix the row.",
            )


def _is_same_model(reading: Reading, row: ReadRow, said: str, named: str) -> bool:
    """Whether one of two names says more than the other; a name may say the section's size."""
    heading = reading.page.heading_above(row.cells["Model"])
    size = parameters_in_name(named)
    if heading and heading.billions == size:
        said = SIZE_IN_NAME.sub("#", said)
        named = SIZE_IN_NAME.sub("#", named)
    one = _SEPARATORS.sub("", said)
    other = _SEPARATORS.sub("", named)
    return one.startswith(other) or other.startswith(one)


def _agrees(reading: Reading, part: str, said: str, named: str) -> bool:
    """Whether a row and the part of a name mean the same, also where one of them says more."""
    if said == named:
        return True
    if part == "device" and said in devices_of(reading.dataset).named(named):
        return True
    # `a100-80g` says more than `a100`, `vllm-ascend` more than `vllm`.
    shorter, longer = sorted([said, named], key=len)
    if part not in {"device", "train", "infer"}:
        return False
    return longer.startswith(f"{shorter}-")
