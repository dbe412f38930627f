"""Quality against cost: the Pareto front, names that do not overlap, and a logarithmic axis."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace

import pytest

from benchrunner import Score
from benchrunner.results import Result, comparison
from benchrunner_report.drawings.drawing import LONGEST_LABEL, RIGHT, WIDTH
from benchrunner_report.drawings.quality_cost import LETTER, LINE, Choice, cost_cards, front, placed, ticks
from benchrunner_report.drawings.svg import short
from finished_studies import task
from made_results import made_result

TASKS = (task("made/one"), task("made/two"))


def choice(name: str, quality: float, value: float, unit: str = "B") -> Choice:
    return Choice(name, 0, quality, comparison.Cost(name, "memory", unit, value))


def with_costs(names: tuple[str, ...], **values: float) -> Result:
    """Make a result whose systems have these parameters, and scores of 0.6, 0.7, ... in their order."""
    made = made_result(TASKS, names)
    cells = []
    for cell in made.cells:
        mean = 0.6 + 0.1 * names.index(cell.cell.system)
        figures = {term: replace(figure, mean=Score(mean)) for term, figure in cell.figures.items()}
        cells.append(replace(cell, figures=figures))
    costs = tuple(comparison.Cost(name, "parameters", "", value) for name, value in values.items())
    return replace(made, cells=tuple(cells), costs=costs)


def names_of(choices: list[Choice]) -> list[str]:
    return [choice.name for choice in choices]


def test_a_worse_and_dearer_system_is_not_on_the_front() -> None:
    assert names_of(front([choice("a", 80, 100), choice("b", 79, 101), choice("c", 90, 200)])) == ["a", "c"]


def test_more_of_a_speed_is_better() -> None:
    fast, slow = choice("fast", 70, 900, "tokens/s"), choice("slow", 80, 100, "tokens/s")
    assert names_of(front([slow, fast, choice("both", 60, 90, "tokens/s")])) == ["fast", "slow"]


def test_equal_systems_are_both_on_the_front() -> None:
    assert names_of(front([choice("a", 80, 100), choice("b", 80, 100), choice("c", 79, 100)])) == ["a", "b"]


def test_the_front_is_that_of_a_sweep_by_price() -> None:
    draw = random.Random(5)
    for _ in range(50):
        many = [choice(str(number), draw.randint(0, 9), draw.randint(1, 9)) for number in range(20)]
        swept = set[tuple[float, float]]()
        best = -1.0
        for price, group in itertools.groupby(sorted(many, key=lambda one: one.price), key=lambda one: one.price):
            top = max(one.quality for one in group)
            if top > best:
                swept.add((price, top))
                best = top
        assert {(one.price, one.quality) for one in front(many)} == swept


def test_names_cover_neither_names_nor_markers() -> None:
    draw = random.Random(3)
    points = [((draw.uniform(200, 260), draw.uniform(100, 140)), f"organisation/model-{n}") for n in range(12)]
    boxes = []
    for (_, text), (x, y) in zip(points, placed(points, [[(150, 120), (300, 120)]], WIDTH - RIGHT), strict=True):
        width = LETTER * min(len(text), LONGEST_LABEL)
        assert x >= 0 and x + width <= WIDTH
        boxes.append((x, y - LINE + 3, x + width, y + 3))
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert not one[1] < 120 < one[3] or one[2] <= 150 or one[0] >= 300  # the front
    for ((x, y), _), box in itertools.product(points, boxes):
        assert not (box[0] < x < box[2] and box[1] < y < box[3])


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [(90, 1100, [100, 200, 500, 1000]), (313, 362, [320, 340, 360]), (1, 1e9, [1])]
)
def test_ticks_of_a_logarithmic_axis_are_round(low: float, high: float, wanted: list[float]) -> None:
    assert ticks(low, high)[: len(wanted)] == wanted


def test_a_chart_has_both_axes_with_units_and_a_step() -> None:
    [card] = cost_cards(with_costs(("a", "b", "c"), a=1e6, b=5e7, c=2e6))
    [drawing] = card.drawings
    assert "mean over 4 columns, points</text>" in drawing
    assert "parameters, number (logarithmic; less is better)</text>" in drawing
    assert "a: 60.0 at 1.00 M; b: 70.0 at 50.0 M; c: 80.0 at 2.00 M" in drawing
    [corners] = re.findall(r'<path d="([^"]*)" class="front"', drawing)
    first, corner, last = re.findall(r"[ML]([\d.]+) ([\d.]+)", corners)
    assert (corner[1], corner[0]) == (first[1], last[0]) and float(first[0]) < float(last[0])
    assert drawing.count('opacity="0.4"') == 1  # b is dominated by c
    assert ">2M</text>" in drawing


def test_quantities_of_one_system_alone_are_not_drawn() -> None:
    assert list(cost_cards(with_costs(("a", "b"), a=1e6))) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(500, "500"), (1500, "1500"), (2000, "2k"), (12345, "12.3k"), (1.5e6, "1.5M"), (2e7, "20M"), (3.2e9, "3.2G")],
)
def test_numbers_beside_ticks_are_short(value: float, text: str) -> None:
    assert short(value) == text


def test_fewer_errors_are_the_better_quality() -> None:
    few, many = choice("few", 2, 100), choice("many", 5, 200)
    few, many = replace(few, lower_is_better=True), replace(many, lower_is_better=True)
    assert names_of(front([few, many])) == ["few"]


def test_scores_and_errors_together_have_no_quality() -> None:
    made = with_costs(("a", "b"), a=1.0, b=2.0)
    errors = []
    for number, cell in enumerate(made.cells):
        figures = {term: replace(figure, lower_is_better=number % 2 == 0) for term, figure in cell.figures.items()}
        errors.append(replace(cell, figures=figures))
    assert list(cost_cards(made)) and not list(cost_cards(replace(made, cells=tuple(errors))))
