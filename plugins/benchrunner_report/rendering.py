"""Write a report as one HTML file. Style and script are inside the file, so that it loads nothing from a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.engine import write_atomically
from benchrunner.results import Result, Runner, comparison, output_places
from benchrunner_report.drawings import quality_cost
from benchrunner_report.drawings.series import SHAPES
from benchrunner_report.drawings.study_charts import study_cards
from benchrunner_report.drawings.task_charts import cards
from benchrunner_report.gathering import Report, gather, kind_of
from benchrunner_report.pages import page_environment

if TYPE_CHECKING:
    from markupsafe import Markup

PARTS: Mapping[str, str] = {
    "results": "Results",
    "tasks": "Tasks",
    "rows": "Single rows",
    "cost": "Cost",
    "measured": "Quality and cost",
    "how": "How it was made",
}
"""The sections of a page in their order: the name of the template of each, which is its id too -> its heading."""
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
) -> Path:
    """Write a report of a study as one HTML file, which opens without a network; return its path.

    `result` is what `run_study`, `read_study` or `result_of_runs` return. Nothing is fitted or predicted: where answers
    or logs are not kept on disk, the report says why a figure is absent.
    """
    return write_page(gather(result, runner, published=published, title=title), path)


def write_page(report: Report, path: Path) -> Path:
    """Write the page of a report; return its path."""
    output_places.check_place(path, is_file=True)
    text = rendered(report)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8", errors="replace"))
    return path


def rendered(report: Report, shown: Callable[[str], str] = str) -> str:
    """Return a report as HTML. Every text is escaped; the page's security policy allows only its own script.

    `shown` is called with every text outside of rows of the data, and may change it.
    """
    environment = page_environment("benchrunner_report", ["report.css"], ["page.js", "report.js"], shown)
    result = report.result
    cost_cards = list(quality_cost.cost_cards(result))
    parts = {**PARTS, "rows": report.rows_heading}
    if not cost_cards:
        del parts["measured"]
    return environment.get_template("report.html").render(
        report=report,
        result=result,
        study=result.study,
        kind=kind_of(result.study),
        names=result.study.names,
        few=SHAPES,
        parts=parts,
        cost_cards=cost_cards,
        study_cards=study_cards,
        cards=cards,
        keys={name: series for series, name in enumerate(result.study.names)},
        anchors=_anchors(report),
        rows=_json_for_html(_rows(report)),
    )


def _anchors(report: Report) -> dict[str, str]:
    """Map the names of tasks, as the table has them, to the links to their sections."""
    anchors = dict[str, str]()
    for section in report.sections:
        for name in (section.task.name, section.task.title):
            anchors.setdefault(name, f"#{section.anchor}")
    return anchors


def _rows(report: Report) -> Mapping[str, Any]:
    """Return the rows in which systems differ, in the form that the page's script reads."""
    names = list(report.result.study.names)
    tasks = []
    for part in report.differing:
        numbers = list(map(names.index, part.systems))
        tasks.append({**part.as_json, "systems": numbers})
    return {"systems": names, "shapes": SHAPES, "tasks": tasks}


def _json_for_html(value: Any) -> Markup:
    """Write JSON for an element of HTML; no text in the JSON can end the element."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate({ord(character): escape for character, escape in CHARACTERS.items()}))
