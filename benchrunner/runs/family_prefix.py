"""The option `--family PLUGIN`: a plugin's prefix for all backbones that have no prefix of their own."""

from __future__ import annotations

from benchrunner.plugins.registry import Plugins
from benchrunner.runs import fitted_backbone


def with_family(reference: str, family: str | None, plugins: Plugins) -> str:
    """Put the prefix of a plugin before a backbone's name, path or hub id, so that only this plugin is asked.

    Of a combination, each part gets the prefix. A reference with the prefix of a plugin stays as it is, and so does
    `run:ID`, which only the family that made the fit reads.
    """
    if family is None:
        return reference
    search = plugins.backbone_search
    search.check_family(family)
    combining = search.combining(reference)
    if combining is not None:
        parts = [with_family(part, family, plugins) for part in search.part_names(reference)]
        return f"{combining.prefix}:{','.join(parts)}"
    plugin, _ = search.split(reference)
    if plugin is not None or reference.startswith(fitted_backbone.PREFIX):
        return reference
    return f"{family}:{reference}"


def without_prefix(reference: str, plugins: Plugins) -> str:
    """Return a reference without the prefix of a plugin."""
    return plugins.backbone_search.split(reference)[1]
