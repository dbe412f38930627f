"""Fits with a concatenated backbone: fine-tuned and frozen, read back, resumed, and from the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import concatenations
import numpy as np
import pytest
import torch
from concatenations import Drawn, drawn_family
from safetensors.torch import load_file

import forked
import inline
from benchrunner import CheckpointError, Recipe, RequestError, Workspace
from benchrunner.results import Computing, Fit, Runner, discover, predict
from benchrunner_kit.testing import TinyEncoder
from command_line import Shell
from inline import METHODS, QUICK, files, own, plugin, plugins

NAMES = ("one", "two", "deep", "foreign")


def made(folder: Path, *, die_at: int | None = None) -> Runner:
    """A runner with `one` of one plugin and the other backbones of another; with `die_at`, a step kills the process."""

    def on_progress(fit, event):  # type: ignore[no-untyped-def]
        if event.kind == "step" and event.done == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    files(1, folder / "data")
    extra = [
        ("own", own(register_backbones=[drawn_family("one")])),
        ("others", plugin(register_backbones=[drawn_family(name) for name in NAMES[1:]])),
        ("deadly", plugin(on_progress=on_progress)),
        METHODS,
    ]
    plugins = discover(extra=extra, installed=False)
    assert not plugins.set_aside, plugins.set_aside
    workspace = Workspace(folder / "runs", folder / "cache", data=folder / "data")
    return Runner(plugins, workspace, Computing("cpu", checkpoint_seconds=0))


def planned(runner: Runner, backbone: str = "concat:one,two", recipe: Recipe = QUICK, **options: str) -> Fit:
    return runner.planner.plan(runner.plugins.tasks.find("mood"), backbone, recipe=recipe, **options)  # type: ignore[arg-type]


def fitted(runner: Runner, backbone: str = "concat:one,two") -> Fit:
    fit = planned(runner, backbone)
    record = runner.run(fit)
    assert record.status == "done", record.reason
    return fit


def part(runner: Runner, fit: Fit, number: int) -> TinyEncoder:
    return TinyEncoder.read(runner.folder(fit).model / f"part-{number}")


def weights(folder: Path) -> dict[str, bytes]:
    return {
        f"{file.relative_to(folder)} {name}": tensor.numpy().tobytes()
        for file in sorted(folder.rglob("*.safetensors"))
        for name, tensor in load_file(file).items()
    }


def test_fine_tuning_changes_both_parts(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    for number, name in ((1, "one"), (2, "two")):
        before = Drawn(name).load(runner.workspace, seed=0).state_dict()
        after = part(runner, fit, number).state_dict()
        assert all(not torch.equal(after[key], before[key]) for key in before)
    assert predict(fit, "dev", runner).record.scores["accuracy"].value is not None


def test_a_fit_records_the_family_and_plugin_of_each_part(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    recorded = json.loads((runner.folder(fit).path / "family.json").read_text())
    assert recorded["name"] == "concat"
    families = [(family["plugin"], family["name"]) for family in recorded["parts"]]
    assert families == [("own (own)", "one"), ("others (others)", "two")]
    assert {"own (own)", "others (others)"} <= fit.suppliers.keys()
    assert "others (others)" not in planned(runner, "one").suppliers


def test_a_fit_whose_parts_plugin_is_gone_says_which(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    extra = [("own", own(register_backbones=[drawn_family("one")])), METHODS]
    alone = discover(extra=extra, installed=False)
    with pytest.raises(CheckpointError, match=r"family 'two' of the plugin others \(others\), which is not installed"):
        Runner(alone, runner.workspace).planner.backbone(f"run:{fit.id}")


def test_a_finished_fit_is_a_backbone_and_a_part(tmp_path: Path) -> None:
    runner = made(tmp_path)
    first = fitted(runner)
    still = planned(runner, f"run:{first.id}", recipe=QUICK.changed(lr=0.0))
    record = runner.run(still)
    assert any("the head goes on" in note for note in record.notes)
    assert weights(runner.folder(still).model) == weights(runner.folder(first).model)
    answers = [predict(fit, "dev", runner).answers for fit in (still, first)]
    assert answers[0] == answers[1]
    wider = fitted(runner, f"concat:run:{first.id},one")
    loaded = runner.planner.backbone(f"run:{wider.id}").load(runner.workspace, seed=0)
    assert loaded.hidden_size == 36
    again = predict(wider, "test", Runner(runner.plugins, runner.workspace, Computing("cpu")))
    assert len(again.answers) == 20


def test_a_copied_model_folder_is_used_by_its_parts(tmp_path: Path) -> None:
    runner = made(tmp_path)
    shutil.copytree(runner.folder(fitted(runner)).model, tmp_path / "copy")
    with pytest.raises(RequestError, match=r"Name the parts: (concat:\S+/copy/part-1,\S+/copy/part-2)\.") as error:
        runner.planner.backbone(str(tmp_path / "copy"))
    parts = str(error.value).split("Name the parts: ")[1].removesuffix(".")
    assert runner.planner.backbone(parts).load(runner.workspace, seed=0).hidden_size == 24


@pytest.mark.usefixtures("narrow_bilstm")
def test_frozen_features_are_the_parts_arrays_side_by_side(tmp_path: Path) -> None:
    """The states that `features` reads are computed and stored for each of the three backbones by itself."""
    runner = made(tmp_path)
    arrays = []
    for backbone in ("one", "two", "concat:one,two"):
        known = set((tmp_path / "cache" / "states").glob("*/layer-01.npy"))
        recipe = QUICK.changed(epochs=1, features="last")
        assert runner.run(planned(runner, backbone, recipe, method="features")).status == "done"
        (file,) = set((tmp_path / "cache" / "states").glob("*/layer-01.npy")) - known
        arrays.append(np.load(file))
    one, two, both = arrays
    assert np.array_equal(both, np.concatenate([one, two], axis=1))
    assert not np.array_equal(one, two)


SCRIPT = """
import sys
from pathlib import Path
from test_concatenated_fits import made, planned

