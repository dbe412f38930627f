"""Cache of encoded rows and of file hashes on disk."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import fingerprint
from benchrunner.errors import DamagedFile, first_line
from benchrunner.io.files import write_folder_atomically
from benchrunner.io.identity import identity
from benchrunner.io.seals import check_seal, file_checksum, file_sample, find_sealed, seal_files, write_sealed

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.parameters.recipes import Recipe
    from benchrunner.problems.problem import Problem


def _is_unchanged(path: Path, kept: Mapping[str, Any]) -> bool:
    """Return whether a file has the content that was hashed, or nobody asks to read it."""
    return not _READS_WHOLE.get() or kept["checksum_of_file"] == file_checksum(path)


_READS_WHOLE = ContextVar("reads_whole", default=False)


@contextlib.contextmanager
def files_read_whole() -> Iterator[None]:
    """Let `Cache.file_hash` read files whole in the `with` block: a fit is about to read them anyway.

    The checksum that is compared reads 9 GB in a second.
    """
    before = _READS_WHOLE.set(True)
    try:
        yield
    finally:
        _READS_WHOLE.reset(before)


class Cache:
    """Folder of encoded rows and of hashes of files.

    A key is a hash of everything that its value depends on.
    """

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
        features = problem.encode(table, encoder, recipe, training=training)
        write_folder_atomically(folder, lambda part: _save(features, part, key))
        with contextlib.suppress(DamagedFile, OSError, ValueError):  # another process may be replacing the folder
            return _open(folder)
        return features

    def file_hash(self, path: Path) -> str:
        """Give the sha256 of a file, computed again if the file changed.

        A change is noticed by path, size, times of change, inode and a sample of the content. The times alone would
        miss files that were edited in place and got their old time back. Within `files_read_whole`, a change is also
        noticed that leaves all of these as they were, such as one through a memory map on a tmpfs.
        """
        path = path.resolve()
        facts = path.stat()
        times = {"time": facts.st_mtime_ns, "change": facts.st_ctime_ns}
        place = {"path": str(path), "size": facts.st_size, "inode": facts.st_ino}
        key = identity({**place, **times, "sample": file_sample(path)})
        memory = self.folder / "hashes" / f"{key}.json"
        with contextlib.suppress(DamagedFile):
            kept = find_sealed(memory, "")
            if kept is not None and kept["of"] == key and _is_unchanged(path, kept):
                return str(kept["sha256"])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        write_sealed(memory, {"of": key, "sha256": digest, "checksum_of_file": file_checksum(path)})
        return digest


_SEAL = "checksums.json"


def _save(features: Features, folder: Path, key: str) -> None:
    features.save(folder)
    seal_files(folder / _SEAL, key, sorted(folder.iterdir()))


def _open(folder: Path) -> Features:
    """Open cached features; raise a `DamagedFile`, an `OSError` or a `ValueError` if they are damaged."""
    from benchrunner.features.arrays import Features

    check_seal(folder / _SEAL, folder.name, "")
    return Features.open(folder)
