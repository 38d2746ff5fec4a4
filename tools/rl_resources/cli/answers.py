"""What the dataset says: `find`, `estimate`, `coverage`, `diff`; and what is derived from it:
`export`, `build`, `compat`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from rl_resources.cli import (
    FOUND,
    Arguments,
    command,
    dataset_of_answers,
    root_of,
    root_of_answers,
)
from rl_resources.dataset import Dataset, is_packaged, read_dataset
from rl_resources.errors import UnusableInput, refuse_errors
from rl_resources.estimate import NUMBERS, PLAN_OPTIONS, WORDS
from rl_resources.files import read_text, write_file
from rl_resources.git import read_repository
from rl_resources.package import read_package
from rl_resources.query.vocabulary import FIELDS
from rl_resources.text import shown


@command(FIELDS)
def find(arguments: Arguments) -> int | str:
    """Show what runs on your hardware, best first, and why."""
    from shutil import get_terminal_size

    from rl_resources.query.find import ask, by_time
    from rl_resources.site.findings import wants_color
    from rl_resources.site.found import as_json, as_text

    dataset = dataset_of_answers(arguments)
    found, notes = ask(dataset, _words(arguments, FIELDS))
    if arguments.sort == "time":
        found = found._replace(answers=by_time(found.answers))
    if arguments.format == "json":
        text = as_json(dataset, found, notes)
    else:
        text = as_text(
            dataset,
            found,
            notes,
            limit=arguments.limit,
            verbose=arguments.verbose,
            width=get_terminal_size((100, 24)).columns,
            color=wants_color(sys.stdout),
        )
    if found.answers:
        return text
    sys.stdout.write(text)
    return FOUND


def _words(arguments: Arguments, options: Iterable[str]) -> dict[str, str]:
    return {name: getattr(arguments, name) for name in options}


_MODEL = "a model, a size such as 7B, or a config.json or its directory"
_TASK = "a task, for example GRPO or GRPO-LoRA, or one without rollouts: SFT, DPO, KTO"
_ESTIMATE_HELP = {**FIELDS, "model": _MODEL, "task": _TASK}


@command({name: _ESTIMATE_HELP[name] for name in WORDS})
def estimate(arguments: Arguments) -> str:
    """Estimate the memory and the time of a run, and show what would lower them."""
    from rl_resources.query.estimate import estimate, framework_meant
    from rl_resources.query.plan import evidence
    from rl_resources.site import answers

    dataset = dataset_of_answers(arguments)
    if "list" in arguments.set:
        return answers.inputs_as_text(framework_meant(dataset, arguments.framework))
    asked = _words(arguments, WORDS + NUMBERS)
    found = estimate(dataset, asked, arguments.set, arguments.script)
    runs = evidence(dataset, found)
    written = answers.estimate_as_text
    if arguments.format == "json":
        written = answers.estimate_as_json
    return written(found, runs, arguments.steps, arguments.price)


_PLAN_HELP = {
    **FIELDS,
    "model": _MODEL,
    "task": _TASK,
    "framework": "a framework, for example verl, whose settings and scripts are taken",
    "host_memory": "GB of host memory of a node",
}


@command({name: _PLAN_HELP[name] for name in PLAN_OPTIONS})
def plan(arguments: Arguments) -> str:
    """Answer whether and how a run fits your hardware, with its script."""
    from rl_resources.query.plan import answer_plan
    from rl_resources.site.plan import answer_as_json, answer_as_text

    asked = _words(arguments, PLAN_OPTIONS)
    answer = answer_plan(dataset_of_answers(arguments), asked, arguments.path)
    if arguments.script:
        from rl_resources.contribute.new import plan_script  # it imports all rules

        return plan_script(answer, arguments.script)
    if arguments.format == "json":
        return answer_as_json(answer, arguments.steps, arguments.price)
    return answer_as_text(
        answer,
        asked,
        verbose=arguments.verbose,
        steps=arguments.steps,
        price=arguments.price,
    )


@command()
def coverage(arguments: Arguments) -> str:
    """Show what the dataset covers and lacks."""
    from rl_resources.query.coverage import coverage
    from rl_resources.site import answers

    dataset = dataset_of_answers(arguments)
    found = coverage(dataset)
    if arguments.format == "json":
        return answers.coverage_as_json(found, dataset.version)
    return answers.coverage_as_text(dataset, found)


@command()
def diff(arguments: Arguments) -> str:
    """Show which records differ between two states."""
    from rl_resources.site.diff import (
        as_json,
        as_markdown,
        as_text,
        diff,
        read_directory,
        read_state,
    )

    root = root_of(arguments)
    old = read_state(root, arguments.old)
    new = read_state(root, arguments.new) if arguments.new else read_directory(root)
    forms = {"text": as_text, "json": as_json, "markdown": as_markdown}
    return forms[arguments.format](diff(old, new))


def _rst(dataset: Dataset, size: str, script_url: str | None) -> str:
    from rl_resources.site import rst

    if size:
        return rst.size_table(dataset, size, script_url)
    return rst.device_tuning(dataset, script_url)


def _json(dataset: Dataset, size: str, _: str | None) -> str:
    from rl_resources.site import api

    if size:
        return api.size_document(dataset, size).text
    return api.records_document(dataset).text


def _markdown(dataset: Dataset, size: str, script_url: str | None) -> str:
    from rl_resources.site import tuning_table

    sizes = [size] if size else tuning_table.sizes(dataset)
    return tuning_table.markdown(dataset, sizes, script_url)


def _with_own_title(
    arguments: Arguments, dataset: Dataset, script_url: str | None
) -> str:
    """The page under the title that it has where it is written; under ours where it has none."""
    from rl_resources.page import LARGEST_PAGE_BYTES
    from rl_resources.site import rst

    if arguments.kind != "rst" or arguments.size or not arguments.out:
        message = "--keep-title is for the whole page in rst that --out names"
        raise UnusableInput(message, "Write `export rst --keep-title --out FILE`.")
    page = Path(arguments.out)
    head = ""
    if page.is_file():
        text = read_text(page, LARGEST_PAGE_BYTES, "Name a page that is UTF-8 text.")
        head = rst.head_of(text)
    return rst.device_tuning(dataset, script_url, head)


KINDS = {"rst": _rst, "json": _json, "markdown": _markdown}
"""What `export` writes, by kind: of a dataset, one of its sizes or all, with the URL of scripts."""


@command()
def export(arguments: Arguments) -> str:
    """Write one rendering alone."""
    root = root_of_answers(arguments)
    script_url = arguments.script_url
    if script_url and not re.search(r"\{(path|script)\}", script_url):
        raise UnusableInput(
            "--script-url has neither {path} nor {script}: all scripts would have one URL",
            "Write it as in https://github.com/OWNER/REPOSITORY/blob/main/{path}.",
        )
    if not is_packaged(root):
        from rl_resources.check import check_root

        refuse_errors(check_root(root))
        script_url = script_url or read_repository(root).script_url()
    dataset = read_dataset(read_package(root))
    if arguments.size not in {"", *dataset.by_key["sizes"]}:
        known = ", ".join(map(str, dataset.by_key["sizes"]))
        raise UnusableInput(
            f"no size is called `{shown(arguments.size)}`", f"Known values are {known}."
        )
    text = KINDS[arguments.kind](dataset, arguments.size, script_url)
    if arguments.keep_title:
        text = _with_own_title(arguments, dataset, script_url)
    if not arguments.out:
        return text
    write_file(Path(arguments.out), text)
    return ""


@command()
def build(arguments: Arguments) -> str:
    """Build everything that is published."""
    from rl_resources.build import build

    root = root_of(arguments)
    out = Path(arguments.out) if arguments.out else root / "build"
    return f"{build(root, out)}\n"


@command()
def compat(arguments: Arguments) -> str:
    """Compose every script's configuration with every release."""
    from rl_resources.query.compatibility import compat

    root = root_of(arguments)
    files = compat(
        root, arguments.framework_version, lambda text: print(text, file=sys.stderr)
    )
    for path, text in files.items():
        write_file(root / path, text)
    return "".join(f"{path}\n" for path in files)
