"""Damages of one file, for tests that a reader notices each of them."""

import os
import random
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]


def flip(seed: int) -> Damage:
    """Flip one bit anywhere in the file; the place depends on the seed and the file's name."""

    def damage(path: Path) -> None:
        content, draw = bytearray(path.read_bytes()), random.Random(f"{seed} {path.name}")
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)

    return damage


def cut(share: float) -> Damage:
    """Keep the first part of the file."""

    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])

    return damage


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
