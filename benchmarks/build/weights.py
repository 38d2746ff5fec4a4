"""What the pages of a built site weigh: `python benchmarks/build/weights.py SITE [SITE_OF_TEN]`.

A page is weighed as HTML, and as sent: with the sheets, scripts and pictures that it names for
itself, each compressed as servers of the web do.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

KINDS = {
    "front": "index.html",
    "record": "records/*/index.html",
    "size": "sizes/**/index.html",
    "coverage": "coverage/**/index.html",
    "charts": "charts/index.html",
    "what fits": "what-fits/index.html",
    "reports": "reports/**/index.html",
    "models": "models/index.html",
    "devices": "devices/index.html",
    "data": "data/index.html",
    "contributing": "contributing/index.html",
    "search index": "search/search_index.json",
    "data of the finder": "assets/finder.json",
}
"""The files of each kind of page, and of what pages fetch when it is asked for."""

HEAD = f"{'bytes':>30} {'files':>6} {'median':>9} {'largest':>9} {'sent':>9}"
_NAMED = re.compile(r'<(?:link|script|img)\b[^>]*?\b(?:href|src)="([^":?#]+\.(?:css|js|svg|png))"')

Weight = tuple[int, int, int, int]
"""Files of a kind, bytes of the median and of the largest one, and of the latter as it is sent."""


def weights(site: Path) -> dict[str, Weight]:
    """The weight of each kind."""
    found = {kind: sorted(site.glob(pattern)) for kind, pattern in KINDS.items()}
    return {kind: _weight(files) for kind, files in found.items() if files}


def _weight(files: list[Path]) -> Weight:
    sizes = [file.stat().st_size for file in files]
    largest = files[sizes.index(max(sizes))]
    return len(files), round(median(sizes)), max(sizes), _sent(largest)


def _sent(page: Path) -> int:
    named = _NAMED.findall(page.read_text(encoding="utf-8")) if page.suffix == ".html" else ()
    files = {page, *((page.parent / name).resolve() for name in named)}
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files if file.is_file())


def lines(found: Mapping[str, Weight], ten: Mapping[str, Weight]) -> Iterator[str]:
    """The weights as rows of a table, each beside that of the same kind at `ten` records."""
    for kind, (files, *figures) in found.items():
        row = "".join(f"{figure:>10,}" for figure in figures)
        times = [b / a for a, b in zip(ten[kind][1:], figures, strict=True)] if kind in ten else ()
        beside = ", ".join(f"{factor:.2f}" for factor in times)
        yield f"{kind:>30} {files:>6}{row}{f'   x {beside}' if beside else ''}"


if __name__ == "__main__":
    sites = [weights(Path(folder)) for folder in sys.argv[1:3]]
    print(HEAD, *lines(sites[0], sites[-1] if len(sites) > 1 else {}), sep="\n")  # noqa: T201
