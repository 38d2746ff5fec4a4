"""`rl-resources COMMAND`: arguments in, exit status out; all work is done elsewhere.

Exit status: 0 nothing wrong, 1 findings of severity error, 2 wrong usage or unreadable input.
Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnreadableDataset,
    UnusableInput,
)
from rl_resources.output import UNFINISHED

if TYPE_CHECKING:
    from rl_resources.check import Rule
    from rl_resources.check.snapshot import Snapshot
    from rl_resources.finding import Finding
    from rl_resources.package import Package

FOUND = 1
UNUSABLE = 2
MOST_COUNTED = 1000
FORMATS = ("text", "json", "github", "sarif")

Arguments = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    # A short process that mostly imports: collecting garbage as often as usual is 6 % of `check`.
    gc.set_threshold(200_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parsed = _parser().parse_args(arguments)
    try:
        status = _run(parsed)
        sys.stdout.flush()
    except InvalidDataset as error:
        _tell(error.findings)
        return FOUND
    except RlResourcesError as error:
        _complain(error)
        return FOUND if isinstance(error, InvalidOutput) else UNUSABLE
    except ModuleNotFoundError as error:
        if not parsed.extra or str(error.name).startswith("rl_resources"):
            raise
        _complain(_lacking(parsed, str(error.name)))
        return UNUSABLE
    except BrokenPipeError:
        # The reader of our output has gone; what Python still holds for it must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _lacking(arguments: Arguments, module: str) -> RlResourcesError:
    extra = f"pip install 'rl-resources[{arguments.extra}]'"
    return UnusableInput(f"{arguments.command} needs {module}, which is not installed: {extra}")


def _run(arguments: Arguments) -> int:
    """The command. Where it stumbles over data that break rules, the rules say it better.

    Answers take it for granted that the dataset holds its rules, so that no answer says them again.
    """
    try:
        status: int = arguments.run(arguments)
    except (RlResourcesError, OSError, ImportError):
        raise
    except Exception:
        _refuse_broken(arguments)
        raise
    return status


def _refuse_broken(arguments: Arguments) -> None:
    from rl_resources.check import check_root

    findings = check_root(_root(arguments))
    if any(finding.severity == "error" for finding in findings):
        raise InvalidDataset(findings)


def _complain(error: RlResourcesError) -> None:
    print(f"rl-resources: error: {error}", file=sys.stderr)  # noqa: T201
    if error.help:
        print(f"  help: {error.help}", file=sys.stderr)  # noqa: T201


def _tell(findings: Sequence[Finding]) -> int:
    from rl_resources.render.findings import as_text, summary, wants_colour

    text = as_text(findings, coloured=wants_colour(sys.stderr, os.environ))
    sys.stderr.write(f"{text}{summary(findings)}\n")
    return FOUND if any(finding.severity == "error" for finding in findings) else 0


def _root(arguments: Arguments) -> Path:
    from rl_resources.dataset import find_root

    root = Path(arguments.root) if arguments.root else find_root(Path.cwd())
    if (root / UNFINISHED).is_dir():
        _settle(root)
    return root


def _settle(root: Path) -> None:
    """Undo what a killed command left half done."""
    from rl_resources.contribute.writing import settle

    if undone := settle(root):
        message = f"rl-resources: put back what a stopped command had begun: {', '.join(undone)}"
        print(message, file=sys.stderr)  # noqa: T201


def _root_of_answers(arguments: Arguments) -> Path:
    """As `_root`, and outside of any checkout the dataset that came with this package."""
    from rl_resources.dataset import installed_root

    try:
        return _root(arguments)
    except UnreadableDataset:
        return installed_root()


def _check(arguments: Arguments) -> int:
    from rl_resources.check import chosen_rules, findings_in
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.package import read_package
    from rl_resources.render import findings as form

    root = _root(arguments)
    snapshot = take_snapshot(read_package(root))
    rules = chosen_rules(arguments.select, arguments.ignore)
    if arguments.resource or any(_is_parquet(path) for path in arguments.paths):
        return _check_records(arguments, snapshot, rules)
    wanted = [_relative(snapshot.package, path) for path in arguments.paths] or ["."]

    def asked(path: str) -> bool:
        return any(_below(path, folder) for folder in wanted)

    if arguments.fix:
        snapshot = _fixed(snapshot, rules, asked)
    found = findings_in(snapshot, rules, asked)
    _write_findings(found, arguments.format, snapshot.package.version)
    looked_at = {
        "record": len(snapshot.tables["tuning"].rows),
        "script": len(snapshot.scripts),
    }
    sys.stderr.write(f"{form.summary(found, looked_at)}\n")
    if not arguments.fix and (words := _fixable(snapshot, rules, asked, found)):
        sys.stderr.write(f"{words} mended by `rl-resources check --fix`.\n")
    return _status(arguments, found)


def _is_parquet(path: str) -> bool:
    return path.endswith(".parquet")


def _check_records(arguments: Arguments, snapshot: Snapshot, rules: Sequence[Rule]) -> int:
    """Hold files of records that lie anywhere to the tables that they are like."""
    from rl_resources.check.records import judge_records, table_of
    from rl_resources.render.findings import summary

    if arguments.fix or not arguments.paths:
        raise UnusableInput(
            "--resource is for files of records, which --fix leaves alone",
            "Name the files, and leave out --fix.",
        )
    tables = [
        (path, table_of(snapshot, path, arguments.resource)) for path in map(Path, arguments.paths)
    ]
    judged = [judge_records(snapshot, table, path, rules) for path, table in tables]
    found = [finding for of_file in judged for finding in of_file.findings]
    _write_findings(found, arguments.format, snapshot.package.version)
    looked_at = {"record": sum(of_file.records for of_file in judged)}
    sys.stderr.write(f"{summary(found, looked_at)}\n")
    return _status(arguments, found)


def _status(arguments: Arguments, findings: Sequence[Finding]) -> int:
    strict = {"error", "warning"} if arguments.strict else {"error"}
    return FOUND if any(item.severity in strict for item in findings) else 0


def _fixed(snapshot: Snapshot, rules: Sequence[Rule], asked: Callable[[str], bool]) -> Snapshot:
    """Write the mends that are certain, say what they are, and read all files anew."""
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.contribute.fix import fix
    from rl_resources.contribute.writing import write_proposal

    fixed = fix(snapshot, rules, asked)
    write_proposal(snapshot.package.root, fixed.proposal)
    for line in fixed.done:
        print(line, file=sys.stderr)  # noqa: T201
    return take_snapshot(snapshot.package)


def _fixable(
    snapshot: Snapshot,
    rules: Sequence[Rule],
    asked: Callable[[str], bool],
    found: Sequence[Finding],
) -> str:
    """How many findings `--fix` would leave less, in words; blank where there are none.

    To know that all rules look again at what the fixers leave; of many it is not asked.
    """
    from rl_resources.check import findings_in
    from rl_resources.contribute.fix import fix

    if not {item.rule for item in found} & {rule.name for rule in rules if rule.fixable}:
        return ""
    if len(found) > MOST_COUNTED:
        return "Those of which the mend is certain are"
    left = findings_in(fix(snapshot, rules, asked).snapshot, rules, asked)
    count = max(0, len(found) - len(left))
    return {0: "", 1: "1 of them is"}.get(count, f"{count} of them are")


def _write_findings(findings: Sequence[Finding], kind: str, version: str) -> None:
    from rl_resources.check import all_rules
    from rl_resources.render import findings as form

    if kind == "sarif":
        text = form.as_sarif(findings, all_rules().values(), version)
    elif kind == "text":
        text = form.as_text(findings, coloured=form.wants_colour(sys.stdout, os.environ))
    else:
        text = {"json": form.as_json, "github": form.as_github}[kind](findings)
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")


def _relative(package: Package, path: str) -> str:
    """A path that a person named, relative to the root as findings name it."""
    root = package.root
    name = "Name files or folders of the dataset."
    # The last part is not followed, so that a link is told of as itself.
    place = Path(os.path.normpath(Path(path).absolute()))
    place = place.parent.resolve() / place.name
    top = root.resolve()
    if place.resolve() == top:
        return "."
    if not place.is_relative_to(top):
        raise UnusableInput(f"{path}: lies outside the dataset at {root}", name)
    relative = place.relative_to(top).as_posix()
    known = any(item.path == relative for item in package.resources.values())
    if not (known or place.exists() or place.is_symlink()):
        raise UnusableInput(f"{path}: does not exist", name)
    return relative


def _below(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")


def _fmt(arguments: Arguments) -> int:
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.contribute.proposal import Change, Proposal
    from rl_resources.contribute.writing import write_proposal
    from rl_resources.fmt import format_tables, unformattable
    from rl_resources.package import read_package
    from rl_resources.render.findings import shown_diff

    root = _root(arguments)
    snapshot = take_snapshot(read_package(root))
    wanted = [_relative(snapshot.package, path) for path in arguments.paths] or ["."]

    def asked(path: str) -> bool:
        return any(_below(path, folder) for folder in wanted)

    left = [path for path in unformattable(snapshot) if asked(path)]
    tables = {table.path: table for table in snapshot.tables.values()}
    proposal = Proposal(
        tuple(
            Change(path, tables[path].data, text.encode("utf-8"))
            for path, text in format_tables(snapshot).items()
            if asked(path)
        )
    )
    if arguments.check:
        sys.stdout.write(shown_diff(proposal.diff()))
    else:
        write_proposal(root, proposal)
    for change in proposal.changes:
        done = "would be rewritten" if arguments.check else "rewritten"
        print(f"{change.path}: {done}", file=sys.stderr)  # noqa: T201
    for path in left:
        message = f"{path}: left alone, because it cannot be read; `rl-resources check` says why"
        print(message, file=sys.stderr)  # noqa: T201
    return FOUND if left or (arguments.check and proposal.changes) else 0


def _draft(arguments: Arguments) -> int:
    from rl_resources.contribute.draft_command import draft_files
    from rl_resources.render.findings import as_text, wants_colour
    from rl_resources.words import printable

    drafted = draft_files(
        _root(arguments),
        arguments.script or "",
        log=arguments.log or "",
        issue=arguments.issue or "",
        given=arguments.set,
        write=arguments.write,
    )
    for line in drafted.told():
        print(f"draft: {printable(line)}", file=sys.stderr)  # noqa: T201
    coloured = wants_colour(sys.stderr, os.environ)
    sys.stderr.write(as_text(drafted.findings, coloured=coloured))
    print(f"draft: {drafted.verdict(asked=arguments.write)}", file=sys.stderr)  # noqa: T201
    sys.stdout.write(drafted.as_json() if arguments.format == "json" else drafted.as_csv())
    return FOUND if arguments.write and drafted.refused else 0


def _new(arguments: Arguments) -> int:
    from rl_resources.contribute import command
    from rl_resources.contribute.words import OPTIONS, Request
    from rl_resources.render.findings import as_text, wants_colour

    said = {name: getattr(arguments, name) for name in (*OPTIONS, "nodes", "contributor")}
    growing = {"model": arguments.add_model, "device": arguments.add_device}
    added = {option: cells for option, cells in growing.items() if cells is not None}
    written = not arguments.dry_run
    record = command.new(_root(arguments), Request(**said), added, write=written)
    form = command.as_json if arguments.format == "json" else command.as_text
    sys.stdout.write(form(record, written=written))
    sys.stderr.write(as_text(record.findings, coloured=wants_colour(sys.stderr, os.environ)))
    sys.stderr.write(command.next_step(record) if written else "Nothing was written.\n")
    return 0


def _build(arguments: Arguments) -> int:
    from rl_resources.build import build
    from rl_resources.check import check_root

    root = _root(arguments)
    findings = check_root(root)
    if findings and _tell(findings):
        return FOUND
    out = Path(arguments.out) if arguments.out else root / "build"
    site = build(root, out, checked=True)
    print(site)  # noqa: T201
    return 0


def _export(arguments: Arguments) -> int:
    from rl_resources.dataset import is_packaged, read_dataset
    from rl_resources.export import export
    from rl_resources.output import write_file
    from rl_resources.package import read_package
    from rl_resources.repository import read_repository

    root = _root_of_answers(arguments)
    script_url = arguments.script_url
    if not is_packaged(root):
        from rl_resources.check import check_root

        if errors := [item for item in check_root(root) if item.severity == "error"]:
            return _tell(errors)
        script_url = script_url or read_repository(root).script_url()
    dataset = read_dataset(read_package(root))
    text = export(dataset, arguments.kind, arguments.size, script_url)
    if arguments.out:
        write_file(Path(arguments.out), text)
    else:
        sys.stdout.write(text)
    return 0


def _import_page(arguments: Arguments) -> int:
    from rl_resources.dataset import read_dataset
    from rl_resources.output import write_file
    from rl_resources.package import read_package
    from rl_resources.page.audit import import_page
    from rl_resources.render import findings as form

    dataset = read_dataset(read_package(_root_of_answers(arguments)))
    scripts = Path(arguments.scripts) if arguments.scripts else None
    text, findings = import_page(Path(arguments.page), scripts, dataset)
    empty = text.count("\n") <= 1
    if empty:
        message = f"{arguments.page}: no record could be read from it, so none is written"
        print(message, file=sys.stderr)  # noqa: T201
    elif arguments.out:
        write_file(Path(arguments.out) / "tuning.csv", text)
    if arguments.format == "text":
        sys.stdout.write("" if arguments.out else text)
        return _tell(findings) or (FOUND if empty else 0)
    _write_findings(findings, arguments.format, dataset.version)
    sys.stderr.write(form.summary(findings) + "\n")
    return FOUND if empty or any(item.severity == "error" for item in findings) else 0


def _diff(arguments: Arguments) -> int:
    from rl_resources.answer.diff import diff
    from rl_resources.render import changes
    from rl_resources.revision import read_folder, read_state

    root = _root(arguments)
    old = read_state(root, arguments.old)
    new = read_state(root, arguments.new) if arguments.new else read_folder(root)
    found = diff(old, new)
    if arguments.format == "markdown":
        sys.stdout.write(changes.as_markdown(found, new))
    else:
        sys.stdout.write(
            {"text": changes.as_text, "json": changes.as_json}[arguments.format](found)
        )
    return 0


def _compat(arguments: Arguments) -> int:
    import hydra  # noqa: F401 (without it nothing need be fetched)

    from rl_resources.compat import compat
    from rl_resources.output import write_file

    root = _root(arguments)
    found = compat(root, arguments.framework_version, lambda text: print(text, file=sys.stderr))  # noqa: T201
    for path, text in found.files.items():
        write_file(root / path, text)
    for line in found.summary:
        print(line)  # noqa: T201
    for line in found.problems:
        print(f"rl-resources: {line}", file=sys.stderr)  # noqa: T201
    return FOUND if found.problems else 0


def _find(arguments: Arguments) -> int:
    from shutil import get_terminal_size

    from rl_resources.answer.ask import ask
    from rl_resources.answer.question import Words
    from rl_resources.dataset import read_dataset
    from rl_resources.package import read_package
    from rl_resources.render import find as form

    dataset = read_dataset(read_package(_root_of_answers(arguments)))
    scripts = form.scripts_root(dataset)
    asked = {name: getattr(arguments, name) for name in Words.__dataclass_fields__}
    found, notes = ask(dataset, Words(**asked))
    if arguments.format == "json":
        sys.stdout.write(form.as_json(found, notes, dataset.version, scripts))
    elif arguments.format == "csv":
        sys.stdout.write(form.as_csv(found))
        sys.stderr.write(form.beside(found, notes))
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        width = get_terminal_size((100, 24)).columns
        sys.stdout.write(
            form.as_text(
                found,
                notes,
                limit=arguments.limit,
                width=width,
                colour=colour,
                root=scripts,
                unfold=arguments.all,
            )
        )
    return 0 if found.answers else FOUND


def _coverage(arguments: Arguments) -> int:
    from rl_resources.answer.coverage import coverage
    from rl_resources.dataset import read_dataset
    from rl_resources.package import read_package
    from rl_resources.render import coverage as form

    dataset = read_dataset(read_package(_root_of_answers(arguments)))
    found = coverage(dataset)
    texts = {
        "text": lambda: form.as_text(dataset, found),
        "json": lambda: form.as_json(dataset, found),
        "csv": lambda: form.as_csv(found),
    }
    sys.stdout.write(texts[arguments.format]())
    return 0


def _rules(arguments: Arguments) -> int:
    from rl_resources.check import chosen_rules

    names = [arguments.name] if arguments.name else []
    for rule in chosen_rules(names, []):
        fixable = ", fixable" if rule.fixable else ""
        print(f"{rule.name} ({rule.severity}{fixable}): {rule.summary}")  # noqa: T201
        if names:
            print(f"  why:  {rule.reason}\n  bad:  {rule.bad}\n  good: {rule.good}")  # noqa: T201
    return 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rl-resources", description="Which hardware does an RL run of a language model need?"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, run: Callable[[Arguments], int], help_: str, extra: str = ""
    ) -> argparse.ArgumentParser:
        """Add a command; without its `extra` of the package it cannot do all that it offers."""
        sub = commands.add_parser(name, help=help_, description=help_)
        sub.add_argument("--root", metavar="DIR", help="the folder that holds datapackage.json")
        sub.set_defaults(run=run, command=name, extra=extra)
        return sub

    sub = command("check", _check, "Hold dataset and scripts to all rules.", "check")
    sub.add_argument("paths", nargs="*", metavar="PATH", help="tell only about these files")
    sub.add_argument(
        "--resource",
        metavar="TABLE",
        default="",
        help="hold the paths, CSV or Parquet from anywhere, to this table: cells and keys alone",
    )
    sub.add_argument("--format", choices=FORMATS, default="text")
    sub.add_argument("--select", type=_words, default=[], metavar="R,…", help="only these rules")
    sub.add_argument("--ignore", type=_words, default=[], metavar="R,…", help="not these rules")
    sub.add_argument("--strict", action="store_true", help="count warnings as errors")
    sub.add_argument("--fix", action="store_true", help="make the mends that are certain first")

    sub = command("fmt", _fmt, "Write the CSV files in canonical form.")
    sub.add_argument("paths", nargs="*", metavar="PATH", help="only these files")
    sub.add_argument("--check", action="store_true", help="show what would change, change nothing")

    sub = command("draft", _draft, "Propose the row of a script that ran.", "draft")
    sub.add_argument("script", nargs="?", metavar="SCRIPT", help="read, and never run")
    sub.add_argument("--log", metavar="FILE", help="the run's log: console, JSON lines or CSV")
    sub.add_argument("--issue", metavar="FILE", help="the body of an issue form")
    sub.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help="state a cell yourself"
    )
    for column in ("device", "tag", "contributor"):
        sub.add_argument(
            f"--{column}",
            action="append",
            dest="set",
            metavar="VALUE",
            type=f"{column}={{}}".format,
            help=f"short for --set {column}=VALUE",
        )
    sub.add_argument(
        "--write",
        action="store_true",
        help="add the row, and copy or move the script to its place; overwrites nothing",
    )
    sub.add_argument("--format", choices=["csv", "json"], default="csv")

    sub = command(
        "new", _new, "Write a script and its row; ask on a terminal for what is missing.", "check"
    )
    for option, example in (
        ("model", "Qwen/Qwen2.5-7B-Instruct"),
        ("task", "GRPO"),
        ("gpus", "8"),
        ("device", "h100"),
        ("train", "fsdp"),
        ("infer", "vllm"),
        ("tag", "MIN or RECOMMENDED"),
    ):
        sub.add_argument(f"--{option}", metavar=option.upper(), help=f"for example {example}")
    sub.add_argument("--nodes", metavar="N", help="machines (default: of 8 accelerators each)")
    sub.add_argument("--contributor", metavar="HANDLE", help="your public handle")
    for option in ("model", "device"):
        sub.add_argument(
            f"--add-{option}",
            nargs="*",
            metavar="COLUMN=VALUE",
            help=f"add the {option} to its table, with these cells",
        )
    sub.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    sub.add_argument("--format", choices=["text", "json"], default="text")

    sub = command("build", _build, "Build everything that is published.", "site")
    sub.add_argument("--out", metavar="DIR", help="write DIR/site (default: build)")

    sub = command("export", _export, "Write one rendering alone.", "check")
    sub.add_argument("kind", choices=["rst", "json", "markdown"])
    sub.add_argument("--size", metavar="S", help="only this size, for example 7B")
    sub.add_argument(
        "--script-url", metavar="TEMPLATE", help="address of a script, with {path} or {script}"
    )
    sub.add_argument("--out", metavar="FILE", help="write to a file, not to standard output")

    sub = command(
        "import-page", _import_page, "Hold a hand-kept RST page to its scripts; read it.", "page"
    )
    sub.add_argument("page", metavar="PAGE.rst")
    sub.add_argument("--scripts", metavar="DIR", help="the scripts that the page links to")
    sub.add_argument("--out", metavar="DIR", help="write DIR/tuning.csv, not standard output")
    sub.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="all but text write the findings to standard output; then --out alone writes CSV",
    )

    sub = command("diff", _diff, "Say which records differ between two states.")
    sub.add_argument("old", metavar="OLD", help="a git revision, or a folder with a dataset")
    sub.add_argument("new", nargs="?", metavar="NEW", help="another one (default: the files here)")
    sub.add_argument("--format", choices=["text", "json", "markdown"], default="text")

    sub = command(
        "compat", _compat, "Compose every script's configuration with every release.", "compat"
    )
    sub.add_argument(
        "--framework-version", nargs="+", metavar="V", help="only these releases, keep the rest"
    )

    sub = command("find", _find, "Say what runs on your hardware, best first, and why.")
    for option, metavar, help_ in (
        ("model", "M", "Hugging Face id or its short name; `7B` is taken for a size"),
        ("size", "S", "for example 7B"),
        ("task", "T", "for example GRPO or GRPO-LoRA"),
        ("gpus", "N", "how many accelerators you have (default: any number)"),
        ("train", "BACKEND", "training backend, for example fsdp"),
        ("infer", "BACKEND", "rollout engine, for example vllm"),
        ("tag", "TAG", "MIN or RECOMMENDED"),
    ):
        sub.add_argument(f"--{option}", metavar=metavar, help=help_)
    hardware = sub.add_mutually_exclusive_group()
    hardware.add_argument("--device", metavar="D", help="for example h100 or 'A100 80GB'")
    hardware.add_argument("--memory", metavar="GB", help="of one device, whoever makes it")
    sub.add_argument(
        "--limit", type=_count, default=10, metavar="N", help="answers in text; 0: all"
    )
    sub.add_argument(
        "--all", action="store_true", help="each answer, also where settings alone differ"
    )
    sub.add_argument("--format", choices=["text", "json", "csv"], default="text")

    sub = command("coverage", _coverage, "Say what the dataset holds and lacks.")
    sub.add_argument("--format", choices=["text", "json", "csv"], default="text")

    sub = command("rules", _rules, "List the rules, or explain one.")
    sub.add_argument("name", nargs="?", metavar="NAME")
    return parser
