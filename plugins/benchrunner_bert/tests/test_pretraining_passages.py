"""Text passages of extracted Wikipedia, in the formats of the hub, of WikiExtractor and of WikiText."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pretraining_runs import run, words

from benchrunner import DataError
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.passages import is_entry, is_passage, passages as passages_of
from benchrunner_bert.pretraining.corpus.sources import Source, TextFile
from benchrunner_bert.pretraining.corpus.store_writer import write
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.vocabulary_learning import learn_vocabulary

FIRST = "The Isle of May is an island in the north of the outer Firth of Forth."
SECOND = 'It is "a jewel of the Forth (and of Fife)", as a guide of 1899 calls the island.'
THIRD = "Visitors come by boat between April and September; what do they see?"

HUB = f"""{FIRST}

History
Early years (until 1145)
{SECOND}

Owners:
 Reading Abbey (1145–1288), by a gift of King David I of Scotland.
 Bishops of St Andrews
The Cunninghams

{THIRD}

See also
 List of islands of Scotland

References

External links

 The Isle of May at the Gazetteer for Scotland
Islands of Fife
Nature reserves in Scotland"""
"""A row of the hub's Wikipedia: headings are short lines, and lines of lists may begin with a blank."""

EXTRACTED = f"""<doc id="12" url="https://en.wikipedia.org/wiki?curid=12" title="Isle of May">
Isle of May

{FIRST}
Section::::History.
Early years and priory.
## Owners of the island.
BULLET::::- Reading Abbey, which had the island from 1145 to 1288, and then sold it.
BULLET::::1. Bishops of St Andrews
{SECOND}
- The Cunninghams, who had the island for a long time, built a beacon.
{THIRD}

</doc>
"""
"""A file of WikiExtractor, with the marks of its several versions."""

WIKITEXT = "".join(
    f" {line} \n" for line in ("", "= Isle of May =", "", FIRST, "", "= = Before 1145 = =", "", SECOND, THIRD)
)
"""Text of WikiText: every line begins and ends with a blank."""

MARKUP = f"""{FIRST}
== History ==
* Reading Abbey, which had the island from 1145 to 1288, and then sold it.
# The bishops of St Andrews, who had the island for two hundred years.
; Cunningham: a family of Fife, who had the island for a long time.
: The beacon, which is the oldest of Scotland, was built in 1636.
{{| class="wikitable"
! Year !! Who had the island in this year, as far as anybody knows today.
| 1145 || Reading Abbey, which had the island from 1145 to 1288, and then sold it.
|}}
{SECOND}
{THIRD}"""

EXPECTED = [FIRST, SECOND, THIRD]
WORDS = Vocabulary.read(VOCABULARY)


def text(folder: Path, content: str) -> Source:
    (folder / "a.txt").write_text(content, encoding="utf-8")
    return TextFile(folder / "a.txt", "a.txt", passages_only=True)


def passages(source: Source) -> list[str]:
    return [paragraph for paragraph in source.paragraphs() if paragraph]


@pytest.mark.parametrize("content", [EXTRACTED, WIKITEXT, MARKUP], ids=["WikiExtractor", "WikiText", "markup"])
def test_headings_lists_and_markup_of_text_files_are_left_out(content: str, tmp_path: Path) -> None:
    assert passages(text(tmp_path, content)) == EXPECTED


@pytest.mark.parametrize("document", [HUB, WIKITEXT, MARKUP], ids=["hub", "WikiText", "markup"])
def test_tables_and_json_lines_are_filtered_alike(document: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [document]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": document}))
    sources = Corpus.named([str(tmp_path)], passages_only=True).sources
    assert [passages(source) for source in sources] == [EXPECTED] * 2
    assert all(list(source.paragraphs())[-1] == "" for source in sources), "documents still end"
    plain = Corpus.named([str(tmp_path)]).sources
    assert [passages(source) for source in plain] == [
        [line.strip() for line in document.split("\n") if line.strip()]
    ] * 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("He said that the island had been sold to the bishops.", True),
        ("He said: “The island had been sold to the bishops.”", True),
        ("The island had been sold to the bishops (in 1288.)", True),
        ("The owners of the island were, in the order of time:", True),
        ("1. FC Köln is a football club of Cologne, in Germany.", True),
        ("五月岛是苏格兰福斯湾北部的一座岛屿，长约一英里。", True),
        ("मे द्वीप स्कॉटलैंड में फोर्थ की खाड़ी के उत्तर में है।", True),
        ("五月岛。", False),
        ("", False),
        ("History", False),
        ("Etymology, terminology and definition.", False),
        ("An island in the north of the outer Firth of Forth", False),
        ("Reading Abbey (1145–1288), by a gift of the King, Scotland", False),
        ("• Reading Abbey, which had the island for a hundred years.", False),
        ("</doc>", False),
    ],
)
def test_a_passage_has_eight_words_and_ends_like_a_sentence(line: str, expected: bool) -> None:
    assert is_passage(line) == expected


