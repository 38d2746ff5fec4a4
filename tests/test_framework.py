"""What a framework's own configuration accepts: a small framework, and the real one."""

import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cases import each, read_cases
from conftest import refused, release_of_verl
from rl_resources.query.compatibility import accepted_by, compat, releases_of, row_of
from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    compose_launch,
    compose_module,
)
from rl_resources.script.framework.release_files import (
    Release,
    configuration,
    releases,
)
from rl_resources.script.framework.shipped import (
    DEFAULTS,
    HISTORY,
    Shipped,
    describe,
    history,
    read_shipped,
    shipped,
    support,
    write_history,
)
from rl_resources.script.framework.syntax import ParsedOverride, disagreement
from rl_resources.script.script_text import ScriptText
from shipped import DATASET
from website import ROOT

SCRIPTS = sorted(ROOT.glob("examples/tuning/**/*.sh"))
MODULE = "verl.trainer.main_ppo"
CONFIG = "verl/trainer/config"
CASES = read_cases("framework")
FILES = CASES["files"]
SEED = ParsedOverride("", "data.seed", "1")


def wheel(folder: Path, version: str = "9.0", **changes: str) -> Path:
    """A wheel of a small framework; `changes` name files with `__` for `/`."""
    info = f"verl-{version}.dist-info"
    files = dict(FILES)
    for path, text in changes.items():
        files[path.replace("__", "/")] = text
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n"
    )
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = ""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"verl-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


def cached(cache: Path, version: str = "9.0", **changes: str) -> None:
    """Put a release of the small framework into the cache."""
    file = wheel(cache / "wheels", version, **changes)
    with zipfile.ZipFile(file) as archive:
        archive.extractall(cache / "releases" / "verl" / version)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that reaches nothing but the folder `index`."""
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    (tmp_path / "index").mkdir()
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def small(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Release, Shipped]]:
    """The small framework twice: from its files, and from its defaults file."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RL_RESOURCES_CACHE", str(folder))
        cached(folder)
        known = configuration("verl", "9.0")
        yield known, read_shipped(describe(known))


def override(key: str, value: str | None = None) -> ParsedOverride:
    """An override whose key may have a prefix."""
    bare = key.lstrip("+~")
    return ParsedOverride(key.removesuffix(bare), bare, value)


def both(
    small: tuple[Release, Shipped], *overrides: Sequence[str | None]
) -> Composition:
    """Compose from both sources, demand the same result, and return it."""
    given = [override(*words) for words in overrides]
    one, other = [compose_module(known, MODULE, None, None, given) for known in small]
    assert one.problem == other.problem
    assert one.values == other.values
    assert rejections(one) == rejections(other)
    return other


def rejections(composed: Composition) -> list[list[object]]:
    """Index, key and kind of every rejection."""
    return [[item.index, item.key, item.kind] for item in composed.rejected]


def kinds(composed: Composition) -> list[str]:
    return [rejection.kind for rejection in composed.rejected]


def listed(one: str | None) -> list[str]:
    """A list of what is there."""
    return [one] if one else []


@each(CASES["overrides"], "key value kind")
def test_an_override_is_accepted_or_rejected(small, key, value, kind):
    composed = both(small, (key, value))
    assert kinds(composed) == listed(kind)


@each(CASES["several"], "overrides rejected problem")
def test_of_several_overrides_each_is_judged(small, overrides, rejected, problem):
    composed = both(small, *overrides)
    assert rejections(composed) == rejected
    assert composed.problem == problem
    assert bool(composed.values) is not bool(problem)


@each(CASES["values"], "key value")
def test_a_value_is_the_scripts_or_the_frameworks_default(small, key, value):
    batch = ("data.train_batch_size", "64")
    name = ("trainer.name", "mine")
    unknown = ("data.seed", None)
    composed = both(small, batch, name, unknown)
    if value is None:
        assert composed.value(key) is UNKNOWN
    else:
        assert composed.value(key) == value


