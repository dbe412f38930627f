"""What a finished fit is good for: answers to a user's own file, and a checkpoint for other libraries."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import finished
from benchrunner.errors import DataError, RequestError
from benchrunner.places import Places
from benchrunner.records import RunFolder, find_run, write_folder_atomically
from benchrunner.sources import Rows, TextTable

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.runner import Runner
    from benchrunner.tasks import Task


def answer_file(reference: str, path: Path, runner: Runner) -> list[Any]:
    """The answers of a finished fit to the rows of a file, in their order."""
    _, fit = _finished(reference, runner)
    task = runner.plugins.task(fit.task)
    found = read_questions(task, path)
    rows = Rows(task.problem.check(found, labelled=False), found.origin, found.lines)
    if len(rows) == 0:
        raise DataError(f"{path}: no rows.")
    return task.problem.decode(runner.outputs(fit, rows))


def read_questions(task: Task, path: Path) -> Rows:
    """A .txt of one text a line, or a table whose header has our columns (a, b) or those of the task's own files."""
    if not path.is_file():
        raise RequestError(f"{path}: there is no such file.")
    places = Places(runs=Path(), cache=Path(), data=path.parent)
    separator = "," if path.suffix == ".csv" else "\t"
    own = [source for split in task.splits.values() for source in split.sources if isinstance(source, TextTable)]
    wanted = [{name: column for name, column in one.columns.items() if name != "label"} for one in own]
    pairs = any("b" in columns for columns in wanted)
    if path.suffix == ".txt":
        if pairs:
            raise DataError(f"{path}: {task.name} asks about pairs of texts: give a table with the columns a and b.")
        return TextTable(path.name, {"a": "a"}, names=("a",), separator="\0").read(places)
    wanted.append({"a": "a", "b": "b"} if pairs else {"a": "a"})
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first = file.readline().rstrip("\r\n")
    header = next(csv.reader([first]), []) if separator == "," else first.split(separator)
    columns = next((one for one in wanted if set(one.values()) <= set(header)), None)
    if columns is None:
        known = " or ".join(dict.fromkeys(", ".join(one.values()) for one in wanted))
        raise DataError(f"{path}:1: the header must name {known}; found {', '.join(header)}.")
    return TextTable(path.name, columns, separator=separator, quoted=separator == ",").read(places)


def export(reference: str, target: Path, runner: Runner) -> None:
    """A finished fit's encoder and head as one checkpoint in the backbone family's layout."""
    from safetensors.torch import load_file

    from benchrunner.encoders import ExportedHead

    if target.exists():
        raise RequestError(f"{target} exists already; name a folder that does not.")
    folder, fit = _finished(reference, runner)
    if not runner.plugins.method(fit.method).needs_backbone:
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', which leaves no model.")
    if not (folder.model / "head.safetensors").is_file():
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', whose model has no head to export.")
    encoder = finished.saved(folder, runner.plugins, runner.places)[0].load(runner.places, seed=fit.seed)
    tensors = load_file(folder.model / "head.safetensors")
    head = {name.removeprefix("output."): one for name, one in tensors.items()}
    write_folder_atomically(target, lambda part: encoder.save(part, ExportedHead(head, dict(fit.problem))))


def _finished(reference: str, runner: Runner) -> tuple[RunFolder, Fit]:
    """A run whose model is there; one whose weights were not kept is fitted again."""
    folder = find_run(runner.places.runs, reference)
    runner.places = dataclasses.replace(runner.places, runs=folder.path.parent)
    record, fit = folder.record(), folder.fit()
    if record is None or record.status != "done":
        state = "it is not finished" if record is None else f"it {record.status}: {record.reason}"
        raise RequestError(f"The fit {folder.path.name} has no answers: {state}.")
    if not folder.model.exists():
        runner.run(fit, weights=True)
    return folder, fit
