"""What is no ordinary file is told of: nobody waits for it, reads it for ever or replaces it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sample_tree import plant

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")

SCRIPT = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
ODD: dict[str, Callable[[Path], object]] = {
    "a pipe that nobody writes to": os.mkfifo,
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
}
READING = (
    ("draft", "{}"),
    ("draft", "--issue", "{}"),
    ("draft", SCRIPT, "--log", "{}"),
    ("check", "--resource", "trials", "{}.csv"),
    ("check", "--resource", "trials", "{}.parquet"),
    ("import-page", "{}"),
    ("compat", "--framework-version", "0.7.0"),
)
PATIENCE_SECONDS = 120
BOUNDED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from rl_resources.__main__ import main
raise SystemExit(main())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path / "dataset")


def told(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command tells that may not take all memory."""
    return subprocess.run(
        [sys.executable, "-c", BOUNDED, *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_it_is_told_by_every_command_that_reads_it(
    root: Path, arguments: tuple[str, ...], kind: str
) -> None:
    named = [word.format("odd") for word in arguments]
    path = root / next((word for word in named if word.startswith("odd")), SCRIPT)
    path.unlink(missing_ok=True)
    ODD[kind](path)
    done = told(root, *named)
    assert done.returncode in {0, 1, 2}
    assert "error: " in done.stderr or "Nothing was written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pipe_of_a_shell_is_read(root: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, (root / SCRIPT).read_bytes())
    os.close(writer)
    command = [sys.executable, "-m", "rl_resources", "draft", f"/dev/fd/{reader}"]
    done = subprocess.run(command, cwd=root, pass_fds=[reader], capture_output=True, text=True)
    os.close(reader)
    assert "cannot be read" not in done.stderr
    assert "Qwen/Qwen2-7B-Instruct" in done.stdout


def test_a_folder_without_parquet_is_told(root: Path) -> None:
    (root / "empty").mkdir()
    done = told(root, "check", "--resource", "trials", "empty")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "rl-resources: error: empty: holds no .parquet file",
    )


@pytest.mark.parametrize("kind", ODD)
def test_it_is_not_replaced_by_output(root: Path, kind: str) -> None:
    odd = root / "odd"
    ODD[kind](odd)
    before = odd.lstat().st_ino
    done = told(root, "export", "json", "--out", "odd")
    assert done.returncode == 2
    assert ": cannot be written: Not an ordinary file" in done.stderr
    assert odd.lstat().st_ino == before


def test_a_link_stays_a_link_to_what_is_written(root: Path) -> None:
    (root / "link").symlink_to("file")
    assert told(root, "export", "json", "--out", "link").returncode == 0
    assert (root / "link").is_symlink()
    assert (root / "file").read_text().startswith("{")


def test_a_page_larger_than_any_is_told(root: Path) -> None:
    (root / "page.rst").write_bytes(b"\n" * (1 << 20))
    done = told(root, "import-page", "page.rst")
    assert done.returncode == 2
    assert "page.rst: cannot be read: More than 512 KiB" in done.stderr


def test_a_folder_that_is_gone_is_told(root: Path) -> None:
    code = f"import os; os.rmdir(os.getcwd())\n{BOUNDED}"
    gone = root / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, "check"], cwd=gone, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "the current folder cannot be read" in done.stderr