def with_reference(text: str) -> Composition:
    """A configuration with this value at `trainer.it`."""
    data = {
        "seed": 1,
        "weights": [0.5, 2],
        "steps": None,
        "broken": "${data.nothing}",
    }
    trainer = {
        "it": text,
        "name": "seed",
        "must": "???",
        "copy": "${data}",
    }
    return Composition("small", "1", {"data": data, "trainer": trainer})


@pytest.mark.parametrize("text", CASES["references"]["resolved"])
def test_a_reference_is_what_omegaconf_says(text):
    composed = with_reference(text)
    assert composed.value("trainer.it") == by_omegaconf(composed.config, "trainer.it")


@pytest.mark.parametrize("text", CASES["references"]["left_open"])
def test_a_reference_of_another_form_is_unknown(text):
    assert with_reference(text).value("trainer.it") is UNKNOWN


def by_omegaconf(config: object, key: str) -> Any:
    try:
        value = OmegaConf.select(OmegaConf.create(config), key)
        if not OmegaConf.is_config(value):
            return value
        return OmegaConf.to_container(value, resolve=True)
    except OmegaConfBaseException:
        return UNKNOWN


@each(CASES["types"], "key default value wrong")
def test_a_value_has_the_type_of_the_default(key, default, value, wrong):
    assert disagreement(key or "a", default, value) == wrong


@each(CASES["launches"], "module name path problem kind reason")
def test_a_launch_names_its_configuration(
    small, module, name, path, problem, kind, reason
):
    for known in small:
        composed = compose_module(known, module, name, path, [SEED])
        assert composed.problem == (problem or "")
        assert kinds(composed) == listed(kind)
        assert [rejection.reason for rejection in composed.rejected] == listed(reason)


def test_a_release_composes_what_is_not_shipped(small):
    release, known = small
    given = [ParsedOverride("", "x", "2")]
    own = compose_module(release, "verl.extra.main", None, None, given)
    assert own.value("x") == 2
    assert own.value("data.train_batch_size") == 1024
    other = compose_module(known, "verl.extra.main", None, None, given)
    assert other.problem == "the defaults of `own` are not shipped"
    chosen = compose_module(
        known, MODULE, None, None, [ParsedOverride("", "actor@actor", "x")]
    )
    assert chosen.problem == "the choices of `actor@actor` are not shipped"


def test_a_folder_named_as_a_package_is_found_without_importing_it(small):
    release, _ = small
    given = [ParsedOverride("", "y", "2")]
    composed = compose_module(release, "verl.extra.main", "packaged", None, given)
    (unknown,) = composed.rejected
    assert unknown.key == "y"


def test_a_release_has_no_configuration_of_another_name(small):
    release, _ = small
    composed = compose_module(release, MODULE, "nothing", None, [])
    assert kinds(composed) == ["no-configuration"]


KEYS = [
    "data",
    "data.seed",
    "data.kwargs",
    "data.weights",
    "data.kwargs.a",
    "trainer.name",
]
PREFIXED = [prefix + key for prefix in ("", "+", "++", "~") for key in KEYS]
VALUES = ["1", "true", "null", "[1]", "{a:1}", "{}", "x", None]
ANY_TEXT = st.text(alphabet="${}[]:.,'\"oc.sel a\\", max_size=9)
ANY_OVERRIDE = st.tuples(st.sampled_from(PREFIXED), st.sampled_from(VALUES) | ANY_TEXT)


@pytest.mark.nightly
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ANY_OVERRIDE, max_size=3))
def test_acceptance_is_what_hydra_says_to_all_overrides_at_once(small, overrides):
    composed = both(small, *overrides)
    for key in composed.values:
        composed.value(key)
    if composed.problem or "type" in kinds(composed):
        return
    if not all(is_compared(key, value) for key, value in overrides):
        return
    release, _ = small
    words = [word(key, value) for key, value in overrides]
    assert hydra_accepts(release, words) is not bool(composed.rejected)


