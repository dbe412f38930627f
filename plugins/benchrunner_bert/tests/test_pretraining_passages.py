"""Text passages of extracted Wikipedia, in the formats of the hub, of WikiExtractor and of WikiText."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchrunner import DataError
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.passages import is_entry, is_passage
from benchrunner_bert.pretraining.corpus.sources import JsonLines, Source, TextFile
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
    assert [list(source.paragraphs()) for source in sources] == [[*EXPECTED, ""]] * 2


PASSAGES = """\
He said that the island had been sold to the bishops.
He said: “The island had been sold to the bishops.”
The island had been sold to the bishops (in 1288.)
The owners of the island were, in the order of time:
1. FC Köln is a football club of Cologne, in Germany.
五月岛是苏格兰福斯湾北部的一座岛屿，长约一英里。
मे द्वीप स्कॉटलैंड में फोर्थ की खाड़ी के उत्तर में है।""".splitlines()
OTHER_LINES = """\
五月岛。
History
Etymology, terminology and definition.
An island in the north of the outer Firth of Forth
Reading Abbey (1145–1288), by a gift of the King, Scotland
• Reading Abbey, which had the island for a hundred years.
</doc>""".splitlines()


def test_a_passage_has_eight_words_and_ends_like_a_sentence() -> None:
    assert list(filter(is_passage, [*PASSAGES, *OTHER_LINES, ""])) == PASSAGES


LISTS = """\
1. The abbey at Reading had the island for a hundred years.
2. Bishops of St Andrews
3. The Cunninghams of Fife had the island, and they built a beacon.

(a) The abbey at Reading had the island for a hundred years.
(b) The Cunninghams of Fife had the island, and they built a beacon.

[11] The beacon is the oldest of Scotland, says the keeper's diary.
[12] The diary itself says that another beacon is older by a year.

1145 – The abbey at Reading is given the island by King David.
1636: The Cunninghams of Fife build the first beacon of the island.
1816 - A lighthouse of stone takes the place of the beacon of 1636.

Merrow, J. (1999). The Beacons of the Firth and their Keepers. Anstruther Books.
Merrow, Jane; van der Linde, Piet (May 2004). "How a beacon of coal was fed". Journal of Coasts.
Ødegård, Kåre & Müller, A. B. (2011a). Seabirds of the Outer Firth. Crail: Quayside Press.

Jane Merrow: The Beacons of the Firth and their Keepers. Anstruther: Creel & Sons, 1999.
Piet van der Linde: A Year of Puffins on the Isle of May. Crail: Quayside Press, 2004.

The Beacons of the Firth and their Keepers, second edition. ISBN 978-0-00-000000-2.
How a beacon of coal was fed. Journal of Coasts 12 (3): 45–67.
A year of puffins on the Isle of May. doi:10.0000/may.2004.
Seabirds of the Outer Firth, a survey of its cliffs, pp. 12–34.
Map of all beacons, by the Trust for Coasts. Retrieved 3 May 2012.
"""
"""Lists as extracted articles have them, without marks."""

PROSE = """\
1998 was the year in which the last keeper left the island.
1999 was quiet, and nobody lived on the island any more.
14,000 pairs of puffins were counted in the summer of 2017.
A. B. Merrow was the keeper of the beacon until 1816.
C. D. Linde, who came after him, kept a diary of birds.
“1816, I think it was,” said the keeper. “We had no stone.”
“No,” said the other, “and no coal: it came in May, 1817.”
Recently, Merrow (1999) wrote that the diary is not genuine at all.
In Crail, Linde found a second diary (2004). It has the same words.
He kept the light for years, wrote of it, and died on May 4, 1860.
She left the island when the light was changed, on June 5, 1861.
ISBN numbers of such diaries are often wrong, as both of them say.
"""
"""Paragraphs that resemble entries."""


@pytest.mark.parametrize("entries", LISTS.split("\n\n"))
def test_entries_in_a_row_are_a_list_and_an_entry_alone_is_not(entries: str, tmp_path: Path) -> None:
    assert passages(text(tmp_path, f"{FIRST}\n{entries}\n{SECOND}")) == [FIRST, SECOND]
    parted = entries.replace("\n", "\n\n")  # as in rows of the hub
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": f"{FIRST}\n{parted}\n{SECOND}"}))
    assert passages(JsonLines(tmp_path / "b.jsonl", "b", passages_only=True)) == [FIRST, SECOND]
    for entry in entries.splitlines()[::2]:
        assert is_entry(entry)
        assert passages(text(tmp_path, f"{FIRST}\n{entry}\n{SECOND}")) == [FIRST, entry, SECOND]


def test_prose_that_resembles_entries_is_kept(tmp_path: Path) -> None:
    assert passages(text(tmp_path, PROSE)) == PROSE.splitlines()


def test_the_hubs_wikipedia_alone_is_filtered_unless_asked() -> None:
    names = ["hub:wikimedia/wikipedia,20231101.en", "hub:wikipedia,20220301.en@v1", "hub:a/wikipedia-books", "hub:a/b"]
    for asked, expected in ((None, [True, True, False, False]), (True, [True] * 4), (False, [False] * 4)):
        sources = Corpus.named(names, passages_only=asked).sources
        assert [source.passages_only for source in sources] == expected


def test_a_store_of_all_lines_is_not_taken_for_one_of_passages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(EXTRACTED, encoding="utf-8")
    every, only = (Corpus.named([str(tmp_path / "a.txt")], passages_only=asked) for asked in (None, True))
    assert write(tmp_path / "store", only, WORDS).manifest.sentences == 3
    with pytest.raises(DataError, match=r"a\.txt is not what it was"):
        write(tmp_path / "store", every, WORDS)


def test_a_corpus_without_passages_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("Bishops of St Andrews\n\nThe Cunninghams\n", encoding="utf-8")
    lists = Corpus.named([str(tmp_path / "list.txt")], passages_only=True)
    reason = "The corpus is empty: list.txt has no passage of text, .* Give --no-passages-only to read all lines"
    with pytest.raises(DataError, match=reason):
        learn_vocabulary(lists.paragraphs, tmp_path / "vocab.txt", size=200)
    with pytest.raises(DataError, match=reason):
        write(tmp_path / "store", lists, WORDS)
