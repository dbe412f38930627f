"""Names, sizes, parameter counts, layers and recipes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bert_samples import fresh

from benchrunner import RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import BertCheckpoint, RandomBert
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.family import BertFamily


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(runs=tmp_path, cache=tmp_path, settings=Settings(offline=True))


@pytest.mark.parametrize(
    ("size", "vocabulary", "count"),
    [("base", 30522, 109_482_240), ("large", 30522, 335_141_888)],
)
def test_published_sizes_have_the_published_parameter_counts(size: str, vocabulary: int, count: int) -> None:
    assert Configuration.of_size(size, vocabulary).weights == count


def test_a_size_is_layers_width_and_heads() -> None:
    for size, shape in (("large", (24, 1024, 16)), ("2/96/3", (2, 96, 3))):
        config = Configuration.of_size(size, 100)
        assert (config.layers, config.hidden, config.heads) == shape
        assert config.inner == 4 * config.hidden and config.positions == 512


@pytest.mark.parametrize(
    "size", ["", "huge", "4", "4/256/4/4", "0/64", "4/0", "4/-64", "4/x", "2/200", "4/96/5", "²/64"]
)
def test_a_size_that_cannot_be_is_refused(size: str, workspace: Workspace) -> None:
    with pytest.raises(RequestError, match=r"A size is|cannot be shared"):
        BertFamily().find(f"bert/random-{size}", workspace)


def test_fresh_weights_are_reproducible_and_drawn_as_published(workspace: Workspace) -> None:
    backbone = BertFamily().find("bert/random-2/96/3", workspace)
    assert isinstance(backbone, RandomBert)
    first, other = backbone.load(workspace, seed=1), backbone.load(workspace, seed=2)
    assert all(torch.equal(one, other.state_dict()[name]) for name, one in first.state_dict().items())
    assert first.embeddings.word.num_embeddings == first.tokenizer.size == 8000
    assert backbone.weight_count(workspace) == sum(weight.numel() for weight in first.parameters())
    assert backbone.revision(workspace) != RandomBert("bert/random-2/96/4", "2/96/4").revision(workspace)


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("bert/base-uncased", "google-bert/bert-base-uncased"),
        ("base-uncased", "google-bert/bert-base-uncased"),
        ("bert/tiny", "google/bert_uncased_L-2_H-128_A-2"),
        ("google/bert_uncased_L-2_H-128_A-2@main", "google/bert_uncased_L-2_H-128_A-2@main"),
    ],
)
def test_a_released_model_is_found_by_any_of_its_names_offline(
    reference: str, repository: str, workspace: Workspace
) -> None:
    found, family = discover().backbone_search.find(reference, workspace)
    assert isinstance(found, BertCheckpoint) and found.place == repository
    assert isinstance(family, BertFamily) and family.find("nonsense", workspace) is None
    assert all(family.find(listed.name, workspace) == listed for listed in family.listed())


def test_a_layer_and_the_pooler_are_drawn_alone() -> None:
    model, before = fresh(), fresh().state_dict()
    model.draw_layer(1, torch.Generator().manual_seed(1))
    model.draw_summary(torch.Generator().manual_seed(2))
    for name, weight in model.state_dict().items():
        drawn = name.startswith(("layers.1.", "pooler."))
        assert torch.equal(weight, before[name]) != drawn, name
        if drawn and weight.ndim == 1:
            assert (weight == ("norm.weight" in name)).all(), name
        elif drawn:
            assert abs(weight.std().item() - 0.02 * 0.88) < 0.002, "a normal distribution cut at two deviations"
