"""The folder of a run: the fit, its record, its model and its predictions. Every file is written atomically."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchrunner.errors import DamagedFile, RequestError, UnknownName
from benchrunner.fits.fit import Fit, Prediction, Record
from benchrunner.io.decoding import from_json
from benchrunner.io.files import remove, remove_whole
from benchrunner.io.locks import held, held_if_free, is_held, is_read_only
from benchrunner.io.seals import (
    check_files,
    checked_content,
    checksum,
    made_again,
    read_sealed,
    sealed,
    write_sealed,
)
from benchrunner.plugins.registry import Plugins

T = TypeVar("T")
Named = TypeVar("Named", Fit, Prediction, Record)

OTHER_RUNS = "--runs DIR names another folder of fits."
"""Advice where a run or a study is not found."""

ANSWERS = "answers.jsonl"
"""Name of the file with the answers of a prediction."""
_TRACEBACK = "traceback.txt"
_PARSED = 4096
"""Answers that are parsed together: the parsed lines of a million answers would take 300 MB."""


@dataclass(frozen=True)
class Family:
    """The backbone family that made a fit, which alone reads the fit's model. Not part of the fit's identity."""

    plugin: str
    """The plugin's name and distribution, as in `Fit.suppliers`."""
    name: str
    """See `BackboneFamily.name`."""


@dataclass(frozen=True)
class _Tuned:
    """Settings that were tuned on the rows of dev."""

    key: str
    """Names the task and the rows."""
    settings: Mapping[str, Any]


