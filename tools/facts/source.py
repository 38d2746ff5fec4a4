"""Where a statement stands: its address, what kind of source that is, and how it is known."""

from __future__ import annotations

from urllib.parse import quote

from facts.statement import Statement
from facts.words import mapping
from rl_resources.source import THREAD, permalink

COMMIT_MESSAGE = "(commit message)"
_BASIS = {
    "measured": "measured",
    "stated": "stated",
    "derived-from-script": "derived",
    "estimated-by-source": "estimated-by-source",
}


def source_cells(statement: Statement) -> dict[str, str] | None:
    """The source's columns; `None` where it has neither a permalink nor a thread."""
    repo, commit, path = (statement[f"source_{part}"] for part in ("repo", "commit", "path"))
    lines = line_ranges(statement["source_line"])
    if not commit:
        thread = THREAD.fullmatch(statement["evidence_url"] or path)
        return {"source_url": thread[0]} if thread else None
    cells = {"source_repo": repo, "source_commit": commit, "source_lines": lines}
    address = "" if path == COMMIT_MESSAGE else quote(path)
    url = permalink(repo, commit, address, lines)
    return cells | {"source_path": address, "source_url": url}


def place(statement: Statement) -> str:
    """Where it stands, as `REPO@COMMIT:PATH#LINES` or an address; also of a refused statement."""
    repo, commit, path = (statement[f"source_{part}"] for part in ("repo", "commit", "path"))
    if not commit:
        return statement["evidence_url"] or path
    return f"{repo}@{commit}:{path}#{statement['source_line']}"


def line_ranges(text: str) -> str:
    """`49+50+51+75` as `49-51+75`: lines that follow each other are one range."""
    ranges: list[list[int]] = []
    for piece in filter(None, text.split("+")):
        first, _, last = piece.partition("-")
        if ranges and int(first) == ranges[-1][1] + 1:
            ranges[-1][1] = int(last or first)
        else:
            ranges.append([int(first), int(last or first)])
    return "+".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def basis(statement: Statement) -> str:
    """How the claim is known. What was inferred in a thread is its author's estimate, else ours."""
    if statement["confidence"] == "inferred":
        return "derived" if statement["source_commit"] else "estimated-by-source"
    return _BASIS[statement["confidence"]]


def evidence_kind(statement: Statement) -> str:
    """What kind of source it is."""
    told = statement["evidence_kind"]
    return mapping("evidence")[told] if told else _kind_of_place(statement)


def _kind_of_place(statement: Statement) -> str:
    """The kind of a source that only its place tells."""
    path = statement["source_path"]
    if not statement["source_commit"]:
        return "issue-thread"
    if path == COMMIT_MESSAGE:
        return "commit-message"
    if path.endswith((".csv", ".log")):
        return "measurement-file"
    if path.endswith((".sh", ".yaml", ".yml", ".py")):
        return "script-comment" if statement["quote"].startswith("#") else "example"
    figures = statement["step_time_s"] or statement["throughput"]
    return "benchmark-table" if figures else "documentation"
