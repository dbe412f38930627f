"""ZeRO stages: which one a run uses, and runs that are killed and go on at each of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretraining_runs import gone_on_from, losses, model_card, run, samples, weights, words

from benchrunner_bert.pretraining.deepspeed.configuration import configuration, stage_used
from benchrunner_bert.pretraining.settings import Settings


def test_a_process_alone_is_computed_at_stage_0() -> None:
    """Unless a setting or an option needs a stage."""
    assert stage_used(Settings(zero=2), {"wall_clock_breakdown": True}, world=1) == 0
    assert stage_used(Settings(zero=2), {}, world=2) == 2
    assert stage_used(Settings(zero=2, offload=True), {}, world=1) == 2
    assert stage_used(Settings(zero=2), {"bf16": {"enabled": True}}, world=1) == 2


def test_gradients_are_clipped_once() -> None:
    """By DeepSpeed, or by Adam's kernel where DeepSpeed is told not to clip."""
    given: dict[str, float] = {"gradient_clipping": 0.3}
    for options, stage, limit in (({}, 0, 0.0), ({}, 1, 1.0), ({"bf16": {}}, 0, 1.0), (given, 0, 0.3)):
        assert configuration(Settings(), options, stage=stage)["gradient_clipping"] == limit


def test_a_process_alone_has_stage_0s_bits_whatever_is_asked(tmp_path: Path) -> None:
    """Also those of DeepSpeed's sum over one process, which an option for the sum brings back."""
    (tmp_path / "sum.json").write_text('{"communication_data_type": "fp32"}')
    run(words(tmp_path, "plain", "--zero", "0", steps=4))
    run(words(tmp_path, "asked", "--zero", "1", steps=4))
    run(words(tmp_path, "summed", "--deepspeed-config", str(tmp_path / "sum.json"), steps=4))
    assert weights(tmp_path / "plain") == weights(tmp_path / "asked") == weights(tmp_path / "summed")
    assert "| ZeRO | stage 0 |" in model_card(tmp_path / "plain")
    assert "| ZeRO | stage 0 (--zero 1 was asked for) |" in model_card(tmp_path / "asked")


def test_a_broken_run_goes_on_at_its_stage_to_the_same_bits(tmp_path: Path) -> None:
    common = ["--zero", "2", "--offload", "--checkpoint-steps", "3", "--keep-checkpoints", "9"]
    run(words(tmp_path, "unbroken", *common, steps=8))
    gone_on_from(tmp_path / "unbroken", 3, tmp_path / "broken")
    run([*words(tmp_path, "broken", *common, steps=8), "--resume"])
    assert "| ZeRO | stage 2 |" in model_card(tmp_path / "broken")
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")
    assert losses(tmp_path / "broken") == losses(tmp_path / "unbroken")


ON = [f"on-{stage}-{kind}" for stage in range(4) for kind in ("fp32", "bf16")]


def test_what_an_engine_wrote_another_one_goes_on_from(tmp_path: Path) -> None:
    """Weights and moments to the bit, and those of the step after; at stage 0 moments have no whole form in bf16."""
    samples(tmp_path, *(name for name in ON if name != "on-0-bf16"))


@pytest.mark.slow
def test_what_two_processes_wrote_two_others_go_on_from(tmp_path: Path) -> None:
    samples(tmp_path, *(name for name in ON if name != "on-0-bf16"), processes=2)
