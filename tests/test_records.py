"""Files of records outside the dataset: `check --resource`, on CSV and Parquet of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_resources import tabular
from rl_resources.check import chosen_rules, records
from rl_resources.check.records import judge_records
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.cli import main
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.package import read_package
from rl_resources.schema import bulk, parts
from rl_resources.schema.parts import IrregularError
from rl_resources.tabular import Defect, Row
from sample_tree import plant

HEADER = b"script,order,batch,outcome\n"
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return take_snapshot(read_package(plant(tmp_path_factory.mktemp("sample") / "dataset")))


def told(snapshot: Snapshot, path: Path, resource: str = "trials") -> list[Finding]:
    return judged(snapshot, path, resource)[1]


def judged(snapshot: Snapshot, path: Path, resource: str = "trials") -> tuple[int, list[Finding]]:
    found = judge_records(snapshot, snapshot.tables[resource], path, chosen_rules([], []))
    return found.records, list(found.findings)


def slowly(*_: object) -> None:
    raise IrregularError


LINES = st.lists(
    st.one_of(
        st.sampled_from([f"{SCRIPT},1,64,ran", f"{SCRIPT},2,128,out-of-memory", ",,,", "", HEADER]),
        st.sampled_from(
            ["<<<<<<< HEAD", "=======", ">>>>>>> other", "<<<<<<< a,b,c,d", "\ufeff,,,"]
        ),
        st.text(alphabet='a1,,,"" é\r@<=', max_size=12),
        st.tuples(
            st.sampled_from([SCRIPT, "", "x.sh", f'"{SCRIPT}"', f'"{SCRIPT}']),
            st.sampled_from(["1", "2", "0", '"1,5"', '"a""b"', '"a"b"c"', '"x,"y",z"', '"a\nb"']),
            st.sampled_from(["64", "many", '""', " 8", "9" * 20, 'a"b"']),
            st.sampled_from(["ran", "RAN", "j@example.org", "<b>", "=1", "r\u200ban", 'ran"']),
        ).map(",".join),
    ).map(lambda line: line if isinstance(line, str) else line.decode().strip()),
    max_size=8,
)


@given(
    lines=LINES,
    mark=st.sampled_from(["", "", "\ufeff"]),
    end=st.sampled_from(["\n", "\n", "\r\n"]),
    last=st.booleans(),
    block=st.sampled_from([1, 80, 1 << 20]),
    part=st.sampled_from([1, 2, 1 << 20]),
)
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_file_split_by_polars_is_told_of_as_one_that_we_read_ourselves(
    sample: Snapshot,
    tmp_path: Path,
    lines: list[str],
    mark: str,
    end: str,
    last: bool,
    block: int,
    part: int,
) -> None:
    path = tmp_path / "trials.csv"
    text = mark + end.join([HEADER.decode().strip(), *lines]) + (end if last or not lines else "")
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "BLOCK_BYTES", block)
        patch.setattr(parts, "PART_BYTES", block)
        patch.setattr(parts, "MOST_LINES", 4)
        patch.setattr(tabular, "MOST_LINES_OF_A_CELL", 3)
        patch.setattr(tabular, "MOST_LINES_OF_A_CONFLICT", 4)
        patch.setattr(records, "PART_ROWS", part)
        patch.setattr(records, "IrregularError", KeyError)  # none is read whole
        quickly = told(sample, path)
        patch.undo()
        patch.setattr(tabular, "MOST_LINES_OF_A_CELL", 3)
        patch.setattr(tabular, "MOST_LINES_OF_A_CONFLICT", 4)
        patch.setattr(bulk, "survey", slowly)
        assert quickly == told(sample, path)


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "||||||| base", ">>>>>>> other"])
def test_a_mark_of_a_conflict_with_as_many_cells_as_a_record_is_none(
    sample: Snapshot, tmp_path: Path, mark: str
) -> None:
    path = tmp_path / "trials.csv"
    path.write_bytes(HEADER + f"{mark}{SCRIPT},1,64,ran\n{SCRIPT},2,64,ran\n".encode())
    records_of_file, findings = judged(sample, path)
    assert records_of_file == 1
    assert [(item.rule, item.line) for item in findings] == [("merge-conflict", 2)]


@given(lengths=st.lists(st.integers(0, 30), max_size=12), last=st.booleans())
def test_a_line_that_would_fill_memory_is_found(lengths: list[int], last: bool) -> None:
    text = b"\n".join(b"x" * length for length in lengths) + b"\n" * last
    with pytest.MonkeyPatch.context() as patch, NamedTemporaryFile() as file:
        patch.setattr(parts, "LONGEST_LINE_BYTES", 8)
        patch.setattr(parts, "_PROBE_BYTES", 2)
        file.write(text)
        file.flush()
        found = parts.has_endless_line(Path(file.name))
    longest = max(lengths, default=0)
    assert found or longest < 16
    assert not found or longest >= 8


@pytest.mark.parametrize(("row", "plain"), [(b",,,\n", True), (b"\n", False), (b",\n", False)])
def test_a_file_of_more_lines_than_records_have_room_for_is_not_plain(
    tmp_path: Path, row: bytes, plain: bool
) -> None:
    path = tmp_path / "trials.csv"
    good = HEADER + b",,,\n" * (1 << 18)
    path.write_bytes(good + row * 5000)
    assert parts.may_be_regular(path, 4) is plain


def test_a_file_with_a_line_that_would_fill_memory_is_not_read(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(parts, "_PROBE_BYTES", 10)
    path = tmp_path / "trials.csv"
    path.write_bytes(HEADER + f"{SCRIPT},1,{'9' * 2000},ran\n".encode())
    with pytest.raises(UnusableInput, match=r"cannot be read: A line has more than"):
        told(sample, path)


def test_only_rows_with_something_wrong_are_read_again(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[str] = []

    def noted(lines: Sequence[str], number: int, width: int) -> tuple[Row | Defect, int]:
        again.extend(lines)
        return tabular.record(lines, number, width)

    monkeypatch.setattr(records, "record", noted)
    monkeypatch.setattr(bulk, "BATCH_ROWS", 1)
    path = tmp_path / "trials.csv"
    good = [f"{SCRIPT},{order},8,ran\n".encode() for order in range(1, 50)]
    path.write_bytes(HEADER + b"".join(good))
    assert told(sample, path) == []
    assert again == []
    bad, copy = f'{SCRIPT},50,"1,5",ran\n'.encode(), good[6]
    path.write_bytes(HEADER + b"".join([*good, bad, copy]))
    found = [(item.rule, item.line, item.column) for item in told(sample, path)]
    assert found == [("type", 51, len(SCRIPT) + 5), ("duplicate-key", 52, 1)]
    assert again == [line.decode().strip() for line in (good[6], bad, copy)]


def test_of_lines_of_windows_only_those_with_something_wrong_are_read_again(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "IrregularError", KeyError)  # it is not read whole
    path = tmp_path / "trials.csv"
    rows = [f"{SCRIPT},{order},8,ran" for order in range(1, 50)]
    rows[20:22] = [f"{SCRIPT},21,8", f'{SCRIPT},22,"8']
    path.write_bytes(b"\r\n".join([HEADER.strip(), *(row.encode() for row in rows), b""]))
    found = [(item.rule, item.line, item.column) for item in told(sample, path)]
    place = len(SCRIPT) + 5
    assert found == [
        ("line-ending", 1, len(HEADER)),
        ("row-length", 22, place),
        ("quoting", 23, place),
    ]


def test_of_a_large_file_under_another_header_only_the_begin_is_looked_at(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 80)
    path = tmp_path / "trials.csv"
    rows = [f"{SCRIPT},{order},8,crashed\n" for order in range(1, 50)]
    path.write_text("script,order,batches,outcome\n" + "".join(rows), encoding="utf-8")
    found = told(sample, path)
    assert [(item.rule, item.line) for item in found] == [
        ("header", 1),
        ("vocabulary", 2),
    ]
    assert found[0].message.endswith("; nothing after line 2 was looked at")


def test_of_a_column_that_stands_twice_the_one_at_its_place_is_read(
    sample: Snapshot, tmp_path: Path
) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(f"order,order,batch,outcome\n{SCRIPT},1,64,ran\n", encoding="utf-8")
    assert {(item.rule, item.line) for item in told(sample, path)} == {("header", 1)}


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_every_cell_is_told_by_itself_in_every_format(
    sample: Snapshot, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trials.csv"
    rows = [f"{SCRIPT},{order},8,crashed\n" for order in range(1, 4)]
    path.write_text(HEADER.decode() + "".join(rows), encoding="utf-8")
    where = ["--root", str(sample.package.root), "--resource", "trials"]
    assert main(["check", str(path), *where, "--format", form]) == 1
    out, err = capsys.readouterr()
    if form in {"json", "sarif"}:
        json.loads(out)
    assert out.count("`crashed`, which is no") == 3
    assert err == "3 errors in 1 file.\n"


def test_parquet_is_told_of_by_row_and_column(
    sample: Snapshot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "trials.parquet"
    folder.mkdir()
    frame = pl.DataFrame(
        {"outcome": ["ran", "crashed"], "script": SCRIPT, "order": [1, 2], "batch": [64.0, 0.5]}
    )
    frame.write_parquet(folder / "a.parquet")
    frame.head(1).write_parquet(folder / "b.parquet")
    root = ["--root", str(sample.package.root)]
    assert main(["check", str(folder), "--format", "json", *root]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {item["message"].rpartition("(")[2] for item in found if item["line"] > 1} == {
        "row 2 of a.parquet)",
        "row 1 of b.parquet)",
    }
    places = {(item["rule"], item["line"], item["column"]) for item in found}
    assert places == {
        ("type", 1, 3),
        ("type", 2, 3),
        ("vocabulary", 2, 4),
        ("type", 3, 3),
        ("duplicate-key", 3, 1),
    }


def test_parquet_in_parts_is_told_of_as_at_once(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.parquet"
    orders = [1, 2, 0, 4, 2, 6, 0]
    columns = {"script": [SCRIPT], "order": [1], "batch": [8], "outcome": ["ran"]}
    rows = pl.DataFrame(columns).select(pl.exclude("order").repeat_by(len(orders)).explode())
    rows.insert_column(1, pl.Series("order", orders)).write_parquet(path)
    at_once = told(sample, path)
    assert [(item.rule, item.line) for item in at_once] == [
        ("range", 3),
        ("duplicate-key", 5),
        ("duplicate-key", 7),
        ("range", 7),
    ]
    monkeypatch.setattr(bulk, "PART_ROWS", 3)
    assert told(sample, path) == at_once


def test_of_a_file_of_lines_that_are_no_records_this_is_told(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.csv"
    path.write_bytes(HEADER + b"\n" * 8)
    assert told(sample, path)
    monkeypatch.setattr(parts, "MOST_ODD_LINES", 7)
    with pytest.raises(UnusableInput, match="more than 7 of its lines are no records"):
        told(sample, path)


@pytest.mark.parametrize("name", ["trials.csv", "trials.parquet"])
def test_of_a_file_with_more_mistakes_than_are_kept_this_is_told(
    sample: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(bulk, "MOST_WRONG_AT_ONCE", 3)
    path = tmp_path / name
    frame = pl.read_csv(HEADER + b"x,y,z,ran\n" * 8, infer_schema=False)
    write = frame.write_csv if name.endswith("csv") else frame.write_parquet
    write(path)
    assert len([item for item in told(sample, path) if item.rule == "type"]) == 16
    monkeypatch.setattr(bulk, "MOST_WRONG", 20)
    with pytest.raises(UnusableInput, match=r"more than 20 of its cells are wrong"):
        told(sample, path)


def test_a_parquet_file_without_a_column_says_which(sample: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    pl.DataFrame({"script": [SCRIPT], "order": [1], "outcome": ["ran"]}).write_parquet(path)
    assert [item.message for item in told(sample, path)] == ["the column 'batch' is missing"]


def test_published_parquet_of_every_table_is_clean(tmp_path: Path, sample: Snapshot) -> None:
    from rl_resources.dataset import read_dataset

    dataset = read_dataset(sample.package)
    for name in sample.tables:
        path = tmp_path / f"{name}.parquet"
        frame = pl.DataFrame(
            {
                field.name: [row[field.name] for row in dataset.records[name]]
                for field in sample.tables[name].schema.fields
            },
            infer_schema_length=None,
        )
        frame.write_parquet(path)
        assert told(sample, path, name) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "--resource", "trials"], "cannot be read"),
        (["missing.csv", "--resource", "trails"], "Did you mean `trials`"),
        (["other.parquet"], "is no table of the dataset"),
        (["--resource", "trials"], "Name the files"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_file_that_cannot_be_judged_is_wrong_usage(
    sample: Snapshot, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments, "--root", str(sample.package.root)]) == 2
    assert words in capsys.readouterr().err
