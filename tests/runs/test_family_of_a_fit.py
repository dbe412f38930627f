"""A finished fit is read back by the backbone family that made it and by no other."""

from pathlib import Path

import pytest
import torch

from benchrunner import CheckpointError, Workspace
from benchrunner.backbones.encoder import Encoder
from benchrunner.engine import Backbone, BackboneFamily, OneBackbone
from benchrunner.errors import DamagedFile
from benchrunner.results import Computing, Fit, Runner, discover
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import WEIGHTS, TinyBackbone, TinyEncoder, tiny_family
from benchrunner_runs.exporting import export
from inline import QUICK, files, own, plugin


class Fresh(TinyBackbone):
    """Stands in for a model of another architecture: whatever its folder holds, its weights are others."""

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        encoder = TinyEncoder()
        with torch.no_grad():
            encoder.qkv.weight.zero_()
        return encoder


def greedy_family(name: str = "greedy/words") -> BackboneFamily:
    """Takes every folder of a tiny encoder for its own."""

    def saved(folder: Path) -> Backbone | None:
        return Fresh(str(folder)) if (folder / WEIGHTS).is_file() else None

    return OneBackbone(Fresh(name), saved)


def made(folder: Path, **own_hooks: object) -> Runner:
    """A runner with the usual plugin and, before it, one whose family takes every folder."""
    files(1, folder / "data")
    extra = [("a greedy one", plugin(register_backbones=[greedy_family()])), ("own", own(**own_hooks))]
    plugins = discover(extra=extra, installed=False)
    assert not plugins.set_aside, plugins.set_aside
    return Runner(plugins, Workspace(folder / "runs", folder / "cache", data=folder / "data"), Computing("cpu"))


def fitted(runner: Runner, backbone: str = "tiny/words", *, seed: int = 0) -> Fit:
    fit = runner.planner.plan(runner.plugins.tasks.find("mood"), backbone, recipe=QUICK, seed=seed)
    assert runner.run(fit).status == "done"
    return fit


def is_trained(encoder: Encoder) -> bool:
    """Whether these are the weights of a fit, not those that `Fresh` makes up."""
    assert isinstance(encoder, TinyEncoder)
    return bool(encoder.qkv.weight.any()) and not torch.equal(encoder.qkv.weight, TinyEncoder().qkv.weight)


def loaded(runner: Runner, reference: str) -> Encoder:
    return runner.planner.backbone(reference).load(runner.workspace, seed=0)


def test_only_the_family_that_made_a_fit_reads_it(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    assert is_trained(loaded(runner, f"run:{fit.id}"))
    alone = made(tmp_path / "alone")
    alone = Runner(discover(extra=[("own", own())], installed=False), alone.workspace)
    answers = [predict(fitted(one), "dev", one).answers for one in (runner, alone)]
    assert answers[0] == answers[1]


def test_a_chain_of_fits_is_read_by_the_family_of_the_first(tmp_path: Path) -> None:
    runner = made(tmp_path)
    second = fitted(runner, f"run:{fitted(runner).id}")
    third = fitted(runner, f"run:{second.id}")
    assert is_trained(loaded(runner, f"run:{third.id}"))
    assert not any("greedy" in name for name in third.suppliers)


def test_an_export_is_of_the_weights_that_were_trained(tmp_path: Path) -> None:
    runner = made(tmp_path)
    export(fitted(runner).id, tmp_path / "out", runner)
    assert is_trained(TinyEncoder.read(tmp_path / "out"))


def test_a_runs_model_folder_is_read_by_the_fits_family(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    folder = runner.folder(fit).model
    assert is_trained(loaded(runner, str(folder)))
    assert not any("greedy" in name for name in fitted(runner, str(folder)).suppliers)


def test_of_two_families_of_one_plugin_the_maker_reads(tmp_path: Path) -> None:
    runner = made(tmp_path, register_backbones=[greedy_family("mine/other"), tiny_family()])
    assert is_trained(loaded(runner, f"run:{fitted(runner).id}"))


def test_a_fit_without_the_file_of_its_family_is_damaged(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    (runner.folder(fit).path / "family.json").unlink()
    with pytest.raises(DamagedFile, match=r"family.json: cannot be read: No such file or directory. Remove "):
        loaded(runner, f"run:{fit.id}")


def test_a_fit_whose_plugin_is_gone_says_which(tmp_path: Path) -> None:
    runner = made(tmp_path)
    fit = fitted(runner)
    greedy = ("a greedy one", plugin(register_backbones=[greedy_family()]))
    runner = Runner(discover(extra=[greedy, ("own", own(register_backbones=[]))], installed=False), runner.workspace)
    gone = r"made by the backbone family 'tiny/words' of the plugin own \(own\), .* has no such family"
    with pytest.raises(CheckpointError, match=gone):
        predict(fit, "dev", runner)
    runner = Runner(discover(extra=[greedy], installed=False), runner.workspace)
    with pytest.raises(CheckpointError, match=r"of the plugin own \(own\), which is not installed"):
        runner.planner.backbone(f"run:{fit.id}")


def test_a_family_that_refuses_its_own_fit_is_named(tmp_path: Path) -> None:
    runner = made(tmp_path, register_backbones=[OneBackbone(TinyBackbone(), lambda folder: None)])
    with pytest.raises(CheckpointError, match=r"family 'tiny/words' of the plugin own \(own\) does not recognise"):
        predict(fitted(runner), "dev", runner)


def test_two_families_of_a_plugin_need_two_names() -> None:
    class Nameless(BackboneFamily):
        def listed(self) -> list[Backbone]:
            return []

        def find(self, reference: str, workspace: Workspace) -> Backbone | None:
            return None

    plugins = discover(extra=[("own", own(register_backbones=[Nameless(), Nameless()]))], installed=False)
    (aside,) = plugins.set_aside
    assert "two backbone families have the name 'Nameless'" in aside.reason
    assert not plugins.families
