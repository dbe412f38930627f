"""ZeRO stages: one process alone is computed at stage 0, unless something else needs the asked stage."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from pretraining_runs import losses, run, stopped_at, words

from benchrunner_bert.pretraining.deepspeed.configuration import configuration, stage_used
from benchrunner_bert.pretraining.settings import Settings


@pytest.mark.parametrize(
    ("world", "shares", "changes", "options", "stage"),
    [
        (1, False, {}, {}, 0),
        (1, False, {}, {"wall_clock_breakdown": True}, 0),
        (2, False, {}, {}, 2),
        (1, True, {}, {}, 2),
        (1, False, {"offload": True}, {}, 2),
        (1, False, {}, {"bf16": {"enabled": True}}, 2),
        (1, False, {}, {"zero_optimization": {"stage": 1}}, 2),
    ],
)
def test_a_process_alone_is_computed_at_stage_0(
    world: int, shares: bool, changes: dict[str, Any], options: dict[str, Any], stage: int
) -> None:
    assert stage_used(Settings(zero=2, **changes), options, world=world, shares=shares) == stage


@pytest.mark.parametrize(
    ("options", "stage", "limit"),
    [({}, 0, 0.0), ({}, 1, 1.0), ({"bf16": {}}, 0, 1.0), ({"gradient_clipping": 0.3}, 0, 0.3)],
)
def test_gradients_are_clipped_once(options: dict[str, Any], stage: int, limit: float) -> None:
    """By DeepSpeed, or by Adam's kernel where DeepSpeed is told not to clip."""
    assert configuration(Settings(), options, stage=stage)["gradient_clipping"] == limit


def test_an_asked_stage_has_stage_0s_bits_and_is_recorded(tmp_path: Path) -> None:
    for name, stage in (("plain", "0"), ("asked", "1")):
        run(words(tmp_path, name, "--zero", stage, steps=4))
    models = [tmp_path / name / "model" for name in ("plain", "asked")]
    assert models[0].joinpath("model.safetensors").read_bytes() == models[1].joinpath("model.safetensors").read_bytes()
    cards = [model.joinpath("README.md").read_text(encoding="utf-8") for model in models]
    assert "| ZeRO | stage 0 |" in cards[0] and "| ZeRO | stage 0 (--zero 1 was asked for) |" in cards[1]


def test_deepspeeds_checkpoint_of_one_process_is_gone_on_from(tmp_path: Path) -> None:
    """At the stage that wrote it, also where the run goes on with whole checkpoints."""
    asked = words(tmp_path, "out", "--zero", "1", "--checkpoint-steps", "2", steps=6)
    assert stopped_at([*asked, "--checkpoints", "deepspeed"], 5) == -signal.SIGKILL
    run(asked)
    card = (tmp_path / "out" / "model" / "README.md").read_text(encoding="utf-8")
    assert "| ZeRO | stage 1 |" in card
    run(words(tmp_path, "unbroken", "--zero", "1", steps=6))
    assert losses(tmp_path / "out") == pytest.approx(losses(tmp_path / "unbroken"), abs=2e-5)


def test_a_process_alone_sums_gradients_with_nobody(tmp_path: Path) -> None:
    """The same bits as with DeepSpeed's sum over one process, which an option for the sum brings back."""
    (tmp_path / "sum.json").write_text('{"communication_data_type": "fp32"}')
    run(words(tmp_path, "alone", steps=4))
    run(words(tmp_path, "summed", "--deepspeed-config", str(tmp_path / "sum.json"), steps=4))
    models = [tmp_path / name / "model" / "model.safetensors" for name in ("alone", "summed")]
    assert models[0].read_bytes() == models[1].read_bytes()
