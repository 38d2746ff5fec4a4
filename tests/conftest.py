"""Fixtures that more than one test file needs."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import settings

from botched_tree import plant_frozen
from rl_resources import load
from rl_resources.__main__ import status_of
from rl_resources.build import build
from rl_resources.contribute import Fixed
from rl_resources.contribute import draft as draft_module
from rl_resources.dataset import Dataset
from rl_resources.errors import RlResourcesError, UnusableInput
from rl_resources.package import Package, read_package
from rl_resources.script.framework.release_files import Release, configuration
from rl_resources.site import javascript
from sample_tree import plant, succeeded
from website import ROOT, served, visited

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# No deadline: a busy machine is no failure. CI tries the same examples every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")
MOST_SECONDS_OF_A_PAGE = 180


def pytest_make_parametrize_id(val: object) -> str | None:
    """A test of a path is called by the name of the path."""
    if isinstance(val, Path):
        return val.name
    return None


def cannot_run(reason: str) -> NoReturn:
    """Skip the test, or fail it where `CI` is `true`."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def refused(
    message: str, fix: str = "", kind: type[RlResourcesError] = UnusableInput
) -> Iterator[None]:
    """What is done in this block is refused with just this message and this fix."""
    with pytest.raises(kind) as caught:
        yield
    assert str(caught.value) == message
    assert caught.value.help == fix


def program(*names: str) -> str:
    """Where the first of these programs is that is installed; without any the test cannot run."""
    found = next(filter(None, map(shutil.which, names)), None)
    return found or cannot_run(
        f"no `{names[0]}`: install Debian's package `{names[0]}`"
    )


def answers_in_node(
    modules: str, data: Mapping[str, str], questions: object, folder: Path
) -> list[dict[str, Any]]:
    """What `tests/finder/MODULES.mjs` answers with the site's modules of that name.

    All modules are copied with the published `data` to `folder`, where Node takes them for modules.
    """
    shutil.copytree(ROOT / "site/assets/javascripts", folder, dirs_exist_ok=True)
    for name, text in {"package.json": '{"type": "module"}', **data}.items():
        (folder / name).write_text(text)
    for path, text in javascript.files().items():
        (folder / path.removeprefix("javascripts/")).write_text(text)
    script = f"{ROOT}/tests/finder/{modules}.mjs"
    asked = json.dumps(questions)
    return json.loads(succeeded(program("node", "nodejs"), script, folder, input=asked))


@cache
def release_of_verl(version: str) -> Release:
    """The configuration of a release, from the cache or the package index."""
    try:
        return configuration("verl", version)
    except UnusableInput as error:
        cannot_run(f"needs verl {version}: {error}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The sample dataset, to be changed."""
    return plant(tmp_path / "dataset")


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The dataset as it was once."""
    return read_package(plant_frozen(tmp_path_factory.mktemp("frozen")))


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    """The dataset of this checkout."""
    return load(ROOT)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule reports or fixes anything, which would take most of the time."""
    monkeypatch.setattr(draft_module, "findings_about", lambda *_: [])
    monkeypatch.setattr(draft_module, "fix", lambda snapshot, *_: Fixed(snapshot, {}))


Answer = Callable[..., Any]
Command = Callable[..., str]


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """A function that runs a command line: `out`, what it prints, and `err`, what it says."""

    def run(*words: object, status: int = 0) -> object:
        capsys.readouterr()
        assert status_of([*map(str, words)]) == status
        return capsys.readouterr()

    return run


@pytest.fixture
def command(answer: Answer) -> Command:
    """A function that runs a command line: what it prints, or what it says where it fails with 2.

    A command that fails with 2 prints nothing.
    """

    def run(*words: object, status: int = 0) -> str:
        printed = answer(*words, status=status)
        assert status < 2 or not printed.out
        return printed.err if status == 2 else printed.out

    return run


SharedFolder = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A function that fills a named folder once for all workers of the run, and returns it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, fill: Callable[[Path], object]) -> Path:
        done = shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(shared / name, ignore_errors=True)
                (shared / name).mkdir()
                fill(shared / name)
                done.touch()
        return shared / name

    return folder


@pytest.fixture(scope="session")
def downloads_folder(shared_folder: SharedFolder) -> Path:
    """Everything under `/downloads` and nothing else, as somebody has it who took it all."""
    from rl_resources.site.downloads import downloads
    from rl_resources.site.environment import Site

    def fill(folder: Path) -> None:
        for item in downloads(Site(load(ROOT))):
            (folder / item.name).write_bytes(item.content)

    return shared_folder("downloads", fill)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium, whose pages wait long: the machine may be busy."""
    from playwright.sync_api import sync_playwright

    def patient(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(**options: Any) -> Any:
            page = make(**options)
            page.set_default_timeout(MOST_SECONDS_OF_A_PAGE * 1000)
            return page

        return made

    chromium = program(
        "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
    )
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--disable-gpu"]
        )
        for name in ("new_page", "new_context"):
            setattr(launched, name, patient(getattr(launched, name)))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def built(shared_folder: SharedFolder) -> Path:
    """The site of this checkout, built once for all workers."""
    return shared_folder("built", lambda folder: build(ROOT, folder)) / "site"


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    """Where the site of this checkout is served, without a closing slash."""
    with served(built) as origin:
        yield origin


@pytest.fixture
def visit(
    browser: Browser, address: str
) -> Callable[..., AbstractContextManager[Page]]:
    """A function that opens a page of the site by its path, as `visited` does."""

    def opened(path: str, *options: Any, **named: Any) -> AbstractContextManager[Page]:
        return visited(browser, address + path, *options, **named)

    return opened
