"""Functions in a process of its own, while this one does other work.

What is asked and what comes of it go through files as pickles: call 7, a function with its
arguments, lies in `7.asked`; its outcome is written to `7.telling`, which becomes `7.told`.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EIO
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Generic, TypeVar

from rl_resources.errors import InvalidOutput, RlResourcesError

_ANSWER = "from rl_resources.beside import answer; answer()"
# Unless it is told so (-P), Python imports what lies in the current folder, which may be anybody's.
COMMAND = (
    *(sys.executable, "-P", "-c"),
    f"import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); {_ANSWER}",
)

PATIENCE_SECONDS = 0.5
"""How often the other process looks whether the one that asks is still there."""
_MOST_TRIES = 100
"""Enough to outrun the other thread, which may be writing to the folder; a folder that nobody may
remove must not keep the process."""

Answer = TypeVar("Answer")
Outcome = tuple[Answer] | Exception
"""What a call returned, or what it raised."""


class Asked(Generic[Answer]):
    """A call whose answer is on its way."""

    def __init__(self, known: Callable[[], bool], wait: Callable[[], Outcome[Answer]]) -> None:
        self._known = known
        self._wait = wait

    @property
    def known(self) -> bool:
        """Whether nobody has to wait for the answer."""
        return "_outcome" in vars(self) or self._known()

    @property
    def answer(self) -> Answer:
        """What the function returned; raises what it raised.

        Where the process was killed that is `InvalidOutput`, where it could not write the answer
        `OSError`.
        """
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome[0]

    @cached_property
    def _outcome(self) -> Outcome[Answer]:
        return self._wait()


class Worker:
    """Answers one call after the other: here, where there can be no other process.

    `folder` is for files, as long as it may be asked.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ask(self, function: Callable[..., Answer], *arguments: Any) -> Asked[Answer]:
        """Call a function of a module before anything else is done."""
        outcome = _outcome(partial(function, *arguments))
        return Asked(lambda: True, lambda: outcome)


class Process(Worker):
    """Answers them in another process, while this one does other work."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        super().__init__(folder)
        self.process = process
        self._asked = 0
        self._last_line = ""

    def ask(self, function: Callable[..., Answer], *arguments: Any) -> Asked[Answer]:
        """Have a function of a module called with its arguments as they are now.

        Raises `OSError` where these cannot be written down.
        """
        told = self.folder / f"{self._asked}.told"
        self._asked += 1
        with told.with_suffix(".asked").open("wb") as file:
            pickle.dump(partial(function, *arguments), file)
        with suppress(BrokenPipeError):  # of a process that has ended the answer tells
            _send(self.process, told)
        return Asked(partial(self._knows, told), partial(self._wait, told))

    def _knows(self, told: Path) -> bool:
        return told.exists() or self.process.poll() is not None

    def _wait(self, told: Path) -> Outcome[Any]:
        while not told.exists():
            line = self.process.stdout.readline()  # type: ignore[union-attr]  # a pipe
            if not line:
                return self._why_ended()
            self._last_line = line.decode().strip()
        with told.open("rb") as file:
            outcome: Outcome[Any] = pickle.load(file)  # noqa: S301 (what `answer` wrote)
        told.unlink()
        return outcome

    def _why_ended(self) -> Exception:
        if self._last_line:
            return OSError(EIO, self._last_line, str(self.folder))
        return InvalidOutput(
            f"a process of this command ended without an answer, status {self.process.wait()}",
            "Try again. Status -9 often means that there was too little memory.",
        )


@contextmanager
def beside(place: Path) -> Iterator[Worker]:
    """Give a process to ask; who leaves before it has answered asks no longer.

    Its files lie in a folder of their own in `place`, until then. Where there can be no other
    process, what is asked is done here. Raises `OSError` where nothing can be written in `place`.
    """
    with ExitStack() as leaving:
        folder = Path(leaving.enter_context(TemporaryDirectory(prefix="beside.", dir=place)))
        try:
            process = leaving.enter_context(_process(folder))
            leaving.callback(process.kill)
            worker: Worker = Process(folder, process)
        except OSError:
            worker = Worker(folder)
        yield worker


def _process(folder: Path) -> subprocess.Popen[bytes]:
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(COMMAND, bufsize=0, stdin=pipe, stdout=pipe, stderr=nothing)
    for value in (sys.path, os.getpid(), folder):
        _send(process, value)
    return process


def _send(process: subprocess.Popen[bytes], value: object) -> None:
    process.stdin.write(pickle.dumps(value))  # type: ignore[union-attr]  # a pipe


def answer() -> None:
    """What the other process does: each call as it comes.

    An empty line says that one is answered, any other why there can be no more answers.
    """
    gc.set_threshold(200_000)  # as for a command, see `cli`
    with os.fdopen(os.dup(1), "wb", buffering=0) as lines:
        os.dup2(2, 1)
        asker, folder = (pickle.load(sys.stdin.buffer) for _ in range(2))  # noqa: S301 (`_process`)
        watch = Thread(target=_end_after, args=(asker, folder), daemon=True)
        watch.start()
        try:
            while True:
                _answer(pickle.load(sys.stdin.buffer))  # noqa: S301 (`Process.ask`)
                lines.write(b"\n")
        except Exception as error:
            if os.getppid() == asker:
                words = getattr(error, "strerror", None) or str(error)
                lines.write(f"{words}\n".encode(errors="backslashreplace"))
                raise
        watch.join()


def _answer(told: Path) -> None:
    whole = told.with_suffix(".telling")
    with whole.open("wb") as file:
        pickle.dump(_outcome(_call(told.with_suffix(".asked"))), file)
    whole.replace(told)


def _call(asked: Path) -> Callable[[], object]:
    with asked.open("rb") as file:
        call: Callable[[], object] = pickle.load(file)  # noqa: S301 (`Process.ask`)
    asked.unlink()
    return call


def _end_after(asker: int, folder: Path) -> None:
    """End soon after the process that asks was killed: nobody is there to be answered."""
    while os.getppid() == asker:
        time.sleep(PATIENCE_SECONDS)
    for _ in range(_MOST_TRIES):  # the other thread may be writing there
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
    os._exit(1)


def _outcome(call: Callable[[], Answer]) -> Outcome[Answer]:
    try:
        return (call(),)
    except RlResourcesError as error:
        return error
    except Exception as error:
        sendable = _sendable(error)
        sendable.add_note(traceback.format_exc())
        return sendable


def _sendable(error: Exception) -> Exception:
    """The same, or its words where it is of a kind that is lost as a pickle."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (what we have just made)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
