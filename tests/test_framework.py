"""What a framework's own configuration accepts: a small framework, and the real one."""

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import rl_resources
from cases import each, read_cases
from conftest import release_of_verl
from rl_resources import UnusableInput
from rl_resources.compat import compat, row_of
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    compose_module,
    disagreement,
)
from rl_resources.script.framework.releases import Release, configuration, releases, unpack
from rl_resources.script.framework.shipped import (
    DEFAULTS,
    HISTORY,
    Shipped,
    describe,
    history,
    read_shipped,
    shipped,
    write_history,
)
from rl_resources.script.framework.support import support
from rl_resources.script.framework.syntax import Override
from rl_resources.script.script_text import ScriptText

ROOT = Path(__file__).parents[1]
SHIPPED = rl_resources.load(ROOT)
SCRIPTS = sorted(ROOT.glob("examples/tuning/*/*.sh"))
MODULE = "verl.trainer.main_ppo"
CONFIG = "verl/trainer/config"
CASES = read_cases("framework")
FILES = CASES["files"]


def wheel(folder: Path, version: str = "9.0", **changes: str) -> Path:
    """A wheel of a small framework; `changes` name files with `__` for `/`."""
    info = f"verl-{version}.dist-info"
    files = FILES | {path.replace("__", "/"): text for path, text in changes.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"verl-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def cached(cache: Path, version: str = "9.0", **changes: str) -> None:
    """Put a release of the small framework into the cache."""
    with zipfile.ZipFile(wheel(cache / "wheels", version, **changes)) as archive:
        unpack(archive, cache / "frameworks" / "verl" / version)


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
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Release, Shipped]]:
    """The small framework twice: from its files, and from its defaults file."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RL_RESOURCES_CACHE", str(folder))
        cached(folder)
        known = configuration("verl", "9.0")
        yield known, read_shipped(describe(known))


def override(key: str, value: str | None) -> Override:
    """An override whose key may have a prefix."""
    bare = key.lstrip("+~")
    return Override(key.removesuffix(bare), bare, value)


def both(small: tuple[Release, Shipped], *overrides: tuple[str, str | None]) -> Composition:
    """Compose from both sources, demand the same result, and return it."""
    given = [override(*item) for item in overrides]
    one, other = (compose_module(known, MODULE, None, None, given) for known in small)
    assert one.problem == other.problem
    assert one.values == other.values
    assert [(item.index, item.key, item.kind) for item in one.rejected] == [
        (item.index, item.key, item.kind) for item in other.rejected
    ]
    return other


@each(CASES["overrides"], "key value kind")
def test_an_override_is_accepted_or_rejected(small, key, value, kind):
    found = [item.kind for item in both(small, (key, value)).rejected]
    assert found == ([kind] if kind else [])


def test_deep_nesting_is_no_syntax(small):
    (rejection,) = both(small, ("data.weights", "[" * 200)).rejected
    assert rejection.kind == "syntax"


def test_every_rejected_override_is_reported_also_of_a_deleted_section(small):
    composed = both(small, ("data.a", "1"), ("~data", None), ("data.seed", "1"), ("data", "null"))
    assert [(item.index, item.key) for item in composed.rejected] == [
        (0, "data.a"),
        (2, "data.seed"),
        (3, "data"),
    ]
    assert composed.rejected[0].kind == "unknown-key"


def test_a_section_keeps_the_keys_that_its_override_leaves_out(small):
    engine = ("model_engine", "megatron")
    for section in ("{megatron:{offload:true}}", None):
        assert not both(small, engine, ("actor", section), ("actor.megatron.size", "2")).rejected


def test_an_unknown_choice_of_a_group_leaves_everything_open(small):
    composed = both(small, ("model_engine", None), ("actor.megatron.size", "1"))
    assert composed.values == {}
    assert (
        composed.problem == "the choice of `model_engine` is not known without running the script"
    )


@each(CASES["values"], "key value")
def test_a_value_is_the_scripts_or_the_frameworks_default(small, key, value):
    composed = both(
        small, ("data.train_batch_size", "64"), ("trainer.name", "mine"), ("data.seed", None)
    )
    assert composed.value(key) == (UNKNOWN if value is None else value)


def test_a_key_that_nobody_has_has_no_value(small):
    assert both(small).value("data.nothing") is UNKNOWN


REFERENCES, LEFT_OPEN = CASES["references"]["resolved"], CASES["references"]["left_open"]


@pytest.mark.parametrize("text", [*REFERENCES, *LEFT_OPEN])
def test_a_reference_is_what_omegaconf_says_or_unknown(text):
    data = {"seed": 1, "weights": [0.5, 2], "steps": None, "broken": "${data.nothing}"}
    trainer = {"it": text, "name": "seed", "must": "???", "copy": "${data}"}
    composed = Composition("small", "1", {"data": data, "trainer": trainer})
    theirs = by_omegaconf(composed.config, "trainer.it")
    ours = composed.value("trainer.it")
    assert ours in (theirs, UNKNOWN)
    assert (ours is UNKNOWN) is (theirs is UNKNOWN or text in LEFT_OPEN)


def by_omegaconf(config: object, key: str) -> Any:
    try:
        value = OmegaConf.select(OmegaConf.create(config), key)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException:
        return UNKNOWN


@each(CASES["types"], "key default value agrees")
def test_a_value_has_the_type_of_the_default(key, default, value, agrees):
    assert (disagreement(key or "a", default, value) is None) is agrees


@each(CASES["launches"], "module name path problem kind")
def test_a_launch_names_its_configuration(small, module, name, path, problem, kind):
    for known in small:
        composed = compose_module(known, module, name, path, [Override("", "data.seed", "1")])
        assert (problem or "") in composed.problem
        assert bool(composed.problem) is bool(problem)
        assert [item.kind for item in composed.rejected] == ([kind] if kind else [])


def test_a_release_composes_what_is_not_shipped(small):
    own, other = (
        compose_module(known, "verl.extra.main", None, None, [Override("", "x", "2")])
        for known in small
    )
    assert (own.value("x"), own.value("data.train_batch_size")) == (2, 1024)
    assert other.problem == "the defaults of `own` are not shipped"
    (unknown,) = compose_module(
        small[0], "verl.extra.main", "packaged", None, [Override("", "y", "2")]
    ).rejected
    assert unknown.key == "y"  # a folder named as a package is found without importing it
    (rejection,) = compose_module(small[0], MODULE, "nothing", None, []).rejected
    assert rejection.kind == "no-configuration"


KEYS = ["data", "data.seed", "data.kwargs", "data.weights", "data.kwargs.a", "trainer.name"]
ANY_KEY = st.sampled_from(KEYS).flatmap(
    lambda key: st.sampled_from([key, f"+{key}", f"++{key}", f"~{key}"])
)
ANY_VALUE = st.sampled_from(["1", "true", "null", "[1]", "{a:1}", "{}", "x", None]) | st.text(
    alphabet="${}[]:.,'\"oc.sel a\\", max_size=9
)


@pytest.mark.nightly
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(ANY_KEY, ANY_VALUE), max_size=3))
def test_acceptance_is_what_hydra_says_to_all_overrides_at_once(small, overrides):
    composed = both(small, *overrides)
    for key in composed.values:
        composed.value(key)
    if composed.problem or any(item.kind == "type" for item in composed.rejected):
        return
    words = [key if value is None else f"{key}={value}" for key, value in overrides]
    if any(value is None and not key.startswith("~") for key, value in overrides):
        return
    if any(value and "{" in value for _, value in overrides):  # its keys are not compared
        return
    with initialize_config_dir(str(small[0].folder / CONFIG), version_base=None):
        try:
            compose("ppo_trainer", words)
            accepted = True
        except (HydraException, OmegaConfBaseException):
            accepted = False
    assert (not composed.rejected) is accepted


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
    kept = {str(path.relative_to(again.folder)) for path in again.folder.rglob("*.*")}
    assert kept == {"entries.json", *(name for name in FILES if "/config/" in name)}
    with pytest.raises(UnusableInput, match="pip cannot get it") as caught:
        configuration("verl", "9.0")
    assert "--framework-version" in caught.value.help


@pytest.mark.parametrize("version", ["../../x", "--pre", "", "9.0/..", "main"])
def test_a_version_is_not_a_path_and_not_an_option(cache, version):
    with pytest.raises(UnusableInput, match="is not a version"):
        configuration("verl", version)


def test_a_wheel_without_configuration_is_reported(cache):
    with pytest.raises(UnusableInput, match="holds no configuration"):
        cached(cache, **{name: "" for name in FILES if name.endswith(".py")})


@pytest.mark.parametrize("text", ["a: [1\n", "defaults: [nothing]\n"])
def test_a_release_that_does_not_compose_is_a_problem_not_a_crash(cache, text):
    cached(cache, **{f"{CONFIG}/ppo_trainer.yaml": text})
    release = configuration("verl", "9.0")
    composed = compose_module(release, MODULE, None, None, [Override("", "data.seed", "1")])
    assert composed.problem.startswith("`ppo_trainer` fails: ")


# The table


@each(CASES["rows"], "arguments accepted rejected")
def test_a_row_says_only_what_is_known(small, arguments, accepted, rejected):
    text = f"#!/bin/bash\npython3 -m {MODULE} {arguments}\n"
    found = row_of(ScriptText("a.sh", text), small[0])
    assert (found["accepted"], found["rejected"]) == (accepted, rejected and tuple(rejected))


@pytest.fixture
def root(tmp_path: Path, cache: Path) -> Path:
    """A copy of the dataset without its table, and releases 8.0 and 9.0 in the cache."""
    for name in ("records", "schema", "examples"):
        shutil.copytree(ROOT / name, tmp_path / "root" / name)
    shutil.copy(ROOT / "datapackage.json", tmp_path / "root")
    (tmp_path / "root" / HISTORY).mkdir(parents=True)
    table = tmp_path / "root" / "records" / "compatibility.csv"
    table.write_text(table.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    for version in ("8.0", "9.0"):
        cached(cache, version)
        shutil.copytree(cache / "wheels", tmp_path / "index", dirs_exist_ok=True)
    return tmp_path / "root"


COMPATIBILITY = "records/compatibility.csv"


@pytest.mark.nightly
def test_every_script_is_composed_with_every_release(root):
    progress: list[str] = []
    files = compat(root, progress=progress.append)
    assert [line.partition(":")[0] for line in progress] == ["verl 8.0", "verl 9.0"]
    assert files[COMPATIBILITY].count("\n") == 1 + 2 * len(SCRIPTS)
    assert json.loads(files[f"{HISTORY}/verl.json"])["releases"] == ["8.0", "9.0"]
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8", newline="\n")
    again = compat(root, ["8.0"])
    assert again[COMPATIBILITY] == files[COMPATIBILITY]
    assert f"{HISTORY}/verl.json" not in again
    (root / "records" / "tuning.csv").write_text(
        "".join((root / "records" / "tuning.csv").read_text("utf-8").splitlines(True)[:-1]), "utf-8"
    )
    assert compat(root, ["9.0"])[COMPATIBILITY].count("\n") == 2 * len(SCRIPTS) - 1


@pytest.mark.parametrize(
    ("accepted", "words"),
    [
        ({"0.8": False, "0.9.0": True, "0.10.0": True}, "verl ≥ 0.9.0"),
        ({"0.8": True, "0.9.0": True, "0.10.0": False}, "verl 0.8 to 0.9.0"),
        ({"0.8": True, "0.9.0": False, "0.10.0": True}, "verl 0.8, 0.10.0"),
        ({"0.8": False, "0.10.0": None}, ""),
    ],
)
def test_the_accepting_releases_in_words(accepted, words):
    rows: list[dict[str, Any]] = [
        {"framework": "verl", "framework_version": version, "accepted": taken}
        for version, taken in accepted.items()
    ]
    assert accepted_by(rows) == words


@pytest.mark.parametrize(
    ("model", "train", "words"),
    [
        ("qwen3-vl-8b-instruct", "fsdp2", "verl ≥ 0.6.0"),
        ("moonlight-16b-a3b-instruct", "veomni", "verl 0.8.0"),
        ("deepseek-v3.2", "megatron", "verl ≥ 0.4.1"),  # another architecture than V3
        ("qwen3-8b", "fsdp", "verl ≥ 0.4.1"),
    ],
)
def test_a_release_that_does_not_know_the_model_accepts_no_script(model, train, words):
    rows: list[dict[str, Any]] = [
        {
            "script": f"{model}_grpo_8_h100_{train}_vllm.sh",
            "framework": "verl",
            "framework_version": version,
            "accepted": True,
        }
        for version in ("0.4.1", "0.6.0", "0.8.0")
    ]
    assert accepted_by(rows) == words


# What is committed


def test_the_table_has_every_release_and_the_newest_accepts_every_script():
    found: dict[object, set[object]] = {}
    for row in rl_resources.load(ROOT).records["compatibility"]:
        found.setdefault(row["script"], set()).add(row["framework_version"])
        assert row["accepted"] or row["framework_version"] != shipped("verl").version
    assert all(versions == {*history("verl").releases} for versions in found.values())


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.name for path in SCRIPTS])
def test_each_script_names_data_that_every_release_that_accepts_it_scores(path):
    script, known = ScriptText(path.name, path.read_text(encoding="utf-8")), support("verl")
    lines, reward = script.labeled("Data"), script.labeled("Reward")
    assert lines
    assert reward or all(line.data_sources for line in lines)
    first = re.split(r"[ ,]+", accepted_by(releases_of(SHIPPED, path.name)).replace("≥ ", ""))[1]
    for line in lines:
        for name in () if reward else line.data_sources:
            assert known.scores(name, first)
        for preparation in re.findall(r"verl's (\S+)", line.text):
            assert known.script(preparation).is_in(first)


def test_what_verl_supports_is_known_by_releases_that_there_are():
    known, there = support("verl"), history("verl").releases
    rows = (*known.rewards, *known.preparations, *known.architectures)
    assert {row.since for row in rows} <= {*there}
    assert {row.last for row in known.preparations} - {""} <= {*there}
    scripts = [row.script for row in known.preparations]
    assert len(scripts) == len(set(scripts))
    assert all(row.source for row in rows)


@pytest.mark.nightly
def test_what_is_committed_is_what_compat_writes():
    known = [release_of_verl(version) for version in history("verl").releases]
    assert (ROOT / DEFAULTS / "verl.json").read_text("utf-8") == describe(known[-1])
    assert (ROOT / HISTORY / "verl.json").read_text("utf-8") == write_history(known)
    rows = {
        (row["script"], row["framework_version"]): row
        for row in rl_resources.load(ROOT).records["compatibility"]
    }
    for path in SCRIPTS:
        script = ScriptText(path.name, path.read_text(encoding="utf-8"))
        assert len(script.launches) == 1
        for release in known:
            row = rows.get((path.name, release.version))
            assert row is None or row == row_of(script, release)
