"""Codes of warnings: each text has its code, in cells, notes, JSON and all sources that write such a text."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.results import Grid, compared, predicting
from benchrunner.studies.cells import LOST, NO_SCORE, Figure
from benchrunner.studies.codes import WARNINGS, CodedWarning, code_of, coded, coded_warnings
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, layout
from chancy import chancy, compare_rates
from distributions import CORE, PLUGINS
from finished_studies import runner
from inline import mood
from made_results import made_result, said_below

CODES = ["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "S1", "S2", "S3", "S4", "S5", "S7"]
CODES += ["D1", "D2", "D3", "D4"]
"""A code never changes and is never given again, as S6 and A1 to A3 were once."""


def test_codes_never_change() -> None:
    assert [warning.code for warning in WARNINGS] == CODES


@pytest.mark.parametrize("warning", WARNINGS, ids=lambda warning: warning.code)
def test_each_pattern_fits_a_text_of_the_sources(warning: CodedWarning) -> None:
    files = [file for folder in (CORE, *PLUGINS) for file in folder.rglob("*.py") if file.name != "codes.py"]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files if "tests" not in file.parts)
    for pattern in str(warning.pattern).split("|"):
        assert re.search(pattern, source), pattern


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (predicting.CONSTANT, "C1"),
        (f"{predicting.CONSTANT} in some restarts", "C3"),
        (predicting.NO_BETTER, "C2"),
        (f"{predicting.NO_BETTER} in some restarts", "C3"),
        (LOST, "C4"),
        (NO_SCORE, "C5"),
        ("learning rate 1e-05", ""),
    ],
)
def test_a_text_has_one_code(text: str, code: str) -> None:
    assert code_of(text) == code
    assert coded(text) == f"{code} {text}".lstrip()
    assert coded_warnings([text]) == ([{"code": code, "text": text}] if code else [])


def test_an_absent_score_has_its_code_where_it_is_absent() -> None:
    made = made_result([mood()], ["a"])
    (cell,) = made.cells
    figures = dict(cell.figures)
    term, *_ = figures
    figures[term] = Figure.absent("no value")
    made = replace(made, cells=(replace(cell, figures=figures),))
    assert sorted(entry.codes for entry in made.entries.values()) == [[], ["C5"]]
    assert layout(made, NOTHING_PUBLISHED).legend == ("C5  a score is absent",)


def test_limits_of_rows_have_codes(tmp_path: Path) -> None:
    made = runner(tmp_path, [mood()], ["a"])
    (cell,) = made_result([mood()], ["a"]).cells
    assert cell.chosen is not None
    few = replace(compared(["a"], [mood()]), limit_dev=50).reading(made)
    limited = replace(cell, chosen=cell.chosen.changed(limit_train=8), runner=few)
    assert list(map(code_of, limited.limits)) == ["C9", "C10"]


def test_lost_fits_have_a_code_in_json() -> None:
    made = made_result([mood()], ["a"])
    (cell,) = made.cells
    values = as_json(replace(made, cells=(replace(cell, lost={"id": "diverged: loss"}),)))
    assert values["cells"][0]["warnings"] == [{"code": "C4", "text": "some fits have no scores"}]
    assert {"code": "C4", "text": "mine/mood: fit id has no scores: diverged: loss"} in values["warnings"]


def test_notes_stand_after_their_codes(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path), grid=Grid({"lr": (4, 6, 8)}), seeds=(0,))
    notes = said_below(result)
    edge = "C6 mine/mood: the best grid point lies at the edge of the grid: lr 8 is the largest of 3"
    assert edge in notes
    assert {"code": "C6", "text": edge.removeprefix("C6 ")} in as_json(result)["warnings"]
