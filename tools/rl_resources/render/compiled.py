"""Jinja2 templates compiled, kept between runs: compiling takes longer than what they write."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from rl_resources.cache import cache_folder, keep_bytes, kept_bytes, own_code


class Compiled(BytecodeCache):
    """Compiled templates as files.

    Jinja2 itself compares the text of the template. What else decides over the code are releases
    and, where they are applied to constants, our filters.
    """

    def __init__(self, *packages: str) -> None:
        engine = [own_code(), *map(version, ("jinja2", "markupsafe", *packages))]
        key = hashlib.sha256("\0".join(engine).encode()).hexdigest()
        self._folder = cache_folder("templates") / key

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / bucket.key

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give what is kept of a template, where it is whole."""
        code = kept_bytes(self._file(bucket))
        if code is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template."""
        keep_bytes(self._file(bucket), bucket.bytecode_to_string())
