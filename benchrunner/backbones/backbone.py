"""The base classes of backbones and of families of backbones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.errors import RequestError
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder


class Backbone(ABC):
    """A pre-trained model with its tokenizer, by name; `load` reads it."""

    name: str
    """The name by which a user finds the backbone again."""
    about: str
    """Description in one line, for `benchrunner list`."""
    for_demo: bool = False
    """True if the backbone is small enough for `benchrunner demo` and needs no network."""
    twin: str = ""
    """Name of the same architecture with random weights, to show what pre-training is worth; empty if there is none."""

    frozen: bool = False
    """True if the weights must stay as they are: only methods that do not train the encoder take such a backbone."""

    only_method: str = ""
    """Name of the one method that takes this backbone, which is no model, whatever methods are asked for."""

    @abstractmethod
    def revision(self, workspace: Workspace) -> str:
        """Return a hash of weights, configuration and tokenizer: equal revisions are equal models."""

    @abstractmethod
    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """Load the encoder in fp32 on the CPU. Weights that the checkpoint lacks are drawn from the seed."""

    def layer_count(self, workspace: Workspace) -> int | None:
        """Return the number of layers of the encoder, or None if it is not known before the encoder is loaded.

        Raise a `RequestError` if the encoder has no `layers`. The number is asked for when a fit is planned with
        `layer_decay` or `redraw_layers`.
        """
        return None

    def summary(self, workspace: Workspace) -> str:
        """Return the `summary` that a recipe's "pooler" means: how the published model makes a vector of a text."""
        return "pooler"

    def weight_count(self, workspace: Workspace) -> int | None:
        """Return the number of weights, or None if it is not known before the encoder is loaded.

        The number of fits that run at the same time on a CPU depends on it. An estimate is enough.
        """
        return None


def check_redrawn(count: int, layers: int) -> None:
    """Raise a `RequestError` if a recipe's `redraw_layers` is more than the number of layers."""
    if count > layers:
        raise RequestError(
            f"redraw-layers {count} is more layers than this encoder has, {layers}. Choose a number up to {layers}."
        )


class BackboneFamily(ABC):
    """Backbones of one kind, found by name, by a pattern of names, by path or by hub id."""

    @property
    def name(self) -> str:
        """Name of the family among the families of its plugin, by default the name of the class.

        Every fit records the name of its family, and only this family reads the fit back: never change the name.
        """
        return type(self).__name__

    @abstractmethod
    def listed(self) -> list[Backbone]:
        """Return the backbones that `benchrunner list` shows."""

    @abstractmethod
    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        """Return the backbone that a name, path or hub id means, or None if it is not of this family.

        A family must find a folder that one of its encoders saved: the models of finished fits are loaded this way, and
        only the family that made the fit is asked.
        """


@dataclass(frozen=True)
class OneBackbone(BackboneFamily):
    """Family of a single backbone."""

    backbone: Backbone
    saved: Callable[[Path], Backbone | None]
    """Function that returns the backbone in a folder written by its encoder's `save`, or None for other folders."""

    @property
    def name(self) -> str:
        return self.backbone.name

    def listed(self) -> list[Backbone]:
        return [self.backbone]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        if reference == self.backbone.name:
            return self.backbone
        return self.saved(Path(reference)) if Path(reference).is_dir() else None
