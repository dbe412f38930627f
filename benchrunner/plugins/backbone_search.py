"""Find backbones by name, path or hub id, among those of all plugins or of one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.console.printing import value_text
from benchrunner.errors import CheckpointError, PluginError, RequestError, UnknownName, closest_names
from benchrunner.plugin_code import PluginCode
from benchrunner.plugins.names import check_plugin, meant, mistyped_prefix, split_prefix
from benchrunner.plugins.staging import Offer
from benchrunner.plugins.versions import Plugin
from benchrunner.workspace import Workspace

OTHER_BACKBONES = "A folder, a hub id ('owner/name'), PLUGIN:NAME, run:ID and concat:A,B are understood as well."
"""Advice for a backbone's name that no plugin knows."""


@final
class BackboneSearch:
    """Finds backbones among the offers of plugins.

    The offers are those of listed backbones, by name: a name with several offers is contested.
    """

    def __init__(
        self,
        offers: Mapping[str, Sequence[Offer]],
        families: Sequence[BackboneFamily],
        idle: Mapping[str, str],
        supplier: Callable[[BackboneFamily], Plugin],
    ) -> None:
        self._offers, self._families, self._supplier = offers, families, supplier
        self._offering = {supplier(family).name for family in families}
        self._idle = {name: reason for name, reason in idle.items() if name not in self._offering}

    def split(self, reference: str) -> tuple[str | None, str]:
        """Split `PLUGIN:REFERENCE`; the plugin is None for listed names, existing paths and references without it."""
        if reference in self._offers or (reference and Path(reference).exists()):
            return None, reference
        return split_prefix(reference, {*self._offering, *self._idle})

    def check_family(self, plugin: str) -> None:
        """Raise a `RequestError` if there is no plugin of that name that offers backbones."""
        check_plugin(plugin, "backbones", self._offering, self._idle)

    def find(self, reference: str, workspace: Workspace) -> tuple[Backbone, BackboneFamily]:
        """Return the backbone that a name, path, hub id or `PLUGIN:REFERENCE` means, and the family that loads it."""
        plugin, name = self.split(reference)
        if plugin is not None:
            self.check_family(plugin)
            if not name:
                raise RequestError(
                    f"'{reference}' names no backbone: write a name, a folder or a hub id after the colon."
                )
        known, exists = self._known(plugin), bool(name) and Path(name).exists()
        full = name if exists and name not in known else self._full_name(name, plugin, known)
        if full in known:
            family = known[full].family
            assert family is not None
            return known[full].value, family
        refusals = []
        for family in self._families if name else []:
            if plugin in (None, self._supplier(family).name):
                try:
                    backbone = self.ask(family, name, workspace)
                except RequestError as refusal:  # another family may know the reference
                    refusals.append(refusal)
                else:
                    if backbone is not None:
                        return backbone, family
        raise self._not_found(reference, plugin, name, refusals)

    def ask(self, family: BackboneFamily, reference: str, workspace: Workspace) -> Backbone | None:
        """Return the backbone that a family finds, or None. Raises a `RequestError` if the family refuses or fails."""
        try:
            with PluginCode():
                backbone = family.find(reference, workspace)
                if backbone is not None and not isinstance(backbone, Backbone):
                    raise PluginError(f"its family gave {value_text(backbone)}, not a Backbone")
        except PluginError as error:  # a family may fail in any way
            supplier = self._supplier(family).name
            raise CheckpointError(f"The plugin '{supplier}' failed on {reference}: {error}.") from error
        return backbone

    def _known(self, plugin: str | None) -> dict[str, Offer]:
        """Return the listed backbones of a plugin, or those of all plugins whose names are not contested."""
        if plugin is None:
            return {name: offers[0] for name, offers in self._offers.items() if len(offers) == 1}
        return {
            offer.name: offer for offers in self._offers.values() for offer in offers if offer.plugin.name == plugin
        }

    def _full_name(self, name: str, plugin: str | None, known: Collection[str]) -> str | None:
        """Return the full name for a name or its last part, or None; an error if it is contested or could be two."""
        if plugin is not None:
            return meant(name, known)
        full = meant(name, self._offers)
        if full is not None and len(offers := self._offers[full]) > 1:
            first, *_ = names = [offer.plugin.name for offer in offers]
            raise RequestError(
                f"The backbone '{full}' is offered by {' and '.join(names)}: say which, for example {first}:{full}."
            )
        return full

    def _not_found(
        self, reference: str, plugin: str | None, name: str, refusals: Sequence[RequestError]
    ) -> RequestError:
        """Make the error for a backbone that no family knows; families may have refused it with errors of their own."""
        known, exists, elsewhere = self._known(plugin), bool(name) and Path(name).exists(), ""
        if plugin is not None and name in self._offers:
            owners = " and ".join(offer.plugin.name for offer in self._offers[name])
            elsewhere = (
                f"'{name}' is a name of the plugin '{owners}', and only the plugin '{plugin}' was asked: give a folder "
                "or a hub id, or leave the plugin out."
            )
        if refusals:
            close = [] if exists or elsewhere else closest_names(name, known)
            advice = f"Did you mean {' or '.join(close)}?" if close else elsewhere
            return type(refusals[0])(f"{refusals[0]} {advice}".rstrip())
        if exists:
            readers = "No plugin can" if plugin is None else f"The plugin '{plugin}' cannot"
            return CheckpointError(f"{readers} load {name}: a folder with config.json and weights is expected.")
        mistyped = None if plugin is not None else mistyped_prefix(reference, {*self._offering, *self._idle})
        if mistyped is not None and not Path(mistyped).exists():
            self.check_family(mistyped)
        if elsewhere:
            return RequestError(elsewhere)
        asked = "" if plugin is None else f"Only the plugin '{plugin}' was asked. "
        return UnknownName("backbone", name, known, asked + OTHER_BACKBONES)
