"""Write a report as one HTML file. Style and script are inside the file, so that it loads nothing from a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.io.files import write_atomically
from benchrunner.io.output_places import check_place
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.reports import charts
from benchrunner.reports.contents import Report
from benchrunner.reports.gathering import duration, gather
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED
from benchrunner.studies.study import Result
from benchrunner.study_files.table import StudyFileResult

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
    result: Result | StudyFileResult,
    path: Path,
    runner: Runner,
    *,
    published: PublishedChoice = NOTHING_PUBLISHED,
    title: str = "",
) -> Path:
    """Write a report of a study as one HTML file, which opens without a network; return its path.

    `result` is what `run_study`, `run_study_file`, `read_study` or `result_of_runs` return. Nothing is fitted or
    predicted: where answers or logs are not kept on disk, the report says why a figure is absent.
    """
    check_place(path, is_file=True)
    text = rendered(gather(result, runner, published=published, title=title))
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8", errors="replace"))
    return path


def rendered(report: Report) -> str:
    """Return a report as HTML. Every text is escaped; the page's security policy allows only its own script."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("benchrunner.reports")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"figure": _figure, "large": _large, "duration": duration, "p": charts.p_text}
    style, script = (loader.get_source(environment, name)[0] for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html").render(
        report=report,
        charts=charts,
        keys=charts.legend(report.backbones),
        style=Markup(style),
        script=Markup(script),
        script_hash=digest,
        rows=_json_for_html(_rows(report)),
    )


def _rows(report: Report) -> Mapping[str, Any]:
    """Return the rows in which backbones differ, in the form that the page's script reads."""
    return {
        "backbones": list(report.backbones),
        "tasks": [
            {
                "name": part.task,
                "backbones": [report.backbones.index(name) for name in part.backbones],
                "columns": list(part.columns),
                "rows": list(part.rows),
            }
            for part in report.rows
        ],
    }


def _json_for_html(value: Any) -> Markup:
    """Write JSON for an element of HTML; no text in the JSON can end the element."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate({ord(character): escape for character, escape in CHARACTERS.items()}))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _large(value: float | None) -> str:
    """Write a large number with three digits and a power of ten or a unit."""
    if value is None:
        return "not counted"
    for unit, name in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g}"
