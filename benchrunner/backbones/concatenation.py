"""Concatenated backbones, `concat:A,B`: several backbones whose states stand side by side, as one backbone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Self, final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.backbones.concatenation_layout import LAYOUT, read_layout
from benchrunner.errors import CheckpointError, RequestError, described

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.workspace import Workspace

PREFIX = "concat:"
"""Start of the names of concatenated backbones; the names of the parts follow, separated by commas."""


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

    @classmethod
    def of(cls, name: str, parts: Iterable[Backbone]) -> Self:
        """Make the concatenation of some backbones."""
        parts = tuple(parts)
        return cls(name, parts, frozen=any(part.frozen for part in parts))

    def revision(self, workspace: Workspace) -> str:
        """Return a hash of the parts' revisions, in their order."""
        revisions = [part.revision(workspace) for part in self.parts]
        return hashlib.sha256(json.dumps(["concat", *revisions]).encode()).hexdigest()

    def layer_count(self, workspace: Workspace) -> int | None:
        """Return the number of layers of the first part, which is that of every part."""
        return self.parts[0].layer_count(workspace)

    def weight_count(self, workspace: Workspace) -> int | None:
        """Return the number of weights of all parts, or None if that of a part is not known."""
        counts = [part.weight_count(workspace) for part in self.parts]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """Load all parts. Weights that a part's checkpoint lacks are drawn from the seed and the number of the part.

        Raises a `CheckpointError` if the parts have different tokenizers or different numbers of layers.
        """
        from benchrunner.backbones.concatenated_encoder import ConcatenatedEncoder, check_compatible
        from benchrunner.features.randomness import derived

        seeds = [derived(seed, "part", number) % 2**32 for number in range(len(self.parts))]  # numpy's take 32 bits
        encoders = [part.load(workspace, seed=part_seed) for part, part_seed in zip(self.parts, seeds, strict=True)]
        names = [part.name for part in self.parts]
        check_compatible(names, encoders)
        return ConcatenatedEncoder(names, encoders)


@final
@dataclass(frozen=True)
class ConcatenatedFamily(BackboneFamily):
    """The family of the concatenations whose parts are of the given families, in this order.

    The family finds folders that an encoder saved. Names, `concat:A,B`, are resolved by the runner, which knows the
    backbones of all plugins and all finished fits.
    """

    parts: tuple[BackboneFamily, ...]

    @property
    def name(self) -> str:
        return "concat"

    def listed(self) -> list[Backbone]:
        return []

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        folder = Path(reference)
        if not (folder / LAYOUT).is_file():
            return None
        folders = read_layout(folder)
        if len(folders) != len(self.parts):
            raise CheckpointError(f"{folder / LAYOUT}: it lists {len(folders)} parts, and {len(self.parts)} made them.")
        backbones = []
        for part, family in zip(folders, self.parts, strict=True):
            try:
                backbone = family.find(str(part), workspace)
            except RequestError:
                raise
            except Exception as error:  # a family may fail in any way
                reason = described(error)
                raise CheckpointError(f"{part}: the backbone family '{family.name}' failed: {reason}.") from None
            if backbone is None:
                raise CheckpointError(
                    f"{part}: the backbone family '{family.name}', which saved it, does not recognise it."
                )
            backbones.append(backbone)
        return Concatenation.of(reference, backbones)


def part_names(reference: str) -> list[str]:
    """Return the names of the parts of `concat:A,B`; raise a `RequestError` if these are not two or more names."""
    names = [text.strip() for text in reference.removeprefix(PREFIX).split(",")]
    if len(names) < 2 or not all(names):
        raise RequestError(
            f"'{reference}' does not name two or more backbones. Separate their names by commas: concat:A,B."
        )
    if any(name.startswith(PREFIX) for name in names):
        raise RequestError(f"'{reference}' has a concatenation as a part. Name all parts in one list: concat:A,B,C.")
    return names


def parts_of(reference: str) -> list[str]:
    """Return the backbones that a name stands for: the parts of a concatenation, or the backbone itself."""
    return part_names(reference) if reference.startswith(PREFIX) else [reference]


def concatenate(
    reference: str, find: Callable[[str], tuple[Backbone, BackboneFamily]]
) -> tuple[Concatenation, ConcatenatedFamily]:
    """Return the backbone that `concat:A,B` means, and its family; `find` finds the parts and their families."""
    names = part_names(reference)
    try:
        parts = [find(name) for name in names]
    except RequestError:
        _refuse_commas(reference)
        raise
    backbones, families = zip(*parts, strict=True)
    return Concatenation.of(reference, backbones), ConcatenatedFamily(families)


def _refuse_commas(reference: str) -> None:
    """Raise a `RequestError` if some parts, joined by their commas, are a path that exists."""
    texts = reference.removeprefix(PREFIX).split(",")
    for first, end in combinations(range(len(texts) + 1), 2):
        path = ",".join(texts[first:end])
        if end - first > 1 and Path(path).exists():
            raise RequestError(
                f"The name of {path} has a comma, and commas separate the parts of a concatenation. Rename the folder, "
                "or make a link to it whose name has no comma."
            )
