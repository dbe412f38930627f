"""Training steps of hub models on the device `meta`, along the path that a GPU takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_models import write_model

from benchrunner import Recipe
from benchrunner_devices.captured import Captured
from benchrunner_transformers.loading import load
from kinds_of_tasks import PROBLEMS
from meta_device import Operators, features_of_kind, step_on_meta, training_on_meta


def operators_of_a_step(
    family: str, kind: str, precision: Any, folder: Path, *, recompute: bool = False, static: bool = False
) -> Operators:
    """Take a training step of a tiny model of a family for a kind of task; `static`: with a batch of fixed shape."""
    write_model(family, folder / "model")
    encoder = load(folder / "model", seed=0, encoder_only=False)
    if recompute:
        encoder.recompute_layers()
    recipe = Recipe(batch_size=8, precision=precision, max_length=64, context="sentence")
    features = features_of_kind(kind, encoder, recipe)
    training = training_on_meta(encoder, PROBLEMS[kind], features, recipe, folder)
    if static:
        training._way = Captured(training.means, lambda: pytest.fail("nothing is recorded yet"))
    way, read = training._way, PROBLEMS[kind].head.reads_summary
    operators = step_on_meta(training, unused=() if read else ("encoder.summary_layers",))
    assert training._way is way, training.notes
    return operators


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_step_of_every_problem_runs_on_meta(kind: str, tmp_path: Path) -> None:
    operators = operators_of_a_step("bert", kind, "bf16", tmp_path)
    assert operators.counts["aten::_flash_attention_forward"] == 2
    assert operators.counts["aten::_flash_attention_backward"] == 2
    assert operators.counts["aten::native_dropout"] == 1 + 2 * 2 + PROBLEMS[kind].head.dropout


@pytest.mark.parametrize("family", ["distilbert", "electra", "roberta"])
def test_flat_families_read_batches_of_fixed_shape(family: str, tmp_path: Path) -> None:
    operators = operators_of_a_step(family, "classify", "fp32", tmp_path, static=True)
    assert operators.counts["aten::_efficient_attention_forward"] == 2


def test_attention_by_distance_reads_batches_of_fixed_shape(tmp_path: Path) -> None:
    """Each of the two layers has two terms of the distances; in buckets, it has two for each bucket."""
    operators = operators_of_a_step("deberta-v2", "classify", "fp32", tmp_path, static=True)
    assert operators.counts["aten::gather"] == operators.counts["aten::scatter_add"] == 4
    again = operators_of_a_step("deberta-v2", "classify", "fp32", tmp_path / "again")
    assert again.counts["aten::gather"] == 4 and again.counts["aten::log"] == 0, "the table of distances stays"


def test_layers_computed_again_run_on_meta(tmp_path: Path) -> None:
    operators = operators_of_a_step("bert", "classify", "fp32", tmp_path, recompute=True)
    assert operators.counts["aten::_efficient_attention_forward"] == 4
