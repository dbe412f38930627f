"""What came out: records and the folders they live in. Nothing here is ever half written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchrunner.errors import RequestError, UnknownName
from benchrunner.fits import Fit
from benchrunner.metrics import Score

Status = Literal["done", "diverged", "failed"]


@dataclass(frozen=True)
class Record:
    """What a fit or a prediction left. Its file is written last: its presence means that the rest is whole."""

    id: str
    status: Status
    reason: str = ""
    """Why it diverged or failed."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """A prediction's, by metric; the first is the headline."""
    flags: tuple[str, ...] = ()
    """Warnings about a done record: nothing flagged leaves a mean."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds, and rates per second."""
    numerics: Mapping[str, Any] = field(default_factory=dict)
    """How it was computed; equal numerics and equal identity give equal bits."""
    notes: tuple[str, ...] = ()
    """What a reader should know: rows left out, counts that differ, a head that was dropped."""

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "scores": {name: one.as_json() for name, one in self.scores.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        scores = {name: Score.from_json(one) for name, one in data["scores"].items()}
        return cls(**{**data, "scores": scores, "flags": tuple(data["flags"]), "notes": tuple(data["notes"])})


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step that survives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        sync(part)
        part.chmod(0o666 & ~_umask())
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def write_folder_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """The same for a folder of files. An older folder of that name gives way; one made at the same time wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
    try:
        part.chmod(0o777 & ~_umask())
        write(part)
        for one in part.rglob("*"):
            sync(one)
        sync(part)
        shutil.rmtree(path, ignore_errors=True)
        try:
            part.replace(path)
        except OSError:
            if not path.is_dir():
                raise
        sync(path.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def sync(path: Path) -> None:
    """Wait until the disk has it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


class RunFolder:
    """One fit's folder: fit.json, record.json, log.jsonl, model/, predictions/<id>/, and checkpoint/ while it runs."""

    def __init__(self, runs: Path, fit: str) -> None:
        self.path = runs / fit
        self.model = self.path / "model"
        self.checkpoint = self.path / "checkpoint"
        self.log = self.path / "log.jsonl"

    def fit(self) -> Fit:
        return Fit.from_dict(json.loads((self.path / "fit.json").read_text(encoding="utf-8")))

    def record(self) -> Record | None:
        return _record(self.path / "record.json")

    def prediction(self, prediction: str) -> Path:
        return self.path / "predictions" / prediction

    def prediction_record(self, prediction: str) -> Record | None:
        return _record(self.prediction(prediction) / "record.json")

    @contextlib.contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold this fit alone. The operating system lets go of the lock when its owner dies, however it dies."""
        from filelock import FileLock, Timeout

        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def _record(path: Path) -> Record | None:
    try:
        return Record.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{path}: not a record that this version can read ({error}); remove its folder.") from None


def find_run(runs: Path, reference: str) -> RunFolder:
    """A run by its id, by the beginning of it that is unambiguous, or by its folder."""
    name = reference.removeprefix("run:")
    if (Path(name) / "fit.json").is_file():
        return RunFolder(Path(name).resolve().parent, Path(name).resolve().name)
    known = sorted(path.parent.name for path in runs.glob("*/fit.json"))
    matches = [one for one in known if name and one.startswith(name)]
    if len(matches) > 1 and name not in matches:
        raise RequestError(f"'{name}' could be the runs {', '.join(matches)}: give more of its id.")
    if not matches:
        raise UnknownName("run", name, known, f"Looked in {runs}.")
    return RunFolder(runs, name if name in matches else matches[0])
