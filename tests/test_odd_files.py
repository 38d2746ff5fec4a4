"""What is not an ordinary file, or too large, is reported in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_resources.cli import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "check --resource trials {root}/site",
            "site: cannot be read: no such file, or no ordinary",
        ),
        ("import-page {root}/page.rst", "page.rst: cannot be read: More than 512 KiB"),
        ("import-page /dev/zero", "/dev/zero: cannot be read: Not an ordinary file"),
    ],
)
def test_it_is_wrong_usage(
    root: Path, arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "site").mkdir()
    (root / "page.rst").write_bytes(b"\n" * (1 << 20))
    assert main(arguments.format(root=root).split()) == 2
    assert words in capsys.readouterr().err
