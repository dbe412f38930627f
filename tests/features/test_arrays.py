"""Features: built from sequences, saved and opened again."""

from pathlib import Path

import numpy as np
import pytest

from benchrunner.features.arrays import Features, Sequences
from tiny_fits import features


def same(left: Features, right: Features) -> bool:
    names = ("tokens", "segments", "starts", "groups", "owner")
    parts = [(getattr(left, name), getattr(right, name)) for name in names]
    parts += [(left.targets[name], right.targets[name]) for name in left.targets]
    return left.targets.keys() == right.targets.keys() and all(
        np.array_equal(mine, theirs) and mine.dtype == theirs.dtype for mine, theirs in parts
    )


def test_features_come_back_as_they_were_and_memory_mapped(tmp_path: Path) -> None:
    made = features(20)
    made.save(tmp_path)
    opened = Features.open(tmp_path)
    assert same(opened, made)
    arrays = (opened.tokens, opened.starts, opened.targets["label"])
    assert all(isinstance(array, np.memmap) for array in arrays)


def test_features_without_targets_come_back_without_targets(tmp_path: Path) -> None:
    made = features(3)
    bare = Features(made.tokens, made.segments, made.starts, made.groups, made.owner, {})
    bare.save(tmp_path)
    assert Features.open(tmp_path).targets == {}


def test_by_default_a_sequence_is_a_unit_and_a_row() -> None:
    sequences = Sequences(np.arange(5, dtype=np.int32), np.zeros(5, dtype=np.int8), np.array([0, 2, 5]))
    made = Features.of(sequences, targets={"label": np.array([1, 0])})
    assert (made.groups.tolist(), made.owner.tolist(), made.lengths.tolist()) == ([0, 1, 2], [0, 1], [2, 3])
    assert made.groups.dtype == made.owner.dtype == np.int64
    pair = Features.of(sequences, groups=np.array([0, 2]), owner=np.array([0, 0]))
    assert (pair.units, pair.unit_tokens.tolist(), pair.targets, pair.counts) == (1, [5], {}, None)


FILES = ("tokens.npy", "segments.npy", "starts.npy", "groups.npy", "owner.npy", "targets-label.npy", "contents.json")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_empty_or_truncated_file_is_an_error(tmp_path: Path, name: str) -> None:
    features(20).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    content = (tmp_path / name).read_bytes()
    for damaged in (content[:-3], content[:5], b""):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=r".+"):
            Features.open(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError):
        Features.open(tmp_path)


def test_a_pickle_in_the_place_of_an_array_is_refused(tmp_path: Path) -> None:
    features(5).save(tmp_path)
    np.save(tmp_path / "tokens.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"[Pp]ython objects|allow_pickle"):
        Features.open(tmp_path)
