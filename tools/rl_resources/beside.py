"""A function in a process of its own, while this one does other work.

The function, its arguments, and what it returns or raises go through files as pickles.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, Generic, TypeVar

from rl_resources.errors import InvalidOutput, RlResourcesError

_ANSWER = "from rl_resources.beside import answer; answer()"
# Unless it is told so (-P), Python imports what lies in the current folder, which may be anybody's.
COMMAND = (
    *(sys.executable, "-P", "-c"),
    f"import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); {_ANSWER}",
)

PATIENCE_SECONDS = 0.5

Answer = TypeVar("Answer")
Told = tuple[Answer] | Exception


class Asked(Generic[Answer]):
    """A call whose answer is on its way."""

    def __init__(self, process: subprocess.Popen[bytes] | None, told: IO[bytes]) -> None:
        self._process = process
        self._told = told

    @property
    def known(self) -> bool:
        """Whether nobody has to wait for the answer."""
        return self._process is None or self._process.poll() is not None

    @cached_property
    def answer(self) -> Answer:
        """What the function returned; raises what it raised, `InvalidOutput` if it was killed."""
        status = self._process.wait() if self._process else 0
        self._told.seek(0)
        try:
            told: Told[Answer] = pickle.load(self._told)  # noqa: S301 (what `_tell` wrote)
        except (EOFError, pickle.UnpicklingError) as error:
            raise InvalidOutput(
                f"a process of this command ended without an answer, status {status}",
                "Try again. Status -9 often means that there was too little memory.",
            ) from error
        if isinstance(told, Exception):
            raise told
        return told[0]


@contextmanager
def beside(function: Callable[..., Answer], *arguments: Any) -> Iterator[Asked[Answer]]:
    """Call a function of a module; who leaves before it has answered asks no longer.

    It has its arguments as they are now. Where there can be no other process it is called here,
    before anything else is done.
    """
    call = partial(function, *arguments)
    with ExitStack() as leaving:
        asked, told = (leaving.enter_context(TemporaryFile()) for _ in range(2))
        try:
            process = leaving.enter_context(_process(call, asked, told))
            leaving.callback(process.kill)
        except OSError:
            process = None
            _tell(call, told)
        yield Asked(process, told)


def _process(
    call: Callable[[], object], asked: IO[bytes], told: IO[bytes]
) -> subprocess.Popen[bytes]:
    for value in (sys.path, os.getpid(), call):
        pickle.dump(value, asked)
    asked.seek(0)
    return subprocess.Popen(COMMAND, stdin=asked, stdout=told, stderr=subprocess.DEVNULL)


def answer() -> None:
    """What the other process does: one call, whose answer alone goes to standard output."""
    gc.set_threshold(200_000)  # as for a command, see `cli`
    with os.fdopen(os.dup(1), "wb") as told:
        os.dup2(2, 1)
        asker, call = (pickle.load(sys.stdin.buffer) for _ in range(2))  # noqa: S301 (`_process`)
        Thread(target=_end_after, args=(asker,), daemon=True).start()
        _tell(call, told)


def _end_after(asker: int) -> None:
    """End soon after the process that asks was killed: nobody is there to be answered."""
    while os.getppid() == asker:
        time.sleep(PATIENCE_SECONDS)
    os._exit(1)


def _tell(call: Callable[[], object], told: IO[bytes]) -> None:
    try:
        said: Told[object] = (call(),)
    except RlResourcesError as error:
        said = error
    except Exception as error:
        said = _sendable(error)
        said.add_note(traceback.format_exc())
    pickle.dump(said, told)


def _sendable(error: Exception) -> Exception:
    """The same, or its words where it is of a kind that is lost as a pickle."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (what we have just made)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
