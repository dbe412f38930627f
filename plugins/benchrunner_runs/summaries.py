"""Summaries of the runs in a runs folder, for lists of hundreds of them."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import PluginError, RequestError, UnknownName, some_names
from benchrunner_runs.sizes import size_of

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner.results import Plugins, Prediction, Record

SORTS = ("date", "task", "backbone", "score", "size", "seconds", "id")
"""What runs can be sorted by."""

NOT_RUNS = {"studies", "pretrained"}
"""Folders of a runs folder that hold no runs."""


@final
@dataclass(frozen=True)
class RunSummary:
    """One line about a run."""

    id: str
    task: str
    backbone: str
    """Empty for a method that needs no backbone."""
    method: str
    recipe: Mapping[str, Any]
    """Recipe fields that differ from the defaults of `Recipe`."""
    seed: int
    status: str
    """That of the record; `running` for a fit that holds its folder's lock, `unfinished` for one that was stopped."""
    reason: str
    """Why the fit diverged or failed."""
    metric: str
    """Name of the metric of `score`: the headline of the task. Empty if there is no score."""
    split: str
    """Split of `score`: the first dev split of the task."""
    score: float | None
    date: str
    """When the fit ended, or was planned if it did not end: ISO 8601 in UTC."""
    seconds: float | None
    """Duration of the fit."""
    bytes: int
    """Size of its files."""

    def as_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        absent = {name: None for name in ("reason", "metric", "split") if not getattr(self, name)}
        return {**vars(self), **absent}


def list_runs(runs: Path, plugins: Plugins) -> tuple[list[RunSummary], list[str]]:
    """Return a summary of every run in a runs folder, newest first, and notes on folders that are damaged or no runs.

    The plugins say which split and which metric are the headline of a task. Nothing heavy is loaded.
    """
    summaries, foreign, notes = list[RunSummary](), list[str](), list[str]()
    tasks = functools.cache(functools.partial(_task, plugins))
    for path in sorted(runs.iterdir()) if runs.is_dir() else ():
        if not path.is_dir() or path.name.startswith(".") or path.name in NOT_RUNS:
            continue
        if not (path / "fit.json").is_file():
            foreign.append(path.name)
            continue
        try:
            summaries.append(_summary(path, tasks))
        except (OSError, RequestError) as error:
            notes.append(f"{path} is damaged and left out ({error})")
    if foreign:
        notes.append(f"no runs, and left out: {some_names(foreign, 3)}")
    return sorted_runs(summaries, "date"), notes


def _task(plugins: Plugins, name: str) -> Task | None:
    """Return the task of a name, also where a plugin has to read it first; None if nobody knows it any more."""
    try:
        offer = plugins.tasks.offer(name)
    except (RequestError, PluginError):
        return None
    return None if offer is None else offer.value


def _summary(path: Path, tasks: Callable[[str], Task | None]) -> RunSummary:
    """Read a run."""
    from benchrunner.engine import decoding
    from benchrunner.results import find_run

    folder = find_run(path.parent, str(path))
    fit, record = folder.fit(), folder.record()
    metric, split, score = _headline(folder.predictions(), folder.prediction_record, fit.task, tasks(fit.task))
    written = path / ("fit.json" if record is None else "record.json")
    date = datetime.datetime.fromtimestamp(written.stat().st_mtime, datetime.UTC)
    status = "running" if record is None and folder.is_in_use else "unfinished"
    return RunSummary(
        id=fit.id,
        task=fit.task,
        backbone=fit.backbone,
        method=fit.method,
        recipe=decoding.as_json(fit.recipe),
        seed=fit.seed,
        status=status if record is None else record.status,
        reason="" if record is None else record.reason,
        metric=metric,
        split=split,
        score=score,
        date=date.isoformat(timespec="seconds"),
        seconds=None if record is None else record.timings.get("seconds"),
        bytes=size_of(path),
    )


def _headline(
    predictions: Iterable[tuple[Prediction, float, Path]],
    record_of: Callable[[str], Record | None],
    name: str,
    task: Task | None,
) -> tuple[str, str, float | None]:
    """Return metric, split and value of the newest prediction of the first dev split; one of all rows comes first.

    For a task that is not installed, this is the first metric of the newest prediction with scores.
    """
    newest = (False, float("-inf"))
    headline: tuple[str, str, float | None] = ("", "", None)
    for prediction, date, home in predictions:
        is_wanted = prediction.task == name and (task is None or prediction.split in task.named("dev")[:1])
        order = (prediction.limit_dev is None, date)
        if not is_wanted or order <= newest:
            continue
        record = record_of(home.name)
        if record is not None and record.scores:
            newest = order
            metric = next(iter(record.scores)) if task is None else task.metrics[0].name
            score = record.scores.get(metric)
            headline = ("", "", None) if score is None else (metric, prediction.split, score.value)
    return headline


def with_words(runs: Iterable[RunSummary], words: Sequence[str]) -> list[RunSummary]:
    """Return the runs with all these words in their task, backbone, method or status."""
    chosen = []
    for run in runs:
        texts = f"{run.task} {run.backbone} {run.method} {run.status}".lower()
        if all(word.lower() in texts for word in words):
            chosen.append(run)
    return chosen


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Map each id to the beginning that names its run: 8 characters, or as many as tell all of them apart."""
    ids = set(ids)
    length = 8
    while len({name[:length] for name in ids}) < len(ids):
        length += 1
    return {name: name[:length] for name in ids}


def sorted_runs(runs: Iterable[RunSummary], by: str) -> list[RunSummary]:
    """Sort runs: names upwards; dates, scores, sizes and seconds downwards. Runs without the value come last."""
    if by not in SORTS:
        raise UnknownName("order", by, SORTS, where="of runs")
    by_name = sorted(runs, key=lambda run: (run.task, run.backbone, run.method, run.seed, run.id))
    if by in ("task", "backbone", "id", "date"):
        return sorted(by_name, key=lambda run: str(getattr(run, by)), reverse=by == "date")

    def figure(run: RunSummary) -> float:
        value = getattr(run, "bytes" if by == "size" else by)
        return float("-inf") if value is None else value

    return sorted(by_name, key=figure, reverse=True)


def recipe_text(run: RunSummary) -> str:
    """Write the recipe of a run in few words: what is usually varied, then other fields that are not the defaults."""
    from benchrunner import Recipe

    if run.method == "majority":
        return run.method
    recipe = Recipe().as_dict() | dict(run.recipe)
    usual = f"seed {run.seed}"
    if run.method != "probe":  # a probe has no steps
        usual = f"lr {recipe['lr']:g}, {recipe['epochs']} ep, batch {recipe['batch_size']}, {usual}"
    varied = {"lr", "epochs", "batch_size"}
    others = [f"{name} {_value(value)}" for name, value in run.recipe.items() if name not in varied]
    words = ", ".join((usual, *others))
    return words if run.method == "finetune" else f"{run.method}: {words}"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
