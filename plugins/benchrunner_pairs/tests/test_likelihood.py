"""The method `likelihood` beside the library's own models, which score one masked token after another."""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tiny_language_models as tiny
from safetensors.torch import load_file, save_file

import benchrunner_bert
from benchrunner import Classify, Recipe, RequestError, Workspace
from benchrunner.engine import Backbone
from benchrunner_bert.family import BertFamily
from benchrunner_kinds import Choose
from benchrunner_kit.testing import TinyBackbone, check_method
from benchrunner_kit.testing.samples import fit_job
from benchrunner_pairs.likelihood import Likelihood
from benchrunner_transformers.backbones import TransformersFamily

NOVELS = Path(benchrunner_bert.__file__).with_name("novels")
PAIRS = [["he saw themselves there", "he saw himself there"], ["he saw them", "they were"]]

Models = Callable[..., Path]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Write a model of each kind once, in a folder that tests only read."""

    @functools.cache
    def written(kind: str, *, causal: bool = False) -> Path:
        folder = tmp_path_factory.mktemp(kind) / "model"
        tiny.write_model(kind, folder, causal=causal)
        return folder

    return written


def backbone_of(folder: Path) -> Backbone:
    workspace = Workspace(folder / "runs", folder / "cache")
    of_bert = BertFamily().find(str(folder), workspace)
    backbone = of_bert or TransformersFamily().find(str(folder), workspace)
    assert backbone is not None
    return backbone


def scores(backbone: Backbone, folder: Path, masking: str = "original", **columns: Any) -> np.ndarray:
    """Fit `likelihood`, and return the scores of the texts of each pair, as the fit's folder gives them."""
    workspace = Workspace(folder / "runs", folder / "cache")
    table = pa.table({"a": [""] * len(PAIRS), "choices": PAIRS, "label": [0, 1], **columns})
    recipe = Recipe(parameters={"likelihood.masking": masking}, micro_tokens=64)
    job = fit_job(Likelihood(), Choose(2), table, backbone, workspace, folder / masking, recipe)
    Likelihood().fit(job)
    return Likelihood().predict(dataclasses.replace(job, backbone=backbone_of(job.model), train=None), table)


@pytest.mark.parametrize(
    ("kind", "masking"),
    [*((kind, "original") for kind in tiny.MASKED), ("bert", "within-word"), ("roberta", "within-word")],
)
def test_scores_equal_masking_one_token_at_a_time(kind: str, masking: str, models: Models, tmp_path: Path) -> None:
    model = models(kind)
    got = scores(backbone_of(model), tmp_path, masking)
    expected = [
        tiny.pseudo_log_likelihood(model, text, within_word=masking == "within-word")
        for texts in PAIRS
        for text in texts
    ]
    np.testing.assert_allclose(got.flatten(), expected, rtol=1e-6)


