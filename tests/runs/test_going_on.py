"""A training that was killed goes on from its checkpoint as if nothing had been."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import HeadShape
from benchrunner.runs.folder import RunFolder
from benchrunner.training import numerics
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.loop import Training
from benchrunner.training.optimizer import Optimizer
from benchrunner_kit.testing import MOOD, TinyEncoder
from tiny_fits import RECIPE, Fitted, Killed, difference, features, fitted, killed_after


class At(Checkpoint):
    """Checkpoints after some steps only, as if two minutes had passed there."""

    def __init__(self, folder: Path, *steps: int) -> None:
        super().__init__(folder)
        self.steps = steps

    def save(self, step: int, budgets: Mapping[int, int], optimizer: Optimizer) -> None:
        if step in self.steps:
            super().save(step, budgets, optimizer)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Fitted]:
    """Fits that nothing stopped, with and without the bias correction of Adam."""
    return {
        correction: fitted(tmp_path_factory.mktemp("unbroken"), parts(correction), dropout=0.1)
        for correction in (True, False)
    }


def parts(bias_correction: bool) -> Recipe:
    """Return a recipe whose batches are computed in parts."""
    return RECIPE.changed(micro_tokens=40, bias_correction=bias_correction)


@pytest.mark.parametrize(
    ("saved", "killed", "bias_correction"), [(3, 3, True), (8, 11, False), (11, 15, True), (23, 23, False)]
)
def test_a_killed_fit_goes_on_bit_for_bit(
    tmp_path: Path, unbroken: dict[bool, Fitted], saved: int, killed: int, bias_correction: bool
) -> None:
    recipe, wanted = parts(bias_correction), unbroken[bias_correction]
    options: dict[str, Any] = {"dropout": 0.1, "checkpoint_seconds": 0}
    folder = tmp_path / "broken"
    checkpoint = At(folder / "checkpoint", saved)
    with pytest.raises(Killed):
        fitted(folder, recipe, checkpoint=checkpoint, report=killed_after(killed), **options)
    log = folder / "log.jsonl"
    assert len(log.read_text().splitlines()) == killed
    log.write_text(log.read_text() + '{"step": 9')  # the line that was being written
    steps: list[int] = []
    again = fitted(folder, recipe, checkpoint=checkpoint, report=lambda step, *_: steps.append(step), **options)
    assert steps == list(range(saved + 1, 25))
    assert difference(wanted, again) == 0.0
    assert log.read_bytes() == wanted.training.log.read_bytes()


def test_a_fit_that_takes_over_steps_has_their_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before the log is there, the fit has not begun, so that it takes the log over later."""
    shorter, longer = RunFolder(tmp_path, "shorter"), RunFolder(tmp_path, "longer")
    shorter.state.mkdir(parents=True)
    longer.path.mkdir()
    (shorter.state / "state.safetensors").write_text("state")
    shorter.log.write_text("log")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("shutil.copyfile", killed)
        longer.take_over(shorter)
    longer.take_over(shorter)
    assert longer.log.read_text() == "log" and longer.checkpoint.exists()


def killed(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads until the test ends."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_fit_on_many_threads_goes_on_bit_for_bit(tmp_path: Path, threads: Callable[[int], None]) -> None:
    """In one process, whose memory lies elsewhere the second time."""
    threads(2)
    recipe = RECIPE.changed(micro_tokens=40)
    unbroken = fitted(tmp_path / "unbroken", recipe, dropout=0.1)
    folder = tmp_path / "broken"
    options: dict[str, Any] = {"checkpoint": At(folder, 13), "checkpoint_seconds": 0, "dropout": 0.1}
    with pytest.raises(Killed):
        fitted(folder, recipe, report=killed_after(13), **options)
    again = fitted(folder, recipe, **options)
    assert difference(unbroken, again) == 0.0
    assert again.losses == unbroken.losses


def test_a_fit_that_went_on_with_other_threads_says_so(tmp_path: Path, threads: Callable[[int], None]) -> None:
    """Bits are promised for the same number of threads only: a record must not claim another fit's."""
    options: dict[str, Any] = {"checkpoint_seconds": 0, "dropout": 0.1}
    threads(1)
    unbroken = fitted(tmp_path / "unbroken", **options)
    for count, last in ((2, 5), (2, 9), (1, 14)):
        threads(count)
        with pytest.raises(Killed):
            fitted(tmp_path / "broken", report=killed_after(last), **options)
    again = fitted(tmp_path / "broken", **options)
    assert numerics.of(unbroken.training)["threads"] == 1
    assert numerics.of(again.training)["threads"] == [2, 1]
    assert again.losses == pytest.approx(unbroken.losses, abs=2e-5)


def test_a_kill_before_the_first_checkpoint_starts_again(tmp_path: Path) -> None:
    unbroken = fitted(tmp_path / "unbroken")
    with pytest.raises(Killed):
        fitted(tmp_path / "broken", report=killed_after(5))
    again = fitted(tmp_path / "broken")
    assert difference(unbroken, again) == 0.0 and again.losses == unbroken.losses


def test_where_checkpoints_fall_changes_nothing(tmp_path: Path) -> None:
    never, always = (fitted(tmp_path / str(seconds), dropout=0.1, checkpoint_seconds=seconds) for seconds in (1e9, 0))
    assert difference(never, always) == 0.0
    assert not (tmp_path / "inf" / "checkpoint").exists()
    assert [path.name for path in (tmp_path / "0" / "checkpoint").iterdir()] == ["state.safetensors"]


def test_a_part_without_gradient_does_not_hinder_going_on(tmp_path: Path) -> None:
    """A head over tokens leaves the summary's dense layer alone."""

    def trained(folder: Path, *, kill: bool = False) -> TinyEncoder:
        encoder, head = TinyEncoder(dropout=0.0), LinearHead(12, HeadShape("token", 2), seed=1)
        training = Training(
            model=lambda batch: head(encoder, batch)[batch.starts[:-1].long()][batch.restore],
            modules={"encoder": encoder, "head": head},
            features=features(60),
            problem=MOOD,
            recipe=RECIPE,
            seed=1,
            computing=Computing("cpu", checkpoint_seconds=0),
            checkpoint=At(folder, 7),
            log=folder / "log.jsonl",
            report=killed_after(9) if kill else lambda step, steps, figures: None,
        )
        training.run()
        return encoder

    unbroken = trained(tmp_path / "unbroken")
    with pytest.raises(Killed):
        trained(tmp_path / "broken", kill=True)
    again = trained(tmp_path / "broken")
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in unbroken.state_dict().items())
    assert torch.equal(again.dense.weight, TinyEncoder().dense.weight)


def test_no_checkpoint_is_no_checkpoint(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path).load(Optimizer({"layer": nn.Linear(3, 2)}, RECIPE)) is None
