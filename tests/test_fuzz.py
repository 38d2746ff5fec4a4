"""Broken files through the real commands: no traceback, a finding or a complaint."""

import contextlib
import re
import shutil
from pathlib import Path
from random import Random

import pytest

from cases import read_cases
from rl_resources import load
from rl_resources.__main__ import status_of
from rl_resources.site.rst import device_tuning
from sample_tree import REPOSITORY, plant

SCRIPT = "examples/tuning/7b/qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
SHIPPED = sorted((REPOSITORY / "examples/tuning").rglob("*.sh"))
EXPLAINED = re.compile(
    r":\d+:\d+: (?:error|warning): |^rl-resources(?: [a-z-]+)?: error: ."
    r"|no record could be read|Nothing was written|would be rewritten|left alone|[Nn]othing ",
    re.M,
)
CASES = read_cases("fuzz")
TARGETS = CASES["targets"]
LOG = CASES["log"]["text"]
SIGNS = (
    b'"',
    b"'",
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"{",
    b"[[[",
)
OF_BASH = (
    b"$(",
    b"${x",
    b"`",
    b"\\\n",
    b"fi",
    b"=1 ",
    b"#",
    b"<<E\n",
    b"1e999",
    b"-",
    b"9" * 5000,
)
OF_PAGES = (
    b"\n    * - ",
    b"### Script\n",
    b"step:",
    b"null",
    b"<script>",
    b"::",
    b"=HYPERLINK(1)",
)
NOISE = SIGNS + OF_BASH + OF_PAGES


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("fuzz") / "dataset")
    shutil.copy(root / "records/tuning.csv", root / "mine.csv")
    page = device_tuning(load(REPOSITORY), "https://example.org/{path}")
    (root / "page.rst").write_text(page)
    script = SHIPPED[0].read_text()
    (root / SCRIPT).write_text(script)
    (root / "run.log").write_text(LOG)
    issue = f"### Script\n\n```bash\n{script}```\n\n### Log\n\n```text\n{LOG}```\n"
    (root / "issue.md").write_text(issue)
    return root


def _broken(data: bytes, random: Random) -> bytes:
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(data) + 1)
        deleted = random.choice((0, 0, 1, 7, 200))
        origin = random.randrange(len(data) + 1)
        copied = random.choice((0, 0, 30))
        copy = data[origin : origin + copied]
        noise = random.choice(NOISE)
        data = data[:start] + noise + copy + data[start + deleted :]
    if random.random() < 0.9:
        return data
    return random.randbytes(300) + data


@pytest.mark.nightly
@pytest.mark.parametrize("path", TARGETS)
def test_a_broken_file_is_reported_and_breaks_nothing(path, root, capsys):
    commands, examples = TARGETS[path].values()
    file = root / path
    valid = file.read_bytes()
    random = Random(path)
    for _ in range(examples):
        broken = _broken(valid, random)
        file.write_bytes(broken)
        for command in commands:
            words = command.replace("{}", path).split()
            with contextlib.chdir(root):
                status = _status([*words, "--root", "."])
            shown = "".join(capsys.readouterr())
            assert status in (0, 1, 2), broken[:2000]
            assert status == 0 or EXPLAINED.search(shown), broken[:2000]
    file.write_bytes(valid)


def _status(arguments: list[str]) -> object:
    try:
        return status_of(arguments)
    except SystemExit as stop:
        return stop.code
