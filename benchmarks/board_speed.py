"""How long a board takes: `python benchmarks/board_speed.py FOLDER` makes up 100 shared folders and builds their site.

Five folders are forged: everything that follows from the forgery is written anew. Exactly these must be refused. The
folders stay in FOLDER, so that a second call only builds. Times are those of the processor: nothing runs in parallel.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchrunner import Task
from benchrunner.io.identity import identity
from benchrunner.results import (
    CellResult,
    Fit,
    Prediction,
    Record,
    Result,
    Runner,
    compared,
    planning,
    predicting,
    select,
)
from benchrunner.studies.cells import Fitting
from benchrunner_share.board.building import Built, Wishes, build_board
from benchrunner_share.documents.contents import MANIFEST, STUDY, answers_text, json_text, manifest
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.documents.plan import Plan, SharedFit
from benchrunner_share.private_texts import Private
from benchrunner_share.share import write_files
from finished_studies import made_answers, runner, task  # type: ignore[import-not-found]

Study = dict[str, Any]


class MadeUp:
    """Answers that no model gave, in place of `KeptAnswers`: nothing is fitted, and no run is written."""

    def __init__(self, skill: float, made: Runner) -> None:
        self._skill = skill
        self.runner = made
        self.private = Private(made.workspace)

    def prediction(self, result: CellResult, fit: Fit, split: str) -> Prediction:
        """Return what a fit of a cell answers."""
        return self._prediction(fit, result.cell.task, split)

    def _prediction(self, fit: Fit, task: Task, split: str) -> Prediction:
        data = self.runner.planner.rows(task, split).fingerprint
        return Prediction(fit.id, task.name, split, data, dict(task.problem.decoding), identity(task.scoring))

    def _answers(self, fit: Fit, task: Task, split: str) -> list[Any]:
        return list(made_answers(task, self.runner.planner.rows(task, split), self._skill, random.Random(fit.id)))

    def predict(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return the prediction of a fit, for the selection."""
        task = self.runner.plugins.tasks.find(fit.task)
        prediction, rows = self._prediction(fit, task, split), self.runner.planner.rows(task, split)
        scores = predicting.majority_scores(fit, prediction, self.runner)
        answers = self._answers(fit, task, split)
        record = predicting.judged(prediction, task, rows, answers, {}, timings={}, baseline=lambda: scores)
        return predicting.Predicted(record, Path())

    def text(self, result: CellResult, fit: Fit, split: str) -> str:
        """Return the answers of a fit of a cell."""
        return answers_text(self._answers(fit, result.cell.task, split), {})

    def shared(self, fit: Fit) -> SharedFit:
        """Return a fit with a made-up computation."""
        return SharedFit(fit, {"seconds": 20.0 + 10.0 * random.Random(fit.id).random()}, {"device": "cpu"})


def shared(number: int, tasks: list[Task], restarts: int, made: Runner, out: Path) -> None:
    """Write the shared folder of one made-up system, whose skill follows from its number."""
    name = system_name(number)
    answers = MadeUp(0.5 + 0.4 * random.Random(number).random(), made)
    answered = f"2025-{1 + number % 12:02}-{1 + number % 28:02}T12:00:00+00:00"
    claims = Plan(f"study-{number:03}", answered, made.plugins.core.version, None, left_out_bad_rows=False)
    results = []
    study = compared([name], tasks, Fitting(seeds=tuple(range(restarts))))
    for asked in study.cells:
        cell = planning.planned(asked, made)
        records = {fit.id: Record(fit.id, "done") for fit in cell.fits}
        results.append(select(cell, records, answers))
    out.mkdir(parents=True)
    write_files(out, Result(study, tuple(results), {}), claims, answers, "")  # type: ignore[arg-type]


