"""What pre-training leaves: a folder that transformers and the runner both read, with a card that says what it is."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from objective_samples import CORPUS, PLAN, flat, model
from safetensors.torch import load_file
from transformers import (
    AutoModelForPreTraining,
    AutoTokenizer,
    BertForPreTraining,
)

from benchrunner import CheckpointError, Workspace
from benchrunner.io.decoding import from_json
from benchrunner.workspace import Settings
from benchrunner_bert.family import BertFamily
from benchrunner_bert.pretraining.corpus.manifest import Manifest, SourceFacts
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings as PretrainingSettings
from benchrunner_kit.testing import check_backbone


def corpus(*sources: SourceFacts) -> Manifest:
    return dataclasses.replace(CORPUS, plan=dataclasses.replace(PLAN, sources=sources))


NOVELS = corpus(SourceFacts("Emma_1815", 902_341, "ab" * 32), SourceFacts("hub:novels", revision="cd" * 20))
REQUEST = Request(
    size="2/128",
    corpus=(),
    out=Path("out"),
    settings=PretrainingSettings(steps=1000, seed=3, precision="bf16"),
    name="bert/novels",
    command="benchrunner pretrain 2/128 --corpus novels_*/ --out DIR",
)
CARD = Card(REQUEST, NOVELS, 1000, {"held-out perplexity": 12.3456, "NSP accuracy": 0.75}, {}, 0)


def test_transformers_loads_every_weight_unchanged(tmp_path: Path) -> None:
    whole = model("mlm+nsp")
    export(whole, tmp_path / "ours", CARD)
    published, report = BertForPreTraining.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert isinstance(AutoModelForPreTraining.from_pretrained(tmp_path / "ours"), BertForPreTraining)
    ours, theirs = load_file(tmp_path / "ours" / "model.safetensors"), published.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    assert len(AutoTokenizer.from_pretrained(tmp_path / "ours")) == 8000


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_exported_model_is_a_backbone_by_its_path(objective: str, tmp_path: Path) -> None:
    whole = model(objective)
    export(whole, tmp_path / "out", CARD)
    workspace = Workspace(runs=tmp_path, cache=tmp_path / "cache", settings=Settings(offline=True))
    backbone = BertFamily().find(str(tmp_path / "out"), workspace)
    assert backbone is not None
    check_backbone(backbone, BertFamily(), workspace, tmp_path / "again")
    bert, given = backbone.load(workspace, seed=0), flat(whole.bert)
    has_pooler = objective == "mlm+nsp"
    assert bert.notes == (() if has_pooler else ("the checkpoint has no pooler; a fresh one is drawn from the seed",))
    with torch.no_grad():
        states = bert(given)
        assert torch.equal(states, whole.bert(given))
        assert torch.equal(bert.summary(states, given), whole.bert.summary(states, given)) == has_pooler


def test_a_diverged_model_is_not_exported(tmp_path: Path) -> None:
    whole = model("mlm+nsp")
    with torch.no_grad():
        whole.bert.layers[0].inner.bias[3] = torch.nan
    with pytest.raises(CheckpointError, match=r"not written, since 1 tensors .*layer\.0\.intermediate\.dense\.bias"):
        export(whole, tmp_path / "out", CARD)
    assert list(tmp_path.iterdir()) == []


# The card


def card(tmp_path: Path, objective: str = "mlm+nsp", given: Card = CARD) -> str:
    export(model(objective), tmp_path / "out", given)
    return (tmp_path / "out" / "README.md").read_text()


def test_the_card_states_the_settings_the_corpus_and_the_results(tmp_path: Path) -> None:
    text = card(tmp_path)
    assert text.startswith("---\nlibrary_name: transformers\ntags: [benchrunner, bert]\n---\n\n# bert/novels\n")
    for line in (
        "| parameters | 438,082, heads included |",
        "| steps | 900 at length 128 + 100 at length 512 |",
        r"| predicted | 15% of the tokens: 80% \[MASK\], 10% random, 10% same |",
        "| held-out perplexity | 12.35 |",
        rf"| Emma\_1815 | 902,341 | {'ab' * 32} |",
    ):
        assert f"\n{line}\n" in text, line
    corpus_facts = json.loads((tmp_path / "out" / "corpus.json").read_text())
    assert from_json(Manifest, corpus_facts, "corpus.json") == NOVELS


def test_a_long_file_list_is_shortened_in_the_card_only(tmp_path: Path) -> None:
    odd = SourceFacts("a|b\n# <script>[x](y)`z`&amp;", 1, "00")
    sources = [odd, *(SourceFacts(f"part-{at:04}.txt", at, "00", bad_bytes=at == 7) for at in range(1233))]
    text = card(tmp_path, given=dataclasses.replace(CARD, corpus=corpus(*sources)))
    assert "\nBytes that were not UTF-8 and were replaced: 1.\n" in text
    assert "\n| a\\|b \\# \\<script\\>\\[x\\](y)\\`z\\`\\&amp; | 1 | 00 |\n" in text, "names do nothing but appear"
    assert text.endswith("... and 1,134 more: `corpus.json` lists all.\n") and "part-0098.txt" in text
    assert len(json.loads((tmp_path / "out" / "corpus.json").read_text())["plan"]["sources"]) == 1234
