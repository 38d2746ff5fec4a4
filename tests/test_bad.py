"""Every file in `tests/bad` breaks the sample in one way and says exactly what `check` answers.

The message is the contract: a contributor who has never seen the project must be able to fix the
mistake by it. Where the help says literally what to write, `fix` does so and nothing is left.

So that a new column changes no case, `{2,model,gpus}` is the text of line 2 of the sample's tuning
records from `model` to before `gpus`, with commas or tabs as written, and `{cells-1}` the number of
columns less one. Of another table `{models:2}` is line 2, `{models:cells-1}` the same number, and
`{models:size..source}` the commas between two columns.
"""

import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import read_cases, whole, with_texts
from rl_resources.check import all_rules, chosen_rules, findings_in, findings_of
from rl_resources.errors import Finding
from rl_resources.facts import broken_cells
from rl_resources.package import read_package
from rl_resources.rule import Mistake, Rule
from rl_resources.snapshot import Snapshot, Table, take_snapshot
from rl_resources.tabular import quote
from rl_resources.text import nearest, printable
from sample_tree import SAMPLE, aligned, apply, sample

BAD = Path(__file__).parent / "bad"
TUNING = "records/tuning.csv"
SOUND = aligned(SAMPLE / TUNING)
LINES = [*csv.reader(SOUND.splitlines())]
HEADER = LINES[0]
WORD = re.compile(r"\{(\d)([,\t])(\w+)\2(\w+)\}|\{cells([+-]\d)?\}")
OF_TABLE = re.compile(r"\{(\w+):(?:(\d+)|cells([+-]\d)?|(\w+)\.\.(\w+))\}")


def expanded(text: str) -> str:
    """A text of a case with what its words mean."""
    return OF_TABLE.sub(_of_table, WORD.sub(_meaning, text))


def _meaning(word: re.Match[str]) -> str:
    line, separator, first, last, more = word.groups()
    if line is None:
        width = len(HEADER) + int(more or 0)
        return str(width)
    row = LINES[int(line) - 1]
    begin = HEADER.index(first)
    end = HEADER.index(last)
    return "".join(cell + separator for cell in row[begin:end])


def _of_table(word: re.Match[str]) -> str:
    table, line, more, first, last = word.groups()
    lines = aligned(SAMPLE / f"records/{table}.csv").splitlines()
    names = lines[0].split(",")
    if line:
        return lines[int(line) - 1]
    if first:
        return "," * (names.index(last) - names.index(first))
    return str(len(names) + int(more or 0))


CASES = {}
for path in sorted(BAD.glob("*.toml")):
    name = path.stem
    CASES[name] = with_texts(read_cases(f"bad/{name}"), expanded)
UNUSABLE = {}
FINDINGS = {}
for name, case in CASES.items():
    if case["status"] == 2:
        UNUSABLE[name] = case
    else:
        FINDINGS[name] = case
# Rules about what a script does and about hand-kept pages have their own tests.
FAMILIES = {
    "files",
    "cells",
    "records",
    "reports",
    "plausibility",
    "scripts",
    "form",
    "tags",
}
RULES = [name for name, rule in all_rules().items() if rule.family in FAMILIES]
SELECT = ["--select", ",".join(RULES)]


