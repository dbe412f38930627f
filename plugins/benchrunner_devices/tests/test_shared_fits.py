"""Fits on two devices have the losses of one device, whatever is trained, and the same bits when they are resumed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from equal_fits import CLOSE, check_equal, fitted, killed, losses, planned

from benchrunner_devices import leader
from cluster_plugin import Home, results


def test_two_devices_have_the_losses_of_one(home: Home) -> None:
    one, two = check_equal(home, "mine/mood")
    assert {**one.numerics, "devices": 2} == two.numerics
    assert one.notes == two.notes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regress", "choose", "span", "tag", "labels"])
def test_every_kind_of_task_can_be_shared(kind: str, home: Home) -> None:
    check_equal(home, f"mine/{kind}")


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"method": "lora"}, {"layer_decay": 0.9}, {"clip": 0.01}], ids=str)
def test_every_way_to_train_can_be_shared(changes: dict[str, Any], home: Home) -> None:
    check_equal(home, "mine/mood", **changes)


@pytest.mark.slow
def test_half_precision_can_be_shared(home: Home) -> None:
    """One device keeps copies of the weights in bf16 where kernels are installed; two do not."""
    check_equal(home, "mine/mood", backbone="kinds/greedy", precision="bf16", close=2e-4)


@pytest.mark.slow
def test_memory_that_runs_out_makes_all_parts_smaller(home: Home) -> None:
    one, two = check_equal(home, "mine/mood", backbone="kinds/greedy", micro_tokens=1000)
    assert two.numerics["micro_tokens"] == one.numerics["micro_tokens"] != 1000


def test_a_device_without_a_part_changes_no_bit(home: Home) -> None:
    found = []
    for devices in (1, 2):
        made = home.runner(f"whole-on-{devices}", devices=devices)
        fit = planned(made, "mine/mood", micro_tokens=8192)
        notes = made.run(fit).notes
        computed = results(made, fit)
        computed.pop("numerics")
        found.append(computed)
    assert found[0] == found[1]
    [note] = notes
    assert note.startswith("some of the 2 devices have nothing to do: a batch has ") and " --set micro-tokens=" in note


def test_a_killed_helper_is_told_and_no_step_is_lost(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit goes on with two devices and, in a copy of its folder, with one."""
    made = home.runner("killed", devices=2)
    fit = planned(made, "mine/mood")
    record = killed(made, fit, 4, monkeypatch)
    assert record.status == "failed"
    assert record.reason == (
        "Process 1 of the fit was ended by SIGKILL, perhaps of too little memory: use fewer --devices-per-fit or "
        "smaller micro-tokens (--set). The same command goes on from here."
    )
    assert len(losses(made, fit)) == 4
    shutil.copytree(home.folder / "killed", home.folder / "other-number")
    again: list[int] = []
    with made.observers.reporting_to(lambda of, event: again.append(event.done) if event.kind == "step" else None):
        assert made.run(fit).status == "done"
    assert again[0] == 5
    whole, _, _ = fitted(home, "mine/mood", 2)
    assert results(made, fit) == results(whole, fit)
    one = home.runner("other-number")
    assert one.run(fit).numerics["devices"] == [2, 1]
    assert losses(one, fit) == pytest.approx(losses(whole, fit), abs=CLOSE)


def test_a_helper_that_makes_another_model_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner("other-model", devices=2)
    fit = planned(made, "mine/mood", epochs=1)
    plan = leader.Plan.of

    monkeypatch.setattr(leader.Plan, "of", lambda training: leader.Plan(1, plan(training).weights))
    record = made.run(fit)
    assert record.status == "failed" and record.reason.startswith("Process 1 of the fit made another model, or other ")


def test_a_helper_without_the_plugin_says_so(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner("no-plugin", devices=2)
    fit = planned(made, "mine/mood", epochs=1)
    hidden = Path(home.site, "cluster_plugin-1.0.dist-info")
    with monkeypatch.context() as patch:
        patch.setattr(leader, "device_of", lambda job, rank, of=leader.device_of: (hide(hidden), of(job, rank))[1])
        record = made.run(fit)
    hidden.with_suffix(".hidden").rename(hidden)
    assert record.status == "failed"
    assert "There is no task 'mine/mood'" in record.reason and "needs the same plugins" in record.reason


def hide(folder: Path) -> None:
    folder.rename(folder.with_suffix(".hidden"))
