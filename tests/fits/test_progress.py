"""Progress in notebooks: a bar below the cell, which is empty at the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from benchrunner import Recipe
from benchrunner.fits.progress import Watch, quiet_report, watched
from benchrunner.results import Event, Fit

FIT = Fit("mine/mood", "<b>words", "finetune", Recipe(), 0, "data", {}, "revision", {})


class Display:
    """Stands for the output of a notebook's cell."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        self.shown.append(data)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Display:
    """Let this process look like a notebook's kernel; return the output of its cell."""
    output, module = Display(), ModuleType("IPython.display")

    def display(data: dict[str, str], **options: Any) -> Display:
        output.update(data, raw=True)
        return output

    module.display = display  # type: ignore[attr-defined]
    for name, value in (("ipykernel", ModuleType("ipykernel")), ("IPython", ModuleType("IPython"))):
        monkeypatch.setitem(sys.modules, name, value)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return output


def test_a_notebook_shows_a_bar_while_fits_run(cell: Display) -> None:
    with Watch([(FIT, 4.0)]) as watch:
        watch(FIT, Event("step", 1, 2))
        watch.finished(FIT)
    first, half, last = cell.shown
    assert half["text/plain"].startswith(" 50%")
    assert 'value="0.5000"' in half["text/html"] and "&lt;b&gt;words" in half["text/html"]
    assert first["text/html"] == last["text/html"] == ""


def test_progress_names_what_tells_the_fits_of_a_cell_apart(cell: Display) -> None:
    longer = replace(FIT, recipe=Recipe(epochs=9, max_steps=7))
    with Watch([(FIT, 1.0), (longer, 1.0)]) as watch:
        watch(longer, Event("step", 2, 2))
    assert "<b>words epochs 9 max steps 7 seed 0: step 2/2" in cell.shown[1]["text/plain"]
    with Watch([(FIT, 1.0)]) as watch:
        watch(FIT, Event("step", 1, 1))
    assert "<b>words seed 0: step 1/1" in cell.shown[-2]["text/plain"]


def test_quiet_work_shows_nothing_in_a_notebook(cell: Display) -> None:
    with Watch([(FIT, 4.0)], quiet=True) as watch:
        watch(FIT, Event("step", 1, 2))
    assert cell.shown == []


def test_work_after_the_last_step_is_not_all_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch([(FIT, 4.0)]) as watch:
        watch(FIT, Event("step", 1, 2))
        watch(FIT, Event("step", 2, 2))
        watch(FIT, Event("note", text="predicting"))
        watch.finished(FIT)
        watch(FIT, Event("note", text="nothing is left"))
    working, finished = capsys.readouterr().err.splitlines()
    assert working.startswith(" 99%  ") and "left" not in working
    assert finished.startswith("100%, about 0:00:00 left")


class Reports:
    """Where the progress of fits goes now."""

    now: object = "the runner's own"

    @contextmanager
    def reporting_to(self, report: Any) -> Iterator[None]:
        self.now = report
        yield
        self.now = "the runner's own"


def test_fits_report_to_the_bar_only_while_it_is_shown() -> None:
    reports = Reports()
    with watched(reports, [(FIT, 1.0)]) as watch:
        assert reports.now is watch
    with watched(reports, [(FIT, 1.0)], show=False):
        assert reports.now == "the runner's own"


def test_a_quiet_command_says_that_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    quiet_report(FIT, Event("step", 1, 2))
    quiet_report(FIT, Event("waiting", text="another process runs ab12"))
    assert capsys.readouterr().err == "benchrunner: another process runs ab12\n"
