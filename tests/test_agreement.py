"""Rules that hold a row to its script, and the run that both describe to the framework."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cases import findings_in, read_cases
from rl_resources.check import all_rules
from rl_resources.errors import Finding
from rl_resources.facts.pairs import Pair, Said, Trial
from rl_resources.script.algorithm import ESTIMATORS
from rl_resources.script.backends import ENGINES, Engine
from rl_resources.script.bash import read
from rl_resources.script.framework.composition import Source
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules.tags import trials_in_comments
from website import ROOT

PATH = "examples/tuning/7b/a.sh"
TABLES = read_cases("agreement")
SETTINGS = TABLES["sound"]["settings"]
ROW = TABLES["sound"]["row"]
CASES = TABLES["case"]
START = "python3 -m verl.trainer.main_ppo"


def script_of(settings: dict[str, str], before: str = "", start: str = START) -> str:
    """A script with one setting on each line, the first of them on the line after `before`."""
    lines = [
        start,
        *(f"{key}={value}" for key, value in settings.items() if value != "-"),
    ]
    return before + " \\\n    ".join(lines) + "\n"


@cache
def script_text(text: str) -> ScriptText:
    return ScriptText(PATH, text)


def findings(
    rule: str,
    row: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
    *,
    before: str = "",
    start: str = START,
    trials: Sequence[tuple[int, bool]] = (),
    text: str | None = None,
    memory_gb: float = 80,
    named: dict[str, bool] | None = None,
    facts: dict[str, Any] | None = None,
    release: str = "",
) -> list[Finding]:
    """What one rule finds in the sound pair with these changes; `-` leaves a setting out."""
    cells = ROW | (row or {})
    said = {}
    for column, (name, cell) in enumerate(cells.items(), 1):
        if cell:
            said[name] = Said(cell, 2, column)
    if text is None:
        text = script_of(SETTINGS | (settings or {}), before, start)
    script = script_text(text)
    if release:
        script = replace(script, tree=_older(release))
    model = cells["model"]
    of_model = {}
    if model:
        of_model = {"model": model, **TABLES["sound"]["facts"], **(facts or {})}
    names = (model, model.rpartition("/")[2].lower())
    pair = Pair(
        "records/tuning.csv",
        "a.sh",
        said,
        script,
        tuple(Trial(*trial) for trial in trials),
        names,
        of_model,
        named or {},
        device_memory_gb=memory_gb,
    )
    return findings_in(pair, all_rules()[rule])


def _older(release: str) -> Source:
    """The newest release as if it were an older one."""
    newest = shipped("verl")
    choices = {
        name: replace(one, version=release) for name, one in newest.choices.items()
    }
    return replace(newest, version=release, choices=choices)


FAMILIES = {"agreement", "running", "data"}
RULES = [name for name, rule in all_rules().items() if rule.family in FAMILIES]


@pytest.mark.parametrize(
    "text",
    [
        script_of(SETTINGS),  # as the row has it
        "",
        "echo done\n",
        f'{START} "$@"\n'.replace("main_ppo", "main_generation_server"),
        f"{START} data.train_batch_size=$BATCH trainer.nnodes=$N $MORE\n",
        script_of(SETTINGS) + script_of(SETTINGS | {"trainer.nnodes": "7"}),
        f"{START} \\\n    a.b=1\necho\n    trainer.nnodes=1\n",  # cut off: no default shows
    ],
)
def test_nothing_is_found_where_all_agrees_or_nothing_is_known(text):
    for rule in RULES:
        assert findings(rule, text=text) == []


def test_every_algorithm_that_is_held_to_an_estimator_is_a_task():
    tasks = (ROOT / "records/tasks.csv").read_text().upper().splitlines()
    assert set(ESTIMATORS) <= {line.partition(",")[0] for line in tasks}


def test_a_comment_of_a_number_and_a_long_space_is_read_in_the_end():
    assert trials_in_comments(read(f"# batch 64{' ' * 300_000}?\n")) == ()


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case['rule']} {case['why']}" for case in CASES]
)
def test_a_rule_finds_just_this_or_nothing(case):
    found = findings(
        **{name: case[name] for name in case.keys() - {"why", "found", "help"}}
    )
    message = case.get("found", "").replace("VERSION", shipped("verl").version)
    if not message:
        assert found == []
        return
    (item,) = found
    place = f"{item.path}:{item.line}:{item.column}"
    assert f"{place}: {item.severity}: {item.message}" == message
    assert item.help == case["help"]


def test_every_rule_has_a_case():
    assert {case["rule"] for case in CASES if "found" in case} == set(RULES)


def test_an_engine_with_keys_of_its_own_has_a_case_that_sets_them():
    settings = {key for case in CASES for key in case.get("settings", {})}
    usual = set(Engine())
    for name, engine in ENGINES.items():
        own = {item for item in engine if isinstance(item, str) and item} - usual
        assert own <= settings, (
            f"no case of tests/agreement.toml sets what {name} calls its own"
        )
