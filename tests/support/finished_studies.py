"""Finished runs that nothing was fitted for: run folders with made-up answers, logs and costs, in seconds, no torch.

`finish` writes them for every fit of a study; `run_study` then finds all fits finished.
"""

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from benchrunner import ACCURACY, Classify, Metric, Regress, Rows, RowsFrom, Split, Task, Workspace
from benchrunner.engine import Backbone, BackboneFamily, OneBackbone
from benchrunner.io.identity import identity
from benchrunner.results import Computing, Fit, Plugins, Prediction, Record, Runner, Study, discover
from benchrunner.runs.folder import answer_lines, write_prediction
from benchrunner.runs.predicting import judged
from benchrunner.studies.planning import planned
from benchrunner_kinds import Choose, Span, Tag
from benchrunner_tasks import MATTHEWS, PEARSON
from inline import REPORT, STATISTICS, plugin

WORDS = """the river was calm and bright while seven old boats went slowly home under a pale sky of early
spring""".split()  # noqa: SIM905
ENTITY_TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@dataclass(frozen=True)
class NamedBackbone(Backbone):
    """A backbone that is only a name: nothing can load it."""

    name: str
    about: str = "only a name"

    def revision(self, workspace: Workspace) -> str:
        return f"revision of {self.name}"

    def load(self, workspace: Workspace, *, seed: int) -> NoReturn:
        raise AssertionError("nothing is fitted in this test")


