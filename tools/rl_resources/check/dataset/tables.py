"""Rules about a whole record, and about records beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rl_resources.check.dataset.broken import broken_columns, broken_keys, broken_places
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.order import number
from rl_resources.package import Field
from rl_resources.tabular import write
from rl_resources.words import shown

_RUNS = ("tuning", "reports")
_BOUNDS = frozenset({"from_parameters_b", "below_parameters_b"})
_NO_PART = re.compile(r"[^\w.-]|_")


@rule()
def duplicate_key(snapshot: Snapshot) -> Iterator[Mistake]:
    """No two rows have the same key.

    One configuration is one script is one record.

    Bad: two rows with the same `script`
    Good: one row for each `script`
    """
    for table in snapshot.tables.values():
        told: set[int] = set()
        for names in _unique_columns(table):
            for copy, first in copies(table, names):
                if copy in told:
                    continue
                told.add(copy)
                values = shown(" ".join(table.cell(copy, name) for name in names), 120)
                line, _ = table.place(first, names[0])
                yield table.mistake(
                    copy,
                    names[0],
                    f"{' and '.join(names)} `{values}` stands in line {line} already",
                    _duplicate_fix(table, copy, first),
                )


def _unique_columns(table: Table) -> list[tuple[str, ...]]:
    """The keys of the schema, as far as the file has their columns."""
    keys = table.schema.unique_keys
    return [names for names in keys if all(name in table.columns for name in names)]


def copies(table: Table, names: Sequence[str]) -> list[tuple[int, int]]:
    """Rows whose cells in `names` together stood before: (copy, first) by index.

    Rows with an empty cell in the key are left out.
    """
    if not all(name in table.columns for name in names):
        return []
    first: dict[tuple[str, ...], int] = {}
    found = []
    for row, key in enumerate(table.cells(names)):
        if all(key) and first.setdefault(key, row) != row:
            found.append((row, first[key]))
    return found


def _duplicate_fix(table: Table, copy: int, first: int) -> str:
    if table.rows[copy].cells == table.rows[first].cells:
        return "Delete this line: the two are the same."
    differing = [
        name for name in table.columns if table.cell(copy, name) != table.cell(first, name)
    ]
    return f"The two differ in {', '.join(differing)}. Keep one line, or fix the other."


@rule()
def backend_role(snapshot: Snapshot) -> Iterator[Mistake]:
    """`train` names a training backend and `infer` a rollout engine.

    Swapped, the row describes a run that nobody can start.

    Bad: `vllm` as `train`
    Good: `fsdp` as `train`
    """
    for resource in _RUNS:
        yield from _roles(snapshot, snapshot.tables[resource])


def _roles(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    for row, train in enumerate(table.columns.get("train", ())):
        infer = table.cell(row, "infer")
        wrong = [
            name
            for name in ("train", "infer")
            if misplaced(snapshot, row, name, table)
            and (table.path, row, name) not in broken_keys(snapshot)
        ]
        if len(wrong) == 2 and role_of(snapshot, train) == "infer":
            yield table.mistake(
                row,
                "train",
                f"train and infer of {table.label(row)} are `{train}` and `{infer}`: "
                "they have changed places",
                f"Write `{infer}` as train and `{train}` as infer.",
            )
            continue
        for name in wrong:
            word = table.cell(row, name)
            yield table.mistake(
                row,
                name,
                f"{name} of {table.label(row)} is `{shown(word)}`, "
                f"which is for `{role_of(snapshot, word)}`",
                f"Backends for `{name}` are {_listed(words_for(snapshot, name))}.",
            )


def role_of(snapshot: Snapshot, backend: str) -> str:
    """`train` or `infer`; blank for a backend that is not known or whose row does not say."""
    row = snapshot.keys("backends").get(backend) if backend else None
    return snapshot.tables["backends"].cell(row, "role") if row is not None else ""


def words_for(snapshot: Snapshot, role: str) -> list[str]:
    """The backends of a role."""
    return [word for word in snapshot.keys("backends") if role_of(snapshot, word) == role]


def misplaced(snapshot: Snapshot, row: int, name: str, table: Table | None = None) -> bool:
    """Whether `train` or `infer` of a row, of a tuning record if no table is given, names a
    backend of the other role.
    """
    other = {"train": "infer", "infer": "train"}[name]
    return role_of(snapshot, (table or snapshot.tables["tuning"]).cell(row, name)) == other


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{shown(word)}`" for word in words)


@rule()
def model_size(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model stands in the size that its parameters belong to.

    The size decides the page and the folder in which a reader looks.

    Bad: 7.61 billion parameters under `14B`
    Good: 7.61 billion parameters under `7B`
    """
    models = snapshot.tables["models"]
    for row, size in enumerate(models.columns.get("size", ())):
        fitting = sizes_by_parameters(snapshot, row)
        if size in snapshot.keys("sizes") and fitting and size not in fitting:
            parameters = models.cell(row, "parameters_b")
            yield models.mistake(
                row,
                "size",
                f"size of {models.label(row)} is `{shown(size)}`, "
                f"but {parameters} billion parameters belong to `{fitting[0]}`",
                f"Write `{fitting[0]}`, or fix the parameters.",
            )


