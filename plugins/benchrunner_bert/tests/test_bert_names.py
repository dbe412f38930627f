"""Names, sizes, parameter counts, layers and recipes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bert_samples import fresh

import benchrunner_bert
from benchrunner import Recipe, RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import BertCheckpoint, RandomBert
from benchrunner_bert.configuration import SIZES, Configuration
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(runs=tmp_path, cache=tmp_path, settings=Settings(offline=True))


class NoTokenizer:
    """For models that are only counted."""

    fingerprint = "none"


def parameters(config: Configuration) -> int:
    with torch.device("meta"):  # shapes without memory
        model = Bert(config, NoTokenizer())  # type: ignore[arg-type]
    assert all(one.is_meta for one in model.parameters())
    return sum(one.numel() for one in model.parameters())


@pytest.mark.parametrize(
    ("size", "vocabulary", "count"),
    [
        ("base", 30522, 109_482_240),
        ("large", 30522, 335_141_888),
        ("base", 28996, 108_310_272),
        ("tiny", 30522, 4_385_920),
        ("mini", 30522, 11_170_560),
        ("small", 30522, 28_763_648),
        ("medium", 30522, 41_373_184),
    ],
)
def test_published_sizes_have_the_published_parameter_counts(size: str, vocabulary: int, count: int) -> None:
    assert parameters(Configuration.of_size(size, vocabulary)) == count


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("tiny", (2, 128, 2)),
        ("large", (24, 1024, 16)),
        ("4/256", (4, 256, 4)),
        ("2/96/3", (2, 96, 3)),
        ("6/768/3", (6, 768, 3)),
        ("1/32", (1, 32, 1)),
        ("3/7/7", (3, 7, 7)),
    ],
)
def test_a_size_is_layers_width_and_heads(size: str, shape: tuple[int, int, int]) -> None:
    config = Configuration.of_size(size, 100)
    assert (config.layers, config.hidden, config.heads) == shape
    assert config.inner == 4 * config.hidden and config.positions == 512


@pytest.mark.parametrize(
    "size", ["", "huge", "4", "4/256/4/4", "0/64", "4/0", "4/-64", "4/x", "2/200", "4/96/5", "²/64"]
)
def test_a_size_that_cannot_be_is_refused(size: str, workspace: Workspace) -> None:
    with pytest.raises(RequestError, match=r"A size is|cannot be shared"):
        BertFamily().find(f"bert/random-{size}", workspace)


@pytest.mark.parametrize("size", ["2/96/3", "1/32", "1/24/24"])
def test_fresh_weights_are_reproducible_and_drawn_as_published(size: str, workspace: Workspace) -> None:
    backbone = BertFamily().find(f"bert/random-{size}", workspace)
    assert isinstance(backbone, RandomBert)
    first, other = backbone.load(workspace, seed=1), backbone.load(workspace, seed=2)
    assert isinstance(first, Bert)
    assert all(torch.equal(one, other.state_dict()[name]) for name, one in first.state_dict().items())
    word = first.embeddings.word.weight
    assert word.abs().max() <= 0.04 and 0.016 < word.std().item() < 0.019  # cut at two deviations of 0.02
    assert not first.layers[0].qkv.bias.any() and bool((first.embeddings.norm.weight == 1).all())
    assert first.embeddings.word.num_embeddings == first.tokenizer.size == 8000


def test_sizes_have_revisions_of_their_own(workspace: Workspace) -> None:
    sizes = (*SIZES, "2/128/4", "2/96/3")
    found = {RandomBert(f"bert/random-{size}", size).revision(workspace) for size in sizes}
    assert len(found) == len(sizes)
    tiny = RandomBert("bert/random-tiny", "tiny").revision(workspace)
    assert tiny == RandomBert("bert/random-2/128", "2/128").revision(workspace), "another name of the same model"


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("bert/base-uncased", "google-bert/bert-base-uncased"),
        ("base-uncased", "google-bert/bert-base-uncased"),
        ("bert/tiny", "google/bert_uncased_L-2_H-128_A-2"),
        ("google/bert_uncased_L-2_H-128_A-2", "google/bert_uncased_L-2_H-128_A-2"),
    ],
)
def test_a_released_model_is_found_by_any_of_its_names_offline(
    reference: str, repository: str, workspace: Workspace
) -> None:
    found, family = discover().backbone_search.find(reference, workspace)
    assert isinstance(found, BertCheckpoint) and found.place == repository
    assert isinstance(family, BertFamily)


def test_every_listed_name_is_found_again(workspace: Workspace) -> None:
    family = BertFamily()
    assert all(family.find(one.name, workspace) == one for one in family.listed())


def test_a_name_that_is_nobodys_is_not_found(workspace: Workspace) -> None:
    assert BertFamily().find("nonsense", workspace) is None


def test_weights_are_counted_before_a_model_is_loaded(workspace: Workspace) -> None:
    backbone = RandomBert("bert/random-tiny", "tiny")
    weights = sum(weight.numel() for weight in backbone.load(workspace, seed=0).parameters())
    assert backbone.weight_count(workspace) == weights


def test_depths_rise_from_the_embeddings_to_the_pooler() -> None:
    model = fresh(layers=3)
    prefixes = {"embeddings.": 0, "layers.0.": 1, "layers.1.": 2, "layers.2.": 3, "pooler.": 4}
    for name, depth in model.depths().items():
        assert [expected for prefix, expected in prefixes.items() if name.startswith(prefix)] == [depth]
    assert model.depths().keys() == dict(model.named_parameters()).keys()


def test_a_layer_and_the_pooler_are_drawn_alone() -> None:
    model, before = fresh(), fresh().state_dict()
    model.draw_layer(1, torch.Generator().manual_seed(1))
    model.draw_summary(torch.Generator().manual_seed(2))
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]) != name.startswith(("layers.1.", "pooler.")), name
    layer = model.layers[1]
    matrix = layer.get_parameter("inner.weight")
    assert abs(matrix.std().item() - 0.02 * 0.88) < 0.002, "the deviation of a normal distribution cut at two of it"
    assert not layer.get_parameter("inner.bias").any() and not model.pooler.bias.any()
    assert torch.equal(layer.get_parameter("output_norm.weight"), torch.ones(48))


def test_the_papers_recipe_is_the_default_one() -> None:
    plugins = discover(extra=[("bert", benchrunner_bert)], installed=False)
    assert list(plugins.recipes) == ["bert-paper", "mosbach"]
    assert Recipe().changed(**plugins.recipes.find("bert-paper").values) == Recipe()
    assert plugins.grid("bert-paper") == plugins.grid("paper")


@pytest.mark.parametrize("name", ["bert/tiny@main", "google/bert_uncased_L-2_H-128_A-2@main"])
def test_a_released_name_may_have_a_revision(name: str, workspace: Workspace) -> None:
    backbone = BertFamily().find(name, workspace)
    assert isinstance(backbone, BertCheckpoint)
    assert (backbone.name, backbone.place) == (name, "google/bert_uncased_L-2_H-128_A-2@main")
