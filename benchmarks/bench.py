"""`make bench`: how long check, find, build and preview take, as ratios to a peer in the same run.

Every figure is the median of whole processes that alternate with their peer. A slow figure fails
nothing; the limits are those of ARCHITECTURE.md.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from rl_resources import load, publish
from rl_resources.check import all_rules
from rl_resources.package import read_package
from rl_resources.snapshot import name_of
from rl_resources.tabular import mappings, write

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
LEAN = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"hypothesis", "numpy", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from rl_resources.__main__ import main
sys.exit(main())
"""
OURS = [sys.executable, "-c", LEAN]
"""As contributors run it: these three, which pandera imports where it finds them, are not in
requirements/serve.txt."""
ROUNDS = 5
MILLION = 1_000_000
SCRIPTS = (24, 96, 384)
SAMPLE = 100_000
"""Rows for frictionless, which takes a minute for a million."""
_COPY = "-copy"
"""What the key of a copied device has before its number."""
FRICTIONLESS = """
import json, frictionless
root, path = {!r}, "some.csv"
package = json.load(open(root + "/datapackage.json"))
schema = json.load(open(root + "/schema/tuning.json"))
del schema["foreignKeys"]  # the tables it refers to are not next to the file
package["resources"] = [dict(name="some", path=path, schema=schema)]
report = frictionless.Package.from_descriptor(package).validate()
assert report.valid, report
"""
HOOK = """
import runpy
on_env = runpy.run_path({!r})["on_env"]
"""
"""Of the hooks of the site, the one without which its main template cannot be read."""


def seconds(command: Sequence[str | Path], folder: Path = ROOT) -> float:
    """Wall-clock seconds of one process. Exit 1 (findings) is no failure."""
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    words = list(map(str, command))
    start = time.perf_counter()
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    taken = time.perf_counter() - start
    if b"Traceback" in done.stderr or done.returncode not in {0, 1}:
        sys.exit(done.stderr.decode())
    return taken


