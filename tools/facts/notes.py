"""What a reader must know to use a figure, as sentences of ours."""

from __future__ import annotations

import re

from facts.figures import about_cells
from facts.statement import Statement
from facts.words import table

_CEILING = re.compile(r"(max GPU0 mem|mean total_step_time) < ([0-9.]+) (GB|s)")
_PACKAGE = re.compile(r"(\d)\*(\d+)")
_MEAN = re.compile(r"\((mean of \d+ steps|median)")
_CEILINGS = {
    "max GPU0 mem": "The test fails above {} GB on the first GPU.",
    "mean total_step_time": "The test fails where a step takes more than {} s on average.",
}


def notes(statement: Statement) -> str:
    """All remarks in one text."""
    remarks = [
        *_own(statement),
        *(sentence for part in _parts(statement["notes"]) if (sentence := _sentence(part))),
        *(_CEILINGS[what].format(most) for what, most, _ in _CEILING.findall(_ceiling(statement))),
        *(f"The source gives the {figure} as about." for figure in about_cells(statement)),
    ]
    return " ".join(dict.fromkeys(remarks))


def _ceiling(statement: Statement) -> str:
    return statement["ci_ceiling"]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split("; ") if part.strip()]


def _sentence(part: str) -> str:
    """The remark in our words; what only served the transcription says nothing here."""
    for row in table("remarks"):
        if found := re.fullmatch(row["published"], part):
            return found.expand(row["remark"])
    if '"' in part or "“" in part:
        return ""
    return part[0].upper() + part[1:].rstrip(".") + "."


def _own(statement: Statement) -> list[str]:
    """Remarks that follow from the cells themselves, and those written by hand."""
    found = [row["remark"] for row in table("by_hand") if _is(row, statement)]
    if statement["evidence_kind"].startswith("CI recipe"):
        found.append("The count is what the project's tests allocate, not a minimum.")
    if re.fullmatch(r"\d+[+]\d+", statement["nodes"]):
        found.append(f"The nodes are split {statement['nodes']} between training and generation.")
    if any(statement[c][-1:] in {"k", "K"} for c in ("max_prompt_length", "max_response_length")):
        found.append("Lengths are published in thousands and read as multiples of 1,024.")
    if statement["confidence"] == "derived-from-script":
        script = statement["script_path"]
        found.append(f"Derived from the settings of {_place(script)}." if script else "")
    if statement["max_response_length"] == "9632":
        found.append("9,632 is what the script computes; 8,192 was probably meant.")
    if package := _PACKAGE.fullmatch(statement["device_memory_gb"]):
        found.append("The source counts packages of {} devices of {} GB.".format(*package.groups()))
    if mean := _MEAN.search(statement["step_time_s"]):
        found.append(f"The step time is a {mean[1]}.")
    if peak := _unread_peak(statement):
        found.append(f"Memory as published: {peak}.")
    return [remark for remark in found if remark]


def _is(row: dict[str, str], statement: Statement) -> bool:
    return (row["file"], row["row"]) == statement.key


def _place(script: str) -> str:
    return "the script" if re.fullmatch(r"[\w./+%-]+", script) else script.replace("@", " at ")


def _unread_peak(statement: Statement) -> str:
    peak = statement["peak_gpu_memory_gb"]
    return peak if "allocated" in peak else ""
