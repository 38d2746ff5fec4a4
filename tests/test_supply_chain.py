"""What the project takes from others is pinned, and what it says of that is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES

ROOT = Path(__file__).parents[1]
PINNED = ["requirements.txt", "tools/audit/requirements.txt"]


@pytest.mark.parametrize("path", PINNED)
def test_every_requirement_has_one_version_and_hashes(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?!\s)", text.strip()) if entry[0] != "#"]
    form = (
        r"[a-z0-9.\[\],_-]+==\S+(?: ; .+?)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+(?:\n    #.*)*"
    )
    assert len(entries) > 20
    assert [entry for entry in entries if not re.fullmatch(form, entry)] == []


def test_the_environment_is_installed_with_the_hashes() -> None:
    text = (ROOT / "tools" / "setup" / "environment.sh").read_text(encoding="utf-8")
    assert "--require-hashes" in text


def test_locked_packages_of_npm_have_an_integrity_and_name_no_host() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name.endswith("package-lock.json"):
            text = (ROOT / name).read_text(encoding="utf-8")
            packages = yaml.safe_load(text)["packages"]
            assert all("integrity" in item for key, item in packages.items() if key)
            assert '"resolved"' not in text


def test_the_audit_asks_about_the_pinned_requirements() -> None:
    text = (ROOT / ".github" / "workflows" / "audit.yml").read_text(encoding="utf-8")
    assert "--strict --require-hashes" in text
    assert f"for pinned in {' '.join(PINNED)}; do" in text
    assert text.count(f"paths: [{', '.join(PINNED)}]") == 2  # when merged, and when proposed


def test_dependabot_takes_its_file() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.dependabot"]
    done = subprocess.run(
        [*command, str(ROOT / ".github" / "dependabot.yml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_security_page_names_no_address_and_the_limit_that_holds() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "@" not in text
    assert "above a mebibyte" in text
    assert LARGEST_SCRIPT_BYTES == 1 << 20
