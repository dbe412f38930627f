"""Weights before the first step: position embeddings that begin as waves, and the deviation of fresh weights."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from pretraining_runs import model_card, run, words
from safetensors.torch import load_file

from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Embeddings


def waved(*, positions: int = 200, hidden: int = 64, deviation: float = 0.02) -> torch.Tensor:
    embeddings = Embeddings(Configuration(300, hidden, positions=positions, deviation=deviation))
    embeddings.set_sinusoidal_positions(deviation)
    return embeddings.position.weight.detach().double()


def test_position_similarity_depends_only_on_distance_and_decays() -> None:
    found = waved()
    alike = found @ found.T / found[0].dot(found[0])
    for distance in range(200):
        assert torch.allclose(alike.diagonal(distance), alike[0, distance], atol=1e-5), distance
    assert alike[0, 0] > alike[0, 1] > alike[0, 2] > alike[0, 3] > alike[0, 4:].max()


@pytest.mark.parametrize("hidden", [2, 64, 191])
def test_waves_are_as_wide_as_what_is_drawn_beside_them(hidden: int) -> None:
    found = waved(hidden=hidden, deviation=0.03)
    assert found.shape == (200, hidden)
    assert math.sqrt(found.pow(2).mean().item()) == pytest.approx(0.03, rel=0.05)


def test_a_run_may_start_from_waves_but_not_resume_without_them(tmp_path: Path) -> None:
    asked = ("--deviation", "0.06", "--lr", "0")  # nothing is learnt at a rate of 0
    run(words(tmp_path, "out", "--positions", "waves", *asked, steps=1))
    run(words(tmp_path, "drawn", *asked, steps=1))
    waves, drawn = (load_file(tmp_path / out / "model" / "model.safetensors") for out in ("out", "drawn"))
    (name,) = (one for one in waves if one.endswith("position_embeddings.weight"))
    assert torch.allclose(waves[name].double(), waved(positions=512, hidden=32, deviation=0.06), atol=1e-7)
    assert all(torch.equal(waves[one], drawn[one]) for one in waves if one != name), "all else is drawn alike"
    whole = 0.06 * 0.88  # a normal distribution that is cut at two deviations has 0.88 of its deviation
    assert all(weight.std().item() == pytest.approx(whole, rel=0.1) for weight in drawn.values() if weight.ndim == 2)
    assert json.loads((tmp_path / "out" / "model" / "config.json").read_text())["initializer_range"] == 0.06
    assert "| positions | began as waves |" in model_card(tmp_path / "out")
    (tmp_path / "out" / "finished.json").unlink()
    assert "positions 'waves', now 'drawn'" in run(words(tmp_path, "out", *asked, steps=1), code=2)
