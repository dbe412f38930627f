"""A frozen backbone takes the methods that leave its weights as they are, and no other."""

from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.engine import Backbone, Encoder, OneBackbone
from benchrunner.errors import RequestError
from benchrunner.results import Runner
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import WEIGHTS, TinyBackbone, check_backbone
from inline import QUICK, runner


class FrozenBackbone(Backbone):
    """The tiny backbone, whose weights must stay as they are."""

    about = "a frozen encoder"
    frozen = True

    def __init__(self, tiny: TinyBackbone) -> None:
        self.tiny, self.name = tiny, tiny.name

    def revision(self, workspace: Workspace) -> str:
        return self.tiny.revision(workspace)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.tiny.load(workspace, seed=seed)


FROZEN = FrozenBackbone(TinyBackbone("tiny/frozen"))


def saved(folder: Path) -> Backbone | None:
    return FrozenBackbone(TinyBackbone(str(folder), folder=folder)) if (folder / WEIGHTS).is_file() else None


FAMILY = OneBackbone(FROZEN, saved)


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    return runner(tmp_path, register_backbones=[FAMILY])


def test_a_method_that_trains_a_frozen_backbone_is_refused(made: Runner) -> None:
    task = made.plugins.tasks.find("mood")
    for method in ("finetune", "finetune+bilstm", "lora"):
        with pytest.raises(
            RequestError, match=rf"tiny/frozen is a frozen .*'{method.replace('+', '.')}'.*list methods"
        ):
            made.planner.plan(task, "frozen", method=method)


def test_a_fit_with_features_is_answered_and_goes_on_frozen(made: Runner) -> None:
    task = made.plugins.tasks.find("mood")
    fit = made.planner.plan(task, "frozen", method="features", recipe=QUICK.changed(features="last"))
    assert made.run(fit).status == "done"
    assert len(predict(fit, "dev", made).answers) == 24
    with pytest.raises(RequestError, match=f"run:{fit.id} is a frozen backbone"):
        made.planner.plan(task, f"run:{fit.id}")


def test_a_frozen_backbone_keeps_its_contract(made: Runner, tmp_path: Path) -> None:
    check_backbone(FROZEN, FAMILY, made.workspace, tmp_path / "saved")
