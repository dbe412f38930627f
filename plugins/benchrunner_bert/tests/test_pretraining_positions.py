"""Weights before the first step: position embeddings that begin as waves, and the deviation of fresh weights."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from pretraining_runs import model_card, run, words
from pretraining_texts import needs_deepspeed
from safetensors.torch import load_file

from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Embeddings


def waved(*, positions: int = 200, hidden: int = 64, deviation: float = 0.02) -> torch.Tensor:
    embeddings = Embeddings(Configuration(300, hidden, positions=positions, deviation=deviation))
    embeddings.set_sinusoidal_positions()
    return embeddings.position.weight.detach().double()


def test_position_similarity_depends_only_on_distance_and_decays() -> None:
    found = waved()
    alike = found @ found.T / found[0].dot(found[0])
    for distance in range(200):
        diagonal = alike.diagonal(distance)
        assert torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5), distance
    assert alike[0, 0] > alike[0, 1] > alike[0, 2] > alike[0, 3] > alike[0, 4:].max()


def test_one_matrix_leads_from_every_position_to_its_neighbour() -> None:
    found = waved()
    drawn = Embeddings(Configuration(300, 64, positions=200)).position.weight.detach().double()
    assert missed(found) < 1e-3
    assert missed(drawn) > 0.7


def missed(positions: torch.Tensor) -> float:
    """How far the best matrix leads from each one's neighbour."""
    step = torch.linalg.lstsq(positions[:-1], positions[1:], driver="gelsd").solution
    return float((positions[:-1] @ step - positions[1:]).norm() / positions[1:].norm())


@pytest.mark.parametrize("hidden", [2, 64, 191])
def test_waves_are_as_wide_as_what_is_drawn_beside_them(hidden: int) -> None:
    found = waved(hidden=hidden, deviation=0.03)
    assert found.shape == (200, hidden)
    assert math.sqrt(found.pow(2).mean().item()) == pytest.approx(0.03, rel=0.05)


@needs_deepspeed
def test_a_run_may_start_from_waves_but_not_resume_without_them(tmp_path: Path) -> None:
    run(words(tmp_path, "out", "--positions", "waves", "--lr", "0", steps=1))  # nothing is learnt at a rate of 0
    run(words(tmp_path, "drawn", "--lr", "0", steps=1))
    waves, drawn = (load_file(tmp_path / out / "model" / "model.safetensors") for out in ("out", "drawn"))
    (name,) = (one for one in waves if one.endswith("position_embeddings.weight"))
    assert torch.allclose(waves[name].double(), waved(positions=512, hidden=32), atol=1e-7)
    assert all(torch.equal(waves[one], drawn[one]) for one in waves if one != name), "all else is drawn alike"
    assert "| positions | began as waves |" in model_card(tmp_path / "out").splitlines()
    assert "| positions | began drawn |" in model_card(tmp_path / "drawn").splitlines()
    (tmp_path / "out" / "finished.json").unlink()
    assert "positions 'waves', now 'drawn'" in run(words(tmp_path, "out", "--lr", "0", steps=1), code=2)


@needs_deepspeed
def test_fresh_weights_have_the_deviation_that_was_asked(tmp_path: Path) -> None:
    run(words(tmp_path, "out", "--deviation", "0.06", "--lr", "0", steps=1))
    weights = load_file(tmp_path / "out" / "model" / "model.safetensors")
    deviations = {name: weight.std().item() for name, weight in weights.items() if weight.ndim == 2}
    whole = 0.06 * 0.88  # a normal distribution that is cut at two deviations has 0.88 of its deviation
    assert deviations and all(deviation == pytest.approx(whole, rel=0.1) for deviation in deviations.values())
    config = json.loads((tmp_path / "out" / "model" / "config.json").read_text())
    assert config["initializer_range"] == 0.06
    assert "| fresh weights | standard deviation 0.06 |" in model_card(tmp_path / "out")