def sizes_by_parameters(snapshot: Snapshot, model: int) -> Sequence[str]:
    """The sizes that the parameters of a row of models fit; none where bounds are in doubt."""
    return _fitting_sizes(snapshot)[model]


@lru_cache(maxsize=1)
def _fitting_sizes(snapshot: Snapshot) -> Sequence[Sequence[str]]:
    """The sizes that each row of models fits."""
    models, sizes = snapshot.tables["models"], snapshot.tables["sizes"]
    told = any((sizes.path, name) in broken_columns(snapshot) for name in _BOUNDS)
    words = {} if sizes.lost or told else snapshot.keys("sizes")
    parameters = [number(models.cell(row, "parameters_b")) for row in range(len(models.rows))]
    return [
        [word for word, at in words.items() if value is not None and _holds(sizes, at, value)]
        for value in parameters
    ]


def size_of(snapshot: Snapshot, slug: str) -> str:
    """The size of the model with this slug; blank where its row is in doubt."""
    models = snapshot.tables["models"]
    row = rows_by_slug(snapshot).get(slug)
    size = models.cell(row, "size") if row is not None else ""
    if row is None or (models.path, *models.place(row, "size")) in broken_places(snapshot):
        return ""
    fitting = sizes_by_parameters(snapshot, row)
    return "" if fitting and size not in fitting else size


@lru_cache(maxsize=1)
def rows_by_slug(snapshot: Snapshot) -> Mapping[str, int]:
    """Rows of the models by the slug that they should have."""
    return {slug_of(model): row for model, row in snapshot.keys("models").items()}


def _holds(sizes: Table, row: int, parameters: float) -> bool:
    start = number(sizes.cell(row, "from_parameters_b"))
    end = number(sizes.cell(row, "below_parameters_b"))
    return start is not None and start <= parameters and (end is None or parameters < end)


