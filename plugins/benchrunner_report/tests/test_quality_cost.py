"""Quality against cost: the Pareto front, and names that do not overlap."""

from __future__ import annotations

import random
from dataclasses import replace

from small_studies import draw

from benchrunner import Score
from benchrunner.results import Result, comparison
from benchrunner_report.drawings.frame import LETTER
from benchrunner_report.drawings.labels import LINE, placed
from benchrunner_report.drawings.quality_cost import cost_cards, front
from finished_studies import task
from made_results import made_result

TASKS = (task("made/one"), task("made/two"))


def with_costs(values: dict[str, float], unit: str = "", *, step: float = 0.1, lower_is_better: bool = False) -> Result:
    """Make a result whose systems have these costs, and in their order scores of 0.6, 0.6 + step, ..."""
    made = made_result(TASKS, tuple(values))
    cells = []
    for cell in made.cells:
        mean = Score(0.6 + step * list(values).index(cell.cell.system))
        figures = {}
        for term, figure in cell.figures.items():
            figures[term] = replace(figure, mean=mean, lower_is_better=lower_is_better)
        cells.append(replace(cell, figures=figures))
    costs = tuple(comparison.Cost(name, "parameters", unit, value) for name, value in values.items())
    return replace(made, cells=tuple(cells), costs=costs)


def pale(result: Result) -> list[str]:
    """Name the systems that are not on the front of the only chart."""
    [card] = cost_cards(result)
    [chart] = card.charts
    return [group.name for group in chart.panels[0].groups if group.kind == "pale"]


def test_a_worse_and_dearer_system_is_not_on_the_front() -> None:
    assert front([(101, 79), (100, 80), (200, 90), (100, 80)]) == [(100, 80), (200, 90)]


def test_more_of_a_speed_is_better() -> None:
    costs = {"slow": 90.0, "fast": 100.0}
    assert pale(with_costs(costs, "tokens/s")) == ["slow"] and pale(with_costs(costs, "B")) == []


def test_fewer_errors_are_the_better_quality() -> None:
    costs = {"few": 100.0, "many": 200.0}
    assert pale(with_costs(costs, lower_is_better=True)) == ["many"] and pale(with_costs(costs)) == []


def test_equal_systems_are_both_on_the_front() -> None:
    assert pale(with_costs({"a": 100.0, "b": 100.0, "c": 101.0}, step=0.0)) == ["c"]


def test_no_point_of_the_front_is_dominated_and_all_others_are() -> None:
    draw = random.Random(5)
    for _ in range(50):
        points = {(draw.randint(1, 9), draw.randint(0, 9)) for _ in range(20)}
        wanted = []
        for price, gain in sorted(points):
            others = points - {(price, gain)}
            if not any(cheaper <= price and better >= gain for cheaper, better in others):
                wanted.append((price, gain))
        assert front(points) == wanted


def test_names_cover_neither_names_nor_markers() -> None:
    draw = random.Random(3)
    markers = [((draw.uniform(200, 260), draw.uniform(100, 140)), 22 * LETTER) for _ in range(12)]
    taken = [(x - 6, y - 6, x + 6, y + 6) for (x, y), _ in markers]
    boxes = list(taken)
    for x, y in placed(markers, [*taken, (150, 119, 300, 121)], (0, 20, 386, 250)):
        box = (x, y - LINE + 3, x + 22 * LETTER, y + 3)
        assert x >= 0 and box[2] <= 386 and box[1] >= 20 and box[3] <= 250
        assert not box[1] < 120 < box[3] or box[2] <= 150 or x >= 300  # the front
        for other in boxes:
            assert box[2] <= other[0] or other[2] <= x or box[3] <= other[1] or other[3] <= box[1]
        boxes.append(box)


def test_a_chart_has_both_axes_with_units_and_a_step() -> None:
    [card] = cost_cards(with_costs({"a": 1e6, "b": 5e7, "c": 2e6}))
    [drawing] = draw(card.charts[0])
    assert "mean over 4 columns, points</text>" in drawing
    assert "parameters, number (logarithmic; less is better)</text>" in drawing
    assert "a: 60.0 at 1.00 M; b: 70.0 at 50.0 M; c: 80.0 at 2.00 M" in drawing
    assert card.charts[0].panels[0].groups[0].marks[0].points == [(1e6, 60.0), (2e6, 60.0), (2e6, 80.0)]
    assert drawing.count('<g class="pale">') == 1  # b is dominated by c
    assert ">10M</text>" in drawing and ">b</text>" in drawing


def test_quantities_of_one_system_alone_are_not_drawn() -> None:
    assert list(cost_cards(with_costs({"a": 1e6}))) == []


def test_scores_and_errors_together_have_no_quality() -> None:
    made = with_costs({"a": 1.0, "b": 2.0})
    errors = []
    for number, cell in enumerate(made.cells):
        figures = {term: replace(figure, lower_is_better=number % 2 == 0) for term, figure in cell.figures.items()}
        errors.append(replace(cell, figures=figures))
    assert list(cost_cards(made)) and not list(cost_cards(replace(made, cells=tuple(errors))))
