"""Reliability plots of all systems, small and side by side, in one file of SVG that needs nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchrunner.engine import write_atomically
from benchrunner_calibration.calibration import Calibration, SystemCalibration
from benchrunner_calibration.reliability import Bin

SIDE, LEFT, TOP, BELOW, RIGHT = 180.0, 44.0, 72.0, 44.0, 16.0
"""Side of the square of a plot, and the space around it, in pixels."""
ACROSS = 4
"""Most plots beside each other."""
LONGEST = 30
"""Most characters of a name above a plot; its tooltip has the whole name."""
STYLE = """
text { font: 11px sans-serif; fill: #333 } .name { font-weight: bold } .frame { fill: none; stroke: #999 }
.ideal { stroke: #999; stroke-dasharray: 4 3 } .share { fill: #dde6f0 } .interval { stroke: #1f5fa8; stroke-width: 1.5 }
.curve { fill: none; stroke: #1f5fa8; stroke-width: 1.5 } .mean { fill: #1f5fa8 }
"""
Element = ElementTree.Element


def write_plots(calibration: Calibration, path: Path) -> None:
    """Write the reliability plots of all systems as SVG, which browsers open."""
    drawing = ElementTree.tostring(plots(calibration), encoding="unicode")
    write_atomically(path, partial(Path.write_text, data=drawing, encoding="utf-8"))


def plots(calibration: Calibration) -> Element:
    """Draw the plots: a row, or several, for each split, with a plot for each system."""
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BELOW
    drawing = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    ElementTree.SubElement(drawing, "title").text = "Reliability: accuracy by confidence"
    ElementTree.SubElement(drawing, "style").text = STYLE
    line = 0
    most = 1
    for task, split in calibration.splits:
        systems = calibration.on(task, split)
        for number, system in enumerate(systems):
            down, across = divmod(number, ACROSS)
            moved = f"translate({across * width:g} {(line + down) * height:g})"
            drawing.append(_plot(system, moved))
            most = max(most, across + 1)
        line += -(-len(systems) // ACROSS)
    size = {"width": f"{most * width:g}", "height": f"{line * height:g}"}
    drawing.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}
    return drawing


def _plot(system: SystemCalibration, moved: str) -> Element:
    """Draw the plot of a system on a split: a mark for each bin, and below how many answers are in it."""
    plot = Element("g", transform=moved)
    ElementTree.SubElement(plot, "title").text = f"{system.system} on {system.task}, {system.split}"
    _text(plot, system.system, LEFT, 16, "name")
    _text(plot, f"{system.task}, {system.split}", LEFT, 31, "")
    error = system.figures["calibration_error"].value
    figure = "no calibration error" if error is None else f"calibration error {100 * error:.1f}"
    _text(plot, figure, LEFT, 46, "")
    _add(plot, "rect", "frame", x=LEFT, y=TOP, width=SIDE, height=SIDE)
    _add(plot, "line", "ideal", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1))
    for value in (0.0, 0.5, 1.0):
        _text(plot, f"{100 * value:.0f}", _x(value), TOP + SIDE + 14, "tick", "middle")
        _text(plot, f"{100 * value:.0f}", LEFT - 5, _y(value) + 4, "tick", "end")
    _text(plot, "confidence", _x(0.5), TOP + SIDE + 30, "axis", "middle")
    _text(plot, "accuracy", LEFT - 34, TOP - 10, "axis")
    plot.extend(_bins(system.bins))
    return plot


def _bins(bins: tuple[Bin, ...]) -> Iterator[Element]:
    """Draw the shares of answers, the intervals, and the curve through the accuracies of the bins."""
    holder = Element("g")
    most = max(part.answers for part in bins)
    for part in bins:
        left, right = _x(part.low), _x(part.high)
        height = SIDE / 5 * part.answers / most
        _add(holder, "rect", "share", x=left, y=_y(0) - height, width=max(1.0, right - left), height=height)
    points = " ".join(f"{_x(part.confidence):.1f},{_y(part.accuracy):.1f}" for part in bins)
    ElementTree.SubElement(holder, "polyline", {"class": "curve", "points": points})
    for part in bins:
        x = _x(part.confidence)
        _add(holder, "line", "interval", x1=x, x2=x, y1=_y(part.interval.low), y2=_y(part.interval.high))
        mark = _add(holder, "circle", "mean", cx=x, cy=_y(part.accuracy), r=2.5)
        told = f"confidence {100 * part.confidence:.1f}, accuracy {100 * part.accuracy:.1f}, {part.answers:,} answers"
        ElementTree.SubElement(mark, "title").text = told
    yield holder


def _x(confidence: float) -> float:
    return LEFT + SIDE * confidence


def _y(accuracy: float) -> float:
    return TOP + SIDE * (1 - accuracy)


def _add(parent: Element, tag: str, kind: str, **places: float) -> Element:
    attributes = {name: f"{value:.1f}" for name, value in places.items()}
    return ElementTree.SubElement(parent, tag, {"class": kind, **attributes})


def _text(parent: Element, text: str, x: float, y: float, kind: str, anchor: str = "start") -> None:
    written = _add(parent, "text", kind, x=x, y=y)
    written.set("text-anchor", anchor)
    written.text = text if len(text) <= LONGEST else f"…{text[1 - LONGEST :]}"
