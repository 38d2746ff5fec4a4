"""The way on from MkDocs Material: pages rendered to disk, for a generator without our hook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from website import ROOT


def _successors(out: Path, *programs: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "successors", *programs, "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )


def test_rendered_pages_have_the_same_addresses_without_our_hook(
    built: Path, tmp_path: Path
) -> None:
    done = _successors(tmp_path, "mkdocs", "no-such-program")
    first, last = done.stdout.splitlines()
    pages = {path.parent for path in built.rglob("index.html")}
    assert first == f"mkdocs: exit 0, {len(pages)} of {len(pages)} pages"
    assert last == "no-such-program: is not on the path"
    assert done.returncode == 1


def test_only_the_job_of_the_successors_may_fail() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "continue-on-error" in job] == ["successors"]
    assert jobs["successors"]["steps"][-1]["run"].startswith("make successors")