@rule()
def model_slug(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model's slug is its Hugging Face name without the owner, in lower case.

    A reader must find the script from the model's name alone.

    Bad: `qwen-7b` for `Qwen/Qwen2.5-7B-Instruct`
    Good: `qwen2.5-7b-instruct` for `Qwen/Qwen2.5-7B-Instruct`
    """
    models = snapshot.tables["models"]
    for row, slug in enumerate(models.columns.get("slug", ())):
        wanted = slug_of(models.cell(row, "model"))
        told = {(models.path, row, name) for name in ("model", "slug")} & broken_keys(snapshot)
        if slug and wanted and slug != wanted and not told:
            yield models.mistake(
                row,
                "slug",
                f"slug of {models.label(row)} is `{shown(slug)}`",
                f"Write `{wanted}`, or fix the name of the model.",
            )


@lru_cache(maxsize=1)
def contradicted_slugs(snapshot: Snapshot) -> frozenset[str]:
    """Slugs of models that are not those of their names: either may be the one that is meant."""
    columns = snapshot.tables["models"].columns
    pairs = zip(columns.get("model", ()), columns.get("slug", ()), strict=False)
    return frozenset(slug for model, slug in pairs if slug != slug_of(model))


def slug_of(model: str) -> str:
    """The model's part of a script name; a sign that parts cannot hold becomes `-`."""
    return _NO_PART.sub("-", model.rpartition("/")[2].lower())


def new_row(table: Table, key: str) -> str:
    """What to do so that a table knows a word: a row to copy, in capitals what is to be filled in.

    Empty for the records, whose rows belong to scripts.
    """
    if table.resource.name == "tuning":
        return ""
    cells = [_new_cell(table, field, key) for field in table.schema.fields]
    what = table.resource.name.removesuffix("s")
    return (
        f"A new {what} needs its row in {table.path}: fill in the words in capitals of "
        f"`{shown(write([cells]).rstrip(), 600)}`, add it, and run `rl-resources fmt`."
    )


def _new_cell(table: Table, field: Field, key: str) -> str:
    if field.name == table.schema.primary_key[0]:
        return key
    if field.name == "slug":
        return slug_of(key)
    return field.name.upper() if field.required else ""


@rule()
def whole_nodes(snapshot: Snapshot) -> Iterator[Mistake]:
    """A nodes count divides the GPU count.

    Every node of a run has as many GPUs as the others.

    Bad: 8 `gpus` on 3 `nodes`
    Good: 8 `gpus` on 2 `nodes`
    """
    for table in (snapshot.tables[resource] for resource in _RUNS):
        for row, nodes in enumerate(table.columns.get("nodes", ())):
            gpus = table.cell(row, "gpus")
            if _counts(nodes) and _counts(gpus) and int(gpus) % int(nodes):
                yield table.mistake(
                    row,
                    "nodes",
                    f"nodes of {table.label(row)} is `{nodes}`, which does not divide {gpus} GPUs",
                    "Write the number of machines, each with the same number of GPUs.",
                )


def _counts(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and int(cell[:9]) > 0 and len(cell) < 10


@rule()
def disputed_note(snapshot: Snapshot) -> Iterator[Mistake]:
    """A disputed record says in its notes what is disputed.

    A figure in doubt helps nobody unless the doubt is named.

    Bad: `disputed` with blank `notes`
    Good: `disputed` with `Published as 16, the trials reached 100.`
    """
    table = snapshot.tables["tuning"]
    if "notes" not in table.columns:
        return
    for row, status in enumerate(table.columns.get("status", ())):
        if status == "disputed" and not table.cell(row, "notes"):
            yield table.mistake(
                row,
                "notes",
                f"notes of {table.label(row)} is blank, but the status is `disputed`",
                "Say in one sentence which published facts contradict each other.",
            )


@rule()
def provenance(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record that ran has a contributor or a source.

    A claim that nobody made cannot be asked about.

    Bad: blank `contributor` and blank `source`
    Good: a handle as `contributor`
    """
    table = snapshot.tables["tuning"]
    if "source" not in table.columns:
        return
    for row, contributor in enumerate(table.columns.get("contributor", ())):
        if contributor or table.cell(row, "source") or table.cell(row, "status") == "untested":
            continue
        if (table.path, row, "status") not in broken_keys(snapshot):
            yield table.mistake(
                row,
                "contributor",
                f"contributor and source of {table.label(row)} are both blank",
                "Write your public handle as contributor.",
            )


_BRANCH = re.compile(
    r"https://(?:github\.com|gitlab\.com|huggingface\.co)/(?:datasets/)?[^/]+/[^/]+/(?:-/)?"
    r"(?:blob|tree|raw|blame|resolve)/(?![0-9a-f]{7,64}/)(?P<branch>[^/]+)"
    r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/(?![0-9a-f]{7,64}/)(?P<raw>[^/]+)"
)


@rule("warning")
def permalink(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record's source and evidence name a commit, not a branch.

    What a branch holds changes; next month the address shows other figures, or nothing.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/PATH`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/PATH`, COMMIT of 40 hexadecimal
        digits
    """
    table = snapshot.tables["tuning"]
    for name in ("evidence", "source"):
        for row, cell in enumerate(table.columns.get(name, ())):
            match = _BRANCH.match(cell) if len(cell) < 2000 else None
            if match is not None and (table.path, row, name) not in broken_keys(snapshot):
                branch = match["branch"] or match["raw"]
                yield table.mistake(
                    row,
                    name,
                    f"{name} of {table.label(row)} shows whatever the branch `{shown(branch)}` "
                    "holds on that day",
                    f"Write the commit in the place of `{shown(branch)}`: on GitHub the key `y` "
                    "puts it into the address.",
                )