class Family(BackboneFamily):
    """Family of backbones that are only names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._families = [OneBackbone(NamedBackbone(name), lambda folder: None) for name in names]

    def listed(self) -> list[Backbone]:
        return [family.backbone for family in self._families]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        return next((backbone for backbone in self.listed() if backbone.name == reference), None)


def sentence(draw: random.Random) -> str:
    """Make up a sentence of 4 to 40 words."""
    return " ".join(draw.choices(WORDS, k=draw.randint(4, 40)))


def task(name: str, kind: str = "classify", *, rows: int = 60, texts: Mapping[int, str] | None = None) -> Task:
    """Make a task with made-up rows. `texts` replaces the first text of some dev rows."""
    problem, metrics = PROBLEMS[kind]

    def source(split: str) -> RowsFrom:
        def columns(workspace: Workspace) -> dict[str, list[Any]]:
            draw = random.Random(f"{name} {split}")
            made = [ROWS[kind](draw, number) for number in range(rows)]
            for row, text in (texts or {}).items() if split == "dev" else ():
                made[row] = {**made[row], next(key for key in made[row] if key != "id"): text}
            return dict(pa.Table.from_pylist(made).to_pydict())

        return RowsFrom(columns)

    splits = {"train": Split("train", (source("train"),)), "dev": Split("dev", (source("dev"),))}
    return Task(name, f"A made-up task of the kind {kind}.", problem, splits, metrics)


def _pair(label: Any) -> Any:
    return lambda draw, number: {"a": sentence(draw), "b": sentence(draw), "label": label(draw)}


def _span(draw: random.Random, number: int) -> dict[str, Any]:
    context, words = sentence(draw), 2
    answer = " ".join(context.split()[:words])
    answerable = draw.random() < 0.7
    return {
        "id": f"q{number}",
        "question": sentence(draw),
        "context": context,
        "answers": [answer] if answerable else [],
        "starts": [0] if answerable else [],
    }


def _tagged(draw: random.Random, number: int) -> dict[str, Any]:
    words = sentence(draw).split()
    return {"words": words, "labels": [draw.choice(ENTITY_TAGS) if draw.random() < 0.2 else "O" for _ in words]}


def _choice(draw: random.Random, number: int) -> dict[str, Any]:
    return {"a": sentence(draw), "choices": [sentence(draw) for _ in range(4)], "label": draw.randrange(4)}


def _matches(gold: Any, answer: Any) -> float:
    return float(answer in (gold or [""]))


MATCH = Metric(
    "match",
    lambda gold, answers: sum(map(_matches, gold, answers)) / len(gold),
    per_row=_matches,
)
PROBLEMS: Mapping[str, Any] = {
    "classify": (Classify(("yes", "no", "maybe")), (ACCURACY, MATTHEWS)),
    "regress": (Regress(0, 5), (PEARSON,)),
    "choose": (Choose(4), (ACCURACY,)),
    "tag": (Tag(ENTITY_TAGS), (ACCURACY,)),
    "span": (Span(unanswerable=True), (MATCH,)),
}
ROWS: Mapping[str, Any] = {
    "classify": _pair(lambda draw: draw.choice(("yes", "no", "maybe"))),
    "regress": _pair(lambda draw: round(draw.uniform(0, 5), 1)),
    "choose": _choice,
    "tag": _tagged,
    "span": _span,
}


def plugins(tasks: Iterable[Task], backbones: Sequence[str]) -> Plugins:
    """Return plugins with these tasks and backbones alone."""
    made = plugin(register_tasks=list(tasks), register_backbones=[Family(backbones)])
    found = discover(extra=[("made", made), REPORT, STATISTICS], installed=False)
    assert not found.set_aside, found.set_aside
    return found


def runner(folder: Path, tasks: Iterable[Task], backbones: Sequence[str]) -> Runner:
    """Return a runner with these tasks and backbones in a folder."""
    return Runner(plugins(tasks, backbones), Workspace(folder / "runs", folder / "cache"), Computing("cpu"))


def finish(study: Study, made: Runner, skill: Mapping[str, float], *, steps: int = 300) -> None:
    """Write the runs of all fits of a study; `skill` maps backbones to the share of rows that they answer right."""
    reader = study.reading(made)
    for asked in study.cells:
        cell = planned(asked, reader)
        for number, fit in enumerate(cell.fits):
            _finish_fit(fit, cell.task, made, skill[cell.system] - 0.02 * (number % 3), steps)


def _finish_fit(fit: Fit, task: Task, made: Runner, skill: float, steps: int) -> None:
    folder, draw = made.folder(fit), random.Random(f"{fit.task} {fit.backbone} {fit.recipe.lr} {fit.seed}")
    folder.path.mkdir(parents=True)
    seconds = 20 + 10 * draw.random()
    numerics = {
        "device": "cpu",
        "device_name": "x86_64",
        "threads": 1,
        "precision": "fp32",
        "versions": {"torch": "2.13.0", "numpy": "2.4.0"},
        "python": "3.11.2",
    }
    timings = {"train_seconds": seconds, "seconds": seconds + 1, "examples_per_second": 90.0}
    work = {"train_tokens": 12345.0 * steps}
    record = Record(fit.id, "done", timings=timings, numerics=numerics, work=work)
    folder.keep_fit(fit)
    folder.keep_record(record)
    lines = (
        {"step": step, "loss": 0.2 + math.exp(-step / 90) + 0.1 * draw.random(), "lr": 1e-5}
        for step in range(10, steps + 1, 10)
    )
    folder.log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    settings = dict(task.problem.decoding)
    if task.problem.tunes:
        fingerprints = [made.planner.rows(task, split).fingerprint for split in task.selection_splits]
        key = identity({"task": task.name, "data": fingerprints[0], "scoring": task.scoring})
        folder.keep_tuned(key, {"tau": -1.25})
        settings |= {"tau": -1.25}
    for split in task.named("dev"):
        rows = made.planner.rows(task, split)
        answers = list(made_answers(task, rows, skill, draw))
        prediction = Prediction(fit.id, task.name, split, rows.fingerprint, settings, identity(task.scoring))
        home = folder.prediction(prediction.id)
        home.mkdir(parents=True)
        outcome = judged(prediction, task, rows, answers, {}, timings={"seconds": 0.1}, baseline=None)
        write_prediction(home, prediction, outcome, answer_lines(answers))


def made_answers(task: Task, rows: Rows, skill: float, draw: random.Random) -> Iterable[Any]:
    """Make up an answer to each row; the same rows are hard for every fit."""
    hard = random.Random(task.name)
    for number, gold in enumerate(task.problem.gold(rows.table) or []):
        right = hard.random() + draw.gauss(0, 0.15) < skill
        best = task.problem.best_answer(gold)
        yield best if right else _wrong(task, best, rows, number, draw)


def _wrong(task: Task, gold: Any, rows: Rows, number: int, draw: random.Random) -> Any:
    kind = task.problem.name
    if kind == "regress":
        return gold + draw.choice((-1, 1)) * draw.uniform(0.6, 2)
    if kind == "choose":
        return (gold + draw.randint(1, 3)) % 4
    if kind == "span":
        return "" if gold else rows.table.column("context")[number].as_py()[:24]
    if kind == "tag":
        return [draw.choice(ENTITY_TAGS) if draw.random() < 0.3 else label for label in gold]
    return draw.choice([label for label in ("yes", "no", "maybe") if label != gold])
