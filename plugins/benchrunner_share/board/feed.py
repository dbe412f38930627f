"""The Atom feed of a board: an entry for each verified folder, the newest first (RFC 4287)."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote
from xml.etree import ElementTree as xml

from benchrunner_share.board.board import Board
from benchrunner_share.board.receiving import Accepted

NAMESPACE = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 50
"""Number of the newest folders that a feed names."""


def atom(board: Board) -> str:
    """Return the feed. The dates are those that the folders claim, so that equal folders give an equal feed."""
    folders = sorted(board.folders, key=lambda folder: datetime.fromisoformat(folder.date), reverse=True)
    feed = xml.Element("feed", xmlns=NAMESPACE)
    _add(feed, "title", board.title)
    _add(feed, "id", f"{board.url}/" if board.url else f"urn:sha256:{folders[-1].study.verification.fingerprint}")
    _add(feed, "updated", folders[0].date)
    author = xml.SubElement(feed, "author")
    _add(author, "name", board.title)
    xml.SubElement(feed, "link", href=_address(board, "index.html"))
    if board.url:
        xml.SubElement(feed, "link", rel="self", href=_address(board, "feed.xml"))
    for folder in folders[:MOST_ENTRIES]:
        _add_folder(feed, board, folder)
    xml.indent(feed)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{xml.tostring(feed, encoding="unicode")}\n'


def _add_folder(feed: xml.Element, board: Board, folder: Accepted) -> None:
    """Add a verified folder, with the names of its systems and their mean ranks."""
    verification = folder.study.verification
    names = [entry.name for entry in board.entries if entry.folder is folder]
    ranks = board.result.statistics.mean_ranks
    said = []
    for name in names:
        said.append(f"{name}: mean rank {ranks[name].mean:.1f}" if name in ranks else name)
    entry = xml.SubElement(feed, "entry")
    _add(entry, "title", f"{folder.name}: {', '.join(names)}")
    _add(entry, "id", f"urn:sha256:{verification.fingerprint}")
    _add(entry, "updated", folder.date)
    page = board.pages[names[0]] if names else "index.html"
    xml.SubElement(entry, "link", href=_address(board, page))
    _add(entry, "summary", f"{'; '.join(said)}. {verification.answers:,} answers were scored again.")


def _address(board: Board, page: str) -> str:
    """Return the address of a page; without that of the site, a relative one."""
    return f"{board.url}/{quote(page)}" if board.url else quote(page)


def _add(parent: xml.Element, name: str, text: str) -> None:
    xml.SubElement(parent, name).text = text
