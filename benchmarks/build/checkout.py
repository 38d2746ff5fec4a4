"""A checkout with any number of records, each with its script: the same for the same number.

`python benchmarks/build/checkout.py FOLDER COUNT` writes one. Each record is a shipped one on
another model of the same size and another device, its script the shipped script with these names.
They are made up: nobody ran them, and nothing of them may be published.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product, zip_longest
from pathlib import Path

from rl_resources import tabular
from rl_resources.check.snapshot import take_snapshot
from rl_resources.dataset import Dataset, load, script_path
from rl_resources.fmt import format_tables
from rl_resources.package import Record, read_package

ROOT = Path(__file__).parents[2]
SOURCES = ("datapackage.json", "mkdocs.yml", "schema", "records", "site")
OF_A_SCRIPT = ("trials", "compatibility")
SEED = 8

Made = tuple[Record, Record, str]
"""A record, the shipped one that it was made from, and the text of its script."""


def write_checkout(folder: Path, count: int, root: Path = ROOT) -> None:
    """Write a checkout of `count` records to a folder that does not exist yet.

    The shipped records come first. Raises `ValueError` where so many cannot be made.
    """
    folder.mkdir(parents=True)
    for name in SOURCES:
        (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, folder / name)
    dataset = load(root)
    texts = {
        str(row["script"]): (root / script_path(dataset, row)).read_text(encoding="utf-8")
        for row in dataset.records["tuning"]
    }
    made = list(islice(_records(dataset, texts), count))
    if len(made) < count:
        raise ValueError(f"{len(made)} records can be made, {count} are wanted")
    for record, _, text in made:
        path = folder / script_path(dataset, record)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    _write_tables(folder, dataset, made)


def _write_tables(folder: Path, dataset: Dataset, made: Sequence[Made]) -> None:
    _write(folder, dataset, "tuning", [record for record, _, _ in made])
    for name in OF_A_SCRIPT:
        of: dict[object, list[Record]] = {}
        for row in dataset.records[name]:
            of.setdefault(row["script"], []).append(row)
        rows = [
            {**row, "script": record["script"]}
            for record, shipped, _ in made
            for row in of.get(shipped["script"], ())
        ]
        _write(folder, dataset, name, rows)
    for path, text in format_tables(take_snapshot(read_package(folder))).items():
        (folder / path).write_text(text, encoding="utf-8")


def _write(folder: Path, dataset: Dataset, name: str, rows: Sequence[Record]) -> None:
    resource = dataset.package.resources[name]
    cells = ([field.write(row[field.name]) for field in resource.schema.fields] for row in rows)
    text = tabular.write([list(resource.schema.names), *cells])
    (folder / resource.path).write_text(text, encoding="utf-8")


def _records(dataset: Dataset, texts: Mapping[str, str]) -> Iterator[Made]:
    """The shipped records, then made ones, of each shipped one as many as of any other."""
    shipped = dataset.records["tuning"]
    known = {str(row["script"]) for row in shipped}
    yield from ((row, row, texts[str(row["script"])]) for row in shipped)
    others = (_of(dataset, row, texts[str(row["script"])]) for row in shipped)
    for made in filter(None, chain.from_iterable(zip_longest(*others))):
        name = str(made[0]["script"])
        if name not in known:
            known.add(name)
            yield made


def _of(dataset: Dataset, shipped: Record, text: str) -> Iterator[Made]:
    """One shipped record on every model of its size and every device."""
    models = dataset.by_key["models"]
    size = models[shipped["model"]]["size"]
    alike = [row for row in models.values() if row["size"] == size and _splits(row, shipped)]
    pairs = list(product(alike, dataset.by_key["devices"].values()))
    random.Random(SEED).shuffle(pairs)  # noqa: S311 (no secret)
    for model, device in pairs:
        record = _on(shipped, model, device)
        yield record, shipped, _script(text, shipped, record)


def _splits(model: Record, shipped: Record) -> bool:
    """Whether any parallel size of the script divides the model's heads, as a rule asks."""
    return int(str(model["attention_heads"] or 0)) % min(16, int(str(shipped["gpus"]))) == 0


def _on(shipped: Record, model: Record, device: Record) -> Record:
    _, task, gpus, _, *backends = str(shipped["script"]).split("_")
    script = "_".join((str(model["slug"]), task, gpus, str(device["device"]), *backends))
    changed = {"script": script, "model": model["model"], "device": device["device"]}
    return {**shipped, **changed}


def _script(text: str, shipped: Record, record: Record) -> str:
    """The script with the names of another model and of the run."""
    names = [str(row["script"]).removesuffix(".sh") for row in (shipped, record)]
    return text.replace(*names).replace(str(shipped["model"]), str(record["model"]))


if __name__ == "__main__":
    write_checkout(Path(sys.argv[1]), int(sys.argv[2]))
