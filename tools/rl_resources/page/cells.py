"""The text of one cell to the value of a column, or what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rl_resources.page.vocabulary import Spellings, Vocabulary
from rl_resources.words import nearest, shown

_RESOURCE = re.compile(r"([1-9][0-9]{0,8})\s*[*xX\u00d7]\s*(\S.*)")
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|untested)\))?")
_MODEL_SIZE = re.compile(r"(\D[a-z0-9.-]*?-)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9]|-a[0-9])")
_FEWEST_SIZES = 3
_NOBODY = re.compile(
    r"(?:n\.?/?a\.?|none|nil|null|nobody|tbd|todo|unknown|[-?/_.\u2013\u2014]*)", re.I
)
_PROFILE = re.compile(r"https?://(?:www\.)?(?:github|gitee|gitlab)\.com/@?([\w.-]+)/?(?:[?#].*)?")
_BEFORE_VERSION = re.compile(r"[\s=v-]*")

HEADER_OF: Mapping[str, str] = {
    "tag": "Tag",
    "model": "Model",
    "task": "Task",
    "gpus": "Resource",
    "device": "Resource",
    "max_batch": "MaxBatch",
    "train": "Train",
    "infer": "Infer",
    "infer_version": "Infer",
    "contributor": "Contributor",
}
"""The columns that a row of a page fills, each with the header of its cell."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a cell: a finding before it knows its place."""

    rule: str
    message: str
    help: str


_NAMES_NOBODY = Problem(
    "page-contributor", "the row names no contributor", "Write the account name of who ran it."
)


def known_word(
    kind: str, text: str, spellings: Spellings, confirmed: str | None = None
) -> str | Problem:
    """The word that `text` spells; `confirmed` decides where it can be several."""
    rule = f"page-unknown-{kind}"
    words = spellings.get(text.lower(), ())
    if not text:
        return Problem(rule, f"the row names no {kind}", f"Write the {kind} into the cell.")
    if not words and kind == "device":
        words = _with_memory(text, spellings)
    if not words:
        return Problem(rule, f"`{shown(text)}` is no known {kind}", _help(kind, text, spellings))
    if confirmed is not None and confirmed in words:
        return confirmed
    if len(words) == 1:
        return words[0]
    return Problem(
        rule, f"`{shown(text)}` can be {' or '.join(words)}", "Write which one is meant."
    )


def _with_memory(text: str, devices: Spellings) -> tuple[str, ...]:
    """The devices of a name that leaves out the size of their memory, where there are several."""
    wanted = re.compile(rf"{re.escape(text.lower())}-[0-9]+g")
    words = sorted({word for found in devices.values() for word in found if wanted.fullmatch(word)})
    return tuple(words) if len(words) > 1 else ()


def model(text: str, spellings: Spellings, confirmed: str | None) -> str | Problem:
    """The id of a model. What the dataset does not list may exist all the same.

    That a model does not exist is said only of a size that lies between those of a family of which
    the dataset lists at least three. A problem without a rule is nothing to tell: the dataset lists
    the model in another variant.
    """
    known = known_word("model", text, spellings, confirmed)
    if not isinstance(known, Problem) or not text or text.lower() in spellings:
        return known
    parts = _sized(text)
    listed = {} if parts is None else _sizes(parts[0], spellings)
    if parts and parts[1] in listed:
        return Problem("", "", "")
    if parts and len(listed) >= _FEWEST_SIZES and min(listed) < parts[1] < max(listed):
        sizes = ", ".join(f"{listed[size]}B" for size in sorted(listed))
        message = f"there is no model `{shown(text)}`: {parts[0].rstrip('-')} comes in {sizes}"
        return Problem("page-unknown-model", message, _help("model", text, spellings))
    message = f"`{shown(text)}` is no model that the dataset lists"
    return Problem("page-unlisted-model", message, _help("model", text, spellings))


