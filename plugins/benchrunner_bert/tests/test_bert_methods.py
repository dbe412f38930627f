"""BERT with the methods of a plugin: LoRA, probes, and an encoder of a third party beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import FIRST, SECOND, encoded, fresh
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.func import functional_call
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

import benchrunner_bert
from benchrunner import ACCURACY, Classify, Recipe, RowsFrom, Split, Task, Workspace
from benchrunner.engine import Backbone, Dropout, Encoder, FlatBatch, OneBackbone, collate
from benchrunner.methods.finetune import freeze
from benchrunner.results import Computing, Fit, Runner, discover, predict
from benchrunner.runs.predicting import raw_outputs
from benchrunner_bert.checkpoint import read
from benchrunner_bert.family import EMBEDDED
from benchrunner_bert.model import Bert
from benchrunner_bert.weight_names import published_names, published_weights
from benchrunner_kit.testing import sentences
from benchrunner_methods.low_rank import LowRankUpdates
from benchrunner_runs.exporting import export
from inline import METHODS, files, own, plugin

RANK, ALPHA = 4, 12.0


def batch(model: Bert) -> FlatBatch:
    features = encoded(model, FIRST, SECOND)
    return collate(features, np.arange(features.units), torch.device("cpu"), dropout=Dropout(1, 2))


def updated(model: Bert) -> LowRankUpdates:
    """Make updates of a model whose B is not zero, as after training."""
    freeze(model, (), "lora")
    updates = LowRankUpdates(model, rank=RANK, alpha=ALPHA, seed=3)
    source = torch.Generator().manual_seed(1)
    for name, weight in updates.named_parameters():
        if name.endswith(".b"):
            nn.init.normal_(weight, std=0.1, generator=source)
    return updates


def gradients(model: Bert, updates: LowRankUpdates, *, precision: torch.dtype = torch.float32) -> list[torch.Tensor]:
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        flat = batch(model)
        model.summary(model(flat), flat).float().square().sum().backward()
    assert all(weight.grad is None for weight in model.parameters())
    found = [weight.grad for weight in updates.parameters() if weight.grad is not None]
    assert len(found) == 2 * len(updates.updates)
    for weight in updates.parameters():
        weight.grad = None
    return found


def test_updates_are_those_of_the_published_separate_layers() -> None:
    """transformers' model with W + (alpha / rank) B A in each linear layer computes our states."""
    from transformers import BertConfig, BertModel

    model = fresh()
    model.set_dropout(0.0)
    updates = updated(model)
    weights = published_weights(model)
    a_and_b = iter([(update.get_parameter("a"), update.get_parameter("b")) for update in updates.updates])
    for ours, published in published_names(model):
        if ours.endswith(".weight") and "norm" not in ours and "embeddings" not in ours:
            a, b = next(a_and_b)
            for name, a_part, b_part in zip(published, a.chunk(len(published)), b.chunk(len(published)), strict=True):
                assert a_part.shape[0] == b_part.shape[1] == RANK
                weights[name] = weights[name] + ALPHA / RANK * b_part @ a_part
    settings = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "hidden_size": 48}
    config = BertConfig(vocab_size=8000, max_position_embeddings=64, **settings)
    theirs = BertModel(config).eval()
    features = encoded(model, FIRST)
    for unit in range(3):
        tokens = torch.from_numpy(features.tokens[features.starts[unit] : features.starts[unit + 1]]).long()[None]
        flat = collate(features, np.array([unit]), torch.device("cpu"))
        expected = functional_call(theirs, weights, (tokens,))
        states = model(flat)
        torch.testing.assert_close(states, expected.last_hidden_state[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(model.summary(states, flat), expected.pooler_output, rtol=0, atol=1e-5)


def test_gradient_checkpointing_gives_the_same_gradients() -> None:
    """The embeddings are frozen, so the states that enter the first layer need no gradient."""
    found = []
    for recomputes in (False, True):
        model = fresh()
        model.set_dropout(0.1)
        model.recomputes = recomputes
        found.append(gradients(model, updated(model)))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("has_pooler", [True, False])
def test_a_pooler_that_the_checkpoint_lacks_is_trained_whole(tmp_path: Path, has_pooler: bool) -> None:
    fresh().save(tmp_path)
    if not has_pooler:
        tensors = load_file(tmp_path / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
        save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    model = read(tmp_path, seed=0)
    freeze(model, (), "lora")
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained == (set() if has_pooler else {"pooler.weight", "pooler.bias"})


class MeanBert(Bert):
    """BERT whose summary is the mean of a sequence's states."""

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        lengths = batch.starts.diff()
        sums = hidden.new_zeros(len(lengths), hidden.shape[1]).index_add(0, batch.owner, hidden[: batch.real])
        return sums / lengths[:, None]


@dataclass(frozen=True)
class MeanBackbone(Backbone):
    name: str = "mean/novels"
    folder: Path = EMBEDDED[0].place
    about: str = "the mean of BERT's states"

    def revision(self, workspace: Workspace) -> str:
        return f"mean {EMBEDDED[0].revision(workspace)}"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        encoder = read(self.folder, seed=seed)
        encoder.__class__ = MeanBert
        return encoder


MEAN = OneBackbone(MeanBackbone(), lambda folder: MeanBackbone(str(folder), folder))


def test_a_relatives_fit_is_not_read_as_a_bert(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    extra = [("bert", benchrunner_bert), ("mean", own(register_backbones=[MEAN]))]
    plugins = discover(extra=extra, installed=False)
    assert not plugins.set_aside
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    runner = Runner(plugins, workspace, Computing("cpu"))
    recipe = Recipe(lr=1e-3, epochs=6, batch_size=8, max_length=32)
    fit = runner.planner.plan(plugins.tasks.find("mood"), "mean/novels", recipe=recipe)
    assert isinstance(runner.planner.backbone(f"run:{runner.run(fit).id}").load(workspace, seed=0), MeanBert)
    assert predict(fit, "dev", runner).record.scores["accuracy"].value == 1.0


ROWS = {"train": 60, "dev": 40}


def mood() -> Task:
    """Return a task over made-up sentences."""
    splits = {
        role: Split(role, (RowsFrom(lambda workspace, count=count, seed=seed: sentences(count, seed=seed)),))  # type: ignore[misc, arg-type]
        for seed, (role, count) in enumerate(ROWS.items())
    }
    return Task("mine/mood", "Glad or sad?", Classify(("glad", "sad")), splits, (ACCURACY,))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of five layers, with drawn weights."""
    folder = tmp_path_factory.mktemp("small")
    fresh(layers=5).save(folder)
    return folder


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    offers = [("own", plugin(register_tasks=[mood()])), ("bert", benchrunner_bert), METHODS]
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    return Runner(discover(extra=offers, installed=False), workspace, Computing("cpu"))


def fitted(runner: Runner, small: Path, summary: str, features: str = "last") -> tuple[Fit, float]:
    """Fit a probe and return the value of C that it chose."""
    task = runner.plugins.tasks.find("mood")
    recipe = task.recipe.changed(summary=summary, features=features)
    fit = runner.planner.plan(task, str(small), method="probe", recipe=recipe)
    record = runner.run(fit)
    assert record.status == "done", record.reason
    chosen = next(note for note in record.notes if "cross-validation chose C = " in note)
    return fit, float(chosen.split("C = ")[1].split(";")[0])


def vectors(small: Path, texts: list[str], summary: str, features: str) -> np.ndarray:
    """Compute the vectors with transformers, in one padded batch."""
    model, tokenizer = BertModel.from_pretrained(small).eval(), AutoTokenizer.from_pretrained(small)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
    if summary == "pooler":
        return np.asarray(outputs.pooler_output.double().numpy())
    mask, parts = inputs["attention_mask"][..., None], []
    for layer in outputs.hidden_states[-4:] if features == "concat-last-4" else outputs.hidden_states[-1:]:
        if summary == "mean":
            parts.append((layer * mask).sum(1) / mask.sum(1))
        else:
            parts.append(layer.masked_fill(mask == 0, -torch.inf).amax(1))
    return np.asarray(torch.cat(parts, dim=1).double().numpy())


@pytest.mark.parametrize(
    ("summary", "features"),
    [
        ("max", "last"),
        ("mean", "concat-last-4"),
        pytest.param("pooler", "last", marks=pytest.mark.slow),
        pytest.param("mean", "last", marks=pytest.mark.slow),
    ],
)
def test_answers_equal_scikit_learn_on_transformers_vectors(
    runner: Runner, small: Path, summary: str, features: str
) -> None:
    fit, strength = fitted(runner, small, summary, features)
    train, dev = (runner.planner.rows(runner.plugins.tasks.find("mood"), split).table for split in ROWS)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, tol=1e-8, max_iter=10_000))
    model.fit(vectors(small, train.column("a").to_pylist(), summary, features), train.column("label").to_pylist())
    inputs = vectors(small, dev.column("a").to_pylist(), summary, features)
    assert predict(fit, "dev", runner).answers == model.predict(inputs).tolist()
    outputs = raw_outputs(fit, runner.planner.rows(runner.plugins.tasks.find("mood"), "dev"), runner)
    scores = outputs[:, 1] - outputs[:, 0]  # the decision is the difference of the two logits
    rough = 10 if "concat" in features else 1  # with over 768 inputs, L-BFGS stops before the last digits
    np.testing.assert_allclose(scores, model.decision_function(inputs), rtol=rough * 5e-3, atol=rough * 1e-2)


def test_a_probe_of_two_layers_reads_both(runner: Runner, tmp_path: Path) -> None:
    fresh().save(tmp_path / "two")
    record = runner.run(runner.planner.plan(runner.plugins.tasks.find("mood"), str(tmp_path / "two"), method="probe"))
    assert record.status == "done"
    assert "reads the mean over tokens, layers 1 to 2 of 2 side by side, and cross-validation" in record.notes[-1]


def test_an_exported_probe_has_equal_logits_in_transformers(runner: Runner, small: Path, tmp_path: Path) -> None:
    fit, _ = fitted(runner, small, "pooler")
    export(fit.id, tmp_path / "out", runner)
    model = BertForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    rows = runner.planner.rows(runner.plugins.tasks.find("mood"), "dev")
    tokenizer = AutoTokenizer.from_pretrained(small)
    inputs = tokenizer(rows.table.column("a").to_pylist(), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits.numpy()
    np.testing.assert_allclose(raw_outputs(fit, rows, runner), logits, atol=1e-4)
