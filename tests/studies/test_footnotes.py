"""Footnotes of a comparison: which backbones and tasks a note is about."""

from dataclasses import replace
from pathlib import Path

from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.study import System
from chancy import chancy, compare_rates


def test_a_note_names_its_backbones_unless_all_share_it(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path))
    (cell,) = result.cells
    cells = (
        replace(cell, notes=("threshold 0.4", "2 rows are odd")),
        replace(cell, cell=replace(cell.cell, system="others"), notes=("threshold 0.6", "2 rows are odd")),
    )
    systems = (*result.study.systems, System("others", "others"))
    both = replace(result, study=replace(result.study, systems=systems), cells=cells)
    collapsed, *notes = footnotes(both)
    assert collapsed.startswith(
        "mine/mood: 1 of 3 restarts learned nothing or have no score (95 % interval of their share"
    )
    assert notes == [
        "words on mine/mood: threshold 0.4",
        "mine/mood: 2 rows are odd",
        "others on mine/mood: threshold 0.6",
    ]


def test_one_dev_split_needs_no_note_on_selection(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path))
    assert not any("selected on" in note for note in footnotes(result))