def _sized(name: str) -> tuple[str, float] | None:
    """What stands before the size in a model's name, in lower case, and the size."""
    match = _MODEL_SIZE.match(name.rpartition("/")[2].lower())
    return None if match is None else (match[1], float(match[2]))


def _sizes(family: str, spellings: Spellings) -> dict[float, str]:
    """The sizes that are listed of a family, with their text."""
    found = (_MODEL_SIZE.match(name.rpartition("/")[2]) for name in spellings)
    return {float(match[2]): match[2] for match in found if match and match[1] == family}


def _help(kind: str, text: str, spellings: Spellings) -> str:
    words = dict.fromkeys(word for words in spellings.values() for word in words)
    known = [word.rpartition("/")[2] for word in words]
    return nearest(text, known).sentence() or f"The dataset has no {kind} like it; add it there."


def resource(
    text: str, devices: Spellings, confirmed: str | None
) -> tuple[int | None, str | Problem]:
    """GPUs and device of `8*H100`, also with spaces, an `x` or a multiplication sign."""
    match = _RESOURCE.fullmatch(text)
    if match is not None:
        return int(match[1]), known_word("device", match[2], devices, confirmed)
    return None, Problem(
        "page-resource",
        f"`{shown(text)}` is not a number of GPUs, `*` and a device",
        "Write for example `8*H100`.",
    )


def max_batch(text: str) -> int | Problem | None:
    """The number of prompts, `None` where it is unknown, with or without a mark of its status."""
    match = _MAX_BATCH.fullmatch(text)
    if match is not None:
        return int(match[1]) if match[1] else None
    return Problem(
        "page-max-batch",
        f"`{shown(text)}` is not a number of prompts",
        "Write the number alone, or `\\` where nobody searched for it.",
    )


def marked_status(text: str) -> str:
    """The status that our own pages put behind a MaxBatch; blank where it carries none."""
    match = _MAX_BATCH.fullmatch(text)
    return (match[2] or "") if match else ""


def infer(text: str, vocabulary: Vocabulary) -> tuple[str | Problem, str | Problem | None]:
    """Rollout engine and version of `vllm0.8.3`, the version `None` where there is none."""
    engines = vocabulary.engines
    prefixes = [name for name in engines if _begins_with(name, text)]
    if not prefixes:
        return known_word("engine", text, engines), None
    name = max(prefixes, key=len)
    return engines[name][0], _version(text[len(name) :], vocabulary)


def _begins_with(engine: str, text: str) -> bool:
    """Whether `text` is the engine's name or goes on after it with something but a name."""
    return re.match(rf"{re.escape(engine)}(?!-?[a-z])", text, re.IGNORECASE) is not None


def _version(text: str, vocabulary: Vocabulary) -> str | Problem | None:
    version = _BEFORE_VERSION.sub("", text.lower(), count=1)
    if not version or vocabulary.matches("infer_version", version):
        return version or None
    return Problem(
        "page-infer-version",
        f"`{shown(text)}` is not a release of the engine",
        "Write engine and release without a gap, for example `vllm0.8.3`.",
    )


def contributor(text: str, target: str | None, vocabulary: Vocabulary) -> str | Problem | None:
    """The public handle, without the `@` that some write before it.

    `target` is where the handle links to: the account of another name is a mistake.
    """
    handle = text.removeprefix("@")
    if _NOBODY.fullmatch(handle):
        return _NAMES_NOBODY if handle else None
    if "@" in handle:
        return None  # an address is told where it stands, and never repeated
    if not vocabulary.matches("contributor", handle):
        message = f"`{shown(text)}` is not a public handle"
        return Problem("page-contributor", message, "Write the account name of who ran it.")
    account = _PROFILE.fullmatch(target or "")
    if account is not None and account[1].lower() != handle.lower():
        message = f"the handle `{shown(handle)}` links the account `{shown(account[1])}`"
        return Problem("page-contributor", message, "Mend whichever of the two is wrong.")
    return handle
