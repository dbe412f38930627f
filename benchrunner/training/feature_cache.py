"""Cache of encoded rows and of file hashes on disk."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.data.rows import fingerprint
from benchrunner.errors import DamagedFile, first_line
from benchrunner.fits.fit import identity
from benchrunner.io.files import remove, write_folder_atomically
from benchrunner.io.seals import check_seal, file_sample, find_sealed, seal_files, write_sealed

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.parameters.recipes import Recipe
    from benchrunner.problems.problem import Problem


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
        note: Callable[[str], None] = lambda text: None,
    ) -> Features:
        """Encode rows as features, or open them memory-mapped if the cache has them.

        `code` maps the plugins that encode the rows to their versions. `note` is called if the cached features are
        damaged, so that the rows are encoded again.
        """
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
        if folder.exists():
            try:
                return _open(folder)
            except (DamagedFile, OSError, ValueError) as error:
                note(f"cached features are damaged, so the rows are encoded again ({first_line(error)})")
        if folder.exists() and not folder.is_dir():
            remove(folder)
        features = problem.encode(table, encoder, recipe, training=training)
        write_folder_atomically(folder, lambda part: _save(features, part, key))
        with contextlib.suppress(DamagedFile, OSError, ValueError):  # another process may be replacing the folder
            return _open(folder)
        return features

    def file_hash(self, path: Path) -> str:
        """Give the sha256 of a file, computed again if the file changed.

        A change is noticed by path, size, times of change, inode and a sample of the content. The times alone would
        miss files that were edited in place and got their old time back.
        """
        path = path.resolve()
        facts = path.stat()
        times = {"time": facts.st_mtime_ns, "change": facts.st_ctime_ns}
        place = {"path": str(path), "size": facts.st_size, "inode": facts.st_ino}
        key = identity({**place, **times, "sample": file_sample(path)})
        memory = self.folder / "hashes" / f"{key}.json"
        with contextlib.suppress(DamagedFile):
            if (kept := find_sealed(memory, "")) is not None and kept["of"] == key:
                return str(kept["sha256"])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not memory.is_file():  # a folder cannot be replaced, and writing into a pipe would wait for ever
            remove(memory)
        write_sealed(memory, {"of": key, "sha256": digest})
        return digest


_SEAL = "checksums.json"


def _save(features: Features, folder: Path, key: str) -> None:
    features.save(folder)
    seal_files(folder / _SEAL, key, sorted(folder.iterdir()))


def _open(folder: Path) -> Features:
    """Open cached features; raise a `DamagedFile`, an `OSError` or a `ValueError` if they are damaged."""
    from benchrunner.features.arrays import Features

    with contextlib.suppress(DamagedFile):  # another process may be replacing the folder: look twice
        check_seal(folder / _SEAL, folder.name, "")
        return Features.open(folder)
    check_seal(folder / _SEAL, folder.name, "")
    return Features.open(folder)
