"""The folder of a run: the fit, its record, its model and its predictions. Every file is written atomically."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchrunner.errors import RequestError, UnknownName, described
from benchrunner.files import write_json
from benchrunner.fits import Fit, Prediction
from benchrunner.json_files import find_json_object
from benchrunner.locks import held
from benchrunner.records import Record

T = TypeVar("T")


@dataclass(frozen=True)
class Family:
    """The backbone family that made a fit, which alone reads the fit's model. Not part of the fit's identity."""

    plugin: str
    """The plugin's name and distribution, as in `Fit.suppliers`."""
    name: str
    """See `BackboneFamily.name`."""
    parts: tuple[Family, ...] = ()
    """See `BackboneFamily.parts`."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Family:
        """Make a family from the content of `family.json`."""
        return cls(data["plugin"], data["name"], tuple(cls.from_dict(part) for part in data.get("parts", ())))


class RunFolder:
    """The folder of one fit: fit.json, family.json, record.json, log.jsonl, model/, outputs/ and predictions/<id>/.

    While the fit runs, checkpoint/ is there as well.
    """

    def __init__(self, runs: Path, fit: str) -> None:
        self.path = runs / fit
        self.model = self.path / "model"
        self.checkpoint = self.path / "checkpoint"
        self.log = self.path / "log.jsonl"

    def fit(self) -> Fit:
        """Read the fit; raise a `RequestError` if the file is missing or belongs to another fit."""
        path = self.path / "fit.json"
        fit = _read(path, Fit.from_dict)
        if fit is None:
            raise RequestError(
                f"{path}: there is no such file. It says what the run is; without it, remove the folder."
            )
        if fit.id != self.path.name:
            raise RequestError(
                f"{path}: this is the fit {fit.id}, not its folder's: it was edited, or written by another version."
            )
        return fit

    def family(self) -> Family | None:
        """Read which backbone family made the fit; None for fits of versions that did not record it."""
        return _read(self.path / "family.json", Family.from_dict)

    def keep_fit(self, fit: Fit) -> None:
        """Write the fit to `fit.json`, before training starts."""
        write_json(self.path / "fit.json", fit.as_dict())

    def keep_family(self, family: Family) -> None:
        """Write which backbone family makes the fit."""
        write_json(self.path / "family.json", dataclasses.asdict(family))

    def keep_record(self, record: Record) -> None:
        """Write the fit's record, which makes the fit finished."""
        write_json(self.path / "record.json", record.as_json())

    def keep_traceback(self, error: Exception) -> str:
        """Write the traceback of the current exception to the folder, and return the error in one line."""
        path = self.path / "traceback.txt"
        path.write_text(traceback.format_exc(), encoding="utf-8")
        return f"{described(error)} (see {path})"

    def record(self) -> Record | None:
        """Read the fit's record; None if the fit is not finished."""
        return _read(self.path / "record.json", Record.from_json)

    def prediction(self, prediction: str) -> Path:
        """Return the folder of a prediction."""
        return self.path / "predictions" / prediction

    def prediction_record(self, prediction: str) -> Record | None:
        """Read a prediction's record; None if there is none."""
        return _read(self.prediction(prediction) / "record.json", Record.from_json)

    def outputs(self, outputs: str) -> Path:
        """Return the file of raw outputs with this id."""
        return self.path / "outputs" / f"{outputs}.npy"

    def tuned(self, key: str) -> dict[str, Any]:
        """Read the settings that were tuned under this key; an empty key accepts any. Empty if there are none."""
        kept = _read(self.path / "tuned.json", dict) or {}
        return dict(kept["settings"]) if kept and key in ("", kept.get("key")) else {}

    def keep_tuned(self, key: str, settings: Mapping[str, Any]) -> None:
        """Write tuned settings; the key names the task and the rows they were tuned on."""
        write_json(self.path / "tuned.json", {"key": key, "settings": dict(settings)})

    def sweep(self) -> None:
        """Remove temporary files of killed processes. The caller must hold the folder's lock."""
        for part in self.path.rglob(".*.part"):
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink(missing_ok=True)

    def locked(self, waiting: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that locks the folder; call `waiting` if another process holds the lock."""
        return held(self.path, waiting)


def _read(path: Path, understand: Callable[[Mapping[str, Any]], T]) -> T | None:
    """Read a JSON file; None if it is missing, a `RequestError` if it is damaged."""
    data = find_json_object(path, error=RequestError, advice="Remove its folder, and it is made again.")
    if data is None:
        return None
    try:
        return understand(data)
    except (ValueError, KeyError, TypeError, AttributeError, RequestError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RequestError(f"{path}: cannot be read by this version ({reason}); remove its folder.") from None


def answer_lines(answers: Sequence[Any]) -> list[str]:
    """Return answers as lines of JSON, which `read_answers` reads."""
    return [json.dumps({"index": index, "answer": answer}, ensure_ascii=False) for index, answer in enumerate(answers)]


def write_prediction(folder: Path, prediction: Prediction, record: Record, lines: Sequence[str]) -> None:
    """Write the prediction, its record, and its answers as lines of JSON."""
    (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, value in (("prediction", dataclasses.asdict(prediction)), ("record", record.as_json())):
        text = json.dumps(value, indent=2, ensure_ascii=False)
        (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def read_answers(path: Path) -> list[Any]:
    """Read the answers of a prediction, one for each row."""
    try:
        text = path.read_bytes().decode()  # answers may hold U+2028, at which `splitlines` splits
        lines = text.removesuffix("\n").replace("\n", ",")  # one list is read in a third of the time of its lines
        return [line["answer"] for line in json.loads(f"[{lines}]")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(
            f"{path}: damaged ({error}); remove its folder, and the prediction is computed again."
        ) from None


def find_run(runs: Path, reference: str) -> RunFolder:
    """Find a run by its id, by an unambiguous beginning of the id, or by its folder."""
    name = reference.removeprefix("run:")
    if name and (Path(name) / "fit.json").is_file():
        return RunFolder(Path(name).resolve().parent, Path(name).resolve().name)
    known = sorted(path.parent.name for path in runs.glob("*/fit.json"))
    matches = [run for run in known if name and run.startswith(name)]
    if len(matches) > 1 and name not in matches:
        raise RequestError(f"'{name}' could be the runs {', '.join(matches)}: give more of its id.")
    if not matches:
        raise UnknownName("run", name, known, f"Looked in {runs}.")
    return RunFolder(runs, name if name in matches else matches[0])
