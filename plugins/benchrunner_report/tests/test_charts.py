"""One drawing of all charts: its axes, marks, panels, titles and reference, and texts that are escaped."""

from __future__ import annotations

import re

import pytest
from small_studies import draw

from benchrunner_report.drawings.chart import Axis, Chart, Group, Mark, Panel
from benchrunner_report.drawings.groups import curve, curves, dot, dots
from benchrunner_report.drawings.scale import Scale
from benchrunner_report.drawings.series import look, outline, short

LOGARITHMIC = Axis(is_logarithmic=True)


def texts(drawing: str, kind: str) -> list[str]:
    return re.findall(rf'class="{kind}"[^>]*>([^<]*)</text>', drawing)


def test_thirty_six_series_differ_in_colour_or_shape() -> None:
    assert len({look(series) for series in range(36)}) == 36
    assert len({(look(series)[:2], outline(series)) for series in range(36)}) == 36


def test_attributes_and_texts_of_drawings_are_escaped() -> None:
    [drawing] = draw(dots('a"b', "<i>", Axis("<b>"), [dot("<u>", 0, 0, 1.0, None)]))
    assert 'id="a&#34;b-0-t">&lt;i&gt;<' in drawing and ">&lt;b&gt;</text>" in drawing
    assert drawing.count("&lt;u&gt;") == 3 and "<u>" not in drawing


def test_ticks_are_round_and_within_the_scale() -> None:
    assert Scale(Axis(), 0.0, 100.0, 0, 1).ticks(6) == [0, 20, 40, 60, 80, 100]
    assert Scale(Axis(), -0.3, 0.31, 0, 1).ticks(4) == [-0.2, 0, 0.2]


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (90, 1100, [100, 200, 300, 400, 600, 1000]),
        (313, 362, [320, 330, 340, 350, 360]),
        (2, 1e9, [100, 1e4, 1e6, 1e8]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round(low: float, high: float, wanted: list[float]) -> None:
    scale = Scale.of(Axis(limits=(low, high), is_logarithmic=True), [], 0, 1)
    assert scale.ticks(5 + (high < 1e9)) == wanted


def test_equal_factors_are_equally_far_on_a_logarithmic_scale() -> None:
    scale = Scale.of(LOGARITHMIC, [64.0, 16.0, 256.0, 16.0], 0, 112)
    assert scale(64.0) == pytest.approx((scale(16.0) + scale(256.0)) / 2)
    assert (scale(16.0), scale(256.0)) == (pytest.approx(6), pytest.approx(106))


def test_lines_end_where_their_axis_ends() -> None:
    scale = Scale.of(Axis(limits=(0.0, 10.0)), [50.0], 100, 200)
    assert [scale(value) for value in (-3.0, 5.0, 50.0)] == [100, 150, 200]


def test_ticks_whose_numbers_would_touch_are_left_out() -> None:
    line = curve("a", 0, [(16, 0.1), (17, 0.2), (64, 0.3)])
    [drawing] = draw(curves("c", "Title", Axis("rows", ticks=(16, 17, 64), is_logarithmic=True), "score", [line]))
    assert texts(drawing, "tick")[:2] == ["16", "64"]


def test_a_reference_is_on_the_axis_with_its_name() -> None:
    [drawing] = draw(dots("d", "Title", Axis("score"), [dot("a", 0, 0, 70.0, (60, 80))], ("majority", 50.0)))
    assert "majority" in texts(drawing, "tick")
    [left] = re.findall(r'points="([\d.]+),[^"]*" class="reference"', drawing)
    [start] = re.findall(r'points="([\d.]+),[^"]*" class="interval', drawing)
    assert float(left) < float(start)


def test_the_first_name_is_at_the_top_beside_its_dot() -> None:
    [drawing] = draw(dots("d", "Title", Axis("score"), [dot("a", 0, 0, 1.0, None), dot("b", 0, 1, 2.0, None)]))
    names = [float(y) for y in re.findall(r'<text x="0" y="([\d.]+)"[^>]*class="name"', drawing)]
    markers = [float(y) for y in re.findall(r"translate\([\d.]+ ([\d.]+)\)", drawing)]
    assert texts(drawing, "name") == ["a", "b"]
    assert names == [marker + 4 for marker in markers] and markers[0] < markers[1]


def test_seven_lines_have_a_panel_each_over_all_lines_in_grey() -> None:
    lines = [curve(f"line {number}", number, [(1, number), (2, number + 1)]) for number in range(7)]
    first, *others = draw(curves("c", "Title", Axis("step"), "loss", lines))
    assert first.count('class="other') == 7 and len(others) == 6
    assert all('<use href="#c-behind"/>' in drawing and "other" not in drawing for drawing in others)
    assert '<title id="c-1-t">Title: line 1</title>' in others[0]
    assert '<desc id="c-1-d">line 1: 1 at 1 to 2 at 2</desc>' in others[0]


def test_screen_readers_are_told_the_titles_of_groups() -> None:
    groups = [
        Group("a", "1 of 2", 0, [Mark("", [(1, 1)], 3)], "pale"),
        Group("", "", 1, [Mark("front", [(1, 1), (2, 2)])]),
    ]
    [drawing] = draw(Chart("c", "Title", Axis(), Axis(), [Panel("score", groups)]))
    assert '<g class="pale"><title>a: 1 of 2</title><path' in drawing
    assert '<desc id="c-0-d">a: 1 of 2</desc>' in drawing and texts(drawing, "axis")[-1] == "score"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.25"), (1500, "1500"), (12345, "12.3k"), (1.5e6, "1.5M"), (2e7, "20M"), (3.2e9, "3.2G")],
)
def test_numbers_beside_ticks_are_short(value: float, text: str) -> None:
    assert short(value) == text