def cpu_seconds(command: Sequence[str | Path], folder: Path = ROOT) -> float:
    """CPU time of one process and of those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds(command, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    of_user = after.ru_utime - before.ru_utime
    of_system = after.ru_stime - before.ru_stime
    return of_user + of_system


def compare(
    title: str,
    limit: str,
    ours: Sequence[str | Path],
    peer: Sequence[str | Path],
    *,
    rounds: int = ROUNDS,
    folder: Path = ROOT,
    measure: Callable[[Sequence[str | Path], Path], float] = seconds,
) -> None:
    """Print the medians of both and their ratio."""
    of_ours: list[float] = []
    of_peer: list[float] = []
    for _ in range(rounds):
        of_ours.append(measure(ours, folder))
        of_peer.append(measure(peer, folder))
    mine = median(of_ours)
    other = median(of_peer)
    show(title, f"{mine:7.2f} s / {other:7.2f} s = {mine / other:5.2f}", limit)


def show(title: str, figure: str, limit: str = "none") -> None:
    """Print a line of the table."""
    print(f"{title:<46} {figure}  (limit {limit})")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def write_rows(path: Path, count: int) -> None:
    """Write `count` rows of `tuning`, each the first shipped one under a script name of its own."""
    text = (ROOT / "records" / "tuning.csv").read_text(encoding="utf-8")
    header, first, *_ = text.split("\n")
    script = mappings(text)[0]["script"]
    model, task, _, *rest = script.split("_")
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{header}\n")
        for number in range(1, count + 1):
            own = "_".join([model, task, str(number), *rest])
            row = first.replace(script, own, 1)
            file.write(f"{row}\n")


def write_peer(root: Path, folder: Path) -> None:
    """Write the pages of `root` as Markdown files into `folder`, to be built without our hooks."""
    shutil.copytree(root / "site/pages", folder / "docs")
    for name, content in publish.render(root).items():
        if isinstance(content, str) and name.endswith(".md"):
            page = folder / "docs" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(content, encoding="utf-8")
    hook = HOOK.format(str(root / "site/hooks.py"))
    (folder / "hook.py").write_text(hook, encoding="utf-8")
    settings = {
        "INHERIT": str(root / "mkdocs.yml"),
        "docs_dir": "docs",
        "site_dir": "site",
        "hooks": ["hook.py"],
        "watch": [],
        "strict": False,
        "theme": {"custom_dir": str(root / "site/assets")},
        "validation": {"links": {"not_found": "ignore", "anchors": "ignore"}},
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")


def bench_commands() -> None:
    pandas = python("import pandas")
    frictionless = [BIN / "frictionless", "validate", "datapackage.json"]
    on_tables = [rule.name for rule in all_rules().values() if rule.scope == "dataset"]
    tables = [*OURS, "check", "--select", ",".join(on_tables)]
    title = "check of the tables / frictionless, CPU"
    compare(title, "2", tables, frictionless, measure=cpu_seconds)
    compare("--help / import pandas", "1", [*OURS, "--help"], pandas)
    question = ["find", "--size", "7B", "--gpus", "8", "--device", "h100"]
    compare("find / import pandas", "1", [*OURS, *question], pandas)


def bench_scripts(folder: Path) -> None:
    """Print the CPU time of `check` for each further script, ShellCheck and shfmt included.

    Beside it stands that of ShellCheck alone: on a busy machine both grow, their ratio stays.
    """
    of_check: dict[int, float] = {}
    of_shellcheck: dict[int, float] = {}
    for count in SCRIPTS:
        root = folder / f"scripts-{count}"
        write_scripts(root, count)
        check = [*OURS, "check", "--root", root]
        alone = [BIN / "shellcheck", "--format=json", *sorted(root.rglob("*.sh"))]
        of_check[count] = median(cpu_seconds(check) for _ in range(3))
        of_shellcheck[count] = median(cpu_seconds(alone) for _ in range(3))
        show(f"check of {count} scripts", f"{of_check[count]:7.2f} s of CPU")
    for fewer, more in pairwise(SCRIPTS):
        ours = of_check[more] - of_check[fewer]
        peer = of_shellcheck[more] - of_shellcheck[fewer]
        each = ours / (more - fewer) * 1000
        title = f"check: each script from {fewer} to {more}"
        show(title, f"{each:7.1f} ms of CPU", "35 ms on an idle machine")
        show("the same / ShellCheck alone", f"{ours / peer:7.2f}", "2")


def write_scripts(root: Path, count: int) -> None:
    """Write the dataset with `count` records, each with a script whose text no other has.

    All rules hold, as before a pull request: a finding costs more than none, and one that can be
    fixed runs the rules again.
    """
    for name in ("records", "schema"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "datapackage.json", root)
    exempt = {row["record"] for row in rows_of("exemptions")}
    shipped = [row for row in rows_of("tuning") if row["script"] not in exempt]
    examples = (ROOT / "examples/tuning").rglob("*.sh")
    scripts = {name_of(str(path)): path for path in examples}
    rows: list[dict[str, str]] = []
    for number, row in enumerate(islice(cycle(shipped), count)):
        own = _on_a_device(row, number // len(shipped))
        rows.append(own)
        script = scripts[row["script"]]
        text = script.read_text(encoding="utf-8")
        below = str(script.relative_to(ROOT)).removesuffix(row["script"])
        path = root / below / own["script"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}# Copy {number}\n", encoding="utf-8")
        path.chmod(0o755)
    write_table(root, "tuning", rows)
    write_table(root, "devices", [*rows_of("devices"), *_copied_devices(rows)])
    names = {row["script"] for row in rows}
    for table in ("trials", "compatibility"):
        known = [row for row in rows_of(table) if row["script"] in names]
        write_table(root, table, known)
    reports = [row for row in rows_of("exemptions") if ".sh" not in row["record"]]
    write_table(root, "exemptions", reports)
    seconds([BIN / "rl-resources", "fmt", "--root", root])


def rows_of(table: str) -> list[dict[str, str]]:
    """The rows of a shipped table."""
    path = ROOT / "records" / f"{table}.csv"
    return mappings(path.read_text(encoding="utf-8"))


def write_table(root: Path, table: str, rows: Sequence[dict[str, str]]) -> None:
    """Write these rows in the place of those of a table."""
    header = list(rows_of(table)[0])
    lines = [header, *(list(row.values()) for row in rows)]
    path = root / "records" / f"{table}.csv"
    path.write_text(write(lines), encoding="utf-8")


def _on_a_device(row: dict[str, str], copy: int) -> dict[str, str]:
    """A record under a name of its own: each copy is on another device."""
    if copy == 0:
        return row
    device = f"{row['device']}{_COPY}{copy}"
    script = row["script"].replace(f"_{row['device']}_", f"_{device}_", 1)
    return {**row, "script": script, "device": device}


def _copied_devices(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The devices of copies, each like the one that it is copied from."""
    devices = {row["device"]: row for row in rows_of("devices")}
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        key, mark, copy = row["device"].partition(_COPY)
        if mark:
            name = f"{devices[key]['name']} {copy}"
            own = {"device": row["device"], "name": name, "aliases": ""}
            found[row["device"]] = {**devices[key], **own}
    return list(found.values())