@pytest.mark.parametrize("masking", ["original", "within-word"])
def test_scores_of_a_pretrained_model_with_punctuation(masking: str, tmp_path: Path) -> None:
    texts = ["Katherine can't help herself.", "Katherine can't help himself."]
    got = scores(backbone_of(NOVELS), tmp_path, masking, choices=[texts, texts])
    expected = [tiny.pseudo_log_likelihood(NOVELS, text, within_word=masking == "within-word") for text in texts]
    np.testing.assert_allclose(got[0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", tiny.CAUSAL)
def test_causal_scores_are_of_tokens_given_those_before(kind: str, models: Models, tmp_path: Path) -> None:
    model = models(kind, causal=True)
    got = scores(backbone_of(model), tmp_path)
    expected = [tiny.log_likelihood(model, text) for texts in PAIRS for text in texts]
    np.testing.assert_allclose(got.flatten(), expected, rtol=1e-6)


def test_words_of_several_pieces_tell_the_variants_apart(models: Models, tmp_path: Path) -> None:
    model = models("bert")
    backbone = backbone_of(model)
    original, within_word = (scores(backbone, tmp_path, masking) for masking in ("original", "within-word"))
    assert (np.abs(original - within_word) > 0.01).all()


def test_only_the_ending_of_a_text_is_scored(models: Models, tmp_path: Path) -> None:
    model = models("roberta")
    got = scores(backbone_of(model), tmp_path, ending=["there", ""])
    begin = PAIRS[0][0].index("there")
    expected = tiny.pseudo_log_likelihood(model, PAIRS[0][0], within_word=False, begin=begin)
    assert got[0, 0] == pytest.approx(expected, rel=1e-6)
    whole = tiny.pseudo_log_likelihood(model, PAIRS[1][0], within_word=False)
    assert got[1, 0] == pytest.approx(whole, rel=1e-6)


def test_the_text_before_the_choices_is_context(models: Models, tmp_path: Path) -> None:
    model = models("modernbert")
    got = scores(backbone_of(model), tmp_path, a=["they say", "the old"])
    expected = tiny.pseudo_log_likelihood(model, "the old they were", within_word=False, begin=len("the old "))
    assert got[1, 1] == pytest.approx(expected, rel=1e-6)


def test_the_contract_of_methods_is_kept(tmp_path: Path) -> None:
    columns = {"a": [""] * 4, "choices": PAIRS * 2, "label": [0, 1, 1, 0]}
    novels = BertFamily().find("bert/random-2/16", Workspace(tmp_path / "runs", tmp_path / "cache"))
    check_method(
        Likelihood(),
        tmp_path,
        problem=Choose(2),
        columns=columns,
        backbone=novels,
        family=BertFamily(),
        recipe=Recipe(),
    )


def test_a_backbone_without_a_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"needs a backbone that predicts tokens, and .* does not: TinyEncoder"):
        scores(TinyBackbone(), tmp_path)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_checkpoint_without_its_head_is_refused(kind: str, models: Models, tmp_path: Path) -> None:
    from transformers import AutoModel

    shutil.copytree(models(kind), tmp_path / "model")
    AutoModel.from_pretrained(tmp_path / "model").save_pretrained(tmp_path / "model")
    with pytest.raises(RequestError, match=r"does not: the checkpoint has no (head|weights for the head)"):
        scores(backbone_of(tmp_path / "model"), tmp_path)


def test_old_names_of_norms_are_read(models: Models, tmp_path: Path) -> None:
    shutil.copytree(models("bert"), tmp_path / "model")
    expected = scores(backbone_of(tmp_path / "model"), tmp_path / "now")
    file = tmp_path / "model" / "model.safetensors"
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): t
        for name, t in load_file(file).items()
    }
    save_file(old, file, metadata={"format": "pt"})
    np.testing.assert_array_equal(scores(backbone_of(tmp_path / "model"), tmp_path / "old"), expected)


def test_an_encoder_with_a_decoder_is_refused(models: Models, tmp_path: Path) -> None:
    model = models("bart")
    with pytest.raises(RequestError, match="does not: it has an encoder and a decoder"):
        scores(backbone_of(model), tmp_path)


def test_a_text_that_is_too_long_is_refused(models: Models, tmp_path: Path) -> None:
    model = models("roberta")
    long = ["waiting " * 40, "short"]
    with pytest.raises(RequestError, match=r"The text 'waiting .* tokens, and 65 is the most"):
        scores(backbone_of(model), tmp_path, choices=[long, long])


def test_an_empty_text_is_refused(models: Models, tmp_path: Path) -> None:
    model = models("roberta")
    with pytest.raises(RequestError, match="The text '' has no token to score"):
        scores(backbone_of(model), tmp_path, choices=[["", "there"], ["he", "there"]])


def test_problems_without_choices_are_refused() -> None:
    with pytest.raises(RequestError, match="problems of the kind 'classify' have no texts to choose from"):
        Likelihood().check(Classify(("yes", "no")))
