"""Offers: the values of one kind that plugins offer, found by full name, by its last part, or as `PLUGIN:NAME`."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.entry_points import note_on_choice, note_on_libraries

if TYPE_CHECKING:
    from benchrunner.backbones.backbone import BackboneFamily

V = TypeVar("V")

LARGE_KINDS = ("executor", "search")
"""Kinds of values that are offered by plugins whose libraries are extras."""

_LIKE_A_PLUGIN = re.compile(r"[A-Za-z][\w.-]+")
"""Texts that may be the name of a plugin. A single letter is the drive of a Windows path."""


@final
@dataclass(frozen=True)
class Offer(Generic[V]):
    """A value that a plugin offers under a name."""

    kind: str
    """`task`, `method`, `leaderboard`, `executor`, `recipe`, `backbone` or `family`."""
    name: str
    value: V
    plugin: Plugin
    family: BackboneFamily | None = None
    """The family of a backbone."""

    @property
    def full_name(self) -> str:
        """`PLUGIN:NAME`, which means this offer whatever other plugins offer."""
        return f"{self.plugin.name}:{self.name}"


@final
class Offers(Mapping[str, V]):
    """The values of one kind that plugins offer, by name; a contested name stands here as `PLUGIN:NAME`.

    A name that several plugins offer is contested: alone it means no value, and `PLUGIN:NAME` means that of a plugin.
    With `renames`, fits and records keep the names of such values, so a value with a contested name is renamed, too.
    `TASK@5` is a task in folds. `read` gives the offer that a name means which nobody offers, such as a file's path.
    """

    def __init__(
        self,
        kind: str,
        *,
        renames: bool = False,
        is_sorted: bool = True,
        read: Callable[[str], Offer[V] | None] = lambda name: None,
    ) -> None:
        self.kind, self._read = kind, read
        self._renames, self._is_sorted = renames, is_sorted
        self._of_name: dict[str, list[Offer[V]]] = {}
        self._by_name: dict[str, Offer[V]] | None = None
        """What `by_name` returns, until an offer is added or removed."""

    def __getitem__(self, name: str) -> V:
        return (self._in_folds(name) or self.by_name[name]).value

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def by_name(self) -> Mapping[str, Offer[V]]:
        """The offers under the names that users give: their own, or `PLUGIN:NAME` where a name is contested."""
        if self._by_name is None:
            self._by_name = {}
            for name, offers in self._of_name.items():
                for offer in offers:
                    self._by_name[name if len(offers) == 1 else offer.full_name] = offer
            if self._is_sorted:
                self._by_name = dict(sorted(self._by_name.items()))
        return self._by_name

    @property
    def contests(self) -> list[list[Offer[V]]]:
        """The offers of each contested name."""
        return [offers for offers in self._of_name.values() if len(offers) > 1]

    def add(self, offer: Offer[V]) -> None:
        """Add an offer; its name is contested if another plugin offers it, too."""
        offers = self._of_name.setdefault(offer.name, [])
        offers.append(offer)
        if self._renames and len(offers) > 1:
            offers[:] = map(_renamed, offers)
        self._by_name = None

    def remove(self, offer: Offer[V]) -> None:
        """Remove an offer."""
        self._of_name[offer.name].remove(offer)
        if not self._of_name[offer.name]:
            del self._of_name[offer.name]
        self._by_name = None

    def find(self, name: str) -> V:
        """Return the value that a name means; an `UnknownName` if there is none, an error if it may mean several."""
        offer = self.offer(name)
        if offer is None:
            raise unknown_name(self.kind, name, self)
        return offer.value

    def offer(self, name: str) -> Offer[V] | None:
        """Return the offer that a name means, or None; an error if it may mean several."""
        return self._in_folds(name) or self.offer_of(*self.split(name)) or self._read(name)

    def _in_folds(self, name: str) -> Offer[V] | None:
        """Return the offer of a task in folds that a name such as `mine/mood@5` means; None for other names."""
        plain, mark, folds = name.rpartition("@")
        offer = self.offer(plain) if mark and self.kind == "task" else None
        if offer is None:
            return None
        from benchrunner.tasks.folds import in_folds

        return replace(offer, value=in_folds(offer.value, folds))  # type: ignore[arg-type]

    def offer_of(self, plugin: str | None, name: str) -> Offer[V] | None:
        """Return the offer of one plugin, or of any plugin if None is given, that a name without a prefix means."""
        full = meant(name, self.names(plugin))
        if full is None:
            return None
        offers = [offer for offer in self._of_name[full] if plugin in (None, offer.plugin.name)]
        if len(offers) > 1:
            raise RequestError(f"{contest(offers)}.")
        return offers[0]

    def names(self, plugin: str | None = None) -> list[str]:
        """Return every name that a plugin offers, or that any does; contested names stand without a prefix."""
        names = []
        for name, offers in self._of_name.items():
            if plugin is None or any(offer.plugin.name == plugin for offer in offers):
                names.append(name)
        return names

    def split(self, name: str) -> tuple[str | None, str]:
        """Split `PLUGIN:NAME`; the plugin is None unless one that offers values of this kind stands before a colon."""
        known = {offer.plugin.name for offer in self.by_name.values()} if ":" in name else ()
        return split_prefix(name, known)


def unknown_name(kind: str, name: str, known: Collection[str], advice: str = "") -> UnknownName:
    """Make the error for a name that no plugin offers; it also says which plugins are not used that may offer it."""
    libraries = note_on_libraries() if kind in LARGE_KINDS else ""
    return UnknownName(kind, name, known, " ".join(filter(None, (advice, note_on_choice(), libraries))))


def _renamed(offer: Offer[V]) -> Offer[V]:
    """Return an offer with a copy of its value that has the name `PLUGIN:NAME`."""
    value = copy.copy(offer.value)
    object.__setattr__(value, "name", offer.full_name)  # values are frozen
    return replace(offer, value=value)


def claims(offers: Collection[Offer[V]]) -> str:
    """Name the plugins of some offers."""
    return " and ".join(offer.plugin.name for offer in offers)


def contest(offers: Collection[Offer[V]]) -> str:
    """Say which plugins offer a name, and how a user says which is meant."""
    offer = next(iter(offers))
    choices = " or ".join(each.full_name for each in offers)
    return f"The {offer.kind} '{offer.name}' is offered by the plugins {claims(offers)}: say which, {choices}"


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that the user means by a full name or by the part after the slash; None if there is none.

    Raise a `RequestError` if several known names end in the given part.
    """
    if name in known:
        return name
    matches = sorted(full for full in known if full.rsplit("/", 1)[-1] == name)
    if len(matches) > 1:
        raise RequestError(f"'{name}' could be {' or '.join(matches)}: say which.")
    return matches[0] if matches else None


def split_prefix(text: str, plugins: Collection[str]) -> tuple[str | None, str]:
    """Split `PLUGIN:NAME` into the two names; the plugin is None if no known plugin's name stands before the colon.

    Texts with another colon keep their meaning: `C:/models`, or `facebook/bart-base:encoder`.
    """
    plugin, colon, name = text.partition(":")
    return (plugin, name) if colon and plugin in plugins else (None, text)


def mistyped_prefix(text: str, plugins: Collection[str]) -> str | None:
    """Return what stands before the colon of a text if it is close to the name of a plugin, else None."""
    plugin, colon, _ = text.partition(":")
    if not colon or not _LIKE_A_PLUGIN.fullmatch(plugin):
        return None
    import difflib

    return plugin if difflib.get_close_matches(plugin.casefold(), plugins, cutoff=0.75) else None
