"""Observers are told what is on disk; none that fails, or writes into what it gets, changes a fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner.errors import RequestError
from benchrunner.results import Executor, Fit, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from inline import own_and, plugin, runner
from moody import Moody, fine_tuned, with_method


def test_the_record_is_on_disk_before_observers_are_told(tmp_path: Path) -> None:
    seen: list[Any] = []

    def after_fit(fit: Fit, record: Any) -> None:
        seen.append(json.loads((tmp_path / "runs" / fit.id / "record.json").read_text())["status"])

    def on_fit_error(fit: Fit, error: Exception) -> None:
        after_fit(fit, None)
        seen.append(str(error))

    method = Moody([ValueError("not today")])
    made, fit = with_method(tmp_path, method, after_fit=after_fit, on_fit_error=on_fit_error)
    made.run(fit), made.run(fit), made.run(fit)
    assert seen == ["failed", "not today", "done"], "a record that is only read is no news"


@pytest.mark.parametrize("error", [ValueError("sulking"), SystemExit(4), GeneratorExit("x")])
def test_a_failing_observer_is_reported_once_and_stops_nothing(
    error: BaseException, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise error

    def on_progress(fit: Fit, event: Any) -> None:
        fail()

    def after_fit(record: Any) -> None:  # an observer takes what it wants
        fail()

    made = runner(tmp_path)
    told: list[str] = []
    others = [
        ("bad", plugin(on_progress=on_progress, after_fit=after_fit)),
        ("good", plugin(after_fit=lambda fit: told.append(fit.id))),
    ]
    made = Runner(own_and(*others), made.workspace)
    fit = fine_tuned(made)
    assert told == [fit.id]
    said = capsys.readouterr().err.splitlines()
    name = type(error).__name__
    assert [line.rpartition(" (")[0] for line in said] == [
        f"The observer {hook} of plugin 'bad' failed: {name}: {error}" for hook in ("on_progress", "after_fit")
    ]


def test_an_observer_that_refuses_too_late_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def after_fit(fit: Fit) -> None:
        raise RequestError("no room")

    made, fit = with_method(tmp_path, Moody(), after_fit=after_fit)
    assert made.run(fit).status == "done"
    assert capsys.readouterr().err == "The observer after_fit of plugin 'own' failed: RequestError: no room\n"


def test_observers_and_executors_get_copies_of_lists(tmp_path: Path) -> None:
    def before_study(fits: list[Fit]) -> None:
        fits[0].suppliers.clear()  # type: ignore[attr-defined]
        fits.clear()

    class Greedy(Executor):
        name, about = "greedy", "takes the fits from its list"

        def run(self, fits: Any, runner: Any) -> Any:
            while fits:
                yield fits[0], runner.run(fits.pop(0))

    made = runner(tmp_path, before_study=before_study)
    study = compared(("words",), [made.plugins.tasks.find("mood")], Fitting(seeds=(0, 1), changes={"limit_train": 8}))
    (cell,) = run_study(study, made, executor=Greedy()).cells
    assert len(cell.restarts) == 2
    assert all(fit.suppliers for fit in cell.restarts)