LISTS = {
    "numbers": (
        "1. The abbey at Reading had the island for a hundred years.",
        "2. Bishops of St Andrews",
        "3. The Cunninghams of Fife had the island, and they built a beacon.",
    ),
    "letters": (
        "(a) The abbey at Reading had the island for a hundred years.",
        "(b) The Cunninghams of Fife had the island, and they built a beacon.",
    ),
    "notes": (
        "[11] The beacon is the oldest of Scotland, says the keeper's diary.",
        "[12] The diary itself says that another beacon is older by a year.",
    ),
    "years": (
        "1145 – The abbey at Reading is given the island by King David.",
        "1636: The Cunninghams of Fife build the first beacon of the island.",
        "1816 - A lighthouse of stone takes the place of the beacon of 1636.",
    ),
    "works": (
        "Merrow, J. (1999). The Beacons of the Firth and their Keepers. Anstruther Books.",
        'Merrow, Jane; van der Linde, Piet (May 2004). "How a beacon of coal was fed". Journal of Coasts.',
        "Ødegård, Kåre & Müller, A. B. (2011a). Seabirds of the Outer Firth. Crail: Quayside Press.",
    ),
    "publishers": (
        "Jane Merrow: The Beacons of the Firth and their Keepers. Anstruther: Creel & Sons, 1999.",
        "Piet van der Linde: A Year of Puffins on the Isle of May. Crail: Quayside Press, 2004.",
    ),
    "identifiers": (
        "The Beacons of the Firth and their Keepers, second edition. ISBN 978-0-00-000000-2.",
        "How a beacon of coal was fed. Journal of Coasts 12 (3): 45–67.",
        "A year of puffins on the Isle of May. doi:10.0000/may.2004.",
        "Seabirds of the Outer Firth, a survey of its cliffs, pp. 12–34.",
        "Map of all beacons, by the Trust for Coasts. Retrieved 3 May 2012.",
    ),
}
"""Lists as extracted articles have them, without marks."""

PROSE = (
    "1998 was the year in which the last keeper left the island.",
    "1999 was quiet, and nobody lived on the island any more.",
    "14,000 pairs of puffins were counted in the summer of 2017.",
    "A. B. Merrow was the keeper of the beacon until 1816.",
    "C. D. Linde, who came after him, kept a diary of birds.",
    "“1816, I think it was,” said the keeper. “We had no stone.”",
    "“No,” said the other, “and no coal: it came in May, 1817.”",
    "Recently, Merrow (1999) wrote that the diary is not genuine at all.",
    "In Crail, Linde found a second diary (2004). It has the same words.",
    "He kept the light for years, wrote of it, and died on May 4, 1860.",
    "She left the island when the light was changed, on June 5, 1861.",
    "ISBN numbers of such diaries are often wrong, as both of them say.",
)
"""Paragraphs that resemble entries."""


@pytest.mark.parametrize("entries", LISTS.values(), ids=list(LISTS))
def test_entries_in_a_row_are_a_list_and_left_out(entries: tuple[str, ...], tmp_path: Path) -> None:
    assert passages(text(tmp_path, "\n".join((FIRST, *entries, SECOND)))) == [FIRST, SECOND]
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "\n\n".join((FIRST, *entries, SECOND))}))
    hub = Corpus.named([str(tmp_path / "b.jsonl")], passages_only=True).sources[0]
    assert passages(hub) == [FIRST, SECOND], "also where blank lines part the entries of a document"


@pytest.mark.parametrize("entries", LISTS.values(), ids=list(LISTS))
def test_an_entry_alone_is_a_passage(entries: tuple[str, ...], tmp_path: Path) -> None:
    for entry in entries[::2]:
        assert is_entry(entry)
        assert passages(text(tmp_path, "\n".join((FIRST, entry, SECOND)))) == [FIRST, entry, SECOND]


def test_prose_that_resembles_entries_is_kept(tmp_path: Path) -> None:
    assert passages(text(tmp_path, "\n".join(PROSE))) == list(PROSE)


