"""What a framework's own configuration takes, checked on a small framework and on the real one."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import rl_resources
from conftest import release_of_verl
from rl_resources import UnusableInput, tabular
from rl_resources.compat import Script, compat, row_of
from rl_resources.dataset import read_dataset
from rl_resources.order import in_order
from rl_resources.package import read_package
from rl_resources.query.compatibility import accepted_by
from rl_resources.script import shell
from rl_resources.script.framework import (
    UNKNOWN,
    Composition,
    Shipped,
    compose_launch,
    shipped,
)
from rl_resources.script.framework.agreement import disagreement
from rl_resources.script.framework.compose import Configuration
from rl_resources.script.framework.describe import describe
from rl_resources.script.framework.grammar import SweepError, is_function, read_value
from rl_resources.script.framework.history import HISTORY, history, write_history
from rl_resources.script.framework.releases import (
    cached_releases,
    configuration,
    releases,
)
from rl_resources.script.framework.shipped import DEFAULTS, read_shipped
from rl_resources.script.launch import Launch, launches

ROOT = Path(__file__).parents[1]
MODULE = "verl.trainer.main_ppo"

PROGRAM = """
from pathlib import Path
Path("{trace}").write_text("executed")
import hydra
@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)
def main(config):
    pass
"""

FILES = {
    "verl/trainer/config/ppo_trainer.yaml": """
defaults:
  - model_engine: dp
  - actor@actor: ${model_engine}_actor
  - _self_
data:
  train_batch_size: 1024
  seed: null
  shuffle: true
  files: ~/data/train.parquet
  weights: [0.5, 0.5]
  kwargs: {}
trainer:
  logger: [console, wandb]
  name: run
  dir: checkpoints/${trainer.name}
  steps: ${oc.select:data.steps,7}
  coefficient: 0
rollout:
  name: ???
  n: ${oc.select:.unset,null}
  batch: ${data.train_batch_size}
  half: ${.batch}
  home: ${oc.env:HOME}
""",
    "verl/trainer/config/ppo_megatron_trainer.yaml": """
defaults:
  - ppo_trainer
  - override model_engine: megatron
  - _self_
