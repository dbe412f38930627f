"""Write the made-up stories that studies at the scale `tiny` are pre-trained on: benchrunner_bert/studies/*.txt.

The sentences come from a small grammar with a fixed seed, so the files are the same on every machine. A story keeps its
two persons and its place, so that a sentence can tell something about the next one.
"""

from __future__ import annotations

import random
from pathlib import Path

PERSONS = (
    "Ada",
    "Bruno",
    "Clara",
    "Daniel",
    "Elena",
    "Felix",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Karin",
    "Luis",
    "Marta",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Simon",
)
PLACES = (
    "the harbour",
    "the mill",
    "the market",
    "the old bridge",
    "the school",
    "the forest",
    "the station",
    "the lake",
)
THINGS = (
    "a letter",
    "a small boat",
    "a red lamp",
    "a basket of apples",
    "a map",
    "a clock",
    "an old coat",
    "a bicycle",
)
QUALITIES = ("old", "new", "heavy", "broken", "beautiful", "strange", "cheap", "useful")
FEELINGS = ("glad", "tired", "angry", "sad", "proud", "afraid", "curious", "calm")
SENTENCES = (
    "{first} went to {place} in the morning.",
    "{second} was at {place} and looked for {thing}.",
    "{first} found {thing} near {place}.",
    "It was {quality}, and {second} was {feeling}.",
    '"Where is {thing}?" asked {second}.',
    '"I left it at {place}," said {first}.',
    "{first} and {second} walked back from {place}.",
    "In the evening {second} sold {thing} to {first}.",
    "{first} was {feeling}, because the thing was {quality}.",
    "The next day {second} came to {place} again.",
    "Nobody at {place} had seen {thing}.",
    "{second} gave {thing} to {first} and was {feeling}.",
)


def story(draw: random.Random) -> str:
    """Write one story, a sentence in a line."""
    first, second = draw.sample(PERSONS, 2)
    fixed = {"first": first, "second": second, "place": draw.choice(PLACES), "thing": draw.choice(THINGS)}
    lines = [
        sentence.format(**fixed, quality=draw.choice(QUALITIES), feeling=draw.choice(FEELINGS))
        for sentence in draw.sample(SENTENCES, 10)
    ]
    return "\n".join(line[0].upper() + line[1:] for line in lines)


def main() -> None:
    """Write a file to train on and a file to measure perplexity on; a blank line ends a story."""
    folder = Path(__file__).parent / "benchrunner_bert" / "studies"
    for name, seed, count in (("stories", 0, 60), ("more-stories", 1, 12)):
        draw = random.Random(seed)
        text = "\n\n".join(story(draw) for _ in range(count))
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
