"""Uploads: all arrays of a batch in one copy that nothing waits for, and none on the CPU."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchrunner.features.arrays import IGNORED, Features, copied, on_device
from benchrunner.features.flat_batch import FlatBatch, collate

CPU, META = torch.device("cpu"), torch.device("meta")
ARRAYS = {
    "bytes": np.arange(5, dtype=np.int8),
    "truths": np.array([[True, False], [False, True]]),
    "none": np.empty((0, 3), dtype=np.float32),
    "reals": np.array([0.5, -np.inf], dtype=np.float32),
    "numbers": np.array([2**40, -1]),
    "starts": np.array([0, 3, 8], dtype=np.int32),
}


class Copies(TorchDispatchMode):
    """Counts the copies from the host to a device."""

    def __init__(self) -> None:
        super().__init__()
        self.blocking = list[bool]()

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        if function is torch.ops.aten._to_copy.default and arguments[0].device == CPU:
            self.blocking.append(not options.get("non_blocking", False))
        return function(*arguments, **(options or {}))


def features() -> Features:
    tokens = np.arange(9, dtype=np.int32)
    return Features(
        tokens=tokens,
        segments=(tokens % 2).astype(np.int8),
        starts=np.array([0, 4, 6, 9]),
        groups=np.arange(4),
        owner=np.arange(3),
        targets={"label": np.arange(3), "right": np.eye(3, 2, dtype=bool), "score": np.ones(3, dtype=np.float32)},
        token_targets={"tag": np.full(9, IGNORED)},
    )


def test_tensors_copied_in_one_piece_equal_the_arrays() -> None:
    for name, tensor in copied(ARRAYS, CPU).items():
        expected = torch.from_numpy(ARRAYS[name])
        assert tensor.dtype == expected.dtype and torch.equal(tensor, expected), name
        assert tensor.storage_offset() * tensor.element_size() % 8 == 0


def test_a_graph_records_no_copy_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay would copy what the memory of the host holds by then, and nothing would tell."""
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(RuntimeError, match=r"cannot copy from memory of the host again \(bytes, truths"):
        copied(ARRAYS, torch.device("cuda"))


def test_nothing_is_copied_on_the_cpu() -> None:
    for name, tensor in on_device(ARRAYS, CPU).items():
        assert tensor.data_ptr() == ARRAYS[name].ctypes.data or not ARRAYS[name].size, name


def test_a_batch_takes_one_copy_that_nothing_waits_for() -> None:
    with Copies() as copies:
        batch = collate(features(), np.array([2, 0]), META, multiple=8)
    assert copies.blocking == [False]
    expected = collate(features(), np.array([2, 0]), CPU, multiple=8)
    for name in ("tokens", "segments", "positions", "starts", "restore"):
        tensor, other = getattr(batch, name), getattr(expected, name)
        assert (tensor.device, tensor.dtype, tensor.shape) == (META, other.dtype, other.shape), name
    assert {name: (target.dtype, target.shape) for name, target in batch.targets.items()} == {
        name: (target.dtype, target.shape) for name, target in expected.targets.items()
    }
    assert np.array_equal(batch.feature_positions, expected.feature_positions), "stays on the host"


def test_the_borders_of_sequences_are_not_read_back() -> None:
    """On the meta device, a read of a value and a result of unknown size raise an error."""
    batch: FlatBatch = collate(features(), np.arange(3), META)
    with Copies() as copies:
        assert len(batch.owner)
    assert not any(copies.blocking)
