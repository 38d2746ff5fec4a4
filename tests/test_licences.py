"""Code and data stand each under one licence, and every place that names them agrees."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
import yaml

from rl_resources.dataset import load
from rl_resources.site import api, site
from rl_resources.site.citation import CITATION
from website import ROOT

PACKAGE = load(ROOT).package
CODE = ("Apache-2.0", "LICENSE", "Apache License")
DATA = ("CC0-1.0", "LICENSE-DATA", "CC0 1.0 Universal")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Message, dict[str, str]]:
    """Metadata and licence files of the wheel, by name."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        names = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
        return message_from_bytes(archive.read(names["METADATA"])), {
            name: archive.read(names[name]).decode() for _, name, _ in (CODE, DATA)
        }


def test_descriptor_index_citation_and_card_name_the_licence_of_the_data(
    downloads_folder: Path,
) -> None:
    named = [licence["name"] for licence in PACKAGE.licenses]
    assert named == [DATA[0]]
    index = next(item for item in api.documents(load(ROOT), api.Publication()))
    assert index.value["licenses"] == list(PACKAGE.licenses)
    citation = yaml.safe_load((ROOT / CITATION).read_text(encoding="utf-8"))
    assert citation["license"] == named
    for name in ("datapackage.json", "croissant.json"):
        text = (downloads_folder / name).read_text(encoding="utf-8")
        assert PACKAGE.licenses[0]["path"] in text, name
    datapackage = json.loads((downloads_folder / "datapackage.json").read_text(encoding="utf-8"))
    assert datapackage["licenses"] == list(PACKAGE.licenses)


@pytest.mark.parametrize(("name", "file", "title"), [CODE, DATA])
def test_each_licence_has_its_whole_text(
    name: str, file: str, title: str, wheel: tuple[Message, dict[str, str]]
) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert title in text
    metadata, texts = wheel
    assert texts[file] == text
    assert name in metadata["License-Expression"].split(" AND ")
    assert file in metadata.get_all("License-File", ())


def test_the_project_names_no_third_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == f"{CODE[0]} AND {DATA[0]}"


@pytest.mark.parametrize(("name", "file", "_"), [CODE, DATA])
def test_the_readme_links_to_each_licence(name: str, file: str, _: str) -> None:
    assert f"[{name}]({file})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_site_names_both_licences_on_every_page_and_links_that_of_the_data() -> None:
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    footer = next(line for line in lines if line.startswith("copyright:"))
    for name, *_ in (CODE, DATA):
        assert name.replace("-", " ") in footer
    page = site.pages(load(ROOT), None)["data.md"]
    assert f'<a href="{PACKAGE.licenses[0]["path"]}" rel="license noopener">' in page


def test_the_citation_is_valid_and_says_which_version_it_is() -> None:
    command = [sys.executable, "-m", "check_jsonschema", str(ROOT / CITATION)]
    command += ["--builtin-schema", "vendor.citation-file-format"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    citation = yaml.safe_load((ROOT / CITATION).read_text(encoding="utf-8"))
    assert citation["version"] == PACKAGE.version
    assert citation["date-released"] == PACKAGE.created
    assert citation["authors"] == [{"name": name} for name in PACKAGE.contributors]