runner = made(Path(sys.argv[1]), die_at=4)
runner.run(planned(runner))
"""


def test_a_killed_fit_ends_as_one_that_was_not_killed(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole")
    expected = fitted(whole)
    path = os.pathsep.join(str(Path(file).parent) for file in (__file__, inline.__file__, concatenations.__file__))
    done = forked.run(["-c", SCRIPT, str(tmp_path / "killed")], env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == -signal.SIGKILL, done.stderr
    runner = made(tmp_path / "killed")
    fit = planned(runner)
    assert runner.folder(fit).checkpoint.exists() and runner.folder(fit).record() is None
    assert runner.run(fit).status == "done"
    assert weights(runner.folder(fit).model) == weights(whole.folder(expected).model)
    assert (runner.folder(fit).log).read_text() == whole.folder(expected).log.read_text()


def test_parts_are_loaded_for_the_check_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, loads = made(tmp_path), list[str]()
    load = Drawn.load
    monkeypatch.setattr(Drawn, "load", lambda self, *a, **k: loads.append(self.name) or load(self, *a, **k))
    for recipe in (QUICK, QUICK.changed(lr=0.01)):
        planned(runner, recipe=recipe)
    planned(runner, "one")
    planned(made(tmp_path))
    assert loads == ["one", "two"], "another process knows from the cache"
    for _ in range(2):
        with pytest.raises(CheckpointError, match="cannot be concatenated"):
            planned(runner, "concat:one,deep")


def test_the_command_line_fits_predicts_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.plugins = plugins(
        register_backbones=[drawn_family(name) for name in ("one", "two", "deep", "foreign", "frozen")]
    )
    run = shell.fitted("--backbone", "concat:one,two")
    code, out, err = shell(
        "predict", run, *shell.folders(), "--split", "dev", "--out", "answers.tsv", "--device", "cpu"
    )
    assert code == 0, err
    code, out, err = shell("audit", "answers.tsv", "--task", "mood", "--data", "data")
    assert code == 0 and "accuracy" in out, err
    code, out, err = shell("compare", "one", "concat:one,two", "--tasks", "mood", *shell.folders(), "--quiet")
    assert code == 0 and "concat:one,two" in out, err
    code, out, err = shell(
        "submit", "moods", *shell.folders(), "--backbone", "concat:one,two", "--out", "sent", "--quiet"
    )
    assert code == 0 and "sent" in out, err
    before = set((shell.folder / "runs").iterdir())
    options = ("mood", *shell.folders(), "--quiet", "--device", "cpu", "--backbone")
    for backbone, reason in (
        ("concat:one", "does not name two or more backbones"),
        ("concat:one,twoo", "There is no backbone 'twoo'. Did you mean two"),
        ("concat:one,foreign", "they have different tokenizers"),
        ("concat:one,deep", "they have 1 and 2 layers"),
        ("concat:one,frozen", "concat:one,frozen is a frozen backbone: its weights must stay as they are"),
        ("concat:one,run:nothing", "There is no run 'nothing'"),
    ):
        error = shell.refused("run", *options, backbone)
        assert reason in error and error.count("\n") == 1, error
    assert set((shell.folder / "runs").iterdir()) == before
    error = shell.refused("runs", "export", run, "out", *shell.folders())
    assert "no other library has a model of several encoders" in error
