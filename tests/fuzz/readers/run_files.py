"""Readers of what fits and predictions leave in the runs folder."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchrunner.fits.fit import Fit, Prediction, Record
from benchrunner.io.json_form import as_json
from benchrunner.io.seals import sealed
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.runs.folder import RunFolder, read_prediction
from benchrunner_runs.summaries import list_runs
from readers.reader import Reader
from readers.study_texts import core_plugins


def runs() -> Iterator[tuple[str, Reader]]:
    """Readers of what fits and studies leave. A damaged file that is still an object gets a right checksum."""
    fit = Fit("mine/mood", "words", "finetune", Recipe(), 0, "d" * 16, {"kind": "classify"}, "r" * 16, {"core": "1"})
    record = Record(fit.id, "done", scores={"accuracy": Score(0.5)}, checksums={}, timings={"seconds": 1.0})
    seeds = {"fit.json": as_json(fit), "record.json": as_json(record)}
    for name, value in seeds.items():
        further = {f"runs/{fit.id}/{other}": sealed(seeds[other]) for other in seeds if other != name}
        yield name, sealed_reader(of_run, f"runs/{fit.id}/{name}", value, further)
    prediction = Prediction(fit.id, "mine/mood", "dev", "d", {})
    yield (
        "prediction.json",
        sealed_reader(
            lambda path: read_prediction(path.parent),
            f"{prediction.id}/prediction.json",
            {name: getattr(prediction, name) for name in ("fit", "task", "split", "data", "settings")},
        ),
    )


def sealed_reader(
    read: Callable[[Path], object], file: str, value: dict[str, Any], further: dict[str, bytes] | None = None
) -> Reader:
    def read_sealed(path: Path) -> object:
        with contextlib.suppress(ValueError, RecursionError):
            damaged = json.loads(path.read_bytes())
            if isinstance(damaged, dict):
                path.write_bytes(sealed(damaged))
        return read(path) and None

    return Reader(read_sealed, file, [json.dumps(value).encode()], further=further or {})


def of_run(path: Path) -> object:
    folder = RunFolder(path.parent.parent, path.parent.name)
    list_runs(path.parent.parent, core_plugins())
    return folder.fit() if path.name == "fit.json" else folder.record()
