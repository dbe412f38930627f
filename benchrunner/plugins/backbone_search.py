"""Find backbones by name, path or hub id, among those of all plugins or of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, PluginError, RequestError, closest_names
from benchrunner.io.messages import either, quoted
from benchrunner.plugin_code import guarded
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.offered_values import Offer, Offers, unknown_name
from benchrunner.workspace import Workspace

Found = tuple[Backbone, BackboneFamily]
"""A backbone, and the family that loads it."""


@final
@dataclass(frozen=True)
class BackboneSearch:
    """Finds backbones: combinations, finished fits, those that plugins list, then those that the families know."""

    listed: Offers[Backbone]
    families: Sequence[Offer[BackboneFamily]]
    find_fit: Callable[[str, Workspace], Found | None] = lambda reference, workspace: None
    """Finds the finished fit that a reference means."""

    @property
    def plugins(self) -> set[str]:
        """Plugins that offer backbones. A reference may have one of their names before a colon."""
        return {family.plugin.name for family in self.families if not family.value.prefix}

    def split(self, reference: str) -> tuple[str | None, str]:
        """Split `PLUGIN:REFERENCE`; the plugin is None for listed names, existing paths and references without it.

        Texts with another colon keep their meaning: `C:/models`, or `facebook/bart-base:encoder`.
        """
        plugin, colon, name = reference.partition(":")
        if not colon or plugin not in self.plugins or reference in self.listed.names or _is_path(reference):
            return None, reference
        return plugin, name

    def combining(self, reference: str) -> BackboneFamily | None:
        """Return the family that combines the backbones which `PREFIX:A,B` names; None for other references."""
        for family in self.families:
            if family.value.prefix and reference.startswith(f"{family.value.prefix}:"):
                return family.value
        return None

    def part_names(self, reference: str) -> list[str]:
        """Return the backbones that a reference names: the parts of `PREFIX:A,B`, or the reference itself.

        Raises a `RequestError` if a combination does not name two or more backbones, or has a combination as a part.
        """
        family = self.combining(reference)
        if family is None:
            return [reference]
        names = [text.strip() for text in reference.removeprefix(f"{family.prefix}:").split(",")]
        if len(names) < 2 or not all(names) or any(map(self.combining, names)):
            raise RequestError(
                f"'{reference}' does not name two or more backbones, none of them a combination. Separate their names "
                f"by commas: {family.prefix}:A,B."
            )
        return names

    def find(self, reference: str, workspace: Workspace) -> Found:
        """Return the backbone that a reference means, and its family.

        A reference is a name, path or hub id, `PLUGIN:NAME`, `run:ID` of a fit, or `PREFIX:A,B` of several backbones.
        """
        if combining := self.combining(reference):
            parts = [self.find(name, workspace) for name in self.part_names(reference)]
            backbones, families = zip(*parts, strict=True)
            return combining.combined(reference, backbones), combining.with_parts(families)
        if fit := self.find_fit(reference, workspace):
            return fit
        plugin, name = self.split(reference)
        if name and name[0] in "./~" and not _is_path(name):
            raise RequestError(f"There is no folder {name}, which was named as a backbone.")
        listed = self.listed if plugin is None else self.listed.of_plugin(plugin)
        if name in listed.names or not _is_path(name):  # a path goes before the last part of a name
            offer = listed.offer(name)
            if offer is not None and offer.family is not None:
                return offer.value, offer.family
        refusal = None
        for family in self.families if name else []:
            if plugin in (None, family.plugin.name):
                try:
                    backbone = ask(family.value, family.plugin, name, workspace)
                except RequestError as error:  # another family may know the reference
                    refusal = refusal or error
                else:
                    if backbone is not None:
                        return backbone, family.value
        raise self._not_found(plugin, name, listed, refusal)

    def _not_found(
        self, plugin: str | None, name: str, listed: Offers[Backbone], refusal: RequestError | None
    ) -> RequestError:
        """Make the error for a backbone that no family knows; `refusal` is the error of the first that refused it."""
        if refusal is not None:
            close = [] if _is_path(name) else closest_names(name, listed)
            if not close:
                return refusal
            return type(refusal)(f"{str(refusal).removesuffix('.')}. Did you mean {' or '.join(close)}?")
        if _is_path(name):
            return CheckpointError(f"{name} cannot be loaded: a folder with config.json and weights is expected.")
        combined = [f"{family.value.prefix}:A,B" for family in self.families if family.value.prefix]
        forms = either(["A folder, a hub id ('owner/name')", "PLUGIN:NAME", "run:ID", *combined])
        asked = "" if plugin is None else f"Only the plugin '{plugin}' was asked. "
        return unknown_name("backbone", name, listed, f"{asked}{forms} is understood as well.")


def ask(family: BackboneFamily, plugin: Plugin, reference: str, workspace: Workspace) -> Backbone | None:
    """Return the backbone that a family of a plugin finds, or None; a `RequestError` if the family refuses or fails."""
    try:
        with guarded():
            backbone = family.find(reference, workspace)
            if backbone is not None and not isinstance(backbone, Backbone):
                raise PluginError(f"its family gave {quoted(backbone)}, not a Backbone")
    except PluginError as error:  # a family may fail in any way
        raise CheckpointError(f"The plugin '{plugin.name}' failed on {reference}: {error}.") from error
    return backbone


def _is_path(name: str) -> bool:
    return bool(name) and Path(name).exists()
