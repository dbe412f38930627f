"""Cache of encoded rows, of arrays and of file hashes on disk."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import fingerprint
from benchrunner.errors import DamagedFile, first_line
from benchrunner.fits.progress import Event
from benchrunner.io.files import remove, remove_leftovers, temporary_folder, write_folder_atomically
from benchrunner.io.identity import identity
from benchrunner.io.locks import held
from benchrunner.io.seals import check_seal, file_checksum, file_sample, find_sealed, seal_files, write_sealed

if TYPE_CHECKING:
    import numpy as np
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

    def arrays(
        self,
        place: str,
        names: Sequence[str],
        write: Callable[[Path, Sequence[str]], None],
        report: Callable[[Event], None],
    ) -> list[np.ndarray]:
        """Open arrays memory-mapped that belong together, such as the layers of an encoder for one data set.

        `place` is their folder in the cache: its name holds a hash of everything that the arrays depend on. `write` is
        called with a temporary folder and the names of arrays that are missing or damaged, and writes each of them
        there as `NAME.npy`. `report` shows what the user should know. A process waits for another one that writes here.
        """
        folder = self.folder / place
        arrays = _open_arrays(folder, names)
        remove_leftovers(folder)
        if len(arrays) < len(names):
            if folder.exists() and not folder.is_dir():
                remove(folder)
            waiting = Event("waiting", text="another process computes the same arrays")
            with held(folder, lambda: report(waiting)):
                missing = [name for name in names if name not in arrays]
                arrays |= _open_arrays(folder, missing, lambda reason: report(Event("note", text=reason)))
                missing = [name for name in names if name not in arrays]
                if missing:
                    _write_arrays(folder, missing, write)
                    arrays |= _open_arrays(folder, missing)
        return [arrays[name] for name in names]

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
        if not memory.is_file():  # a folder cannot be replaced, and writing into a pipe would wait for ever
            remove(memory)
        write_sealed(memory, {"of": key, "sha256": digest, "checksum_of_file": file_checksum(path)})
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


def _open_arrays(
    folder: Path,
    names: Sequence[str],
    damaged: Callable[[str], None] = lambda reason: None,
) -> dict[str, np.ndarray]:
    """Open the arrays that are cached and as they were written; call `damaged` for an array that is not.

    The seal of an array names the array and its folder, so that exchanged files are noticed.
    """
    import numpy as np

    arrays = {}
    for name in names:
        file, seal = folder / f"{name}.npy", folder / f"{name}.json"
        if file.exists() or seal.exists():
            try:
                check_seal(seal, f"{folder.name}/{file.name}", "")
                arrays[name] = np.load(file, mmap_mode="r", allow_pickle=False)
            except (DamagedFile, OSError, ValueError) as error:
                damaged(f"cached arrays are damaged and computed again ({first_line(error)})")
    return arrays


def _write_arrays(
    folder: Path,
    names: Sequence[str],
    write: Callable[[Path, Sequence[str]], None],
) -> None:
    """Let `write` fill a temporary folder, and move its arrays with their seals to their place in the cache."""
    part = temporary_folder(folder / "arrays")
    try:
        write(part, names)
        for name in names:
            file, seal = part / f"{name}.npy", part / f"{name}.json"
            seal_files(seal, f"{folder.name}/{file.name}", [file])
            for path in (file, seal):
                if (folder / path.name).is_dir():
                    remove(folder / path.name)
                path.replace(folder / path.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
