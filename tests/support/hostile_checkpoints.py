"""Checkpoints in which one file is hostile: of another kind, endless, empty, or with values of other types.

`python hostile_checkpoints.py PLUGIN ORIGINAL FOLDER` gives each of them to a plugin, and prints a line of
JSON for each.
"""

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchrunner import RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from file_damages import pipe

FILES = (
    *("config.json", "model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "summary.safetensors"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "modeling.py"),
)
"""Files that some plugin reads, or a library for it."""
VALUES = (None, True, -1, 1e308, "x", [[]], {"a": []})


def as_socket(path: Path) -> None:
    path.unlink()
    before = Path.cwd()
    os.chdir(path.parent)  # the whole path may be too long for a socket
    socket.socket(socket.AF_UNIX).bind(path.name)
    os.chdir(before)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": pipe,
    "socket": as_socket,
    "folder": as_folder,
    "sparse": lambda path: os.truncate(path, 1 << 40),
    "empty": lambda path: os.truncate(path, 0),
    "zeros": lambda path: path.write_bytes(bytes(1 << 20)),
    "list": lambda path: path.write_text("[]"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
}


def damaged(original: Path, folder: Path) -> Iterator[str]:
    """Put one hostile checkpoint after the other into a folder, and yield what is hostile."""
    for name in FILES:
        for kind, damage in KINDS.items():
            copy(original, folder)
            if name.startswith(("pytorch_model", "model.safetensors.")):
                shutil.copy(folder / "model.safetensors", folder / name)
                (folder / "model.safetensors").unlink()
            (folder / name).touch()
            damage(folder / name)
            yield f"{name}: {kind}"
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        settings = json.loads((original / name).read_text(encoding="utf-8"))
        for key in settings:
            for value in VALUES:
                copy(original, folder)
                (folder / name).write_text(json.dumps({**settings, key: value}), encoding="utf-8")
                yield f"{name}: {key} is {value!r}"


def copy(original: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)


def main(plugin: str, original: Path, home: Path) -> None:
    folder = home / "checkpoint"
    workspace = Workspace(home / "runs", home / "cache", settings=Settings(offline=True))
    search = discover().backbone_search
    for case in damaged(original, folder):
        started, message = time.monotonic(), ""
        try:
            backbone, _ = search.find(f"{plugin}:{folder}", workspace)
            backbone.revision(workspace)
        except RequestError as error:
            message = str(error)
        except Exception as error:
            message = f"not caught: {error!r}"
        print(json.dumps([case, time.monotonic() - started, message]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
