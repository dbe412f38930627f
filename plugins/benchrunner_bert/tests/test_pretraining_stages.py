"""ZeRO stages, and runs whose checkpoints DeepSpeed writes itself: killed, gone on from, changed and exported."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")
from pretraining_runs import killed_at, line, losses, model_card, run, samples, stopped_at, weights, words

from benchrunner import RequestError
from benchrunner_bert.checkpoint import read
from benchrunner_bert.pretraining.deepspeed.configuration import configuration, stage_used
from benchrunner_bert.pretraining.deepspeed.engine import Engine, host_group
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training import checkpoints
from benchrunner_bert.pretraining.training.checkpoints import Saved


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


def test_an_asked_stage_has_stage_0s_bits_and_is_recorded(tmp_path: Path) -> None:
    for name, stage in (("plain", "0"), ("asked", "1")):
        run(words(tmp_path, name, "--zero", stage, steps=4))
    assert weights(tmp_path / "plain") == weights(tmp_path / "asked")
    assert "| ZeRO | stage 0 |" in model_card(tmp_path / "plain")
    assert "| ZeRO | stage 0 (--zero 1 was asked for) |" in model_card(tmp_path / "asked")


def test_deepspeeds_checkpoint_of_one_process_is_gone_on_from(tmp_path: Path) -> None:
    """At the stage that wrote it, also where the run goes on with whole checkpoints."""
    asked = words(tmp_path, "out", "--zero", "1", "--checkpoint-steps", "2", steps=6)
    assert stopped_at([*asked, "--checkpoints", "deepspeed"], 5) == -signal.SIGKILL
    run(asked)
    card = model_card(tmp_path / "out")
    assert "| ZeRO | stage 1 |" in card
    run(words(tmp_path, "unbroken", "--zero", "1", steps=6))
    assert losses(tmp_path / "out") == pytest.approx(losses(tmp_path / "unbroken"), abs=2e-5)


def test_a_process_alone_sums_gradients_with_nobody(tmp_path: Path) -> None:
    """The same bits as with DeepSpeed's sum over one process, which an option for the sum brings back."""
    (tmp_path / "sum.json").write_text('{"communication_data_type": "fp32"}')
    run(words(tmp_path, "alone", steps=4))
    run(words(tmp_path, "summed", "--deepspeed-config", str(tmp_path / "sum.json"), steps=4))
    assert weights(tmp_path / "alone") == weights(tmp_path / "summed")


SHARES = ["--checkpoints", "deepspeed", "--checkpoint-steps", "5"]


def test_a_killed_run_goes_on_from_deepspeeds_checkpoint(tmp_path: Path) -> None:
    """To the same bits."""
    run(words(tmp_path, "unbroken", "--zero", "2", *SHARES, steps=10))
    broken = words(tmp_path, "broken", "--zero", "2", *SHARES, "--checkpoint-steps", "3", steps=10)
    assert stopped_at(broken, 7) == -signal.SIGKILL
    kept = tmp_path / "broken" / "checkpoints"
    newest = kept / (kept / "latest").read_text()
    assert newest == max(kept.glob("step-*")) and len(list(kept.glob("step-*"))) == 2
    assert line("export", str(kept), str(tmp_path / "half")) == 0
    half = read(tmp_path / "half", seed=0)
    assert half.config.hidden == 32 and "| steps | 6 at" in (tmp_path / "half" / "README.md").read_text()
    run([*broken, "--resume"])
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")
    assert losses(tmp_path / "broken") == losses(tmp_path / "unbroken")
    # The last of the run, exported, is the run's own export.
    assert line("export", str(kept), str(tmp_path / "out")) == 0
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == weights(tmp_path / "broken")


ON = [f"on-{stage}-{kind}" for stage in range(4) for kind in ("fp32", "bf16")]


def test_what_an_engine_wrote_another_one_goes_on_from(tmp_path: Path) -> None:
    """Weights and moments to the bit, and those of the step after; at stage 0 moments have no whole form in bf16."""
    samples(tmp_path, *(name for name in ON if name != "on-0-bf16"))


@pytest.mark.parametrize(
    "stage", [pytest.param(stage, marks=() if stage == 1 else pytest.mark.slow) for stage in range(4)]
)
def test_code_in_deepspeeds_own_files_never_runs(tmp_path: Path, stage: int) -> None:
    """Also where the files belong to the user: an archive that was unpacked does."""
    samples(tmp_path, f"malice-{stage}-fp32", f"malice-{stage}-bf16")


@pytest.mark.slow
def test_what_two_processes_wrote_two_others_go_on_from(tmp_path: Path) -> None:
    samples(tmp_path, *(name for name in ON if name != "on-0-bf16"), processes=2)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [0, 1, 3])
@pytest.mark.parametrize("processes", [1, 2])
def test_going_on_is_exact_at_every_stage(tmp_path: Path, stage: int, processes: int) -> None:
    """A process alone is computed at the stage that was asked for, and not at stage 0, only where it writes shares."""
    common = ["--zero", str(stage), "--processes", str(processes), *SHARES]
    run(words(tmp_path, "unbroken", *common, "--checkpoint-steps", "24", steps=24))
    broken = words(tmp_path, "broken", *common, steps=24)
    killed_at(broken, tmp_path / "broken", 12, 2)
    run(broken)
    assert losses(tmp_path / "broken") == losses(tmp_path / "unbroken")
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")


@pytest.mark.slow
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_run_may_change_the_format_and_then_the_stage(tmp_path: Path, stage: int) -> None:
    """Moments that DeepSpeed read from its own files are those that a whole checkpoint holds."""
    run(words(tmp_path, "unbroken", "--dropout", "0", steps=30))
    begun = words(tmp_path, "out", "--dropout", "0", "--zero", str(stage), *SHARES, steps=30)
    killed_at(begun, tmp_path / "out", 6, 2)
    whole = words(tmp_path, "out", "--dropout", "0", "--zero", str(stage), "--checkpoint-steps", "1", steps=30)
    killed_at(whole, tmp_path / "out", 14, 2)
    run(words(tmp_path, "out", "--dropout", "0", steps=30))
    assert losses(tmp_path / "out") == pytest.approx(losses(tmp_path / "unbroken"), abs=2e-5)


def test_a_tag_that_is_half_written_is_never_the_latest(tmp_path: Path) -> None:
    class Dying:
        rank, world, stage = 0, 1, 1

        def wait(self) -> None: ...

        def write_shares(self, folder: Path, said: str) -> None:
            folder.mkdir()
            (folder / "half.pt").write_text(said)
            if said == "dies":
                raise KeyboardInterrupt

    saving = checkpoints.Checkpoints(tmp_path, keep=1, shares=True)
    saving.save(1, {}, Dying(), lambda: "lives")  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        saving.save(2, {}, Dying(), lambda: "dies")  # type: ignore[arg-type]
    last = saving.last()
    assert last is not None and (tmp_path / "latest").read_text() == last.folder.name == "step-00000001"
    saving.save(2, {}, Dying(), lambda: "lives")  # type: ignore[arg-type]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["latest", "step-00000002"]


def test_a_run_goes_on_only_with_the_same_processes_and_stage(tmp_path: Path) -> None:
    engine = SimpleNamespace(world=1, stage=1, read_shares=lambda folder: pytest.fail("it was read"))
    with pytest.raises(RequestError, match="--processes 2 --zero 1; now it is --processes 1 --zero 1"):
        Saved(tmp_path, 1, {}, {}, {"processes": 2, "zero": 1}).restore(engine)  # type: ignore[arg-type]
