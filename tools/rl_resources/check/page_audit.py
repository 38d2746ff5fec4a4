"""The audit of a hand-kept page: the page, its rows against their scripts, and the scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from rl_resources.check import all_rules, findings_of
from rl_resources.dataset import Dataset
from rl_resources.devices import Device, devices_of
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts.models import model_meant
from rl_resources.facts.pairs import Pair, Said
from rl_resources.files import environment, read_foreign_text
from rl_resources.page import LARGEST_PAGE_BYTES
from rl_resources.page.reader import read_page
from rl_resources.page.records import HEADER_OF, Reading, ReadRow, read_rows
from rl_resources.rule import Place
from rl_resources.script.framework.composition import Source
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.script_rules.releases import fork, fork_name
from rl_resources.snapshot import ScriptFile, script_data
from rl_resources.tabular import write
from rl_resources.text import MOST_LISTED, shown

OWN = Path(__file__).parent
Texts = Mapping[str, ScriptText]


def import_page(
    page: Path, scripts: Path | None, dataset: Dataset, *, style: bool = False
) -> tuple[str, list[Finding], list[str]]:
    """The CSV text of the records of the file `page`, what is wrong with it and its scripts, and
    what to know of the audit: by which framework it judges, which scripts and rows it leaves out.

    `scripts` is the directory with the scripts that the page links to; they are read and never run.
    With `style` they are also asked for our shell style. Raises `UnusableInput` where page or
    directory cannot be read.
    """
    if scripts is None:
        reading = _read(page, dataset, None)
        return _records_of(reading), audit(reading, {}), []
    # Composing needs an extra that a page without scripts does without.
    from rl_resources.script.framework.release_files import checkout

    paths = _script_paths(scripts)
    reading = _read(page, dataset, paths)
    tree = checkout(FRAMEWORK, scripts)
    texts = _script_texts(scripts, reading, tree)
    notes = _notes(tree, paths, reading, texts)
    return _records_of(reading), audit(reading, texts, style=style), notes


def _read(page: Path, dataset: Dataset, scripts: Sequence[str] | None) -> Reading:
    help_ = "Name a page that is UTF-8 text."
    text, encoding = read_foreign_text(page, LARGEST_PAGE_BYTES, help_)
    read = replace(read_page(text, page.as_posix()), encoding=encoding)
    return read_rows(read, dataset, scripts)


def _records_of(reading: Reading) -> str:
    names = reading.dataset.package.resources["tuning"].schema.names
    rows = dict.fromkeys(tuple(row.record.values()) for row in reading.rows)
    return write([names, *rows])


def _notes(
    tree: Source | None, paths: Iterable[str], reading: Reading, texts: Texts
) -> list[str]:
    """Sentences about what the scripts are judged by, and what was not checked."""
    named = set(reading.subjects())
    forks = []
    for text in texts.values():
        own = fork(text)
        if own:
            forks.append(f"{text.path} ({fork_name(own)})")
    lines = []
    for row in reading.rows:
        script = _script_of(row, texts)
        if script is None or not script.training:
            lines.append(row.cells["Link"].line)
    template = environment(OWN).get_template("page_audit.jinja")
    said = template.render(
        framework=FRAMEWORK,
        tree=tree,
        newest=shipped(FRAMEWORK),
        unread=[path for path in paths if path not in named],
        forks=forks,
        lines=lines,
        most=MOST_LISTED,
        shown=shown,
    )
    return said.splitlines()


def _script_of(row: ReadRow, texts: Texts) -> ScriptText | None:
    """The script that a row links to, where it is read."""
    return texts.get(row.link.read or "")


def audit(reading: Reading, texts: Texts, *, style: bool = False) -> list[Finding]:
    """Run all rules except those on datasets on a page and on the scripts in `texts`, by their
    path.
    """
    rules = [rule for rule in all_rules().values() if style or not rule.style]
    pairs = list(_pairs(reading, texts))
    found = findings_of(rules, {"pair": lambda: pairs, "script": texts.values})
    # A cell that contradicts its script is not reported again for its form.
    errors = [finding for finding in found if finding.severity == "error"]
    contradicting = set(map(_place, errors))
    for finding in findings_of(rules, {"page": lambda: [reading]}):
        if _place(finding) not in contradicting:
            found.append(finding)
    return sorted(found, key=attrgetter("position"))


def _pairs(reading: Reading, texts: Texts) -> Iterator[Pair]:
    """Each row with its script, then the scripts to which no row leads."""
    linked = {row.link.read for row in reading.rows}
    for row in reading.rows:
        script = _script_of(row, texts)
        if script:
            yield _pair(reading, row, script)
    for name, script in texts.items():
        if name not in linked:
            yield _pair_of_script(reading.dataset, script)


def _place(finding: Finding) -> Place:
    return finding.path, finding.line, finding.column


def _pair(reading: Reading, row: ReadRow, script: ScriptText) -> Pair:
    facts = reading.dataset.by_key["models"].get(row.record["model"], {})
    device = devices_of(reading.dataset).known.get(row.record["device"], Device())
    said = _said(row)
    names = []
    if "model" in said:
        names = [*map(facts.get, ("model", "slug")), row.text("Model")]
    return Pair(
        path=reading.page.path,
        label=row.link.script,
        said=said,
        script=script,
        models=tuple(dict.fromkeys(map(str, filter(None, names)))),
        model_facts=facts,
        device_memory_gb=device.memory_gb,
    )


def _pair_of_script(dataset: Dataset, script: ScriptText) -> Pair:
    """A script to which no row leads, with the model that it names."""
    known = list(map(str, dataset.by_key["models"]))
    path = ""
    if script.run:
        path = script.run.model_path_end or ""
    model = model_meant(path, known)
    return Pair(
        path=script.path,
        label=script.path,
        said={},
        script=script,
        models=tuple(filter(None, [model])),
        model_facts=dataset.by_key["models"].get(model, {}),
    )


def _said(row: ReadRow) -> Mapping[str, Said]:
    """What a row says of each column, without the cells that another rule reports.

    It is said as the records write it, but for the model: a page may leave out its owner.
    """
    said = {}
    for column, header in HEADER_OF.items():
        text = row.record[column]
        if column == "model" and column not in row.doubts:
            text = row.text("Model")
        if text:
            cell = row.cells[header]
            said[column] = Said(text, cell.line, cell.column)
    return said


def _script_paths(folder: Path) -> list[str]:
    """Paths of all scripts below `folder`, relative to it; no link to a directory is followed."""
    if not folder.is_dir():
        raise UnusableInput(
            f"{folder}: cannot be read: no such directory",
            "Name the directory of the scripts.",
        )
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.sh"))


def _script_texts(
    folder: Path, reading: Reading, tree: Source | None
) -> dict[str, ScriptText]:
    """The scripts that the page refers to and that can be read.

    A link may lead anywhere, so none is followed.
    """
    found = {}
    for name in reading.subjects():
        path = folder / name
        if path.is_symlink():
            continue
        data = script_data(path)
        text = ScriptFile(name, data).text
        if text is not None:
            found[name] = ScriptText(path.as_posix(), text, ours=False, tree=tree)
    return found
