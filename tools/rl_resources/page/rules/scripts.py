"""Rules about the names of a page's scripts, and about scripts that no row means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule
from rl_resources.page.cells import HEADER_OF
from rl_resources.page.neighbours import orphans
from rl_resources.page.sizes import SIZE, is_of_another_size, named_size, section_size
from rl_resources.page.told import (
    is_contradicted,
    is_dead_link,
    is_held_to_script,
    is_unknown_model,
    is_unlisted_model,
)
from rl_resources.script.name import FORM, PARTS, parse, predicate
from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow
    from rl_resources.script.name import ScriptName


@rule()
def page_script_name(reading: Reading) -> Iterator[Mistake]:
    """A script's name follows the form that the page itself states.

    The name is what a reader searches for, and tools take it apart by its `_`.

    Bad: `qwen2_32B_grpo_8_h20_megatron_vllm.sh`
    Good: `qwen2-32b_grpo_8_h20_megatron_vllm.sh`
    """
    if not any(FORM.removesuffix(".sh") in line for line in reading.page.lines):
        return
    told: set[str] = set()
    for row in reading.rows:
        name = row.link.script
        wrong = _wrong_with(name)
        if wrong is not None and name not in told and not is_dead_link(reading, row):
            told.add(name)
            message = f"the script name `{shown(name, 120)}` {predicate(wrong)}"
            mend = f"The page asks for {FORM}, in lower case, with `-` inside a part."
            yield reading.mistake(row.cells["Link"], message, mend)


def _wrong_with(name: str) -> str | None:
    try:
        parse(name)
    except ValueError as error:
        return str(error)
    return None


@rule()
def page_name_against_row(reading: Reading) -> Iterator[Mistake]:
    """A row and the name of its script describe the same run.

    A reader picks by name and budgets by row.

    Bad: 4*H800 in the row of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: 2*H800 in the row of `…_grpo_2_h800_fsdp_vllm.sh`
    """
    for row, name in _named_rows(reading):
        for part in PARTS[1:]:
            said = _said(row, part)
            named = str(getattr(name, part))
            agrees = not said or _agrees(reading, part, said, named)
            told = is_held_to_script(reading, row, part)
            if not agrees and not told and not is_contradicted(reading, row, said, named):
                yield _against(reading, row, HEADER_OF[part], said, named)
        model = row.text("Model")
        other = is_of_another_size(row) and not is_unknown_model(reading, row)
        if other and not is_contradicted(reading, row, model, name.model):
            yield _against(reading, row, "Model", model, name.model)


@rule("warning")
def page_name_of_model(reading: Reading) -> Iterator[Mistake]:
    """A script is named after the model of its row.

    Who searches for the model by name does not find the script.

    Bad: Qwen2.5-7B in the row of `qwen2-7b_grpo_2_h800_fsdp_vllm.sh`
    Good: Qwen2.5-7B in the row of `qwen2.5-7b_grpo_2_h800_fsdp_vllm.sh`

    Rows whose names differ in the same way are one mistake: a family is called otherwise.
    """
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
    return SIZE.split(name, maxsplit=1)[0]


def _is_of_another_name(reading: Reading, row: ReadRow, name: ScriptName) -> bool:
    said = row.text("Model")
    same = not said or _same_model(reading, row, name.model)
    doubtful = is_unknown_model(reading, row) or is_unlisted_model(reading, row)
    if same or doubtful or is_of_another_size(row):
        return False
    return not is_contradicted(reading, row, said, name.model)


def _named_rows(reading: Reading) -> Iterator[tuple[ReadRow, ScriptName]]:
    """The rows whose script's name can be taken apart."""
    return ((row, row.named) for row in reading.rows if row.named is not None)


def _against(reading: Reading, row: ReadRow, header: str, said: str, name: str) -> Mistake:
    message = f"the row says `{shown(said)}`, the name of its script `{shown(name)}`"
    mend = f"Mend the row, or the name {shown(row.link.script, 120)}."
    return reading.mistake(row.cells[header], message, mend)


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
    size = named_size(named)
    by_section = size is not None and size == section_size(reading, row.table)
    return by_section and _says_more(SIZE.sub("#", said), SIZE.sub("#", named))


@rule("warning")
def page_script_without_row(reading: Reading) -> Iterator[Mistake]:
    """Every script has a row.

    A script without a row is found by nobody, and no row is held against it.

    Bad: a new script alone
    Good: a new script and its row
    """
    for path in orphans(reading):
        name = PurePosixPath(path).name
        message = f"no row links the script {shown(path, 200)}"
        row = reading.tables[0].header
        yield reading.mistake(row, message, f"Add a row that links {shown(name, 120)}.")
