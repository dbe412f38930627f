"""The scores of a shared study as a flat list, from which tables and metadata are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class CardScore:
    """One metric of one backbone on one split: what metadata says about the backbone."""

    backbone: str
    task: str
    method: str
    split: str
    metric: str
    is_headline: bool
    is_detail: bool
    """Whether tables leave the metric out, see `benchrunner.Metric`."""
    lower_is_better: bool
    scale: float
    """Factor for display, see `benchrunner.Metric`."""
    mean: float
    """Mean over the restarts of the grid point that dev selected."""
    best: float | None
    """Score of the restart that dev selected."""
    deviation: float | None
    """Standard deviation between restarts; None for fewer than two."""
    restarts: tuple[float, ...]
    majority: float | None
    """Score of the majority answer on the same rows."""
    warnings: tuple[str, ...]
    """What a reader of the figure must know, such as constant answers or a limit of the training rows."""
    rows: int
    hub: Mapping[str, str | None] | None
    """Repository, configuration, split and revision on the hub; None if the data is not from there."""
    fingerprint: str
    """SHA-256 of the rows."""
    revision: str
    """Hash of the backbone's weights and tokenizer."""
    selected: str
    """Id of the fit that dev selected."""
    recipe: Mapping[str, Any]
    """The selected grid point."""

    @property
    def about_restarts(self) -> str:
        """Say how many restarts the mean is over."""
        if len(self.restarts) == 1:
            return "1 restart"
        deviation = "" if self.deviation is None else f", standard deviation {self.shown(self.deviation)}"
        return f"mean of {len(self.restarts)} restarts{deviation}"

    @property
    def remark(self) -> str:
        """Say what the mean is of, what the majority answer scores, and what a reader must know."""
        majority = "" if self.majority is None else f"; majority {self.shown(self.majority)}"
        warnings = f"; warning: {', '.join(self.warnings)}" if self.warnings else ""
        return f"{self.about_restarts}{majority}{warnings}"

    def shown(self, value: float | None) -> str:
        """Write a figure as tables show it; empty if there is none."""
        return "" if value is None else f"{value * self.scale:.2f}"


def card_scores(content: Mapping[str, Any]) -> Iterator[CardScore]:
    """Yield every score of a shared study that has a mean, each backbone, task and method once."""
    known = set[tuple[str, str, str]]()
    for cell in content["result"]["cells"]:
        key = (cell["backbone"], cell["task"], cell["method"])
        if key not in known:
            yield from _of_cell(cell, content)
        known.add(key)


def _of_cell(cell: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[CardScore]:
    task = content["tasks"][cell["task"]]
    metrics = {metric["name"]: metric for metric in task["metrics"]}
    for score in cell["scores"]:
        if score["mean"] is None:
            continue
        data = content["data"][cell["task"]][score["split"]]
        yield CardScore(
            backbone=cell["backbone"],
            task=cell["task"],
            method=cell["method"],
            split=score["split"],
            metric=score["metric"],
            is_headline=score["metric"] == task["metrics"][0]["name"],
            is_detail=metrics[score["metric"]]["detail"],
            lower_is_better=metrics[score["metric"]].get("lower_is_better", False),
            scale=metrics[score["metric"]]["scale"],
            mean=score["mean"],
            best=score["best"],
            deviation=score["deviation"],
            restarts=tuple(score["restarts"]),
            majority=score["majority"],
            warnings=tuple(cell["warnings"]),
            rows=data["rows"],
            hub=task["splits"][score["split"]]["hub"],
            fingerprint=data["fingerprint"],
            revision=content["revisions"].get(cell["backbone"], ""),
            selected=cell["selected"],
            recipe=cell["chosen"],
        )
