"""A concatenated backbone has the states of its parts, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from concatenations import Drawn, drawn, drawn_family

from benchrunner import CheckpointError, Workspace
from benchrunner.engine import Dropout, Encoder, ExportKind, FlatBatch, OneBackbone, collate
from benchrunner_kit.testing import TinyEncoder, check_backbone
from benchrunner_methods.concatenated_encoder import ConcatenatedEncoder
from benchrunner_methods.concatenation import ConcatenatedFamily, Concatenation
from tiny_fits import features

WORKSPACE = Workspace(Path("runs"), Path("cache"))
CPU = torch.device("cpu")


def concatenation(*names: str) -> Concatenation:
    return ConcatenatedFamily().combined(f"concat:{','.join(names)}", [drawn(name) for name in names])


def loaded(*names: str) -> ConcatenatedEncoder:
    encoder = concatenation(*names).load(WORKSPACE, seed=0)
    assert isinstance(encoder, ConcatenatedEncoder)
    return encoder


def ragged_batch(dropout: Dropout | None = None) -> FlatBatch:
    """Sequences of 5 to 16 tokens, and filling at the end."""
    return collate(features(20), np.arange(20), CPU, dropout=dropout, multiple=64)


def same(left: torch.Tensor, *parts: torch.Tensor) -> bool:
    return torch.equal(left, torch.cat(parts, dim=1))


def test_states_and_summaries_are_those_of_the_parts() -> None:
    encoder, batch = loaded("one", "two", "three").eval(), ragged_batch()
    parts = [Drawn(name).load(WORKSPACE, seed=0).eval() for name in ("one", "two", "three")]
    assert encoder.hidden_size == 36
    with torch.inference_mode():
        layers = list(encoder.hidden_states(batch))
        expected = [list(part.hidden_states(batch)) for part in parts]
        assert len(layers) == 2
        assert all(same(layer, *own) for layer, *own in zip(layers, *expected, strict=True))
        assert same(encoder(batch), *(states[-1] for states in expected))
        summaries = [part.summary(states[-1], batch) for part, states in zip(parts, expected, strict=True)]
        assert same(encoder.summary(layers[-1], batch), *summaries)
    assert not torch.equal(summaries[0], summaries[1])
    assert same(encoder.token_states(layers[-1], batch), layers[-1])


def test_every_part_is_prepared_for_the_kind_of_head() -> None:
    class Choosy(TinyEncoder):
        kind: ExportKind | None = None

        def prepare_for(self, kind: ExportKind | None) -> None:
            self.kind = kind

    parts = [Choosy(), Choosy()]
    ConcatenatedEncoder(("one", "two"), parts).prepare_for(ExportKind("regression"))
    assert [part.kind for part in parts] == [ExportKind("regression")] * 2


def test_texts_are_read_as_the_first_part_reads_them() -> None:
    encoder, first = loaded("one", "two"), TinyEncoder()
    for tokens, expected in (
        (encoder.assemble(["a b", "c"], ["d", "e f"], 4), first.assemble(["a b", "c"], ["d", "e f"], 4)),
        (encoder.pieces(["a b"]), first.pieces(["a b"])),
        (encoder.words(["a", "b"]), first.words(["a", "b"])),
    ):
        assert np.array_equal(tokens.tokens, expected.tokens) and np.array_equal(tokens.starts, expected.starts)
    assert encoder.frame == first.frame
    assert encoder.tokenizer_fingerprint == first.tokenizer_fingerprint


def test_the_shortest_part_limits_the_length() -> None:
    assert loaded("one", "short").max_length == 7
    assert loaded("short", "one").max_length == 7


def test_notes_name_the_part() -> None:
    assert loaded("one", "noted", "noted too").notes == ("noted: drawn for noted", "noted too: drawn for noted too")


def test_dropout_is_set_together_and_drawn_apart() -> None:
    encoder = loaded("one", "one").train()
    encoder.set_dropout(0.5)
    assert encoder.dropout == 0.5
    batch = ragged_batch(Dropout(1, 0))
    embeddings, last = encoder.hidden_states(batch)
    left, right = embeddings.chunk(2, dim=1)
    assert 0.4 < ((left == 0) == (right == 0)).double().mean() < 0.6
    again = encoder(ragged_batch(Dropout(1, 0)))
    assert torch.equal(last, again), "the masks depend on seed, pass and place only"
    encoder.set_dropout(0.0)
    left, right = encoder(batch).chunk(2, dim=1)
    assert torch.equal(left, right)


def test_the_revision_depends_on_the_parts_and_their_order() -> None:
    parts = (("one", "two"), ("two", "one"), ("one", "two", "two"), ("one", "three"))
    revisions = {concatenation(*names).revision(WORKSPACE) for names in (*parts, ("one", "two"))}
    assert len(revisions) == len(parts)


def test_a_concatenation_keeps_a_backbones_contract(tmp_path: Path) -> None:
    family = ConcatenatedFamily((drawn_family("one"), drawn_family("two")))
    check_backbone(concatenation("one", "two"), family, Workspace(tmp_path, tmp_path), tmp_path / "saved")


def test_each_part_is_saved_by_itself(tmp_path: Path) -> None:
    loaded("one", "two").save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["concat.json", "part-1", "part-2"]
    for name, folder in (("one", "part-1"), ("two", "part-2")):
        expected = Drawn(name).load(WORKSPACE, seed=0).state_dict()
        saved = TinyEncoder.read(tmp_path / folder).state_dict()
        assert all(torch.equal(saved[key], expected[key]) for key in expected)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}", "'parts' must be a list of names of sub-folders"),
        ('{"parts": ["../part-1", "part-2"]}', "'parts' must be a list of names of sub-folders"),
        ('{"parts": ["part-1"]}', "lists 1 parts, and the fit was made of 2"),
        ('{"parts": ["part-1", "head"]}', "head: the backbone family 'two', which saved it, does not recognise it"),
    ],
)
def test_a_damaged_folder_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    loaded("one", "two").save(tmp_path)
    (tmp_path / "concat.json").write_text(content)
    with pytest.raises(CheckpointError, match=reason):
        ConcatenatedFamily((drawn_family("one"), drawn_family("two"))).find(str(tmp_path), WORKSPACE)


def test_a_family_that_fails_on_its_part_is_named(tmp_path: Path) -> None:
    def failing(folder: Path) -> None:
        raise KeyError("weights")

    loaded("one", "two").save(tmp_path)
    family = ConcatenatedFamily((drawn_family("one"), OneBackbone(drawn("two"), failing)))
    with pytest.raises(CheckpointError, match="part-2: the backbone family 'two' failed: KeyError: 'weights'"):
        family.find(str(tmp_path), WORKSPACE)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("one", "two", "foreign"), "one and foreign cannot be concatenated: they have different tokenizers"),
        (("one", "deep"), "one and deep cannot be concatenated: they have 1 and 2 layers"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        loaded(*names)


def test_a_frozen_part_freezes_all_parts() -> None:
    assert not concatenation("one", "two").frozen
    assert concatenation("one", "frozen").frozen and concatenation("frozen", "one").frozen


def test_missing_weights_of_two_parts_are_drawn_apart() -> None:
    seeds = list[int]()

    class Seeing(Drawn):
        def load(self, workspace: Workspace, *, seed: int) -> Encoder:
            seeds.append(seed)
            return super().load(workspace, seed=seed)

    for seed in (0, 0, 1):
        Concatenation("concat:one,one", (Seeing("one"), Seeing("one")), frozen=False).load(WORKSPACE, seed=seed)
    assert len(set(seeds)) == 4 and seeds[:2] == seeds[2:4]
    assert all(0 <= seed < 2**32 for seed in seeds)
