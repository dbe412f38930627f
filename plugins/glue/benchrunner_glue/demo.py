"""Writes small data sets of our own making in the official file layout, with its quirks."""

from __future__ import annotations

import random
from pathlib import Path

from benchrunner_glue.games import ELSEWHERE, GAMES, WORDS, Game

SLIPS = 0.04
"""The share of rows with somebody's wrong answer, as in data that people labelled."""


def write(task: str, seed: int, folder: Path) -> None:
    """The task's files below the folder: the same bytes for the same seed."""
    for game in GAMES[task]:
        draw = random.Random(f"{game.folder} {seed}")
        home = folder / game.folder
        home.mkdir(parents=True, exist_ok=True)
        seen: list[tuple[list[str], str]] = []
        for name, count in game.files:
            rows = _contrary(seen, count, draw) if game.contrary and name == "dev" else _rows(game, name, count, draw)
            seen = seen or rows
            (home / f"{name}.tsv").write_bytes(_file(game, name, rows, draw).encode())


def _rows(game: Game, file: str, count: int, draw: random.Random) -> list[tuple[list[str], str]]:
    """Texts and answers: labels in exact proportion, shuffled; no two rows have the same texts."""
    labels = [label for label, (percent, _) in game.answers.items() for _ in range(-(-percent * count // 100))]
    draw.shuffle(labels)
    rows: dict[tuple[str, ...], str] = {}
    for label in labels[:count]:
        answer = draw.choice(list(game.answers)) if draw.random() < SLIPS and not game.contrary else label
        templates = [game.first] * bool(game.first) + [game.answers[label][1]]
        texts: tuple[str, ...] = ()
        while not texts or texts in rows:
            words = _words("mismatched" in file, draw)
            texts = tuple(draw.choice(some).format_map(words) for some in templates)
        rows[texts] = answer
    return [(list(texts), answer) for texts, answer in rows.items()]


def _contrary(rows: list[tuple[list[str], str]], count: int, draw: random.Random) -> list[tuple[list[str], str]]:
    """The majority's share as in the original: 40 of 71."""
    other = {"0": "1", "1": "0"}
    flipped = [(texts, other[answer]) for texts, answer in rows]
    zeros, ones = ([row for row in flipped if row[1] == label] for label in "01")
    chosen = draw.sample(zeros, count * 40 // 71) + draw.sample(ones, count - count * 40 // 71)
    return draw.sample(chosen, count)


def _words(elsewhere: bool, draw: random.Random) -> dict[str, str]:
    """One choice for every slot, and another one for `slot2`."""
    words = {}
    for slot, choices in (WORDS | ELSEWHERE if elsewhere else WORDS).items():
        words[slot], words[f"{slot}2"] = draw.sample(choices.split("|" if "|" in choices else " "), 2)
    return words


def _file(game: Game, name: str, rows: list[tuple[list[str], str]], draw: random.Random) -> str:
    answered = "test" not in name and name != "diagnostic"
    columns = (game.columns if answered else game.test_columns).split("|")
    if name.startswith("dev_"):  # five people judged each of MNLI's dev rows
        columns = [*columns[:-2], "label1", "label2", "label3", "label4", "label5", columns[-1]]
    lines = [] if game.headless and answered else ["\t".join(columns)]
    for at, (texts, answer) in enumerate(rows):
        values = _values(at, texts, answer, draw)
        lines.append("\t".join(values[column] for column in columns))
    if game.folder == "QQP" and name == "train":
        lines.insert(
            len(lines) // 2, "9001\t601\t602\tIs it too late to learn\n\nto swim?\tCan adults learn to swim?\t1"
        )
    return "\ufeff" * (game.bom and answered) + "\n".join(lines) + "\n"


def _values(at: int, texts: list[str], answer: str, draw: random.Random) -> dict[str, str]:
    """Every column that any of the files has."""
    first, last, number = texts[0], texts[-1], draw.randrange(100_000, 999_999)
    answers = dict.fromkeys(("label", "label1", "label2", "label3", "gold_label", "Quality", "is_duplicate"), answer)
    answers |= {f"label{judge}": draw.choice((answer, answer, "neutral")) for judge in (4, 5)}
    texts_of = dict.fromkeys(("sentence1", "question1", "#1 String", "question"), first)
    texts_of |= dict.fromkeys(("sentence", "sentence2", "question2", "#2 String"), last)
    parses = {f"sentence{n}_parse": f"(ROOT (S {text}))" for n, text in ((1, first), (2, last))}
    parses |= {f"sentence{n}_binary_parse": f"( {text} )" for n, text in ((1, first), (2, last))}
    numbers = {"index": at, "id": at, "qid1": 2 * at + 1, "qid2": 2 * at + 2, "#1 ID": number, "#2 ID": number + 7}
    return {
        **answers,
        **texts_of,
        **parses,
        **{name: str(value) for name, value in numbers.items()},
        "score": _graded(answer, draw),
        "source": draw.choice(("gj04", "bc01", "r-67")),
        "star": "*" if answer == "0" else "",
        "genre": draw.choice(("fiction", "government", "slate", "telephone", "travel")),
        "promptID": str(number),
        "pairID": f"{number}{answer[0]}",
        "filename": "MSRvid",
        "year": "2012test",
        "old_index": f"{at:04}",
        "source1": "none",
        "source2": "none",
    }


def _graded(level: str, draw: random.Random) -> str:
    """A mean of several people's grades near the level, with the three decimals of STS-B."""
    if not level.isdigit():
        return ""
    return f"{min(5.0, max(0.0, int(level) + draw.choice((-0.4, -0.2, -0.083, 0.0, 0.0, 0.2, 0.333)))):.3f}"
