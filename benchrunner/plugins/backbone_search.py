"""Find backbones by name, path or hub id, among those of all plugins or of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, PluginError, RequestError
from benchrunner.io.messages import did_you_mean, quoted
from benchrunner.plugin_code import guarded
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.offered_values import Offer, Offers, unknown_name
from benchrunner.workspace import Workspace

Found = tuple[Backbone, BackboneFamily]
"""A backbone, and the family that loads it."""
_FORMS = "A folder, a hub id ('owner/name'), PLUGIN:NAME or run:ID is understood as well."


@final
@dataclass(frozen=True)
class BackboneSearch:
    """Finds backbones: finished fits, those that plugins list, then those that the families know."""

    listed: Offers[Backbone]
    families: Sequence[Offer[BackboneFamily]]
    find_fit: Callable[[str, Workspace], Found | None] = lambda reference, workspace: None
    """Finds the finished fit that a reference means."""

    @property
    def plugins(self) -> set[str]:
        """Plugins that offer backbones. A reference may have one of their names before a colon."""
        return {family.plugin.name for family in self.families}

    def split(self, reference: str) -> tuple[str | None, str]:
        """Split `PLUGIN:REFERENCE`; the plugin is None for listed names, existing paths and references without it.

        Texts with another colon keep their meaning: `C:/models`, or `facebook/bart-base:encoder`.
        """
        plugin, colon, name = reference.partition(":")
        if not colon or plugin not in self.plugins or reference in self.listed.names or _is_path(reference):
            return None, reference
        return plugin, name

    def find(self, reference: str, workspace: Workspace) -> Found:
        """Return the backbone that a reference means, and its family.

        A reference is a name, path or hub id, `PLUGIN:NAME`, or `run:ID` of a fit.
        """
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
            meant = "" if _is_path(name) else did_you_mean(name, listed)
            return type(refusal)(f"{str(refusal).removesuffix('.')}.{meant}") if meant else refusal
        if _is_path(name):
            return CheckpointError(f"{name} cannot be loaded: a folder with config.json and weights is expected.")
        asked = "" if plugin is None else f"Only the plugin '{plugin}' was asked. "
        return unknown_name("backbone", name, listed, f"{asked}{_FORMS}")


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
