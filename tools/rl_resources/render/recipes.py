"""How the published data are used in other tools: the one table of all that is to be copied.

The page of recipes and the tabs beside every table are made of it, and the tests run it. A text is
a Jinja2 template: `at` is the site's address with a closing slash, `table` a resource, `shown` its
columns to print, `only` the value of `size` that is looked at where it is not all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from rl_resources.dataset import Dataset

LOCAL = "http://localhost:8000/"
"""Stands for the site's address where nobody has told it: there `make serve` shows the site."""

_PLAIN = re.compile(r"[A-Za-z0-9.]*")
_ID = re.compile(r"[A-Za-z0-9._-]+")
_ALL, _UNKNOWN = "", "unknown"

SHOWN: Mapping[str, tuple[str, ...]] = {
    "tuning": ("tag", "model", "task", "gpus", "device", "max_batch"),
    "reports": ("outcome", "model_as_published", "task", "gpus", "device"),
    "models": ("model", "size", "parameters_b", "layers"),
    "devices": ("device", "vendor", "memory_gb", "bf16_tflops"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """A text to copy, in a language; `title` names the tool, or the file where it belongs."""

    title: str
    language: str
    text: str

    def filled(self, **values: Any) -> Code:
        """The same without anything left open."""
        text = _template(self.text).render(**values)
        return Code(_template(self.title).render(**values), self.language, text)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Codes that belong together under a heading, in this order or, as `tabs`, one of them."""

    id: str
    title: str
    about: str
    codes: tuple[Code, ...]
    tabs: bool = False


_TABLE = (
    Code(
        "pandas",
        "python",
        """\
import pandas as pd  # and pyarrow, which pandas needs for Parquet

{{ table }} = pd.read_parquet(
    "{{ at }}downloads/{{ table }}.parquet", dtype_backend="numpy_nullable"
)
{% if only == "unknown" %}
{{ table }} = {{ table }}[{{ table }}["size"].isna()]
{% elif only %}
{{ table }} = {{ table }}[{{ table }}["size"] == "{{ only }}"]
{% endif %}
print({{ table }}[["{{ shown | join('", "') }}"]])
""",
    ),
    Code(
        "polars",
        "python",
        """\
from urllib.request import urlopen

import polars as pl

with urlopen("{{ at }}downloads/{{ table }}.parquet") as reply:
    {{ table }} = pl.read_parquet(reply.read())
{% if only == "unknown" %}
{{ table }} = {{ table }}.filter(pl.col("size").is_null())
{% elif only %}
{{ table }} = {{ table }}.filter(pl.col("size") == "{{ only }}")
{% endif %}
print({{ table }}.select("{{ shown | join('", "') }}"))
""",
    ),
    Code(
        "DuckDB",
        "python",
        """\
from urllib.request import urlretrieve

import duckdb

urlretrieve("{{ at }}downloads/{{ table }}.parquet", "{{ table }}.parquet")
{{ table }} = duckdb.sql(\"""
    SELECT {{ shown | join(", ") }}
    FROM '{{ table }}.parquet'
{% if only == "unknown" %}
    WHERE size IS NULL
{% elif only %}
    WHERE size = '{{ only }}'
{% endif %}
\""")
print({{ table }})
""",
    ),
    Code(
        "R",
        "r",
        """\
{{ table }} <- read.csv(
  "{{ at }}downloads/{{ table }}.csv",
  na.strings = "",
{% if texts %}
  colClasses = c({{ texts | join(' = "character", ') }} = "character"),
{% endif %}
  fileEncoding = "UTF-8"
)
{% if only == "unknown" %}
{{ table }} <- subset({{ table }}, is.na(size))
{% elif only %}
{{ table }} <- subset({{ table }}, size == "{{ only }}")
{% endif %}
print({{ table }}[c("{{ shown | join('", "') }}")])
""",
    ),
    Code(
        "curl",
        "sh",
        """\
curl -s {{ at }}api/v1/{{ document }}.json |
  jq -r '.{{ document }}[]
{%- if only == "unknown" %} | select(.size == null)
{%- elif only %} | select(.size == "{{ only }}")
{%- endif %} | [.{{ shown | join(", .") }}] | @tsv'
""",
    ),
)
"""A table as it is downloaded."""

_SIZE = (
    Code(
        "pandas",
        "python",
        """\
import pandas as pd

found = pd.read_json("{{ at }}api/v1/sizes/{{ size }}.json", typ="series")
records = pd.DataFrame(found["records"])
print(records[["{{ shown | join('", "') }}"]])
""",
    ),
    Code(
        "polars",
        "python",
        """\
import json
from urllib.request import urlopen

import polars as pl

with urlopen("{{ at }}api/v1/sizes/{{ size }}.json") as reply:
    found = json.load(reply)
records = pl.DataFrame(found["records"], infer_schema_length=None)
print(records.select("{{ shown | join('", "') }}"))
""",
    ),
    Code(
        "DuckDB",
        "python",
        """\
from urllib.request import urlretrieve

import duckdb

urlretrieve("{{ at }}api/v1/sizes/{{ size }}.json", "{{ size }}.json")
records = duckdb.sql(\"""
    SELECT {{ shown | join(", ") }}
    FROM (SELECT unnest(records, max_depth := 2) FROM '{{ size }}.json')
\""")
print(records)
""",
    ),
    Code(
        "R",
        "r",
        """\
library(jsonlite)

found <- fromJSON("{{ at }}api/v1/sizes/{{ size }}.json")
print(found$records[c("{{ shown | join('", "') }}")])
""",
    ),
    Code(
        "curl",
        "sh",
        "curl -s {{ at }}api/v1/sizes/{{ size }}.json | jq '.records[] | select(.gpus <= 2)'\n",
    ),
)
"""The records of one size as the API has them."""

_RECORD = (
    Code(
        "curl",
        "sh",
        """\
curl -s {{ at }}api/v1/records/{{ id }}.json | jq .record
curl -sO {{ at }}scripts/{{ id }}.sh
""",
    ),
    Code(
        "Python",
        "python",
        """\
import json
from urllib.request import urlopen

with urlopen("{{ at }}api/v1/records/{{ id }}.json") as reply:
    record = json.load(reply)["record"]
print(record["gpus"], record["device"], record["max_batch"], record["status"])
""",
    ),
)
"""One record, and its script."""

_ELSEWHERE = (
    Recipe(
        "sql",
        "Several tables at once",
        "SQL joins what the tables say of a record, its model and its device. DuckDB reads the "
        "Parquet files; in the SQLite database the view `records` has them joined already.",
        (
            Code(
                "DuckDB",
                "python",
                """\
from urllib.request import urlretrieve

import duckdb

for table in ("tuning", "models", "devices"):
    urlretrieve(f"{{ at }}downloads/{table}.parquet", f"{table}.parquet")
small = duckdb.sql(\"""
    SELECT model, parameters_b, task, gpus, name AS device, memory_gb
    FROM 'tuning.parquet' JOIN 'models.parquet' USING (model) JOIN 'devices.parquet' USING (device)
    WHERE gpus * memory_gb <= 160
    ORDER BY parameters_b DESC, script
\""")
print(small)
""",
            ),
            Code(
                "SQLite",
                "sh",
                """\
curl -sO {{ at }}downloads/rl-resources.sqlite
sqlite3 rl-resources.sqlite "
  SELECT model, model_parameters_b, task, gpus, device_name, device_memory_gb
  FROM records
  WHERE gpus * device_memory_gb <= 160
  ORDER BY model_parameters_b DESC, script"
""",
            ),
        ),
        tabs=True,
    ),
    Recipe(
        "follow",
        "Keep up with changes",
        "The index has the SHA-256 of every file, so that only what differs is fetched. The "
        "document of a release says what has changed since. For people there are Atom feeds.",
        (
            Code(
                "Python, for a copy of all downloads",
                "python",
                """\
import hashlib
import json
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

site = "{{ at }}"
index = urljoin(site, "api/v1/index.json")
fetched = []
for item in json.load(urlopen(index))["downloads"]:
    address = urljoin(index, item["path"])
    file = Path("rl-resources", address.removeprefix(site))
    if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != item["sha256"]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(urlopen(address).read())
        fetched.append(file)
print(*fetched, sep="\\n")
""",
            ),
            Code(
                "curl, for what has changed since a release",
                "sh",
                """\
curl -s {{ at }}api/v1/changes/{{ version }}.json |
  jq -r '.since_release[]? | .table as $table
    | (.added[] | ["added", $table, .[]]), (.changed[] | ["changed", $table, .key[]])
    | @tsv'
""",
            ),
        ),
    ),
    Recipe(
        "browser",
        "In a page of another site",
        "JavaScript of another origin may read the files where their server sends "
        "`Access-Control-Allow-Origin: *` with them. GitHub Pages does, `make serve` does not.",
        (
            Code(
                "In a module",
                "js",
                """\
const reply = await fetch("{{ at }}api/v1/sizes/7b.json");
const { records } = await reply.json();
console.log(records.filter((record) => record.gpus <= 2));
""",
            ),
        ),
    ),
    Recipe(
        "sphinx",
        "In a Sphinx site",
        "Fetch the table before a build, and include it where it is to stand. The same for each "
        "size; `device_tuning.rst` is a whole page.",
        (
            Code(
                "Before a build",
                "sh",
                "curl -s --create-dirs -o tables/7b.rst {{ at }}rst/7b.rst\n",
            ),
            Code("conf.py", "python", 'exclude_patterns = ["tables"]\n'),
            Code("In a page", "rst", ".. include:: tables/7b.rst\n"),
        ),
    ),
    Recipe(
        "mkdocs",
        "In a MkDocs site",
        "A frame shows the table as it is today, with no script. To have it in your own style and "
        "your own search, write it before a build, with the Python package, and include it.",
        (
            Code(
                "A frame in a page",
                "html",
                '<iframe src="{{ at }}embed/7b.html" title="Which hardware runs RL of 7B models"'
                ' width="100%" height="300"></iframe>\n',
            ),
            Code(
                "Or, before a build",
                "sh",
                "rl-resources export markdown --size 7B --out tables/7b.md\n",
            ),
            Code(
                "mkdocs.yml",
                "yaml",
                """\
markdown_extensions:
  - tables
  - pymdownx.snippets:
      base_path: [tables]
      check_paths: true
""",
            ),
            Code("In a page", "markdown", '--8<-- "7b.md"\n'),
        ),
    ),
    Recipe(
        "package",
        "Without a server",
        "The Python package holds data and scripts of its version. `rl-resources find` is the same "
        "question at a terminal.",
        (
            Code(
                "Python",
                "python",
                """\
import rl_resources

data = rl_resources.load()
found = data.find(size="7B", gpus=2, device="h800")
print(found[["standing", "model_shown", "task", "gpus", "device", "reason"]])
print(found.attrs["start"])
""",
            ),
        ),
    ),
)


def of_table(dataset: Dataset, table: str, at: str, only: str | None = _ALL) -> tuple[Code, ...]:
    """A table in five tools; `only` is the size that is looked at, `None` rows without one."""
    only = _UNKNOWN if only is None else only
    if not _PLAIN.fullmatch(only):
        return ()  # what is copied into a shell is no place for a name that no rule lets through
    fields = dataset.package.resources[table].schema.fields
    return _filled(
        _TABLE,
        at=at,
        table=table,
        document="records" if table == "tuning" else table,
        shown=SHOWN[table],
        only=only,
        texts=[field.name for field in fields if field.name.endswith("_version")],
    )


def of_size(size: str, at: str) -> tuple[Code, ...]:
    """The records of a size in five tools."""
    if not _PLAIN.fullmatch(size):
        return ()
    return _filled(_SIZE, at=at, size=size.lower(), shown=SHOWN["tuning"])


def of_record(name: str, at: str) -> tuple[Code, ...]:
    """One record, by its id, in two tools."""
    return _filled(_RECORD, at=at, id=name) if _ID.fullmatch(name) else ()


def recipes(dataset: Dataset, at: str) -> tuple[Recipe, ...]:
    """All recipes of the page."""
    table = Recipe(
        "table",
        "A table in your language",
        "For each table there is such a snippet beside it, on its page.",
        of_table(dataset, "tuning", at),
        tabs=True,
    )
    rest = (
        Recipe(
            item.id,
            item.title,
            item.about,
            _filled(item.codes, at=at, version=dataset.version),
            item.tabs,
        )
        for item in _ELSEWHERE
    )
    return (table, *rest)


def _filled(codes: tuple[Code, ...], **values: Any) -> tuple[Code, ...]:
    return tuple(code.filled(**values) for code in codes)


@cache
def _template(text: str) -> Template:
    return _environment.from_string(text)


_environment = Environment(  # noqa: S701 (code, in which nothing is escaped)
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
)
