"""Machines read fractions in every format; only what people read has the scale of tables."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from benchrunner.io.json_form import as_json as plain_json
from benchrunner.results import Result, comparison
from benchrunner.studies.result import _mean


def _means(result: Result) -> dict[str, dict[str, float]]:
    """The mean of every metric in every format that machines read."""
    lines = list(csv.DictReader(io.StringIO(comparison.as_text("csv", result, long=True))))
    frame = result.to_pandas(long=True)
    [cell] = json.loads(json.dumps(plain_json(comparison.as_json(result))))["cells"]
    return {
        "csv": {line["metric"]: float(line["score"]) for line in lines},
        "pandas": dict(zip(frame["metric"], frame["score"], strict=True)),
        "json": {score["metric"]: score["mean"]["value"] for score in cell["scores"]},
    }


def test_every_format_has_the_same_fractions(rates_compared: Result) -> None:
    expected = {term.metric: figure.mean.value for term, figure in rates_compared.cells[0].figures.items()}
    assert set(expected) == {"accuracy", "matthews"} and expected["accuracy"] == pytest.approx(16 / 24)
    for form, means in _means(rates_compared).items():
        assert means == pytest.approx(expected), form


def test_tables_have_the_scale_of_the_metric(rates_compared: Result) -> None:
    assert "66.7" in comparison.as_text("markdown", rates_compared) and "66.7" in comparison.as_text(
        "latex", rates_compared
    )


def test_a_mean_of_columns_is_a_fraction_too(rates_compared: Result) -> None:
    figures: Any = {term.metric: figure for term, figure in rates_compared.cells[0].figures.items()}
    values = [figure.mean.value for figure in figures.values()]
    mean = _mean(figures)
    assert (mean.mean.value, mean.scale) == (pytest.approx(sum(values) / 2), 100.0)
    other = _mean({**figures, "loss": replace(figures["accuracy"], scale=1.0)})
    assert other.scale == 1.0, "as tables show them, because the columns have different scales"
