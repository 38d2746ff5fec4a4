"""Files of records outside the dataset: `check --resource`."""

import json
import re
from operator import attrgetter
from pathlib import Path
from random import Random

import pytest

from cases import each, read_cases, with_texts
from rl_resources.check import all_rules, records_file
from rl_resources.check.records_file import RecordsFile
from rl_resources.errors import Finding
from rl_resources.package import read_package
from rl_resources.snapshot import Snapshot, take_snapshot
from sample_tree import plant

HEADER = "script,order,batch,outcome\n"
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
CASES = with_texts(read_cases("records"), lambda text: text.replace("SCRIPT", SCRIPT))
PLACE = len(SCRIPT) + 5
"""The column of `batch` where `order` has two digits."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return take_snapshot(
        read_package(plant(tmp_path_factory.mktemp("sample") / "dataset"))
    )


def saved(folder: Path, text: str) -> Path:
    path = folder / "trials.csv"
    path.write_bytes(text.encode())
    return path


def found_in(snapshot: Snapshot, path: Path) -> list[Finding]:
    rules = list(all_rules().values())
    file = RecordsFile(snapshot, snapshot.tables["trials"], path, rules)
    return sorted(file.findings(), key=attrgetter("position"))


def places(findings: list[Finding]) -> list[tuple[str, int, int]]:
    return [(item.rule, item.line, item.column) for item in findings]


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a large one, of several blocks."""
    monkeypatch.setattr(records_file, "SMALL_BYTES", 0)
    monkeypatch.setattr(records_file, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(records_file, "BLOCK_BYTES", 200)


def trials(*rows: str) -> str:
    return HEADER + "".join(f"{row}\n" for row in rows)


GOOD = [f"{SCRIPT},{order},8,ran" for order in range(10, 60)]
LINES = [*GOOD[:3], ",,,", "", "a,b", HEADER.strip()]


def random_file(chance: Random, rows: int) -> str:
    """A file of some rows, each as it should be, broken, or of any cells."""
    lines = [HEADER.strip()]
    for _ in range(rows):
        line = chance.choice(LINES)
        cells = ",".join(map(chance.choice, CASES["cells"].values()))
        lines.append(chance.choice([line, cells]))
    lines.append("")
    text = chance.choice(["\n", "\r\n"]).join(lines)
    mark = chance.choice(["", "\ufeff"])
    return mark + text


@pytest.mark.parametrize("seed", range(8, 24, 3))
def test_a_large_file_has_the_findings_of_a_small_one(sample, tmp_path, request, seed):
    text = random_file(Random(seed), rows=seed // 2)
    path = saved(tmp_path, text)
    as_table = places(not_of_empty_rows(found_in(sample, path)))
    request.getfixturevalue("in_blocks")
    assert places(not_of_empty_rows(found_in(sample, path))) == as_table


def not_of_empty_rows(findings: list[Finding]) -> list[Finding]:
    """Without what counts the empty rows below each other, which a block may divide."""
    return [item for item in findings if "empty" not in item.message]


@each(CASES["blocks"], "at rows found")
@pytest.mark.usefixtures("in_blocks")
def test_records_in_blocks_keep_their_places(sample, tmp_path, at, rows, found):
    before = GOOD[:at]
    after = GOOD[at:]
    path = saved(tmp_path, trials(*before, *rows, *after))
    expected = []
    for rule, line, column in found:
        expected.append((rule, line, column or PLACE))
    assert places(found_in(sample, path)) == expected


@pytest.mark.usefixtures("in_blocks")
def test_bytes_that_are_no_text_are_reported_with_their_line(sample, tmp_path):
    path = tmp_path / "trials.csv"
    content = trials(*GOOD).encode()
    path.write_bytes(content.replace(b",30,8", b",30,\xe9"))
    assert places(found_in(sample, path)) == [("encoding", 22, PLACE)]


def test_a_file_from_outside_is_fixed_by_hand(sample, tmp_path):
    text = trials(f"{SCRIPT},73,8,Ran").replace("\n", "\r\n")
    path = saved(tmp_path, f"\ufeff{text}")
    helps = {item.rule: item.help for item in found_in(sample, path)}
    assert set(helps) == {"byte-order-mark", "line-ending", "vocabulary"}
    assert helps["vocabulary"] == "Write `ran`."
    assert "--fix" not in " ".join(helps.values())


@pytest.mark.usefixtures("in_blocks")
def test_under_another_header_only_the_header_is_checked(sample, tmp_path):
    path = saved(tmp_path, trials(*GOOD).replace("batch", "batches"))
    (finding,) = found_in(sample, path)
    assert finding.rule == "header"
    assert finding.line == 1


@pytest.mark.parametrize("more", [(), ("--resource", "trials")])
def test_one_mistake_in_many_cells_is_shown_once_with_its_number_and_in_json_at_each_place(
    tmp_path, answer, more
):
    root = plant(tmp_path / "dataset")
    rows = [f"{SCRIPT},{order},{order} GPUs,ran" for order in range(300)]
    rows += [f"{SCRIPT},{order},8,ran too" for order in "xyz"]
    path = saved(root / "records", trials(*rows))
    command = ["check", path, *more, "--root", root, "--select", "type"]
    out, err = answer(*command, status=1)
    first, _, *others = out.splitlines()
    assert first.endswith(
        f":2:46: error: type: batch of {SCRIPT} 0 is `0 GPUs`, which is not a whole number, "
        "and 299 more like it in this file"
    )
    lines = re.findall(r":(\d+):\d+: error:", "\n".join(others))
    assert lines == ["302", "303", "304"]
    assert err.endswith("303 errors in 1 file.\n")
    printed = answer(*command, "--format", "json", status=1).out
    assert len(json.loads(printed)) == 303
