"""The tables that the command prints: figures, reliability, temperatures and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from benchrunner_calibration.binning import EQUAL_MASS
from benchrunner_calibration.calibration import Calibration, Difference, SystemCalibration
from benchrunner_calibration.measures import BRIER, LOG_LOSS, SQUARED_ERROR, Estimate
from benchrunner_calibration.temperature import HIGHEST, LOWEST, Temperature

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

WIDTH = 100
"""Characters of a line."""
SYSTEMS_ACROSS = 3
"""Number of systems beside each other in a table of `WIDTH`."""


Row = tuple[str, Callable[[SystemCalibration], str]]
"""Name of a row of a table, and what writes the text of a system."""


@final
@dataclass(frozen=True)
class Line:
    """A line of a table: a figure with its name and its unit."""

    figure: str
    name: str
    scale: float = 100.0
    decimals: int = 1

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """Write a value in the unit of the line."""
        if value is None:
            return "-"
        return f"{value * self.scale:{'+' if signed else ''}.{self.decimals}f}"

    def text(self, estimate: Estimate, *, signed: bool = False) -> str:
        """Write a figure with its deviation and its interval."""
        text = self.number(estimate.value, signed=signed)
        if estimate.deviation is not None:
            text += f" ± {self.number(estimate.deviation)}"
        if estimate.interval is not None:
            text += f" {self.interval(estimate.interval.low, estimate.interval.high)}"
        return text

    def interval(self, low: float, high: float) -> str:
        """Write an interval in the unit of the line."""
        return f"[{self.number(low)}, {self.number(high)}]"


ERROR = Line("calibration_error", "calibration error")
SQUARE = Line(SQUARED_ERROR, "calibration error²", 10_000.0)
OF_BRIER, OF_LOG_LOSS = Line(BRIER, "Brier score", 1.0, 3), Line(LOG_LOSS, "log loss", 1.0, 3)
LINES = (
    Line("accuracy", "accuracy"),
    Line("confidence", "confidence"),
    Line("overconfidence", "  less accuracy"),
    ERROR,
    Line("plain_error", "plain ECE"),
    Line("plain_error_by_chance", "  by chance alone"),
    OF_BRIER,
    OF_LOG_LOSS,
)


def figure_tables(systems: Sequence[SystemCalibration]) -> Iterator[Table]:
    """Yield tables with the figures of systems on one split, some systems beside each other."""

    def row(line: Line) -> Row:
        return line.name, lambda system: line.text(system.figures[line.figure])

    yield from _tables(systems, list(map(row, LINES)))


def temperature_tables(systems: Sequence[SystemCalibration]) -> Iterator[Table]:
    """Yield tables with the temperatures of systems on one split, and what they change."""
    rows = [_of_temperature("temperature", _temperatures), _of_temperature("  of each half", _halves)]
    for line in (ERROR, OF_BRIER, OF_LOG_LOSS):
        rows.append((line.name, partial(_before_and_after, line)))
        rows.append(_change(line))
    yield from _tables(systems, rows)


def _of_temperature(name: str, text: Callable[[Temperature], str]) -> Row:
    return name, lambda system: "-" if system.temperature is None else text(system.temperature)


def _before_and_after(line: Line, system: SystemCalibration) -> str:
    if system.temperature is None:
        return "-"
    before, after = system.figures[line.figure], system.temperature.after[line.figure]
    return f"{line.number(before.value)} -> {line.number(after.value)}"


def _change(line: Line) -> Row:
    """Return the row of the change of a figure; that of a calibration error is the change of its square."""
    changed, name = (SQUARE, "  change of its square") if line is ERROR else (line, "  change")
    return _of_temperature(name, lambda temperature: changed.text(temperature.change[changed.figure], signed=True))


def _temperatures(temperature: Temperature) -> str:
    text = Line("", "", 1.0, 2).text(temperature.of_all)
    at_limit = any(value in (LOWEST, HIGHEST) for value in temperature.of_all.restarts)
    return f"{text} (at the limit)" if at_limit else text


def _halves(temperature: Temperature) -> str:
    texts = []
    for halves in temperature.of_halves:
        texts.append(" and ".join(f"{value:.2f}" for value in halves))
    return "; ".join(texts)


def _tables(systems: Sequence[SystemCalibration], rows: Sequence[Row]) -> Iterator[Table]:
    """Yield tables with the rows down and some systems across."""
    from rich.table import Table

    for start in range(0, len(systems), SYSTEMS_ACROSS):
        across = systems[start : start + SYSTEMS_ACROSS]
        table = Table("")
        for system in across:
            table.add_column(_plain(system.system), justify="right", overflow="fold")
        for name, text in rows:
            table.add_row(name, *(_plain(text(system)) for system in across))
        yield table


def reliability_table(system: SystemCalibration) -> Table:
    """Return the reliability table of a system on a split."""
    from rich.table import Table

    table = Table("confidence", "answers", "mean", "accuracy [95 %]")
    for column in table.columns:
        column.justify = "right"
    line = Line("", "")
    for part in system.bins:
        accuracy = f"{line.number(part.accuracy)} {line.interval(part.interval.low, part.interval.high)}"
        span = f"{line.number(part.low)} to {line.number(part.high)}"
        table.add_row(span, f"{part.answers:,}", line.number(part.confidence), _plain(accuracy))
    return table


def difference_table(differences: Sequence[Difference]) -> Table:
    """Return the table of the differences between systems on one split."""
    from rich.table import Table

    shown = {SQUARED_ERROR: SQUARE, BRIER: OF_BRIER, LOG_LOSS: OF_LOG_LOSS}
    table = Table("difference", "calibration error²", "Brier score", "log loss")
    for column in table.columns[1:]:
        column.justify = "right"
    pairs = dict[tuple[str, str], dict[str, str]]()
    for difference in differences:
        line, comparison = shown[difference.measure], difference.comparison
        text = f"{line.number(comparison.difference, signed=True)} {line.interval(comparison.low, comparison.high)}"
        if difference.is_clear:
            text += " *" if comparison.claim == "backbones" else " (*)"
        pairs.setdefault((difference.system, difference.other), {})[difference.measure] = text
    for (system, other), texts in pairs.items():
        table.add_row(_plain(f"{system} less {other}"), *(_plain(texts.get(measure, "-")) for measure in shown))
    return table


def _plain(text: str) -> Text:
    """Return a text in which brackets mean nothing to rich."""
    from rich.text import Text

    return Text(text)


def footnotes(calibration: Calibration, systems: Sequence[SystemCalibration]) -> Iterator[str]:
    """Yield what a reader of the figures on one split must know."""
    kind = "equal mass" if calibration.binning.kind == EQUAL_MASS else "equal width"
    yield f"{calibration.binning.count} bins of {kind}; the confidence of an answer is its probability"
    clusters = systems[0].clusters
    over = "examples" if clusters is None else f"clusters ({clusters:,} here)"
    yield f"[95 %] is the interval over {over}, for these restarts; ± is the deviation between restarts"
    yield "calibration error: root of the mean squared difference of confidence and accuracy in bins, without bias"
    yield "plain ECE is biased: by chance alone, a calibrated system with these confidences has the figure below it"
    yield from dict.fromkeys(note for system in systems for note in system.notes)
    if calibration.differences_on(systems[0].task, systems[0].split):
        yield "differences: intervals hold together; * is more than chance after correction, (*) of these fits only"
    for rule in dict.fromkeys(system.temperature.rule for system in systems if system.temperature is not None):
        yield f"temperature: {rule}"
