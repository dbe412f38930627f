"""Reliability pictures of all systems, side by side on one page of HTML that needs no network."""

from __future__ import annotations

from pathlib import Path

from benchrunner.engine import write_atomically
from benchrunner_calibration.calibration import Calibration
from benchrunner_calibration.measured import SystemReliability
from benchrunner_calibration.measures import ERROR
from benchrunner_report import Card, chart, curve, curves, page_environment


def write_pictures(calibration: Calibration, path: Path) -> None:
    """Write a page with the reliability picture of each system on each split."""
    cards = []
    for number, part in enumerate(calibration.reliability):
        error = calibration.result.entries[part.system, f"{part.task} {ERROR}"]
        about = f"{part.task}; calibration error {error.figure.mean_text}"
        cards.append(Card(part.system, about, [_chart(part, number)]))
    template = page_environment("benchrunner_calibration", ["report.css"], []).get_template("reliability.html")
    page = template.render(cards=cards, title=calibration.result.study.title)
    write_atomically(path, lambda part: part.write_text(page, encoding="utf-8", errors="replace"))


def _chart(part: SystemReliability, number: int) -> chart.Chart:
    """Return a point for each bin, and a line on which answers are right as often as they are confident."""
    points = []
    bars = []
    for answers in part.bins:
        points.append((100 * answers.confidence, 100 * answers.accuracy))
        bars.append((100 * answers.interval.low, 100 * answers.interval.high))
    lowest, highest = points[0][0], points[-1][0]
    ideal = chart.Mark("curve", [(lowest, lowest), (highest, highest)])
    groups = [chart.Group("as right as confident", "", 1, [ideal]), curve(part.system, 0, points, bars)]
    title = f"Reliability of {part.system} on {part.task}"
    return curves(f"reliability-{number}", title, chart.Axis("confidence"), "accuracy", groups)