def write(out: Path, files: Mapping[str, str], content: Study) -> None:
    """Write files, those that follow from the content of a study, and the list of files."""
    every = {**files, **dict(derived_files(content))}
    digests = {}
    for name, text in every.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        digests[name] = hashlib.sha256(text.encode()).hexdigest()
    (out / MANIFEST).write_text(manifest(digests), encoding="utf-8")


def system_name(number: int) -> str:
    """Return the name of a made-up system."""
    return f"lab-{number % 17}/encoder-{number:03}"


def place(folder: Path, number: int) -> Path:
    """Return the place of a shared folder."""
    return folder / "results" / f"folder-{number:03}"


def raised_mean(study: Study) -> None:
    """Claim a higher mean."""
    study["result"]["cells"][0]["scores"][0]["mean"] = 0.999


def hidden_warning(study: Study) -> None:
    """Claim a lower score of the majority answer."""
    study["result"]["cells"][1]["scores"][0]["majority"] = 0.001


def more_restarts(study: Study) -> None:
    """Claim a restart that nothing answers."""
    study["result"]["cells"][2]["scores"][0]["restarts"].append(0.95)


def other_revision(study: Study) -> None:
    """Claim another backbone."""
    study["revisions"] = dict.fromkeys(study["revisions"], "another revision")


FORGERIES: tuple[Callable[[Study], None], ...] = (raised_mean, hidden_warning, more_restarts, other_revision)


def forge(folder: Path, change: Callable[[Study], None] | None) -> None:
    """Change a study, or without a change its answers, and write everything that follows."""
    study = json.loads((folder / STUDY).read_text())
    if change is not None:
        change(study)
    files = {STUDY: json_text(study)}
    for kind in ("fits", "predictions"):
        for path in sorted((folder / kind).iterdir()):
            files[f"{kind}/{path.name}"] = path.read_text(encoding="utf-8")
    if change is None:
        answers = next(name for name, text in files.items() if '"yes"}' in text and '"maybe"}' in text)
        files[answers] = files[answers].replace('"yes"', '"no"')
    write(folder, files, study)


def made_up(arguments: argparse.Namespace, tasks: list[Task]) -> set[str]:
    """Make up all folders that are not there yet, and forge five; return the names of these."""
    forged = {}
    for number, change in enumerate((*FORGERIES, None)):
        forged[number * arguments.systems // 5 + 1] = change
    made = runner(arguments.folder / "work", tasks, [system_name(number) for number in range(arguments.systems)])
    made.planner.most_splits = 2 * len(tasks)
    for number in range(arguments.systems):
        out = place(arguments.folder, number)
        if not out.exists():
            shared(number, tasks, arguments.restarts, made, out)
            if number in forged:
                forge(out, forged[number])
    return {place(arguments.folder, number).name for number in forged}


def built(arguments: argparse.Namespace, tasks: list[Task]) -> Built:
    """Build the site, and print the seconds."""
    made = runner(arguments.folder / "work" / "board", tasks, [])
    started = time.process_time()
    wishes = Wishes(title="A board of made-up encoders", with_rows=True, against=arguments.against)
    board = build_board(
        arguments.folder / "results", arguments.folder / "site", made.plugins, made.workspace, wishes=wishes
    )
    seconds = time.process_time() - started
    print(f"{board.systems} systems x {board.tasks} tasks, {board.files} files: {seconds:.1f} s of the processor")
    return board


def main() -> int:
    """Make up folders, build their board, and check what was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=1)
    parser.add_argument("--against")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    tasks = [task(f"made/task-{number:02}", rows=arguments.rows) for number in range(arguments.tasks)]
    forged = made_up(arguments, tasks)
    refused = {folder.name: folder.reason for folder in built(arguments, tasks).refused}
    for name, reason in refused.items():
        print(f"refused {name}: {reason}")
    print("exactly the forged folders were refused" if refused.keys() == forged else f"forged were {sorted(forged)}")
    return int(refused.keys() != forged)


if __name__ == "__main__":
    sys.exit(main())
