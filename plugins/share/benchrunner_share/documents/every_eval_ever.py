"""Scores of a backbone as JSON of Every Eval Ever, a common format for results of evaluations.

The fields follow `eval.schema.json`, version 0.3.0, of the repository evaleval/every_eval_ever.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from benchrunner_share.documents.card_scores import CardScore

SCHEMA = "0.3.0"
"""Version of the format."""
_SHARES = ("accuracy", "balanced_accuracy", "exact_match", "f1", "f1_macro", "f1_micro", "f1_samples", "f1_weighted")
_CORRELATIONS = ("matthews", "pearson", "spearman")
_RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    **dict.fromkeys(_CORRELATIONS, (-1.0, 1.0)),
}
"""Name of a metric -> its lowest and highest value. Null, for other metrics, means that the range is not given."""


def evaluation(
    backbone: str, scores: Sequence[CardScore], *, study: str, answered: str, version: str, url: str | None
) -> dict[str, Any]:
    """Return the scores of a backbone as one evaluation. `answered` is the date and time of the newest answers."""
    seconds = f"{datetime.datetime.fromisoformat(answered).timestamp():.0f}"
    source: dict[str, Any] = {
        "source_name": study,
        "source_type": "evaluation_run",
        "source_organization_name": "not stated",
        "evaluator_relationship": "other",
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{study}/{backbone}/{seconds}",
        "evaluation_timestamp": answered,
        "retrieved_timestamp": seconds,
        "source_metadata": source | ({"additional_details": {"answers": url}} if url else {}),
        "eval_library": {"name": "benchrunner", "version": version},
        "model_info": _model(backbone, scores[0].revision),
        "evaluation_results": [_result(score) for score in scores],
    }


def _model(backbone: str, revision: str) -> dict[str, Any]:
    return {
        "name": backbone,
        "id": backbone,
        "inference_engine": {"name": "benchrunner"},
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "unknown",
            "weights_and_tokenizer_hash": revision,
        },
    }


def _result(score: CardScore) -> dict[str, Any]:
    lowest, highest = _RANGES.get(score.metric, (None, None))
    return {
        "evaluation_result_id": f"{score.task}/{score.split}/{score.method}/{score.metric}",
        "evaluation_name": score.task,
        "source_data": _source(score),
        "metric_config": {
            "evaluation_description": f"{score.metric} on {score.split}, {score.remark}",
            "metric_id": score.metric,
            "metric_name": score.metric,
            "lower_is_better": score.lower_is_better,
            "score_type": "continuous",
            "min_score": lowest,
            "max_score": highest,
        },
        "score_details": {"score": score.mean, "details": _details(score)},
    }


def _source(score: CardScore) -> dict[str, Any]:
    details = {"rows_sha256": score.fingerprint, "rows": str(score.rows), "split": score.split}
    if score.hub is None:
        return {"dataset_name": score.task, "source_type": "other", "additional_details": details}
    return {
        "dataset_name": score.task,
        "source_type": "hf_dataset",
        "hf_repo": score.hub["repository"],
        "hf_split": score.hub["split"],
        "samples_number": score.rows,
        "additional_details": details | {"configuration": score.hub["configuration"] or ""},
    }


def _details(score: CardScore) -> dict[str, str]:
    """Return what explains a score; every value is a text, as the format asks."""
    details = {
        "restarts": ", ".join(map(repr, score.restarts)),
        "selected_fit": score.selected,
        "method": score.method,
    }
    if score.majority is not None:
        details["majority"] = repr(score.majority)
    if score.warnings:
        details["warnings"] = "; ".join(score.warnings)
    if score.best is not None:
        details["selected_restart"] = repr(score.best)
    if score.deviation is not None:
        details["standard_deviation_between_restarts"] = repr(score.deviation)
    return details | {f"recipe_{name}": str(value) for name, value in score.recipe.items()}
