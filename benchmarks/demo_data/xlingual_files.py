"""Writes small generated data sets in the official layouts, with their quirks.

A text is a language's own words and one sign of its answer. English uses a sign of its own or an international one, and
all other languages an international one or none. So a small encoder learns the task in English, and a part of it
transfers.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchrunner_xlingual.languages import PAWSX_LANGUAGES, SIB200_LANGUAGES, XNLI_LANGUAGES
from demo_data.xlingual_words import NAMES, NLI, PARAPHRASE, TOPICS, WORDS

COUNTS = {"train": 300, "dev": 108, "test": 60}
"""Split -> its number of rows in each language."""
XNLI_COLUMNS = (
    *("language", "gold_label", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse"),
    *("sentence2_parse", "sentence1", "sentence2", "promptID", "pairID", "genre", "label1", "label2", "label3"),
    *("label4", "label5", "sentence1_tokenized", "sentence2_tokenized", "match"),
)

Row = tuple[str, str, str]
"""The first text, the second text with the sign, and the label as the files spell it."""


def write(benchmark: str, seed: int, folder: Path) -> None:
    """Write the files of a benchmark below the folder. Equal seeds give equal bytes."""
    for split in COUNTS:
        for path, content in WRITERS[benchmark](split, f"{benchmark} {split} {seed}"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content.encode())


def _rows(language: str, signs: Mapping[str, tuple[str, str]], split: str, seed: str) -> list[Row]:
    """Make rows whose labels are equally frequent, in a random order."""
    draw = random.Random(f"{language} {seed}")
    labels = list(signs) * (COUNTS[split] // len(signs) + 1)
    rows = []
    for label in draw.sample(labels[: COUNTS[split]], COUNTS[split]):
        english, international = signs[label]
        sign = draw.choice((english if language == "en" else "", international))
        words = [*_some_words(language, draw), *sign.split()]
        draw.shuffle(words)
        rows.append((" ".join(_some_words(language, draw)), " ".join(words), label))
    return rows


def _some_words(language: str, draw: random.Random) -> list[str]:
    words = WORDS[language].split()
    return draw.sample(words, draw.randint(3, len(words)))


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def _languages(split: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the languages that a split is written in: train is in the first, English, alone."""
    return languages[:1] if split == "train" else languages


def _xnli(split: str, seed: str) -> Iterator[tuple[str, str]]:
    """Write the translations' file of train, and one file with all languages of dev and of test."""
    if split == "train":
        spelled = {"contradiction": "contradictory"}
        rows = [(first, second, spelled.get(label, label)) for first, second, label in _rows("en", NLI, split, seed)]
        yield "XNLI-MT-1.0/multinli/multinli.train.en.tsv", _lines([("premise", "hypo", "label"), *rows])
        return
    lines: list[tuple[str, ...]] = [XNLI_COLUMNS]
    for language in XNLI_LANGUAGES:
        rows = _rows(language, NLI, split, seed)
        for number, (_, second, label) in enumerate(rows):
            first, _, _ = rows[number // 3 * 3]  # three hypotheses share a premise
            texts = (f'" {first}' if number // 3 == 0 else first, second)  # a quotation mark is text
            ids = (str(number // 3 + 1), str(number + 1), "facetoface")
            lines.append((language, label, *[""] * 4, *texts, *ids, *[label] * 5, *texts, "True"))
    yield f"XNLI-1.0/xnli.{split}.tsv", _lines(lines)


def _pawsx(split: str, seed: str) -> Iterator[tuple[str, str]]:
    """Write a file for each language. NS stands where nobody translated a sentence."""
    name = "train" if split == "train" else f"{split}_2k"
    for language in _languages(split, PAWSX_LANGUAGES):
        lines = [("id", "sentence1", "sentence2", "label")]
        for number, (first, second, label) in enumerate(_rows(language, PARAPHRASE, split, seed), start=1):
            is_missing = language != "en" and number == COUNTS[split]
            lines.append((str(number), first, "NS" if is_missing else second, label))
        yield f"x-final/{language}/{name}.tsv", _lines(lines)


def _wikiann(split: str, seed: str) -> Iterator[tuple[str, str]]:
    """Write a word on each line, after its language, with its tag; a blank line ends a sentence."""
    for language in _languages(split, XNLI_LANGUAGES):
        draw = random.Random(f"{language} {seed}")
        sentences = [_sentence(language, draw) for _ in range(COUNTS[split])]
        yield f"wikiann/{language}/{split}", "\n".join(sentences)


def _sentence(language: str, draw: random.Random) -> str:
    """Put a name between some words of the language, each word with its tag."""
    kind = draw.choice(list(NAMES))
    words = [(word, "O") for word in _some_words(language, draw)]
    place = draw.randint(0, len(words))
    first, *others = draw.choice(NAMES[kind].split("|")).split()
    name = [(first, f"B-{kind}")]
    for word in others:
        name.append((word, f"I-{kind}"))
    tagged = [*words[:place], *name, *words[place:]]
    return _lines((f"{language}:{word}", tag) for word, tag in tagged)


def _sib200(split: str, seed: str) -> Iterator[tuple[str, str]]:
    """Write a file for each language as pandas does: a field with a quotation mark is quoted, and its marks doubled."""
    codes = _languages(split, SIB200_LANGUAGES)
    for language, code in zip(XNLI_LANGUAGES, codes, strict=False):
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerow(("index_id", "category", "text"))
        for number, (_, sentence, label) in enumerate(_rows(language, TOPICS, split, seed)):
            writer.writerow((number, label, sentence if number else f'"{sentence}"'))
        yield f"data/annotated/{code}/{split}.tsv", text.getvalue()


WRITERS: Mapping[str, Callable[[str, str], Iterator[tuple[str, str]]]] = {
    "xnli": _xnli,
    "pawsx": _pawsx,
    "wikiann": _wikiann,
    "sib200": _sib200,
}
"""Benchmark -> what yields the path and the text of each file of a split: (split, seed)."""
