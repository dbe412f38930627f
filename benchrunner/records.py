"""What came out: records and the folders they live in. Nothing here is ever half written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from benchrunner.errors import RequestError, UnknownName
from benchrunner.fits import Fit, Prediction
from benchrunner.metrics import Score

T = TypeVar("T")

Status = Literal["done", "diverged", "failed"]

CHECKPOINT_SECONDS = 120.0
"""Between two checkpoints: what a kill -9 can cost. Where they fall changes no result."""


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
        write(part)
        for one in (part, *part.rglob("*")):
            one.chmod((0o777 if one.is_dir() else 0o666) & ~_umask())  # safetensors makes files for their owner alone
            sync(one)
        old = part.with_suffix(".old.part")
        with contextlib.suppress(FileNotFoundError):
            path.replace(old)  # no reader ever sees a folder that is half removed
        try:
            part.replace(path)
        except OSError:
            if not path.is_dir():
                raise
        sync(path.parent)
        shutil.rmtree(old, ignore_errors=True)
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


@contextlib.contextmanager
def held(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a folder alone. The operating system lets go of the lock when its owner dies, however it dies."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


class RunFolder:
    """One fit's folder: fit.json, record.json, log.jsonl, model/, predictions/<id>/, and checkpoint/ while it runs."""

    def __init__(self, runs: Path, fit: str) -> None:
        self.path = runs / fit
        self.model = self.path / "model"
        self.checkpoint = self.path / "checkpoint"
        self.log = self.path / "log.jsonl"

    def fit(self) -> Fit:
        """What was asked of it."""
        path = self.path / "fit.json"
        fit = _read(path, Fit.from_dict)
        if fit is None:
            raise RequestError(f"{path}: there is no such file, so nothing says what this run is.")
        if fit.id != self.path.name:
            raise RequestError(
                f"{path}: this is the fit {fit.id}, not its folder's: it was edited, or written by another version."
            )
        return fit

    def record(self) -> Record | None:
        return _read(self.path / "record.json", Record.from_json)

    def prediction(self, prediction: str) -> Path:
        return self.path / "predictions" / prediction

    def prediction_record(self, prediction: str) -> Record | None:
        return _read(self.prediction(prediction) / "record.json", Record.from_json)

    def outputs(self, outputs: str) -> Path:
        return self.path / "outputs" / f"{outputs}.npy"

    def tuned(self, key: str) -> dict[str, Any]:
        """What was tuned for this task on these rows, or on the last ones at hand where the key is empty."""
        kept = _read(self.path / "tuned.json", dict) or {}
        return dict(kept["settings"]) if kept and key in ("", kept.get("key")) else {}

    def keep_tuned(self, key: str, settings: Mapping[str, Any]) -> None:
        write_json(self.path / "tuned.json", {"key": key, "settings": dict(settings)})

    def sweep(self) -> None:
        """Remove what writers that were killed left behind; only for the holder of the lock."""
        for part in self.path.rglob(".*.part"):
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink(missing_ok=True)

    def locked(self, waiting: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Hold this fit alone."""
        return held(self.path, waiting)


def _read(path: Path, understand: Callable[[Mapping[str, Any]], T]) -> T | None:
    """A JSON file's value, or None where there is none."""
    try:
        return understand(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RequestError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RequestError(f"{path}: nothing that this version can read ({reason}); remove its folder.") from None


def write_prediction(folder: Path, prediction: Prediction, record: Record, lines: Sequence[str]) -> None:
    """What was asked, what came out, and the answers, each a line of JSON: read again by `read_answers`."""
    (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, value in (("prediction", dataclasses.asdict(prediction)), ("record", record.as_json())):
        text = json.dumps(value, indent=2, ensure_ascii=False)
        (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def read_answers(path: Path) -> list[Any]:
    """A prediction's answers, one a row."""
    try:
        return [json.loads(line)["answer"] for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{path}: damaged ({error}); remove its folder, and it is made again.") from None


def find_run(runs: Path, reference: str) -> RunFolder:
    """A run by its id, by the beginning of it that is unambiguous, or by its folder."""
    name = reference.removeprefix("run:")
    if name and (Path(name) / "fit.json").is_file():
        return RunFolder(Path(name).resolve().parent, Path(name).resolve().name)
    known = sorted(path.parent.name for path in runs.glob("*/fit.json"))
    matches = [one for one in known if name and one.startswith(name)]
    if len(matches) > 1 and name not in matches:
        raise RequestError(f"'{name}' could be the runs {', '.join(matches)}: give more of its id.")
    if not matches:
        raise UnknownName("run", name, known, f"Looked in {runs}.")
    return RunFolder(runs, name if name in matches else matches[0])
