"""Makes every file of a shared folder from its facts: `share` writes the files, and `check` compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, final

from benchrunner.engine import decoding
from benchrunner.results import CellResult, Result, study
from benchrunner_share.documents.contents import (
    STUDY,
    answers_name,
    fit_name,
    json_text,
    outcome_json,
    prediction_json,
    prediction_name,
    rounded,
    task_json,
)
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.documents.plan import plan_of
from benchrunner_share.verifying.examination import Examination
from benchrunner_share.verifying.plan_checks import missing_fits


@final
class MadeFiles:
    """The files of a shared folder, as its facts say.

    A cell that could not be computed is taken as the folder has it, so that all else can be compared.
    """

    def __init__(self, examined: Examination) -> None:
        self._examined = examined
        self._results = list(examined.results.values())

    @property
    def figures(self) -> int:
        """Number of means, deviations, best scores, scores of restarts and averages that were computed."""
        result = self.content["result"]
        scores = [result["cells"][number]["scores"] for number in self._examined.results]
        return _count([scores, {} if self._examined.has_gaps else result["averages"]])

    @property
    def fact_names(self) -> Iterator[str]:
        """Yield the names of the files with facts."""
        yield STUDY
        for planned in self._examined.plan.cells:
            yield from map(fit_name, planned.fits)
        for prediction in self._examined.plan.prediction_ids:
            yield prediction_name(prediction)
            yield answers_name(prediction)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of every file, as the facts say, but for answers: these are facts themselves."""
        for fit, shared in self._examined.fits.items():
            yield fit_name(fit), json_text(decoding.as_json(shared))
        for prediction, record in self._examined.answers.scored.values():
            yield prediction_name(prediction.id), json_text(prediction_json(prediction, record))
        yield STUDY, json_text(self.content)
        yield from derived_files(self.content)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content of `study.json`: the plan, and every score."""
        examined = self._examined
        plan = examined.plan
        if not examined.has_gaps:
            data, scored = plan.data, examined.answers.scored
            plan = plan_of(
                plan,
                self._results,
                examined.data.runner.plugins,
                lambda task, split: data[task.name][split],
                lambda result, fit, split: scored[fit.id, result.cell.task.name, split][0].id,
            )
        claimed = examined.claimed
        outcomes = dict(enumerate(claimed["result"]["cells"]))
        for number, result in examined.results.items():
            outcomes[number] = self._outcome(result)
        tasks = {}
        for name, splits in plan.data.items():
            counts = {split: rows.rows for split, rows in splits.items()}
            task = examined.data.tasks.get(name)
            tasks[name] = claimed["tasks"][name] if task is None else task_json(task, counts)
        content = plan.content(outcomes)
        content["result"]["averages"] = claimed["result"]["averages"] if examined.has_gaps else self._averages()
        return content | {"revisions": examined.revisions, "tasks": tasks}

    def _outcome(self, result: CellResult) -> dict[str, Any]:
        """Return what follows from the plan and the answers of a cell."""
        majority = {term: self._examined.majority(result, term) for term in result.figures}
        warnings = (*result.warnings, *result.limits, *missing_fits(result.cell))
        return outcome_json(result, majority, warnings)

    def _averages(self) -> dict[str, Any]:
        """Return the averages of the suites of each system."""
        results = [
            replace(result, cell=replace(result.cell, columns=(result.cell.task.name,))) for result in self._results
        ]
        planned = tuple(result.cell for result in results)
        names = dict.fromkeys(cell.system for cell in planned)
        systems = tuple(study.System(name, "") for name in names)
        whole = Result(study.Study(systems, (), cells=planned), tuple(results), {})
        averages = dict[str, Any]()
        for name in names:
            averages[name] = {}
            for average, (best, mean) in whole.averages(name).items():
                averages[name][average] = {"best": rounded(best), "mean": rounded(mean)}
        return averages


def _count(value: Any) -> int:
    """Return how many figures a JSON value has."""
    if isinstance(value, Mapping):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(isinstance(value, float))
