"""The peer of `build`: the pages of a checkout as Markdown on disk, for MkDocs without our hook.

`python benchmarks/build/peer.py ROOT FOLDER` writes `FOLDER/mkdocs.yml` and `FOLDER/docs`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from rl_resources import publish

OWN = "{{ frame | content_security_policy }}"
SETTINGS = {
    "docs_dir": "docs",
    "site_dir": "site",
    "strict": False,
    "hooks": [],
    "theme": {"custom_dir": "assets"},
    "validation": {"links": {"not_found": "ignore", "anchors": "ignore"}},
}


def write_peer(root: Path, folder: Path) -> int:
    """Write the peer and return how many pages it has.

    Pages, theme, its overrides, extensions, search and menu are ours. What the peer is spared: our
    hook (and so all that is no page), and the warnings of links to what only the hook publishes.
    """
    docs = folder / "docs"
    shutil.copytree(root / "site/pages", docs)
    shutil.copytree(root / "site/assets", folder / "assets")
    frame = folder / "assets/main.html"
    text = frame.read_text(encoding="utf-8")
    if OWN not in text:
        raise ValueError(f"{frame}: does not say {OWN}")
    frame.write_text(text.replace(OWN, "default-src 'self'"), encoding="utf-8")
    for path, content in publish.preview(root).shown.items():
        if isinstance(content, str) and path.endswith(".md"):
            (docs / path).parent.mkdir(parents=True, exist_ok=True)
            (docs / path).write_text(content, encoding="utf-8")
    settings = {"INHERIT": str((root / "mkdocs.yml").resolve()), **SETTINGS}
    (folder / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    return sum(1 for _ in docs.rglob("*.md"))


if __name__ == "__main__":
    print(write_peer(Path(sys.argv[1]), Path(sys.argv[2])))  # noqa: T201
