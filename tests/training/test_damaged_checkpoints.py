"""A damaged checkpoint of a fit is named and left out: the fit begins anew and gives the bits of an unbroken fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from benchrunner.training.checkpoints import Checkpoint, _checksum
from file_damages import Damage, as_folder, cut, flip
from tiny_fits import RECIPE, Fitted, Killed, fitted, killed_after

KILLED = 7


def zeroed(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-400] + bytes(400))  # weights are last in the file


def rewritten(change: Callable[[dict[str, Any], dict[str, torch.Tensor]], None], *, sealed: bool) -> Damage:
    """Write other facts and tensors; `sealed` makes the checksum right again."""

    def damage(path: Path) -> None:
        with safe_open(path, framework="pt") as file:
            metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(metadata["facts"])
        change(facts, tensors)
        text = json.dumps(facts)
        checksum = _checksum(text, tensors) if sealed else metadata["checksum"]
        save_file(tensors, path, metadata={"facts": text, "checksum": checksum})

    return damage


def swapped(facts: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    first, second = "exp_avg/encoder.norm.weight", "exp_avg/encoder.norm.bias"
    tensors[first], tensors[second] = tensors[second], tensors[first]


DAMAGES: dict[str, Damage] = {
    "empty": cut(0),
    "one byte": lambda path: path.write_bytes(b"x"),
    "half": cut(0.5),
    "zeroed": zeroed,
    "a folder": as_folder,
    "step 10^9": rewritten(lambda facts, tensors: facts.update(step=10**9), sealed=False),
    "step 10^9, sealed": rewritten(lambda facts, tensors: facts.update(step=10**9), sealed=True),
    "step 0, sealed": rewritten(lambda facts, tensors: facts.update(step=0), sealed=True),
    "step -3, sealed": rewritten(lambda facts, tensors: facts.update(step=-3), sealed=True),
    "step of no number, sealed": rewritten(lambda facts, tensors: facts.update(step="seven"), sealed=True),
    "no step, sealed": rewritten(lambda facts, tensors: facts.pop("step"), sealed=True),  # type: ignore[arg-type, return-value]
    "other micro-tokens": rewritten(lambda facts, tensors: facts.update(budgets={"0": 17}), sealed=False),
    "swapped moments": rewritten(swapped, sealed=False),
    "no weight, sealed": rewritten(lambda facts, tensors: tensors.pop("weight/head.output.bias"), sealed=True),  # type: ignore[arg-type, return-value]
    "another shape, sealed": rewritten(
        lambda facts, tensors: tensors.update({"weight/head.output.bias": torch.zeros(5)}), sealed=True
    ),
    **{f"cut at {share}": cut(share) for share in (0.001, 0.1, 0.3, 0.9, 0.999)},
    **{f"flip {seed}": flip(seed) for seed in range(60)},
}
FAST = (
    "empty",
    "half",
    "zeroed",
    "step 10^9, sealed",
    "no weight, sealed",
    "another shape, sealed",
    "flip 0",
)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    return fitted(tmp_path_factory.mktemp("unbroken"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in DAMAGES]
)
def test_a_damaged_checkpoint_is_named_and_left_out(tmp_path: Path, name: str, unbroken: Fitted) -> None:
    checkpoint, notes = Checkpoint(tmp_path / "checkpoint"), list[str]()
    options: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_seconds": 0}
    with pytest.raises(Killed):
        fitted(tmp_path, RECIPE, report=killed_after(KILLED), **options)
    path = tmp_path / "checkpoint" / "state.safetensors"
    DAMAGES[name](path)
    again = fitted(tmp_path, RECIPE, note=notes.append, **options)
    assert again.training.first == 0 and notes == again.training.notes
    (note,) = notes
    assert note.startswith(f"The checkpoint {path} was damaged (") and note.endswith("The fit begins anew.")
    assert "\n" not in note and note.isprintable()
    assert again.losses == unbroken.losses
    assert all(torch.equal(weight, again.weights()[key]) for key, weight in unbroken.weights().items())


def test_a_whole_checkpoint_is_gone_on_from(tmp_path: Path, unbroken: Fitted) -> None:
    checkpoint, notes = Checkpoint(tmp_path / "checkpoint"), list[str]()
    with pytest.raises(Killed):
        fitted(tmp_path, RECIPE, report=killed_after(KILLED), checkpoint=checkpoint, checkpoint_seconds=0)
    again = fitted(tmp_path, RECIPE, note=notes.append, checkpoint=checkpoint)
    assert again.training.first == KILLED and not notes
    assert all(torch.equal(weight, again.weights()[key]) for key, weight in unbroken.weights().items())