def test_long_paragraphs_that_cite_pages_are_kept(tmp_path: Path) -> None:
    long = " ".join((*PROSE[:6], "All of this is in the keeper's diary, p. 12, and in no other book of his time."))
    assert passages(text(tmp_path, f"{long}\n{long}")) == [long, long]


def test_a_list_does_not_reach_into_the_next_document(tmp_path: Path) -> None:
    first, _, last = LISTS["numbers"]
    assert list(text(tmp_path, f"{first}\n\n{last}").paragraphs()) == [first, "", last, ""]


def test_headings_of_real_text_are_told_from_its_passages() -> None:
    """WikiText marks its headings; the filter must tell them from passages without the marks too."""
    folder = Path(os.environ.get("BENCHRUNNER_REAL_DATA", "nowhere"), "corpus", "wikitext-2")
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set BENCHRUNNER_REAL_DATA to the folder above corpus/")
    text = "".join((folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("valid", "test"))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    headings = [line for line in lines if line.startswith("= ") and line.endswith(" =")]
    others = [line for line in lines if line not in headings]
    assert (len(headings), len(others)) == (1326, 4026)
    bare = [line.strip("= ") for line in headings]
    assert not any(is_passage(line) for line in headings + bare)
    assert sum(is_passage(f"{line}.") for line in bare) == 36, "as WikiExtractor writes headings: 3% are long"
    left_out = sum(len(line.split()) for line in others if not is_passage(line))
    # 1.3% of the words, most of them in lists, verses and tables of names
    assert left_out / sum(len(line.split()) for line in others) == pytest.approx(0.0132, abs=0.0001)
    in_lists = set(filter(is_passage, lines)) - set(passages_of(lines))
    assert (len(in_lists), sum(len(line.split()) for line in in_lists)) == (21, 776), "works of two bibliographies"


def test_novels_lose_nothing_as_lists() -> None:
    folder = Path(os.environ.get("BENCHRUNNER_REAL_DATA", "nowhere"), "corpus", "100_english_novels")
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set BENCHRUNNER_REAL_DATA to the folder above corpus/")
    for name in ("Doyle_Micah_1889", "Lee_Albany_1884", "Wcollins_Woman_1860"):  # with notes, years and numbered parts
        lines = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        prose = [line.strip() for line in lines if is_passage(line.strip())]
        assert len(prose) > 200
        assert list(filter(None, passages_of(map(str.strip, lines)))) == prose


def test_the_hubs_wikipedia_alone_is_filtered_unless_asked() -> None:
    names = ["hub:wikimedia/wikipedia,20231101.en", "hub:wikipedia,20220301.en@v1", "hub:a/wikipedia-books", "hub:a/b"]
    for asked, expected in ((None, [True, True, False, False]), (True, [True] * 4), (False, [False] * 4)):
        sources = Corpus.named(names, passages_only=asked).sources
        assert [source.passages_only for source in sources] == expected


def test_a_store_of_all_lines_is_not_taken_for_one_of_passages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(EXTRACTED, encoding="utf-8")
    every, only = (Corpus.named([str(tmp_path / "a.txt")], passages_only=asked) for asked in (None, True))
    assert write(tmp_path / "all", every, WORDS).manifest.sentences > 3
    store = write(tmp_path / "only", only, WORDS)
    assert (store.manifest.sentences, store.manifest.sources[0].passages_only) == (3, True)
    assert write(tmp_path / "only", only, WORDS).manifest == store.manifest
    with pytest.raises(DataError, match=r"a\.txt is not what it was, or is read otherwise"):
        write(tmp_path / "only", every, WORDS)
    with pytest.raises(DataError, match=r"a\.txt is not what it was, or is read otherwise"):
        write(tmp_path / "all", only, WORDS)


def test_a_run_that_began_with_all_lines_stays_so(tmp_path: Path) -> None:
    run(words(tmp_path, "out", steps=2))
    assert "passages only" in run([*words(tmp_path, "out", steps=2), "--passages-only"], code=2)
    run([*words(tmp_path, "other", steps=2), "--passages-only"])
    assert "passages only" in run(words(tmp_path, "other", steps=2), code=2)


def test_a_corpus_without_passages_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("Bishops of St Andrews\n\nThe Cunninghams\n", encoding="utf-8")
    lists = Corpus.named([str(tmp_path / "list.txt")], passages_only=True)
    reason = "The corpus is empty: list.txt has no passage of text, .* Give --no-passages-only to read all lines"
    with pytest.raises(DataError, match=reason):
        learn_vocabulary(lists.paragraphs, tmp_path / "vocab.txt", size=200)
    with pytest.raises(DataError, match=reason):
        write(tmp_path / "store", lists, WORDS)
