"""Comparisons: the table of a study with published figures beside ours, its legend and its conclusion in words."""

from benchrunner.leaderboards.published_choice import PublishedChoice, choose_published
from benchrunner.studies.comparison.conclusions import conclusions
from benchrunner.studies.comparison.formats import as_text
from benchrunner.studies.comparison.json_values import as_json, series
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, Row, layout, task_rows
from benchrunner.studies.comparison.remarks import footnotes, remarks
from benchrunner.studies.comparison.table import Layout

__all__ = [
    "NOTHING_PUBLISHED",
    "Layout",
    "PublishedChoice",
    "Row",
    "as_json",
    "as_text",
    "choose_published",
    "conclusions",
    "footnotes",
    "layout",
    "remarks",
    "series",
    "task_rows",
]
