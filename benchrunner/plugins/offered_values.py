"""The values of one kind that plugins offer, found by full name or by its last part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.entry_points import CHOICE, note_on_choice, note_on_libraries

if TYPE_CHECKING:
    from benchrunner.backbones.backbone import BackboneFamily

V = TypeVar("V")


@final
@dataclass(frozen=True)
class Offer(Generic[V]):
    """A value that a plugin offers under a name."""

    name: str
    value: V
    plugin: Plugin
    family: BackboneFamily | None = None
    """The family of a backbone."""


@final
class Offers(Mapping[str, V]):
    """The values of one kind that plugins offer, by name.

    A name that several plugins offer is contested: it is no key, and `find` raises an error that says how to choose.
    `read` makes an offer of a name that no plugin lists: a file's path, or `TASK@5`, a task in folds.
    """

    def __init__(
        self,
        kind: str,
        offers: Iterable[Offer[V]] = (),
        read: Callable[[str], Offer[V] | None] = lambda name: None,
    ) -> None:
        self.kind, self._read = kind, read
        self._of_name: dict[str, list[Offer[V]]] = {}
        for offer in offers:
            self.add(offer)

    def __getitem__(self, name: str) -> V:
        if name not in self:
            raise KeyError(name)
        return self._of_name[name][0].value

    def __contains__(self, name: object) -> bool:
        return len(self._of_name.get(str(name), ())) == 1

    def __iter__(self) -> Iterator[str]:
        return filter(self.__contains__, self._of_name)

    def __len__(self) -> int:
        return sum(map(self.__contains__, self._of_name))

    @property
    def every(self) -> Iterator[Offer[V]]:
        """Every offer, also of names that several plugins offer."""
        return chain.from_iterable(self._of_name.values())

    @property
    def names(self) -> Collection[str]:
        """Every name that a plugin offers, also those that several plugins offer."""
        return self._of_name

    @property
    def contests(self) -> list[str]:
        """Say of each name that several plugins offer how a user chooses one of these plugins."""
        return [_contest(self.kind, offers) for offers in self._of_name.values() if len(offers) > 1]

    def add(self, offer: Offer[V]) -> None:
        """Add an offer. Its name means no value if another plugin offers it, too."""
        self._of_name.setdefault(offer.name, []).append(offer)

    def of_plugin(self, plugin: str) -> Offers[V]:
        """Return the offers of one plugin alone."""
        return Offers(self.kind, [offer for offer in self.every if offer.plugin.name == plugin])

    def find(self, name: str) -> V:
        """Return the value that a name means; an `UnknownName` if there is none, an error if it may mean several."""
        offer = self.offer(name)
        if offer is None:
            raise unknown_name(self.kind, name, self)
        return offer.value

    def offer(self, name: str) -> Offer[V] | None:
        """Return the offer that a name means, or None; an error if it may mean several."""
        full = meant(name, self._of_name)
        if full is None:
            return self._read(name)
        offers = self._of_name[full]
        if len(offers) > 1:
            raise RequestError(_contest(self.kind, offers))
        return offers[0]


def _contest(kind: str, offers: Sequence[Offer[V]]) -> str:
    """Say which plugins offer a name, and how a user chooses one of them."""
    name = offers[0].name
    plugins = [offer.plugin.name for offer in offers]
    choices = " or ".join(f"{plugin}:{name}" if kind == "backbone" else f"{CHOICE}=no:{plugin}" for plugin in plugins)
    return f"The {kind} '{name}' is offered by the plugins {' and '.join(plugins)}: choose {choices}."


def unknown_name(kind: str, name: str, known: Collection[str], advice: str = "") -> UnknownName:
    """Make the error for a name that no plugin in use offers; its text also names plugins that are not in use."""
    libraries = note_on_libraries() if kind in ("executor", "search") else ""  # whose libraries are extras
    return UnknownName(kind, name, known, " ".join(filter(None, (advice, note_on_choice(), libraries))))


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that the user means by a full name or by the part after the slash; None if there is none.

    Raise a `RequestError` if several known names end in the given part.
    """
    if name in known:
        return name
    matches = sorted(full for full in known if full.endswith(f"/{name}"))
    if len(matches) > 1:
        raise RequestError(f"'{name}' could be {' or '.join(matches)}: say which.")
    return matches[0] if matches else None
