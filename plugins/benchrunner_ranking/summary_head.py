"""A head without weights: its outputs are the encoder's summaries."""

from __future__ import annotations

from torch import Tensor

from benchrunner.engine import Encoder, FlatBatch, heads


class SummaryHead(heads.Head):
    """Gives the summary of each sequence, in the order of the units. `summary` is the recipe's."""

    level = "sequence"

    def __init__(self, summary: str) -> None:
        super().__init__()
        self.summary = summary

    def forward(self, encoder: Encoder, batch: FlatBatch) -> Tensor:
        vectors = heads.summarize(self.summary, encoder, encoder(batch), batch)
        return vectors.float().index_select(0, batch.restore)