def bench_rows(folder: Path) -> None:
    schema = read_package(ROOT).resources["tuning"].schema
    kinds = {"integer": "pl.Int64", "number": "pl.Float64", "date": "pl.Date"}
    types = ", ".join(
        f"{field.name!r}: {kinds.get(field.type, 'pl.String')}"
        for field in schema.fields
    )
    many = folder / "many.csv"
    write_rows(many, MILLION)
    write_rows(folder / "some.csv", SAMPLE)
    ours = [*OURS, "check", many, "--resource", "tuning"]
    read = f"import polars as pl; pl.read_csv({str(many)!r}, schema={{{types}}})"
    compare("10^6 rows: check / polars reads", "3", ours, python(read), rounds=3)
    judged = seconds(python(FRICTIONLESS.format(str(ROOT))), folder)
    ratio = MILLION / SAMPLE * judged / seconds(ours)
    title = f"10^6 rows: frictionless (from {SAMPLE}) / check"
    show(title, f"{ratio:7.1f}", "at least 30")


def bench_build(folder: Path) -> None:
    write_peer(ROOT, folder / "peer")
    ours = [*OURS, "build", "--root", ROOT, "--out", folder / "build"]
    peer = [BIN / "mkdocs", "build", "--quiet"]
    title = "build / plain MkDocs on the same pages"
    compare(title, "1.3", ours, peer, folder=folder / "peer")


def bench_preview(folder: Path) -> None:
    """Print how long an edited note takes to show under `make serve`, as a reader would see it."""
    root = folder / "checkout"
    address = "localhost:8765"
    subprocess.run(["git", "clone", "--quiet", ROOT, root], check=True)
    rows = rows_of("tuning")
    page = rows[0]["script"].removesuffix(".sh")
    url = f"http://{address}/records/{page}/"
    server = subprocess.Popen(
        [BIN / "mkdocs", "serve", "--quiet", "--dev-addr", address],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )

    def wait(text: str) -> float:
        start = time.perf_counter()
        shown = ""
        while text not in shown and server.poll() is None:
            time.sleep(0.05)
            with suppress(OSError), urlopen(url) as reply:
                shown = reply.read().decode("utf-8")
        return time.perf_counter() - start

    try:
        wait(page)
        times: list[float] = []
        for number in range(ROUNDS):
            time.sleep(1)
            note = f"Edit {number} of the bench."
            rows[0]["notes"] = note
            write_table(root, "tuning", rows)
            times.append(wait(note))
    finally:
        server.terminate()
        server.wait()
    show("preview: an edit of a row on its page", f"{median(times):7.2f} s", "3 s")


def bench_estimate(folder: Path) -> None:
    """Print what the page takes for a verdict, and with its knobs, limits and joint search."""
    site = folder / "build" / "site"
    modules = folder / "modules"
    shutil.copytree(site / "javascripts", modules)
    for data in ("api/v1/estimate.json", "assets/words.json"):
        shutil.copy(site / data, modules)
    (modules / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    question = {
        "model": "Qwen/Qwen3-30B-A3B",
        "gpus": "64",
        "device": "h100",
        "train": "megatron",
        "infer": "vllm",
    }
    done = subprocess.run(
        ["node", ROOT / "tests/finder/estimate.mjs", modules],
        input=json.dumps([question] * 100),
        capture_output=True,
        text=True,
        check=True,
    )
    verdict, all_of_it = done.stderr.split()
    show("verdict on the page, in Node", f"{verdict} ms", "50 ms")
    show("the same with the joint search", f"{all_of_it} ms", "300 ms")


def main() -> None:
    print(
        f"{len(load(ROOT).records['reports'])} reports, medians of {ROUNDS} (rows: 3)"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench_commands()
        bench_scripts(folder)
        bench_rows(folder)
        bench_build(folder)
        bench_preview(folder)
        bench_estimate(folder)


if __name__ == "__main__":
    main()
