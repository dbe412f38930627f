"""Cache of encoded rows and of file hashes on disk."""

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
    """Folder of values that can be computed again. A key is a hash of everything that its value depends on."""

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
        """Encode rows as features, or open them memory-mapped if the cache has them.

        `code` maps the plugins that encode the rows to their versions.
        """
        from benchrunner.features.arrays import Features

        key = identity(
            {
                "data": fingerprint(table),
                "problem": problem.identity(),
                "tokenizer": encoder.tokenizer_fingerprint,
                "summary place": encoder.summary_place,
                "length": min(recipe.max_length, encoder.max_length),
                "recipe": {name: getattr(recipe, name) for name in problem.recipe_fields if name != "max_length"},
                "training": training,
                "code": dict(code),
            }
        )
        folder = self.folder / "features" / key
        with contextlib.suppress(OSError, ValueError):  # missing or damaged: encode the rows
            return Features.open(folder)
        features = problem.encode(table, encoder, recipe, training=training)
        write_folder_atomically(folder, features.save)
        with contextlib.suppress(OSError, ValueError):  # another process may be replacing the folder
            return Features.open(folder)
        return features

    def file_hash(self, path: Path) -> str:
        """Give the sha256 of a file; computed again only if the file's path, size or time of change is another."""
        path = path.resolve()
        facts = path.stat()
        key = identity({"path": str(path), "size": facts.st_size, "time": facts.st_mtime_ns, "inode": facts.st_ino})
        memory = self.folder / "hashes" / key
        with contextlib.suppress(OSError):
            return memory.read_text(encoding="ascii").strip().strip('"')
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        write_json(memory, digest)
        return digest
