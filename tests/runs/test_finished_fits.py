"""A finished fit as a backbone: its encoder, its head for equal problems, and what cannot be started from."""

from pathlib import Path

import pytest

from benchrunner import Classify
from benchrunner.errors import CheckpointError, RequestError
from benchrunner.results import Runner
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import TinyBackbone
from inline import QUICK, mood, runner
from moody import Moody, fine_tuned, with_method


def test_a_fit_is_a_backbone_with_its_head_for_equal_problems(tmp_path: Path) -> None:
    other = Classify(("sad", "glad"))
    made = runner(tmp_path, register_tasks=[mood(), mood(name="mine/again"), mood(name="mine/other", problem=other)])
    first = fine_tuned(made)
    stages = {}
    for name in ("again", "other"):
        fit = made.planner.plan(made.plugins.tasks.find(name), f"run:{first.id[:8]}", recipe=QUICK.changed(lr=0.0))
        assert fit.revision == f"run:{first.id}"
        stages[name] = made.run(fit).notes
        assert predict(fit, "dev", made).record.scores.keys() == {"accuracy", "matthews"}
    assert any("the head goes on" in note for note in stages["again"])
    assert not any("the head goes on" in note for note in stages["other"])
    again = made.planner.plan(made.plugins.tasks.find("again"), f"run:{first.id}", recipe=QUICK.changed(lr=0.0))
    assert predict(again, "dev", made).answers == predict(first, "dev", made).answers, "lr 0 changes nothing"
    assert again.suppliers == first.suppliers, "the code that loads the encoder has a part in this fit as well"


def test_layers_that_a_backbone_lacks_are_not_redrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    task, fit, recipe = made.plugins.tasks.find("mood"), fine_tuned(made), QUICK.changed(redraw_layers=3)
    for name in ("words", f"run:{fit.id}"):
        with pytest.raises(RequestError, match="redraw-layers 3 is more layers than this encoder has, 1"):
            made.planner.plan(task, name, recipe=recipe)
    monkeypatch.setattr(TinyBackbone, "layer_count", lambda backbone, workspace: None)  # unknown before it is loaded
    assert Runner(made.plugins, made.workspace).planner.plan(task, "words", recipe=recipe).recipe.redraw_layers == 3


def test_what_cannot_be_started_from_says_why(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody([ValueError("not today")]))
    task = made.plugins.tasks.find("mood")
    made.run(fit)
    with pytest.raises(RequestError, match=rf"{fit.id} .* because it failed .ValueError: not today"):
        made.planner.plan(task, f"run:{fit.id}")
    made.run(fit)
    with pytest.raises(RequestError, match="its method 'moody' has no encoder"):
        made.planner.plan(task, f"run:{fit.id}")
    tuned = fine_tuned(made)
    made.forget_weights(tuned)
    with pytest.raises(CheckpointError, match=r"were not kept. Repeat the command that fitted it with --keep all"):
        made.planner.plan(task, f"run:{tuned.id}")
    with pytest.raises(RequestError, match="There is no run 'zzz'"):
        made.planner.plan(task, "run:zzz")
    (made.folder(tuned).path / "record.json").unlink()
    with pytest.raises(RequestError, match="because it is not finished"):
        made.planner.plan(task, f"run:{tuned.id}")