def is_compared(key: str, value: str | None) -> bool:
    """Whether Hydra can be asked; the keys of a section in a value are not compared."""
    if value is None:
        return key.startswith("~")
    return "{" not in value


def word(key: str, value: str | None) -> str:
    """An override as a word of the command line."""
    if value is None:
        return key
    return f"{key}={value}"


def hydra_accepts(release: Release, words: list[str]) -> bool:
    with initialize_config_dir(str(release.folder / CONFIG), version_base=None):
        try:
            compose("ppo_trainer", words)
        except (HydraException, OmegaConfBaseException):
            return False
    return True


# Fetching


@pytest.mark.nightly
def test_a_release_is_fetched_once_and_never_run(cache, tmp_path):
    for version in ("0.9.1", "0.10.0", "0.3.0.post1", "1.0rc1"):
        wheel(tmp_path / "index", version)
    assert releases("verl") == ["0.3.0.post1", "0.9.1", "0.10.0"]
    configuration("verl", "0.9.1")
    shutil.rmtree(tmp_path / "index")
    again = configuration("verl", "0.9.1")
    composed = compose_module(again, MODULE, None, None, [])
    assert not composed.problem
    assert not composed.rejected
    message = "pip cannot get it: No matching distribution found for verl==9.0"
    fix = "Check the network and pip's settings, or name fetched releases with --framework-version."
    with refused(message, fix):
        configuration("verl", "9.0")


@pytest.mark.parametrize("version", ["../../x", "--pre", "", "9.0/..", "main"])
def test_a_version_is_not_a_path_and_not_an_option(cache, version):
    with refused(f"{version!r} is not a version", "Write it like 0.9.1."):
        configuration("verl", version)


def test_a_pip_that_lists_nothing_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "true")
    fix = "Name them with --framework-version, or update pip."
    with refused("pip did not list the releases of verl", fix):
        releases("verl")


def test_a_wheel_without_configuration_is_reported(cache):
    modules = [name for name in FILES if name.endswith(".py")]
    cached(cache, **dict.fromkeys(modules, ""))
    folder = cache / "releases/verl/9.0"
    fix = f"If it was not fetched as a whole, delete {folder}."
    with refused("verl 9.0 has no configuration that Hydra can read", fix):
        configuration("verl", "9.0")


@pytest.mark.parametrize("text", ["a: [1\n", "defaults: [nothing]\n"])
def test_a_release_that_does_not_compose_is_a_problem_not_a_crash(cache, text):
    cached(cache, **{f"{CONFIG}/ppo_trainer.yaml": text})
    release = configuration("verl", "9.0")
    composed = compose_module(release, MODULE, None, None, [SEED])
    assert composed.problem.startswith("`ppo_trainer` fails: ")


# The table


@each(CASES["rows"], "arguments accepted rejected problem reason")
def test_a_row_says_only_what_is_known(
    small, arguments, accepted, rejected, problem, reason
):
    release, _ = small
    script = ScriptText("a.sh", f"#!/bin/bash\npython3 -m {MODULE} {arguments}\n")
    composed = compose_launch(release, script.launches[0])
    assert composed.problem == (problem or "")
    if reason:
        assert [rejection.reason for rejection in composed.rejected] == [reason]
    found = row_of(script, release)
    assert found["accepted"] == accepted
    assert found["rejected"] == (rejected and tuple(rejected))


@pytest.fixture
def root(tmp_path: Path, cache: Path) -> Path:
    """A copy of the dataset without its table, and releases 8.0 and 9.0 in the cache."""
    root = tmp_path / "root"
    for name in ("records", "schema", "examples"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "datapackage.json", root)
    (root / HISTORY).mkdir(parents=True)
    header, *_ = lines_of(root / COMPATIBILITY)
    (root / COMPATIBILITY).write_text(header)
    for version in ("8.0", "9.0"):
        cached(cache, version)
        shutil.copytree(cache / "wheels", tmp_path / "index", dirs_exist_ok=True)
    return root


