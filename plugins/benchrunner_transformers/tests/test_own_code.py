"""Models with code of their own: what is refused, what is trusted, and what their encoder computes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import util
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from own_code_models import make_hostile, write_own_model
from safetensors.torch import load_file

from benchrunner import CheckpointError, RequestError, Settings, Workspace
from benchrunner.engine import Backbone, Features, collate
from benchrunner_transformers.backbones import TransformersFamily
from benchrunner_transformers.model.encoder import HubEncoder

COMMIT = "0123456789" * 4


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library keep its copies of code below the test's folder."""
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_own_model(tmp_path / "neo")
    return tmp_path / "neo"


def workspace(home: Path, *trusted: Path | str, run: bool = False) -> Workspace:
    settings = Settings(trusted_code=tuple(map(str, trusted)), may_run_code=run)
    return Workspace(home / "runs", home / "cache", settings=settings)


def found(folder: Path, place: Workspace) -> Backbone:
    backbone = TransformersFamily().find(str(folder), place)
    assert backbone is not None
    return backbone


def loaded(folder: Path, home: Path) -> HubEncoder:
    place = workspace(home, folder, run=True)
    encoder = found(folder, place).load(place, seed=0)
    assert isinstance(encoder, HubEncoder)
    return encoder.eval()


def test_own_code_is_refused_by_default(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=rf"no architecture 'tiny_neo'.* --trust-code {folder} to run it"):
        found(folder, workspace(tmp_path))


def test_other_trusted_code_does_not_help(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "modeling.py").write_text("")
    with pytest.raises(CheckpointError, match="What --trust-code names now has other code"):
        found(folder, workspace(tmp_path, other))


def test_the_code_is_a_part_of_the_revision(folder: Path, tmp_path: Path) -> None:
    place = workspace(tmp_path, folder)
    before = found(folder, place).revision(place)
    (folder / "layers.py").write_text((folder / "layers.py").read_text() + "\n# edited\n")
    assert found(folder, place).revision(place) != before


def test_only_worker_processes_run_own_code(folder: Path, tmp_path: Path) -> None:
    place = workspace(tmp_path, folder)
    with pytest.raises(CheckpointError, match="only in worker processes"):
        found(folder, place).load(place, seed=0)


def test_planning_runs_no_code(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_hostile(folder)
    monkeypatch.setenv("MARKS", str(tmp_path))
    place = workspace(tmp_path, folder)
    backbone = found(folder, place)
    backbone.revision(place), backbone.layer_count(place), backbone.weight_count(place)
    assert not list(tmp_path.glob("*-*"))
    runs = replace(place, settings=replace(place.settings, may_run_code=True))
    backbone.load(runs, seed=0)
    assert {path.name.partition("-")[0] for path in tmp_path.glob("*-*")} == {"import", "class", "config", "model"}


def _reference(folder: Path) -> Any:
    """Import the same code without benchrunner and without the library's loading."""
    spec = util.spec_from_file_location(
        "reference_neo", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    package = util.module_from_spec(spec)
    sys.modules["reference_neo"] = package
    from importlib import import_module

    code = import_module("reference_neo.modeling")
    settings = json.loads((folder / "config.json").read_text())
    del settings["auto_map"]
    model = code.Neo(code.NeoConfig(**settings)).eval()
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): weights[name] for name in weights if name[:2] == "mo"})
    return model


@torch.no_grad()
def test_states_are_those_of_the_own_code(folder: Path, tmp_path: Path) -> None:
    encoder, reference = loaded(folder, tmp_path), _reference(folder)
    texts = ["the river", "a house on the hill by the sea", "rain"]
    batch = collate(Features.of(encoder.assemble(texts, None, 32)), np.arange(3), torch.device("cpu"))
    states = encoder(batch)
    for start, stop in pairwise(batch.starts.tolist()):
        ids = batch.tokens[start:stop][None]
        expected = reference(ids, torch.ones_like(ids))[0][0]
        torch.testing.assert_close(states[start:stop], expected, rtol=1e-4, atol=1e-5)


def test_a_saved_encoder_brings_its_code(folder: Path, tmp_path: Path) -> None:
    encoder = loaded(folder, tmp_path)
    encoder.save(tmp_path / "saved")
    place = workspace(tmp_path, folder, run=True)
    again = found(tmp_path / "saved", place).load(place, seed=1).state_dict()
    for name, weight in encoder.state_dict().items():
        assert torch.equal(weight, again[name]), name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../modeling.Neo", "neither MODULE.CLASS"),
        ("a.b.Neo", "neither MODULE.CLASS"),
        ("absent.Neo", "has no file absent.py"),
        ("other/code--modeling.Neo", "--trust-code other/code@COMMIT"),
    ],
)
def test_code_from_elsewhere_is_refused(name: str, reason: str, folder: Path, tmp_path: Path) -> None:
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"auto_map": {"AutoModel": name}}))
    with pytest.raises(CheckpointError, match=reason):
        found(folder, workspace(tmp_path, folder))


def test_a_link_to_code_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "layers.py").rename(tmp_path / "layers.py")
    (folder / "layers.py").symlink_to(tmp_path / "layers.py")
    with pytest.raises(CheckpointError, match=r"layers\.py is a link"):
        found(folder, workspace(tmp_path, folder))


@pytest.mark.parametrize("code", ["owner/name", "owner/name@main", f"owner/name@{COMMIT[:12]}", "absent-folder"])
def test_only_a_folder_or_a_full_commit_can_be_trusted(code: str) -> None:
    with pytest.raises(RequestError, match="full commit of 40 digits"):
        Settings(trusted_code=(code,))
