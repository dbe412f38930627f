"""ZeRO stages: which one a run uses, and runs that are killed and go on at each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from pretraining_runs import gone_on_from, killed_at, losses, model_card, run, samples, weights, words
from pretraining_texts import needs_deepspeed

from benchrunner_bert.pretraining.deepspeed.configuration import configuration, stage_used
from benchrunner_bert.pretraining.deepspeed.engine import Engine, host_group
from benchrunner_bert.pretraining.settings import Settings

pytestmark = needs_deepspeed


@pytest.mark.parametrize(
    ("world", "changes", "options", "stage"),
    [
        (1, {}, {}, 0),
        (1, {}, {"wall_clock_breakdown": True}, 0),
        (2, {}, {}, 2),
        (1, {"offload": True}, {}, 2),
        (1, {}, {"bf16": {"enabled": True}}, 2),
        (1, {}, {"zero_optimization": {"stage": 1}}, 2),
    ],
)
def test_a_process_alone_is_computed_at_stage_0(
    world: int, changes: dict[str, Any], options: dict[str, Any], stage: int
) -> None:
    assert stage_used(Settings(zero=2, **changes), options, world=world) == stage


def test_sums_of_a_step_wait_for_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor on the device `meta` can be neither exchanged nor read: the sums must stay with the processors."""
    groups = []
    monkeypatch.setattr(torch.distributed, "new_group", lambda backend: groups.append(backend) or "hosts")
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda total, group: total.mul_(2 if group == "hosts" else 0))
    engine = object.__new__(Engine)
    engine.world, engine.device = 2, torch.device("meta")
    engine._hosts = host_group(engine.device, engine.world)
    assert engine.summed(3, 0.5) == [6.0, 1.0] and groups == ["gloo"]
    assert host_group(torch.device("cpu"), 2) is host_group(engine.device, 1) is None and groups == ["gloo"]


@pytest.mark.parametrize(
    ("options", "stage", "limit"),
    [({}, 0, 0.0), ({}, 1, 1.0), ({"bf16": {}}, 0, 1.0), ({"gradient_clipping": 0.3}, 0, 0.3)],
)
def test_gradients_are_clipped_once(options: dict[str, Any], stage: int, limit: float) -> None:
    """By DeepSpeed, or by Adam's kernel where DeepSpeed is told not to clip."""
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


@pytest.mark.slow
@pytest.mark.parametrize("stage", range(4))
def test_going_on_is_exact_at_every_stage(tmp_path: Path, stage: int) -> None:
    common = ["--zero", str(stage), "--processes", "2", "--checkpoint-steps", "5"]
    run(words(tmp_path, "unbroken", *common, "--checkpoint-steps", "24", steps=24))
    broken = words(tmp_path, "broken", *common, steps=24)
    killed_at(broken, tmp_path / "broken", 12, 2)
    run(broken)
    assert losses(tmp_path / "broken") == losses(tmp_path / "unbroken")
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")
