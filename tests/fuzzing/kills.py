"""`python -m fuzzing.kills [COMMAND…] --times N`: kill -9 while a command changes files.

How many changes of the file system a run makes is counted first; each is then killed within
milliseconds of one of them, half of the time one that puts something in place. Afterwards one
harmless command runs, and the files have to be the old ones or the new ones.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from rl_resources.package import UNFINISHED
from sample_tree import REPOSITORY, plant

NAME = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
NEW = "new --model Qwen/Qwen2.5-7B-Instruct --task GRPO --gpus 8 --device h100 --train fsdp"
COMMANDS = {
    "new": f"{NEW} --infer vllm --tag MIN --root {{root}}",
    "fmt": "fmt --root {root}",
    "fix": "check --fix --root {root}",
    "draft": "draft {script} --set contributor=me --write --root {root}",
    "export": "export rst --out out/page.rst --root {root}",
    "build": "build --root {root} --out out",
}

NOW = "now"
LONGEST_DELAY_SECONDS = 0.005

Files = dict[str, bytes]


def checkout(folder: Path) -> Path:
    """The sample dataset with this repository's pages, without history."""
    plant(folder)
    shutil.copytree(REPOSITORY / "site", folder / "site")
    shutil.copy(REPOSITORY / "mkdocs.yml", folder)
    return folder


def prepared(command: str, root: Path) -> None:
    """What the command needs for having something to write."""
    if command in {"fmt", "fix"}:
        for path in (root / "records").glob("*.csv"):
            header, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
            path.write_text(header + "".join(reversed(rows)), encoding="utf-8")
    if command == "draft":
        script = _script(root)
        for path in (root / "records").glob("*.csv"):
            rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = (row for row in rows if not row.startswith(script.name))
            path.write_text("".join(kept), encoding="utf-8")
    if command == "export":
        (root / "out").mkdir()
        (root / "out/page.rst").write_text("old\n", encoding="utf-8")
    if command == "build":
        struck(_words(command, root), root, 0, 0)
        with (root / "site/pages/contributing.md").open("a", encoding="utf-8") as page:
            page.write("\nOne sentence more.\n")


def _script(root: Path) -> Path:
    return min((root / "examples/tuning").rglob("*.sh"))


def _words(command: str, root: Path) -> list[str]:
    return COMMANDS[command].format(script=_script(root), root=root).split()


def struck(words: Sequence[str], root: Path, at: int, delay: float) -> str:
    """Kill a command so long after it has begun its change number `at`.

    Gives what it says: `NOW`, or its changes where it had ended before.
    """
    program = [sys.executable, "-m", "fuzzing.struck", str(at), *words]
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, cwd=root, env=own, text=True, **pipes) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if said == NOW:
            time.sleep(delay)
            process.kill()
    return said


def files(root: Path) -> Files:
    """All that people look at: hidden leftovers of a killed process are none of it."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts)
    }


def kills(command: str, times: int, random: Random, say: Callable[[str], None]) -> bool:
    """Kill a command so many times; whether each time the old files or the new ones were left."""
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = checkout(Path(folder) / "root")
        prepared(command, root)
        before = files(root)
        spare, kept = Path(folder) / "spare", Path(folder) / "kept"
        for copy in (spare, kept):
            shutil.copytree(root, copy)
        changes, *placed = map(int, struck(_words(command, spare), spare, 0, 0).split())
        after = files(spare)
        for _ in range(times):
            anywhere, placing = random.randint(1, changes), random.choice(placed or [1])
            at, delay = random.choice((anywhere, placing)), random.uniform(0, LONGEST_DELAY_SECONDS)
            said = struck(_words(command, root), root, at, delay)
            seen["killed" if said == NOW else "had ended"] += 1
            seen["left unfinished"] += (root / UNFINISHED).exists()
            settled = [sys.executable, "-m", "rl_resources", "coverage", "--root", "."]
            subprocess.run(settled, cwd=root, check=False, capture_output=True)
            now = files(root)
            state = "old" if now == before else "new" if now == after else "MIXED"
            seen["old = new" if before == after else state] += 1
            if state == "MIXED":
                say(f"{command}: a mixture, killed {delay:.4f} s after change {at} of {changes}")
            if now != before:
                shutil.rmtree(root)
                shutil.copytree(kept, root)
    say(f"{command}: {times} runs of {changes} changes, {dict(seen)}")
    return not seen["MIXED"]


def main() -> int:
    """Exit status 1 where a mixture was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", choices=[*COMMANDS, []], help="default: all")
    parser.add_argument("--times", type=int, default=200, help="for each command")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    random = Random(asked.seed)

    def say(text: str) -> None:
        print(text, flush=True)

    wanted = asked.commands or list(COMMANDS)
    sound = [kills(command, asked.times, random, say) for command in wanted]
    return int(not all(sound))


if __name__ == "__main__":
    sys.exit(main())