class RunFolder:
    """The folder of one fit.

    It has fit.json, family.json, record.json, log.jsonl, model/, outputs/ and predictions/<id>/. While the fit runs,
    checkpoint/ is there as well; until a longer fit has gone on from it, state/ is.
    """

    def __init__(self, runs: Path, fit: str) -> None:
        self.path = runs / fit

    @property
    def model(self) -> Path:
        """Folder of the weights."""
        return self.path / "model"

    @property
    def checkpoint(self) -> Path:
        """Folder of the state of a fit that is not finished."""
        return self.path / "checkpoint"

    @property
    def state(self) -> Path:
        """Folder of the state that a fit leaves to a longer fit of the same training."""
        return self.path / "state"

    @property
    def log(self) -> Path:
        """File with a line for every few steps of training."""
        return self.path / "log.jsonl"

    def fit(self) -> Fit:
        """Read the fit; raise a `DamagedFile` if the file is missing or belongs to another fit."""
        return _own(Fit, self.path / "fit.json")

    def family(self) -> Family:
        """Read which backbone family made the fit."""
        return _read(Family, self.path / "family.json")

    def keep_fit(self, fit: Fit) -> None:
        """Write the fit to `fit.json`, before training starts."""
        write_sealed(self.path / "fit.json", dataclasses.replace(fit, shorter="", leaves_state=False))

    def keep_family(self, family: Family) -> None:
        """Write which backbone family makes the fit."""
        write_sealed(self.path / "family.json", family)

    def keep_record(self, record: Record) -> None:
        """Write the fit's record, which makes the fit finished; remove the traceback of an earlier failure."""
        write_sealed(self.path / "record.json", record)
        if record.status == "done":
            (self.path / _TRACEBACK).unlink(missing_ok=True)

    def keep_traceback(self, error: BaseException, plugins: Plugins) -> str:
        """Write the traceback of an error that nothing expected to the folder; explain the error, with this path."""
        _, text = plugins.explained(error)
        if self.is_read_only:
            return text
        path = self.path / _TRACEBACK
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="backslashreplace")
        return f"{text} (see {path})"

    @property
    def is_read_only(self) -> bool:
        """Whether the folder is there and cannot be written to, as on a disk with the runs of somebody else."""
        return is_read_only(self.path)

    def record(self) -> Record | None:
        """Read the fit's record; None if the fit is not finished."""
        return _record(self.path)

    def finished_record(self) -> Record | None:
        """Read the fit's record; None if the fit must run, because it is not finished or has failed."""
        record = self.record()
        return None if record is None or record.status == "failed" else record

    def check_model(self, record: Record) -> None:
        """Raise a `DamagedFile` if the files of the model are not those that the fit left."""
        check_files(self.model, record.checksums, made_again(self.model), alone=True)

    def prediction(self, prediction: str) -> Path:
        """Return the folder of a prediction."""
        return self.path / "predictions" / prediction

    def prediction_record(self, prediction: str) -> Record | None:
        """Read a prediction's record; None if there is none."""
        return _record(self.prediction(prediction))

    def predictions(self, task: str = "", split: str = "") -> Iterator[tuple[Prediction, float, Path]]:
        """Yield every finished prediction of a split, with its date in seconds since 1970 and its folder.

        Without task and split, these are all predictions of the fit.
        """
        home = self.prediction("")
        for folder in sorted(home.iterdir()) if home.is_dir() else ():
            record = folder / "record.json"
            if folder.name.startswith(".") or not record.is_file():
                continue
            prediction = read_prediction(folder)
            if not task or (prediction.task, prediction.split) == (task, split):
                yield prediction, record.stat().st_mtime, folder

    def outputs(self, outputs: str) -> Path:
        """Return the file of raw outputs with this id."""
        return self.path / "outputs" / f"{outputs}.npy"

    def tuned(self, key: str) -> dict[str, Any]:
        """Read the settings that were tuned under this key; an empty key accepts any. Empty if there are none."""
        path = self.path / "tuned.json"
        kept = _read(_Tuned, path, path) if path.exists() else None
        return dict(kept.settings) if kept is not None and key in ("", kept.key) else {}

    def keep_tuned(self, key: str, settings: Mapping[str, Any]) -> None:
        """Write tuned settings; the key names the task and the rows they were tuned on."""
        write_sealed(self.path / "tuned.json", _Tuned(key, settings))

    def take_over(self, shorter: RunFolder) -> None:
        """Move the state that a shorter fit left to this fit, and copy its log, unless this fit has begun."""
        if self.checkpoint.exists():
            return
        with contextlib.suppress(FileNotFoundError):  # it left none, or another process has gone on from it
            shutil.copyfile(shorter.log, self.log)  # first: a fit with a checkpoint has begun
            shorter.state.rename(self.checkpoint)

    def forget_state(self) -> None:
        """Remove the state that the fit left."""
        if self.state.exists():
            remove_whole(self.state)

    def sweep(self) -> None:
        """Remove temporary files of killed processes, and the checkpoint of a fit that is done.

        The caller must hold the folder's lock.
        """
        if not self.is_read_only:
            for part in self.path.rglob(".*.part"):
                remove(part)
        if self.checkpoint.exists() and self.model.exists():
            record = self.record()
            if record is not None and record.status == "done":
                shutil.rmtree(self.checkpoint, ignore_errors=True)

    @property
    def is_in_use(self) -> bool:
        """Whether another process works in the folder."""
        return is_held(self.path)

    def remove(self, part: str = "") -> bool:
        """Remove the folder, or a part of it, unless another process works in it; return whether this was done."""
        with held_if_free(self.path) as is_free:
            if is_free:
                remove_whole(self.path / part)
            return is_free

    def locked(self, waiting: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that locks the folder; call `waiting` if another process holds the lock."""
        return held(self.path, waiting)


def _read(kind: type[T], path: Path, place: Path | None = None) -> T:
    """Read a sealed JSON file.

    If it is missing or damaged, raise a `DamagedFile` that says to remove the place, by default the file's folder.
    """
    remedy = made_again(place or path.parent)
    return from_json(kind, read_sealed(path, remedy), path, DamagedFile, remedy)


def _own(kind: type[Named], path: Path) -> Named:
    """Read a file of a folder whose name is the id of what is read; raise a `DamagedFile` if it is another one's."""
    value = _read(kind, path)
    if value.id != path.parent.name:
        raise DamagedFile(
            f"{path}: this file is of {value.id}, and its folder is that of {path.parent.name}: it was edited, or "
            f"written by another version. {made_again(path.parent)}"
        )
    return value


def _record(folder: Path) -> Record | None:
    """Read the record in the folder of a fit or of a prediction; None if it is missing."""
    path = folder / "record.json"
    return _own(Record, path) if path.exists() else None


def answer_lines(answers: Sequence[Any]) -> list[str]:
    """Return answers as lines of JSON, which `read_answers` reads."""
    return [json.dumps({"index": index, "answer": answer}, ensure_ascii=False) for index, answer in enumerate(answers)]


def write_prediction(folder: Path, prediction: Prediction, record: Record, lines: Sequence[str]) -> None:
    """Write the three files of a prediction into its folder.

    These are `prediction.json` (what was asked), `record.json` (the scores, with a checksum of the answers), and the
    answers: `lines` has the JSON text of each answer, in the order of the rows.
    """
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    (folder / ANSWERS).write_bytes(content)
    record = dataclasses.replace(record, checksums={ANSWERS: checksum(content)})
    (folder / "prediction.json").write_bytes(sealed(prediction))
    (folder / "record.json").write_bytes(sealed(record))


def read_prediction(folder: Path) -> Prediction:
    """Read what a prediction answers.

    Raises a `DamagedFile` if the file is missing, damaged or of another folder.
    """
    return _own(Prediction, folder / "prediction.json")


def read_answers(folder: Path, record: Record) -> list[Any]:
    """Read the answers of a prediction, one for each row; raise a `DamagedFile` if they are not as they were written.

    `record` is the record of the prediction.
    """
    path = folder / ANSWERS
    content = checked_content(path, record.checksums.get(ANSWERS), made_again(folder))
    return parse_answers(content.decode().removesuffix("\n").split("\n"))  # answers may hold U+2028


def parse_answers(lines: Sequence[str]) -> list[Any]:
    """Return the answers in lines of JSON."""
    answers = list[Any]()
    for start in range(0, len(lines), _PARSED):  # three times as fast as line by line
        parsed = json.loads(f"[{','.join(lines[start : start + _PARSED])}]")
        answers += [line["answer"] for line in parsed]
    return answers


def find_run(runs: Path, reference: str) -> RunFolder:
    """Find a run by its id, an unambiguous beginning of it, or its folder."""
    name = reference.removeprefix("run:")
    folder = Path(name).resolve()
    if name and (folder / "fit.json").is_file():
        return RunFolder(folder.parent, folder.name)
    known = sorted(path.parent.name for path in runs.glob("*/fit.json"))
    matches = [run for run in known if name and run.startswith(name)]
    if len(matches) > 1 and name not in matches:
        raise RequestError(f"'{name}' could be the runs {', '.join(matches)}: give more of its id.")
    if not matches:
        raise UnknownName("run", name, known, f"Looked in {runs}; {OTHER_RUNS}")
    return RunFolder(runs, matches[0])  # the shortest: a whole id stands before those that begin with it
