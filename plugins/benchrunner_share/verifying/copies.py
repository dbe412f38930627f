"""Finds copies: one training that a folder, or several folders of a board, show as several."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner import quoted
from benchrunner_share.documents.contents import answers_name
from benchrunner_share.documents.plan import Plan, SharedFit
from benchrunner_share.verifying.findings import Findings
from benchrunner_share.verifying.received_folder import ReceivedFolder

Trace = tuple[object, ...]
"""What no second training leaves: the task, the SHA-256 of the answers, and the seconds."""
FitPlace = tuple[str, str]
"""A backbone and the id of a fit."""


def traced(
    folder: ReceivedFolder, plan: Plan, fits: Mapping[str, SharedFit], findings: Findings
) -> dict[Trace, FitPlace]:
    """Map the trace of each fit with answers to its place; add a remark where two fits have the same trace."""
    known = dict[Trace, FitPlace]()
    for cell in plan.cells:
        for fit in cell.fits:
            predictions = plan.predictions.get(fit, {}).get(cell.task, {})
            names = [answers_name(prediction) for prediction in predictions.values()]
            if fit in fits and fits[fit].timings and folder.names.issuperset(names):
                seconds = sorted(fits[fit].timings.items())
                trace = (cell.task, *map(folder.sha256, names), *seconds)
                place = (cell.backbone, fit)
                first = known.setdefault(trace, place)
                if first != place:
                    findings.remark(
                        f"The fits {first[1]} ({quoted(first[0])}) and {fit} ({quoted(place[0])}) have equal answers "
                        "and seconds: one training may be shown as two."
                    )
    return known
