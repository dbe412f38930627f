"""`check_backbone` names the fault of every broken backbone of a table."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from changed_methods import changed, raising
from safetensors.torch import load_file, save_file
from torch import nn

from benchrunner import PluginError, Workspace
from benchrunner.engine import BackboneFamily, Encoder, ExportedHead, FlatBatch, Frame, OneBackbone, Pieces, Sequences
from benchrunner_kit.testing import WEIGHTS, TinyBackbone, TinyEncoder, check_backbone


class Mixed(TinyEncoder):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        embeddings, last = super().hidden_states(batch)
        yield embeddings
        yield last + last.mean(0)


def made(method: str, change: Callable[..., Any]) -> dict[str, Any]:
    """Make the case of an encoder whose method is changed."""
    return {"kind": changed(TinyEncoder, method, change)}


def layers(change: Callable[[torch.Tensor, FlatBatch], torch.Tensor]) -> dict[str, Any]:
    """Make the case of an encoder whose states of each layer are changed."""
    return made("hidden_states", lambda usual, batch: (change(states, batch) for states in usual(batch)))


def by_filling(states: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return states * (1 + (len(batch.tokens) - batch.real) / 100)


def narrow(usual: Any, batch: FlatBatch) -> list[torch.Tensor]:
    embeddings, last = usual(batch)
    return [embeddings[:, :5], last]


def mean_summary(usual: Any, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return usual(hidden, batch).mean(0).expand(len(batch.starts) - 1, -1)


def telling_others(usual: Any, first: Sequence[str], *given: Any) -> Sequences:
    return replace(usual(first, *given), tokens=usual(first, *given).tokens + np.int32(len(first) > 1))


def pieces_of_all(usual: Any, texts: Sequence[str]) -> Pieces:
    return replace(usual(texts), tokens=usual(texts).tokens + np.int32(len(texts) > 1))


def negative(usual: Any, *given: Any) -> Sequences:
    return replace(usual(*given), tokens=usual(*given).tokens - np.int32(9))


def few_segments(usual: Any, *given: Any) -> Sequences:
    return replace(usual(*given), segments=usual(*given).segments[1:])


def dotted(usual: Any, words: Sequence[str]) -> Pieces:
    return usual([f"{word}." for word in words])


class MixedEmbeddings(TinyEncoder):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        counted = torch.arange(len(batch.tokens)) % self.max_length  # positions in the batch, not in the sequence
        yield from super().hidden_states(replace(batch, positions=counted))


class OwnDropout(TinyEncoder):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        for states in super().hidden_states(batch):
            yield nn.functional.dropout(states, 0.1, training=self.training)


class NoDropoutAtAll(TinyEncoder):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        from benchrunner.features.randomness import NoDropout

        yield from super().hidden_states(replace(batch, dropout=NoDropout()))


class TableElsewhere(TinyEncoder):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        for states in super().hidden_states(batch):
            yield states + self.word.weight.mean(0)


class EmptyText(TinyEncoder):
    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        if list(first) == [""]:
            return Sequences(np.empty(0, np.int32), np.empty(0, np.int8), np.array([0, 0]))
        return super().assemble(first, second, max_length)


def spans(change: Callable[[np.ndarray, str], np.ndarray]) -> type[TinyEncoder]:
    """Make an encoder whose spans of each text are changed."""

    class Changed(TinyEncoder):
        def pieces(self, texts: Sequence[str]) -> Pieces:
            made = super().pieces(texts)
            parts = [change(made.spans[made.starts[at] : made.starts[at + 1]], text) for at, text in enumerate(texts)]
            return Pieces(made.tokens, np.concatenate(parts), made.starts)

    return Changed


def in_bytes(found: np.ndarray, text: str) -> np.ndarray:
    return np.array([len(text[:place].encode()) for place in found.flat], dtype=np.int32).reshape(-1, 2)


def framed(**changes: Any) -> type[TinyEncoder]:
    """Make an encoder whose frame is changed."""

    class Changed(TinyEncoder):
        @property
        def frame(self) -> Frame:
            return replace(super().frame, **changes)

    return Changed


class NoFrame(TinyEncoder):
    @property
    def frame(self) -> Frame:
        return Encoder.frame.fget(self)  # type: ignore[attr-defined, no-any-return]


class NoFingerprint(TinyEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.tokenizer_fingerprint = ""


class HashedFingerprint(TinyEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.tokenizer_fingerprint = f"{hash('words')}"


class LosesAWeight(TinyEncoder):
    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        super().save(folder, head)
        tensors = load_file(folder / WEIGHTS)
        tensors["dense.bias"] = torch.zeros_like(tensors["dense.bias"])
        save_file(tensors, folder / WEIGHTS)


class Scaled(TinyEncoder):
    scale = 2.0

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        for states in super().hidden_states(batch):
            yield states * self.scale


class ScaledSummary(Scaled):
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        yield from TinyEncoder.hidden_states(self, batch)

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().summary(hidden, batch) * self.scale


class Uppercase(TinyEncoder):
    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return super().assemble(
            [text.upper() for text in first], second and [text.upper() for text in second], max_length
        )

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return super().pieces([text.upper() for text in texts])


class DrawsTheWrongLayer(TinyEncoder):
    def draw_layer(self, index: int, source: torch.Generator) -> None:
        super().draw_summary(source)


def drawn_anew(encoder: Any) -> None:
    nn.init.normal_(encoder.qkv.weight)


def scaled_back(encoder: Any) -> None:
    encoder.scale = 1.0


def lower_case(encoder: Any) -> None:
    encoder.__class__ = TinyEncoder


def shorter(encoder: Any) -> None:
    encoder.max_length = 32


def hash_of(weights: bytes, folder: Path | None) -> str:
    return f"{zlib.crc32(weights)}"


def nothing(encoder: Any) -> None:
    return


class Of(TinyBackbone):
    """A backbone of one case: the class of its encoder, what loading does, what reading does, what its revision is."""

    def __init__(self, case: Any, folder: Path | None = None) -> None:
        super().__init__(f"broken {folder}" if folder else "broken", folder=folder)
        object.__setattr__(self, "case", case)

    def revision(self, workspace: Workspace) -> str:
        weights = (self.folder / WEIGHTS).read_bytes() if self.folder else b""
        return str(self.case.get("revision", hash_of)(weights, self.folder))  # type: ignore[attr-defined]

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        case = self.case  # type: ignore[attr-defined]
        kind = case.get("kind", TinyEncoder)
        encoder = kind() if self.folder is None else kind.read(self.folder)
        case.get("load", nothing)(encoder)
        case.get("read" if self.folder else "", nothing)(encoder)
        return encoder  # type: ignore[no-any-return]


def family(case: Any) -> BackboneFamily:
    finds = case.get("finds", lambda folder: (folder / WEIGHTS).is_file())
    return OneBackbone(Of(case), lambda folder: Of(case, folder) if finds(folder) else None)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a layer mixes sequences": ({"kind": Mixed}, "texts in a batch and alone give other states at layer 1"),
    "positions count over the batch": ({"kind": MixedEmbeddings}, "texts in a batch and alone give other embeddings"),
    "summaries mix sequences": (made("summary", mean_summary), "texts in a batch and alone give other summaries"),
    "dropout in evaluation": (layers(lambda states, batch: nn.functional.dropout(states, 0.1)), "two passes over one"),
    "dropout that is torch's own": ({"kind": OwnDropout}, "with the same dropout give other .* not with torch's own"),
    "dropout that is not there": ({"kind": NoDropoutAtAll}, "`dropout` is 0.1, but a batch with dropout gives the"),
    "reads the filling": (layers(by_filling), "with and without filling tokens at its end give other embeddings"),
    "one tensor of states": (
        made("hidden_states", lambda usual, batch: list(usual(batch))[1:]),
        "`hidden_states` yields one tensor",
    ),
    "a layer of another width": (
        made("hidden_states", narrow),
        r"gives \(\d+, 5\) at layer 0 for a batch of \d+ tokens",
    ),
    "states that are not finite": (layers(lambda states, batch: states / 0), "states of layer 0 are not finite"),
    "a layer that crashes": (
        made("hidden_states", raising(KeyError("layer"))),
        "computing the states of a batch failed: KeyError: 'layer'",
    ),
    "another summarized": (made("summarized", lambda usual, batch: usual(batch) + 1), "`summarized` is not `summary`"),
    "a word table read elsewhere": ({"kind": TableElsewhere}, "states change if the table 'word' holds only the rows"),
    "sequences that are too long": (
        made("assemble", lambda usual, first, second, length: usual(first, second, 64)),
        "assemble keeps more tokens than max_length",
    ),
    "tokens that depend on others": (made("assemble", telling_others), "assemble gives other tokens for '.*' alone"),
    "an empty text without tokens": ({"kind": EmptyText}, "assemble gives other tokens for '' alone than among"),
    "too few segments": (made("assemble", few_segments), r"`segments` of assemble gives \d+ for \d+ tokens"),
    "negative ids": (made("assemble", negative), "assemble gives negative token ids"),
    "offsets in bytes": ({"kind": spans(in_bytes)}, "spans of pieces|no piece covers|the span of a piece covers two"),
    "offsets one too far": ({"kind": spans(lambda found, text: found + 1)}, "spans of pieces are outside of their"),
    "offsets backwards": ({"kind": spans(lambda found, text: found[::-1])}, "spans of pieces are not in the order"),
    "offsets of whole texts": (
        {"kind": spans(lambda found, text: found * 0 + np.array([0, len(text)], np.int32))},
        "the span of a piece covers two words",
    ),
    "pieces that depend on others": (made("pieces", pieces_of_all), "pieces gives other tokens for '.*' alone than"),
    "words cut in another way": (made("words", dotted), "words gives other tokens than the same words have inside"),
    "a frame without the last token": ({"kind": framed(after=())}, "`frame` joins the pieces of single texts to"),
    "a frame with another token": ({"kind": framed(before=(9,))}, "`frame` joins the pieces of single texts to other"),
    "a frame with one segment": ({"kind": framed(segments=(0, 0))}, "the pieces of pairs of texts to other segments"),
    "no frame": ({"kind": NoFrame}, "NoFrame has no property `frame`"),
    "a fingerprint of a process": (
        {"kind": HashedFingerprint},
        "`tokenizer_fingerprint` differs from load",
    ),
    "a revision of a process": ({"revision": lambda weights, folder: hash(weights)}, "or from process to process"),
    "no fingerprint": ({"kind": NoFingerprint}, "`tokenizer_fingerprint` must be a text"),
    "loses a weight on saving": ({"kind": LosesAWeight}, "the weight 'dense.bias' is not the same; write every weight"),
    "finds nothing": ({"finds": lambda folder: False}, "the family does not find the folder that its own encoder"),
    "loses its configuration": (
        {"kind": Scaled, "read": scaled_back},
        "the same weights, saved and read again, give other emb",
    ),
    "loses a number of the summary": ({"kind": ScaledSummary, "read": scaled_back}, "read again, give other summaries"),
    "loses its tokenizer": ({"kind": Uppercase, "read": lower_case}, "the encoder makes other tokens of texts"),
    "loses an attribute": ({"read": shorter}, "the encoder has another `max_length`"),
    "a revision of another call": ({"revision": lambda weights, folder: random.random()}, "revision differs from"),
    "a revision of the path": ({"revision": lambda weights, folder: folder}, "revision differs for two folders with"),
    "a revision of nothing": ({"revision": lambda weights, folder: 1}, "revision is the same for other weights"),
    "a revision that crashes": ({"revision": lambda weights, folder: 1 / 0}, "revision failed: ZeroDivisionError"),
    "weights drawn anew": ({"load": drawn_anew}, "two loads with one seed are two models: the weight 'qkv.weight'"),
    "draws the wrong layer": ({"kind": DrawsTheWrongLayer}, "draw_layer changes a weight of another depth,"),
    "depths of one weight": (made("depths", lambda usual: {"word.weight": 0}), "depths does not give the names of"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_backbone_is_told_how(name: str, tmp_path: Path) -> None:
    case, fault = BROKEN[name]
    with pytest.raises(PluginError, match=fault) as refusal:
        check_backbone(Of(case), family(case), Workspace(tmp_path, tmp_path), tmp_path / "saved")
    assert str(refusal.value).startswith("broken breaks its contract:\n  - ")


def test_a_whole_backbone_passes(tmp_path: Path) -> None:
    check_backbone(Of({}), family({}), Workspace(tmp_path, tmp_path), tmp_path / "saved")


def test_two_words_may_have_one_embedding(tmp_path: Path) -> None:
    class Alike(TinyEncoder):
        def __init__(self) -> None:
            super().__init__()
            rain, x = self.pieces(["rain x"]).tokens.tolist()  # the first words of the shortest pair of texts
            self.word.weight.data[x] = self.word.weight.data[rain]

    case = {"kind": Alike}
    check_backbone(Of(case), family(case), Workspace(tmp_path, tmp_path), tmp_path / "saved")
