"""Rows to flat features: encoded once, kept memory-mapped, found again by what they were made from."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.data.rows import fingerprint
from benchrunner.files import write_folder_atomically, write_json
from benchrunner.fits import identity

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.problems.problem import Problem
    from benchrunner.recipes import Recipe


class Cache:
    """A folder of things that can be made again. Its keys hold everything the value depends on, so it cannot lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def features(
        self,
        table: pa.Table,
        problem: Problem,
        encoder: Encoder,
        recipe: Recipe,
        code: Mapping[str, str],
        *,
        training: bool,
    ) -> Features:
        """The encoded rows, from the cache where they are; `code` is the versions of what encodes them."""
        from benchrunner.features.arrays import Features

        key = identity(
            {
                "data": fingerprint(table),
                "problem": problem.identity(),
                "tokenizer": encoder.tokenizer_fingerprint,
                "length": min(recipe.max_length, encoder.max_length),
                "recipe": {name: getattr(recipe, name) for name in problem.recipe_fields if name != "max_length"},
                "training": training,
                "code": dict(code),
            }
        )
        folder = self.folder / "features" / key
        with contextlib.suppress(OSError, ValueError):  # not there, or damaged: encode again
            return Features.open(folder)
        made = problem.encode(table, encoder, recipe, training=training)
        write_folder_atomically(folder, made.save)
        with contextlib.suppress(OSError, ValueError):  # another process may just be putting its own in place
            return Features.open(folder)
        return made

    def file_hash(self, path: Path) -> str:
        """sha256 of a file, remembered for as long as its size, time and place stay the same."""
        path = path.resolve()
        facts = path.stat()
        key = identity({"path": str(path), "size": facts.st_size, "time": facts.st_mtime_ns, "inode": facts.st_ino})
        memory = self.folder / "hashes" / key
        with contextlib.suppress(OSError):
            return memory.read_text(encoding="ascii").strip().strip('"')
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        write_json(memory, found)
        return found
