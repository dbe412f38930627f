"""The report of a shared study: without rows of the data unless asked, and without private names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchrunner.reports.contents import Report
from benchrunner.reports.disagreement import Disagreement
from benchrunner.reports.gathering import gather
from benchrunner.reports.rendering import rendered
from benchrunner.runs.runner import Runner
from benchrunner.sharing.private_texts import Private
from benchrunner.studies.study import Result
from benchrunner.study_files.table import StudyFileResult


def shared_report(
    study: Result | StudyFileResult, runner: Runner, private: Private, names: Mapping[str, str], *, with_rows: bool
) -> str:
    """Return the report of a study as HTML. `names` maps backbones to their shared names."""
    report: Report = _without_private(gather(study, runner), private, names, with_rows)
    return rendered(replace(report, notes=tuple(dict.fromkeys(map(private.remark, report.notes)))))


def _without_private(value: Any, private: Private, names: Mapping[str, str], with_rows: bool) -> Any:
    """Return a value with the shared names of backbones, and with no private name in any of its texts."""

    def inner(part: Any) -> Any:
        return _without_private(part, private, names, with_rows)

    if isinstance(value, str):
        return names[value] if value in names else private.without(value)
    if isinstance(value, Mapping):
        return {inner(key): inner(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(inner(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # The texts of rows are data: they are shared as they are, or not at all.
        kept = {"rows": value.rows if with_rows else ()} if isinstance(value, Disagreement) else {}
        fields = [field.name for field in dataclasses.fields(value) if field.init and field.name not in kept]
        return replace(value, **{name: inner(getattr(value, name)) for name in fields}, **kept)
    return value
