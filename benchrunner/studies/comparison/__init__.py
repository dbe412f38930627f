"""Comparisons: the table of a study with published figures beside ours, its legend and its conclusion in words."""

from benchrunner.fits.cost import Cost, prefixed
from benchrunner.leaderboards.published_choice import PublishedChoice, choose_published
from benchrunner.studies.codes import WARNINGS, code_of, coded
from benchrunner.studies.comparison.facts import facts, titles
from benchrunner.studies.comparison.footnotes import grouped, where
from benchrunner.studies.comparison.formats import as_text
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, layout
from benchrunner.studies.comparison.table import Layout, Line, Shown

__all__ = [
    "NOTHING_PUBLISHED",
    "WARNINGS",
    "Cost",
    "Layout",
    "Line",
    "PublishedChoice",
    "Shown",
    "as_json",
    "as_text",
    "choose_published",
    "code_of",
    "coded",
    "facts",
    "grouped",
    "layout",
    "prefixed",
    "titles",
    "where",
]
