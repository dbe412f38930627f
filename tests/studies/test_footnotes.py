"""Footnotes of a comparison: which backbones and tasks a note is about."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.results import Grid, Result
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.study import System
from chancy import chancy, compare_rates


def test_a_note_names_its_backbones_unless_all_share_it(rates_compared: Result) -> None:
    result = rates_compared
    (cell,) = result.cells
    cells = (
        replace(cell, notes=("threshold 0.4", "2 rows are odd")),
        replace(cell, cell=replace(cell.cell, system="others"), notes=("threshold 0.6", "2 rows are odd")),
    )
    systems = (*result.study.systems, System("others", "others"))
    both = replace(result, study=replace(result.study, systems=systems), cells=cells)
    collapsed, *notes = footnotes(both)
    assert collapsed.startswith(
        "mine/mood: no better than majority in some restarts: 1 of 3 learned nothing or have no score (95 % interval"
    )
    assert notes == [
        "words on mine/mood: threshold 0.4",
        "mine/mood: 2 rows are odd",
        "others on mine/mood: threshold 0.6",
    ]


EDGE = "the best grid point lies at the edge of the grid: "


@pytest.mark.parametrize(
    ("rates", "chosen", "said"),
    [
        ((4, 6, 8), 4, ["lr 4 is the smallest of 3"]),
        ((8, 4, 6), 6, []),
        ((4, 6, 8), 8, ["lr 8 is the largest of 3"]),
        ((4, 8), 8, []),
    ],
)
def test_a_choice_at_the_edge_of_three_is_noted(
    rates: tuple[int, ...], chosen: int, said: list[str], tmp_path: Path
) -> None:
    grid = Grid({"lr": rates, "schedule": ("released", "cosine", "constant")})
    result = compare_rates(chancy(tmp_path), grid=grid, seeds=(0,))
    (cell,) = result.cells
    point = next(point.recipe for point in cell.cell.candidates if point.recipe.lr == chosen)
    notes = footnotes(replace(result, cells=(replace(cell, chosen=point),)))
    assert [note.partition(EDGE)[2] for note in notes if EDGE in note] == said


def test_equal_grid_points_have_no_edge(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path), grid=Grid({"lr": (4, 6, 8)}), seeds=(0,))
    tied = {place: (0.5,) * len(scores) for place, scores in result.statistics.trials.items()}
    assert any(EDGE in note for note in footnotes(result))
    equal = replace(result, given_statistics=replace(result.statistics, trials=tied))
    assert not any(EDGE in note for note in footnotes(equal))


def test_one_dev_split_needs_no_note_on_selection(rates_compared: Result) -> None:
    assert not any("selected on" in note for note in footnotes(rates_compared))
