"""The kinds of question that tasks share: how rows become sequences, what is learned, how outputs become answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.encoders import Encoder
    from benchrunner.features import Features
    from benchrunner.sources import Rows


@dataclass(frozen=True)
class HeadShape:
    """The outputs that a problem asks a method to build on top of an encoder."""

    level: Literal["sequence", "token"]
    """One output for each sequence's summary, or one for each token."""
    width: int
    """Numbers in one output."""


class Problem(ABC):
    """A kind of question. Nothing here knows a benchmark or a model."""

    name: str

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What makes two problems the same to a head: the kind and, say, the labels in order."""

    @abstractmethod
    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        """The rows with this problem's columns and types, or a `DataError` with the place of the first bad one."""

    @abstractmethod
    def encode(self, table: pa.Table, encoder: Encoder, max_length: int) -> Features:
        """The rows as flat sequences with their targets."""

    @property
    @abstractmethod
    def head(self) -> HeadShape:
        """The outputs wanted."""

    @abstractmethod
    def loss(self, outputs: torch.Tensor, targets: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The sum over the batch's units of their losses, in fp32; training divides by the whole batch's weight."""

    @abstractmethod
    def decode(self, outputs: np.ndarray) -> list[Any]:
        """Raw outputs, in the order of the rows, to one answer a row."""

    @abstractmethod
    def parse(self, text: str) -> Any:
        """An answer as it stands in a prediction file, or `ValueError` with what was expected."""

    @abstractmethod
    def gold(self, table: pa.Table) -> list[Any] | None:
        """The rows' answers as `decode` would give them, or None where the rows have none."""

    @abstractmethod
    def constant(self, table: pa.Table) -> np.ndarray:
        """The raw output, for one row, of the best answer that ignores the question: what `majority` predicts."""

    @abstractmethod
    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Whether these answers could have been given without reading the questions."""