@pytest.fixture
def root(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample, and the working directory."""
    monkeypatch.chdir(root)
    return root


PLACE = re.compile(r"(?m)^(records/\w+\.csv):([0-9]+):\{(\w+)\}([+-][0-9]+)?:")
CELL = re.compile(r'"(?:[^"]|"")*",|[^,]*,')


def placed(root: Path, expected: str) -> str:
    """The expected text with places: `{gpus}+9` is 9 after where a cell begins, `{end}` its row."""

    def place(match: re.Match[str]) -> str:
        path, line, name, after = match.groups()
        text = (root / path).read_text(encoding="utf-8-sig", errors="replace")
        lines = text.split("\n")
        own = lines[int(line) - 1]
        before = text_before(name, own, header=lines[0])
        column = len(before) + 1
        if after:
            column += int(after)
        return f"{path}:{line}:{column}:"

    return PLACE.sub(place, expected)


def text_before(name: str, line: str, header: str) -> str:
    """The part of a line before the cell of a column, or all of it before its `end`."""
    if name == "end":
        return line
    cells = CELL.findall(line)
    before = header.split(",").index(name)
    return "".join(cells[:before])


def findings(root: Path) -> list[Finding]:
    snapshot = take_snapshot(read_package(root))
    rules = chosen_rules(RULES)
    found = findings_in(snapshot, rules)
    assert unseen(snapshot, found) == [], (
        "what a large file is searched for lacks this mistake"
    )
    return found


def unseen(snapshot: Snapshot, found: Sequence[Finding]) -> list[Finding]:
    """What rules on cells find where validation saw nothing: they get no such row of a large file.

    What no text may contain is a mistake of `schema/text_rules.py`.
    """
    seen = {cell.record.place(cell.field.name) for cell in broken_cells(snapshot)}
    left = []
    for item in found:
        place = (item.path, item.line, item.column)
        if all_rules()[item.rule].family == "cells" and place not in seen:
            left.append(item)
    return left


ANSWER = "{path}:{line}:{column}: {severity}: {rule}: {message}\n  help: {help}\n"


def text_of(found: Sequence[Finding]) -> str:
    text = ""
    for item in found:
        shown = item._replace(path=printable(item.path))
        text += ANSWER.format(**shown._asdict())
    return text


@whole(FINDINGS)
def test_the_answer_is_exactly_and_following_its_help_leaves_nothing(
    case, root, command
):
    apply(root, case["edit"])
    expected = placed(root, case["expected"])
    if "arguments" in case:
        arguments = [*case["arguments"]]
        if "--select" not in arguments:
            arguments += SELECT
        status = int(case["status"])
        assert command("check", *arguments, status=status) == expected
    else:
        found = findings(root)
        assert text_of(found) == expected
        assert errors_in(found) == case["status"]
    apply(root, case.get("fix", []))
    if "run" in case:
        command(*case["run"])
    if "fix" in case or "run" in case:
        left = findings(root)
        broken = re.findall(r": (?:error|warning): ([\w-]+): ", expected)
        assert not errors_in(left)
        assert {item.rule for item in left}.isdisjoint(broken)


def errors_in(found: Sequence[Finding]) -> bool:
    return any(item.severity == "error" for item in found)


@whole(UNUSABLE)
def test_what_cannot_be_used_is_exit_status_2(case, root, command):
    apply(root, case["edit"])
    said = command("check", *case.get("arguments", ()), status=2)
    assert said.replace(str(root), "ROOT") == case["complaint"]


def test_a_script_whose_name_is_not_utf8_is_named(root, command):
    script = root / "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    shutil.copy(script, os.fsencode(script.parent) + b"/qwen_\xff.sh")
    assert command("check", status=1) == (
        r"examples/tuning/7b/qwen_\udcff.sh:1:1: error: file-missing: "
        "the file has a name that is not UTF-8\n  help: Rename it: `ls -b` shows its bytes.\n"
    )


def test_one_answer_in_all_formats(root, command):
    apply(root, CASES["vocabulary--twenty-mistakes"]["edit"])
    found = findings(root)
    text = command("check", *SELECT, status=1)
    assert text == text_of(found)
    document = command("check", *SELECT, "--format", "json", status=1)
    items = json.loads(document)
    assert [Finding(**item) for item in items] == found
    commands = command("check", *SELECT, "--format", "github", status=1)
    lines = commands.splitlines()
    assert len(lines) == 20
    assert all(line.startswith("::error ") for line in lines)
    assert lines[0] == (
        "::error file=records/tuning.csv,line=2,col=44,title=vocabulary::"
        "tag of qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh is `MAX1`, not one of the words of "
        "its column%0Ahelp: Known values are `MIN`, `RECOMMENDED`."
    )


def test_findings_that_differ_by_their_help_alone_keep_their_order():
    helps = [f"Write {number}." for number in range(9)]
    mistakes = [Mistake("a.csv", 1, 1, "wrong", text) for text in helps]
    rule = Rule("a-rule", "error", "", "", "", "", lambda _: mistakes)
    found = findings_of([rule], {"dataset": lambda: [None]})
    assert [finding.help for finding in found] == helps


def test_what_has_no_findings_is_counted(root, answer):
    found = answer("check", "--strict")
    assert found == ("", "No findings in 4 records and 4 scripts.\n")


def test_a_word_means_its_own_family():
    known = ["a100-40g", "a100-80g", "a100-pcie-40g", "h100"]
    meant = nearest("a100", known)
    assert meant.words == ("a100-40g", "a100-80g")


@pytest.mark.parametrize(
    ("rule", "column", "wrong"),
    [
        ("email-address", "notes", "x@example.org"),
        ("vocabulary", "device", "x"),
        ("range", "notes", "x"),
    ],
)
def test_a_long_cell_is_answered_at_once(rule, column, wrong, root):
    long = "x" * 60_000
    cells = {column: long + wrong}
    apply(root, [{"file": TUNING, "line": 5, "set": cells}])
    (found,) = findings(root)
    assert found.rule == rule
    assert found.line == 5
    answer = found.message + found.help
    assert len(answer) < 1000


def test_files_that_are_named_have_the_findings_that_they_have_among_all(root):
    apply(root, CASES["exemption--of-another-rule"]["edit"])
    capitals = {"replace": ",ran\n", "with": ",RAN\n", "all": True}
    apply(root, [{"file": "records/trials.csv", **capitals}])
    snapshot = take_snapshot(read_package(root))
    rules = list(all_rules().values())
    found = findings_in(snapshot, rules)
    paths = {item.path for item in found}
    assert paths >= {"records/trials.csv", TUNING}
    for path in paths | {"records/devices.csv"}:
        asked = findings_in(snapshot, rules, path.__eq__)
        wanted = [item for item in found if item.path == path]
        assert asked == wanted


Slip = Callable[[str], Sequence[str]]
"""What is written in the place of a cell: nothing, or one cell or more."""
SLIPS = {
    "another last letter": lambda cell: [quote(cell[:-1] + "x")],
    "empty": lambda cell: [""],
    "a comma too many": lambda cell: ["", quote(cell)],
    "a cell deleted": lambda cell: [],
    "a space before it": lambda cell: [quote(f" {cell}")],
    "an unclosed quote": lambda cell: [f'"{cell}'],
}
FILLED = [name for name, table in sample().tables.items() if table.rows]


@pytest.mark.nightly
@given(data=st.data(), slip=st.sampled_from(sorted(SLIPS)))
@settings(
    max_examples=150,
    deadline=None,
)
def test_one_slip_anywhere_is_one_finding(data, slip):
    """Not more, whatever else refers to the cell; none only where the cell is still good."""
    name = data.draw(st.sampled_from(FILLED))
    table = sample().tables[name]
    records = [table.header, *(row.cells for row in table.text.rows)]
    row = data.draw(_places(records))
    column = data.draw(_places(records[row]))
    cell = records[row][column]
    written = SLIPS[slip](cell)
    lines = [[*map(quote, record)] for record in records]
    lines[row][column : column + 1] = written
    found = findings_in(_with_lines(table, lines), chosen_rules(RULES))
    if slip in {
        "another last letter",
        "empty",
    }:  # the row may be good so, and sort elsewhere
        assert len(found) <= 1
    else:
        (finding,) = found
        assert finding.path == table.path
        assert finding.line == row + 1


def _places(of: Sequence[object]) -> st.SearchStrategy[int]:
    return st.integers(0, len(of) - 1)


def _with_lines(table: Table, lines: Iterable[Iterable[str]]) -> Snapshot:
    """The sample with other lines in a table, of cells as they are written."""
    text = ""
    for cells in lines:
        text += ",".join(cells) + "\n"
    spoilt = Table(table.resource, text.encode())
    tables = {**sample().tables, table.resource.name: spoilt}
    return replace(sample(), tables=tables)


# `lost-id` compares with the newest tag: see test_repository.py.
WITH_CASES = [name for name in RULES if name != "lost-id"]


@pytest.mark.parametrize("rule", WITH_CASES)
def test_every_rule_has_a_case(rule):
    expected = ""
    for name, case in FINDINGS.items():
        if name.startswith(f"{rule}--"):
            expected += case["expected"]
    assert f": {rule}: " in expected
