"""Concatenated backbones, `concat:A,B`: several backbones whose states stand side by side, as one backbone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import CheckpointError, RequestError, Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner_methods.saved_parts import LAYOUT, read_layout

if TYPE_CHECKING:
    from benchrunner.engine import Encoder


@final
@dataclass(frozen=True)
class Concatenation(Backbone):
    """Several backbones side by side: a token's state is the states of all parts, one after another.

    Section 5.1 of Devlin et al. 2019 describes a left-to-right and a right-to-left model that are used in this way.
    """

    name: str
    parts: tuple[Backbone, ...]
    frozen: bool
    """True if a part is frozen: the other parts cannot be trained without it."""
    about: str = "several backbones side by side"

    def revision(self, workspace: Workspace) -> str:
        """Return a hash of the parts' revisions, in their order."""
        revisions = [part.revision(workspace) for part in self.parts]
        return hashlib.sha256(json.dumps(["concat", *revisions]).encode()).hexdigest()

    def layer_count(self, workspace: Workspace) -> int | None:
        """Return the number of layers of the first part, which is that of every part."""
        return self.parts[0].layer_count(workspace)

    def weight_count(self, workspace: Workspace) -> int | None:
        """Return the number of weights of all parts, or None if that of a part is not known."""
        total = 0
        for part in self.parts:
            count = part.weight_count(workspace)
            if count is None:
                return None
            total += count
        return total

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """Load all parts. Weights that a part's checkpoint lacks are drawn from the seed and the number of the part.

        Raises a `CheckpointError` if the parts have different tokenizers or different numbers of layers.
        """
        from benchrunner.engine import randomness
        from benchrunner_methods.concatenated_encoder import ConcatenatedEncoder, check_compatible

        encoders = []
        for number, part in enumerate(self.parts):
            part_seed = randomness.derived(seed, "part", number) % 2**32  # numpy's seeds have 32 bits
            encoders.append(part.load(workspace, seed=part_seed))
        names = [part.name for part in self.parts]
        check_compatible(names, encoders)
        return ConcatenatedEncoder(names, encoders)


@final
@dataclass(frozen=True)
class ConcatenatedFamily(BackboneFamily):
    """The family of the concatenations whose parts are of the given families, in this order."""

    parts: tuple[BackboneFamily, ...] = ()
    """Empty in the family that the plugin registers, which makes those with parts."""
    prefix = "concat"

    @property
    def name(self) -> str:
        return "concat"

    def listed(self) -> list[Backbone]:
        return []

    def with_parts(self, families: Sequence[BackboneFamily]) -> ConcatenatedFamily:
        return ConcatenatedFamily(tuple(families))

    def combined(self, name: str, backbones: Sequence[Backbone]) -> Concatenation:
        return Concatenation(name, tuple(backbones), frozen=any(part.frozen for part in backbones))

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        """Return the backbone in a folder that an encoder of this family saved."""
        folder = Path(reference)
        if not (folder / LAYOUT).is_file():
            return None
        folders = read_layout(folder)
        if not self.parts:
            parts = ",".join(map(str, folders))
            raise RequestError(f"{reference} holds the parts of a concatenation. Name the parts: concat:{parts}.")
        if len(folders) != len(self.parts):
            raise CheckpointError(
                f"{folder / LAYOUT} lists {len(folders)} parts, and the fit was made of {len(self.parts)}: the file "
                "was edited. Remove the run's folder to fit it again."
            )
        pairs = zip(folders, self.parts, strict=True)
        return self.combined(reference, [_found(folder, family, workspace) for folder, family in pairs])


def _found(folder: Path, family: BackboneFamily, workspace: Workspace) -> Backbone:
    """Return the backbone in the folder of a part, which the family of the part saved."""
    try:
        backbone = family.find(str(folder), workspace)
    except RequestError:
        raise
    except Exception as error:  # a family may fail in any way
        reason = f"{type(error).__name__}: {error}"
        raise CheckpointError(f"{folder}: the backbone family '{family.name}' failed: {reason}.") from None
    if backbone is None:
        raise CheckpointError(f"{folder}: the backbone family '{family.name}', which saved it, does not recognise it.")
    return backbone
