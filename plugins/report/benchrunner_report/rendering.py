"""Write a report as one HTML file. Style and script are inside the file, so that it loads nothing from a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.engine import write_atomically
from benchrunner.results import Result, Runner, comparison, output_places
from benchrunner_report import charts, quality_cost
from benchrunner_report.fit_figures import shown_recipe
from benchrunner_report.gathering import Report, duration, gather, published_texts

if TYPE_CHECKING:
    from markupsafe import Markup

CHARACTERS: Mapping[str, str] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""Character -> its escape in JSON within HTML, so that no text can end the HTML element or begin another."""


def write_report(
    result: Result,
    path: Path,
    runner: Runner,
    *,
    published: comparison.PublishedChoice = comparison.NOTHING_PUBLISHED,
    title: str = "",
    quality: str = "",
) -> Path:
    """Write a report of a study as one HTML file, which opens without a network; return its path.

    `result` is what `run_study`, `read_study` or `result_of_runs` return. Nothing is fitted or predicted: where answers
    or logs are not kept on disk, the report says why a figure is absent. `quality` names the column that is drawn
    against costs, by default the mean over all columns of tasks.
    """
    output_places.check_place(path, is_file=True)
    text = rendered(gather(result, runner, published=published, title=title), quality=quality)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8", errors="replace"))
    return path


def rendered(report: Report, shown: Callable[[str], str] = str, *, quality: str = "") -> str:
    """Return a report as HTML. Every text is escaped; the page's security policy allows only its own script.

    `shown` is called with every text outside of drawings and of rows of the data, and may change it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalized(value: Any) -> Any:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    loader = PackageLoader("benchrunner_report")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalized,
    )
    filters: dict[str, Callable[..., Any]] = {"figure": _figure, "large": _large, "duration": duration}
    environment.filters |= filters | {"p": charts.p_text, "recipe": shown_recipe, "published": published_texts}
    style, script = (loader.get_source(environment, name)[0] for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    result = report.result
    return environment.get_template("report.html").render(
        report=report,
        result=result,
        study=result.study,
        names=result.study.names,
        layout=comparison.layout(result, comparison.NOTHING_PUBLISHED) if result.study.systems_down else None,
        series=list(comparison.series(result)) if result.study.axis else [],
        charts=charts,
        cost_rows=list(comparison.cost_rows(result)),
        cost_notes=list(comparison.cost_notes(result)),
        cost_charts=list(quality_cost.charts(result, quality)),
        keys=charts.legend(result.study.names),
        style=Markup(style),
        script=Markup(script),
        script_hash=digest,
        rows=_json_for_html(_rows(report)),
    )


def _rows(report: Report) -> Mapping[str, Any]:
    """Return the rows in which systems differ, in the form that the page's script reads."""
    names = list(report.result.study.names)
    tasks = []
    for part in report.differing:
        numbers = [names.index(name) for name in part.backbones]
        columns = list(part.columns)
        rows = list(part.rows)
        tasks.append({"name": part.task, "backbones": numbers, "columns": columns, "rows": rows})
    return {"backbones": names, "tasks": tasks}


def _json_for_html(value: Any) -> Markup:
    """Write JSON for an element of HTML; no text in the JSON can end the element."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate({ord(character): escape for character, escape in CHARACTERS.items()}))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _large(value: float | None) -> str:
    """Write a number with three digits and the prefix of a unit, such as "3.21 T"; None is "not counted"."""
    if value is None:
        return "not counted"
    for unit, name in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g}"
