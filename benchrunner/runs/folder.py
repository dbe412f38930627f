"""What came out: records and the folders they live in. Nothing here is ever half written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchrunner.errors import RequestError, UnknownName
from benchrunner.files import held, write_json
from benchrunner.fits import Fit, Prediction
from benchrunner.records import Record

T = TypeVar("T")


@dataclass(frozen=True)
class Family:
    """Which backbone family made a fit: it alone reads the fit's model. No part of the fit's identity."""

    plugin: str
    """Its plugin's name and distribution, as the fit's suppliers have them."""
    name: str
    """See `BackboneFamily.name`."""


class RunFolder:
    """One fit's folder: fit.json, family.json, record.json, log.jsonl, model/, predictions/<id>/, and checkpoint/.

    The checkpoint is there while the fit runs.
    """

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

    def family(self) -> Family | None:
        """The backbone family that made the fit; None for fits of versions that did not record it."""
        return _read(self.path / "family.json", lambda data: Family(**data))

    def keep_family(self, family: Family) -> None:
        write_json(self.path / "family.json", dataclasses.asdict(family))

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
        text = path.read_bytes().decode()  # answers may hold what `splitlines` takes for a line's end, as U+2028
        return [json.loads(line)["answer"] for line in text.removesuffix("\n").split("\n") if text]
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