COMPATIBILITY = "records/compatibility.csv"
TUNING = "records/tuning.csv"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def rows_in(table: str) -> int:
    """The rows of a CSV file without its header."""
    return table.count("\n") - 1


@pytest.mark.nightly
def test_every_script_is_composed_with_every_release(root):
    progress = []
    files = compat(root, progress=progress.append)
    composed = [line.partition(":")[0] for line in progress]
    assert composed == ["verl 8.0", "verl 9.0"]
    assert rows_in(files[COMPATIBILITY]) == 2 * len(SCRIPTS)
    written = json.loads(files[f"{HISTORY}/verl.json"])
    assert written["releases"] == ["8.0", "9.0"]
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8", newline="\n")
    again = compat(root, ["8.0"])
    assert again[COMPATIBILITY] == files[COMPATIBILITY]
    assert f"{HISTORY}/verl.json" not in again
    *others, _ = lines_of(root / TUNING)
    (root / TUNING).write_text("".join(others))
    fewer = compat(root, ["9.0"])
    assert (
        rows_in(fewer[COMPATIBILITY]) == 2 * len(SCRIPTS) - 2
    )  # each release lacks its script


@each(CASES["accepting"], "script oldest middle newest words")
def test_the_accepting_releases_in_words(script, oldest, middle, newest, words):
    accepted = {"0.4.1": oldest, "0.6.0": middle, "0.10.0": newest}
    rows = []
    for version, taken in accepted.items():
        row = {"framework": "verl", "framework_version": version, "accepted": taken}
        rows.append({"script": script, **row})
    assert accepted_by(rows) == words


# What is committed


def test_the_table_has_every_release_and_the_newest_accepts_every_script():
    found = {}
    for row in DATASET.records["compatibility"]:
        found.setdefault(row["script"], set()).add(row["framework_version"])
        assert row["accepted"] or row["framework_version"] != shipped("verl").version
    every = set(history("verl").releases)
    for script, versions in found.items():
        assert versions == every, script


@pytest.mark.parametrize("path", SCRIPTS)
def test_each_script_names_data_that_every_release_that_accepts_it_scores(path):
    script = ScriptText(path.name, path.read_text())
    known = support("verl")
    accepting = accepted_by(releases_of(DATASET, path.name))
    oldest = re.search(r"\d[\w.]*", accepting)
    lines = script.labeled("Data")
    assert lines and oldest
    for line in lines:
        for preparation in re.findall(r"verl's (\S+)", line.text):
            assert known.preparation(preparation).is_in(oldest[0])
    if script.labeled("Reward"):
        return
    for line in lines:
        assert line.data_sources
        for name in line.data_sources:
            assert known.scores(name, oldest[0])


def test_what_verl_supports_is_known_by_releases_that_there_are():
    known = support("verl")
    there = set(history("verl").releases)
    rows = (*known.rewards, *known.preparations, *known.architectures)
    assert {row.since for row in rows} <= there
    assert {row.last for row in known.preparations} - {""} <= there
    scripts = [row.script for row in known.preparations]
    assert len(scripts) == len(set(scripts))
    assert all(row.source for row in rows)


@pytest.mark.nightly
def test_what_is_committed_is_what_compat_writes():
    known = [release_of_verl(version) for version in history("verl").releases]
    *_, newest = known
    assert (ROOT / DEFAULTS / "verl.json").read_text() == describe(newest)
    assert (ROOT / HISTORY / "verl.json").read_text() == write_history(known)
    rows = {}
    for row in DATASET.records["compatibility"]:
        rows[row["script"], row["framework_version"]] = row
    for path in SCRIPTS:
        _, name = path.relative_to(ROOT / "examples/tuning").as_posix().split("/", 1)
        script = ScriptText(name, path.read_text())
        assert len(script.launches) == 1
        for release in known:
            expected = row_of(script, release)
            assert rows.get((name, release.version), expected) == expected
