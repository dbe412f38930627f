"""The cache of encoded rows: read if nothing changed, computed again after any change or damage."""

import hashlib
import os
import random
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from benchrunner.features.arrays import Sequences
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.problems.sentences import Classify
from benchrunner.training.feature_cache import Cache
from benchrunner_kit.testing import MOOD, TinyEncoder, sentences as columns

CODE = {"core": "1"}


def sentences(count: int) -> pa.Table:
    return pa.table(columns(count))


class Counting(TinyEncoder):
    """Counts how often it encodes rows."""

    assembled = 0

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        self.assembled += 1
        return super().assemble(first, second, max_length)


def encodings(
    cache: Cache,
    table: pa.Table,
    *,
    problem: Problem = MOOD,
    fingerprint: str = "tiny",
    length: int = 32,
    code: Mapping[str, str] = CODE,
    place: Literal["first", "last"] = "first",
    training: bool = True,
) -> int:
    """Ask the cache for features, check them, and count how often the encoder encoded rows."""
    encoder = Counting()
    encoder.tokenizer_fingerprint = fingerprint
    encoder.summary_place = place
    recipe = Recipe(max_length=length)
    features = cache.features(table, problem, encoder, recipe, code, training=training)
    expected = problem.encode(table, TinyEncoder(), recipe, training=True)
    assert np.array_equal(features.tokens, expected.tokens) and np.array_equal(features.starts, expected.starts)
    assert np.array_equal(features.targets["label"], expected.targets["label"])
    return encoder.assembled


def test_rows_are_encoded_once(tmp_path: Path) -> None:
    table = sentences(20)
    assert encodings(Cache(tmp_path), table) == 1
    assert encodings(Cache(tmp_path), table) == 0
    assert encodings(Cache(tmp_path), sentences(20)) == 0, "equal rows are the same rows"


def test_whatever_changes_the_result_is_a_miss(tmp_path: Path) -> None:
    cache, table = Cache(tmp_path), sentences(20)
    assert encodings(cache, table) == 1
    texts = sentences(20).to_pylist()
    texts[7]["a"] += " more"
    assert encodings(cache, pa.Table.from_pylist(texts)) == 1, "the text"
    labels = sentences(20).to_pylist()
    labels[7]["label"] = "glad" if labels[7]["label"] == "sad" else "sad"
    assert encodings(cache, pa.Table.from_pylist(labels)) == 1, "a label"
    assert encodings(cache, table.slice(0, 19)) == 1, "the number of rows"
    assert encodings(cache, table, fingerprint="another") == 1, "the tokenizer"
    assert encodings(cache, table, length=8) == 1, "the length"
    assert encodings(cache, table, problem=Classify(("sad", "glad"))) == 1, "the problem"
    assert encodings(cache, table, code={"core": "2"}) == 1, "the code"
    assert encodings(cache, table, place="last") == 1, "the place of the summary"
    assert encodings(cache, table, training=False) == 1, "whether they are trained on"
    assert encodings(cache, table) == 0, "and the first is still there"


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "no folder"])
def test_a_damaged_folder_is_made_again(tmp_path: Path, damage: str) -> None:
    cache, table = Cache(tmp_path), sentences(20)
    encodings(cache, table)
    (folder,) = (tmp_path / "features").iterdir()
    for name in sorted(path.name for path in folder.iterdir()):
        path = folder / name
        if damage == "missing":
            path.unlink()
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[:-5])
        else:
            shutil.rmtree(folder, ignore_errors=True)
        assert encodings(cache, table) == 1, name
        assert encodings(cache, table) == 0, name


def test_writers_at_the_same_time_all_get_the_right_features(tmp_path: Path) -> None:
    cache, table, writers = Cache(tmp_path), sentences(30), 6
    faults: list[BaseException] = []
    for round_ in range(8):
        together = threading.Barrier(writers)

        def work(length: int, together: threading.Barrier = together) -> None:
            together.wait()
            try:
                encodings(cache, table, length=length)
            except BaseException as error:
                faults.append(error)

        threads = [threading.Thread(target=work, args=(10 + round_,)) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not faults
    assert all(encodings(cache, table, length=10 + round_) == 0 for round_ in range(8))
    assert not [path for path in (tmp_path / "features").iterdir() if path.name.startswith(".")], "nothing half written"


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, path = Cache(tmp_path / "cache"), tmp_path / "weights"
    path.write_bytes(b"one")
    first = cache.file_hash(path)
    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    with monkeypatch.context() as changed:
        changed.setattr("hashlib.file_digest", lambda file, name: pytest.fail("hashed again"))
        assert cache.file_hash(path) == first
    path.write_bytes(b"two")
    assert cache.file_hash(path) == hashlib.sha256(b"two").hexdigest()


def test_weights_edited_in_place_are_noticed_with_old_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, path = Cache(tmp_path / "cache"), tmp_path / "weights"
    content = bytearray(random.Random(0).randbytes(1 << 20))
    path.write_bytes(content)
    before, first = path.stat(), cache.file_hash(path)
    content[500_000:900_000] = bytes(400_000)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.file_hash(path) == hashlib.sha256(content).hexdigest() != first

    other = Cache(tmp_path / "other")  # also where a file system has no time of the last change
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **options: before if self == path else stat(self, **options))
    kept = other.file_hash(path)
    content[:10_000] = bytes(10_000)
    path.write_bytes(content)
    assert other.file_hash(path) == hashlib.sha256(content).hexdigest() != kept


@pytest.mark.parametrize("damage", ["empty", "cut", "edited", "another", "zeros", "huge", "brackets"])
def test_a_damaged_memory_of_a_hash_gives_no_other_hash(tmp_path: Path, damage: str) -> None:
    cache, path, second = Cache(tmp_path / "cache"), tmp_path / "weights", tmp_path / "second"
    path.write_bytes(b"one")
    second.write_bytes(b"two")
    first = cache.file_hash(path)
    (memory,) = (tmp_path / "cache" / "hashes").iterdir()
    cache.file_hash(second)
    (another,) = set((tmp_path / "cache" / "hashes").iterdir()) - {memory}
    content = memory.read_bytes()
    if damage == "huge":
        os.truncate(memory, 5 << 30)
    else:
        edited = content.replace(first[:8].encode(), b"00000000")
        damaged = {"empty": b"", "cut": content[:-30], "edited": edited, "another": another.read_bytes()}
        memory.write_bytes({**damaged, "zeros": bytes(len(content)), "brackets": b"[" * 100_000}[damage])
    assert cache.file_hash(path) == first
    assert memory.read_bytes() == content


def test_the_summarys_place_and_training_are_in_the_key(tmp_path: Path) -> None:
    cache, table, encoder = Cache(tmp_path), sentences(20), Counting()
    places: tuple[Literal["first", "last"], ...] = ("first", "last")
    for _ in range(2):
        for encoder.summary_place in places:
            for training in (True, False):
                cache.features(table, MOOD, encoder, Recipe(), CODE, training=training)
    assert encoder.assembled == 4


def test_damaged_features_are_told(tmp_path: Path) -> None:
    notes: list[str] = []
    for _ in range(2):
        Cache(tmp_path).features(sentences(20), MOOD, TinyEncoder(), Recipe(), CODE, training=True, note=notes.append)
        (folder,) = (tmp_path / "features").iterdir()
        next(folder.glob("*.npy")).write_bytes(b"")
    (note,) = notes
    assert note.startswith("cached features are damaged, so the rows are encoded again (")
