"""Scores of a backbone as JSON of Every Eval Ever, a common format for results of evaluations, with its paths.

The fields follow `eval.schema.json`, version 0.3.0, of the repository evaleval/every_eval_ever, and the paths what its
validator asks of the datastore: `data/COLLECTION/DEVELOPER/MODEL/UUID.json`.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
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
"""Name of a metric -> its lowest and highest value. A continuous score needs both: other metrics give no such type."""
_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|(COM|LPT)[1-9])(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def logs(backbone: str, scores: Sequence[CardScore], content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of a log for each suite. `content` is that of the study."""
    suites = dict[str, list[CardScore]]()
    for score in scores:
        suites.setdefault(score.task.partition("/")[0], []).append(score)
    for suite, of_suite in suites.items():
        log = _evaluation(suite, of_suite, content)
        yield log_path(backbone, suite, log), json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def log_path(backbone: str, suite: str, log: Mapping[str, Any]) -> str:
    """Return the path of a log in the datastore. The number follows from the content."""
    digest = hashlib.sha256(json.dumps(log, sort_keys=True).encode()).digest()
    number = uuid.UUID(bytes=digest[:16], version=4)  # the datastore asks for this version
    developer, slash, model = backbone.partition("/")
    folders = (suite, *((developer, model) if slash else ("unknown", backbone)))
    return f"data/{'/'.join(map(_portable, folders))}/{number}.json"


def _evaluation(suite: str, scores: Sequence[CardScore], content: Mapping[str, Any]) -> dict[str, Any]:
    backbone = scores[0].backbone
    answered = content["answered"]
    seconds = f"{datetime.datetime.fromisoformat(answered).timestamp():.0f}"
    source: dict[str, Any] = {
        "source_name": content["name"],
        "source_type": "evaluation_run",
        "source_organization_name": "not stated",
        "evaluator_relationship": "other",
    }
    if content["url"]:
        source["additional_details"] = {"answers": content["url"]}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{suite}/{backbone}/{seconds}",
        "evaluation_timestamp": answered,
        "retrieved_timestamp": seconds,
        "source_metadata": source,
        "eval_library": {"name": "benchrunner", "version": content["benchrunner"]},
        "model_info": _model(backbone, scores[0].revision),
        "evaluation_results": [_result(score) for score in scores],
    }


def _portable(name: str) -> str:
    """Return a name as that of a folder on every system, which is not "data" either."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", name)[:100].rstrip(".")
    return f"_{name}" if not name or name[0] == "." or name == "data" or _RESERVED.fullmatch(name) else name


def _model(backbone: str, revision: str) -> dict[str, Any]:
    developer, slash, _ = backbone.partition("/")
    return {
        "name": backbone,
        "id": backbone,
        **({"developer": developer} if slash else {}),
        "inference_engine": {"name": "benchrunner"},
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "unknown",
            "weights_and_tokenizer_hash": revision,
        },
    }


def _result(score: CardScore) -> dict[str, Any]:
    limits = {}
    if score.metric in _RANGES:
        lowest, highest = _RANGES[score.metric]
        limits = {"score_type": "continuous", "min_score": lowest, "max_score": highest}
    return {
        "evaluation_result_id": f"{score.task}/{score.split}/{score.method}/{score.metric}",
        "evaluation_name": score.task,
        "source_data": _source(score),
        "metric_config": {
            "evaluation_description": f"{score.metric} on {score.split}, {score.remark}",
            "metric_id": score.metric,
            "metric_name": score.metric,
            "lower_is_better": score.lower_is_better,
            **limits,
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
