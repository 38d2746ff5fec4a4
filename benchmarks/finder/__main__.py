"""How long the finder takes to answer, in Node and in Chromium with drawing.

`.venv/bin/python -m benchmarks.finder SITE` with the folder of a built site. Rows of the real shape
are drawn from the real ones, with other numbers of accelerators, memory and lengths.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

from rl_resources import load
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.site import finder

HERE = Path(__file__).parent
ROWS = (1_000, 10_000, 100_000)
QUESTIONS: tuple[dict[str, str], ...] = (
    {"model": "7B"},
    {"gpus": "8"},
    {"gpus": "8", "device": "h100"},
    {"gpus": "8", "device": "h100", "model": "7B", "task": "GRPO"},
    {"device": "24 GB"},
    {"gpus": "1", "device": "24 GB", "model": "32B", "task": "GRPO"},
    {"gpus": "1", "device": "t4", "model": "671B", "task": "PPO", "train": "megatron"},
    {"gpus": "3", "device": "a100-80g", "task": "GRPO-LoRA"},
    {"gpus": "64", "device": "mi300x", "model": "70B"},
    {"task": "DAPO"},
)
# Changes one field as a reader does, and lays the page out before it looks at the clock again.
CHROMIUM = """async questions => {
  const form = document.getElementById('finder');
  const turn = () => new Promise(done => setTimeout(done));
  const times = [];
  for (let round = 0; round < 5; round++) for (const question of questions) {
    for (const name of ['gpus', 'device', 'model', 'task', 'train']) {
      form.elements[name].value = question[name] ?? '';
    }
    await turn();
    const start = performance.now();
    form.dispatchEvent(new Event('input', {bubbles: true}));
    await null; await null; await null;
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    if (!document.querySelector('#finder-headline')) throw new Error(JSON.stringify(question));
  }
  return times;
}"""


def made(rows: Sequence[Configuration], number: int) -> Iterable[Configuration]:
    """So many rows like the real ones, the same every time."""
    chance = random.Random(1)  # noqa: S311
    for place in range(number):
        row = chance.choice(rows)
        yield row._replace(
            id=f"{row.id}-{place}",
            contradicts=(),
            gpus=chance.choice((1, 2, 4, 6, 8, 16, 24, 32, 64, 128, 256, 512)),
            memory_gb=chance.choice((row.memory_gb, row.memory_gb, 16, 24, 48, 80, 96, 141)),
            max_total_length=chance.choice((0, 1024, 2048, 4096, 8192, 32768)),
        )


def in_node(modules: Path, data: Path) -> dict[str, Any]:
    """What `node.mjs` measures, in ms."""
    command = ["node", str(HERE / "node.mjs"), str(modules), str(data), json.dumps(QUESTIONS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def in_chromium(site: Path) -> list[float]:
    """Milliseconds from a change of the form to the drawn answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"http://127.0.0.1:{server.server_port}/?gpus=1")
        page.locator("#finder-headline").wait_for()
        times: list[float] = page.evaluate(CHROMIUM, list(QUESTIONS))
        browser.close()
    server.shutdown()
    return times


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(site: Path) -> None:
    """Measure and print."""
    dataset = load()
    real = configurations(dataset)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "site"
        shutil.copytree(site, copy)
        modules = copy / "javascripts" / "finder"
        (modules / "package.json").write_text('{"type": "module"}')
        for number in ROWS:
            value = finder.rules(dataset) | {"columns": finder.columns(made(real, number))}
            data = copy / finder.PATH
            data.write_text(json.dumps(value, separators=(",", ":")))
            size = len(gzip.compress(data.read_bytes())) / 1000
            print(f"{number} rows, {size:.0f} kB compressed")  # noqa: T201
            measured = in_node(modules, data)
            print(f"  Node: {json.dumps(measured, default=str)} ms")  # noqa: T201
            times = in_chromium(copy)
            of_question = [median(times[at :: len(QUESTIONS)]) for at in range(len(QUESTIONS))]
            print(  # noqa: T201
                f"  Chromium with drawing: median {median(of_question):.1f} ms, "
                f"worst question {max(of_question):.1f} ms, worst of all {max(times):.1f} ms"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
