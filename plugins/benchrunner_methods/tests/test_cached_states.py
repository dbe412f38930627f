"""The cache of a frozen encoder's states: each layer is computed once, and again if its file is damaged."""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchrunner.engine import held
from benchrunner.results import Event
from benchrunner_methods.frozen_states import arrays_in


class Layers:
    """Cached arrays: `written` lists which were asked for, `events` what was said."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "key"
        self.written: list[list[str]] = []
        self.events: list[Event] = []

    def write(self, part: Path, names: Sequence[str]) -> None:
        self.written.append(list(names))
        for name in names:
            np.save(part / f"{name}.npy", np.array([len(name)]))

    def read(self) -> list[int]:
        arrays = arrays_in(self.home, ("a", "bb"), self.write, self.events.append)
        return [int(array[0]) for array in arrays]


def test_arrays_are_computed_once_and_again_if_damaged(tmp_path: Path) -> None:
    layers = Layers(tmp_path)
    assert layers.read() == layers.read() == [1, 2]
    assert (layers.written, layers.events) == ([["a", "bb"]], [])
    (layers.home / "bb.npy").write_bytes(b"")
    assert layers.read() == [1, 2] and layers.written[1:] == [["bb"]]
    (layers.home / "a.json").unlink()
    assert layers.read() == [1, 2] and layers.written[2:] == [["a"]]
    (event,) = layers.events
    assert event.text.startswith("cached arrays are damaged and computed again (")


def test_exchanged_arrays_are_computed_again(tmp_path: Path) -> None:
    layers = Layers(tmp_path)
    layers.read()
    for ending in ("npy", "json"):
        shutil.copy(layers.home / f"bb.{ending}", layers.home / f"a.{ending}")
    assert layers.read() == [1, 2] and layers.written[1:] == [["a"]]


def test_arrays_that_another_process_computes_are_waited_for(tmp_path: Path) -> None:
    layers, holds, ends = Layers(tmp_path), threading.Event(), threading.Event()

    def other() -> None:
        with held(layers.home, lambda: None):
            holds.set()
            ends.wait(60)

    def report(event: Event) -> None:
        layers.events.append(event)
        ends.set()

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    holds.wait(60)
    arrays_in(layers.home, ("a", "bb"), layers.write, report)
    thread.join(60)
    assert [(event.kind, event.text) for event in layers.events] == [
        ("waiting", "another process computes the same arrays")
    ]