""",
    "verl/trainer/config/model_engine/dp.yaml": "# @package _global_\nmodel_engine: dp\n",
    "verl/trainer/config/model_engine/megatron.yaml": "# @package _global_\n"
    "model_engine: megatron\n",
    "verl/trainer/config/actor/dp_actor.yaml": "strategy: fsdp\nfsdp: {offload: false}\nlr: 1e-6\n",
    "verl/trainer/config/actor/megatron_actor.yaml": "strategy: megatron\n"
    "megatron: {offload: false, size: 1}\n",
    "verl/other/not_a_configuration.yaml": "a: 1\n",
}


def wheel(folder: Path, version: str = "9.0", **changes: str | None) -> Path:
    """A wheel of a framework that would leave a trace if any of it were run."""
    trace = folder / "trace"
    files = {**FILES, "verl/__init__.py": f"open({str(trace)!r}, 'w')\n"}
    files["verl/trainer/main_ppo.py"] = PROGRAM.format(trace=trace)
    files |= {path.replace("__", "/"): text for path, text in changes.items() if text is not None}
    info = f"verl-{version}.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"verl-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that reaches nothing but the folder `index`."""
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    (tmp_path / "index").mkdir()
    return tmp_path / "cache" / "frameworks"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Configuration, Shipped]]:
    """The small framework twice: composed by Hydra, and from its defaults file."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RL_RESOURCES_CACHE", str(folder))
        wheel(folder / "frameworks")
        known = configuration("verl", "9.0")
        yield known, read_shipped(describe(known))


Asked = list[tuple[str, str | None]]


def both(small: tuple[Configuration, Shipped], *overrides: tuple[str, str | None]) -> Composition:
    """Compose with and without Hydra, demand the same result, and give it."""
    one, other = (known.compose(MODULE, None, None, overrides) for known in small)
    assert [(item.index, item.key, item.kind) for item in one.rejected] == [
        (item.index, item.key, item.kind) for item in other.rejected
    ]
    assert (dict(one.values), one.problem) == (dict(other.values), other.problem)
    return other


# Values: Hydra's grammar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1_000", 1000),
        ("007", "007"),
        (".5", 0.5),
        ("-1", -1),
        ("True", True),
        ("NULL", None),
        ("", ""),
        ("yes", "yes"),
        ("[console,wandb]", ["console", "wandb"]),
        ('["console", "wandb"]', ["console", "wandb"]),
        ("{a:1,b:[x]}", {"a": 1, "b": ["x"]}),
        ("'1e-6'", "1e-6"),
        (r"'it\'s'", "it's"),
        ("a b", "a b"),
        ("/data/x.parquet", "/data/x.parquet"),
        ("${a.b}/c", "${a.b}/c"),
        (r"a\,b", "a,b"),
    ],
)
def test_a_value_is_read_as_hydra_reads_it(text: str, value: object) -> None:
    assert read_value(text) == value
    assert OverridesParser.create().parse_override(f"k={text}").value() == value


@pytest.mark.parametrize("text", ["~/data", "a=b", "[a", "{a:1", "'a", "a]", "é", "a;b"])
def test_what_hydra_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not Hydra's syntax: .* at character \d+"):
        read_value(text)
    with pytest.raises(HydraException):
        OverridesParser.create().parse_override(f"k={text}")


def test_several_values_are_told_from_broken_syntax() -> None:
    with pytest.raises(SweepError):
        read_value("1,2")


def test_a_hostile_depth_is_refused_and_does_not_raise_otherwise() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_value("[" * 100_000)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab1.e-+_[]{},: '\"\\$/~()nul tr0", max_size=10))
def test_every_text_is_read_as_hydra_reads_it(text: str) -> None:
    try:
        override = OverridesParser.create().parse_override(f"k={text}")
    except HydraException:
        override = None
    if is_function(text):
        return
    try:
        value = read_value(text)
    except SweepError:
        assert override is None or override.is_sweep_override()
    except ValueError:
        assert override is None
    else:
        assert override is not None
        assert repr(override.value()) == repr(value)


# Overrides


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        (("data.train_batch_size", "64"), None),
        (("data.train_batch_size", None), None),
        (("data.batch", "64"), "unknown-key"),
        (("data.batch", None), "unknown-key"),
        (("data.train_batch_size.x", "64"), "unknown-key"),
        (("+data.batch", "64"), None),
        (("+data.train_batch_size", "64"), "existing-key"),
        (("++data.train_batch_size", "64"), None),
        (("+data.seed", "1"), None),
        (("~data.shuffle", None), None),
        (("~data.nothing", None), "unknown-key"),
        (("~data.train_batch_size", "5"), "unknown-key"),
        (("data.train_batch_size", "abc"), "type"),
        (("data.train_batch_size", "0.5"), "type"),
        (("data.train_batch_size", "True"), "type"),
        (("data.shuffle", "yes"), "type"),
        (("data.shuffle", "${trainer.name}"), "type"),
        (("data.shuffle", "${trainer.nothing}"), "reference"),
        (("data.seed", "anything"), None),
        (("data.files", "[a,b]"), None),
        (("data.weights", "0.5"), "type"),
        (("data", "5"), "type"),
        (("data.kwargs", "{a:1}"), "unknown-key"),
        (("+data.kwargs", "{a:1}"), None),
        (("data.weights.1", "0.7"), None),
        (("data.weights.1", None), None),
        (("trainer.logger", "console"), None),
        (("trainer.coefficient", "0.001"), None),
        (("actor.lr", "1"), None),
        (("rollout.name", "vllm"), None),
        (("rollout.batch", "abc"), "type"),
        (("data.train_batch_size", "1,2"), "sweep"),
        (("data.files", "~/x"), "syntax"),
        (("model_engine", "megatron"), None),
        (("model_engine", "nothing"), "group"),
        (("model_engine", "../../../outside"), "group"),
        (("hydra.run.dir", "out"), None),
    ],
)
def test_an_override_is_taken_or_refused(
    small: tuple[Configuration, Shipped], override: tuple[str, str | None], kind: str | None
) -> None:
    found = [item.kind for item in both(small, override).rejected]
    assert found == ([kind] if kind else [])


def test_an_unknown_choice_of_a_group_leaves_everything_open(
    small: tuple[Configuration, Shipped],
) -> None:
    composed = both(small, ("model_engine", None), ("actor.megatron.size", "1"))
    assert (composed.accepted, composed.values) == (None, {})
    assert composed.problem == (
        "the choice of `model_engine` cannot be known without running the script"
    )


def test_every_rejected_override_is_told_not_only_the_first(
    small: tuple[Configuration, Shipped],
) -> None:
    overrides = [("data.a", "1"), ("data.shuffle", "false"), ("data.train_batch_siz", "1")]
    composed = both(small, *overrides)
    assert [(item.index, item.key) for item in composed.rejected] == [
        (0, "data.a"),
        (2, "data.train_batch_siz"),
    ]
    assert composed.rejected[1].reason == (
        "verl 9.0 has no such key; the nearest is `data.train_batch_size`"
    )
    assert composed.value("data.shuffle") is False


KEYS = ["data", "data.seed", "data.kwargs", "data.weights", "data.kwargs.a", "trainer.name"]
REFERENCE = "${trainer.coefficient}"
VALUES = ["1", "true", "null", "[1]", "{a:1}", "{}", "x", REFERENCE, None]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.tuples(st.sampled_from(["", "+", "++", "~"]), st.sampled_from(KEYS)),
            st.sampled_from(VALUES),
        ),
        max_size=4,
    )
)
def test_any_overrides_give_the_same_with_and_without_hydra(
    small: tuple[Configuration, Shipped], drawn: list[tuple[tuple[str, str], str | None]]
) -> None:
    leaf = ("data.seed", "trainer.name")  # a group that is made a reference to a number is absurd
    assume(all(key in leaf or value != REFERENCE for (_, key), value in drawn))
    both(small, *[("".join(key), value) for key, value in drawn])


def test_acceptance_is_what_hydra_says_to_all_overrides_at_once(
    small: tuple[Configuration, Shipped],
) -> None:
    known = small[0]
    names: list[Asked] = [
        [("data.seed", "1"), ("+data.x", "2"), ("~trainer.name", None)],
        [("data.seed", "1"), ("data.x", "2")],
        [("+data.seed.a", "1"), ("+data.x.y", "2")],
        [("model_engine", "megatron"), ("actor.megatron.size", "2")],
        [("actor.megatron.size", "2")],
    ]
    for overrides in names:
        words = [f"{key}={value}" if value else key for key, value in overrides]
        with initialize_config_dir(str(known.folder / "verl/trainer/config"), version_base=None):
            try:
                compose("ppo_trainer", words)
                accepted = True
            except (HydraException, OmegaConfBaseException):
                accepted = False
        assert known.compose(MODULE, None, None, overrides).accepted is accepted


ANY_KEY = st.text(alphabet="~+@./$a1:=- é", max_size=8) | st.sampled_from([*KEYS, "model_engine"])
ANY_VALUE = st.none() | st.text(max_size=8) | st.text(alphabet="${}[]:.,'\"oc.sel a\\", max_size=9)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(ANY_KEY, ANY_VALUE), max_size=3))
def test_no_override_whatever_raises(
    small: tuple[Configuration, Shipped], overrides: Asked
) -> None:
    for known in small:
        composed = known.compose(MODULE, None, None, overrides)
        assert composed.accepted is not True or composed.values
        for key in composed.values:
            with suppress(KeyError):
                composed.value(key)


# What the run uses


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data.train_batch_size", 64),
        ("rollout.batch", 64),
        ("rollout.half", 64),
        ("rollout.n", None),
        ("rollout.name", None),
        ("rollout.home", UNKNOWN),
        ("trainer.dir", "checkpoints/mine"),
        ("trainer.steps", 7),
        ("data.seed", UNKNOWN),
        ("data.weights.0", 0.5),
        ("actor.fsdp", {"offload": False}),
        ("actor.lr", 1e-6),
    ],
)
def test_a_value_is_the_scripts_or_the_frameworks_default(
    small: tuple[Configuration, Shipped], key: str, value: object
) -> None:
    composed = both(
        small, ("data.train_batch_size", "64"), ("trainer.name", "mine"), ("data.seed", None)
    )
    assert composed.value(key) == value


def test_a_key_that_is_not_there_is_an_error(small: tuple[Configuration, Shipped]) -> None:
    with pytest.raises(KeyError):
        both(small).value("data.nothing")
    assert both(small).missing == ("rollout.name",)


def test_resolution_agrees_with_omegaconf(small: tuple[Configuration, Shipped]) -> None:
    composed = both(small, ("rollout.name", "vllm"), ("rollout.home", "x"))
    tree: dict[str, Any] = {}
    for key, value in composed.values.items():
        OmegaConf.update(OmegaConf.create(tree), key, value, force_add=True)
        node = tree
        *above, last = key.split(".")
        for name in above:
            node = node.setdefault(name, {})
        node[last] = value
    resolved = OmegaConf.to_container(OmegaConf.create(tree), resolve=True)
    assert isinstance(resolved, dict)
    assert resolved == {name: composed.value(name) for name in tree}


def test_circles_and_hostile_growth_end() -> None:
    doubling = {f"a{n}": f"${{a{n + 1}}}${{a{n + 1}}}" for n in range(60)}
    composed = Composition("verl", "1", {**doubling, "a60": "x", "b": "${c}", "c": "${b}"})
    assert composed.value("a0") is UNKNOWN
    assert composed.value("b") is UNKNOWN


def test_the_environment_is_not_looked_up(
    small: tuple[Configuration, Shipped], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "hidden")
    composed = both(small, ("trainer.name", "${oc.env:A_SECRET}"))
    assert composed.value("trainer.dir") is UNKNOWN
    assert "hidden" not in repr(composed)


@pytest.mark.parametrize(
    ("key", "default", "value", "agrees"),
    [
        ("a", 1024, 64, True),
        ("a", 1024, 0.5, False),
        ("a", 1024, "abc", False),
        ("a", 1024, None, True),
        ("a", 0, 0.001, True),
        ("a", 1, True, True),
        ("a", 30, True, False),
        ("a.timeout", 300, 0.5, True),
        ("a", 0.5, 1, True),
        ("a", 0.5, "1e-6", False),
        ("a", True, 0, True),
        ("a", True, 0.1, False),
        ("a", False, "off", False),
        ("trainer.resume_from_path", False, "/a/b", True),
        ("a", "x", 5, True),
        ("a", "x", True, False),
        ("a", "true", True, True),
        ("a", "x", ["y"], True),
        ("a", "x", {"y": 1}, False),
        ("a", ["x"], "y", True),
        ("a", [0.9, 0.99], 0.9, False),
        ("a", {"x": 1}, 5, False),
        ("a", None, "anything", True),
        ("a", "???", 5, True),
    ],
)
def test_a_value_is_held_against_the_type_of_the_default(
    key: str, default: object, value: object, agrees: bool
) -> None:
    assert (disagreement(key, default, value) is None) is agrees


# What a launch starts


def test_a_launch_names_its_configuration(small: tuple[Configuration, Shipped]) -> None:
    for known in small:
        for name, path in [
            ("ppo_megatron_trainer", None),
            ("ppo_megatron_trainer.yaml", "./config"),
            ("ppo_megatron_trainer", "../trainer/config"),
        ]:
            composed = known.compose(MODULE, name, path, [])
            assert composed.value("actor.megatron.size") == 1
        assert known.compose("verl/trainer/main_ppo.py", None, None, []).accepted


def test_a_launch_from_outside_the_package_is_not_judged(
    small: tuple[Configuration, Shipped],
) -> None:
    for known in small:
        for module, path in [
            ("recipe.dapo.main_dapo", None),
            (MODULE, "/etc"),
            (MODULE, "../../../etc"),
            (MODULE, "pkg://other.config"),
        ]:
            composed = known.compose(module, None, path, [("a", "1")])
            assert composed.accepted is None
            assert composed.problem
        for name in ("../../../../etc/ppo_trainer", "/etc/ppo_trainer"):
            assert known.compose(MODULE, name, None, []).problem.endswith(
                "outside the framework's package"
            )


def test_a_module_that_the_release_lacks_is_a_rejection(
    small: tuple[Configuration, Shipped],
) -> None:
    for known in small:
        (rejection,) = known.compose("verl.trainer.main_sft", None, None, []).rejected
        assert (rejection.index, rejection.kind) == (-1, "no-module")
    (rejection,) = small[0].compose(MODULE, "nothing", None, []).rejected
    assert rejection.kind == "no-configuration"


def test_a_configuration_finds_its_own_package_and_no_installed_one(cache: Path) -> None:
    search = "hydra:\n  searchpath:\n    - pkg://verl.trainer.config\n    - pkg://os\n"
    wheel(
        cache,
        verl__extra__config__own=None,
        **{
            "verl/extra/main.py": "import hydra\n"
            "@hydra.main('config', 'own')\ndef main(config): ...\n",
            "verl/extra/config/own.yaml": f"{search}defaults:\n  - ppo_trainer\n  - _self_\nx: 1\n",
        },
    )
    composed = configuration("verl", "9.0").compose("verl.extra.main", None, None, [("x", "2")])
    assert composed.problem == ""
    assert (composed.value("x"), composed.value("data.train_batch_size")) == (2, 1024)


# Fetching and unpacking


def test_releases_come_from_pip_in_the_order_of_versions(cache: Path, tmp_path: Path) -> None:
    for version in ("0.9.1", "0.10.0", "0.3.0.post1", "1.0rc1"):
        wheel(tmp_path / "index", version)
    assert releases("verl") == ["0.3.0.post1", "0.9.1", "0.10.0"]


def test_a_release_is_fetched_once_and_never_run(cache: Path, tmp_path: Path) -> None:
    wheel(tmp_path / "index")
    first = configuration("verl", "9.0")
    shutil.rmtree(tmp_path / "index")
    again = configuration("verl", "9.0")
    assert first.folder == again.folder
    assert again.compose(MODULE, None, None, []).accepted
    assert cached_releases("verl") == ["9.0"]
    kept = {str(path.relative_to(again.folder)) for path in again.folder.rglob("*.*")}
    assert kept == {"entries.json", *FILES} - {"verl/other/not_a_configuration.yaml"}
    assert not list(tmp_path.rglob("trace"))
    assert "verl" not in sys.modules


def test_without_network_the_message_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    wheel(cache, "8.0")
    configuration("verl", "8.0")
    for ask in (lambda: releases("verl"), lambda: configuration("verl", "9.0")):
        with pytest.raises(UnusableInput, match="the package registry does not answer") as caught:
            ask()
        assert "--framework-version (verl 8.0)" in caught.value.help
        assert str(cache) in caught.value.help
        assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("version", ["../../x", "--pre", "", "9.0/..", "main"])
def test_a_version_is_not_a_path_and_not_an_option(cache: Path, version: str) -> None:
    with pytest.raises(UnusableInput, match="is not a version"):
        configuration("verl", version)


def test_an_unknown_framework_names_the_known_ones(cache: Path) -> None:
    with pytest.raises(UnusableInput) as caught:
        configuration("trl", "1.0")
    assert "verl" in caught.value.help


@pytest.mark.parametrize("layout", ["", "src/"])
def test_a_source_archive_in_the_cache_is_read(cache: Path, layout: str) -> None:
    cache.mkdir(parents=True)
    files = {**FILES, "verl/trainer/main_ppo.py": PROGRAM}
    with tarfile.open(cache / "verl-9.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"verl-9.0/{layout}{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("verl-9.0/verl/trainer/config/link.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    known = configuration("verl", "9.0")
    assert known.compose(MODULE, None, None, [("data.seed", "1")]).accepted
    assert not list(known.folder.rglob("link.yaml"))


@pytest.mark.parametrize(
    "name", ["../outside.yaml", "/etc/outside.yaml", "verl/../../x.yaml", "c:\\x.yaml"]
)
def test_a_member_that_leads_out_is_refused_and_nothing_is_kept(cache: Path, name: str) -> None:
    wheel(cache, **{name: "a: 1"})
    with pytest.raises(UnusableInput, match="leads out of the archive"):
        configuration("verl", "9.0")
    assert cached_releases("verl") == []
    assert [path.name for path in cache.iterdir()] == ["verl-9.0-py3-none-any.whl"]


def test_a_member_that_is_too_large_is_refused(cache: Path) -> None:
    wheel(cache, **{"verl/trainer/config/large.yaml": "#" * (5 * 2**20)})
    with pytest.raises(UnusableInput, match="too large"):
        configuration("verl", "9.0")


@pytest.mark.parametrize("name", ["verl-9.0-py3-none-any.whl", "verl-9.0.tar.gz"])
def test_a_broken_archive_is_told(cache: Path, name: str) -> None:
    cache.mkdir(parents=True)
    (cache / name).write_bytes(b"PK not an archive")
    with pytest.raises(UnusableInput, match="cannot be read as an archive"):
        configuration("verl", "9.0")


def test_an_archive_without_configuration_is_told(cache: Path) -> None:
    wheel(cache, **{"verl/trainer/main_ppo.py": "def broken(:\n  hydra.main"})
    with pytest.raises(UnusableInput, match="holds no configuration"):
        configuration("verl", "9.0")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("verl/trainer/config/ppo_trainer.yaml", "a: [1\n"),
        ("verl/trainer/config/ppo_trainer.yaml", "- a\n"),
        ("verl/trainer/config/ppo_trainer.yaml", "defaults: [nothing]\n"),
        ("verl/trainer/config/actor/dp_actor.yaml", "a: b: c\n"),
    ],
)
def test_a_release_that_does_not_compose_is_a_problem_not_a_crash(
    cache: Path, path: str, text: str
) -> None:
    wheel(cache, **{path: text})
    composed = configuration("verl", "9.0").compose(MODULE, None, None, [("data.seed", "1")])
    assert composed.accepted is None
    assert composed.problem.startswith("`ppo_trainer` fails: ")


# The table


SCRIPTS = sorted(ROOT.glob("examples/tuning/*/*.sh"))


def launch_of(path: Path) -> Launch:
    (launch,) = launches(shell.read(path.read_text(encoding="utf-8")))
    return launch


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_shipped_script_is_composed_from_the_words_that_bash_hands_over(path: Path) -> None:
    stub = 'python3() { printf "%s\\0" "$@"; }\n' + path.read_text(encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/home/user"}
    done = subprocess.run(
        ["bash", "-c", stub], capture_output=True, text=True, check=True, env=environment
    )
    launch = launch_of(path)
    ran = done.stdout.split("\0")[2:-1]
    read = [f"{item.prefix}{item.key}={item.value}" for item in launch.overrides]
    for one, other, override in zip(ran, read, launch.overrides, strict=True):
        assert one == other or (override.value is None and one.split("=")[0] == override.key)


@pytest.mark.parametrize(
    ("arguments", "accepted", "rejected"),
    [
        ("data.seed=1", True, None),
        ("data.seed=$(date)", True, None),
        ("data.sed=$(date)", False, ("2 data.sed unknown-key",)),
        ("data.seed=1 stray", False, ("2 stray syntax",)),
        ('data.seed=1 "$UNKNOWN_WORD"', None, None),
        ("--config-name=$(hostname) data.seed=1", None, None),
        ("--config-dir=/etc data.seed=1", None, None),
        ("--config-name=nothing data.seed=1", False, ("2 nothing no-configuration",)),
        ("-m data.seed=1,2", True, None),
        ("hydra.run.dir=out", True, None),
    ],
)
def test_a_row_says_only_what_can_be_told(
    small: tuple[Configuration, Shipped],
    arguments: str,
    accepted: bool | None,
    rejected: tuple[str, ...] | None,
) -> None:
    text = f"#!/bin/bash\npython3 -m {MODULE} {arguments}\n"
    found = row_of(Script("a.sh", "verl", launches(shell.read(text))), "verl", "9.0", small[0])
    assert (found["accepted"], found["rejected"]) == (accepted, rejected)


BOTH = ("8.0", "9.0")


@pytest.fixture
def root(tmp_path: Path, cache: Path) -> Path:
    """A copy of the dataset, and releases 8.0 and 9.0 of the small framework."""
    for name in ("records", "schema", "examples"):
        shutil.copytree(ROOT / name, tmp_path / "root" / name)
    shutil.copy(ROOT / "datapackage.json", tmp_path / "root")
    (tmp_path / "root" / HISTORY).mkdir(parents=True)
    table = tmp_path / "root" / "records" / "compatibility.csv"
    table.write_text(table.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    for version in BOTH:
        wheel(cache, version)
    return tmp_path / "root"


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def test_every_script_is_composed_with_every_release(root: Path, cache: Path) -> None:
    for archive in cache.glob("*.whl"):
        shutil.copy(archive, root.parent / "index")
    told: list[str] = []
    found = compat(root, progress=told.append)
    write(root, dict(found.files))
    scripts = {row["script"] for row in read_dataset(read_package(root)).records["tuning"]}
    assert {(row["script"], row["framework_version"]) for row in found.rows} == {
        (script, version) for script in scripts for version in BOTH
    }
    assert found.rows == read_dataset(read_package(root)).records["compatibility"]
    assert told == [f"verl 8.0: {len(scripts)} scripts", f"verl 9.0: {len(scripts)} scripts"]
    past = found.files[f"{HISTORY}/verl.json"]
    assert json.loads(past)["releases"] == list(BOTH)
    assert compat(root, BOTH).files == {
        path: text for path, text in found.files.items() if text != past
    }
    assert not found.problems


def test_one_release_alone_keeps_the_rows_of_the_others(root: Path) -> None:
    write(root, dict(compat(root, ["8.0"]).files))
    both_files = compat(root, ["9.0"]).files
    write(root, dict(both_files))
    assert both_files == compat(root, BOTH).files


def test_rows_of_a_script_that_is_gone_go_too(root: Path) -> None:
    write(root, dict(compat(root, BOTH).files))
    table = root / "records" / "tuning.csv"
    header, gone, *kept = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join([header, *kept]), encoding="utf-8")
    rows = compat(root, ["9.0"]).rows
    assert rows
    assert gone.split(",")[0] not in {row["script"] for row in rows}


def test_a_rejected_override_is_told_with_its_line_and_kind(root: Path) -> None:
    row = compat(root, ["9.0"]).rows[0]
    script = next((root / "examples").rglob(str(row["script"])))
    assert row["accepted"] is False
    assert isinstance(row["rejected"], tuple)
    lines = script.read_text(encoding="utf-8").split("\n")
    for cell in row["rejected"]:
        line, key, kind = cell.split(" ")
        assert f"{key}=" in lines[int(line) - 1]
        assert kind in {"unknown-key", "type"}


def test_the_table_is_in_canonical_form(root: Path) -> None:
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.fmt import format_tables

    write(root, dict(compat(root, BOTH).files))
    assert "records/compatibility.csv" not in format_tables(take_snapshot(read_package(root)))


def row(version: str, accepted: bool | None) -> dict[str, Any]:
    return {"framework": "verl", "framework_version": version, "accepted": accepted}


@pytest.mark.parametrize(
    ("accepted", "words"),
    [
        ({"0.9.0": True, "0.10.0": True, "0.8": False}, "verl ≥ 0.9.0"),
        ({"0.8": True, "0.9.0": True, "0.10.0": False}, "verl 0.8 to 0.9.0"),
        ({"0.8": True, "0.9.0": False, "0.10.0": True}, "verl 0.8, 0.10.0"),
        ({"0.8": False, "0.10.0": True}, "verl 0.10.0"),
        ({"0.8": False, "0.10.0": None}, ""),
    ],
)
def test_the_accepting_releases_in_words(accepted: dict[str, bool | None], words: str) -> None:
    assert accepted_by([row(version, taken) for version, taken in accepted.items()]) == words


# What is committed


def test_the_newest_release_accepts_every_shipped_script_and_the_table_says_so() -> None:
    known = shipped("verl")
    dataset = rl_resources.load(ROOT)
    rows = {
        row["script"]: row
        for row in dataset.records["compatibility"]
        if row["framework_version"] == known.version
    }
    for path in SCRIPTS:
        launch = launch_of(path)
        composed = compose_launch(known, launch)
        assert composed.accepted, (path.name, composed.rejected, composed.problem)
        if path.name in rows:  # of a new script nobody has asked yet
            assert rows[path.name]["accepted"] is True


def test_the_table_covers_the_same_releases_for_every_script() -> None:
    versions: dict[object, list[str]] = {}
    for row in rl_resources.load(ROOT).records["compatibility"]:
        versions.setdefault(row["script"], []).append(str(row["framework_version"]))
    first, *others = versions.values()
    assert all(other == first for other in others)
    assert in_order(first)[-1] == shipped("verl").version


def test_the_shipped_defaults_need_no_hydra() -> None:
    code = (
        "import sys; from rl_resources.script.framework import shipped;"
        f"c = shipped('verl').compose({MODULE!r}, None, None, [('data.seed', '1')]);"
        "assert c.accepted; print(sorted({'hydra', 'omegaconf', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("version", ["0.4.1", "0.9.1"])
def test_the_real_framework_says_the_same_as_the_table(version: str) -> None:
    known = release_of_verl(version)
    rows = rl_resources.load(ROOT).records["compatibility"]
    wanted = {row["script"]: row for row in rows if row["framework_version"] == version}
    for path in (path for path in SCRIPTS if path.name in wanted):
        launch = launch_of(path)
        composed = compose_launch(known, launch)
        cells = [
            f"{launch.overrides[item.index].line} {item.key} {item.kind}"
            for item in composed.rejected
        ]
        assert composed.accepted is wanted[path.name]["accepted"]
        assert cells == list(wanted[path.name]["rejected"] or ())


def test_the_shipped_defaults_are_those_of_the_release() -> None:
    text = (ROOT / DEFAULTS / "verl.json").read_text(encoding="utf-8")
    assert text == describe(release_of_verl(json.loads(text)["version"])), (
        "run `rl-resources compat`"
    )


def test_the_shipped_history_is_that_of_all_releases() -> None:
    text = (ROOT / HISTORY / "verl.json").read_text(encoding="utf-8")
    known = [release_of_verl(version) for version in json.loads(text)["releases"]]
    assert text == write_history(known), "run `rl-resources compat`"


def test_the_history_ends_with_the_release_of_the_defaults() -> None:
    past, newest = history("verl"), shipped("verl")
    assert past.releases[-1] == newest.version
    assert list(past.releases) == in_order(past.releases)
    assert set(past.gone) == set(newest.names)
    for name, choice in newest.names.items():
        now = newest.base(choice)
        assert not {*now.values} & {*past.gone[name]}
    assert set(past.since) <= {
        key for choice in newest.names.values() for key in newest.base(choice).values
    }


@pytest.mark.parametrize(
    ("key", "last"),
    [
        ("actor_rollout_ref.actor.megatron.grad_offload", "0.9.0"),
        ("trainer.worker_nsight_options", "0.5.0"),
        ("actor_rollout_ref.actor.optim.warmup_style", "0.4.0"),
        ("data.train_batch_size", None),
        ("data.train_batch_sizes", None),
        ("trainer.worker_nsight", None),
    ],
)
def test_the_last_release_that_had_a_key_or_section_is_known(key: str, last: str | None) -> None:
    assert history("verl").last_with("ppo_megatron_trainer", key) == last


def test_the_real_framework_is_the_same_without_hydra() -> None:
    light = shipped("verl")
    known = release_of_verl(light.version)
    for path in SCRIPTS:
        launch = launch_of(path)
        assert compose_launch(known, launch) == compose_launch(light, launch)


def test_the_table_is_canonical_csv() -> None:
    text = (ROOT / "records" / "compatibility.csv").read_text(encoding="utf-8")
    read = tabular.read(text)
    assert read.header is not None
    assert tabular.write([read.header.cells, *(row.cells for row in read.rows)]) == text
